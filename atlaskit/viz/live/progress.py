"""A run so far, as a line of text for displays: round, calls, tokens, evidence, dead zones.

A run in progress is a `RunSource` of the events until now, as a finished one is of all events.
"""

from __future__ import annotations

from collections.abc import Iterable

from atlaskit.caching.cache import Cache
from atlaskit.models.protocol import Usage
from atlaskit.runs.events import Call, Event, Failure, Look, Report, Step
from atlaskit.runs.narrate import counted, percent
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video
from atlaskit.viz.walk.source import RunSource


def run_so_far(events: Iterable[Event], video: Video, cache: Cache) -> RunSource:
    """Return a run whose first events are known."""
    trace = Trace(tuple(events))
    return RunSource(trace, trace, video, cache)


def usage_of(run: RunSource) -> Usage:
    """Return what all calls of a run so far cost, failed ones included."""
    return sum((event.usage for event in run.trace if isinstance(event, Call | Failure)), Usage())


def max_calls(run: RunSource) -> int | None:
    """Return the limit on the calls of a run; None if there is none."""
    budget = run.settings.get("budget")
    calls = budget.get("calls") if isinstance(budget, dict) else None
    return calls if isinstance(calls, int) else None


def pending(run: RunSource) -> int:
    """Return the number of frames that workers found and the Master has not merged yet."""
    merged = {(report.round, report.worker) for report in run.trace.of(Report)}
    found = [event for event in run.trace if isinstance(event, Step | Look)]
    return sum(len(event.found) for event in found if (event.round, event.worker) not in merged)


def progress_text(run: RunSource) -> str:
    """Return the round and the calls, of which there are none before the first reply."""
    calls, most = usage_of(run).calls, max_calls(run)
    limit = f" of at most {most:,}" if most else ""
    now = max((event.round for event in run.trace), default=0)
    return f"round {now} · {counted(calls, 'call')}{limit}" if calls else "no call yet"


def counts_text(run: RunSource) -> str:
    """Return round, calls, tokens, evidence, and the share of dead zones; the video is known."""
    assert run.within is not None
    waiting = pending(run)
    return (
        f"{progress_text(run)} · {usage_of(run).tokens:,} tokens · {counted(len(run.evidence), 'evidence frame')}"
        f"{f' ({waiting} more pending)' if waiting else ''} · "
        f"dead zones cover {percent(run.memory.dead_zones.coverage(*run.within))}"
    )
