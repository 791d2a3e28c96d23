"""`explore_continuously`: no worker waits for another one, and no review for the slowest worker.

A worker gets the next region when it is free. The master reviews when there is new evidence, and
probes before the scores run out, while workers go on. The order of events is that of logical time,
which counts calls (`logical_time`), so the result is a function of the replies: with a
deterministic model, neither the number of threads nor their timing changes it.

When the search stops, calls may be under way that begin after the stop in logical time. They are no
part of the run; they are paid, so they count among what this run spent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from atlaskit.agents.logical_time import Job, Timeline
from atlaskit.agents.loop import Search, Stop
from atlaskit.agents.task import Task, WorkerResult
from atlaskit.models.protocol import MAX_ATTEMPTS


def explore_continuously(search: Search) -> Stop:
    """Explore until something ends the search; return what did."""
    with ThreadPoolExecutor(max_workers=search.dispatcher.threads + 1) as pool:
        run = _Run(search, Timeline(pool))
        try:
            stop = run.explore()
            run.cut_short()
            return stop
        except BaseException:
            search.dispatcher.cancel.set()
            run.halt.set()
            run.timeline.close()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@dataclass(frozen=True)
class MasterJob:
    """A call of the master that is under way."""

    kind: str
    attempts: int
    """The attempts that it may take."""
    apply: Callable[[Any], object]
    """Applies the call when it is its turn."""


@dataclass
class _Run:
    """The jobs of a search: the visits of workers, and at most one review and one probe."""

    search: Search
    timeline: Timeline
    halt: threading.Event = field(default_factory=threading.Event)
    """Set when the search has ended, so that calls under way are given up."""
    visits: dict[Job, Task] = field(default_factory=dict)
    calls: dict[Job, MasterJob] = field(default_factory=dict)
    """The master's calls that are under way."""
    visits_since_probe: int = 0
    has_merged: bool = False
    """Whether a worker came back since the last review began."""

    def explore(self) -> Stop:
        """Start jobs and apply their results until something ends the search; return what did."""
        search = self.search
        search.apply_scores(search.prober()())
        while True:
            if (stop := search.silence() or search.conclusion()) is not None:
                return stop
            stop = self.start_jobs()
            if not self.timeline.running:
                if stop is None and search.can_look_again():
                    search.apply_scores(search.prober()())
                    self.visits_since_probe = 0
                    continue
                return stop or "explored"
            self.apply(self.timeline.next())

    def start_jobs(self) -> Stop | None:
        """Give the master and all free workers something to do.

        Returns:
            Why no region was handed out, if a limit is the reason.
        """
        search = self.search
        self.start_master()
        if search.limits.is_last(search.rounds):
            return "rounds"
        slots = sorted(set(range(search.limits.workers)) - {task.worker for task in self.visits.values()})
        if not slots or not search.state.frontier.open:
            return None
        if (limit := search.meter.exhausted()) is not None:
            return limit
        assignments = search.choose(len(slots)) if search.state.frontier.scored else []
        if assignments:
            search.rounds += 1
            steps = [assignment.steps for assignment in assignments]
            tasks = search.tasks(assignments, search.meter.allot(steps, sharers=search.limits.workers), slots)
            search.hand_out(tasks, are_numbered=True)
            for task in tasks:
                self.start_visit(task)
        return None

    def start_visit(self, task: Task) -> None:
        """Send a worker to a region; its allotment is lent until it is back."""
        task = replace(task, allotment=replace(task.allotment, cancel=self.halt))
        self.search.meter.lend(task.allotment)
        explore = self.search.dispatcher.explore
        self.visits[self.timeline.start(lambda job: explore(task, job.begin_call))] = task

    def start_master(self) -> None:
        """Start a review if there is new evidence, and a probe before the scores run out."""
        search, frontier, limit = self.search, self.search.state.frontier, self.search.meter.exhausted()
        under_way = {call.kind for call in self.calls.values()}
        is_short = len(frontier.scored) < search.limits.workers or self.visits_since_probe >= search.limits.workers
        needs_scores = self.visits_since_probe > 0 and is_short and not search.keeps_scores
        if "probe" not in under_way and limit is None and frontier.cells and needs_scores:
            self.visits_since_probe = 0
            self.start_call("probe", search.prober(ahead=bool(self.visits)), search.apply_scores)
        left = search.calls.left("review")
        can_review = limit in (None, "calls") and (left is None or left > 0)
        if "review" not in under_way and can_review and self.has_merged and search.has_news:
            self.has_merged = False
            self.start_call("review", search.reviewer(), search.apply_judgement)

    def start_call(self, kind: str, make: Callable[[int | None], Any], apply: Callable[[Any], object]) -> None:
        """Start a call of the master, with the attempts it may take reserved.

        Args:
            kind: "probe" or "review".
            make: Makes the call, with so many attempts.
            apply: Applies what `make` returned.
        """
        left = self.search.calls.left(kind)
        attempts = MAX_ATTEMPTS if left is None else min(left, MAX_ATTEMPTS)
        self.search.meter.reserve(attempts)
        job = self.timeline.start(lambda job: make(attempts) if job.begin_call() else None)
        self.calls[job] = MasterJob(kind, attempts, apply)

    def apply(self, ended: Any) -> None:
        """Apply the results of the jobs that ended at one logical time, workers' first."""
        visits = [job for job in ended if job in self.visits]
        results: list[WorkerResult] = [job.result for job in visits]
        for result in results:
            if result.error is not None:
                raise result.error
        for job in visits:
            self.search.meter.take_back(self.visits.pop(job).allotment)
        if results:
            self.visits_since_probe += len(results)
            self.has_merged = True
            self.search.merge(results)
            for result in results:
                self.search.calls.health.record_round([result])
        for job in ended:
            if (call := self.calls.pop(job, None)) is not None:
                self.search.meter.reserve(-call.attempts)
                call.apply(job.result)

    def cut_short(self) -> None:
        """End all jobs, and record of each visit what belongs to the run."""
        self.halt.set()
        for job in self.timeline.close():
            if job in self.visits:
                self.search.meter.take_back(self.visits.pop(job).allotment)
                self.search.merge_part(job.result, self.timeline.now - job.start)
