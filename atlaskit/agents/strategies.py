"""The strategies `dfs`, `bfs` and `beam`, which choose the regions of a round (paper §3.2).

They choose from a `Frontier`, the priority queue of open regions, which applies virtual loss.

A region is a grid below the root, to which one worker is sent. The frontier ranks regions by the
scores that the master gives to root cells and by the priors that scouts give.

`ak.Search(traversal=)` takes a name in NAMES or a function. With "auto", the master chooses "dfs"
or "bfs" from the words of the question; "looks" uses no strategy. A function has this form:

    def mine(frontier, *, workers, steps):
        return [Assignment(region, "dfs", steps) for region in frontier.best(workers)]

The search calls the strategy once a round, when no worker is running. The strategy returns at most
`workers` assignments, to different open regions; an empty list ends the search. A strategy must
depend on the frontier alone, or the result depends on the timing of threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Literal, Protocol, get_args

from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import Traversal
from atlaskit.environment.memory import DeadZones
from atlaskit.errors import InputError, check_whole

__all__ = ["Assignment", "Strategy", "beam", "bfs", "dfs"]

PRIOR_WEIGHT = 0.7
"""A prior of 1 counts as much as this score of the master."""
Source = Literal["root", "marked", "suggested"]
"""Why a region is queued: a root cell, a cell a worker marked, or a time that a review named."""

VIRTUAL_LOSS = 1.0
"""Penalty of a region while a region that overlaps it is explored."""
NEIGHBOUR_LOSS = 0.25
"""Penalty of a region while an adjacent one is explored.

It halves with each length of the explored region that lies between the two.
"""


@dataclass(frozen=True)
class Region:
    """An entry of the queue."""

    grid: Grid
    source: Source = "root"
    score: float | None = None
    """The master's score, in [0, 1]; None until the master gives one. A region without a score and
    without a prior is not chosen."""
    prior: float = 0.0
    """The scouts' score, in [0, 1]; 0 without a hint."""
    order: int = 0
    """Position in the queue. Of two regions with equal priority, the lower position comes first."""

    @property
    def worth(self) -> float | None:
        """The master's score or the weighted prior, whichever is higher; None without either."""
        if not self.prior:
            return self.score
        return max(self.score or 0.0, PRIOR_WEIGHT * self.prior)

    def is_ready(self, highest: float) -> bool:
        """Return whether the region can be chosen, given the highest score of all open regions."""
        if self.score is not None:
            return True
        return self.prior > 0 and PRIOR_WEIGHT * self.prior >= highest


