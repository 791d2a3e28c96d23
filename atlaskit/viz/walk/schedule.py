"""`schedule`: when each event of a run took place, so that parallel workers stand side by side.

A trace holds no times. The log of the calls of a run that was just made (`Result.calls`) tells how
long each call took; with it the axis shows seconds, and without it steps in their order. Either way
a worker begins when it is assigned, and the Master goes on when all workers have reported.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from atlaskit.runs.events import Event, EventData, FailureData, ProbeData, TurnData, UsageData
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.viz.walk.source import RunSource, data_or_none

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
    data = [data_or_none(event) for event in run.trace]
    seconds = _seconds(run.record, data)
    lengths = [1.0] * len(data) if seconds is None else seconds
    return Schedule(tuple(_place(run.trace, data, lengths)), seconds is not None)


def _seconds(record: Result | Trace, data: list[EventData | None]) -> list[float] | None:
    """Return the seconds of each event's call; None unless all are known and one took time."""
    if not isinstance(record, Result):
        return None
    logged = defaultdict[Any, deque[float]](deque)
    for call in record.calls:
        logged[call.step, *call.usage.to_json().items()].append(call.transit.wall_s)
    seconds = list[float]()
    for event, each in zip(record.trace, data, strict=True):
        usage = getattr(each, "usage", None)
        if not isinstance(usage, UsageData):
            seconds.append(0.0)
            continue
        counts = {name: count for name, count in usage.model_dump().items() if count or name != "reasoning_tokens"}
        known = logged[_step_of_call(event, each), *counts.items()]
        if not known:
            return None
        seconds.append(known.popleft())
    return seconds if any(seconds) else None


def _step_of_call(event: Event, data: EventData | None) -> str:
    """Return the step of the call that an event records, as the log of calls names it."""
    if isinstance(data, FailureData | TurnData):
        return data.step
    return "decision" if event.kind == "vote" else event.kind


def _place(trace: Trace, data: list[EventData | None], lengths: list[float]) -> Iterator[Times]:
    """Yield start and end of each event."""
    now = 0.0  # when the Master's last event ended
    # When the last event of each worker of this round ended; None: a probe beside them.
    busy = dict[int | None, float]()
    for event, each, length in zip(trace, data, lengths, strict=True):
        is_beside = isinstance(each, ProbeData) and each.ahead
        if event.worker is not None or is_beside:
            start = busy.get(event.worker, now)
            busy[event.worker] = start + length
        else:
            start = max((now, *busy.values()))
            now = start + length
            busy.clear()
        yield start, start + length
