"""`Debouncer`: a thread that runs only the newest pending job."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

IsLatest = Callable[[], bool]
"""Returns whether no newer job has been submitted."""


class Debouncer:
    """Runs jobs one at a time in a thread; a new job replaces one that has not started.

    All methods may be called from any thread.
    """

    def __init__(self, name: str) -> None:
        # The thread ends when this object is garbage-collected.
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"atlaskit-{name}")
        self._lock, self._newest, self._done = threading.Condition(), 0, 0

    def submit(self, job: Callable[[IsLatest], None], *, is_kept: bool = False) -> None:
        """Run a job, unless a newer one is submitted before it starts.

        Args:
            job: Receives a function that tells whether the job is still the newest, so that it can
                stop early.
        """
        with self._lock:
            self._newest += 1
            number = self._newest
            self._pool.submit(self._run, number, job, is_kept)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until no job is pending or running; return False if the timeout passes first."""
        with self._lock:
            return self._lock.wait_for(lambda: self._done == self._newest, timeout_s)

    def _run(self, number: int, job: Callable[[IsLatest], None], is_kept: bool) -> None:
        try:
            if is_kept or number == self._newest:
                job(lambda: number == self._newest)
        finally:
            with self._lock:
                self._done = number
                self._lock.notify_all()
