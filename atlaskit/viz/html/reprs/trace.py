"""The display of a trace: its events as a table."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from atlaskit.models.usage import Usage
from atlaskit.runs.events import Event
from atlaskit.runs.trace import Trace
from atlaskit.viz.html.event_summaries import event_summary
from atlaskit.viz.html.markup import Html, card, table, untrusted
from atlaskit.viz.html.phrases import counted, omitted, title

MAX_EVENTS = 200
"""Most rows of the table: half from the beginning of the trace, half from its end."""


def trace(trace: Trace) -> Html:
    """Show a summary of each event; of a long trace, those at its beginning and at its end."""
    events = list(enumerate(trace.events))
    if not events:
        return card(title("Trace", "no events"))
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in islice(Counter(str(e.kind) for e in trace).items(), 20))
    half = MAX_EVENTS // 2
    shown = events if len(events) <= MAX_EVENTS else [*events[:half], *events[-half:]]
    columns = ("event", "kind", "round", "worker", "summary", "tokens")
    left_out = len(events) - len(shown)
    where = f", between event {half - 1:,} and event {len(events) - half:,}" if left_out else ""
    return card(
        title("Trace", f"{counted(len(events), 'event')}: {kinds}"),
        omitted(left_out, "event", where),
        table("Events", columns, (_event_row(index, event) for index, event in shown)),
    )


def _event_row(index: int, event: Event) -> tuple[object, ...]:
    data = event.data if isinstance(event.data, dict) else {}
    summary = event_summary(event)
    try:
        tokens: object = Usage.from_json(data["usage"]).tokens
    except (KeyError, ValueError, TypeError):
        tokens = ""
    worker = "" if event.worker is None else event.worker
    return index, untrusted(event.kind, 40), event.round, worker, untrusted(summary, 200), tokens
