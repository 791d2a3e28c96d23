"""The codebook: the direction of each value that a cell can show, and the target of visual tokens.

Every value of every attribute of a cell's content (a colour, a place, the word of a caption …) has
a direction of its own in the token space, orthogonal to all others. A visual token should be the
sum of the directions of the values that its cell shows. The embeddings of the words for these
values start as the same directions, so that images and text share one representation.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from architecture import WIDTH

COMMON_INDEX = 200
"""Index in the basis of the direction that all tokens share."""
COMMON_SHARE = 0.5
"""Length of the component along the shared direction in each token."""
SHARPNESS = 10.0
"""Factor from the projection onto a direction to the score of its value."""


@lru_cache(maxsize=1)
def basis(seed: int = 0) -> torch.Tensor:
    """Return a random orthonormal basis of the token space, (WIDTH, WIDTH)."""
    drawn = torch.randn(
        WIDTH, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    return torch.linalg.qr(drawn)[0].float()


def codebook(sizes: list[int]) -> torch.Tensor:
    """Return the direction of each value of each attribute, (sum of sizes, WIDTH), all orthonormal.

    Args:
        sizes: Number of values of each attribute.
    """
    return basis()[: sum(sizes)]


def target_tokens(values: torch.Tensor, sizes: list[int], directions: torch.Tensor) -> torch.Tensor:
    """Return the targets of visual tokens, including the component along the common direction.

    Args:
        values: Index of each attribute's value, (n, attributes).
        sizes: Number of values of each attribute.
        directions: The codebook.

    Returns:
        Tokens, (n, WIDTH).
    """
    offsets = torch.tensor([sum(sizes[:i]) for i in range(len(sizes))], device=values.device)
    common = COMMON_SHARE * basis()[COMMON_INDEX].to(directions.device)
    return directions[values.long() + offsets].sum(1) + common


def value_scores(
    tokens: torch.Tensor, sizes: list[int], directions: torch.Tensor
) -> list[torch.Tensor]:
    """Return the scores of each attribute's values for tokens, (n, WIDTH).

    Returns:
        For each attribute a tensor of scores, (n, number of its values).
    """
    return list((SHARPNESS * tokens @ directions.T).split(sizes, dim=1))
