"""The rounds of a search (paper §3.2): probe, send workers, merge what they bring, judge it; and what ends it.

The outcome does not depend on the number of threads or their timing: what each worker of a round may know and spend is
fixed before the round begins, as is what the next probe sees that runs beside them, and all of it is merged in the
order in which the regions were handed out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from atlaskit.agents.budget import Charge, Meter, PeakUsage
from atlaskit.agents.frontier import Frontier
from atlaskit.agents.master import Master
from atlaskit.agents.strategies import STRATEGIES, Assignment, Strategy
from atlaskit.agents.worker import Task, WorkerResult
from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import Grid, regions_over
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.errors import InputError, check_whole
from atlaskit.models.errors import ModelError, Unreachable
from atlaskit.models.protocol import MAX_ATTEMPTS, Reply
from atlaskit.runs.events import Event, Seconds, call_data, failure_data, interval_s, sheet_data, view_data

Stop = Literal["sufficient", "explored", "depth", "rounds", "calls", "tokens", "effective_tokens", "seconds", "model"]
"""Why a search ended. Master: the evidence is "sufficient", or a root cell is too short, or the "depth" too small, to
explore at all. Workers: all is "explored" that the strategy would. Global: the rounds or a budget are used up, or the
model does not answer."""
MOST_UNANSWERED = 3
"""Calls of the Master in a row, or rounds of workers in different regions, without an answer, that end a run."""


@dataclass(frozen=True)
class Limits:
    """What bounds a search, beside its budget."""

    workers: int
    """Regions that are explored in a round."""
    steps: int
    """Calls of a worker in its region."""
    plateau: int
    """Steps without new evidence that end a visit; fewer than `steps`, 0 for a worker that has one step alone."""
    min_rounds: int
    """Rounds before the evidence may be found sufficient."""
    max_rounds: int | None
    look_ahead: bool
    """Whether the next probe is made while the workers are under way."""

    def __post_init__(self) -> None:
        check_whole("plateau", self.plateau, min(1, self.steps - 1))
        check_whole("min_rounds", self.min_rounds)
        if self.plateau >= self.steps:
            raise InputError(f"plateau is less than the {self.steps} steps of a worker, got {self.plateau}.")
        if self.max_rounds is not None:
            check_whole("max_rounds", self.max_rounds)
            if self.min_rounds > self.max_rounds:
                raise InputError(
                    f"min_rounds is at most max_rounds, which is {self.max_rounds}; got {self.min_rounds}."
                )


@dataclass(frozen=True)
class MasterCall:
    """How one of the Master's calls went."""

    kind: str
    got: Reply | ModelError
    took_s: float

    @property
    def reply(self) -> Reply | None:
        """The answer, if there is one."""
        return self.got if isinstance(self.got, Reply) else None


