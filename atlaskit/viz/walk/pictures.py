"""The pictures of a run, each once: drawn again from its video, or looked up where the video is not at hand.

Nothing is drawn before it is asked for. By a video, a picture is the run's own or none (`replay`). Without one, it is
what the cache holds under the key that the trace names: whoever made the trace can name any picture of that cache.
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
from atlaskit.viz.html import reprs
from atlaskit.viz.html.markup import bounded, told
from atlaskit.viz.walk.source import RunSource, form_in

Size = tuple[int, int]
"""(width, height) in pixels."""


@dataclass(frozen=True)
class DrawnImage:
    """One picture: its size, None where that is not known before it is drawn, and what makes it, as a JPEG."""

    size: Size | None
    draw: Callable[[], bytes]

    def jpeg(self, widest_px: int, most_bytes: int) -> bytes:
        """Return it, made smaller where it is large; raise AtlasError where it cannot be had."""
        try:
            return bounded(self.draw(), widest_px, most_bytes)
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise AtlasError(f"{reason(error).removesuffix('.')}.") from error


@dataclass
class Pictures:
    """All pictures of a run; `at` says of each event which it showed, by their places in `sights`, and in words."""

    sights: list[DrawnImage] = field(default_factory=list)
    at: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    trouble: str = ""
    """Why some are missing, in a sentence; empty if none is."""
    _places: dict[str, int] = field(default_factory=dict)

    def _add(self, place: int, key: str, sight: DrawnImage, words: str) -> None:
        if key not in self._places:
            self._places[key] = len(self.sights)
            self.sights.append(sight)
        self.at.setdefault(place, []).append((self._places[key], told(words, 1_000)))


def pictures(run: RunSource) -> Pictures:
    """Return the pictures that a run showed. None of them is drawn yet."""
    found = Pictures()
    if run.video is None:
        for place, form in enumerate(map(form_in, run.trace)):
            for key, words in _named(form, run):
                found._add(place, key, DrawnImage(None, _kept(key, run)), words)
        return found
    try:
        for shown in replay.pictures(run.trace, run.video, run.cache):
            picture = shown.picture
            found._add(shown.place, picture.key, DrawnImage(picture.size, picture.jpeg), _told_of(picture))
    except ValueError as error:  # a baseline's pictures are not noted, other code draws others, half a letter is no key
        found.trouble = reason(error)
    return found


def _kept(key: str, run: RunSource) -> Callable[[], bytes]:
    """Return what looks up a picture in the cache."""

    def look() -> bytes:
        jpeg = run.cache.get(key) if kind_of(key) in IMAGES else None
        if jpeg is None:
            raise InputError("The cache does not hold it (any more); it can be drawn again where `video` is given.")
        with Image.open(BytesIO(jpeg), formats=["JPEG"]):
            return jpeg

    return look


def _named(form: EventData | None, run: RunSource) -> Iterator[tuple[str, str]]:
    """Yield the keys of the pictures that an event names, and what they are of."""
    view, shown, sheet = (getattr(form, name, None) for name in ("view", "shown", "sheet"))
    if isinstance(view, ViewData):
        yield view.key, _grid_told(form, view)
    if isinstance(shown, ShownData) and isinstance(form, StepData):
        which = {"Zoom": "The frame of cell", "Investigate": f"What is {form.action.direction} cell"}
        yield shown.key, f"{which.get(form.action.name, 'What was asked to see of cell')} {form.action.cell}."
    if isinstance(sheet, SheetData):
        yield sheet.key, sheet_told(sheet.labels)


def _grid_told(form: EventData | None, seen: ViewData) -> str:
    span = [form.interval_s] if isinstance(form, StepData) else []
    where = f"of {reprs.spans_told(span)}" if span else "of the whole video" if not seen.path else ""
    dead = f"; ruled out, and black: {len(seen.dead):,} cells" if seen.dead else ""
    return f"A contact sheet {where}, depth {len(seen.path)}{dead}."


def _told_of(picture: LazyImage) -> str:
    match picture:
        case View():
            return reprs.grid_told(picture)
        case Still():
            return f"The frame at {clock(picture.time_s)}, in full."
        case Sheet():
            return sheet_told(picture.scratchpad.labels)
    return "What was shown."


def sheet_told(labels: Sequence[str]) -> str:
    """Return which frames of evidence a sheet shows."""
    return f"The frames of evidence: {', '.join(labels) or 'none'}."
