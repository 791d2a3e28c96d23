"""Scripts of up to ten hours: a world's own clips, and filler clips from a bank.

Every question is about the world's own clips. All worlds share the bank, so its videos are encoded
once. The clips of the bank repeat, and contain no object, scene, caption or spoken line that a
question asks about.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle
from typing import Any, TypeVar

from atlaskit.errors import InputError
from atlasworld.cast import CAPTION_WORDS, EVENT_LINES, EVERYTHING, Cast
from atlasworld.generator import write_script
from atlasworld.timeline import (
    COLOURS,
    LIGHTS,
    PLACES,
    SHAPES,
    Scene,
    Script,
    SpokenLine,
    WorldEvent,
)

OWN_CLIPS = 4
"""Number of a world's own clips."""
BANK_CLIPS = 4
"""Number of clips in the bank."""
CLIP_S = 150
"""Default length of a clip, in seconds.

The shortest long timeline then lasts 20 minutes, as long as the longest world without clips.
"""
SHORTEST_CLIP_S = 10
LONGEST_CLIP_S = 300


def _bank_objects() -> Iterator[tuple[str, str]]:
    """Yield a quarter of all objects, in which each colour and each shape occurs."""
    for row, colour in enumerate(COLOURS):
        for column, shape in enumerate(SHAPES):
            if (row + column) % 4 == 0:
                yield colour, shape


# The bank takes a part of all objects, scenes, words and lines; the worlds have the rest. Every
# colour, shape, place, light and tone of voice occurs in both casts, so none of them tells whether
# a clip is from the bank.
BANK_CAST = Cast(
    objects=tuple(_bank_objects()),
    settings=tuple(zip(PLACES, cycle(LIGHTS), strict=False)),
    words=CAPTION_WORDS[::4],
    event_lines=EVENT_LINES[::3],
)
OWN_CAST = EVERYTHING.without(BANK_CAST)

_Part = TypeVar("_Part", Scene, WorldEvent, SpokenLine)
_Clip = TypeVar("_Clip")


@dataclass(frozen=True)
class LongTimeline:
    """Distinct clips and the order in which they play."""

    seed: int
    clips: tuple[Script, ...]
    """The world's own clips in the order in which they play, then the clips of the bank."""
    order: tuple[int, ...]
    """For each position in the video, the index of the clip that plays there."""

    @cached_property
    def script(self) -> Script:
        """The joined script; the id of an event starts with its clip's position ("c017-e003")."""
        return join(played(self.clips, self.order), self.seed)

    @property
    def own_events(self) -> list[WorldEvent]:
        """The events of the world's own clips, in the joined script."""
        return [
            event for event in self.script.events if (event.colour, event.shape) in OWN_CAST.objects
        ]


