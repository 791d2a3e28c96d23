"""A video's contact sheet to click through: cells open into finer grids, down to single frames.

Only what is looked at is drawn, in a thread of its own: a later click supersedes an earlier one whose picture is not
there yet. The grid that is likely next, which the pointer or the focus rests on, is drawn ahead in another thread,
while nothing else is to be drawn.
"""

from __future__ import annotations

import io
from functools import cached_property
from typing import Any, Literal

from PIL import Image

from atlaskit.caching.cache import Cache, cache_in_use
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.image import LazyImage, note_in
from atlaskit.environment.notation import listed
from atlaskit.environment.observation import Observation
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Fit
from atlaskit.errors import AtlasError, reason
from atlaskit.runs.result import Result
from atlaskit.video.video import Sampling, Video
from atlaskit.viz.html import timeline
from atlaskit.viz.html.markup import (
    MAX_WIDTH_PX,
    Html,
    card,
    guarded,
    image,
    jpeg_image,
    paragraph,
    plain_text,
    untrusted,
)
from atlaskit.viz.html.phrases import spans_text
from atlaskit.viz.html.timeline import Lane
from atlaskit.viz.palette import DEAD, FOUND
from atlaskit.viz.widgets import bridge
from atlaskit.viz.widgets.debounce import Debouncer, IsLatest
from atlaskit.viz.widgets.navigation import Location, Marks, facts, picture_of, state_of

SHOWN_PX = MAX_WIDTH_PX


