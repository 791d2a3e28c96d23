"""A thread that does the latest of what it was told: what is told while it works replaces what still waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

IsLatest = Callable[[], bool]


class Debouncer:
    """Work off the caller's thread, one piece at a time; safe to be told things from any thread."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"atlaskit-{name}")  # it ends when this is let go of
        self._lock, self._newest, self._done = threading.Condition(), 0, 0

    def tell(self, do: Callable[[IsLatest], None]) -> None:
        """Have `do` done unless something else is told before it begins; it is given what tells whether it is still
        the latest."""
        with self._lock:
            self._newest += 1
            number = self._newest
            self._pool.submit(self._run, number, do)

    def _run(self, number: int, do: Callable[[IsLatest], None]) -> None:
        try:
            if number == self._newest:
                do(lambda: number == self._newest)
        finally:
            with self._lock:
                self._done = number
                self._lock.notify_all()

    def rest(self, timeout_s: float | None = None) -> bool:
        """Wait until everything that was told is done; tell whether it is."""
        with self._lock:
            return self._lock.wait_for(lambda: self._done == self._newest, timeout_s)
