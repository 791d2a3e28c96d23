"""A bounded number of requests in flight, shared by all who call one address: every worker of every question."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

DEFAULT_LIMIT = 16
"""Requests in flight at once to one address, where nothing else is said."""
LOOK_S = 0.5
"""How long at most nobody looks whether a place is still wanted."""


class Limiter:
    """Lets at most `limit` through at once, first come, first served."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.clear()

    def clear(self) -> None:
        """Forget who is inside and who waits: in a forked process, none of them is there."""
        self.inside = 0
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def place(self, timeout_s: float = math.inf, cancel: threading.Event | None = None) -> Iterator[None]:
        """Hold a place. Raises TimeoutError where none comes free in time, or before nobody waits for it any more."""
        until_s, turn = time.monotonic() + timeout_s, threading.Event()
        with self._lock:
            self._waiting.append(turn)
            self._let_in()
        try:
            while not turn.wait(max(0.0, min(LOOK_S, until_s - time.monotonic()))):
                if time.monotonic() >= until_s or (cancel is not None and cancel.is_set()):
                    raise TimeoutError
            yield
        finally:
            with self._lock:
                if turn.is_set():  # also where it came too late to be noticed
                    self.inside -= 1
                else:
                    self._waiting.remove(turn)
                self._let_in()

    def widen(self, limit: int) -> None:
        """Change how many may be inside."""
        with self._lock:
            self.limit = limit
            self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self.inside < self.limit:
            self.inside += 1
            self._waiting.popleft().set()


_gates: dict[str, Limiter] = {}
_gates_lock = threading.Lock()


def _after_fork() -> None:
    global _gates_lock
    _gates_lock = threading.Lock()
    for gate in _gates.values():
        gate.clear()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)


def limiter_for(address: str, limit: int | None = None) -> Limiter:
    """Return this process's gate to an address. A limit that is given holds from then on for all who share it."""
    with _gates_lock:
        gate = _gates.setdefault(address, Limiter(limit or DEFAULT_LIMIT))
        if limit is not None:
            gate.widen(limit)
        return gate
