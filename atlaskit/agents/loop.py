"""`Run`: what a run does (paper §3.2): plan, probe, hand regions to workers, merge, review,
look again, decide; and what each of these adds to the trace.

A round ends when its last worker is back. A probe has two halves: `probe` makes the call and
changes nothing, so that the one for the next round can run beside the workers; `apply_scores`
applies the reply, at a fixed point of the round.

Three promises rest on this module:

* **Order does not matter.** What each worker of a round may know and spend is fixed before the
  round's workers start, and so is what the probe beside them sees. Results are merged in the order
  in which the regions were handed out. With a deterministic model, the outcome does not depend on
  the number of threads or on their timing.
* **A failure costs a step, not a region.** A failed call counts against the budget. The evidence
  found before is kept, and the region or the next round can try again.
* **Budgets are hard.** The search checks the budget before each call, and keeps enough of it for
  the decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from atlaskit.agents.budget import Allotment, Meter
from atlaskit.agents.dispatch import Dispatcher, assign_data
from atlaskit.agents.event_log import EventLog
from atlaskit.agents.frontier import Frontier
from atlaskit.agents.master import Master
from atlaskit.agents.master_calls import MasterCall, MasterCalls, spent
from atlaskit.agents.prompts.thrift import Recalled
from atlaskit.agents.review import (
    cells_to_explore,
    choices_weighed,
    intervals_to_explore,
    is_sufficient,
    labels_to_erase,
)
from atlaskit.agents.scouts.survey import Survey, scout_data
from atlaskit.agents.settings import Search
from atlaskit.agents.state import SearchState
from atlaskit.agents.strategies import STRATEGIES, Assignment, Strategy, plan_round, resolve_strategy, strategy_name
from atlaskit.agents.task import Task, WorkerResult
from atlaskit.agents.votes import Votes
from atlaskit.environment.observation import Observation
from atlaskit.models.presets import Preset
from atlaskit.models.protocol import Reply
from atlaskit.runs.events import Event, sheet_data, view_data

Stop = Literal[
    "sufficient",
    "explored",
    "depth",
    "rounds",
    "calls",
    "tokens",
    "effective_tokens",
    "usd",
    "seconds",
    "model",
]
"""Why a search ended.

* Master: the evidence is "sufficient"; or "depth", because no root cell may be expanded.
* Workers: "explored", because the strategy chose no more regions.
* Global: "rounds" or one of the budget's limits is used up, or the "model" does not answer.
"""


@dataclass(frozen=True)
class Plan:
    """What the search looks for, and which strategy chooses its regions."""

    search_task: str
    strategy: Strategy


@dataclass(frozen=True)
class Verdict:
    """What the last review concluded."""

    is_sufficient: bool = False
    labels: tuple[str, ...] = ()
    """The evidence it leaves: with just this evidence, another review would judge the same."""


@dataclass(frozen=True)
class Probe:
    """A probe that was made, and the part of its event's data that is known without the reply."""

    call: MasterCall
    data: dict[str, Any]


