"""`schedule`: when each event of a run took place, so that parallel workers stand side by side.

A trace holds no times. The log of the calls of a run that was just made (`Result.calls`) tells how
long each call took; with it the axis shows seconds, and without it steps in their order. Either way
a worker begins when it is assigned, and the Master goes on when all workers have reported.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from atlaskit.models.protocol import Usage
from atlaskit.runs.events import Call, Event, Failure, Probe, Turn, Vote
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.viz.walk.source import RunSource

Times = tuple[float, float]
"""Start and end of an event: seconds, or steps in their order."""


@dataclass(frozen=True)
class Schedule:
    """When each event of a run took place."""

    times: tuple[Times, ...]
    """Of each event in the order of the trace."""
    is_in_seconds: bool
    """Whether the times are seconds of the calls; otherwise each event lasts 1."""

    def end_of(self, count: int) -> float:
        """Return the end of the last of the first `count` events to end."""
        return max((end for _, end in self.times[:count]), default=0.0)


def schedule(run: RunSource) -> Schedule:
    """Return when each event of a run took place: in seconds where the run knows its calls."""
    seconds = _seconds(run.record)
    lengths = [1.0] * len(run.trace) if seconds is None else seconds
    return Schedule(tuple(_place(run.trace, lengths)), seconds is not None)


def _seconds(record: Result | Trace) -> list[float] | None:
    """Return the seconds of each event's call; None unless all are known and one took time."""
    if not isinstance(record, Result):
        return None
    log, seconds = defaultdict[tuple[str, Usage], deque[float]](deque), list[float]()
    for call in record.calls:
        log[call.step, call.usage].append(call.wall_s)
    for event in record.trace:
        if not isinstance(event, Call | Failure):
            seconds.append(0.0)
        elif known := log[_step_of_call(event), event.usage]:
            seconds.append(known.popleft())
        else:
            return None
    return seconds if any(seconds) else None


def _step_of_call(event: Event) -> str:
    """Return the step of the call that an event records, as the log of calls names it."""
    return event.step if isinstance(event, Failure | Turn | Vote) else event.kind


def _place(trace: Trace, lengths: list[float]) -> Iterator[Times]:
    """Yield start and end of each event."""
    now = 0.0  # when the Master's last event ended
    # When the last event of each worker of this round ended; None: a probe beside them.
    busy = dict[int | None, float]()
    for event, length in zip(trace, lengths, strict=True):
        is_beside = isinstance(event, Probe) and event.ahead
        if event.worker is not None or is_beside:
            start = busy.get(event.worker, now)
            busy[event.worker] = start + length
        else:
            start = max((now, *busy.values()))
            now = start + length
            busy.clear()
        yield start, start + length
