"""The timeline of a synthetic video: scenes, objects that come and go, and what a voice says about them.

Pure data: what a timeline is made of, the laws that a filmable one keeps, and its JSON. Knows nothing of how timelines
are drawn from a seed, nor of pixels, files or questions. Every time is a frame time (`n / fps`), so the truth is
exact: an event is in the picture on all frames of `[start_s, end_s)`, and on no other.
"""

from __future__ import annotations

import dataclasses
import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from atlaskit.caching.keys import canonical_json
from atlaskit.errors import InputError
from atlaskit.video.readers import TIME_STEP_S

VERSION = 1
"""Of the world: raised whenever the same seed would give another timeline or another picture."""

MIN_DURATION_S, MAX_DURATION_S = 10.0, 36_000.0

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
    """One place in one light, from one cut to the next."""

    index: int
    start_s: float
    end_s: float
    place: str
    light: str

    @property
    def name(self) -> str:
        """The scene in words: "snow at dawn"."""
        return f"{self.place} at {self.light}"


@dataclass(frozen=True)
class Motion:
    """How an object moves: x in fractions of the picture's width; y, size and bob of its height."""

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
    """One object in the picture during `[start_s, end_s)`, its caption (if any) at the "top" or "bottom"."""

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
        """The object in words: "red circle"."""
        return f"{self.colour} {self.shape}"


@dataclass(frozen=True)
class SpokenLine:
    """One subtitle; `misleading` when it gives the event's object another colour than it has."""

    start_s: float
    end_s: float
    text: str
    event: str | None
    misleading: bool


@dataclass(frozen=True)
class Script:
    """Everything that happens in one video, in order of time."""

    seed: int
    duration_s: float
    fps: int
    size: tuple[int, int]
    scenes: tuple[Scene, ...]
    events: tuple[WorldEvent, ...]
    lines: tuple[SpokenLine, ...]

    def __post_init__(self) -> None:
        check_picture(self.duration_s, self.fps, self.size)
        for holds, sentence in _laws(self):
            if not holds:
                raise InputError(f"This AtlasWorld script cannot be filmed: {sentence}.")

    @cached_property
    def name(self) -> str:
        """Names the script by its content."""
        return hashlib.sha256(canonical_json(self.to_json()).encode()).hexdigest()[:16]

    @property
    def frame_count(self) -> int:
        """Number of frames of the video."""
        return round(self.duration_s * self.fps)

    def frame_at(self, t: float) -> int:
        """Return the index of the frame shown at `t` seconds; as in any video, to a microsecond."""
        if not 0 <= t < self.duration_s:
            raise InputError(f"{t} s is outside the video, which is [0, {self.duration_s}) s.")
        nearest = round(t * self.fps)
        return min(nearest if nearest / self.fps <= t + TIME_STEP_S else nearest - 1, self.frame_count - 1)

    def scene_at(self, t: float) -> Scene:
        """Return the scene shown at `t` seconds."""
        self.frame_at(t)  # refuses a time outside the video
        return self.scenes[bisect_right(self._scene_starts, t) - 1]

    def event_at(self, t: float) -> WorldEvent | None:
        """Return the event in the picture at `t` seconds, or None."""
        self.frame_at(t)
        place = bisect_right(self._event_starts, t) - 1
        return self.events[place] if place >= 0 and t < self.events[place].end_s else None

    @cached_property
    def _scene_starts(self) -> list[float]:
        return [scene.start_s for scene in self.scenes]

    @cached_property
    def _event_starts(self) -> list[float]:
        return [event.start_s for event in self.events]

    def to_json(self) -> dict[str, Any]:
        """Return the script as plain JSON values."""
        row = dataclasses.asdict(self)
        lists = {key: list(value) for key, value in row.items() if isinstance(value, tuple)}
        return {"atlasworld": VERSION, **row, **lists}

    @classmethod
    def from_json(cls, row: Any) -> Script:
        """Read what `to_json` wrote; raise InputError for anything else."""
        if not isinstance(row, dict) or row.get("atlasworld") != VERSION:
            raise InputError(f"This is not a manifest of AtlasWorld version {VERSION}: {str(row)[:80]!r}.")
        try:
            whole = {key: value for key, value in row.items() if key != "atlasworld"}
            whole["size"] = tuple(row["size"])
            whole["scenes"] = tuple(_read(Scene, scene) for scene in row["scenes"])
            whole["events"] = tuple(
                _read(WorldEvent, {**event, "motion": _read(Motion, event["motion"])}) for event in row["events"]
            )
            whole["lines"] = tuple(_read(SpokenLine, line) for line in row["lines"])
            return _read(cls, whole)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"This AtlasWorld manifest is malformed: {error!r}.") from error


