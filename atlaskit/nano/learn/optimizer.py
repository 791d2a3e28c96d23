"""What leads the mind's weights: Muon for its matrices, AdamW for the rest.

Muon moves a matrix as far in each direction that its slopes point to, however faint (Newton-Schulz, in five rounds).
PyTorch's own reckons in bfloat16, matrix by matrix: 12.8 s a step on two cores without bfloat16, where this takes 0.25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

ROUNDS, PULL = 5, (3.4445, -4.7750, 2.0315)
"""Of Newton-Schulz: how many, and the polynomial that draws all singular values to near one."""
LIKE_ADAM = 0.2
"""By how much of it the moves of Muon are as long as those of AdamW, which so share one pace."""


def evened(slopes: torch.Tensor) -> torch.Tensor:
    """Return matrices (n, rows, columns) with the singular vectors of these, and singular values near one."""
    is_tall = slopes.shape[1] > slopes.shape[2]
    way = slopes.mT if is_tall else slopes
    way = way / (way.norm(dim=(1, 2), keepdim=True) + 1e-7)
    first, third, fifth = PULL
    for _ in range(ROUNDS):
        square = way @ way.mT
        way = first * way + (third * square + fifth * square @ square) @ way
    return way.mT if is_tall else way


class Muon(torch.optim.Optimizer):
    """Moves matrices by their evened momentum; those of one shape at once."""

    def __init__(self, groups: Sequence[dict[str, Any]], lr: float, decay: float, momentum: float = 0.95) -> None:
        super().__init__(groups, {"lr": lr, "decay": decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Move them."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[torch.Tensor]] = {}
            for weight in group["params"]:
                shapes.setdefault(weight.shape, []).append(weight)
            for shape, weights in shapes.items():
                ways = torch.stack([self._way(weight, group["momentum"]) for weight in weights])
                moves = evened(ways) * (LIKE_ADAM * max(shape) ** 0.5)
                for weight, move in zip(weights, moves, strict=True):
                    weight.mul_(1 - group["lr"] * group["decay"]).sub_(move, alpha=group["lr"])

    def _way(self, weight: torch.Tensor, momentum: float) -> torch.Tensor:
        """Return where a weight is going: its slope, and where it went lately."""
        assert weight.grad is not None
        state = self.state[weight]
        if "lately" not in state:
            state["lately"] = torch.zeros_like(weight)
        lately: torch.Tensor = state["lately"]
        lately.lerp_(weight.grad, 1 - momentum)
        return weight.grad.lerp(lately, momentum)


class Guide:
    """Some optimizers as one."""

    def __init__(self, *guides: torch.optim.Optimizer) -> None:
        self._guides = guides

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The groups of all of them."""
        return [group for guide in self._guides for group in guide.param_groups]

    def step(self) -> None:
        """Move all weights."""
        for guide in self._guides:
            guide.step()

    def state_dict(self) -> dict[str, Any]:
        """Return where all of them are."""
        return {str(number): guide.state_dict() for number, guide in enumerate(self._guides)}

    def load_state_dict(self, kept: dict[str, Any]) -> None:
        """Go on from there."""
        for number, guide in enumerate(self._guides):
            guide.load_state_dict(kept[str(number)])