@dataclass
class Run:
    """One run: its rounds, and the decision.

    The first group of fields never changes; the second is what the rounds change.
    """

    master: Master
    dispatcher: Dispatcher
    settings: Search
    """With a grid, steps and a plateau."""
    workers: int
    """The most regions that are explored in a round."""
    meter: Meter
    log: EventLog
    survey: Survey = Survey()

    calls: MasterCalls = field(init=False)
    state: SearchState = field(init=False)
    strategy: Strategy | None = field(init=False)
    """The strategy that the caller chose; None lets the master choose."""
    plan: Plan = field(init=False)
    """Made by the first call of the run."""
    rounds: int = 0
    """The number of the current round; 0 before the first."""
    has_scores: bool = False
    """Whether the probe for the next round has been made."""
    verdict: Verdict = Verdict()
    recalled: Recalled | None = None
    """What the last answered probe said, if reviews show that in place of the root grid."""

    def __post_init__(self) -> None:
        root = self.master.atlas.start()
        self.calls = MasterCalls(self.meter, self.log)
        frontier = Frontier(root.grid.expand(cell) for cell in root.legal["expand"])
        self.state = SearchState(frontier)
        self.strategy = resolve_strategy(self.settings.traversal)

    @property
    def failure(self) -> str:
        """The last failure of the master or of a whole round; empty if there was none."""
        return self.calls.health.failure

    @property
    def is_last_round(self) -> bool:
        """Whether no round may follow the current one."""
        return self.settings.max_rounds is not None and self.rounds >= self.settings.max_rounds

    def explore(self) -> Stop:
        """Explore in rounds until something ends the search; return what did."""
        if not self.state.frontier.open:
            return "depth"
        if (limit := self.meter.exhausted()) is not None:
            return limit
        self.plan = self.make_plan()
        self.consult_scouts()
        while True:
            stop = self.run_round() if self.state.frontier.open else "explored"
            if stop == "explored" and self.can_look_again():
                self.has_scores = False
            elif stop is not None:
                return stop

    def run_round(self) -> Stop | None:
        """Probe, send workers, merge their results and review; return a stop, or None to go on."""
        if self.is_last_round:
            return "rounds"
        if (stop := self.meter.exhausted() or self.silence()) is not None:
            return stop
        self.rounds += 1
        if not (self.has_scores and self.state.frontier.scored):
            self.has_scores = self.apply_scores(self.probe())
            if (stop := self.silence() or self.meter.exhausted()) is not None:
                return stop
        workers, steps = self.workers, self.settings.steps or Preset.steps
        assignments = plan_round(self.plan.strategy, self.state.frontier, workers=workers, steps=steps)
        if not assignments:
            return "explored"
        self.calls.health.record_round(self.send(assignments))
        if (stop := self.silence()) is not None:
            return stop
        if self.shown_labels() == self.verdict.labels:
            return self.conclusion()  # no new evidence to judge
        limit = self.meter.exhausted()
        if limit in (None, "calls"):  # one of the calls reserved from workers is for this review
            self.review()
            return self.conclusion()
        return limit

    def silence(self) -> Stop | None:
        """Return why no replies come: the "model", or the "seconds" are over; None if they come."""
        if not self.calls.health.is_lost:
            return None
        return "seconds" if self.meter.is_out_of_time() else "model"

    def make_plan(self) -> Plan:
        """Extract the search task and, unless it is given, choose the strategy (paper §3.2).

        A summary needs what happens in order of time, so the master has no choice there: the search
        is breadth-first. If the call fails, the question itself is the search task, and the search
        is depth-first.
        """
        question, strategy = self.master.question, self.strategy
        if strategy is None and question.kind == "summary":
            strategy = STRATEGIES["bfs"]
        chooses = strategy is None
        call = self.calls.attempt("task", lambda attempts: self.master.extract_task(chooses, attempts))
        answer = call.reply.answer if call.reply else None
        plan = Plan(
            search_task=answer.search_task if answer else question.text,
            strategy=strategy or STRATEGIES[answer.traversal if answer else "dfs"],
        )
        data = {"search_task": plan.search_task, "traversal": strategy_name(plan.strategy)} if answer else {}
        self.calls.settle(call, self.rounds, data)
        return plan

    def consult_scouts(self) -> None:
        """Record what scouts say of the root grid, and rank the frontier by it."""
        if not self.survey.scouts:
            return
        for said in self.survey.look(self.plan.search_task, self.master.atlas.root):
            self.log.add(Event("scout", self.rounds, data=scout_data(self.master.atlas.root, said)))
        self.state.frontier.consult(partial(self.survey.prior, self.plan.search_task))

    def probe(self, ahead: bool = False) -> Probe:
        """Ask the master to score cells of the masked root grid; this changes nothing here.

        Args:
            ahead: Whether the probe is for the next round and runs beside the workers of this one.
        """
        cells, scratchpad, task = self.state.frontier.cells, self.state.scratchpad, self.plan.search_task
        root = self.observe_root()
        hints = self.survey.told(task, root.view.grid, cells)
        top, data = 2 * self.workers, {"view": view_data(root), "offered": list(cells), "ahead": ahead}
        complete = partial(self.master.probe, task, root, cells, top, scratchpad, hints=hints)
        return Probe(self.calls.attempt("probe", complete), data)

    def apply_scores(self, probe: Probe) -> bool:
        """Rank the frontier by the scores of a probe; return whether it got any."""
        reply, offered, frontier = probe.call.reply, probe.data["offered"], self.state.frontier
        data: dict[str, Any] = {}
        if reply is not None:
            scores: dict[int, float] = {}
            for ranked in reply.answer.top:
                scores.setdefault(ranked.cell, ranked.score)  # the first score of a cell named twice counts
            frontier.rank(scores, offered)
            data["scores"] = {str(cell): score for cell, score in sorted(scores.items())}
            data["reasoning"] = reply.answer.reasoning
            self.recalled = Recalled.of(reply.answer) if "review" in self.master.thrift else None
        if not frontier.scored:  # the probe failed or named no cell: all cells are equally good
            frontier.rank(dict.fromkeys(offered, 0.0))
        self.calls.settle(probe.call, self.rounds, {**probe.data, **data})
        return reply is not None

    def send(self, assignments: Sequence[Assignment]) -> list[WorkerResult]:
        """Run a round's workers, with the next probe beside them, and merge what they return."""
        steps, frontier = [assignment.steps for assignment in assignments], self.state.frontier
        looks_ahead = self.settings.look_ahead and "probe" not in self.master.thrift
        ahead = looks_ahead and not self.is_last_round and self.meter.can_look_ahead(steps)
        tasks = self.tasks(assignments, self.meter.allot(steps, ahead))
        for task in tasks:
            frontier.hand_out(task.region)
        self.log.add(Event("assign", self.rounds, data=assign_data(tasks, self.state.dead_zones)))
        beside = partial(self.probe, ahead=True) if ahead and frontier.cells else None
        results, probe = self.dispatcher.run(tasks, beside)
        self.merge(results)
        self.has_scores = self.apply_scores(probe) if probe else self.has_scores and self.keeps_scores
        return results

    def tasks(self, assignments: Sequence[Assignment], allotments: Sequence[Allotment]) -> list[Task]:
        """Return the tasks of some assignments: fewer where there are fewer allotments."""
        return [
            Task(
                search_task=self.plan.search_task,
                region=assignment.region,
                dead_zones=self.state.dead_zones,
                allotment=allotment,
                round=self.rounds,
                worker=number,
                traversal=assignment.traversal,
                plateau=min(self.settings.plateau or 0, assignment.steps - 1),
                known_evidence=self.state.scratchpad.within(assignment.region.start_s, assignment.region.end_s),
            )
            for number, (assignment, allotment) in enumerate(zip(assignments, allotments, strict=False))
        ]

    def merge(self, results: Sequence[WorkerResult]) -> None:
        """Merge the results of workers, in the order in which the regions were handed out."""
        for result in results:
            self.log.events.extend(result.events)  # already emitted by the worker
            self.meter.charge("worker", result.charge, result.largest, result.longest_s)
        for worker, data in enumerate(self.state.merge(results)):
            self.log.add(Event("report", self.rounds, worker, data))

    @property
    def keeps_scores(self) -> bool:
        """Whether scores are used up before the next probe, with the thrift "probe"."""
        return "probe" in self.master.thrift and any(region.score for region in self.state.frontier.scored)

    def review(self) -> None:
        """Judge the evidence; erase what does not belong, and queue what to explore next (§3.2).

        If the call failed, nothing changes, and the next review judges again.
        """
        state, root, judged, recalled = self.state, self.observe_root(), self.verdict.labels, self.recalled
        sheet = self.master.review_sheet(state.scratchpad, judged)
        views = {"view": None if recalled else view_data(root), "sheet": sheet_data(sheet)}
        shown = self.plan.search_task, root, state.frontier.cells, state.scratchpad
        call = self.calls.attempt("review", partial(self.master.review, *shown, recalled=recalled, judged=judged))
        if call.reply is None:
            self.verdict = Verdict(False, judged)
            self.calls.settle(call, self.rounds, views)
            return
        answer = call.reply.answer
        erased = labels_to_erase(answer)
        dead_s = state.erase(erased)
        atlas = self.master.atlas
        regions = intervals_to_explore(answer, atlas.root, atlas.rules.max_depth, state.dead_zones)
        # An interval as long as a root cell means that cell; a shorter one is a region.
        root_cells = [*cells_to_explore(answer), *(grid.path[0] for grid in regions if grid.depth == 1)]
        queued = state.suggest(root_cells, (grid for grid in regions if grid.depth > 1))
        left = tuple(label for label in sheet.scratchpad.labels if label not in erased)
        self.verdict = Verdict(is_sufficient(answer), left)
        data = {
            **views,
            "reasoning": answer.reasoning,
            "choices": [choice.model_dump() for choice in choices_weighed(answer)],
            "conclusion": answer.conclusion.model_dump(),
            "sufficient": self.verdict.is_sufficient,
            "erased": erased,
            "dead_s": dead_s,
            "queued": [list(grid.path) for grid in queued],
        }
        self.calls.settle(call, self.rounds, data)

    def conclusion(self) -> Stop | None:
        """Return "sufficient" if the last review said so and there were enough rounds."""
        return "sufficient" if self.verdict.is_sufficient and self.rounds >= self.settings.min_rounds else None

    def can_look_again(self) -> bool:
        """Open again what was ruled out, between the frames that were seen; return whether any is.

        This happens once in a run. What it rules out a second time stays so.
        """
        if not self.settings.second_look or self.state.has_reopened or self.verdict.is_sufficient:
            return False
        grids = self.state.reopen(self.master.atlas.rules.max_depth)
        if grids:
            zones_s = [list(span) for span in self.state.dead_zones.intervals]
            data = {"paths": [list(grid.path) for grid in grids], "dead_zones_s": zones_s}
            self.log.add(Event("reopen", self.rounds, data=data))
        return bool(grids)

    def decide(self) -> Reply | None:
        """Answer from the evidence, or from the root grid if there is none (paper §3.2).

        With votes, the answer that most replies give counts; later ones are only asked for while
        they can change it.

        Returns:
            The reply; None if the call failed, must fail, or the budget has no call left.
        """
        if self.calls.health.is_hopeless or not self.meter.can_decide():
            return None
        scratchpad = self.state.scratchpad
        root, sheet = (None, self.master.sheet(scratchpad)) if len(scratchpad) else (self.observe_root(), None)
        views = {"view": root and view_data(root), "sheet": sheet and sheet_data(sheet)}
        votes = Votes(self.master.question, self.settings.votes)
        left = self.meter.calls_left()
        while votes.is_open and (not votes.calls or self.meter.can_decide(spent(votes.calls))):
            vote, allowed = len(votes.calls), None if left is None else left - spent(votes.calls).calls
            complete = partial(self.master.decide, scratchpad, root, vote=vote)
            votes.calls.append(self.calls.attempt("decision", complete, allowed))
        for other in votes.others:
            self.calls.settle(other, self.rounds, is_vote=True)
        call = votes.winner
        answer = {"answer": call.reply.answer.model_dump()} if call.reply else {}
        self.calls.settle(call, self.rounds, {**views, **answer})
        return call.reply

    def observe_root(self) -> Observation:
        """Return the root grid, masked by the current dead zones."""
        return self.master.observe_root(self.state.dead_zones)

    def shown_labels(self) -> tuple[str, ...]:
        """Return the labels of the evidence that a review would show."""
        return self.master.sheet(self.state.scratchpad).scratchpad.labels
