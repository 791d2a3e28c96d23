"""`write_script`: draws a script from a seed: scenes, objects, motions and spoken lines.

One seed always gives the same script. This module does not know pixels, files or questions.
`Script` itself checks that a script is valid.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import cycle, islice, pairwise

from atlaskit.environment.question import with_article
from atlaskit.errors import InputError
from atlasworld.cast import CALM_LINES, EVERYTHING, PLACE_LINES, Cast
from atlasworld.timeline import (
    ENTRANCES,
    PLACES,
    Motion,
    Scene,
    Script,
    SpokenLine,
    WorldEvent,
    check_picture,
)

DEFAULT_FPS = 12
LONGEST_S = 1200.0
"""Longest script, in seconds; a longer one would have more events than there are objects.

Longer worlds are joined from clips (`long_timeline`).
"""

_GAP_S = 0.7  # smallest time between two events
# smallest time between an event and a cut: half the gap, so the gap also holds across a cut
_CUT_MARGIN_S = 0.35
_EVENT_S = (0.5, 30.0)  # shortest and longest event
_SCENE_S = (12.0, 40.0)  # shortest and longest scene
_BANNER_BAND = 0.24  # share of the height that the object leaves free if there is a caption
_EDGE = 0.03  # share of the frame that stays free at each edge


def write_script(
    seed: int,
    duration_s: float,
    *,
    fps: int = DEFAULT_FPS,
    size: tuple[int, int] = (640, 360),
    cast: Cast = EVERYTHING,
    parts: int = 1,
) -> Script:
    """Draw the script of a seed.

    Args:
        seed: Seed of everything that is drawn.
        duration_s: Duration in seconds, 10 to LONGEST_S.
        fps: Frames per second.
        size: Width and height of the frames, in pixels.
        cast: What the script is drawn from.
        parts: Number of equal parts into which the script can be divided. A new scene begins at the
            start of each part, no event or line extends into a second part, and each part is a
            whole number of frames.

    Raises:
        InputError: No AtlasWorld script can have this duration, frame rate or size.
    """
    check_picture(duration_s, fps, size)
    if duration_s > LONGEST_S:
        raise InputError(
            f"duration_s of one AtlasWorld script must be at most {LONGEST_S:g} s; got "
            f"{duration_s} s."
        )
    rng = random.Random(seed)
    part_frames = round(duration_s / parts * fps)
    scenes = _draw_scenes(rng, part_frames, parts, fps, cast)
    events = _draw_events(rng, scenes, fps, size, cast)
    lines = _draw_lines(rng, scenes, events, part_frames, fps, cast)
    return Script(seed, part_frames * parts / fps, fps, size, scenes, events, lines)


# --- scenes ---------------------------------------------------------------------------------------


def _draw_scenes(
    rng: random.Random, part_frames: int, parts: int, fps: int, cast: Cast
) -> tuple[Scene, ...]:
    cuts = [0]
    for start in range(0, part_frames * parts, part_frames):
        for cut in _draw_cuts(rng, part_frames, fps)[1:]:
            cuts.append(start + cut)
    settings = _draw_settings(rng, len(cuts) - 1, cast)
    scenes = list[Scene]()
    for (first, last), (place, light) in zip(pairwise(cuts), settings, strict=True):
        scenes.append(Scene(len(scenes), first / fps, last / fps, place, light))
    return tuple(scenes)


def _draw_cuts(rng: random.Random, frames: int, fps: int) -> list[int]:
    """Cut `[0, frames)` into scenes of 12 to 40 s, or a short video near its middle.

    Returns:
        The frames at which scenes begin, and the end of the last scene.
    """
    shortest = math.ceil(_SCENE_S[0] * fps)
    longest = math.floor(_SCENE_S[1] * fps)
    if frames < 2 * shortest:
        return [0, rng.randint(round(0.4 * frames), round(0.6 * frames)), frames]
    cuts = [0]
    left = frames
    while left > longest or len(cuts) == 1:
        # Only the last scene, which takes what is left, may last longer than 0.85 of the longest.
        cuts.append(cuts[-1] + rng.randint(shortest, min(round(0.85 * longest), left - shortest)))
        left = frames - cuts[-1]
    return [*cuts, frames]


def _draw_settings(rng: random.Random, count: int, cast: Cast) -> list[tuple[str, str]]:
    """Draw each scene's (place, light): neighbours differ in place, most settings occur once."""
    lights = dict[str, list[str]]()
    for place, light in cast.settings:
        lights.setdefault(place, []).append(light)
    for place in PLACES:
        lights[place] = rng.sample(lights[place], len(lights[place]))
    every_setting = list[tuple[str, str]]()
    for turn in range(len(cast.settings) // len(PLACES)):
        for place in rng.sample(PLACES, len(PLACES)):
            every_setting.append((place, lights[place][turn]))
    extra = max(0, count - len(every_setting))
    # A few settings, each in another place, recur about four times or more.
    repeated = every_setting[: min(len(PLACES), math.ceil(extra / 4))]
    settings = [*every_setting[:count], *islice(cycle(repeated), extra)]
    rng.shuffle(settings)
    return _separate_places(settings)


def _separate_places(settings: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Reorder settings so that neighbours differ in place; empties the given list."""
    order: list[tuple[str, str]] = []
    while settings:
        previous = order[-1][0] if order else None
        [(commonest, count)] = Counter(place for place, _ in settings).most_common(1)
        # A place in more than half of the settings left comes now, or two would end side by side.
        forced = commonest if 2 * count > len(settings) else None
        order.append(
            next(pair for pair in settings if pair[0] != previous and forced in (None, pair[0]))
        )
        settings.remove(order[-1])
    return order


# --- events ---------------------------------------------------------------------------------------


def _draw_events(
    rng: random.Random, scenes: tuple[Scene, ...], fps: int, size: tuple[int, int], cast: Cast
) -> tuple[WorldEvent, ...]:
    counts = _draw_event_counts(rng, scenes, cast.max_events)
    spans = list[tuple[int, int, int]]()
    for scene, count in zip(scenes, counts, strict=True):
        for first, last in _draw_event_spans(rng, scene, count, fps):
            spans.append((scene.index, first, last))
    # A video under two minutes may have too few scenes for an object that appears in several.
    objects = _draw_objects(rng, spans, cast, may_recur=scenes[-1].end_s >= 120)
    words = rng.sample(cast.words, len(cast.words))
    captioned = set(rng.sample(range(len(spans)), math.ceil(len(spans) / 2)))
    events = []
    for number, (span, (colour, shape)) in enumerate(zip(spans, objects, strict=True)):
        scene_index, first, last = span
        caption = caption_at = None
        if number in captioned:
            caption = words.pop() + rng.choice(("", "", f" {rng.randint(2, 99)}"))
            caption_at = rng.choice(("top", "bottom", "bottom"))
        motion = _draw_motion(rng, (last - first) / fps, size[0] / size[1], caption_at)
        events.append(
            WorldEvent(
                id=f"e{number:03}",
                scene=scene_index,
                start_s=first / fps,
                end_s=last / fps,
                colour=colour,
                shape=shape,
                caption=caption,
                caption_at=caption_at,
                motion=motion,
            )
        )
    return tuple(events)


def _draw_event_counts(rng: random.Random, scenes: tuple[Scene, ...], max_events: int) -> list[int]:
    """Draw each scene's number of events, 0 to 3, with at most `max_events` in all.

    Before this limit is applied, a scene is only empty if the scene before it is not and the
    earlier scenes hold more than one event on average.
    """
    counts: list[int] = []
    for scene in scenes:
        most = 1 if scene.end_s - scene.start_s < _SCENE_S[0] else 3
        least = 0 if sum(counts) > len(counts) and counts[-1] else 1
        counts.append(max(least, min(most, rng.choice((0, 0, 1, 1, 1, 2, 2, 2, 3, 3)))))
    while sum(counts) > max_events:
        fullest = [index for index, count in enumerate(counts) if count == max(counts)]
        counts[rng.choice(fullest)] -= 1
    return counts


def _draw_event_spans(
    rng: random.Random, scene: Scene, count: int, fps: int
) -> list[tuple[int, int]]:
    """Place events in a scene, as frames `[first, last)`: log-uniform lengths, random waits."""
    margin = math.ceil(_CUT_MARGIN_S * fps)
    gap = math.ceil(_GAP_S * fps)
    shortest = math.ceil(_EVENT_S[0] * fps)
    longest = math.floor(_EVENT_S[1] * fps)
    room = round((scene.end_s - scene.start_s) * fps) - 2 * margin - (count - 1) * gap
    lengths = list[int]()
    low, high = map(math.log, _EVENT_S)
    for _ in range(count):
        length = round(fps * math.exp(rng.uniform(low, high)))
        lengths.append(min(max(length, shortest), longest))
    while sum(lengths) > 0.9 * room:
        longest_event = lengths.index(max(lengths))
        lengths[longest_event] = max(shortest, lengths[longest_event] // 2)
    slack = room - sum(lengths)
    waits = sorted(rng.randint(0, slack) for _ in range(count))
    earliest = round(scene.start_s * fps) + margin
    spans = list[tuple[int, int]]()
    for wait, length in zip(waits, lengths, strict=True):
        first = earliest + wait
        spans.append((first, first + length))
        earliest += length + gap
    return spans


def _draw_objects(
    rng: random.Random, spans: list[tuple[int, int, int]], cast: Cast, *, may_recur: bool
) -> list[tuple[str, str]]:
    """Draw each event's object: all different, except for one or two that recur in other scenes."""
    deck = list(cast.objects)
    rng.shuffle(deck)
    objects: dict[int, tuple[str, str]] = {}
    recurrences = int(may_recur)
    if may_recur and len(spans) >= 10:
        recurrences = rng.choice((1, 2))
    for _ in range(recurrences):
        by_scene: dict[int, list[int]] = {}
        for number, (scene, _, _) in enumerate(spans):
            if number not in objects:
                by_scene.setdefault(scene, []).append(number)
        times = rng.randint(2, max(2, min(6, len(spans) // 4, len(by_scene))))
        recurring = deck.pop()
        for scene in rng.sample(sorted(by_scene), times):
            objects[rng.choice(by_scene[scene])] = recurring
    return [objects.get(number) or deck.pop() for number in range(len(spans))]


def _draw_motion(
    rng: random.Random, seconds: float, aspect: float, caption_at: str | None
) -> Motion:
    """Draw a slow path that keeps the whole object inside the frame and clear of its caption."""
    size = rng.uniform(0.30, 0.44)
    bob = rng.uniform(0.0, 0.025)
    reach_x = size / 2 / aspect + _EDGE
    reach_y = size / 2 + bob + _EDGE
    highest = reach_y + (_BANNER_BAND if caption_at == "top" else 0)
    lowest = 1 - reach_y - (_BANNER_BAND if caption_at == "bottom" else 0)
    travel = min(1 - 2 * reach_x, seconds * rng.uniform(0.06, 0.22))
    left = rng.uniform(reach_x, 1 - reach_x - travel)
    x0, x1 = rng.sample((left, left + travel), 2)
    y0 = rng.uniform(highest, lowest)
    y1 = min(max(y0 + rng.uniform(-0.1, 0.1) * min(1.0, seconds), highest), lowest)
    return Motion(
        size=round(size, 4),
        x0=round(x0, 4),
        y0=round(y0, 4),
        x1=round(x1, 4),
        y1=round(y1, 4),
        bob=round(bob, 4),
        bob_s=round(rng.uniform(1.6, 3.2), 2),
        tilt_deg=round(rng.uniform(-9, 9), 1),
        enter=rng.choice(ENTRANCES),
        leave=rng.choice(ENTRANCES),
    )


# --- spoken lines ---------------------------------------------------------------------------------

_LineFrames = tuple[int, int, str, str | None, bool]
"""A spoken line in frames: first, last (exclusive), text, event id, whether it is misleading."""


def _draw_lines(
    rng: random.Random,
    scenes: tuple[Scene, ...],
    events: tuple[WorldEvent, ...],
    part_frames: int,
    fps: int,
    cast: Cast,
) -> tuple[SpokenLine, ...]:
    """Draw lines about events; in 70 % of the scenes also one about the scenery, where it fits."""
    lines = _draw_event_lines(rng, events, part_frames, fps, cast)
    for scene in scenes:
        text = rng.choice((*PLACE_LINES[scene.place], *CALM_LINES))
        scene_first = round(scene.start_s * fps)
        scene_last = round(scene.end_s * fps)
        length = _spoken_frames(text, fps)
        first = rng.randint(scene_first, max(scene_first, scene_last - length))
        is_free = all(first + length < start or end < first for start, end, *_ in lines)
        if rng.random() < 0.7 and first + length <= scene_last and is_free:
            lines.append((first, first + length, text, None, False))
    lines.sort()
    spoken = list[SpokenLine]()
    for first, last, text, event_id, misleading in lines:
        spoken.append(SpokenLine(first / fps, last / fps, text, event_id, misleading))
    return tuple(spoken)


def _draw_event_lines(
    rng: random.Random, events: tuple[WorldEvent, ...], part_frames: int, fps: int, cast: Cast
) -> list[_LineFrames]:
    """Draw one line for each of 40 % of the events; a third of them name a wrong colour."""
    spoken = sorted(rng.sample(range(len(events)), max(1, round(0.4 * len(events)))))
    misleading = set(rng.sample(spoken, round(len(spoken) / 3)))
    # No template is used twice, so that a question can quote a line.
    templates = rng.sample(cast.event_lines, len(spoken))
    lines: list[_LineFrames] = []
    for number, template in zip(spoken, templates, strict=True):
        event = events[number]
        colour = event.colour
        if number in misleading:
            wrong = list[str]()
            for other, shape in cast.objects:
                if shape == event.shape and other != event.colour:
                    wrong.append(other)
            colour = rng.choice(wrong)
        text = template.format(object=with_article(f"{colour} {event.shape}"))
        first, last = _draw_line_span(rng, events, number, part_frames, fps, text)
        lines.append((first, last, text, event.id, number in misleading))
    return lines


def _spoken_frames(text: str, fps: int) -> int:
    """Return the time needed to read a line aloud, in frames."""
    return round((1.2 + 0.035 * len(text)) * fps)


def _draw_line_span(
    rng: random.Random,
    events: tuple[WorldEvent, ...],
    number: int,
    part_frames: int,
    fps: int,
    text: str,
) -> tuple[int, int]:
    """Place a line over the middle of its event, as frames `[first, last)`.

    It reaches at most halfway to the neighbouring events and to the ends of its part.
    """
    event = events[number]
    part_first = round(event.start_s * fps) // part_frames * part_frames
    before_s = part_first / fps
    if number > 0:
        before_s = max(before_s, events[number - 1].end_s)
    after_s = (part_first + part_frames) / fps
    if number + 1 < len(events):
        after_s = min(after_s, events[number + 1].start_s)
    low = math.ceil((before_s + event.start_s) / 2 * fps)
    high = math.floor((event.end_s + after_s) / 2 * fps)
    middle = math.floor((event.start_s + event.end_s) / 2 * fps)
    length = min(_spoken_frames(text, fps), high - low)
    first = rng.randint(max(low, middle - length + 1), min(middle, high - length))
    return first, first + length
