"""The live display of a run in a notebook, updated in place: the counts, the root grid as the
Master sees it now, the evidence, and the latest steps.

It shows a run so far with the displays that a view, a scratchpad and a trace have anyway. It is a
plain IPython display with an id, which every frontend supports, and not a widget. So the saved
notebook, also papermill's copy, holds the result as static HTML.
"""

from __future__ import annotations

import threading
from typing import Any

from IPython.display import display

from atlaskit.caching.cache import Cache
from atlaskit.runs.replay import atlas_of
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video
from atlaskit.viz import html
from atlaskit.viz.html.markup import SMALL_WIDTH_PX, Html, card, guarded, paragraph
from atlaskit.viz.html.phrases import title
from atlaskit.viz.html.reprs.images import view
from atlaskit.viz.html.reprs.memory import evidence_table
from atlaskit.viz.html.reprs.trace import event_table
from atlaskit.viz.live.snapshots import Snapshot


class NotebookOutput:
    """A `Surface` that draws one run as the output of a notebook cell."""

    def __init__(self, video: Video, cache: Cache) -> None:
        self._video, self._cache = video, cache
        self._handle: Any = None
        self._is_final, self._lock = False, threading.Lock()

    def draw(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""
        self._publish(self._page(snapshot), self._counts(snapshot))

    def finish(self, snapshot: Snapshot, result: Result | None) -> None:
        """Show the result as notebooks show it; without one, the last state of the run."""
        if result is not None:
            self._publish(html.html(result), str(result), is_final=True)
        elif snapshot.start is not None:
            note = paragraph("The run was stopped before it had a result.")
            self._publish(card(self._page(snapshot), note), f"{self._counts(snapshot)}; stopped", is_final=True)

    def _publish(self, html: str, text: str, is_final: bool = False) -> None:
        with self._lock:  # a drawing that hung must not replace the result
            if self._is_final:
                return
            self._is_final, data = is_final, {"text/html": html, "text/plain": text}
            if self._handle is None:
                self._handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            else:
                self._handle.update(data, raw=True)

    def _counts(self, snapshot: Snapshot) -> str:
        return snapshot.counts_text(self._video.duration_s)

    def _page(self, snapshot: Snapshot) -> Html:
        first = snapshot.count - len(snapshot.latest)
        return card(
            title("", snapshot.question),
            paragraph(self._counts(snapshot)),
            # Before the first call, frames may have to be decoded; the text does not wait for them.
            guarded("The root grid", lambda: self._root(snapshot)) if snapshot.calls else "",
            evidence_table(snapshot.evidence) if len(snapshot.evidence) else "",
            event_table("Latest steps", enumerate(snapshot.latest, first)),
        )

    def _root(self, snapshot: Snapshot) -> Html:
        """Return the root grid with the cells black that are ruled out by now."""
        assert snapshot.start is not None
        atlas = atlas_of(Trace((snapshot.start,)), self._video, self._cache)
        return view(atlas.view(atlas.start(dead_zones=snapshot.memory.dead_zones)), SMALL_WIDTH_PX)
