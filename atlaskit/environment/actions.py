"""The actions of the MDP (paper §3.1).

An action names cells by index, never times, so an agent cannot select what it cannot see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["before", "after"]


@dataclass(frozen=True)
class Expand:
    """Go to the grid of exactly one cell's interval, one depth further down."""

    cell: int


@dataclass(frozen=True)
class Backtrack:
    """Go back to the grid that the current one was expanded from."""


@dataclass(frozen=True)
class MarkPromising:
    """Queue the grids of some cells for later visits (breadth-first workers only)."""

    cells: tuple[int, ...]


@dataclass(frozen=True)
class Zoom:
    """Look at a cell's frame at full resolution."""

    cell: int


@dataclass(frozen=True)
class Investigate:
    """Look at the frames just before or just after a cell (a context scan)."""

    cell: int
    direction: Direction


@dataclass(frozen=True)
class Claim:
    """An agent's claim that the frame of a visible cell is evidence.

    The agent gives the cell, the description and the confidence; the environment fills in the rest.
    """

    cell: int
    description: str
    confidence: float = 1.0
    """Confidence in [0, 1]."""
    subtitle: str = ""
    """Text of the subtitle lines during the cell; set by the environment."""
    timestamp_s: float | None = None
    """Time of the cell's frame in seconds; set by the environment. None means the midpoint."""


@dataclass(frozen=True)
class AddToScratchpad:
    """Add the frames of some visible cells to the scratchpad as evidence."""

    items: tuple[Claim, ...]


@dataclass(frozen=True)
class Finished:
    """Declare the region explored."""


Action = Expand | Backtrack | MarkPromising | Zoom | Investigate | AddToScratchpad | Finished
