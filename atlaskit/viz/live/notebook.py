"""The live display of a run in a notebook, updated in place: the map, a row for the master and each
worker, the latest evidence.

It is a plain IPython display with an id, which every frontend supports, and not a widget. So the
saved notebook, also papermill's copy, holds the result as static HTML.
"""

from __future__ import annotations

import io
import threading
from typing import Any

from IPython.display import display

from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import clock
from atlaskit.environment.memory import Evidence
from atlaskit.runs.narrate import span_text
from atlaskit.runs.replay import atlas_of
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video
from atlaskit.viz import html
from atlaskit.viz.html.markup import Html, card, image, paragraph, table, tag, untrusted
from atlaskit.viz.live.map import RunMap
from atlaskit.viz.live.snapshots import Snapshot

MAP_PX = 480
"""Width and height of the map in pixels."""
MAX_EVIDENCE, MAX_WORKER_ROWS = 6, 16
"""Most evidence frames, the latest, and most workers that are listed while a run is in progress."""
JPEG_QUALITY = 80


class NotebookOutput:
    """A `Surface` that draws one run as the output of a notebook cell."""

    def __init__(self, video: Video, cache: Cache) -> None:
        self._video, self._cache = video, cache
        self._map: RunMap | None = None
        self._handle: Any = None
        self._is_final, self._lock = False, threading.Lock()

    def draw(self, snapshot: Snapshot) -> None:
        """Show a snapshot; its map has frames once `load` has been called."""
        if self._map is None and snapshot.start is not None:
            self._map = RunMap(atlas_of(Trace((snapshot.start,)), self._video, self._cache), MAP_PX)
        self._publish(self._page(snapshot), self._counts(snapshot))

    def load(self) -> bool:
        """Load the frames of the map, from the cache or from the video."""
        if self._map is not None:
            self._map.load()
        return self._map is not None

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
        latest = [*snapshot.evidence][-MAX_EVIDENCE:]
        return card(
            paragraph(tag("strong", untrusted(snapshot.question, 1_000))),
            paragraph(self._counts(snapshot)),
            _map_card(self._map, snapshot) if self._map is not None else "",
            table("Agents", ("agent", "interval", "last action"), _agent_rows(snapshot)),
            table("Latest evidence", ("frame", "time", "description"), map(_evidence_row, latest)) if latest else "",
        )


def _map_card(run_map: RunMap, snapshot: Snapshot) -> Html:
    """Return the map as an image, with a note while its frames are missing."""
    buffer = io.BytesIO()
    run_map.draw(snapshot).save(buffer, "JPEG", quality=JPEG_QUALITY)
    picture = image(buffer.getvalue(), "jpeg", run_map.describe(snapshot), run_map.size[0])
    if not run_map.is_loaded:
        return card(picture, paragraph("Loading frames…"))
    problem = untrusted(run_map.problem)
    return card(picture, paragraph("The frames cannot be shown: ", problem) if run_map.problem else "")


def _agent_rows(snapshot: Snapshot) -> list[tuple[object, ...]]:
    visits = sorted(snapshot.visits.items())
    rows: list[tuple[object, ...]] = [("Master", "whole video", untrusted(snapshot.master or "starts"))]
    rows += [
        (f"Worker {worker}", span_text(visit.interval_s), untrusted(visit.activity))
        for worker, visit in visits[:MAX_WORKER_ROWS]
    ]
    return rows if len(visits) <= MAX_WORKER_ROWS else [*rows, (f"{len(visits) - MAX_WORKER_ROWS} more", "", "")]


def _evidence_row(item: Evidence) -> tuple[object, ...]:
    return untrusted(item.label, 8), clock(item.timestamp_s), untrusted(item.description, 200)
