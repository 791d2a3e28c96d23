"""`Slots`: what admits requests to an address: so many at once, so many a minute.

The number at once follows what the endpoint takes: each refusal halves it, and as many answers as
it allows raise it by one. It is shared by all models and threads of a process.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from dataclasses import dataclass, field

DEFAULT_LIMIT = 16
"""Most requests in flight to one address, unless a client sets another limit."""
MINUTE_S = 60.0


@dataclass
class Slots:
    """The requests of this process to one address."""

    most: int = DEFAULT_LIMIT
    """Most at once that the user allows."""
    rpm: float | None = None
    """Most a minute that the user allows."""
    in_flight: int = 0
    allowed: int = 0
    """Most at once that the endpoint seems to take."""
    _in_a_row: int = 0
    _next_s: float = 0.0
    _answered_s: deque[float] = field(default_factory=lambda: deque(maxlen=10_000))
    _free: threading.Condition = field(default_factory=threading.Condition)

    def turn_s(self) -> float:
        """Take the next turn by the limit a minute; return the seconds until then."""
        if self.rpm is None:
            return 0.0
        with self._free:
            now_s = time.monotonic()
            turn_s = max(now_s, self._next_s)
            self._next_s = turn_s + MINUTE_S / self.rpm
            return turn_s - now_s

    def acquire(self, timeout_s: float) -> bool:
        """Take a slot once one is free; return False if none is within the time-out."""
        with self._free:
            is_free = self._free.wait_for(lambda: self.in_flight < self._most_now, timeout_s)
            self.in_flight += is_free
            return is_free

    def release(self) -> None:
        """Give a slot back."""
        with self._free:
            self.in_flight -= 1
            self._free.notify_all()

    def note_answer(self) -> None:
        """Note that the endpoint answered: after enough answers it gets one more at once."""
        with self._free:
            self._answered_s.append(time.monotonic())
            self._in_a_row += 1
            if self.allowed and self._in_a_row >= self.allowed:
                self.allowed = self.allowed + 1 if self.allowed < self.most else 0
                self._in_a_row = 0
                self._free.notify_all()

    def note_refusal(self) -> int:
        """Note that the endpoint refused a request; return how many it answered in a minute."""
        with self._free:
            self.allowed, self._in_a_row = max(1, self._most_now // 2), 0
            begin_s = time.monotonic() - MINUTE_S
            return sum(answered_s > begin_s for answered_s in self._answered_s)

    @property
    def _most_now(self) -> int:
        return min(self.most, self.allowed or self.most)

    def __enter__(self) -> None:
        self.acquire(threading.TIMEOUT_MAX)

    def __exit__(self, *_: object) -> None:
        self.release()


_limits: dict[str, tuple[int, float | None]] = {}
"""Limits that clients have set, by address."""
_slots: dict[tuple[int, str], Slots] = {}
"""By process too: a forked child has none of its parent's requests."""


def slots_of(address: str) -> Slots:
    """Return what admits this process's requests to an address."""
    return _slots.setdefault((os.getpid(), address), Slots(*_limits.get(address, ())))


def set_limits(address: str, most: int | None, rpm: float | None) -> None:
    """Set the limits of an address; None leaves one as it is."""
    slots = slots_of(address)
    slots.most, slots.rpm = most or slots.most, rpm or slots.rpm
    _limits[address] = slots.most, slots.rpm
