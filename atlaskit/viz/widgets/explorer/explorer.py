"""`GridExplorer`: the widget in which cells open into finer grids, down to single frames.

One thread draws what is requested. A newer click replaces an older one whose image is not ready.
While this thread is idle, a second one draws the grid under the pointer or the focus, which is
likely to be opened next. Work that takes longer and is not navigation, such as a clip, a PNG or the
lanes of the ruler, is done by further threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from atlaskit import limits
from atlaskit.caching.cache import Cache
from atlaskit.caching.files import read_whole
from atlaskit.environment.grid import clock
from atlaskit.environment.image import WIDEST_PX, LazyImage, to_jpeg
from atlaskit.environment.question import Span
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Fit
from atlaskit.errors import AtlasError, FrameError, InputError, reason
from atlaskit.models.embedding import Embedder
from atlaskit.models.protocol import Model
from atlaskit.runs.exporting.clips import FORMS, has_sound, make_clip
from atlaskit.runs.exporting.passages import Passage
from atlaskit.runs.exports import export
from atlaskit.runs.narrate import MAX_LISTED, spans_text
from atlaskit.runs.result import Result
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.subtitles.text import checked_time
from atlaskit.video.video import Sampling
from atlaskit.viz.html.markup import (
    MAX_WIDTH_PX,
    Html,
    card,
    guarded,
    paragraph,
    plain_text,
    untrusted,
)
from atlaskit.viz.html.reprs import lazy_image
from atlaskit.viz.widgets.bridge import Debouncer, IsLatest, PageOwner
from atlaskit.viz.widgets.explorer.asking import AskPanel, checked_span, is_time
from atlaskit.viz.widgets.explorer.describe import (
    Marks,
    describe,
    file_name,
    lane,
    png_of,
    unreadable_note,
)
from atlaskit.viz.widgets.explorer.navigation import (
    STEP_PX,
    Location,
    Shown,
    clamped,
    frame_at,
    grid_near,
    make_atlas,
    moved,
    show,
    with_cells,
)
from atlaskit.viz.widgets.explorer.notes import Note, NotesPanel
from atlaskit.viz.widgets.explorer.searching import SearchPanel

MAX_CHARS = 600
"""The most characters of a message that says what failed."""
GLANCE_PX = 240
"""Longer side of a *glance*, the small picture at the time under the pointer on the ruler."""
PEEK_PX = 1280
"""The most pixels on the longer side of a *peek*, the picture at the time under the pointer in a
cell."""
GLANCE_QUALITY = 75
"""JPEG quality of both pictures."""


class GridExplorer(PageOwner):
    """A video's grid to explore in a notebook: `GridExplorer(video)` as the last line of a cell.

    Click a cell to open it, or move with the arrow keys and press Enter, down to single frames.
    Backspace, Escape and the breadcrumbs lead back. F shows a cell's frame at full resolution, from
    which ← and → move by a frame, and with Shift by a second; B and A show the time just before and
    just after a cell; T goes to a typed time; P plays a clip. The ruler can be clicked and dragged.
    The key ? lists all keys. From Python, `open`, `back`, `frame` and `show_time` move what the
    notebook shows.

    The interactive widget needs a running kernel; elsewhere, as on GitHub, the notebook shows a
    static picture.

    Attributes:
        atlas: The environment that the grids come from.
        marks: The evidence and dead zones that are marked on cells and on the ruler, and the
            coverage, which is marked on the ruler. After setting it, `refresh` redraws the page.
        place: What is shown: `path` (the cells that lead to the grid), `look` ("grid", "frame",
            "before" or "after"), `cell`, and `time_s` of a frame that was named by its time.
        vlm: The model that the page asks; None if there is none. The page can name another.
        command: For the shell command `atlaskit ask` that the page writes: the file, the options,
            and the words that name the model. None in a notebook, where the page writes a line of
            Python.
        results: The result that was given, if any, then those of the questions that were asked in
            the page, the newest last.

    Examples:
        >>> explorer = ak.widgets.GridExplorer(video, result=result)
        >>> explorer.open(5).back() is explorer
        True
    """

    page = "explorer"

    def __init__(
        self,
        video: AnyVideo,
        *,
        result: Result | None = None,
        vlm: Model | str | None = None,
        embedder: Embedder | None = None,
        k: int | None = None,
        cell: int | None = None,
        max_depth: int | Literal["auto"] | None = None,
        fit: Fit | None = None,
        sampling: Sampling | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Prepare an explorer; nothing is decoded yet.

        Args:
            video: The video, its file, or a list of files.
            result: A run whose evidence (M+) and dead zones (M−) are marked on the cells. Its `k`,
                `cell`, `fit`, `sampling` and `max_depth` are then the defaults, so that the cells
                show the frames that the model saw.
            vlm: The model that answers the questions asked in the page, as `ak.ask` takes it. The
                page can name another.
            embedder: Finds subtitle lines whose meaning is near that of a search text.
            k: Cells per side of a grid; 8 by default.
            cell: Longer side of a cell in pixels in images without a page, such as the static
                picture; 120 by default. In a page, cells are as sharp as the screen.
            max_depth: Depth of the finest grid, as in `Atlas`, where cells shorter than a second
                cannot be opened. By default cells open down to the single frames of the video.
            fit: How a frame is fitted into its cell, as in `Atlas`; "native" by default.
            sampling: Which frame represents a cell, as in `Atlas`. By default it is a keyframe, if
                the cell has one, because keyframes are many times faster to decode.
            cache: Where images are cached; by default the cache of the video.

        Raises:
            InputError: A setting is out of its range, or the result is of another video.
        """
        options = {"k": k, "cell": cell, "max_depth": max_depth, "fit": fit, "sampling": sampling}
        given = {name: value for name, value in options.items() if value is not None}
        opened = as_video(video, cache)
        self.atlas = make_atlas(opened, result, given, cache or opened.cache)
        if result is None:
            self.marks = Marks()
        else:
            self.marks = Marks(result.evidence, result.dead_zones, result.coverage)
        # Whether shots replace keyframes as soon as they are found.
        self._upgrades = sampling is None and result is None
        self.vlm = vlm
        self.results = [] if result is None else [result]
        self.command: tuple[str, list[str], str] | None = None
        self.place = Location()
        self._requested = self.place  # the location requested last, whose image may not be ready
        self._width_px = 0  # width of the page in device pixels; 0 until it tells it
        # One thread for each kind of work. Orders are clips and files.
        self._jobs = Debouncer("explorer")
        self._prefetch_jobs = Debouncer("explorer-ahead")
        self._order_jobs = Debouncer("explorer-orders")
        self._mark_jobs = Debouncer("explorer-marks")
        self._glance_jobs = Debouncer("explorer-glances")
        self._peek_jobs = Debouncer("explorer-peeks")
        self._shots_jobs = Debouncer("explorer-shots")
        self._notes = NotesPanel(self.atlas.video, self.atlas.cache, self.send)
        self._ask = AskPanel(self)
        self._panels = (SearchPanel(self.atlas, self.send, embedder), self._ask, self._notes)

    @property
    def view(self) -> View:
        """The grid that is shown, or the grid that the shown frame belongs to."""
        return show(self.atlas, self.place).observation.view

    @property
    def result(self) -> Result | None:
        """The newest of `results`; None if there is none."""
        return self.results[-1] if self.results else None

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes on parts of this video that were written in the page, in order of time."""
        return self._notes.notes

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The notes as passages: `ak.export(explorer.passages, path, videos=video)` writes them."""
        return self._notes.passages

    def export_notes(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the notes to a file for other programs.

        Args:
            path: The file. Its suffix decides the format.
            options: Options of `ak.export`: `form`, `recorded_at`, `clips`.

        Raises:
            InputError: There are no notes, or the file cannot be written.
        """
        export(self.passages, path, videos=self.atlas.video, **options)

    def open_notes(self, path: str | os.PathLike[str]) -> GridExplorer:
        """Add the passages of a file to the notes, from an export or from another program.

        Args:
            path: A file of any format that `ak.read_passages` reads.

        Raises:
            InputError: The file cannot be read, or holds nothing about a part of this video.
        """
        try:
            data = read_whole(os.fspath(path), limits.TEXT_FILE)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {reason(error)}.") from error
        self._notes.open(data, Path(path).name)
        if self.has_page:
            self._notes.receive({"panel": "notes", "want": "here"})
        return self

    @property
    def picture(self) -> LazyImage:
        """The image that is shown: a grid, one frame, or the frames before or after a cell."""
        return self._shown(self.place).picture

    def open(self, *cells: int) -> GridExplorer:
        """Open a cell of the grid, then a cell of the grid that it opens, and so on.

        Raises:
            IllegalAction: A grid has no such cell, or the cell is too short to open.
        """
        return self._go(Location((*self.place.path, *cells)))

    def back(self) -> GridExplorer:
        """Go from a frame to its grid, or from a grid to its parent."""
        return self._go(self.place.parent)

    def frame(self, cell: int) -> GridExplorer:
        """Show the frame of a cell at full resolution.

        Raises:
            IllegalAction: The grid has no such cell, or its frame cannot be decoded.
        """
        return self._go(Location(self.place.path, "frame", cell))

    def show_time(self, time_s: float) -> GridExplorer:
        """Show the frame at a time in seconds; `back` then leads to the finest grid around it.

        Raises:
            InputError: The time is outside the video.
            IllegalAction: The frame cannot be decoded.
        """
        return self._go(frame_at(self.atlas, time_s))

    def refresh(self) -> None:
        """Draw the marks in the page again, after `marks` was set. The image stays."""
        if self.has_page:
            self._mark_jobs.submit(self._send_marks)

    def _shown(self, location: Location) -> Shown:
        """Return what is shown at a location, for the page if there is one."""
        return show(self.atlas, location, self._width_px)

    def _go(self, location: Location) -> GridExplorer:
        """Show a location; raise IllegalAction or InputError if there is nothing to show."""
        self._shown(location).check_readable()
        self.place = location
        self._requested = location
        self._submit(location)
        return self

    def _submit(self, location: Location) -> None:
        if self.has_page:
            self._jobs.submit(lambda is_latest: self._send_picture(location, is_latest))

    def leave(self) -> bool:
        """Note that the page was closed; return whether its question is still being answered."""
        return self._ask.leave()

    # --- from the page

    def _receive(self, message: dict[str, Any]) -> None:
        """Handle a message of the page. Work that takes time is left to a thread."""
        width_px = message.get("px")
        if type(width_px) is int:
            self._width_px = max(0, min(width_px, WIDEST_PX))
        if any(panel.receive(message) for panel in self._panels):
            return
        try:
            self._handle(message)
        except (AtlasError, ArithmeticError) as error:
            self._send_error(error)

    def _handle(self, message: dict[str, Any]) -> None:
        """Handle a message that is for no panel; raise AtlasError if it is invalid."""
        location = self._location_in(message)
        time_s = message.get("time_s")
        form = message.get("form", "webm")
        match message.get("want"):
            case "speech":
                self._send_speech()
            case "ahead":
                self._prefetch_jobs.submit(lambda is_latest: self._prefetch(location, is_latest))
            case "clip" if form in FORMS:
                span_s = message.get("span_s")
                if span_s is not None:
                    span_s = checked_span(span_s, self.atlas.video.duration_s)
                self._submit_order(
                    "The clip cannot be made",
                    partial(self._send_clip, location, span_s, form),
                    is_kept=form != "webm",  # which is played, not stored
                )
            case "shots" if self._upgrades:
                self._shots_jobs.submit(self._upgrade)
            case "shots":
                return  # they are shown already, or are not wanted
            case "glance" if isinstance(time_s, int | float):
                self.atlas.video.check_time(time_s)
                self._glance_jobs.submit(partial(self._send_glance, time_s, GLANCE_PX, "ruler"))
            case "peek" if isinstance(time_s, int | float):
                self.atlas.video.check_time(time_s)
                side_px = message.get("side")
                if type(side_px) is not int:
                    side_px = GLANCE_PX
                side_px = min(max(side_px, STEP_PX), PEEK_PX)
                self._peek_jobs.submit(partial(self._send_glance, time_s, side_px, "cell"))
            case "png":
                self._submit_order(
                    "The picture cannot be saved", lambda _: self._send_png(location)
                )
            case _:
                self._requested = location
                self._jobs.submit(lambda is_latest: self._send_picture(location, is_latest))

    def _location_in(self, message: dict[str, Any]) -> Location:
        """Return the location that a message of the page is about."""
        match message:
            case {"want": "look" | "here" | "address", **cells} if "k" in cells or "pick" in cells:
                before = self._shown(self._requested)
                is_same = self.atlas.k == cells.get("k", self.atlas.k)
                self.atlas = with_cells(self.atlas, cells.get("k"), cells.get("pick"))
                self._upgrades = self._upgrades and "pick" not in cells
                if message["want"] == "address":
                    return self._location_at(cells)
                if is_same:  # the grids keep their places, and only their frames change
                    return self._requested
                start_s, end_s = before.span_s
                middle_s = before.time_s
                if middle_s is None:
                    middle_s = (start_s + end_s) / 2
                return grid_near(self.atlas, middle_s, end_s - start_s)
            case {"want": "address"}:
                return self._location_at(message)
            case {"want": "seen", "time_s": int() | float() as time_s} if (
                self.marks.coverage is not None
            ):
                for start_s, end_s, step_s in self.marks.coverage.seen.parts:
                    if start_s <= time_s < end_s:
                        # A grid with one cell for each step, as the run saw this part.
                        return grid_near(self.atlas, time_s, step_s * self.atlas.root.size)
                return self._requested
            case {"want": "time", "text": str(text)}:
                return frame_at(self.atlas, checked_time(text))
            case {"want": "time" | "clip" | "png", "time_s": int() | float() as time_s}:
                return frame_at(self.atlas, float(time_s))
            case {"want": "step"} if self._requested.look != "frame":
                return self._requested  # the key was pressed before the page had left the frame
            case {"want": "step", "frames": int(frames)}:
                return moved(self.atlas, self._requested, frames=frames)
            case {"want": "step", "seconds": int() | float() as seconds}:
                return moved(self.atlas, self._requested, seconds=float(seconds))
            case {"place": place}:
                return Location.from_json(place)
        return self._requested

    def _location_at(self, address: dict[str, Any]) -> Location:
        """Return the location that an address of the page names: a time, a depth and a look."""
        time_s = address.get("t")
        depth = address.get("depth")
        look = address.get("look", "grid")
        if not is_time(time_s) or type(depth) is not int:
            return self._requested
        place = frame_at(self.atlas, clamped(float(time_s), self.atlas.video), max(0, depth))
        if look == "frame":
            return place
        if look in ("before", "after"):
            return replace(place, look=look, time_s=None)
        return replace(place, look=look, cell=None, time_s=None)

    # --- to the page. These run in threads, so their errors are shown by the page.

    def _upgrade(self, is_latest: IsLatest) -> None:
        """Find the shots of the video, then show them in place of keyframes."""
        try:
            self.atlas.video.moments(
                [(0.0, self.atlas.video.duration_s)], "shots", self.atlas.cache
            )
        except (AtlasError, OSError):
            return  # keyframes stay
        if self._upgrades and is_latest():
            self._upgrades = False
            self.atlas = with_cells(self.atlas, None, "shots")
            location = self._requested
            self._jobs.submit(lambda is_latest: self._send_picture(location, is_latest))

    def _send_picture(self, location: Location, is_latest: IsLatest) -> None:
        """Draw a location and send it to the page, unless another has been requested since."""
        self.send({"is": "drawing"})  # so that the page does not report a busy kernel
        try:
            marks = self.marks
            width_px = self._width_px
            shown = show(self.atlas, location, width_px)
            shown.check_readable()
            jpeg = shown.picture.jpeg()
            message = {
                **describe(self.atlas, shown, marks),
                "is": "picture",
                "note": unreadable_note(jpeg),
            }
        except Exception as error:
            if is_latest():
                return self._send_error(error)
            return None
        if is_latest():
            self.place = location
            self.send({**message, "px": width_px}, [jpeg])
            if self.marks is not marks:  # they were set while the message was made
                self.refresh()
        return None

    def _send_marks(self, is_latest: IsLatest) -> None:
        """Send the marks for the shown location, unless they have been set again since."""
        try:
            message = {**describe(self.atlas, self._shown(self.place), self.marks), "is": "marks"}
        except Exception as error:
            return self._send_error(error)
        if is_latest():
            self.send(message)
        return None

    def _prefetch(self, location: Location, is_latest: IsLatest) -> None:
        """Draw a location into the cache while nothing else is drawn; errors are ignored."""
        self._jobs.wait()
        try:
            if is_latest():
                self._shown(location).picture.jpeg()
        except (AtlasError, OSError):
            return  # the page shows the error if the location is requested

    def _send_speech(self) -> None:
        """Send the parts of the video that have subtitle lines, if there are any."""
        video = self.atlas.video
        lines = video.subtitles.lines
        if lines:
            spans_s = [(line.start_s, line.end_s) for line in lines]
            spans = lane(spans_s, video.duration_s)
            self.send(
                {"is": "speech", "spans": spans, "words": f"Speech: {len(lines):,} subtitle lines."}
            )

    def _send_glance(self, time_s: float, side_px: int, place: str, is_latest: IsLatest) -> None:
        """Send the frame at the time under the pointer, no larger than the video's own size."""
        video = self.atlas.video
        share = min(1.0, side_px / max(video.size))
        size = (max(1, round(share * video.size[0])), max(1, round(share * video.size[1])))
        try:
            (frame,) = video.try_frames([time_s], size)
        except (AtlasError, OSError):
            return  # the page shows the error if this time is opened
        if is_latest() and not isinstance(frame, FrameError):
            self.send(
                {"is": "glance", "time_s": time_s, "place": place},
                [to_jpeg(Image.fromarray(frame), GLANCE_QUALITY)],
            )

    def _submit_order(
        self, what: str, send: Callable[[IsLatest], None], is_kept: bool = True
    ) -> None:
        """Call `send`, which sends a clip or a file, in a thread; report a failure as a notice.

        An order is carried out even if a newer one waits, unless `is_kept` is false.
        """

        def job(is_latest: IsLatest) -> None:
            self.send({"is": "drawing"})
            try:
                send(is_latest)
            except Exception as error:
                self.send({"is": "notice", "words": _words(what, error)})

        self._order_jobs.submit(job, is_kept=is_kept)

    def _send_clip(
        self, location: Location, span_s: Span | None, form: str, is_latest: IsLatest
    ) -> None:
        """Send a clip of an interval, or else of a location: to be played, or as a file."""
        shown = self._shown(location)
        atlas = self.atlas
        middle_s = None
        if span_s is None:
            span_s = shown.span_s
            middle_s = shown.time_s
        if middle_s is None:
            middle_s = sum(span_s) / 2
        clip, words = make_clip(atlas.video, span_s, middle_s, atlas.cache, form)
        film = clip.film()
        if not has_sound(film):
            words += ", without sound"
        if form != "webm":
            name = file_name(atlas.video, (clip.start_s, clip.end_s), form)
            self.send(
                {"is": "file", "type": f"video/{form}", "name": name, "words": f"{words}."}, [film]
            )
        elif is_latest():
            self.send({"is": "clip", "words": f"Plays {words}."}, [film])

    def _send_png(self, location: Location) -> None:
        """Send a PNG of what is shown at a location."""
        png, name = png_of(self.atlas, self._shown(location))
        self.send({"is": "file", "type": "image/png", "name": name}, [png])

    def _send_error(self, error: Exception) -> None:
        """Send an error to the page, which goes on showing its last picture."""
        self._requested = self.place
        self.send({"is": "trouble", "words": _words("This cannot be shown", error)})

    # --- in a notebook

    def _repr_html_(self) -> Html:
        """Return the static picture: the current image, and the marks in words."""
        zones = self.marks.dead_zones.intervals
        items = islice(self.marks.evidence, MAX_LISTED)
        found = ", ".join(f"{item.label} at {clock(item.timestamp_s)}" for item in items)
        dead = spans_text(zones) if zones else "none"
        words = f"Evidence: {found or 'none'}. Dead zones: {dead}."
        picture = guarded(
            "The image", lambda: lazy_image(show(self.atlas, self.place).picture, MAX_WIDTH_PX)
        )
        return card(picture, paragraph(untrusted(words)))

    def __repr__(self) -> str:
        return f"GridExplorer({self.atlas.video!r})"


def _words(what: str, error: Exception) -> str:
    """Return a sentence for the page that says what failed, and why."""
    return plain_text(f"{what}: {reason(error)}", MAX_CHARS)
