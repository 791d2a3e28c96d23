"""Timelines drawn from a seed: which scenes follow one another, what comes by when, and what a voice says of it.

The same seed always gives the same script. Knows nothing of pixels, files or questions; whether a timeline can be
filmed is for `Script` to judge.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from atlaskit.benchmarks.atlasworld.timeline import (
    COLOURS,
    ENTRANCES,
    LIGHTS,
    PLACES,
    SHAPES,
    Motion,
    Scene,
    Script,
    SpokenLine,
    WorldEvent,
    check_picture,
)
from atlaskit.environment.question import with_article
from atlaskit.errors import InputError

DEFAULT_FPS = 12
LONGEST_S = 1200.0
"""Of one timeline: a longer one would have more events than there are objects. Longer worlds are joined from clips."""

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
_NEVER_SEEN = 4  # objects, at least
_BANNER_BAND = 0.24  # of the height, kept clear of the object when there is a caption
_EDGE = 0.03


@dataclass(frozen=True)
class Cast:
    """What a timeline is drawn from: everything there is, or a part of it.

    Settings are (place, light) pairs, and each place has as many lights as the others.
    """

    objects: tuple[tuple[str, str], ...] = tuple((colour, shape) for colour in COLOURS for shape in SHAPES)
    settings: tuple[tuple[str, str], ...] = tuple((place, light) for place in PLACES for light in LIGHTS)
    words: tuple[str, ...] = CAPTION_WORDS
    event_lines: tuple[str, ...] = EVENT_LINES

    @property
    def most_events(self) -> int:
        """How many events a timeline has at most: fewer than there are objects, so that some are never seen."""
        return len(self.objects) - _NEVER_SEEN

    def without(self, other: Cast) -> Cast:
        """Return what the other cast leaves."""
        return Cast(
            tuple(pair for pair in self.objects if pair not in other.objects),
            tuple(pair for pair in self.settings if pair not in other.settings),
            tuple(word for word in self.words if word not in other.words),
            tuple(line for line in self.event_lines if line not in other.event_lines),
        )


EVERYTHING = Cast()


def write_script(
    seed: int,
    duration_s: float,
    *,
    fps: int = DEFAULT_FPS,
    size: tuple[int, int] = (640, 360),
    cast: Cast = EVERYTHING,
    parts: int = 1,
) -> Script:
    """Draw a timeline of 10 s to 20 min from a seed and a cast; raise InputError for one that cannot be filmed.

    It can be cut into `parts` of equal length: there is a cut between them, and nothing goes on across it. The length
    of a part is rounded to a whole number of frames.
    """
    check_picture(duration_s, fps, size)
    if duration_s > LONGEST_S:
        raise InputError(f"One AtlasWorld timeline lasts at most {LONGEST_S:g} s, and {duration_s} s was asked for.")
    rng = random.Random(seed)
    part = round(duration_s / parts * fps)
    scenes = _scenes(rng, part, parts, fps, cast)
    events = _events(rng, scenes, fps, size, cast)
    lines = _lines(rng, scenes, events, part, fps, cast)
    return Script(seed, part * parts / fps, fps, size, scenes, events, lines)


# --- scenes ---------------------------------------------------------------------------------------


def _scenes(rng: random.Random, part: int, parts: int, fps: int, cast: Cast) -> tuple[Scene, ...]:
    cuts = [0, *(start + cut for start in range(0, part * parts, part) for cut in _cuts(rng, part, fps)[1:])]
    settings = _settings(rng, len(cuts) - 1, cast)
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


def _settings(rng: random.Random, count: int, cast: Cast) -> list[tuple[str, str]]:
    """Draw a (place, light) for each scene: neighbours differ in place, most settings occur once."""
    by_place = {place: [light for at, light in cast.settings if at == place] for place in PLACES}
    lights = {place: rng.sample(choice, len(choice)) for place, choice in by_place.items()}
    rounds = [rng.sample(PLACES, len(PLACES)) for _ in range(len(cast.settings) // len(PLACES))]
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


def _events(
    rng: random.Random, scenes: tuple[Scene, ...], fps: int, size: tuple[int, int], cast: Cast
) -> tuple[WorldEvent, ...]:
    spans = [
        (scene.index, *span)
        for scene, count in zip(scenes, _event_counts(rng, scenes, cast.most_events), strict=True)
        for span in _event_spans(rng, scene, count, fps)
    ]
    objects = _objects(rng, spans, cast, long_enough=scenes[-1].end_s >= 120)
    words = rng.sample(cast.words, len(cast.words))
    captioned = set(rng.sample(range(len(spans)), math.ceil(len(spans) / 2)))
    events = []
    for number, ((scene, first, last), (colour, shape)) in enumerate(zip(spans, objects, strict=True)):
        caption = caption_at = None
        if number in captioned:
            caption = words.pop() + rng.choice(("", "", f" {rng.randint(2, 99)}"))
            caption_at = rng.choice(("top", "bottom", "bottom"))
        motion = _motion(rng, (last - first) / fps, size[0] / size[1], caption_at)
        times = first / fps, last / fps
        events.append(WorldEvent(f"e{number:03}", scene, *times, colour, shape, caption, caption_at, motion))
    return tuple(events)


def _event_counts(rng: random.Random, scenes: tuple[Scene, ...], most_events: int) -> list[int]:
    """Draw how many events each scene holds: 1 to 3, or none where the scenes before it hold more than enough."""
    counts: list[int] = []
    for scene in scenes:
        most = 1 if scene.end_s - scene.start_s < _SCENE_S[0] else 3
        least = 0 if sum(counts) > len(counts) and counts[-1] else 1
        counts.append(max(least, min(most, rng.choice((0, 0, 1, 1, 1, 2, 2, 2, 3, 3)))))
    while sum(counts) > most_events:
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


def _objects(
    rng: random.Random, spans: list[tuple[int, int, int]], cast: Cast, *, long_enough: bool
) -> list[tuple[str, str]]:
    """Draw the object of each event: all different, but for one or two that come back in other scenes."""
    deck = list(cast.objects)
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
    rng: random.Random, scenes: tuple[Scene, ...], events: tuple[WorldEvent, ...], part: int, fps: int, cast: Cast
) -> tuple[SpokenLine, ...]:
    """Let a voice speak of some events, a third of the time with the wrong colour, and of the scenery."""
    spoken = sorted(rng.sample(range(len(events)), max(1, round(0.4 * len(events)))))
    wrong = set(rng.sample(spoken, round(len(spoken) / 3)))
    templates = rng.sample(cast.event_lines, len(spoken))  # each once a video, so that a question can quote a line
    said: list[tuple[int, int, str, str | None, bool]] = []
    for number, template in zip(spoken, templates, strict=True):
        event = events[number]
        others = [colour for colour, shape in cast.objects if shape == event.shape and colour != event.colour]
        name = f"{rng.choice(others) if number in wrong else event.colour} {event.shape}"
        text = template.format(object=with_article(name))
        first, last = _moment(rng, events, number, part, fps, text)
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
    rng: random.Random, events: tuple[WorldEvent, ...], number: int, part: int, fps: int, text: str
) -> tuple[int, int]:
    """Place a line over the middle of its event, and at most halfway to its neighbours and the ends of its part."""
    event = events[number]
    opening = round(event.start_s * fps) // part * part
    before = max([opening / fps, *(other.end_s for other in events[:number][-1:])])
    after = min([(opening + part) / fps, *(other.start_s for other in events[number + 1 :][:1])])
    low, high = math.ceil((before + event.start_s) / 2 * fps), math.floor((event.end_s + after) / 2 * fps)
    middle = math.floor((event.start_s + event.end_s) / 2 * fps)
    length = min(_line_frames(text, fps), high - low)
    first = rng.randint(max(low, middle - length + 1), min(middle, high - length))
    return first, first + length
