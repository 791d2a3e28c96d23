"""The frontier of a search (paper §3.2): a priority queue of open regions, with virtual loss.

A region's priority is the master's score, or what scouts say for it if that is more, minus the
virtual loss of the regions that workers are exploring. A region loses most if it overlaps one of
those in time, and less the farther away it is. The order of the queue depends only on scores,
priors and the order of arrival. This module knows nothing of workers, scouts, models or strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones

PRIOR_WEIGHT = 0.7
"""Score that a prior of 1 amounts to, so that what the master is sure of comes first."""
Source = Literal["root", "marked", "suggested", "again"]
"""Why a region is queued: a root cell, a cell a worker marked, a time that a review named, or a
second look at a region that was explored."""

VIRTUAL_LOSS = 1.0
"""What a region loses while a region that overlaps it is explored."""
NEIGHBOUR_LOSS = 0.25
"""What a region loses while an adjacent one is explored.

It halves with each length of that region that lies between the two.
"""


@dataclass(frozen=True)
class Region:
    """An entry of the queue."""

    grid: Grid
    source: Source = "root"
    score: float | None = None
    """The master's score, in [0, 1]; a region without one (None) and without a prior is not handed
    out."""
    prior: float = 0.0
    """What scouts say for it, in [0, 1]; 0 if they say nothing."""
    order: int = 0
    """Position in order of arrival; of two regions with one priority, the lower goes first."""

    @property
    def worth(self) -> float | None:
        """The master's score or the weighted prior, whichever is higher; None without either."""
        return max(self.score or 0.0, PRIOR_WEIGHT * self.prior) if self.prior else self.score

    def is_ready(self, highest: float) -> bool:
        """Return whether it can be chosen, given the highest score of all open regions."""
        return self.score is not None or (self.prior > 0 and PRIOR_WEIGHT * self.prior >= highest)


class Frontier:
    """The regions of a run: those open, those being explored, and those visited."""

    def __init__(self, cells: Iterable[Grid]) -> None:
        """Queue the grids of the root's cells, without scores."""
        self._open: dict[Grid, Region] = {}
        self._out: list[Grid] = []
        self._visits: dict[Grid, Region] = {}
        self._reopened: set[Grid] = set()
        self._arrived = 0
        self._prior: Callable[[Grid], float] = lambda grid: 0.0
        for cell in cells:
            self._put(Region(cell))

    @property
    def open(self) -> tuple[Region, ...]:
        """The regions that can be handed out, in order of arrival."""
        return tuple(sorted(self._open.values(), key=lambda region: region.order))

    @property
    def scored(self) -> tuple[Region, ...]:
        """The open regions that can be chosen, in order of arrival: those that have a score.

        One that only scouts name waits until no score is higher than its prior. A hint so costs no
        call where the master itself knows where to look.
        """
        highest = max((region.score for region in self._open.values() if region.score is not None), default=0.0)
        return tuple(region for region in self.open if region.is_ready(highest))

    @property
    def visited(self) -> tuple[Grid, ...]:
        """The regions that were handed out so far, in that order."""
        return tuple(self._visits)

    @property
    def cells(self) -> tuple[int, ...]:
        """The root cells that contain an open region: those the master can score."""
        return tuple(sorted({grid.path[0] for grid in self._open}))

    def consult(self, prior: Callable[[Grid], float]) -> None:
        """Give each region, those to come included, the prior that scouts have for it.

        Args:
            prior: Returns the prior of a region, in [0, 1]: 0 leaves it as it is.
        """
        self._prior = prior
        self._open = {grid: replace(region, prior=prior(grid)) for grid, region in self._open.items()}

    def rank(self, scores: Mapping[int, float], offered: Collection[int] = ()) -> None:
        """Apply the master's scores of root cells to the open regions in those cells.

        The regions change places in the queue so that, at equal scores, the better-ranked cell
        comes first. A region that a review suggested keeps its own score if that is higher.

        Args:
            scores: The score of each root cell the master named, best first.
            offered: The root cells the master could name. Regions in an offered cell that it did
                not name lose half of their score.
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
        """Queue the regions that a review named; return those that no worker has visited."""
        unvisited = tuple(grid for grid in dict.fromkeys(grids) if grid not in self._visits)
        for grid in unvisited:
            self._put(Region(grid, "suggested", score))
        return unvisited

    def mark(self, grids: Iterable[Grid], found_in: Grid) -> None:
        """Queue the cells that a worker marked, with the score of the region it explored."""
        score = self._visits[found_in].worth
        for grid in grids:
            if grid not in self._visits and grid not in self._open:
                self._put(Region(grid, "marked", score))

    def reopen(self, shifted: Iterable[Grid]) -> tuple[Grid, ...]:
        """Queue regions that were visited, shifted by half a cell; return them.

        Each has half of the score that it had, so that the likeliest comes first until the master
        scores them again.
        """
        grids = tuple(shifted)
        for grid in grids:
            before = self._visits.get(replace(grid, shift=0))
            self._put(Region(grid, "again", ((before and before.score) or 0.0) / 2))
        return grids

    def best(self, count: int, among: Callable[[Region], bool] = lambda region: True) -> list[Grid]:
        """Return the regions to explore next, best first; the queue does not change.

        Each choice counts as being explored when the next one is made, so virtual loss spreads the
        choices over the video. Ties go to the region that is first in the queue.

        Args:
            count: How many regions to return at most.
            among: Tells whether a region may be chosen. Regions that are not `scored` never are.
        """
        ready, exploring, chosen = [r for r in self.scored if among(r)], list(self._out), list[Grid]()
        while ready and len(chosen) < count:
            first = max(ready, key=lambda region: priority(region, exploring))
            ready.remove(first)
            exploring.append(first.grid)
            chosen.append(first.grid)
        return chosen

    def hand_out(self, grid: Grid) -> None:
        """Move an open region to those being explored."""
        self._visits[grid] = self._open.pop(grid)
        self._out.append(grid)

    def take_back(self, grid: Grid, is_searched: bool) -> None:
        """Remove a region from those being explored.

        A region whose visit was cut short opens again, but only once. It then has half of its
        score and comes after regions of equal priority, because it may fail again.
        """
        self._out.remove(grid)
        if not is_searched and grid not in self._reopened:
            self._reopened.add(grid)
            region = self._visits[grid]
            self._open[grid] = replace(region, score=(region.worth or 0.0) / 2, prior=0.0, order=self._arrived)
            self._arrived += 1

    def drop(self, zones: DeadZones) -> None:
        """Remove the open regions that lie entirely in dead zones."""
        self._open = {g: region for g, region in self._open.items() if not zones.covers(g.start_s, g.end_s)}

    def _put(self, region: Region) -> None:
        """Add a region; one that is open already is replaced, in its place."""
        known = self._open.get(region.grid)
        order = known.order if known else self._arrived
        self._open[region.grid] = replace(region, prior=self._prior(region.grid), order=order)
        self._arrived += known is None


def priority(region: Region, exploring: Iterable[Grid]) -> float:
    """Return a region's worth minus its virtual loss while other regions are explored."""
    return (region.worth or 0.0) - sum(virtual_loss(region.grid, other) for other in exploring)


def virtual_loss(grid: Grid, other: Grid) -> float:
    """Return what a region loses while another one is explored, in [0, 1]."""
    gap_s = max(grid.start_s - other.end_s, other.start_s - grid.end_s)
    return VIRTUAL_LOSS if gap_s < 0 else NEIGHBOUR_LOSS * 0.5 ** (gap_s / other.span_s)
