"""The search of the paper's §3.2: a frontier of regions, rounds of workers, and the stops. `ask` lives here.

The result does not depend on the number of threads or their timing: what each worker of a round may know and spend is
fixed before the round begins, and reports are merged in the order in which the regions were handed out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from atlaskit.agents import Errand, Master, Report, Worker, prediction
from atlaskit.budget import Bill, Budget, Meter
from atlaskit.cache import Cache, default_cache
from atlaskit.environment import Atlas, Cells, legal_set
from atlaskit.errors import InputError, ModelError, Unreachable
from atlaskit.grid import Grid
from atlaskit.ledger import Ledger
from atlaskit.memory import DeadZones, Scratchpad
from atlaskit.model import MAX_ATTEMPTS, Model, Reply
from atlaskit.question import Question
from atlaskit.render import Fit
from atlaskit.replies import Cached
from atlaskit.result import Result, Spent
from atlaskit.trace import Event, Trace
from atlaskit.video import Sampling, Video

Stop = Literal["sufficient", "explored", "depth", "rounds", "calls", "tokens", "seconds", "model"]
"""Why a search ended: the evidence suffices, nothing is left to explore, depth 0 allows none, the rounds or a budget
are used up, or the model does not answer."""


@dataclass
class Frontier:
    """The root's cells that can still be explored, best first."""

    open_cells: set[int]
    scores: dict[int, float] = field(default_factory=dict)
    given_back: set[int] = field(default_factory=set)

    def rank(self, scores: dict[int, float]) -> None:
        """Take over new scores; cells that were not scored keep theirs."""
        self.scores.update(scores)

    def take(self, count: int) -> list[int]:
        """Hand out the best cells that have a score; ties go to the earlier one."""
        scored = sorted(self.open_cells & self.scores.keys(), key=lambda cell: (-self.scores[cell], cell))
        taken = scored[:count]
        self.open_cells -= set(taken)
        return taken

    def give_back(self, cell: int) -> None:
        """Reopen a cell that was not searched as far as meant, once."""
        if cell not in self.given_back:
            self.given_back.add(cell)
            self.open_cells.add(cell)


