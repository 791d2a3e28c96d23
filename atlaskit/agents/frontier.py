"""The frontier of a search (paper §3.2): a priority queue over regions, with virtual loss.

A region is a grid that can be opened. Its priority is the Master's score less the virtual loss of regions that are
being explored just now: those that share time with one of them lose most, its neighbours in time less. Knows nothing
of workers, models or strategies; the order of what it hands out depends on scores and on the order of arrival alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones

Source = Literal["root", "marked", "suggested"]
"""Why a region is in the queue: it is a cell of the root, a worker marked it, or a review named its time."""

VIRTUAL_LOSS = 1.0
"""What a region loses that shares time with one that is being explored."""
NEIGHBOUR_LOSS = 0.25
"""What it loses that adjoins one; half of that for each length of that region between them."""


@dataclass(frozen=True)
class Region:
    """A place in the queue."""

    grid: Grid
    source: Source = "root"
    score: float | None = None
    """The Master's, in [0, 1]; a region without one is not handed out."""
    order: int = 0
    """Of arrival: first in, first out where priorities are the same."""


class Frontier:
    """The regions that can still be explored, and those that are or were."""

    def __init__(self, cells: Iterable[Grid]) -> None:
        self._open: dict[Grid, Region] = {}
        self._out: list[Grid] = []
        self._visits: dict[Grid, Region] = {}
        self._given_back: set[Grid] = set()
        self._arrived = 0
        for cell in cells:
            self._put(Region(cell))

    @property
    def open(self) -> tuple[Region, ...]:
        """The regions that can be handed out, in order of arrival."""
        return tuple(sorted(self._open.values(), key=lambda region: region.order))

    @property
    def scored(self) -> tuple[Region, ...]:
        """Those of them that have a score, and so can be chosen as best."""
        return tuple(region for region in self.open if region.score is not None)

    @property
    def out(self) -> tuple[Grid, ...]:
        """The regions that are being explored."""
        return tuple(self._out)

    @property
    def visited(self) -> tuple[Grid, ...]:
        """The regions that were handed out, the first first."""
        return tuple(self._visits)

    @property
    def cells(self) -> tuple[int, ...]:
        """The root's cells in which there is something left to explore: those the Master can score."""
        return tuple(sorted({grid.path[0] for grid in self._open}))

    def rank(self, scores: Mapping[int, float], offered: Collection[int] = ()) -> None:
        """Take over the Master's scores of root cells, best first, for the cells and for what was marked in them.

        They change places in the queue so that the better comes first where scores are the same. A region that a review
        named keeps the score it has, if that is higher: it is of it alone. What lies in a cell that was `offered` and
        is not among them loses half of its score: the Master has seen better since.
        """
        places = {cell: place for place, cell in enumerate(scores)}
        named = [region for region in self.open if region.grid.path[0] in scores]
        orders = [region.order for region in named]
        for region, order in zip(sorted(named, key=lambda r: places[r.grid.path[0]]), orders, strict=True):
            score = scores[region.grid.path[0]]
            if region.source == "suggested":
                score = max(score, region.score or 0.0)
            self._open[region.grid] = replace(region, score=score, order=order)
        for region in self.open:
            cell = region.grid.path[0]
            if cell in offered and cell not in scores and region.score is not None:
                self._open[region.grid] = replace(region, score=region.score / 2)

    def suggest(self, grids: Iterable[Grid], score: float = 1.0) -> tuple[Grid, ...]:
        """Queue the regions that a review named; return those that were not explored yet."""
        news = tuple(grid for grid in dict.fromkeys(grids) if grid not in self._visits)
        for grid in news:
            self._put(Region(grid, "suggested", score))
        return news

    def mark(self, grids: Iterable[Grid], found_in: Grid) -> None:
        """Queue the cells that a worker marked, with the score of the region in which it did."""
        score = self._visits[found_in].score
        for grid in grids:
            if grid not in self._visits and grid not in self._open:
                self._put(Region(grid, "marked", score))

    def best(self, count: int, among: Callable[[Region], bool] = lambda region: True) -> list[Grid]:
        """Return the `count` regions to explore next, best first: each as if those before it were under way.

        Those without a score are left out, as are those that `among` refuses; ties go to the first in the queue.
        """
        ready, under_way, chosen = [r for r in self.scored if among(r)], list(self._out), list[Grid]()
        while ready and len(chosen) < count:
            first = max(ready, key=lambda region: priority(region, under_way))
            ready.remove(first)
            under_way.append(first.grid)
            chosen.append(first.grid)
        return chosen

    def hand_out(self, grid: Grid) -> None:
        """Note that a region is being explored."""
        self._visits[grid] = self._open.pop(grid)
        self._out.append(grid)

    def take_back(self, grid: Grid, is_searched: bool) -> None:
        """Note that a region is explored; one that was not searched as far as meant is open again, once.

        It then stands behind what is as good, with half of its score: it may fail again.
        """
        self._out.remove(grid)
        if not is_searched and grid not in self._given_back:
            self._given_back.add(grid)
            region = self._visits[grid]
            self._open[grid] = replace(region, score=(region.score or 0.0) / 2, order=self._arrived)
            self._arrived += 1

    def drop(self, zones: DeadZones) -> None:
        """Forget the regions that lie wholly in dead zones."""
        self._open = {g: region for g, region in self._open.items() if not zones.covers(g.start_s, g.end_s)}

    def _put(self, region: Region) -> None:
        """Add a region, or a better reason for one that is there."""
        known = self._open.get(region.grid)
        self._open[region.grid] = replace(region, order=known.order if known else self._arrived)
        self._arrived += known is None


def priority(region: Region, under_way: Iterable[Grid]) -> float:
    """Return a region's score less its virtual loss."""
    return (region.score or 0.0) - sum(virtual_loss(region.grid, other) for other in under_way)


def virtual_loss(grid: Grid, other: Grid) -> float:
    """Return what a region loses while another is explored, in [0, 1]."""
    gap_s = max(grid.start_s - other.end_s, other.start_s - grid.end_s)
    return VIRTUAL_LOSS if gap_s < 0 else NEIGHBOUR_LOSS * 0.5 ** (gap_s / other.span_s)
