"""The timeline of a synthetic video: scenes, objects that come and go, and what a voice says about them.

Pure data, drawn from a seed. Knows nothing of pixels, files or questions. Every time is a frame time
(`n / fps`), so the truth is exact: an event is in the picture on all frames of `[start_s, end_s)`, and on no
other.
"""

from __future__ import annotations

import dataclasses
import math
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from atlaskit.errors import InputError

VERSION = 1
"""Of the world: raised whenever the same seed would give another timeline or another picture."""

DEFAULT_FPS = 12
MIN_DURATION_S, MAX_DURATION_S = 10.0, 1200.0

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

# fmt: off
CAPTION_WORDS: tuple[str, ...] = (
    "HARBOR", "LANTERN", "COMPASS", "VELVET", "MARBLE", "THUNDER", "ORCHID", "FALCON", "GRANITE", "WHISPER",
    "CINDER", "MANDOLIN", "CARAVAN", "ANCHOR", "PEPPER", "TIMBER", "SADDLE", "RIBBON", "PUZZLE", "BEACON",
    "WALNUT", "TEMPLE", "MIRROR", "PILGRIM", "BASKET", "DRAGON", "FEATHER", "GALAXY", "HAMMER", "ISLAND",
    "JACKET", "KETTLE", "LADDER", "MAGNET", "NECTAR", "OYSTER", "PARROT", "QUARTZ", "ROCKET", "TROLLEY",
    "TUNNEL", "UMBRELLA", "VIOLIN", "WAGON", "YARROW", "ZEPHYR", "ALMANAC", "BAMBOO", "CANDLE", "DOLPHIN",
    "ECLIPSE", "FIDDLE", "GINGER", "HICKORY", "IGLOO", "JUNIPER", "KERNEL", "LOTUS", "MOSAIC", "NUTMEG",
    "OTTER", "PEBBLE", "RADISH", "SPARROW", "TEAPOT", "VOYAGE", "WILLOW",
)
# fmt: on

EVENT_LINES: tuple[str, ...] = (
    "And there goes {object}, right on time.",
    "Look closely, {object} has just come in.",
    "Now that is what I call {object}.",
    "You can clearly see {object} from here.",
    "I did not expect {object} in a place like this.",
    "Everyone here is talking about {object}.",
    "Hold the camera still, please: {object}!",
    "They told us to wait for {object}, so we did.",
    "My notes for this part only say {object}.",
    "Here comes {object}, as promised.",
    "If you blink you will miss {object}.",
    "What a pleasant surprise, {object}.",
    "Somebody must have let {object} loose.",
    "The next guest is {object}, ladies and gentlemen.",
    "For a moment we have {object} all to ourselves.",
    "Write this down: {object}, at this very second.",
    "We travelled a long way to film {object}.",
    "Quiet now, or you will frighten off {object}.",
    "Oh, would you look at that, {object}.",
    "Not many people have seen {object} out here.",
    "I will say it once, this is {object}.",
    "The locals have a song about {object}.",
    "Is it just me, or is that {object}?",
    "Our guide points ahead and whispers: {object}.",
)
PLACE_LINES: dict[str, tuple[str, ...]] = {
    "snow": ("Fresh snow as far as the eye can see.", "Wrap up warm, the wind is bitter up here."),
    "desert": ("Nothing but dunes and more dunes.", "The sand shifts a little every day."),
    "sea": ("Listen to those waves.", "The tide is on our side today."),
    "forest": ("The air smells of pine and moss.", "Paths in this forest are easy to lose."),
    "city": ("The city never quite goes to sleep.", "So many windows, so many lives."),
    "meadow": ("The grass is soft and full of crickets.", "A gentle breeze runs over the hills."),
    "space": ("It is very quiet up here.", "No wind, no weather, only distance."),
    "canyon": ("The river took its time to carve all this.", "Every wall here throws back an echo."),
}
CALM_LINES: tuple[str, ...] = (
    "Let us stay here for a little while.",
    "I could watch this view all day long.",
    "We are making good progress.",
    "Take a deep breath and enjoy it.",
)

