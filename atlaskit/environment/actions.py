"""The actions of the MDP (paper §3.1).

An action names cells by index, never times, so an agent cannot select what it cannot see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["before", "after"]


@dataclass(frozen=True)
class Expand:
    """Go to the grid of exactly one cell's interval, one depth further down.

    Examples:
        >>> atlas = ak.Atlas(video, k=4)
        >>> atlas.step(ak.Expand(cell=5)).view.grid.path
        (5,)
    """

    cell: int


@dataclass(frozen=True)
class Backtrack:
    """Go back to the grid that the current one was expanded from.

    Examples:
        >>> atlas = ak.Atlas(video, k=4)
        >>> atlas.step(ak.Expand(5)).state.depth, atlas.step(ak.Backtrack()).state.depth
        (1, 0)
    """


@dataclass(frozen=True)
class MarkPromising:
    """Queue the grids of some cells for later visits (breadth-first workers only).

    Examples:
        >>> atlas = ak.Atlas(video, k=4, traversal="bfs")
        >>> [grid.path for grid in atlas.step(ak.MarkPromising((2, 7))).state.marked]
        [(2,), (7,)]
    """

    cells: tuple[int, ...]


@dataclass(frozen=True)
class Zoom:
    """Look at a cell's frame at full resolution.

    Examples:
        >>> atlas = ak.Atlas(video, k=4)
        >>> atlas.step(ak.Zoom(cell=5)).looking_at.size
        (320, 180)
    """

    cell: int


@dataclass(frozen=True)
class Investigate:
    """Look at the frames just before or just after a cell (a context scan).

    Examples:
        >>> atlas = ak.Atlas(video, k=4)
        >>> atlas.step(ak.Investigate(cell=5, direction="before")).looking_at.grid.end_s
        37.5
    """

    cell: int
    direction: Direction


@dataclass(frozen=True)
class Claim:
    """An agent's claim that the frame of a visible cell is evidence.

    The agent gives the cell, the description and the confidence; the environment fills in the rest.

    Examples:
        >>> ak.Claim(cell=3, description="a white square", confidence=0.9)
        Claim(cell=3, description='a white square', confidence=0.9, subtitle='', timestamp_s=None)
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
    """Add the frames of some visible cells to the scratchpad as evidence.

    Examples:
        >>> atlas = ak.Atlas(video)
        >>> claim = ak.Claim(cell=3, description="a white square", confidence=0.9)
        >>> len(atlas.step(ak.AddToScratchpad((claim,))).state.scratchpad)
        1
    """

    items: tuple[Claim, ...]


@dataclass(frozen=True)
class Finished:
    """Declare the region explored.

    Examples:
        >>> ak.Atlas(video).step(ak.Finished()).state.finished
        True
    """


Action = Expand | Backtrack | MarkPromising | Zoom | Investigate | AddToScratchpad | Finished


def cells_of(action: Action) -> tuple[int, ...]:
    """Return the cells that an action names, in its order."""
    match action:
        case Expand(cell) | Zoom(cell) | Investigate(cell):
            return (cell,)
        case MarkPromising(cells):
            return tuple(cells)
        case AddToScratchpad(items):
            return tuple(item.cell for item in items)
    return ()
