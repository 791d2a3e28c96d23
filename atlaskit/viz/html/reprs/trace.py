"""The display of a trace: its events as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from atlaskit.runs.events import Call, Event, Failure
from atlaskit.runs.narrate import counted, summary
from atlaskit.runs.trace import Trace
from atlaskit.viz.html.markup import Html, card, table, untrusted
from atlaskit.viz.html.phrases import omitted, title

MAX_EVENTS = 200
"""Most rows of the table: half from the beginning of the trace, half from its end."""


def trace(trace: Trace) -> Html:
    """Show a summary of each event; of a long trace, those at its beginning and at its end."""
    events = list(enumerate(trace.events))
    if not events:
        return card(title("Trace", "no events"))
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in islice(Counter(event.kind for event in trace).items(), 20))
    half = MAX_EVENTS // 2
    shown = events if len(events) <= MAX_EVENTS else [*events[:half], *events[-half:]]
    left_out = len(events) - len(shown)
    where = f", between event {half - 1:,} and event {len(events) - half:,}" if left_out else ""
    return card(
        title("Trace", f"{counted(len(events), 'event')}: {kinds}"),
        omitted(left_out, "event", where),
        event_table("Events", shown),
    )


def event_table(caption: str, events: Iterable[tuple[int, Event]]) -> Html:
    """Return a table of events, each with its index in the trace."""
    columns = ("event", "kind", "round", "worker", "summary", "tokens")
    return table(caption, columns, (_event_row(index, event) for index, event in events))


def _event_row(index: int, event: Event) -> tuple[object, ...]:
    tokens = event.usage.tokens if isinstance(event, Call | Failure) else ""
    worker = "" if event.worker is None else event.worker
    return index, event.kind, event.round, worker, untrusted(summary(event), 200), tokens