_GAP_S = 0.7  # between two events
_CUT_MARGIN_S = 0.35  # between an event and a cut: half the gap, so that events astride a cut keep it too
_EVENT_S = (0.5, 30.0)
_SCENE_S = (12.0, 40.0)
_MOST_EVENTS = 44  # fewer than there are objects, so that some are never seen
_BANNER_BAND = 0.24  # of the height, kept clear of the object when there is a caption
_EDGE = 0.03


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
class Event:
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
    events: tuple[Event, ...]
    lines: tuple[SpokenLine, ...]

    def __post_init__(self) -> None:
        _check_picture(self.duration_s, self.fps, self.size)
        for holds, sentence in _laws(self):
            if not holds:
                raise InputError(f"This AtlasWorld script cannot be filmed: {sentence}.")

    @property
    def frame_count(self) -> int:
        """Number of frames of the video."""
        return round(self.duration_s * self.fps)

    def frame_at(self, t: float) -> int:
        """Return the index of the frame shown at `t` seconds."""
        if not 0 <= t < self.duration_s:
            raise InputError(f"{t} s is outside the video, which is [0, {self.duration_s}) s.")
        nearest = round(t * self.fps)
        return nearest if nearest / self.fps <= t else nearest - 1

    def scene_at(self, t: float) -> Scene:
        """Return the scene shown at `t` seconds."""
        self.frame_at(t)  # refuses a time outside the video
        return self.scenes[bisect_right(self.scenes, t, key=lambda scene: scene.start_s) - 1]

    def event_at(self, t: float) -> Event | None:
        """Return the event in the picture at `t` seconds, or None."""
        self.frame_at(t)
        place = bisect_right(self.events, t, key=lambda event: event.start_s) - 1
        return self.events[place] if place >= 0 and t < self.events[place].end_s else None

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
                _read(Event, {**event, "motion": _read(Motion, event["motion"])}) for event in row["events"]
            )
            whole["lines"] = tuple(_read(SpokenLine, line) for line in row["lines"])
            return _read(cls, whole)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"This AtlasWorld manifest is malformed: {error!r}.") from error


_Row = TypeVar("_Row", Scene, Motion, Event, SpokenLine, Script)
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


def _check_picture(duration_s: float, fps: int, size: tuple[int, int]) -> None:
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


def write_script(seed: int, duration_s: float, *, fps: int = DEFAULT_FPS, size: tuple[int, int] = (640, 360)) -> Script:
    """Draw a timeline from a seed; the duration is rounded to a whole number of frames."""
    _check_picture(duration_s, fps, size)
    rng = random.Random(seed)
    frames = round(duration_s * fps)
    scenes = _scenes(rng, frames, fps)
    events = _events(rng, scenes, fps, size)
    lines = _lines(rng, scenes, events, frames, fps)
    return Script(seed, frames / fps, fps, size, scenes, events, lines)


# --- scenes ---------------------------------------------------------------------------------------


def _scenes(rng: random.Random, frames: int, fps: int) -> tuple[Scene, ...]:
    cuts = _cuts(rng, frames, fps)
    settings = _settings(rng, len(cuts) - 1)
    return tuple(
        Scene(index, first / fps, last / fps, place, light)
        for index, ((first, last), (place, light)) in enumerate(zip(pairwise(cuts), settings, strict=True))
    )


def _cuts(rng: random.Random, frames: int, fps: int) -> list[int]:
    """Cut `[0, frames)` into scenes of 12 to 40 s; a short video is cut near its middle."""
    shortest, longest = math.ceil(_SCENE_S[0] * fps), math.floor(_SCENE_S[1] * fps)
    if frames < 2 * shortest:
        return [0, rng.randint(round(0.4 * frames), round(0.6 * frames)), frames]
    cuts = [0]
    while (left := frames - cuts[-1]) > longest or len(cuts) == 1:
        cuts.append(cuts[-1] + rng.randint(shortest, min(round(0.85 * longest), left - shortest)))
    return [*cuts, frames]


def _settings(rng: random.Random, count: int) -> list[tuple[str, str]]:
    """Draw a (place, light) for each scene: neighbours differ in place, most settings occur once."""
    lights = {place: rng.sample(LIGHTS, len(LIGHTS)) for place in PLACES}
    rounds = [rng.sample(PLACES, len(PLACES)) for _ in LIGHTS]
    once = [(place, lights[place][turn]) for turn, places in enumerate(rounds) for place in places]
    extra = max(0, count - len(once))
    refrain = once[: min(len(PLACES), math.ceil(extra / 4))]  # the settings that come back
    left = once[:count] + [refrain[turn % len(refrain)] for turn in range(extra)]
    rng.shuffle(left)
    order: list[tuple[str, str]] = []
    while left:
        before = order[-1][0] if order else None
        [(crowded, most)] = Counter(place for place, _ in left).most_common(1)
        must = crowded if 2 * most > len(left) else None  # or its scenes would end up side by side
        order.append(next(pair for pair in left if pair[0] != before and must in (None, pair[0])))
        left.remove(order[-1])
    return order


