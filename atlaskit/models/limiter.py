"""`Limiter`: bounds the requests in flight to one address, shared by all threads of a process."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

DEFAULT_LIMIT = 16
"""Most requests in flight to one address, unless a client sets another limit."""
POLL_S = 0.5
"""How often a waiting request checks its cancel event, in seconds."""


class Limiter:
    """A semaphore that admits in order of arrival and whose limit can change.

    Attributes:
        limit: Most requests in flight.
        in_flight: Requests in flight now.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.reset()

    def reset(self) -> None:
        """Drop all slots and waiters. A forked child has none of its parent's threads."""
        self.in_flight = 0
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def slot(self, timeout_s: float = math.inf, cancel: threading.Event | None = None) -> Iterator[None]:
        """Hold a slot for the length of a block, and wait for one first.

        Raises:
            TimeoutError: If no slot came free within `timeout_s` seconds, or `cancel` was set.
        """
        deadline_s, admitted = time.monotonic() + timeout_s, threading.Event()
        with self._lock:
            self._waiting.append(admitted)
            self._admit()
        try:
            while not admitted.wait(max(0.0, min(POLL_S, deadline_s - time.monotonic()))):
                if time.monotonic() >= deadline_s or (cancel is not None and cancel.is_set()):
                    raise TimeoutError
            yield
        finally:
            with self._lock:
                if admitted.is_set():  # also if it was admitted just after it timed out
                    self.in_flight -= 1
                else:
                    self._waiting.remove(admitted)
                self._admit()

    def set_limit(self, limit: int) -> None:
        """Change the limit. Requests that are in flight finish, also if there are more of them."""
        with self._lock:
            self.limit = limit
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.limit:
            self.in_flight += 1
            self._waiting.popleft().set()


_limiters: dict[str, Limiter] = {}
_limiters_lock = threading.Lock()


def _after_fork() -> None:
    global _limiters_lock
    _limiters_lock = threading.Lock()
    for limiter in _limiters.values():
        limiter.reset()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)


def limiter_for(address: str, limit: int | None = None) -> Limiter:
    """Return this process's limiter of an address.

    Args:
        address: The endpoint's base URL.
        limit: New limit for everyone who shares the address. None: leave it as it is, or
            `DEFAULT_LIMIT` for a new address.
    """
    with _limiters_lock:
        limiter = _limiters.setdefault(address, Limiter(limit or DEFAULT_LIMIT))
        if limit is not None:
            limiter.set_limit(limit)
        return limiter
