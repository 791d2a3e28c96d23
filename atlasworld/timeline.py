"""`Script`: the scenes, world events and spoken lines of a synthetic video.

Pure data: the parts of a script, the rules of a valid one, and its JSON form (the manifest). This
module does not know how scripts are drawn from a seed, nor does it know pixels, files or questions.
Every time is a frame time (`n / fps`), so the truth is exact: an event's object is visible on all
frames of `[start_s, end_s)` and on no other frame.
"""

from __future__ import annotations

import dataclasses
import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, TypeVar

from atlaskit.caching.keys import canonical_json
from atlaskit.errors import InputError
from atlaskit.video.readers import TIME_STEP_S

VERSION = 1
"""Version of the worlds, increased whenever one seed would give another script or other frames."""

MIN_DURATION_S = 10.0
MAX_DURATION_S = 36_000.0

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (222, 30, 44),
    "orange": (255, 136, 0),
    "yellow": (255, 222, 32),
    "green": (24, 158, 62),
    "blue": (32, 84, 232),
    "purple": (128, 42, 190),
    "white": (252, 252, 252),
    "pink": (255, 122, 190),
}
SHAPES: tuple[str, ...] = ("circle", "square", "triangle", "star", "heart", "diamond")
PLACES: tuple[str, ...] = ("snow", "desert", "sea", "forest", "city", "meadow", "space", "canyon")
LIGHTS: tuple[str, ...] = ("dawn", "noon", "night")
ENTRANCES: tuple[str, ...] = ("fade", "pop", "slide")


@dataclass(frozen=True)
class Scene:
    """One place in one light, between two cuts: `[start_s, end_s)`."""

    index: int
    start_s: float
    end_s: float
    place: str
    light: str

    @property
    def name(self) -> str:
        """The scene in words, such as "snow at dawn"."""
        return f"{self.place} at {self.light}"


@dataclass(frozen=True)
class Motion:
    """How an object moves across the frame.

    Attributes:
        size: Diameter of the object, as a fraction of the frame's height.
        x0: Horizontal centre at the start, as a fraction of the frame's width.
        y0: Vertical centre at the start, as a fraction of the frame's height.
        x1: Horizontal centre at the end.
        y1: Vertical centre at the end.
        bob: Amplitude of the vertical swing, as a fraction of the frame's height.
        bob_s: Period of the swing, in seconds.
        tilt_deg: Rotation of the object, in degrees.
        enter: How it appears, one of ENTRANCES.
        leave: How it disappears, one of ENTRANCES.
    """

    size: float
    x0: float
    y0: float
    x1: float
    y1: float
    bob: float
    bob_s: float
    tilt_deg: float
    enter: str
    leave: str


@dataclass(frozen=True)
class WorldEvent:
    """One object that is visible during `[start_s, end_s)`.

    Attributes:
        id: Unique within a script.
        scene: Index of the scene that contains the event.
        start_s: First second at which the object is visible.
        end_s: First second at which it is no longer visible.
        colour: Colour of the object, a key of COLOURS.
        shape: Shape of the object, one of SHAPES.
        caption: Text on screen during the event, if any.
        caption_at: "top" or "bottom"; None without a caption.
        motion: How the object moves.
    """

    id: str
    scene: int
    start_s: float
    end_s: float
    colour: str
    shape: str
    caption: str | None
    caption_at: str | None
    motion: Motion

    @property
    def name(self) -> str:
        """The object in words, such as "red circle"."""
        return f"{self.colour} {self.shape}"


@dataclass(frozen=True)
class SpokenLine:
    """One subtitle line.

    Attributes:
        start_s: Start of the line.
        end_s: End of the line, exclusive.
        text: What the voice says.
        event: Id of the event that the line is about; None if it is about the scenery.
        misleading: Whether the line names a wrong colour for the event's object.
    """

    start_s: float
    end_s: float
    text: str
    event: str | None
    misleading: bool


_start_of = attrgetter("start_s")


