"""`Dispatcher`: turns assignments into tasks and runs a round's workers on threads.

A task holds all that a worker may know and spend. Since it is fixed before any worker starts, the
number of threads and their timing change nothing but how long a round takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event as Flag
from typing import Any, TypeVar

from atlaskit.agents.task import Task, WorkerResult
from atlaskit.environment.memory import DeadZones
from atlaskit.runs.events import interval_s, shift_data

T = TypeVar("T")


@dataclass(frozen=True)
class Dispatcher:
    """Runs workers in parallel, and one other job beside them."""

    explore: Callable[[Task], WorkerResult]
    """Explores a task; see `Worker.explore`."""
    threads: int
    """Workers that run at the same time."""
    cancel: Flag
    """Set when the run is interrupted, so that no worker begins another call."""

    def run(self, tasks: Sequence[Task], beside: Callable[[], T] | None = None) -> tuple[list[WorkerResult], T | None]:
        """Run the tasks; return their results, in order, and that of the job beside them.

        An interrupt (Ctrl-C) sets `cancel` and does not wait for calls that are in flight.

        Args:
            tasks: The tasks of a round.
            beside: A job that runs in a thread of its own, beside the workers.
        """
        with ThreadPoolExecutor(max_workers=self.threads + (beside is not None)) as pool:
            try:
                job = pool.submit(beside) if beside else None
                results = list(pool.map(self.explore, tasks))
                return results, job.result() if job else None
            except BaseException:
                self.cancel.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def assign_data(tasks: Sequence[Task], dead_zones: DeadZones) -> dict[str, Any]:
    """Return the data of the event that records the tasks that are handed out together.

    Args:
        tasks: The tasks.
        dead_zones: The dead zones that the workers know.
    """
    sorties = [
        {
            "path": list(task.region.path),
            "interval_s": interval_s(task.region),
            "traversal": task.traversal,
            "calls": task.allotment.calls,
            "had_evidence": list(task.known_evidence.labels),
            **shift_data(task.region),
        }
        for task in tasks
    ]
    return {"sorties": sorties, "dead_zones_s": [list(span) for span in dead_zones.intervals]}
