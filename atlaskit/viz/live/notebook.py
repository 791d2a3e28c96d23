"""A run that happens, in a notebook: one output, updated in place, that the result takes the place of.

It is IPython's plain display with an id, as every frontend has it, and no widget: so what is saved is the result as
static HTML, in papermill's copies too.
"""

from __future__ import annotations

import io
import threading
from typing import Any

from IPython.display import display

from atlaskit.caching.cache import Cache
from atlaskit.environment.notation import clock
from atlaskit.runs.replay import atlas_of
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video
from atlaskit.viz import html
from atlaskit.viz.html.markup import Html, card, image, paragraph, table, tag, untrusted
from atlaskit.viz.live.map import RunMap
from atlaskit.viz.live.snapshots import Snapshot

SIDE_PX = 480
"""Of the map."""
MOST_ITEMS, MOST_VISITS = 6, 16
"""Frames of evidence, the latest, and workers that are told of while a run is under way."""
QUALITY = 80


class NotebookOutput:
    """The output of one run."""

    def __init__(self, video: Video, cache: Cache) -> None:
        self._video, self._cache = video, cache
        self._map: RunMap | None = None
        self._handle: Any = None
        self._is_left, self._lock = False, threading.Lock()

    def draw(self, moment: Snapshot) -> None:
        """Show a moment; the map's frames are in it once they were looked up."""
        if self._map is None and moment.start is not None:
            self._map = RunMap(atlas_of(Trace((moment.start,)), self._video, self._cache), SIDE_PX)
        self._publish(self._page(moment), self._counted(moment))

    def look(self) -> bool:
        """Look up the map's frames: in the cache, where the model was shown the map already, or in the video."""
        if self._map is not None:
            self._map.look()
        return self._map is not None

    def leave(self, moment: Snapshot, result: Result | None) -> None:
        """Show the result as a notebook shows it; without one, how far the run came."""
        if result is not None:
            self._publish(html.html(result), str(result), is_last=True)
        elif moment.start is not None:
            end = paragraph("It was stopped here, before it had a result.")
            self._publish(card(self._page(moment), end), f"{self._counted(moment)}; stopped", is_last=True)

    def _publish(self, html: str, text: str, is_last: bool = False) -> None:
        with self._lock:  # a drawing that hung does not come after the result
            if self._is_left:
                return
            self._is_left, data = is_last, {"text/html": html, "text/plain": text}
            if self._handle is None:
                self._handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            else:
                self._handle.update(data, raw=True)

    def _counted(self, moment: Snapshot) -> str:
        return moment.counted(self._video.duration_s)

    def _page(self, moment: Snapshot) -> Html:
        items = [*moment.evidence][-MOST_ITEMS:]
        return card(
            paragraph(tag("strong", untrusted(moment.question, 1_000))),
            paragraph(self._counted(moment)),
            _painted(self._map, moment) if self._map is not None else "",
            table("Who does what", ("who", "where", "what"), _doings(moment)),
            table("The latest evidence", ("frame", "time", "what it shows"), map(_row, items)) if items else "",
        )


def _painted(map_: RunMap, moment: Snapshot) -> Html:
    buffer = io.BytesIO()
    map_.paint(moment).save(buffer, "JPEG", quality=QUALITY)
    picture = image(buffer.getvalue(), "jpeg", map_.told(moment), SIDE_PX)
    if map_.has_frames:
        return card(picture, paragraph("Its frames cannot be shown: ", untrusted(map_.trouble)) if map_.trouble else "")
    return card(picture, paragraph("Its frames are being looked up."))


def _doings(moment: Snapshot) -> list[tuple[object, ...]]:
    visits = sorted(moment.at_work.items())
    rows: list[tuple[object, ...]] = [("Master", "the map", untrusted(moment.master or "begins"))]
    rows += [
        (f"worker {number}", "–".join(map(clock, visit.interval_s)), untrusted(visit.doing))
        for number, visit in visits[:MOST_VISITS]
    ]
    return rows if len(visits) <= MOST_VISITS else [*rows, (f"{len(visits) - MOST_VISITS} more", "", "")]


def _row(item: Any) -> tuple[object, ...]:
    return untrusted(item.label, 8), clock(item.timestamp_s), untrusted(item.description, 200)
