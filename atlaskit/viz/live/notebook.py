"""The live display of a run in a notebook, updated in place: the counts, the root grid as the
Master sees it now, the evidence, and the latest steps.

It shows a run so far with the displays that a view and a scratchpad have anyway. It is a plain
IPython display with an id, which every frontend supports, and not a widget. So the saved
notebook, also papermill's copy, holds the result as static HTML.
"""

from __future__ import annotations

import threading
from typing import Any

from IPython.display import display

from atlaskit.runs.events import Call, Event, Failure
from atlaskit.runs.narrate import summary
from atlaskit.runs.replay import atlas_of
from atlaskit.runs.result import Result
from atlaskit.viz import html
from atlaskit.viz.html.markup import SMALL_WIDTH_PX, Html, card, guarded, paragraph, table, untrusted
from atlaskit.viz.html.phrases import title
from atlaskit.viz.html.reprs.images import view
from atlaskit.viz.html.reprs.memory import evidence_table
from atlaskit.viz.live.progress import counts_text, usage_of
from atlaskit.viz.walk.source import RunSource

MAX_LATEST = 12
"""Most events in the table of the latest steps."""
COLUMNS = ("event", "kind", "round", "worker", "summary", "tokens")


class NotebookOutput:
    """A `Surface` that draws one run as the output of a notebook cell."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._is_final, self._lock = False, threading.Lock()

    def draw(self, run: RunSource) -> None:
        """Show the run so far."""
        self._publish(_page(run), counts_text(run))

    def finish(self, run: RunSource, result: Result | None) -> None:
        """Show the result as notebooks show it; without one, the last state of the run."""
        if result is not None:
            self._publish(html.html(result), str(result), is_final=True)
        elif len(run.trace):
            note = paragraph("The run was stopped before it had a result.")
            self._publish(card(_page(run), note), f"{counts_text(run)}; stopped", is_final=True)

    def _publish(self, html: str, text: str, is_final: bool = False) -> None:
        with self._lock:  # a drawing that hung must not replace the result
            if self._is_final:
                return
            self._is_final, data = is_final, {"text/html": html, "text/plain": text}
            if self._handle is None:
                self._handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            else:
                self._handle.update(data, raw=True)


def _page(run: RunSource) -> Html:
    latest = list(enumerate(run.trace))[-MAX_LATEST:]
    return card(
        title("", "" if run.question is None else run.question.text),
        paragraph(counts_text(run)),
        # Before the first call, frames may have to be decoded; the text does not wait for them.
        guarded("The root grid", lambda: _root(run)) if usage_of(run).calls else "",
        evidence_table(run.evidence) if len(run.evidence) else "",
        table("Latest steps", COLUMNS, (event_row(index, event) for index, event in latest)),
    )


def _root(run: RunSource) -> Html:
    """Return the root grid with the cells black that are ruled out by now."""
    assert run.video is not None
    atlas = atlas_of(run.trace, run.video, run.cache)
    return view(atlas.view(atlas.start(dead_zones=run.memory.dead_zones)), SMALL_WIDTH_PX)


def event_row(index: int, event: Event) -> tuple[object, ...]:
    """Return an event as a row of a table under COLUMNS."""
    tokens = event.usage.tokens if isinstance(event, Call | Failure) else ""
    worker = "" if event.worker is None else event.worker
    return index, event.kind, event.round, worker, untrusted(summary(event), 200), tokens