@dataclass
class Search:
    """One run: the state that the rounds change, and the agents that change it."""

    master: Master
    explore: Callable[[Task], WorkerResult]
    meter: Meter
    limits: Limits
    strategy: Strategy | None
    """How regions are chosen; None is for the Master to choose."""
    threads: int
    emit: Callable[[Event], None]
    events: list[Event] = field(default_factory=list)
    scratchpad: Scratchpad = Scratchpad()
    dead_zones: DeadZones = DeadZones()
    search_task: str = ""
    rounds: int = 0
    failure: str = ""
    is_sufficient: bool = False
    """What the last review says of the evidence as it is."""
    has_scores: bool = False
    """Whether the next round's probe was made already."""
    judged: tuple[str, ...] = ()
    """Labels of the evidence that the last review was shown and left."""
    unanswered: int = 0
    """Calls of the Master in a row that failed."""
    silent: list[Grid] = field(default_factory=list)
    """Regions of the rounds in a row in which no worker got any answer, one a round."""
    searched: list[WorkerResult] = field(default_factory=list)
    """The visits that went as far as meant."""

    def __post_init__(self) -> None:
        root = self.master.atlas.start()
        self.frontier = Frontier(root.grid.expand(cell) for cell in root.legal.expand)

    def run(self) -> Stop:
        """Explore until something stops it; return what did."""
        if not self.frontier.open:
            return "depth"
        if (spent := self.meter.spent()) is not None:
            return spent
        self.plan()
        while self.frontier.open:
            if self.limits.max_rounds is not None and self.rounds >= self.limits.max_rounds:
                return "rounds"
            if (spent := self.meter.spent()) is not None:
                return spent
            if self.is_alone:
                return self.no_answer()
            self.rounds += 1
            if (stop := self.round()) is not None:
                return stop
        return "explored"

    def plan(self) -> None:
        """Extract the search task and, where it is open, the traversal, from the words of the question alone.

        A summary is of what happens in order: there is nothing to choose. Without an answer, the question itself is
        the task, searched depth-first.
        """
        question = self.master.question
        if self.strategy is None and question.kind == "summary":
            self.strategy = STRATEGIES["bfs"]
        chooses = self.strategy is None
        outcome = self.attempt("task", lambda attempts: self.master.extract_task(chooses, attempts))
        answer = outcome.reply.answer if outcome.reply else None
        self.search_task = answer.search_task if answer else question.text
        self.strategy = self.strategy or STRATEGIES[answer.traversal if answer else "dfs"]
        self.settle(outcome, {"search_task": self.search_task, "traversal": name_of(self.strategy)} if answer else {})

    def round(self) -> Stop | None:
        """Probe, send workers, merge what they bring, and judge it; return a stop, or None to go on."""
        if not (self.has_scores and self.frontier.scored):
            self.take_scores(*self.probe())
            if self.is_alone:
                return self.no_answer()
            if (spent := self.meter.spent()) is not None:
                return spent
        sorties = self.sorties()
        if not sorties:
            return "explored"
        reports = self.send(sorties)
        is_silent = all(report.got_no_answer for report in reports)
        self.silent = [*self.silent, reports[0].region] if is_silent else []
        if is_silent:
            self.failure = str(reports[-1].events[-1]["reason"])
        if self.is_alone:
            return self.no_answer()
        if self.shown() == self.judged:
            return self.verdict()  # nothing new to judge
        spent = self.meter.spent()
        # Workers cannot touch the calls kept back, so there is always one for the review.
        return self.review() if spent in (None, "calls") else spent

    @property
    def is_alone(self) -> bool:
        """Whether nobody seems to answer any more. A region or two that get no answer do not show that."""
        return self.unanswered >= MOST_UNANSWERED or len(set(self.silent)) >= MOST_UNANSWERED

    def shown(self) -> tuple[str, ...]:
        """Return the labels of the evidence that a review would be shown."""
        return self.master.sheet(self.scratchpad).scratchpad.labels

    def probe(self, ahead: bool = False) -> tuple[MasterCall, dict[str, Any]]:
        """Ask for scores of the masked root's cells; return the outcome and what is known of the call without it."""
        cells, seen = self.frontier.cells, self.look()
        outcome = self.attempt(
            "probe",
            lambda attempts: self.master.probe(
                self.search_task, seen, cells, 2 * self.limits.workers, self.scratchpad, attempts
            ),
        )
        return outcome, {"view": view_data(seen), "offered": list(cells), "ahead": ahead}

    def take_scores(self, outcome: MasterCall, asked: dict[str, Any]) -> None:
        """Let the frontier take the scores of a probe, if there are any."""
        self.has_scores = outcome.reply is not None
        told: dict[str, Any] = {}
        if outcome.reply is not None:
            answer = outcome.reply.answer
            scores: dict[int, float] = {}
            for ranked in answer.top:
                scores.setdefault(ranked.cell, ranked.score)  # of a cell named twice, the first is meant
            self.frontier.rank(scores, asked["offered"])
            told["scores"] = {str(cell): score for cell, score in sorted(scores.items())}
            told["reasoning"] = answer.reasoning
        if not self.frontier.scored:  # no answer, or nothing stands out: one cell is as good as another
            self.frontier.rank(dict.fromkeys(asked["offered"], 0.0))
        self.settle(outcome, {**asked, **told})

    def sorties(self) -> list[Assignment]:
        """Ask the strategy where workers go; raise InputError where it does not keep to its terms."""
        assert self.strategy is not None
        planned = self.strategy(self.frontier, workers=self.limits.workers, steps=self.limits.steps)
        rule = f"The strategy {name_of(self.strategy)} should send out"
        if not isinstance(planned, Sequence) or not all(isinstance(sortie, Assignment) for sortie in planned):
            raise InputError(f"{rule} a list of sorties, and returned {planned!r:.80}.")
        regions, can_go = [sortie.region for sortie in planned], {region.grid for region in self.frontier.open}
        if len(planned) > self.limits.workers:
            raise InputError(f"{rule} at most {self.limits.workers} workers, and sent {len(planned)}.")
        if len(set(regions)) < len(regions) or not set(regions) <= can_go:
            raise InputError(f"{rule} workers to different regions of frontier.open, and sent them to {regions}.")
        return list(planned)

    def send(self, sorties: Sequence[Assignment]) -> list[WorkerResult]:
        """Send workers out, probe for the next round meanwhile, wait for all of it and merge it."""
        steps, limits = [sortie.steps for sortie in sorties], self.limits
        is_last = limits.max_rounds is not None and self.rounds >= limits.max_rounds
        ahead = limits.look_ahead and not is_last and self.meter.can_look_ahead(steps)
        allotments = self.meter.allot(steps, ahead)
        errands = [
            Task(
                self.search_task,
                sortie.region,
                self.dead_zones,
                allotment,
                self.rounds,
                number,
                sortie.traversal,
                min(limits.plateau, sortie.steps - 1),
                self.scratchpad.within(sortie.region.start_s, sortie.region.end_s),
            )
            for number, (sortie, allotment) in enumerate(zip(sorties, allotments, strict=False))
        ]
        for errand in errands:
            self.frontier.hand_out(errand.region)
        self.log(Event("assign", self.rounds, data=self._assigned(errands)))
        with ThreadPoolExecutor(max_workers=self.threads + ahead) as pool:
            try:
                looking: Future[tuple[MasterCall, dict[str, Any]]] | None = None
                if ahead and self.frontier.cells:
                    looking = pool.submit(self.probe, ahead=True)
                reports = list(pool.map(self.explore, errands))
                probed = looking.result() if looking else None
            except BaseException:  # a Ctrl-C does not wait for what the workers are at
                self.meter.cancel.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self.merge(reports)
        self.has_scores = False
        if probed:
            self.take_scores(*probed)
        return reports

    def merge(self, reports: Sequence[WorkerResult]) -> None:
        """Take in the reports, in the order in which the regions were handed out."""
        for report in reports:
            self.events.extend(report.events)
            self.meter.charge("worker", report.bill, report.largest, report.longest_s)
            self.scratchpad = self.scratchpad.add(report.evidence)
        for number, report in enumerate(reports):
            self.frontier.take_back(report.region, not report.is_cut_short)
            self.frontier.mark(report.marked, report.region)
            if not report.is_cut_short:
                self.searched.append(report)
            found = {item.timestamp_s for item in report.evidence}
            data = {
                "path": list(report.region.path),
                "interval_s": interval_s(report.region),
                "stop": report.stop,
                "kept": [item.to_json() for item in self.scratchpad if item.timestamp_s in found],
                "marked": [list(grid.path) for grid in report.marked],
                "dead_s": [] if report.is_cut_short else self.rule_out(report),
                "is_open": report.is_cut_short,
            }
            self.log(Event("report", self.rounds, number, data))
        self.frontier.drop(self.dead_zones)

    def rule_out(self, report: WorkerResult) -> list[Seconds]:
        """Rule out what a visit that went as far as meant has left without evidence or marks; return what is new.

        Evidence that others found there, now or before, counts too.
        """
        region, new = report.region, list[Seconds]()
        if not len(self.scratchpad.within(region.start_s, region.end_s)):
            for start_s, end_s in report.unmarked_s:
                new += [list(span) for span in self.dead_zones.outside(start_s, end_s)]
                self.dead_zones = self.dead_zones.add(start_s, end_s)
        return new

    def review(self) -> Stop | None:
        """Judge the evidence; return the stop, if it suffices."""
        cells, seen, sheet = self.frontier.cells, self.look(), self.master.sheet(self.scratchpad)
        views = {"view": view_data(seen), "sheet": sheet_data(sheet)}
        self.is_sufficient = False
        outcome = self.attempt(
            "review", lambda attempts: self.master.review(self.search_task, seen, cells, self.scratchpad, attempts)
        )
        if outcome.reply is None:
            self.settle(outcome, views)
            return None  # the failure is in the trace; the next round may go better
        answer = outcome.reply.answer
        conclusion, weighed = answer.conclusion, getattr(answer, "choices", ())
        self.is_sufficient = conclusion.action == "final_decision" and is_proven(weighed, conclusion.supporting)
        needed = {label for choice in weighed for label in choice.supporting} | set(
            getattr(conclusion, "supporting", ())
        )
        erased = [label for label in dict.fromkeys(answer.erase) if label not in needed]
        self.scratchpad = self.scratchpad.erase(erased)
        dead_s = [span for report in self.searched for span in self.rule_out(report)] if erased else []
        bounds = self._bounds(conclusion)
        # A bound as long as cells of the root is a word on these cells; a shorter one is a region of its own.
        cells_named = [*getattr(conclusion, "explore", ()), *(grid.path[0] for grid in bounds if grid.depth == 1)]
        self.frontier.rank(dict.fromkeys(cells_named, 1.0))
        queued = self.frontier.suggest(grid for grid in bounds if grid.depth > 1)
        self.frontier.drop(self.dead_zones)
        self.judged = self.shown()
        data = {
            **views,
            "reasoning": answer.reasoning,
            "choices": [choice.model_dump() for choice in weighed],
            "conclusion": conclusion.model_dump(),
            "sufficient": self.is_sufficient,
            "erased": erased,
            "dead_s": dead_s,
            "queued": [list(grid.path) for grid in queued],
        }
        self.settle(outcome, data)
        return self.verdict()

    def verdict(self) -> Stop | None:
        """Return the stop if the evidence suffices and the rounds are not too few."""
        return "sufficient" if self.is_sufficient and self.rounds >= self.limits.min_rounds else None

    def decide(self) -> Reply | None:
        """Answer from what was found, if the budget has a call left."""
        if not self.meter.can_decide():
            return None
        seen, sheet = (None, self.master.sheet(self.scratchpad)) if len(self.scratchpad) else (self.look(), None)
        outcome = self.attempt("decision", lambda attempts: self.master.decide(self.scratchpad, seen, attempts))
        reply = outcome.reply
        views = {"view": seen and view_data(seen), "sheet": sheet and sheet_data(sheet)}
        self.settle(outcome, {**views, "answer": reply.answer.model_dump()} if reply else views)
        return reply

    def look(self) -> Observation:
        """Return the masked root."""
        return self.master.look(self.dead_zones)

    def attempt(self, kind: str, ask: Callable[[int], Reply]) -> MasterCall:
        """Make one of the Master's calls, within what the budget has left; it changes nothing here."""
        began, left = time.monotonic(), self.meter.calls_left()
        if left is not None and kind != "decision":
            left -= 1  # kept for the decision
        try:
            got: Reply | ModelError = ask(MAX_ATTEMPTS if left is None else min(left, MAX_ATTEMPTS))
        except ModelError as error:
            if isinstance(error, Unreachable) and self.meter.total.calls == 0:
                raise  # nothing was found yet that could be lost
            got = error
        return MasterCall(kind, got, time.monotonic() - began)

    def settle(self, outcome: MasterCall, data: dict[str, Any] | None = None) -> None:
        """Charge and log a call: what it brought, or why it failed; `data` is what it showed, and what it told."""
        got, bill = outcome.got, Charge.of(outcome.got)
        self.meter.charge("master", bill, PeakUsage() | bill.usage, outcome.took_s)
        # Whoever cannot be reached was tried long enough; a reply that cannot be had once may be had next time.
        lost = 0 if not isinstance(got, ModelError) else MOST_UNANSWERED if isinstance(got, Unreachable) else 1
        self.unanswered = self.unanswered + lost if lost else 0
        if isinstance(got, ModelError):
            self.failure = str(got)
            self.log(Event("failure", self.rounds, data=failure_data(outcome.kind, got, bill.usage, data)))
        else:
            self.log(Event(outcome.kind, self.rounds, data={**(data or {}), **call_data(got)}))

    def no_answer(self) -> Stop:
        """Return why a call got none: the model, or a time that was up while it was waited for."""
        return "seconds" if self.meter.out_of_time() else "model"

    def log(self, event: Event) -> None:
        """Add an event to the trace and tell whoever watches."""
        self.events.append(event)
        self.emit(event)

    def _bounds(self, conclusion: Any) -> list[Grid]:
        """Return the regions that a review's intervals become; told backwards, an interval is meant all the same."""
        root, depth = self.master.atlas.root, self.master.atlas.rules.max_depth
        edges = [sorted((span.start_s, span.end_s)) for span in getattr(conclusion, "intervals", ())]
        grids = [grid for start_s, end_s in edges for grid in regions_over(root, start_s, end_s, depth)]
        return [grid for grid in grids if not self.dead_zones.covers(grid.start_s, grid.end_s)]

    def _assigned(self, errands: Sequence[Task]) -> dict[str, Any]:
        sorties = [
            {
                "path": list(errand.region.path),
                "interval_s": interval_s(errand.region),
                "traversal": errand.traversal,
                "calls": errand.allotment.calls,
                "had_evidence": list(errand.kept.labels),
            }
            for errand in errands
        ]
        return {"sorties": sorties, "dead_zones_s": [list(span) for span in self.dead_zones.intervals]}


def is_proven(weighed: Sequence[Any], supporting: Sequence[str]) -> bool:
    """Tell whether the choices bear out that the evidence suffices: for one of them alone, by what is named for it.

    Whoever finds none proven, or two, has not found the evidence sufficient, whatever is concluded. A question
    without choices has none to weigh.
    """
    proven = {choice.choice: set(choice.supporting) for choice in weighed if choice.sufficient}
    return not weighed or (len(proven) == 1 and not set(supporting).isdisjoint(*proven.values()))


def name_of(strategy: Strategy) -> str:
    """Return what a strategy is called in results and traces."""
    return str(getattr(strategy, "__name__", type(strategy).__name__))
