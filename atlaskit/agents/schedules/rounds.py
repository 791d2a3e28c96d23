"""`explore_in_rounds`: probe, parallel workers, merge, review, and again (paper §3.2).

A round ends when its last worker is back. What the workers of a round may know is fixed before they
start, and so is what the probe for the next round sees, which runs beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlaskit.agents.loop import Search, Stop
from atlaskit.agents.strategies import Assignment
from atlaskit.agents.task import WorkerResult


def explore_in_rounds(search: Search) -> Stop:
    """Explore in rounds until something ends the search; return what did."""
    rounds = _Rounds(search)
    while True:
        stop = rounds.run() if search.state.frontier.open else "explored"
        if stop == "explored" and search.can_look_again():
            rounds.has_scores = False
        elif stop is not None:
            return stop


@dataclass
class _Rounds:
    search: Search
    has_scores: bool = False
    """Whether the probe for the next round has been made."""

    def run(self) -> Stop | None:
        """Probe, send workers, merge their results and review; return a stop, or None to go on."""
        search = self.search
        if search.limits.is_last(search.rounds):
            return "rounds"
        if (stop := search.must_stop()) is not None:
            return stop
        search.rounds += 1
        if not (self.has_scores and search.state.frontier.scored):
            self.has_scores = search.apply_scores(search.prober()())
            if (stop := search.silence() or search.meter.exhausted()) is not None:
                return stop
        assignments = search.choose(search.limits.workers)
        if not assignments:
            return "explored"
        search.calls.health.record_round(self.send(assignments))
        if (stop := search.silence()) is not None:
            return stop
        if not search.has_news:
            return search.conclusion()
        limit = search.meter.exhausted()
        if limit in (None, "calls"):  # one of the calls reserved from workers is for this review
            search.apply_judgement(search.reviewer()())
            return search.conclusion()
        return limit

    def send(self, assignments: Sequence[Assignment]) -> list[WorkerResult]:
        """Run a round's workers, with the next probe beside them, and merge what they return."""
        search, steps = self.search, [assignment.steps for assignment in assignments]
        is_last = search.limits.is_last(search.rounds)
        keeps = "probe" in search.master.thrift
        ahead = search.limits.look_ahead and not keeps and not is_last and search.meter.can_look_ahead(steps)
        tasks = search.tasks(assignments, search.meter.allot(steps, ahead))
        search.hand_out(tasks)
        looks_ahead = ahead and search.state.frontier.cells
        results, probe = search.dispatcher.run(tasks, search.prober(ahead=True) if looks_ahead else None)
        search.merge(results)
        self.has_scores = search.apply_scores(probe) if probe else self.has_scores and search.keeps_scores
        return results
