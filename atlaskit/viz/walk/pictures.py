"""`Pictures`: the images of a run. `Marker`: the cells that are outlined on them.

No image is drawn before it is requested. With the video, images are drawn again, and shown only if
they are those of the run (`replay` checks this). Without the video, an image is what the cache
holds under the key that the trace names; a trace from elsewhere can name any image of that cache.

The page draws outlines over an image, so the image itself stays the one that the agent saw, in the
cache and in an exported page. The outlined cells are those that an action names, those that the
Master scores or queues, frames that an answer cites, and, where the answer is known, those that
hold it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice

from PIL import Image

from atlaskit.caching.keys import is_image
from atlaskit.environment.grid import Grid
from atlaskit.environment.image import LazyImage
from atlaskit.environment.render import squared
from atlaskit.errors import AtlasError, InputError, reason
from atlaskit.runs import replay
from atlaskit.runs.events import (
    Cite,
    Decision,
    Event,
    Look,
    Plan,
    Probe,
    Review,
    SheetRecord,
    ShownRecord,
    Step,
    Stop,
    ViewRecord,
    Vote,
)
from atlaskit.runs.narrate import cited_labels
from atlaskit.runs.result import Result
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text, shrink_jpeg
from atlaskit.viz.html.reprs import grid_description
from atlaskit.viz.walk.places import FindingSteps, cells_over, grid_of_view, moments_of
from atlaskit.viz.walk.source import MAX_K, RunSource

# Why a cell is outlined:
ACTED = "acted"
"""An agent acted on it."""
TRUE = "true"
"""It holds the answer."""
CITED = "cited"
"""The answer cites it."""
ERASED = "erased"
"""It is evidence that was erased."""
MAX_MARKS = 256
"""The most outlines in one image."""

Mark = tuple[float, float, float, float, str, str]
"""An outline: left, top, width and height as shares of the image, a text for its corner, and why
the cell is outlined."""

_WORDS = {"Expand": "opens", "Zoom": "looks", "MarkPromising": "promising"}
"""The texts of the cells that an action names."""


class Marker:
    """Finds the outlines for the images of one run."""

    def __init__(self, run: RunSource) -> None:
        self._run = run
        self._moments = moments_of(run)
        self._findings = FindingSteps(run.trace)

    def marks(self, event: Event, what: str, view: ViewRecord | None = None) -> list[Mark]:
        """Return the outlines for one image of an event.

        Args:
            event: The event.
            what: The field of the event that records the image: view, shown or sheet.
            view: The recorded view, if the image is one.
        """
        if view is not None:
            return list(islice(self._of_view(event, view), MAX_MARKS))
        sheet = getattr(event, "sheet", None)
        if what == "sheet" and isinstance(sheet, SheetRecord):
            return list(self._of_sheet(event, sheet))[:MAX_MARKS]
        return []

    def _of_view(self, event: Event, view: ViewRecord) -> Iterator[Mark]:
        """Yield the outlines on a view: the cells that hold the answer, then those acted on."""
        k = view.k or self._run.k  # a view has a k of its own only over any stretch
        if k is None or k > MAX_K:
            return
        grid = grid_of_view(view, self._run)
        true_cells = set[int]()
        if grid is not None:
            for moment in self._moments:
                true_cells.update(cells_over(moment, grid))
        for cell in sorted(true_cells):
            yield _box(cell, (k, k), "", TRUE)
        for cell, text in self._acted_on(event, grid):
            if cell < k * k:  # a trace may name any cell
                yield _box(cell, (k, k), text, ACTED)

    def _acted_on(self, event: Event, grid: Grid | None) -> Iterator[tuple[int, str]]:
        """Yield each cell of a grid that an event is about, with the text for its outline."""
        match event:
            case Step(action=action):
                cells = action.all_cells
                labels = [f"[{item.label}]" for item in event.found]
                word = _WORDS.get(action.name, action.direction or "")
                texts = [word] * len(cells)
                if len(labels) == len(cells):  # each of the cells became evidence
                    texts = labels
                yield from zip(cells, texts, strict=True)
            case Probe(scores=scores):
                for cell, score in sorted(scores.items(), key=lambda scored: -scored[1]):
                    yield cell, f"{score:.2g}"
            case Review(queued=paths):
                yield from dict.fromkeys((path[0], "next") for path in paths if path)
            case Cite(found=found) | Plan(found=found) | Look(found=found):
                for item in found:
                    if grid is not None and grid.start_s <= item.timestamp_s < grid.end_s:
                        text = f"[{item.label}]" if item.label else "kept"
                        yield grid.cell_at(item.timestamp_s).index, text

    def _of_sheet(self, event: Event, sheet: SheetRecord) -> Iterator[Mark]:
        """Yield the outlines on a sheet of evidence frames."""
        outlined = list[tuple[str, str, str]]()  # label, text, reason
        for label in sheet.labels:
            if self._is_true(self._findings.time_of(label)):
                outlined.append((label, "", TRUE))
        if isinstance(event, Review):
            for label in event.erased:
                outlined.append((label, "erased", ERASED))
        if isinstance(event, Decision | Vote):
            for label in dict.fromkeys(cited_labels(event.answer)):
                outlined.append((label, "cited", CITED))
        shape = squared(len(sheet.labels))
        for label, text, why in outlined:
            if label in sheet.labels:
                yield _box(sheet.labels.index(label), shape, text, why)

    def _is_true(self, time_s: float | None) -> bool:
        """Return whether a time lies in an interval that holds the answer."""
        if time_s is None:
            return False
        return any(start_s <= time_s < end_s for start_s, end_s in self._moments)


def _box(place: int, shape: tuple[int, int], text: str, why: str) -> Mark:
    """Return the outline of a cell of an image; `shape` is its numbers of columns and rows."""
    columns, rows = shape
    row, column = divmod(place, columns)
    return column / columns, row / rows, 1 / columns, 1 / rows, plain_text(text, 40), why


Size = tuple[int, int]
"""(width, height) in pixels."""


@dataclass(frozen=True)
class DrawnImage:
    """An image that is drawn, or read from the cache, on request."""

    size: Size | None
    """None where the size is not known before the image is drawn."""
    draw: Callable[[], bytes]
    """Returns the image as a JPEG."""

    def jpeg(self, max_width_px: int, max_bytes: int) -> bytes:
        """Return the image within both limits; raise AtlasError if it cannot be drawn or read."""
        try:
            return shrink_jpeg(self.draw(), max_width_px, max_bytes)
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise AtlasError(f"{reason(error).removesuffix('.')}.") from error


@dataclass
class Pictures:
    """All images of a run. An image that several events show is held once."""

    images: list[DrawnImage] = field(default_factory=list)
    by_event: defaultdict[int, list[tuple[int, str, Size | None, list[Mark]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """The images of each event, by its index: index in `images`, description, size, outlines."""
    map: int | None = None
    """Index of the image of the root grid without dead cells; None if it is not known."""
    sheet: int | None = None
    """Index of the image of the evidence at the end; None if there is none."""
    problem: str = ""
    """A sentence that says why some images are missing; empty if none is missing."""
    _indices: dict[str, int] = field(default_factory=dict)

    def add(self, key: str, drawn: DrawnImage) -> int:
        """Return the index of an image, which is added unless its cache key is known."""
        if key not in self._indices:
            self._indices[key] = len(self.images)
            self.images.append(drawn)
        return self._indices[key]


def pictures(run: RunSource) -> Pictures:
    """Return the images that a run showed; none is drawn yet."""
    found = Pictures()
    marker = Marker(run)
    labels = run.evidence.labels
    drawn = dict[tuple[int, str, str], LazyImage]()
    if run.video is not None:
        drawn = _drawn_again(found, run, run.video)
    for place, event in enumerate(run.trace):
        for what, view, key, description in _images_named_by(event, run):
            picture = drawn.get((place, what, key))
            if picture is None and run.video is not None:
                continue  # it cannot be drawn again, and the cache may hold another run's image
            if picture is None:
                shown = DrawnImage(None, _cache_reader(key, run))
            else:
                shown = DrawnImage(picture.size, picture.jpeg)
            image = found.add(key, shown)
            text = plain_text(description, 1_000)
            marks = marker.marks(event, what, view)
            found.by_event[place].append((image, text, shown.size, marks))
            is_root = view is not None and not (view.path or view.dead or view.stretch_s)
            if is_root and run.video is None:
                found.map = image
            sheet = getattr(event, "sheet", None)
            if (
                labels
                and what == "sheet"
                and isinstance(sheet, SheetRecord)
                and tuple(sheet.labels) == labels
            ):
                found.sheet = image
    # A run that has ended with evidence has a sheet, even if no event showed it.
    has_sheet = bool(run.trace.of(Stop)) and bool(run.evidence)
    if found.sheet is None and has_sheet and isinstance(run.record, Result):
        final = run.record.sheet
        found.sheet = found.add(final.key, DrawnImage(final.size, final.jpeg))
    return found


def _drawn_again(
    found: Pictures, run: RunSource, video: Video
) -> dict[tuple[int, str, str], LazyImage]:
    """Add the map to `found`; return the images of the run by event, field and key.

    The images end before the first one that cannot be drawn. `found.problem` then says why.
    """
    drawn = dict[tuple[int, str, str], LazyImage]()
    try:
        found.map = _root(found, run, video)
        for shown in replay.pictures(run.trace, video, run.cache):
            drawn[shown.place, shown.what, shown.picture.key] = shown.picture
    except ValueError as error:
        # The run is a baseline's, its trace is of other code, or a key has half a surrogate pair.
        found.problem = reason(error)
    return drawn


def _root(found: Pictures, run: RunSource, video: Video) -> int | None:
    """Add the root grid without dead cells; return its index, or None for a run without grids."""
    if run.k is None:
        return None
    atlas = replay.atlas_of(run.trace, video, run.cache)
    view = atlas.view(atlas.start())
    return found.add(view.key, DrawnImage(view.size, view.jpeg))


def _cache_reader(key: str, run: RunSource) -> Callable[[], bytes]:
    """Return a function that reads an image from the cache."""

    def read() -> bytes:
        jpeg = run.cache.get(key) if is_image(key) else None
        if jpeg is None:
            raise InputError("The cache does not hold this image; pass `video` to draw it again.")
        with Image.open(BytesIO(jpeg), formats=["JPEG"]):
            return jpeg

    return read


def _images_named_by(
    event: Event, run: RunSource
) -> Iterator[tuple[str, ViewRecord | None, str, str]]:
    """Yield each image that an event names: its field, its view, its key and a description."""
    shown = getattr(event, "shown", None)
    sheet = getattr(event, "sheet", None)
    for view in replay.views_of(event):
        grid = grid_of_view(view, run)
        about = ""
        if grid is not None:
            about = f": {grid_description(grid, view.dead)}"
        yield "view", view, view.key, f"A contact sheet{about}."
    if isinstance(shown, ShownRecord) and isinstance(event, Step):
        action = event.action
        subjects = {"Zoom": "The frame", "Investigate": f"The time {action.direction} the frame"}
        subject = subjects.get(action.name, "The requested image")
        yield "shown", None, shown.key, f"{subject} of cell {action.cell}."
    if isinstance(sheet, SheetRecord):
        yield "sheet", None, sheet.key, f"Evidence frames: {', '.join(sheet.labels) or 'none'}."
