"""`now_s`: the clock of runs, which stands still while a server is installed or started.

Budgets, deadlines and the seconds in results go by it: whoever asks pays for calls, not for the
first start of a server on this machine. It is one clock for all runs of a process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_starts, _state = 0, (0.0, 0.0)
"""How many starts go on; when the first of them began (0: none does), and the seconds lost before.
The pair is replaced as one, so that reading the clock takes no lock."""


def now_s() -> float:
    """Return the seconds of `time.monotonic`, less those in which a server was starting."""
    since_s, lost_s = _state
    return (since_s or time.monotonic()) - lost_s


def is_stopped() -> bool:
    """Return whether a server is installed or started now."""
    return _starts > 0


@contextmanager
def stopped() -> Iterator[None]:
    """Stop the clock for the length of a block. Threads may stop it at the same time."""
    global _starts, _state
    with _lock:
        _starts += 1
        since_s, lost_s = _state
        _state = since_s or time.monotonic(), lost_s
    try:
        yield
    finally:
        with _lock:
            _starts -= 1
            since_s, lost_s = _state
            _state = (since_s, lost_s) if _starts else (0.0, lost_s + time.monotonic() - since_s)
