"""`SearchState`: scratchpad, dead zones and frontier of a run, and how workers' results are merged
into them.

The results are merged in the order in which the regions were handed out, whatever worker was first
to finish. So the state after a round does not depend on threads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlaskit.agents.frontier import Frontier
from atlaskit.agents.task import WorkerResult
from atlaskit.environment.grid import SUB_SECOND, Grid
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.runs.events import Seconds, interval_s, shift_data


@dataclass
class SearchState:
    """The frontier and both memories of a search (paper §3.1, M+ and M−)."""

    frontier: Frontier
    scratchpad: Scratchpad = Scratchpad()
    """M+: the evidence."""
    dead_zones: DeadZones = DeadZones()
    """M−: the time that was explored and holds nothing."""
    complete_visits: list[WorkerResult] = field(default_factory=list)
    """The visits that were not cut short: what they left without evidence may become dead."""
    has_reopened: bool = False
    """Whether the second look has begun."""

    def merge(self, results: Sequence[WorkerResult]) -> list[dict[str, Any]]:
        """Merge the workers' results; return the data of one `report` event for each.

        All evidence is merged first, so that a region with evidence of another worker does not
        become a dead zone.
        """
        for result in results:
            self.scratchpad = self.scratchpad.add(result.evidence)
        reports = [self._merge_visit(result) for result in results]
        self.frontier.drop(self.dead_zones)
        return reports

    def _merge_visit(self, result: WorkerResult) -> dict[str, Any]:
        self.frontier.take_back(result.region, not result.is_cut_short)
        self.frontier.mark(result.marked, result.region)
        if not result.is_cut_short:
            self.complete_visits.append(result)
        found = {item.timestamp_s for item in result.evidence}
        return {
            "path": list(result.region.path),
            "interval_s": interval_s(result.region),
            "stop": result.stop,
            **shift_data(result.region),
            "kept": [item.to_json() for item in self.scratchpad if item.timestamp_s in found],
            "marked": [list(grid.path) for grid in result.marked],
            "dead_s": [] if result.is_cut_short else self._rule_out(result),
            "is_open": result.is_cut_short,
        }

    def erase(self, labels: Collection[str]) -> list[Seconds]:
        """Erase evidence by its labels; return the intervals that become dead because of it."""
        self.scratchpad = self.scratchpad.erase(labels)
        return [span for visit in self.complete_visits for span in self._rule_out(visit)] if labels else []

    def suggest(self, cells: Iterable[int], regions: Iterable[Grid]) -> tuple[Grid, ...]:
        """Queue what a review named, with the highest score; return the regions not visited yet.

        Args:
            cells: Root cells; the regions in them get the highest score.
            regions: Regions below the root's cells, which join the frontier.
        """
        self.frontier.rank(dict.fromkeys(cells, 1.0))
        queued = self.frontier.suggest(regions)
        self.frontier.drop(self.dead_zones)
        return queued

    def reopen(self, max_depth: int) -> tuple[Grid, ...]:
        """Open the visited regions again, half a cell later; return them.

        What was seen as finely as the run can see stays ruled out: nothing lies between frames that
        are less than a second apart, or at the greatest depth. All else is no longer dead: what a
        coarse look did not show, a look between its frames may. A region that is ruled out after
        that stays so.

        Args:
            max_depth: Depth of the deepest grid that a worker may open.
        """
        visits, self.complete_visits, self.has_reopened = self.complete_visits, [], True
        finest = [
            grid
            for visit in visits
            for grid in (visit.region, *visit.opened)
            if grid.depth >= max_depth or grid.resolution_s < SUB_SECOND
        ]
        dead_zones = DeadZones()
        for grid in finest:
            dead_zones = dead_zones.add_all(self.dead_zones.within(grid.start_s, grid.end_s).intervals)
        if not (again := [visit.region.between() for visit in visits if visit.region not in finest]):
            return ()
        self.dead_zones = dead_zones
        return self.frontier.reopen(again)

    def _rule_out(self, visit: WorkerResult) -> list[Seconds]:
        """Make a region's unmarked parts dead if it has no evidence; return what is new."""
        new = list[Seconds]()
        if not len(self.scratchpad.within(*visit.explored_s)):
            for start_s, end_s in visit.unmarked_s:
                new += [list(span) for span in self.dead_zones.outside(start_s, end_s)]
                self.dead_zones = self.dead_zones.add(start_s, end_s)
        return new
