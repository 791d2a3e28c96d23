"""`GridExplorer`: the widget in which cells open into finer grids, down to single frames.

A thread draws only what is requested; a newer click replaces an older one whose image is not ready.
A second thread draws the grid that the pointer or the focus rests on, which is likely to be next,
while the first one is idle.
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
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.video import Sampling
from atlaskit.viz.html.markup import (
    MAX_WIDTH_PX,
    Html,
    card,
    guarded,
    jpeg_image,
    paragraph,
    plain_text,
    untrusted,
)
from atlaskit.viz.html.phrases import counted, span_text
from atlaskit.viz.html.reprs.memory import timeline_image
from atlaskit.viz.html.timeline import Lane
from atlaskit.viz.palette import DEAD, FOUND
from atlaskit.viz.widgets import bridge
from atlaskit.viz.widgets.debounce import Debouncer, IsLatest
from atlaskit.viz.widgets.navigation import Location, Marks, describe, picture_of, state_of


class GridExplorer:
    """A video's grid to explore in a notebook: `GridExplorer(video)` as the last line of a cell.

    Click a cell to open it, or move with the arrow keys and press Enter. Backspace, Escape and the
    breadcrumbs lead back. A cell that is too short to open shows its frame at full resolution, as F
    does for any cell; B and A show the time just before and just after a cell. From Python, `open`,
    `back`, `frame`, `before` and `after` move what the notebook shows.

    The interactive widget needs a running kernel; elsewhere, as on GitHub, the notebook shows a
    static picture.

    Attributes:
        atlas: The environment that the grids come from.
        marks: The evidence and dead zones that are marked on cells.
        place: What is shown: `path` (the cells that lead to the grid), `look` ("grid", "frame",
            "before" or "after") and `cell`.
    """

    def __init__(
        self,
        video: AnyVideo,
        *,
        result: Result | None = None,
        k: int = 8,
        cell: int = 120,
        max_depth: int | Literal["auto"] = "auto",
        fit: Fit = "contain",
        sampling: Sampling = "keyframe",
        cache: Cache | None = None,
    ) -> None:
        """Prepare an explorer; nothing is decoded yet.

        Args:
            video: The video, its file, or a list of files.
            result: A run whose evidence (M+) and dead zones (M−) are marked on the cells.
            k: Cells per side of a grid.
            cell: Width and height of a cell in pixels; of a native cell, the longer of the two.
            max_depth: Depth of the finest grid, as in `Atlas`.
            fit: How a frame is fitted into its cell, as in `Atlas`.
            sampling: Which frame represents a cell, as in `Atlas`. By default it is a keyframe, if
                the cell has one, because keyframes are many times faster to decode. The time of the
                frame is written in its corner.
            cache: Where images are cached; by default the cache that was opened last.

        Raises:
            InputError: A setting is out of its range.
        """
        self.atlas = Atlas(
            as_video(video, cache),
            k=k,
            cell=cell,
            max_depth=max_depth,
            fit=fit,
            labels="time",
            sampling=sampling,
            cache=cache or cache_in_use(),
        )
        self.marks = Marks(result.evidence, result.dead_zones) if result is not None else Marks()
        self.place = self._requested = Location()
        self._jobs, self._prefetch_jobs = Debouncer("explorer"), Debouncer("explorer-ahead")

    @property
    def view(self) -> View:
        """The grid that is shown, or the grid that the shown frame belongs to."""
        return self._observe(self.place).view

    @property
    def picture(self) -> LazyImage:
        """The image that is shown: a grid, one frame, or the frames before or after a cell."""
        return picture_of(self._observe(self.place))

    def open(self, *cells: int) -> GridExplorer:
        """Open a cell of the grid, then a cell of that one, and so on.

        Raises:
            IllegalAction: A grid has no such cell, or the cell is too short to open.
        """
        return self._go(Location((*self.place.path, *cells)))

    def back(self) -> GridExplorer:
        """Go from a frame to its grid, or from a grid to the one above it."""
        return self._go(self.place.parent)

    def frame(self, cell: int) -> GridExplorer:
        """Show the frame of a cell at full resolution.

        Raises:
            IllegalAction: The grid has no such cell, or its frame cannot be decoded.
        """
        return self._go(Location(self.place.path, "frame", cell))

    def before(self, cell: int) -> GridExplorer:
        """Show the time just before a cell, as long as the cell.

        Raises:
            IllegalAction: The grid has no such cell, or the video starts with it.
        """
        return self._go(Location(self.place.path, "before", cell))

    def after(self, cell: int) -> GridExplorer:
        """Show the time just after a cell, as long as the cell.

        Raises:
            IllegalAction: The grid has no such cell, or the video ends with it.
        """
        return self._go(Location(self.place.path, "after", cell))

    @cached_property
    def widget(self) -> Any:
        """The widget without its static picture, for use inside other widgets.

        Raises:
            InputError: anywidget is not installed.
        """
        return bridge.connect("explorer", self._receive)

    def _observe(self, location: Location) -> Observation:
        return self.atlas.observe(state_of(self.atlas, location))

    def _go(self, location: Location) -> GridExplorer:
        state_of(self.atlas, location)
        self.place = self._requested = location
        if "widget" in vars(self):
            self._jobs.submit(lambda is_latest: self._send(location, is_latest))
        return self

    def _receive(self, message: dict[str, Any]) -> None:
        """Handle a message of the page: it needs a location, now or probably soon."""
        try:
            location = Location.from_json(message["place"]) if "place" in message else self._requested
        except AtlasError as error:
            return self._send_error(error)
        if message.get("want") == "ahead":
            return self._prefetch_jobs.submit(lambda is_latest: self._prefetch(location, is_latest))
        self._requested = location
        return self._jobs.submit(lambda is_latest: self._send(location, is_latest))

    def _send(self, location: Location, is_latest: IsLatest) -> None:
        """Draw a location and send it to the page, unless another has been requested since."""
        self.widget.send({"is": "drawing"})  # so that the page does not report a busy kernel
        try:
            observation = self._observe(location)
            jpeg = picture_of(observation).jpeg()
            described = describe(self.atlas, location, observation, self.marks)
            message = {**described, "is": "picture", "note": _unreadable_note(jpeg)}
        except Exception as error:  # a thread has no caller: the page shows the error
            return self._send_error(error) if is_latest() else None
        if is_latest():
            self.place = location
            self.widget.send(message, [jpeg])
        return None

    def _prefetch(self, location: Location, is_latest: IsLatest) -> None:
        """Draw a location into the cache while nothing else is drawn; errors are ignored."""
        self._jobs.wait()
        try:
            if is_latest():
                picture_of(self._observe(location)).jpeg()
        except (AtlasError, OSError):
            return  # the page shows the error if the location is requested

    def _send_error(self, error: Exception) -> None:
        self._requested = self.place
        self.widget.send({"is": "trouble", "words": plain_text(f"This cannot be shown: {reason(error)}", 600)})

    def _repr_html_(self) -> Html:
        """Return the static picture: the current image, and a timeline of the video."""
        return card(
            guarded("The image", lambda: self._static_image(self._observe(self.place))),
            guarded("The timeline", self._timeline),
        )

    def _static_image(self, observation: Observation) -> Html:
        described = describe(self.atlas, self.place, observation, self.marks)
        marks = _marks_text(described["cells"])
        return card(
            jpeg_image(picture_of(observation).jpeg, described["words"], MAX_WIDTH_PX),
            paragraph(untrusted(self.atlas.video.name), f" · {described['words']} ", marks),
        )

    def _timeline(self) -> str:
        span = (self.view.grid.start_s, self.view.grid.end_s)
        lanes = [Lane("shown", outlined=[span])]
        moments = [(item.timestamp_s, item.label) for item in self.marks.evidence]
        if moments:
            lanes.append(Lane("evidence", moments=moments, colour=FOUND))
        if self.marks.dead_zones.intervals:
            lanes.append(Lane("dead zones", self.marks.dead_zones.intervals, colour=DEAD))
        return timeline_image(lanes, self.atlas.video.duration_s, f"Shown: {span_text(span)}.")

    def _ipython_display_(self) -> None:
        bridge.show(self._repr_html_(), lambda: self.widget, repr(self))

    def __repr__(self) -> str:
        return f"GridExplorer({self.atlas.video!r})"


def _marks_text(cells: list[dict[str, Any]]) -> str:
    """Return sentences that name the cells with evidence and the dead cells."""
    found = [f"{', '.join(cell['found'])} in cell {index}" for index, cell in enumerate(cells) if cell["found"]]
    dead = [index for index, cell in enumerate(cells) if cell["dead"] == 1]
    sentences = [f"Evidence: {'; '.join(found)}."] if found else []
    return " ".join([*sentences, f"Dead cells: {listed(dead)}." if dead else ""])


def _unreadable_note(jpeg: bytes) -> str:
    """Return a sentence that names the cells that could not be decoded; empty if all could."""
    cells = note_in(Image.open(io.BytesIO(jpeg))).get("unreadable")
    if not isinstance(cells, list) or not cells:
        return ""
    verb = "is" if len(cells) == 1 else "are"
    return f"{counted(len(cells), 'cell')} cannot be decoded and {verb} hatched: {listed(cells)}."