@dataclass
class Search:
    """One run: the state that the rounds change, and the agents that change it."""

    master: Master
    explore: Callable[[Errand], Report]
    meter: Meter
    workers: int
    steps: int
    max_rounds: int | None
    threads: int
    emit: Callable[[Event], None]
    events: list[Event] = field(default_factory=list)
    scratchpad: Scratchpad = Scratchpad()
    dead_zones: DeadZones = DeadZones()
    search_task: str = ""
    rounds: int = 0
    failure: str = ""

    def run(self) -> Stop:
        """Explore until something stops it; return what did."""
        atlas = self.master.atlas
        root = atlas.start()
        frontier = Frontier(set(legal_set(root).expand))
        if not frontier.open_cells:
            return "depth"
        if (spent := self.meter.spent()) is not None:
            return spent
        task = self.call("task", self.master.extract_task, lambda answer: {"search_task": answer.search_task})
        if task is None:
            return self.no_answer()
        self.search_task = task.answer.search_task
        while frontier.open_cells:
            if self.max_rounds is not None and self.rounds >= self.max_rounds:
                return "rounds"
            if (spent := self.meter.spent()) is not None:
                return spent
            self.rounds += 1
            if (stop := self.round(frontier)) is not None:
                return stop
        return "explored"

    def round(self, frontier: Frontier) -> Stop | None:
        """Probe, send workers, merge what they bring, and judge it; return a stop, or None to go on."""
        open_cells = sorted(frontier.open_cells)
        probe = self.call(
            "probe",
            lambda attempts: self.master.probe(
                self.search_task, self.dead_zones, open_cells, 2 * self.workers, self.scratchpad, attempts
            ),
            lambda answer: {
                "view": self.master.look(self.dead_zones).view.key,
                "scores": {str(ranked.cell): ranked.score for ranked in answer.top},
                "reasoning": answer.reasoning,
            },
        )
        if probe is None:
            return self.no_answer()
        frontier.rank({ranked.cell: ranked.score for ranked in probe.answer.top})
        if (spent := self.meter.spent()) is not None:
            return spent
        known = set(self.scratchpad.labels)
        reports = self.send(frontier)
        self.merge(frontier, reports)
        if reports and all(report.got_no_answer for report in reports):
            self.failure = str(reports[-1].events[-1]["reason"])
            return self.no_answer()
        if set(self.scratchpad.labels) == known:
            return None  # nothing new to judge
        spent = self.meter.spent()
        # Workers cannot touch the calls kept back, so there is always one for the review.
        return spent if spent in ("tokens", "seconds") else self.review(frontier)

    def send(self, frontier: Frontier) -> list[Report]:
        """Send workers to the best regions and wait for all of them."""
        root = self.master.atlas.root
        wanted = min(self.workers, len(frontier.open_cells & frontier.scores.keys()))
        allotments = self.meter.allot(wanted, self.steps) if wanted else []
        cells = frontier.take(len(allotments))
        self.log(Event("assign", self.rounds, data={"cells": cells, "calls": [a.calls for a in allotments]}))
        with ThreadPoolExecutor(max_workers=self.threads) as pool:
            errands = [
                Errand(self.search_task, root.expand(cell), self.dead_zones, allotment, self.rounds, number)
                for number, (cell, allotment) in enumerate(zip(cells, allotments, strict=True))
            ]
            try:
                return list(pool.map(self.explore, errands))
            except BaseException:  # a Ctrl-C does not wait for what the workers are at
                self.meter.is_over.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def merge(self, frontier: Frontier, reports: Sequence[Report]) -> None:
        """Take in the reports, in the order in which the regions were handed out."""
        for number, report in enumerate(reports):
            cell = report.region.path[0]
            self.events.extend(report.events)
            self.meter.charge("worker", report.bill, report.largest, report.longest_s)
            self.scratchpad = self.scratchpad.add(report.evidence)
            is_dead = report.is_dead and not self._holds_evidence(report.region)
            if is_dead:
                self.dead_zones = self.dead_zones.add(report.region.start_s, report.region.end_s)
            if report.is_cut_short:
                frontier.give_back(cell)
            data = {
                "cell": cell,
                "interval_s": [report.region.start_s, report.region.end_s],
                "stop": report.stop,
                "evidence": [self._label_at(item.timestamp_s) for item in report.evidence],
                "dead": is_dead,
            }
            self.log(Event("report", self.rounds, number, data))

    def review(self, frontier: Frontier) -> Stop | None:
        """Judge the evidence; a judgement of sufficiency that names no evidence does not count."""
        review = self.call(
            "review",
            lambda attempts: self.master.review(
                self.search_task, self.dead_zones, sorted(frontier.open_cells), self.scratchpad, attempts
            ),
            lambda answer: {
                "view": self.master.look(self.dead_zones).view.key,
                "sheet": self.master.sheet(self.scratchpad).key,
                **answer.model_dump(),
            },
        )
        if review is None:
            return None  # the failure is in the trace; the next round may go better
        answer = review.answer
        self.scratchpad = self.scratchpad.erase(set(answer.erase) - set(answer.supporting))
        frontier.rank(dict.fromkeys(getattr(answer, "explore", ()), 1.0))
        return "sufficient" if answer.sufficient and answer.supporting else None

    def decide(self) -> Reply | None:
        """Answer from what was found, if the budget has a call left."""
        if not self.meter.can_decide():
            return None
        return self.call(
            "decision",
            lambda attempts: self.master.decide(self.scratchpad, self.dead_zones, attempts),
            lambda answer: {"sheet": self.master.sheet(self.scratchpad).key, **answer.model_dump()},
        )

    def call(self, kind: str, ask: Callable[[int], Reply], record: Callable[[Any], dict[str, Any]]) -> Reply | None:
        """Make one of the Master's calls, charge it and log it; None if it failed for good."""
        began, left = time.monotonic(), self.meter.calls_left()
        if left is not None and kind != "decision":
            left -= 1  # kept for the decision
        try:
            reply = ask(MAX_ATTEMPTS if left is None else min(left, MAX_ATTEMPTS))
        except ModelError as error:
            if isinstance(error, Unreachable) and self.meter.total.calls == 0:
                raise  # nothing was found yet that could be lost
            bill = Bill.of(error)
            self.meter.charge("master", bill, bill.usage.tokens, time.monotonic() - began)
            self.failure = str(error)
            data = {"step": kind, "reason": str(error), "usage": bill.usage.to_json()}
            self.log(Event("failure", self.rounds, data=data))
            return None
        self.meter.charge("master", Bill.of(reply), reply.usage.tokens, time.monotonic() - began)
        usage = {"usage": reply.usage.to_json(), "reasoning_text": reply.reasoning}
        self.log(Event(kind, self.rounds, data={**record(reply.answer), **usage}))
        return reply

    def no_answer(self) -> Stop:
        """Return why a call got none: the model, or a time that was up while it was waited for."""
        return "seconds" if self.meter.out_of_time() else "model"

    def log(self, event: Event) -> None:
        """Add an event to the trace and tell whoever watches."""
        self.events.append(event)
        self.emit(event)

    def _holds_evidence(self, region: Grid) -> bool:
        """Tell whether an earlier visit, cut short, has found something here."""
        return any(region.start_s <= item.timestamp_s < region.end_s for item in self.scratchpad)

    def _label_at(self, timestamp_s: float) -> str:
        return next(item.label for item in self.scratchpad if item.timestamp_s == timestamp_s)