def write_long_timeline(
    seed: int, duration_s: float, clip_s: int, *, fps: int, size: tuple[int, int]
) -> LongTimeline:
    """Draw a world's own clips and the order of all clips from a seed.

    The own clips and their order depend on `seed` and `clip_s`, not on `duration_s`.

    Args:
        seed: Seed of the own clips and of the order.
        duration_s: Duration in seconds, rounded down to whole clips.
        clip_s: Length of each clip in seconds.
        fps: Frames per second.
        size: Width and height of the frames, in pixels.

    Raises:
        InputError: `clip_s` is not an integer from 10 to 300, or `duration_s` is too short to play
            every clip once.
    """
    if type(clip_s) is not int or not SHORTEST_CLIP_S <= clip_s <= LONGEST_CLIP_S:
        limits = f"from {SHORTEST_CLIP_S} to {LONGEST_CLIP_S}"
        raise InputError(
            f"clip_s of an AtlasWorld video must be an integer {limits}; got {clip_s!r}."
        )
    count = int(duration_s // clip_s)
    fewest = OWN_CLIPS + BANK_CLIPS
    if count < fewest:
        least = f"at least {fewest} clips of {clip_s} s, {fewest * clip_s} s in all"
        raise InputError(
            f"duration_s of an AtlasWorld video made of clips must hold {least}; got "
            f"{duration_s:g} s."
        )
    whole = write_script(
        seed, OWN_CLIPS * clip_s, fps=fps, size=size, cast=OWN_CAST, parts=OWN_CLIPS
    )
    clips = list[Script]()
    for number in range(OWN_CLIPS):
        clips.append(_cut_part(whole, number, seed * OWN_CLIPS + number))
    for number in range(BANK_CLIPS):
        clips.append(write_script(number, clip_s, fps=fps, size=size, cast=BANK_CAST))
    return LongTimeline(seed, tuple(clips), _draw_order(seed, count))


def played(clips: Sequence[_Clip], order: Iterable[int]) -> list[_Clip]:
    """Return clips in the order in which they play."""
    return [clips[index] for index in order]


def join(clips: Sequence[Script], seed: int) -> Script:
    """Return the script of clips that play one after another.

    The script describes what happens and when. The frames must be drawn from the clips, since the
    seed of each clip determines its scenery.
    """
    scenes: list[Scene] = []
    events: list[WorldEvent] = []
    lines: list[SpokenLine] = []
    fps = clips[0].fps
    size = clips[0].size
    frames = 0
    for position, clip in enumerate(clips):
        first_scene = len(scenes)
        new_id = f"c{position:03}-{{}}".format
        for scene in clip.scenes:
            scenes.append(_shift(scene, frames, fps, index=first_scene + scene.index))
        for event in clip.events:
            changes = {"id": new_id(event.id), "scene": first_scene + event.scene}
            events.append(_shift(event, frames, fps, **changes))
        for line in clip.lines:
            event_id = line.event
            if event_id:
                event_id = new_id(event_id)
            lines.append(_shift(line, frames, fps, event=event_id))
        frames += clip.frame_count
    return Script(seed, frames / fps, fps, size, tuple(scenes), tuple(events), tuple(lines))


def _cut_part(whole: Script, number: int, seed: int) -> Script:
    """Cut one of OWN_CLIPS equal parts out of a script; `seed` determines its scenery."""
    fps = whole.fps
    length = whole.frame_count // OWN_CLIPS
    first_frame = number * length
    start_s = number * length / fps
    end_s = (number + 1) * length / fps
    inside = [scene for scene in whole.scenes if start_s <= scene.start_s < end_s]
    first_scene = inside[0].index
    scenes = list[Scene]()
    for scene in inside:
        scenes.append(_shift(scene, -first_frame, fps, index=scene.index - first_scene))
    events = list[WorldEvent]()
    for event in whole.events:
        if start_s <= event.start_s < end_s:
            events.append(_shift(event, -first_frame, fps, scene=event.scene - first_scene))
    lines = list[SpokenLine]()
    for line in whole.lines:
        if start_s <= line.start_s < end_s:
            lines.append(_shift(line, -first_frame, fps))
    size = whole.size
    return Script(seed, length / fps, fps, size, tuple(scenes), tuple(events), tuple(lines))


def _shift(part: _Part, frames: int, fps: int, **changes: Any) -> _Part:
    """Shift a part of a script by whole frames, so that its times stay exact frame times."""
    start_s = (round(part.start_s * fps) + frames) / fps
    end_s = (round(part.end_s * fps) + frames) / fps
    return replace(part, start_s=start_s, end_s=end_s, **changes)


def _draw_order(seed: int, count: int) -> tuple[int, ...]:
    """Draw which clip plays at each of `count` positions.

    The own clips keep their order and never play side by side. The bank fills the other positions,
    shuffled anew whenever all its clips have played.
    """
    rng = random.Random(f"atlasworld reel {seed}")
    # How many bank clips play before each own clip; no two own clips have the same number.
    bank_before = sorted(rng.sample(range(count - OWN_CLIPS + 1), OWN_CLIPS))
    own = {before + number: number for number, before in enumerate(bank_before)}
    order = list[int]()
    bank = list[int]()
    for position in range(count):
        if position in own:
            order.append(own[position])
            continue
        if not bank:
            bank = rng.sample(range(BANK_CLIPS), BANK_CLIPS)
        order.append(OWN_CLIPS + bank.pop(0))
    return tuple(order)