# --- events ---------------------------------------------------------------------------------------


def _events(rng: random.Random, scenes: tuple[Scene, ...], fps: int, size: tuple[int, int]) -> tuple[Event, ...]:
    spans = [
        (scene.index, *span)
        for scene, count in zip(scenes, _event_counts(rng, scenes), strict=True)
        for span in _event_spans(rng, scene, count, fps)
    ]
    objects = _objects(rng, spans, long_enough=scenes[-1].end_s >= 120)
    words = rng.sample(CAPTION_WORDS, len(CAPTION_WORDS))
    captioned = set(rng.sample(range(len(spans)), math.ceil(len(spans) / 2)))
    events = []
    for number, ((scene, first, last), (colour, shape)) in enumerate(zip(spans, objects, strict=True)):
        caption = caption_at = None
        if number in captioned:
            caption = words.pop() + rng.choice(("", "", f" {rng.randint(2, 99)}"))
            caption_at = rng.choice(("top", "bottom", "bottom"))
        motion = _motion(rng, (last - first) / fps, size[0] / size[1], caption_at)
        times = first / fps, last / fps
        events.append(Event(f"e{number:03}", scene, *times, colour, shape, caption, caption_at, motion))
    return tuple(events)


def _event_counts(rng: random.Random, scenes: tuple[Scene, ...]) -> list[int]:
    """Draw how many events each scene holds: 1 to 3, or none where the scenes before it hold more than enough."""
    counts: list[int] = []
    for scene in scenes:
        most = 1 if scene.end_s - scene.start_s < _SCENE_S[0] else 3
        least = 0 if sum(counts) > len(counts) and counts[-1] else 1
        counts.append(max(least, min(most, rng.choice((0, 0, 1, 1, 1, 2, 2, 2, 3, 3)))))
    while sum(counts) > _MOST_EVENTS:
        fullest = max(counts)
        counts[rng.choice([i for i, count in enumerate(counts) if count == fullest])] -= 1
    return counts