_Row = TypeVar("_Row", Scene, Motion, WorldEvent, SpokenLine, Script)
_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "str | None": (str, type(None)),
    "bool": (bool,),
    "Motion": (Motion,),
}


def _read(kind: type[_Row], row: dict[str, Any]) -> _Row:
    """Build a dataclass from a JSON object that has exactly its fields, each of the declared type."""
    fields = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    if set(row) != set(fields):
        odd = sorted(set(row) ^ set(fields))
        raise InputError(f"A {kind.__name__} in an AtlasWorld manifest lacks, or should not have, {odd}.")
    for name, value in row.items():
        if type(value) not in _KINDS.get(fields[name], (tuple,)):
            raise InputError(f"{kind.__name__}.{name} in an AtlasWorld manifest cannot be {value!r}.")
    return kind(**row)


def check_picture(duration_s: float, fps: int, size: tuple[int, int]) -> None:
    """Raise InputError for a duration, frame rate or size that no film has."""
    if not MIN_DURATION_S <= duration_s <= MAX_DURATION_S:
        rule = f"{MIN_DURATION_S:g} to {MAX_DURATION_S:g} s"
        raise InputError(f"AtlasWorld films last {rule}, and {duration_s} s was asked for.")
    if type(fps) is not int or not 2 <= fps <= 60:
        raise InputError(f"AtlasWorld films have a whole 2 to 60 frames a second, and {fps!r} was asked for.")
    even = len(size) == 2 and all(type(side) is int and side % 2 == 0 for side in size)
    if not even or not 64 <= size[1] <= size[0] <= 3840:
        raise InputError(f"AtlasWorld pictures are landscape, both sides even and 64 to 3840, not {size}.")


def _laws(script: Script) -> Iterator[tuple[bool, str]]:
    """Yield each law that a filmable script keeps: whether it holds, and what is wrong if it does not."""
    scenes, events, lines = script.scenes, script.events, script.lines
    cuts = [0.0, *(scene.end_s for scene in scenes)]
    yield [scene.start_s for scene in scenes] == cuts[:-1], "the scenes do not follow one another from 0 s"
    yield cuts[-1] == script.duration_s, "the scenes do not end where the video ends"
    yield [scene.index for scene in scenes] == list(range(len(scenes))), "the scenes are misnumbered"
    for scene in scenes:
        yield scene.place in PLACES and scene.light in LIGHTS, f"there is no scene {scene.name!r}"
    for event in events:
        yield event.colour in COLOURS and event.shape in SHAPES, f"there is no object {event.name!r}"
        yield 0 <= event.scene < len(scenes), f"event {event.id} is in scene {event.scene}, and there is none"
        home = scenes[event.scene]
        stays = home.start_s <= event.start_s and event.end_s <= home.end_s
        yield stays, f"event {event.id} outlasts its scene"
        yield _is_filmable(event.motion), f"event {event.id} moves in a way that leaves the picture"
        where = (None,) if event.caption is None else ("top", "bottom")
        yield event.caption_at in where, f"the caption of event {event.id} cannot be at {event.caption_at!r}"
    known = {event.id for event in events}
    yield len(known) == len(events), "two events share an id"
    yield all(line.event in known for line in lines if line.event), "a line speaks of an unknown event"
    for kind, parts in (("scene", scenes), ("event", events), ("line", lines)):
        times = [t for part in parts for t in (part.start_s, part.end_s)]
        on_frames = all(0 <= t <= cuts[-1] and round(t * script.fps) / script.fps == t for t in times)
        yield on_frames, f"a {kind} starts or ends between two frames, or outside the video"
        yield all(part.start_s < part.end_s for part in parts), f"a {kind} ends before it starts"
        yield all(a <= b for a, b in pairwise(times)), f"two {kind}s overlap or are out of order"


def _is_filmable(motion: Motion) -> bool:
    ways = motion.enter in ENTRANCES and motion.leave in ENTRANCES
    inside = all(0 <= at <= 1 for at in (motion.x0, motion.y0, motion.x1, motion.y1))
    swing = 0 <= motion.bob <= 0.2 and motion.bob_s > 0 and abs(motion.tilt_deg) <= 20
    return ways and inside and swing and 0.05 <= motion.size <= 0.6
