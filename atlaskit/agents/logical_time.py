"""`Timeline`: runs jobs in parallel and returns their results in logical time, so that the order of
the results depends on how many calls each job makes, and never on how long the calls take.

A job's logical length is the number of its calls. It starts at the logical time at which it was
started, and a call takes one unit. The results of the jobs that end first in logical time are
returned as soon as no other job can end before them or with them: each job says when it begins a
call, so it cannot end before that call does. In a distributed simulation this is called
conservative synchronisation.

With calls that take equally long, nobody waits. A job whose calls are slow delays the results of
others by at most as many calls as it is behind; it never delays their calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Job:
    """One activity on a timeline, such as a worker's visit or a review."""

    start: int
    """Logical time at which the job was started."""
    order: int
    """Its place among all jobs, in the order in which they were started."""
    begin_call: Callable[[], bool] = lambda: False
    """Called by the job before each of its calls; False tells it to stop without that call."""
    begun: int = 0
    """The calls that the job has begun."""
    future: Future[Any] | None = None

    @property
    def is_done(self) -> bool:
        """Whether the job has returned, or raised an error."""
        return self.future is not None and self.future.done()

    @property
    def end(self) -> int:
        """Logical time at which the job ends; the earliest possible while it is running."""
        return self.start + self.begun

    @property
    def result(self) -> Any:
        """What the job returned; if it raised an error, the error is raised here."""
        assert self.future is not None
        return self.future.result()


@dataclass
class Timeline:
    """Jobs that run in parallel, and the logical time up to which their results were returned."""

    pool: ThreadPoolExecutor
    now: int = 0
    """Logical time, in calls."""
    running: list[Job] = field(default_factory=list)
    """The jobs whose results were not returned yet, in the order in which they were started."""
    started: int = 0
    is_closed: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def start(self, run: Callable[[Job], Any]) -> Job:
        """Start a job at the current logical time.

        Args:
            run: The job. It must call `begin_call` before each of its calls, and stop if that
                returns False.
        """
        job = Job(self.now, self.started)
        job.begin_call = lambda: self._begin_call(job)
        self.started += 1
        self.running.append(job)
        job.future = self.pool.submit(run, job)
        job.future.add_done_callback(lambda _: self._notify())
        return job

    def next(self) -> Sequence[Job]:
        """Wait for the jobs that end next in logical time; return them.

        They are in the order of their starts. There must be a running job.
        """
        with self.changed:
            while not (ended := self._ended()):
                self.changed.wait()
        self.now = ended[0].end
        self.running = [job for job in self.running if job not in ended]
        return ended

    def close(self) -> Sequence[Job]:
        """Tell all running jobs to make no further call; return them.

        They may have begun calls after the current logical time. Those are no part of the run: a
        job's first `now - start` calls are.
        """
        with self.changed:
            self.is_closed = True
        return tuple(self.running)

    def _ended(self) -> list[Job]:
        """Return the jobs that end next, or none if that is not known yet."""
        ends = [job.end for job in self.running if job.is_done]
        if not ends:
            return []
        # A job that is running ends with its current call or later.
        if any(not job.is_done and job.end <= min(ends) for job in self.running):
            return []
        return [job for job in self.running if job.is_done and job.end == min(ends)]

    def _begin_call(self, job: Job) -> bool:
        with self.changed:
            if self.is_closed:
                return False
            job.begun += 1
            self.changed.notify_all()
        return True

    def _notify(self) -> None:
        with self.changed:
            self.changed.notify_all()