class Frontier:
    """The regions of a run: open, being explored, or visited."""

    def __init__(self, cells: Iterable[Grid]) -> None:
        """Queue the grids of the root's cells, without scores."""
        self._open: dict[Grid, Region] = {}
        self._exploring: list[Grid] = []
        self._visits: dict[Grid, Region] = {}  # regions as they were when they were assigned
        self._shown: set[Grid] = set()  # grids that workers saw
        self._reopened: set[Grid] = set()  # grids that opened again after a visit was cut short
        self._next_position = 0  # of the next region in the queue
        self._prior: Callable[[Grid], float] = lambda grid: 0.0
        for cell in cells:
            self._put(Region(cell))

    @property
    def open(self) -> tuple[Region, ...]:
        """The regions that can be assigned, in order of arrival."""
        return tuple(sorted(self._open.values(), key=lambda region: region.order))

    @property
    def scored(self) -> tuple[Region, ...]:
        """The open regions that can be chosen, in order of arrival.

        They have a score, or a weighted prior that no score exceeds. So a scout's hint costs no
        call if the master already knows where to look.
        """
        highest = max((region.score or 0.0 for region in self._open.values()), default=0.0)
        return tuple(region for region in self.open if region.is_ready(highest))

    @property
    def visited(self) -> tuple[Grid, ...]:
        """The regions that were assigned so far, in the order of their first assignment."""
        return tuple(self._visits)

    @property
    def cells(self) -> tuple[int, ...]:
        """The root cells that contain an open region: those the master can score."""
        return tuple(sorted({grid.path[0] for grid in self._open}))

    def consult(self, prior: Callable[[Grid], float]) -> None:
        """Set the prior of each region, also of later ones, from the scouts' hints.

        Args:
            prior: Returns the prior of a region, in [0, 1]: 0 changes nothing.
        """
        self._prior = prior
        for grid, region in self._open.items():
            self._open[grid] = replace(region, prior=prior(grid))

    def rank(self, scores: Mapping[int, float], offered: Collection[int] = ()) -> None:
        """Apply the master's scores of root cells to the open regions in those cells.

        The regions change places in the queue so that, at equal scores, the better-ranked cell
        comes first. A region that a review suggested keeps its own score if that is higher.

        Args:
            scores: The score of each root cell the master named, best first.
            offered: The root cells the master could name. Regions in an offered cell that it did
                not name lose half of their score.
        """
        # The named regions exchange the positions that they have in the queue.
        ranking = list(scores)
        named = [region for region in self.open if region.grid.path[0] in scores]
        orders = [region.order for region in named]
        named.sort(key=lambda region: ranking.index(region.grid.path[0]))
        for region, order in zip(named, orders, strict=True):
            score = scores[region.grid.path[0]]
            if region.source == "suggested":
                score = max(score, region.score or 0.0)
            self._open[region.grid] = replace(region, score=score, order=order)
        for region in self.open:
            cell = region.grid.path[0]
            if cell in offered and cell not in scores and region.score is not None:
                self._open[region.grid] = replace(region, score=region.score / 2)

    def suggest(self, grids: Iterable[Grid], score: float = 1.0) -> None:
        """Queue the regions that a review named."""
        for grid in grids:
            self._put(Region(grid, "suggested", score))

    def is_seen(self, grid: Grid) -> bool:
        """Return whether a grid was shown to an agent or assigned, and is not open."""
        return grid not in self._open and (grid in self._visits or grid in self._shown)

    def mark(self, grids: Iterable[Grid], found_in: Grid) -> None:
        """Queue the cells that a worker marked in the region `found_in`, with that region's worth.

        Cells that are open or were assigned before are left out.
        """
        score = self._visits[found_in].worth
        for grid in grids:
            if grid not in self._visits and grid not in self._open:
                self._put(Region(grid, "marked", score))

    def best(self, count: int, among: Callable[[Region], bool] = lambda region: True) -> list[Grid]:
        """Return the regions to explore next, best first; the queue does not change.

        Each choice counts as being explored when the next one is made, so virtual loss spreads the
        choices over the video. Ties go to the region that is first in the queue.

        Args:
            count: How many regions to return at most.
            among: Tells whether a region may be chosen. Regions that are not `scored` never are.
        """
        ready = list(filter(among, self.scored))
        exploring = list(self._exploring)
        chosen = list[Grid]()
        while ready and len(chosen) < count:
            first = max(ready, key=lambda region: priority(region, exploring))
            ready.remove(first)
            exploring.append(first.grid)
            chosen.append(first.grid)
        return chosen

    def hand_out(self, grid: Grid) -> None:
        """Move an open region to those being explored."""
        self._visits[grid] = self._open.pop(grid)
        self._exploring.append(grid)

    def take_back(self, grid: Grid, is_searched: bool, shown: Collection[Grid] = ()) -> None:
        """Remove a region from those being explored.

        A region whose visit was cut short opens again, but only once. It then has half of its
        worth and comes after regions of equal priority, because it may fail again.

        Args:
            grid: The region.
            is_searched: Whether the visit was not cut short.
            shown: The grids that the region's worker saw.
        """
        self._exploring.remove(grid)
        self._shown |= set(shown)
        if not is_searched and grid not in self._reopened:
            self._reopened.add(grid)
            region = self._visits[grid]
            # The prior is already part of the worth.
            self._open[grid] = replace(
                region, score=(region.worth or 0.0) / 2, prior=0.0, order=self._next_position
            )
            self._next_position += 1

    def drop(self, zones: DeadZones) -> None:
        """Remove the open regions that lie entirely in dead zones."""
        for grid in list(self._open):
            if zones.covers(*grid.interval_s):
                del self._open[grid]

    def _put(self, region: Region) -> None:
        """Add a region to the queue, or replace the region of the same grid in its position."""
        if region.grid in self._open:
            order = self._open[region.grid].order
        else:
            order = self._next_position
            self._next_position += 1
        self._open[region.grid] = replace(region, prior=self._prior(region.grid), order=order)


