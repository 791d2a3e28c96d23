"""`places`: where events stand on the axis of their run, parallel workers side by side.

A trace holds no times, so each event takes one step. A worker begins when it is assigned, and the
Master goes on when all workers have reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from atlaskit.runs.events import Probe
from atlaskit.runs.trace import Trace


def places(trace: Trace) -> Iterator[int]:
    """Yield at which step of the axis each event begins; it ends one later."""
    now = 0  # when the Master's last event ended
    # When the last event of each worker of this round ended; None: a probe beside them.
    busy = dict[int | None, int]()
    for event in trace:
        if event.worker is not None or (isinstance(event, Probe) and event.ahead):
            start = busy.get(event.worker, now)
            busy[event.worker] = start + 1
        else:
            start = max((now, *busy.values()))
            now = start + 1
            busy.clear()
        yield start