class GridExplorer:
    """The contact sheet of a video, to click through in a notebook: `GridExplorer(video)` as a cell's last line.

    Click a cell, or move with the arrows and press Enter, to open it; Backspace or Escape lead back, and so do the
    breadcrumbs. A cell too short to open shows its frame in full, as F does for any; B and A show the time just before
    and just after a cell. What is ruled out (M−) and found (M+) by a `result` is marked on the cells.

    `k` and `cell` (pixels) are the grid's, `max_depth` and `sampling` as in `Atlas`; by default a cell shows a keyframe
    of its time, where it has one, since those are many times quicker to have: the time of what it shows is written in
    its corner. Pictures are kept in `cache`, by default the one that was opened last. Where it cannot be clicked, as on
    GitHub, a notebook shows its static picture. It can be led from Python too: `open`, `back`, `frame`, `before` and
    `after` move what the notebook shows.
    """

    def __init__(
        self,
        video: Video,
        *,
        result: Result | None = None,
        k: int = 8,
        cell: int = 120,
        max_depth: int | Literal["auto"] = "auto",
        fit: Fit = "contain",
        sampling: Sampling = "keyframe",
        cache: Cache | None = None,
    ) -> None:
        self.atlas = Atlas(
            video,
            k=k,
            cell=cell,
            max_depth=max_depth,
            fit=fit,
            labels="time",
            sampling=sampling,
            cache=cache or cache_in_use(),
        )
        self.marks = Marks(result.evidence, result.dead_zones) if result is not None else Marks()
        self.place = self._wanted = Location()
        """What is looked at."""
        self._drawing, self._ahead = Debouncer("explorer"), Debouncer("explorer-ahead")

    @property
    def view(self) -> View:
        """The grid that is looked at, or that the frame looked at is of."""
        return self._seen(self.place).view

    @property
    def picture(self) -> LazyImage:
        """What is looked at: a grid of frames, or one frame."""
        return picture_of(self._seen(self.place))

    def open(self, *cells: int) -> GridExplorer:
        """Open a cell of the grid that is looked at, one of its cells and so on; raise IllegalAction where the grid has
        no such cell, or one that is too short."""
        return self._lead(Location((*self.place.path, *cells)))

    def back(self) -> GridExplorer:
        """Go back: from a frame to its grid, from a grid to the one it was opened from."""
        return self._lead(self.place.back)

    def frame(self, cell: int) -> GridExplorer:
        """Look at a cell's frame in full; raise IllegalAction where it cannot be decoded."""
        return self._lead(Location(self.place.path, "frame", cell))

    def before(self, cell: int) -> GridExplorer:
        """Look at the time just before a cell, as long as the cell; raise IllegalAction where there is none."""
        return self._lead(Location(self.place.path, "before", cell))

    def after(self, cell: int) -> GridExplorer:
        """Look at the time just after a cell, as long as the cell; raise IllegalAction where there is none."""
        return self._lead(Location(self.place.path, "after", cell))

    @cached_property
    def widget(self) -> Any:
        """The widget by itself, to put among others; raise InputError where anywidget is not installed."""
        return bridge.connect("explorer", self._hear)

    def _seen(self, place: Location) -> Observation:
        return self.atlas.observe(state_of(self.atlas, place))

    def _lead(self, place: Location) -> GridExplorer:
        state_of(self.atlas, place)
        self.place = self._wanted = place
        if "widget" in vars(self):
            self._drawing.tell(lambda is_latest: self._show(place, is_latest))
        return self

    def _hear(self, message: dict[str, Any]) -> None:
        """Take what the page says: where it wants to go, or is likely to; at first, that it is there."""
        try:
            place = Location.from_json(message["place"]) if "place" in message else self._wanted
        except AtlasError as error:
            return self._fail(error)
        if message.get("want") == "ahead":
            return self._ahead.tell(lambda is_latest: self._draw_ahead(place, is_latest))
        self._wanted = place
        return self._drawing.tell(lambda is_latest: self._show(place, is_latest))

    def _show(self, place: Location, is_latest: IsLatest) -> None:
        """Draw a place and send it to the page, unless another is wanted by then."""
        self.widget.send({"is": "drawing"})  # it may take long, and the page is to know that somebody is at it
        try:
            seen = self._seen(place)
            jpeg = picture_of(seen).jpeg()
            message = {**facts(self.atlas, place, seen, self.marks), "is": "picture", "note": _unreadable_in(jpeg)}
        except Exception as error:  # nobody is above this thread: whoever looks at the page is told
            return self._fail(error) if is_latest() else None
        if is_latest():
            self.place = place
            self.widget.send(message, [jpeg])
        return None

    def _draw_ahead(self, place: Location, is_latest: IsLatest) -> None:
        """Draw a place into the cache once nothing else is to be drawn; it may not be legal, or not be readable."""
        self._drawing.rest()
        try:
            if is_latest():
                picture_of(self._seen(place)).jpeg()
        except (AtlasError, OSError):
            return  # told to whoever goes there

    def _fail(self, error: Exception) -> None:
        self._wanted = self.place
        self.widget.send({"is": "trouble", "words": plain_text(f"This cannot be shown: {reason(error)}", 600)})

    def _repr_html_(self) -> Html:
        """Return the static picture: what is looked at, and what is known of the video, along its time."""
        return card(
            guarded("The picture", lambda: self._still(self._seen(self.place))),
            guarded("The timeline", self._timeline),
        )

    def _still(self, seen: Observation) -> Html:
        told_of = facts(self.atlas, self.place, seen, self.marks)
        return card(
            jpeg_image(picture_of(seen).jpeg, told_of["words"], SHOWN_PX),
            paragraph(untrusted(self.atlas.video.name), f" · {told_of['words']} ", self._marked(told_of["cells"])),
        )

    def _marked(self, cells: list[dict[str, Any]]) -> str:
        """Return in words which cells are marked."""
        found = [f"{', '.join(cell['found'])} in cell {place}" for place, cell in enumerate(cells) if cell["found"]]
        dead = [place for place, cell in enumerate(cells) if cell["dead"] == 1]
        said = [f"Evidence: {'; '.join(found)}."] if found else []
        return " ".join([*said, f"Ruled out: cells {listed(dead)}." if dead else ""])

    def _timeline(self) -> str:
        duration_s, shown = self.atlas.video.duration_s, self.view.grid
        lanes = [Lane("looked at", outlined=[(shown.start_s, shown.end_s)])]
        moments = [(item.timestamp_s, item.label) for item in self.marks.evidence]
        if moments:
            lanes.append(Lane("evidence", moments=moments, colour=FOUND))
        if self.marks.dead_zones.intervals:
            lanes.append(Lane("ruled out", self.marks.dead_zones.intervals, colour=DEAD))
        words = f"Looked at: {spans_text([(shown.start_s, shown.end_s)])}."
        return image(timeline.draw_png(lanes, duration_s), "png", words, timeline.WIDTH_PX)

    def _ipython_display_(self) -> None:
        bridge.show(self._repr_html_(), lambda: self.widget, repr(self))

    def __repr__(self) -> str:
        return f"GridExplorer({self.atlas.video!r})"


def _unreadable_in(jpeg: bytes) -> str:
    """Return in words which cells of a picture could not be decoded, empty if all could."""
    cells = note_in(Image.open(io.BytesIO(jpeg))).get("unreadable")
    if not isinstance(cells, list) or not cells:
        return ""
    return f"{len(cells)} {'cell' if len(cells) == 1 else 'cells'} cannot be decoded, and hatched: {listed(cells)}."