def ask(
    video: Video,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model,
    workers: int = 4,
    steps: int = 12,
    max_rounds: int | None = None,
    max_depth: int | Literal["auto"] = "auto",
    budget: Budget = Budget(calls=200),
    k: int = 8,
    cell: int = 320,
    fit: Fit = "contain",
    subtitles: bool = True,
    sampling: Sampling = "midpoint",
    cells: Cells = "compact",
    threads: int | None = None,
    cache: Cache | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Result:
    """Ask a question about a video, by Video-RLM: a Master sends workers through the map and answers from frames.

    `workers` regions are explored in a round, in at most `steps` calls each, by `threads` threads (one a worker if
    not given; the result does not depend on it). `on_event` is called with each event as it happens, from the thread
    it happens in. Without `choices`, `question` must be a `Question`. Raises InputError for what cannot be asked and
    Unreachable when the model does not answer at all; a model that fails later costs steps, and the result says so.
    """
    asked = question if isinstance(question, Question) else Question(question, tuple(choices or ()))
    counts = {"workers": workers, "steps": steps, "threads": threads, "max_rounds": max_rounds}
    for name, count in counts.items():
        if count is not None and count < 1:
            raise InputError(f"{name} is at least 1, got {count}.")
    cache = cache or default_cache()
    atlas = Atlas(video, k, cell, max_depth, fit, subtitles=subtitles, sampling=sampling, cells=cells, cache=cache)
    model = Ledger(Cached(vlm, cache))
    emit = on_event or (lambda event: None)
    meter = Meter(budget)
    search = Search(
        master=Master(atlas, model, asked, meter.deadline_s),
        explore=Worker(atlas, model, asked, emit).explore,
        meter=meter,
        workers=workers,
        steps=steps,
        max_rounds=max_rounds,
        threads=threads or workers,
        emit=emit,
    )
    settings = {
        "method": "video-rlm",
        "model": vlm.name,
        "parameters": dict(vlm.parameters),
        "video": video.fingerprint,
        "k": k,
        "cell": cell,
        "fit": fit,
        "max_depth": atlas.rules.max_depth,
        "subtitles": subtitles,
        "sampling": sampling,
        "cells": cells,
        "workers": workers,
        "steps": steps,
        "max_rounds": max_rounds,
        "budget": vars(budget),
    }
    return _run(search, settings, model, decoded=video.frames_decoded)


def _run(search: Search, settings: dict[str, Any], ledger: Ledger, decoded: int) -> Result:
    """Search, decide, and put together what was found; `decoded` frames had been decoded before."""
    question, atlas = search.master.question, search.master.atlas
    search.log(Event("start", data={"question": question.to_json(), "settings": settings}))
    stop = search.run()
    decision = search.decide()
    evidence = search.scratchpad
    if decision is not None and not len(evidence):
        evidence = search.master.cite(_cited(decision.answer), search.dead_zones)
        found = {
            "interval_s": [atlas.root.start_s, atlas.root.end_s],
            "found": [item.to_json() for item in evidence],
        }
        search.log(Event("cite", data=found))
    search.log(Event("stop", data={"stop": stop, "rounds": search.rounds, "calls": search.meter.total.calls}))
    bills = search.meter.by_role
    return Result(
        question=question,
        prediction=None if decision is None else prediction(question, decision.answer),
        reasoning="" if decision is None else decision.answer.reasoning,
        evidence=evidence,
        dead_zones=search.dead_zones,
        stop=stop,
        failure=search.failure,
        rounds=search.rounds,
        usage={role: bill.usage for role, bill in bills.items()},
        settings=settings,
        trace=Trace(tuple(search.events)),
        sheet=search.master.sheet(evidence),
        calls=tuple(ledger.calls),
        spent=Spent(
            calls=sum(bill.paid.calls for bill in bills.values()),
            tokens=sum(bill.paid.tokens for bill in bills.values()),
            frames_decoded=atlas.video.frames_decoded - decoded,
            seconds=search.meter.seconds,
        ),
    )


def _cited(answer: Any) -> list[int]:
    """Return the cells a decision from the root grid rests on."""
    if hasattr(answer, "supporting"):
        return list(answer.supporting)
    return [cell for weighed in answer.weighed if weighed.choice == answer.answer for cell in weighed.supporting]
