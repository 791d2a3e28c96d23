"""`CellPolicy`: a network whose weights are shared by the cells of a grid and by the answers.

A flat network would have to learn separately for each of sixteen cells what a cell worth opening
looks like. This network learns that once for all cells. It has 70,000 weights.
"""

from __future__ import annotations

from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from atlaskit.gym import CELL_KINDS
from nano.policy.features import ANSWER_FEATURES, CELL_FEATURES, SITUATION_FEATURES
from nano.policy.task import N_ANSWERS, K

N_CELLS = K * K
N_ACTIONS = len(CELL_KINDS) * N_CELLS + 1 + N_ANSWERS


class SharedNetwork(BaseFeaturesExtractor):
    """Maps an observation to the score of each action, and to the value of the state."""

    def __init__(self, observation_space: Any, width: int = 64) -> None:
        super().__init__(observation_space, N_ACTIONS + 1)
        self.of_cell = _two_layers(CELL_FEATURES + SITUATION_FEATURES, width)
        self.of_answer = _two_layers(ANSWER_FEATURES + SITUATION_FEATURES, width)
        self.whole = _two_layers(4 * width + SITUATION_FEATURES, width)
        self.cell_scores = nn.Sequential(
            _two_layers(2 * width, width), nn.Linear(width, len(CELL_KINDS))
        )
        self.answer_scores = nn.Sequential(_two_layers(2 * width, width), nn.Linear(width, 1))
        self.backtrack_score = nn.Linear(width, 1)
        self.value = nn.Sequential(_two_layers(width, width), nn.Linear(width, 1))
        for last in (self.cell_scores[-1], self.answer_scores[-1], self.backtrack_score):
            nn.init.zeros_(last.bias)
            last.weight.data.mul_(0.01)  # untrained, all legal actions are about equally likely

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the scores of all actions and the value, (n, actions + 1)."""
        sizes = [N_CELLS * CELL_FEATURES, N_ANSWERS * ANSWER_FEATURES, SITUATION_FEATURES]
        cells, answers, situation = observations.split(sizes, dim=1)
        inner_cells = self.of_cell(_beside(cells.unflatten(1, (N_CELLS, CELL_FEATURES)), situation))
        inner_answers = self.of_answer(
            _beside(answers.unflatten(1, (N_ANSWERS, ANSWER_FEATURES)), situation)
        )
        pooled_cells = torch.cat([inner_cells.mean(1), inner_cells.amax(1)], 1)
        pooled_answers = torch.cat([inner_answers.mean(1), inner_answers.amax(1)], 1)
        whole = self.whole(torch.cat([pooled_cells, pooled_answers, situation], 1))
        of_cells = self.cell_scores(_beside(inner_cells, whole)).transpose(1, 2).flatten(1)
        of_answers = self.answer_scores(_beside(inner_answers, whole)).squeeze(2)
        return torch.cat([of_cells, self.backtrack_score(whole), of_answers, self.value(whole)], 1)


class CellPolicy(MaskableActorCriticPolicy):
    """A policy for MaskablePPO whose scores and value are the outputs of `SharedNetwork`."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(
            *args,
            **{
                **settings,
                "features_extractor_class": SharedNetwork,
                "net_arch": [],
                "ortho_init": False,
            },
        )

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = _Columns(0, N_ACTIONS)
        self.value_net = _Columns(N_ACTIONS, N_ACTIONS + 1)
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )


class _Columns(nn.Module):
    """Returns the columns of its input from `first` to before `last`."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__()
        self.first, self.last = first, last

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs[:, self.first : self.last]


def _two_layers(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())


def _beside(rows: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    """Append the same vector to each row: (n, rows, a) and (n, b) to (n, rows, a + b)."""
    return torch.cat([rows, whole[:, None].expand(-1, rows.shape[1], -1)], 2)
