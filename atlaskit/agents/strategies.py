"""Strategies: which regions are explored next, and how. Each is one function of the frontier.

`ask(…, traversal=)` takes a name in STRATEGIES, "auto" (the Master chooses between "dfs" and "bfs" from the words of
the question), or any function of this form:

    def mine(frontier, *, workers, steps):
        return [Assignment(region, "dfs", steps) for region in frontier.best(workers)]

It returns at most `workers` sorties, to different open regions; none at all ends the search. It is called once a
round, when nothing is under way. That the result should not depend on threads asks of it that it depends on the
frontier alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol, get_args

from atlaskit.agents.frontier import Frontier
from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import Traversal
from atlaskit.errors import InputError, check_whole

SCAN_STEPS = 4
"""Steps of a worker that scans one level and marks what should be opened."""
BEAM_WIDTH = 8


@dataclass(frozen=True)
class Assignment:
    """One worker's errand, as a strategy plans it."""

    region: Grid
    traversal: Traversal
    """What the worker may do: open cells ("dfs"), or mark them for others ("bfs")."""
    steps: int
    """Calls that it may make at most."""

    def __post_init__(self) -> None:
        check_whole("The steps of a sortie", self.steps)
        if not isinstance(self.region, Grid):
            raise InputError(f"A sortie goes to a region's grid, not to {self.region!r:.80}.")
        if self.traversal not in get_args(Traversal):
            raise InputError(f'The traversal of a sortie is "dfs" or "bfs", got {self.traversal!r:.80}.')


class Strategy(Protocol):
    """Anything that plans a round."""

    def __call__(self, frontier: Frontier, *, workers: int, steps: int) -> Sequence[Assignment]:
        """Return the sorties of a round."""


def dfs(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
    """Depth-first: each worker opens cells of its region until it sees what it was sent for (paper §3.2)."""
    return [Assignment(region, "dfs", steps) for region in frontier.best(workers)]


def bfs(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
    """Breadth-first: each worker scans one level of its region, and marks cells for later rounds (paper §3.2).

    What is marked stands in a first-in-first-out queue, which the Master's scores reorder.
    """
    return [Assignment(region, "bfs", min(steps, SCAN_STEPS)) for region in frontier.best(workers)]


def beam(width: int = BEAM_WIDTH) -> Strategy:
    """Return a beam search: on each level the `width` best regions are scanned, and no others, before the next level.

    Where the beam has come to its end without sufficient evidence, it is widened by as much again.
    Raises InputError for a width below 1.
    """
    check_whole("The width of a beam", width)

    def strategy(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
        seen = Counter(grid.depth for grid in frontier.visited)
        levels = sorted({region.grid.depth for region in frontier.scored})
        if not levels:
            return []
        level, wide = next((level, wide) for wide in count(width, width) for level in levels if seen[level] < wide)
        chosen = frontier.best(min(workers, wide - seen[level]), lambda region: region.grid.depth == level)
        return [Assignment(region, "bfs", min(steps, SCAN_STEPS)) for region in chosen]

    strategy.__name__ = f"beam({width})"
    return strategy


STRATEGIES: dict[str, Strategy] = {"dfs": dfs, "bfs": bfs, "beam": beam()}
NAMES = ("auto", *STRATEGIES)
"""What a traversal can be called."""
