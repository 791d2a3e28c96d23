"""The strategies dfs, bfs, beam and auto: functions that choose the regions of a round. Each is one
function of the frontier.

`ak.Search(traversal=)` takes a name in STRATEGIES, "auto" (the master chooses "dfs" or "bfs" from
the words of the question), or any function of this form:

    def mine(frontier, *, workers, steps):
        return [Assignment(region, "dfs", steps) for region in frontier.best(workers)]

The search calls the strategy once a round, when no worker is running. The strategy returns at most
`workers` assignments, to different open regions; an empty list ends the search. A strategy must
depend on the frontier alone, or the result depends on the timing of threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import count
from typing import Protocol, get_args

from atlaskit.agents.frontier import Frontier
from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import Traversal
from atlaskit.errors import InputError, check_whole

__all__ = ["Assignment", "Strategy", "beam", "bfs", "dfs"]

SCAN_STEPS = 4
"""Steps of a worker that scans one level and marks cells for later rounds."""
BEAM_WIDTH = 8


@dataclass(frozen=True)
class Assignment:
    """A strategy's choice: a region and how a worker explores it.

    Raises:
        InputError: If the region is not a grid, the traversal is unknown, or there are no steps.

    Examples:
        >>> region = ak.Atlas(video).root.expand(12)
        >>> ak.strategies.Assignment(region, "dfs", steps=6).steps
        6
    """

    region: Grid
    traversal: Traversal
    """What the worker may do: open cells ("dfs"), or mark them for later rounds ("bfs")."""
    steps: int
    """The most calls the worker may make."""

    def __post_init__(self) -> None:
        check_whole("steps of an assignment", self.steps)
        if not isinstance(self.region, Grid):
            raise InputError(f"The region of an assignment must be a Grid; got {self.region!r:.80}.")
        if self.traversal not in get_args(Traversal):
            raise InputError(f'The traversal of an assignment must be "dfs" or "bfs"; got {self.traversal!r:.80}.')


class Strategy(Protocol):
    """Any function that plans a round.

    Examples:
        >>> def best(frontier, *, workers, steps):
        ...     regions = frontier.best(workers)
        ...     return [ak.strategies.Assignment(region, "dfs", steps) for region in regions]
        >>> ak.ask(video, question, vlm=vlm, search=ak.Search(traversal=best)).is_right
        True
    """

    def __call__(self, frontier: Frontier, *, workers: int, steps: int) -> Sequence[Assignment]:
        """Return the assignments of a round, at most `workers`; none ends the search."""


def dfs(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
    """Search depth-first: workers open cells until they see the evidence (paper §3.2).

    Examples:
        >>> ak.ask(video, question, vlm=vlm, search=ak.Search(traversal=ak.strategies.dfs)).is_right
        True
    """
    return [Assignment(region, "dfs", steps) for region in frontier.best(workers)]


def bfs(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
    """Search breadth-first: workers scan one level and mark cells for later rounds.

    Marked cells wait in a first-in-first-out queue, which the master's scores reorder (paper §3.2).

    Examples:
        >>> ak.ask(video, question, vlm=vlm, search=ak.Search(traversal=ak.strategies.bfs)).is_right
        True
    """
    return [Assignment(region, "bfs", min(steps, SCAN_STEPS)) for region in frontier.best(workers)]


def beam(width: int = BEAM_WIDTH) -> Strategy:
    """Return a beam search: it scans the `width` best regions of each level before the next level.

    When the beam reaches the deepest level without sufficient evidence, it continues with another
    `width` regions a level.

    Raises:
        InputError: If the width is below 1.

    Examples:
        >>> search = ak.Search(traversal=ak.strategies.beam(width=2))
        >>> ak.ask(video, question, vlm=vlm, search=search).is_right
        True
    """
    check_whole("The width of a beam", width)

    def strategy(frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
        visits = Counter(grid.depth for grid in frontier.visited)
        levels = sorted({region.grid.depth for region in frontier.scored})
        if not levels:
            return []
        level, limit = next(
            (level, limit) for limit in count(width, width) for level in levels if visits[level] < limit
        )
        chosen = frontier.best(min(workers, limit - visits[level]), lambda region: region.grid.depth == level)
        return [Assignment(region, "bfs", min(steps, SCAN_STEPS)) for region in chosen]

    strategy.__name__ = f"beam({width})"
    return strategy


STRATEGIES: dict[str, Strategy] = {"dfs": dfs, "bfs": bfs, "beam": beam()}
NAMES = ("auto", *STRATEGIES)
"""The names that `traversal` can have."""


def resolve_strategy(traversal: str | Strategy) -> Strategy | None:
    """Return the strategy for a value of `traversal`, None for "auto".

    Raises:
        InputError: If the value is neither a name nor a function of a strategy's form.
    """
    if isinstance(traversal, str) and traversal in NAMES:
        return STRATEGIES.get(traversal)
    if not callable(traversal):
        names = ", ".join(map(repr, NAMES))
        raise InputError(f"traversal must be {names}, or a strategy function; got {traversal!r:.80}.")
    try:
        signature(traversal).bind(None, workers=1, steps=1)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"A strategy must be callable as strategy(frontier, workers=…, steps=…); {traversal!r:.80} is not "
            f"({error}). For a beam, pass ak.strategies.beam(width)."
        ) from error
    return traversal


def strategy_name(strategy: Strategy) -> str:
    """Return the name of a strategy in results and traces."""
    return str(getattr(strategy, "__name__", type(strategy).__name__))


def choose(strategy: Strategy, frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
    """Ask a strategy for the assignments of a round, and check them.

    Raises:
        InputError: If it does not return a list of assignments, at most `workers`, to different
            open regions.
    """
    planned = strategy(frontier, workers=workers, steps=steps)
    rule = f"The strategy {strategy_name(strategy)} must return"
    if not isinstance(planned, Sequence) or not all(isinstance(each, Assignment) for each in planned):
        raise InputError(f"{rule} a list of assignments; it returned {planned!r:.80}.")
    if len(planned) > workers:
        raise InputError(f"{rule} at most {workers} assignments; it returned {len(planned)}.")
    regions, open_grids = [each.region for each in planned], {region.grid for region in frontier.open}
    if len(set(regions)) < len(regions) or not set(regions) <= open_grids:
        raise InputError(f"{rule} assignments to different regions of frontier.open; it returned {regions}.")
    return list(planned)


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