def priority(region: Region, exploring: Iterable[Grid]) -> float:
    """Return a region's worth minus its virtual loss while other regions are explored."""
    return (region.worth or 0.0) - sum(virtual_loss(region.grid, other) for other in exploring)


def virtual_loss(grid: Grid, other: Grid) -> float:
    """Return the penalty, in [0, 1], of a region `grid` while the region `other` is explored."""
    gap_s = max(grid.start_s - other.end_s, other.start_s - grid.end_s)
    if gap_s < 0:
        return VIRTUAL_LOSS
    loss: float = NEIGHBOUR_LOSS * 0.5 ** (gap_s / other.span_s)
    return loss


SCAN_STEPS = 4
"""Steps of a worker that scans one level and marks cells for later rounds."""
BEAM_WIDTH = 8
"""Regions of each level that a beam search scans, unless the caller sets another number."""


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
            raise InputError(
                f"The region of an assignment must be a Grid; got {self.region!r:.80}."
            )
        if self.traversal not in get_args(Traversal):
            raise InputError(
                'The traversal of an assignment must be "dfs" or "bfs"; got '
                f"{self.traversal!r:.80}."
            )


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
        """Return the assignments of a round, at most `workers`; an empty list ends the search."""


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
    return _scans(frontier.best(workers), steps)


def _scans(regions: Iterable[Grid], steps: int) -> list[Assignment]:
    return [Assignment(region, "bfs", min(steps, SCAN_STEPS)) for region in regions]


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
        levels = {region.grid.depth for region in frontier.scored}
        if not levels:
            return []
        # The level with the fewest complete beams comes next; of two such levels, the upper one.
        level = min(levels, key=lambda depth: (visits[depth] // width, depth))
        room = width - visits[level] % width
        chosen = frontier.best(min(workers, room), lambda region: region.grid.depth == level)
        return _scans(chosen, steps)

    strategy.__name__ = f"beam({width})"
    return strategy


STRATEGIES: dict[str, Strategy] = {"dfs": dfs, "bfs": bfs, "beam": beam()}
LOOKS = "looks"
"""The traversal that does not use a frontier of cells: see `agents.looking`."""
NAMES = ("auto", *STRATEGIES, LOOKS)
"""The names that `traversal` accepts."""


def resolve_strategy(traversal: str | Strategy) -> Strategy | None:
    """Return the strategy for a value of `traversal`; None for "auto" and for a search by looks.

    Raises:
        InputError: If the value is neither a name nor a function of a strategy's form.
    """
    if isinstance(traversal, str) and traversal in NAMES:
        return STRATEGIES.get(traversal)
    if not callable(traversal):
        names = ", ".join(map(repr, NAMES))
        raise InputError(
            f"traversal must be {names}, or a strategy function; got {traversal!r:.80}."
        )
    try:
        signature(traversal).bind(None, workers=1, steps=1)
    except (TypeError, ValueError) as error:
        raise InputError(
            "A strategy must be callable as strategy(frontier, workers=…, steps=…); "
            f"{traversal!r:.80} is not ({error}). For a beam, pass ak.strategies.beam(width)."
        ) from error
    return traversal


def strategy_name(strategy: Strategy) -> str:
    """Return the name of a strategy in results and traces."""
    return str(getattr(strategy, "__name__", type(strategy).__name__))


def choose(strategy: Strategy, frontier: Frontier, *, workers: int, steps: int) -> list[Assignment]:
    """Ask a strategy for the assignments of a round, and check them.

    Raises:
        InputError: If the strategy does not return a list of at most `workers` assignments to
            different open regions.
    """
    planned = strategy(frontier, workers=workers, steps=steps)
    rule = f"The strategy {strategy_name(strategy)} must return"
    is_list = isinstance(planned, Sequence)
    if not is_list or not all(isinstance(each, Assignment) for each in planned):
        raise InputError(f"{rule} a list of assignments; it returned {planned!r:.80}.")
    if len(planned) > workers:
        raise InputError(f"{rule} at most {workers} assignments; it returned {len(planned)}.")
    regions = [each.region for each in planned]
    open_grids = {region.grid for region in frontier.open}
    if len(set(regions)) < len(regions) or not set(regions) <= open_grids:
        raise InputError(
            f"{rule} assignments to different regions of frontier.open; it returned {regions}."
        )
    return list(planned)


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