def _event_spans(rng: random.Random, scene: Scene, count: int, fps: int) -> list[tuple[int, int]]:
    """Place events in a scene, as frames `[first, last)`: log-uniform lengths, random waits."""
    margin, gap = math.ceil(_CUT_MARGIN_S * fps), math.ceil(_GAP_S * fps)
    shortest, longest = math.ceil(_EVENT_S[0] * fps), math.floor(_EVENT_S[1] * fps)
    room = round((scene.end_s - scene.start_s) * fps) - 2 * margin - (count - 1) * gap
    lengths = [round(fps * math.exp(rng.uniform(*map(math.log, _EVENT_S)))) for _ in range(count)]
    lengths = [min(max(length, shortest), longest) for length in lengths]
    while sum(lengths) > 0.9 * room:
        fullest = lengths.index(max(lengths))
        lengths[fullest] = max(shortest, lengths[fullest] // 2)
    slack = room - sum(lengths)
    waits = sorted(rng.randint(0, slack) for _ in range(count))
    start = round(scene.start_s * fps) + margin
    firsts = [start + waits[i] + sum(lengths[:i]) + i * gap for i in range(count)]
    return [(first, first + length) for first, length in zip(firsts, lengths, strict=True)]


def _objects(rng: random.Random, spans: list[tuple[int, int, int]], *, long_enough: bool) -> list[tuple[str, str]]:
    """Draw the object of each event: all different, but for one or two that come back in other scenes."""
    deck = [(colour, shape) for colour in COLOURS for shape in SHAPES]
    rng.shuffle(deck)
    objects: dict[int, tuple[str, str]] = {}
    for _ in range(rng.choice((1, 2)) if long_enough and len(spans) >= 10 else int(long_enough)):
        by_scene: dict[int, list[int]] = {}
        for number, (scene, _, _) in enumerate(spans):
            if number not in objects:
                by_scene.setdefault(scene, []).append(number)
        times = rng.randint(2, max(2, min(6, len(spans) // 4, len(by_scene))))
        recurring = deck.pop()
        objects |= {rng.choice(by_scene[scene]): recurring for scene in rng.sample(sorted(by_scene), times)}
    return [objects.get(number) or deck.pop() for number in range(len(spans))]


def _motion(rng: random.Random, seconds: float, aspect: float, caption_at: str | None) -> Motion:
    """Draw a path that keeps the whole object in the picture and off its caption, at an easy pace."""
    size, bob = rng.uniform(0.30, 0.44), rng.uniform(0.0, 0.025)
    reach_x, reach_y = size / 2 / aspect + _EDGE, size / 2 + bob + _EDGE
    highest = reach_y + (_BANNER_BAND if caption_at == "top" else 0)
    lowest = 1 - reach_y - (_BANNER_BAND if caption_at == "bottom" else 0)
    travel = min(1 - 2 * reach_x, seconds * rng.uniform(0.06, 0.22))
    left = rng.uniform(reach_x, 1 - reach_x - travel)
    x0, x1 = rng.sample((left, left + travel), 2)
    y0 = rng.uniform(highest, lowest)
    y1 = min(max(y0 + rng.uniform(-0.1, 0.1) * min(1.0, seconds), highest), lowest)
    size, x0, y0, x1, y1, bob = (round(number, 4) for number in (size, x0, y0, x1, y1, bob))
    bob_s, tilt = round(rng.uniform(1.6, 3.2), 2), round(rng.uniform(-9, 9), 1)
    return Motion(size, x0, y0, x1, y1, bob, bob_s, tilt, rng.choice(ENTRANCES), rng.choice(ENTRANCES))


# --- spoken lines ---------------------------------------------------------------------------------


def _lines(
    rng: random.Random, scenes: tuple[Scene, ...], events: tuple[Event, ...], frames: int, fps: int
) -> tuple[SpokenLine, ...]:
    """Let a voice speak of some events, a third of the time with the wrong colour, and of the scenery."""
    spoken = sorted(rng.sample(range(len(events)), max(1, round(0.4 * len(events)))))
    wrong = set(rng.sample(spoken, round(len(spoken) / 3)))
    templates = rng.sample(EVENT_LINES, len(spoken))  # each once a video, so that a question can quote a line
    said: list[tuple[int, int, str, str | None, bool]] = []
    for number, template in zip(spoken, templates, strict=True):
        event = events[number]
        others = [colour for colour in COLOURS if colour != event.colour]
        name = f"{rng.choice(others) if number in wrong else event.colour} {event.shape}"
        text = template.format(object=f"{'an' if name[0] in 'aeiou' else 'a'} {name}")
        first, last = _moment(rng, events, number, frames, fps, text)
        said.append((first, last, text, event.id, number in wrong))
    for scene in scenes:
        text = rng.choice((*PLACE_LINES[scene.place], *CALM_LINES))
        opening, closing = round(scene.start_s * fps), round(scene.end_s * fps)
        length = _line_frames(text, fps)
        first = rng.randint(opening, max(opening, closing - length))
        free = all(first + length < start or end < first for start, end, *_ in said)
        if rng.random() < 0.7 and first + length <= closing and free:
            said.append((first, first + length, text, None, False))
    said.sort()
    return tuple(SpokenLine(a / fps, b / fps, text, event, lie) for a, b, text, event, lie in said)


def _line_frames(text: str, fps: int) -> int:
    """Return how long it takes to read a line, in frames."""
    return round((1.2 + 0.035 * len(text)) * fps)


def _moment(
    rng: random.Random, events: tuple[Event, ...], number: int, frames: int, fps: int, text: str
) -> tuple[int, int]:
    """Place a line over the middle of its event, and at most halfway to its neighbours."""
    event = events[number]
    before = events[number - 1].end_s if number else 0.0
    after = events[number + 1].start_s if number + 1 < len(events) else frames / fps
    low, high = math.ceil((before + event.start_s) / 2 * fps), math.floor((event.end_s + after) / 2 * fps)
    middle = math.floor((event.start_s + event.end_s) / 2 * fps)
    length = min(_line_frames(text, fps), high - low)
    first = rng.randint(max(low, middle - length + 1), min(middle, high - length))
    return first, first + length