@dataclass(frozen=True)
class Script:
    """Everything that happens in one video, in order of time.

    Raises:
        InputError: The parts break a rule of a valid script, such as two events that overlap.
    """

    seed: int
    duration_s: float
    fps: int
    size: tuple[int, int]
    """Width and height of the frames, in pixels."""
    scenes: tuple[Scene, ...]
    events: tuple[WorldEvent, ...]
    lines: tuple[SpokenLine, ...]

    def __post_init__(self) -> None:
        check_picture(self.duration_s, self.fps, self.size)
        for is_met, violation in _rules(self):
            if not is_met:
                raise InputError(f"This AtlasWorld script is invalid: {violation}.")

    @cached_property
    def name(self) -> str:
        """Hash of the script's content, 16 hex digits."""
        return hashlib.sha256(canonical_json(self.to_json()).encode()).hexdigest()[:16]

    @property
    def frame_count(self) -> int:
        """Number of frames of the video."""
        return round(self.duration_s * self.fps)

    def frame_at(self, t: float) -> int:
        """Return the index of the frame shown at `t` seconds, with a tolerance of a microsecond.

        Raises:
            InputError: `t` lies outside the video.
        """
        if not 0 <= t < self.duration_s:
            raise InputError(
                f"A time must lie in [0, {self.duration_s}) s, the span of this video; got {t} s."
            )
        index = round(t * self.fps)
        if index / self.fps > t + TIME_STEP_S:
            index -= 1
        return min(index, self.frame_count - 1)

    def scene_at(self, t: float) -> Scene:
        """Return the scene shown at `t` seconds; raise InputError outside the video."""
        self.frame_at(t)  # raises outside the video
        return self.scenes[bisect_right(self.scenes, t, key=_start_of) - 1]

    def event_at(self, t: float) -> WorldEvent | None:
        """Return the event visible at `t` seconds, or None; raise InputError outside the video."""
        self.frame_at(t)  # raises outside the video
        index = bisect_right(self.events, t, key=_start_of) - 1
        if index >= 0 and t < self.events[index].end_s:
            return self.events[index]
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the script as plain JSON values."""
        row = dataclasses.asdict(self)
        for name in ("size", "scenes", "events", "lines"):
            row[name] = list(row[name])
        return {"atlasworld": VERSION, **row}

    @classmethod
    def from_json(cls, row: Any) -> Script:
        """Return the script that `to_json` wrote.

        Raises:
            InputError: `row` is no manifest of this VERSION, or describes an invalid script.
        """
        if not isinstance(row, dict) or row.get("atlasworld") != VERSION:
            raise InputError(
                f"A manifest must be of AtlasWorld version {VERSION}; got {str(row)[:80]!r}."
            )
        try:
            fields = dict(row)
            del fields["atlasworld"]
            fields["size"] = tuple(row["size"])
            fields["scenes"] = tuple(_read(Scene, scene) for scene in row["scenes"])
            events = list[WorldEvent]()
            for event in row["events"]:
                motion = _read(Motion, event["motion"])
                events.append(_read(WorldEvent, {**event, "motion": motion}))
            fields["events"] = tuple(events)
            fields["lines"] = tuple(_read(SpokenLine, line) for line in row["lines"])
            return _read(cls, fields)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"This AtlasWorld manifest is malformed: {error!r}.") from error


def by_id(events: Iterable[WorldEvent]) -> dict[str, WorldEvent]:
    """Return events by their ids, in the given order."""
    return {event.id: event for event in events}


def names_of(parts: Iterable[Scene | WorldEvent]) -> list[str]:
    """Return the names of scenes or events, in the given order."""
    return [part.name for part in parts]


def span_of(part: Scene | WorldEvent) -> tuple[float, float]:
    """Return the start and the end of a scene or an event, in seconds."""
    return part.start_s, part.end_s


_Row = TypeVar("_Row", Scene, Motion, WorldEvent, SpokenLine, Script)
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "str | None": (str, type(None)),
    "bool": (bool,),
    "Motion": (Motion,),
}


def _read(row_type: type[_Row], row: dict[str, Any]) -> _Row:
    """Build a dataclass from a JSON object with exactly its fields, each of the declared type.

    Lists of the JSON object must have been replaced by tuples.
    """
    types = {field.name: str(field.type) for field in dataclasses.fields(row_type)}
    if set(row) != set(types):
        missing = sorted(types.keys() - row.keys())
        unknown = sorted(row.keys() - types.keys())
        raise InputError(
            f"A {row_type.__name__} in an AtlasWorld manifest must have the fields "
            f"{sorted(types)}; {missing} are missing and {unknown} are unknown."
        )
    for name, value in row.items():
        if type(value) not in _JSON_TYPES.get(types[name], (tuple,)):
            raise InputError(
                f"{row_type.__name__}.{name} in an AtlasWorld manifest must be of type "
                f"{types[name]}; got {value!r}."
            )
    return row_type(**row)


def check_picture(duration_s: float, fps: int, size: tuple[int, int]) -> None:
    """Raise InputError if no AtlasWorld video can have this duration, frame rate or frame size."""
    if not MIN_DURATION_S <= duration_s <= MAX_DURATION_S:
        limits = f"{MIN_DURATION_S:g} to {MAX_DURATION_S:g} s"
        raise InputError(f"duration_s of an AtlasWorld video must be {limits}; got {duration_s} s.")
    if type(fps) is not int or not 2 <= fps <= 60:
        raise InputError(
            f"fps of an AtlasWorld video must be an integer from 2 to 60; got {fps!r}."
        )
    is_even = len(size) == 2 and all(type(side) is int and side % 2 == 0 for side in size)
    if not is_even or not 64 <= size[1] <= size[0] <= 3840:
        raise InputError(
            "size of an AtlasWorld video must be (width, height), width at least height, both "
            f"even and 64 to 3840; got {size}."
        )


def _rules(script: Script) -> Iterator[tuple[bool, str]]:
    """Yield each rule of a valid script: whether it is met, and the violation if it is not.

    A rule may rely on the rules before it: the caller stops at the first violation.
    """
    scenes = script.scenes
    previous_end_s = 0.0
    for scene in scenes:
        yield scene.start_s == previous_end_s, "the scenes do not follow one another from 0 s"
        previous_end_s = scene.end_s
    yield previous_end_s == script.duration_s, "the last scene does not end with the video"
    for index, scene in enumerate(scenes):
        yield scene.index == index, "the scenes are misnumbered"
    for scene in scenes:
        yield (
            scene.place in PLACES and scene.light in LIGHTS,
            f"the scene {scene.name!r} is unknown",
        )
    for event in script.events:
        yield from _event_rules(event, scenes)
    ids = by_id(script.events)
    yield len(ids) == len(script.events), "two events have the same id"
    for line in script.lines:
        yield not line.event or line.event in ids, "a line refers to an unknown event"
    for kind, parts in (("scene", scenes), ("event", script.events), ("line", script.lines)):
        times = list[float]()
        for part in parts:
            times += (part.start_s, part.end_s)
        are_frame_times = all(map(partial(_is_frame_time, script), times))
        yield are_frame_times, f"a {kind} starts or ends between two frames, or outside the video"
        yield all(part.start_s < part.end_s for part in parts), f"a {kind} ends before it starts"
        yield times == sorted(times), f"two {kind}s overlap or are out of order"


def _is_frame_time(script: Script, t: float) -> bool:
    return 0 <= t <= script.duration_s and round(t * script.fps) / script.fps == t


def _event_rules(event: WorldEvent, scenes: tuple[Scene, ...]) -> Iterator[tuple[bool, str]]:
    yield event.colour in COLOURS and event.shape in SHAPES, f"the object {event.name!r} is unknown"
    yield (
        0 <= event.scene < len(scenes),
        f"event {event.id} names scene {event.scene}, which does not exist",
    )
    scene = scenes[event.scene]
    is_inside = scene.start_s <= event.start_s and event.end_s <= scene.end_s
    yield is_inside, f"event {event.id} starts before or ends after its scene"
    yield _is_valid_motion(event.motion), f"the motion of event {event.id} leaves the frame"
    positions = (None,) if event.caption is None else ("top", "bottom")
    yield (
        event.caption_at in positions,
        f"the caption of event {event.id} cannot be at {event.caption_at!r}",
    )


def _is_valid_motion(motion: Motion) -> bool:
    has_entrances = motion.enter in ENTRANCES and motion.leave in ENTRANCES
    is_inside = all(0 <= at <= 1 for at in (motion.x0, motion.y0, motion.x1, motion.y1))
    is_gentle = 0 <= motion.bob <= 0.2 and motion.bob_s > 0 and abs(motion.tilt_deg) <= 20
    return has_entrances and is_inside and is_gentle and 0.05 <= motion.size <= 0.6
