"""`Pictures`: the images of a run, drawn again from the video or read from the cache by key.

Nothing is drawn before it is requested. With the video, an image is the run's own or none at all
(`replay` checks it). Without, it is what the cache holds under the key that the trace names; a
trace from elsewhere can name any image of that cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO

from PIL import Image

from atlaskit.caching.keys import IMAGES, kind_of
from atlaskit.environment.image import LazyImage
from atlaskit.environment.notation import clock
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.errors import AtlasError, InputError, reason
from atlaskit.runs import replay
from atlaskit.runs.events import EventData, SheetData, ShownData, StepData, ViewData
from atlaskit.viz.html.markup import plain_text, shrink_jpeg
from atlaskit.viz.html.phrases import counted, spans_text
from atlaskit.viz.html.reprs.images import view_caption
from atlaskit.viz.walk.source import RunSource, data_or_none

Size = tuple[int, int]
"""(width, height) in pixels."""


@dataclass(frozen=True)
class DrawnImage:
    """An image that is drawn on request."""

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
    """All images of a run, each once."""

    images: list[DrawnImage] = field(default_factory=list)
    by_event: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    """For the index of each event, its images: the index in `images`, and a description."""
    problem: str = ""
    """Why some images are missing, in a sentence; empty if none is."""
    _indices: dict[str, int] = field(default_factory=dict)

    def add(self, event: int, key: str, drawn: DrawnImage, description: str) -> None:
        """Add an image to an event, given by its index; images of one cache key are one."""
        if key not in self._indices:
            self._indices[key] = len(self.images)
            self.images.append(drawn)
        self.by_event.setdefault(event, []).append((self._indices[key], plain_text(description, 1_000)))


def pictures(run: RunSource) -> Pictures:
    """Return the images that a run showed; none is drawn yet."""
    found = Pictures()
    if run.video is None:
        for index, data in enumerate(map(data_or_none, run.trace)):
            for key, description in _images_named_by(data):
                found.add(index, key, DrawnImage(None, _cache_reader(key, run)), description)
        return found
    try:
        for shown in replay.pictures(run.trace, run.video, run.cache):
            picture = shown.picture
            found.add(shown.place, picture.key, DrawnImage(picture.size, picture.jpeg), _description(picture))
    except ValueError as error:  # a baseline, a trace of other code, or a key with half a surrogate pair
        found.problem = reason(error)
    return found


def _cache_reader(key: str, run: RunSource) -> Callable[[], bytes]:
    """Return the function that reads an image from the cache."""

    def read() -> bytes:
        jpeg = run.cache.get(key) if kind_of(key) in IMAGES else None
        if jpeg is None:
            raise InputError("The cache does not hold this image; pass `video` to draw it again.")
        with Image.open(BytesIO(jpeg), formats=["JPEG"]):
            return jpeg

    return read


def _images_named_by(data: EventData | None) -> Iterator[tuple[str, str]]:
    """Yield the key and the description of each image that an event names."""
    view, shown, sheet = (getattr(data, name, None) for name in ("view", "shown", "sheet"))
    if isinstance(view, ViewData):
        yield view.key, _view_description(data, view)
    if isinstance(shown, ShownData) and isinstance(data, StepData):
        action = data.action
        subjects = {"Zoom": "The frame", "Investigate": f"The time {action.direction} the frame"}
        yield shown.key, f"{subjects.get(action.name, 'The requested image')} of cell {action.cell}."
    if isinstance(sheet, SheetData):
        yield sheet.key, sheet_description(sheet.labels)


def _view_description(data: EventData | None, view: ViewData) -> str:
    span = [data.interval_s] if isinstance(data, StepData) else []
    where = f" of {spans_text(span)}" if span else "" if view.path else " of the root grid"
    dead = f"; {counted(len(view.dead), 'dead cell')} (black)" if view.dead else ""
    return f"A contact sheet{where}, depth {len(view.path)}{dead}."


def _description(picture: LazyImage) -> str:
    match picture:
        case View():
            return view_caption(picture)
        case Still():
            return f"The frame at {clock(picture.time_s)}, at full resolution."
        case Sheet():
            return sheet_description(picture.scratchpad.labels)
    return "An image that an agent saw."


def sheet_description(labels: Sequence[str]) -> str:
    """Return a sentence that names the evidence frames of a sheet."""
    return f"Evidence frames: {', '.join(labels) or 'none'}."
