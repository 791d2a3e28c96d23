"""Timelines of hours, joined from short ones: a world's own clips, far apart, between clips from a bank.

All that is asked about happens in the world's own clips. The bank is the same for every world, so that its films are
made once; its clips come again and again, and hold no object, setting, caption or spoken line that is asked about.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from atlaskit.benchmarks.atlasworld.generator import CAPTION_WORDS, EVENT_LINES, EVERYTHING, Cast, write_script
from atlaskit.benchmarks.atlasworld.timeline import (
    COLOURS,
    LIGHTS,
    PLACES,
    SHAPES,
    Scene,
    Script,
    SpokenLine,
    WorldEvent,
)
from atlaskit.errors import InputError

OWN, BANK = 4, 4
"""How many clips are a world's own, and how many there are in the bank."""
CLIP_S = 150
"""Length of a clip, unless told otherwise: the shortest reel then lasts the 20 minutes at which single films end."""
SHORTEST_CLIP_S, LONGEST_CLIP_S = 10, 300

# A part of each kind that leaves no colour, shape, place, light or tone of voice to one side alone.
BANK_CAST = Cast(
    objects=tuple((c, s) for i, c in enumerate(COLOURS) for j, s in enumerate(SHAPES) if (i + j) % 4 == 0),
    settings=tuple((place, LIGHTS[i % len(LIGHTS)]) for i, place in enumerate(PLACES)),
    words=CAPTION_WORDS[::4],
    event_lines=EVENT_LINES[::3],
)
OWN_CAST = EVERYTHING.without(BANK_CAST)

_Part = TypeVar("_Part", Scene, WorldEvent, SpokenLine)


@dataclass(frozen=True)
class LongTimeline:
    """Clips, each filmed once, and the order in which they are shown."""

    seed: int
    clips: tuple[Script, ...]
    """The world's own clips, in the order in which they come, then the bank."""
    order: tuple[int, ...]
    """For each place on the reel, the index of the clip that is shown there."""

    @cached_property
    def script(self) -> Script:
        """The one timeline that the clips make; an event's id tells its place on the reel."""
        return join([self.clips[index] for index in self.order], self.seed)

    @property
    def asked(self) -> list[WorldEvent]:
        """The events of the world's own clips."""
        return [event for event in self.script.events if (event.colour, event.shape) in OWN_CAST.objects]


def write_reel(seed: int, duration_s: float, clip_s: int, *, fps: int, size: tuple[int, int]) -> LongTimeline:
    """Draw a world's own clips and the order of a reel from a seed; the duration is rounded down to whole clips.

    The own clips, and the order in which they come, depend on the seed and not on the duration. Raises InputError for
    a clip length that is not a whole 10 to 300 s, and for a duration that is too short for every clip to be shown.
    """
    if type(clip_s) is not int or not SHORTEST_CLIP_S <= clip_s <= LONGEST_CLIP_S:
        rule = f"a whole {SHORTEST_CLIP_S} to {LONGEST_CLIP_S} s"
        raise InputError(f"The clips of an AtlasWorld reel last {rule}, and {clip_s!r} s was asked for.")
    count = int(duration_s // clip_s)
    if count < OWN + BANK:
        least = f"{OWN + BANK} clips, {(OWN + BANK) * clip_s} s here"
        raise InputError(f"An AtlasWorld reel has at least {least}, and {duration_s:g} s was asked for.")
    whole = write_script(seed, OWN * clip_s, fps=fps, size=size, cast=OWN_CAST, parts=OWN)
    own = (_part(whole, number, seed * OWN + number) for number in range(OWN))
    bank = (write_script(number, clip_s, fps=fps, size=size, cast=BANK_CAST) for number in range(BANK))
    return LongTimeline(seed, (*own, *bank), _order(seed, count))


def join(clips: Sequence[Script], seed: int) -> Script:
    """Return the timeline of clips shown one after another; what it looks like is for the clips to say."""
    scenes: list[Scene] = []
    events: list[WorldEvent] = []
    lines: list[SpokenLine] = []
    fps, size, frames = clips[0].fps, clips[0].size, 0
    for place, clip in enumerate(clips):
        first, name = len(scenes), f"c{place:03}-{{}}".format
        scenes += [_moved(scene, frames, fps, index=first + scene.index) for scene in clip.scenes]
        events += [_moved(e, frames, fps, id=name(e.id), scene=first + e.scene) for e in clip.events]
        lines += [_moved(line, frames, fps, event=line.event and name(line.event)) for line in clip.lines]
        frames += clip.frame_count
    return Script(seed, frames / fps, fps, size, tuple(scenes), tuple(events), tuple(lines))


def _part(whole: Script, number: int, seed: int) -> Script:
    """Cut one of OWN equal parts out of a timeline; its film and its scenery go by a seed of their own."""
    fps, length = whole.fps, whole.frame_count // OWN
    first, start_s, end_s = number * length, number * length / fps, (number + 1) * length / fps
    scenes = [scene for scene in whole.scenes if start_s <= scene.start_s < end_s]
    before = scenes[0].index
    return Script(
        seed,
        length / fps,
        fps,
        whole.size,
        tuple(_moved(scene, -first, fps, index=scene.index - before) for scene in scenes),
        tuple(_moved(e, -first, fps, scene=e.scene - before) for e in whole.events if start_s <= e.start_s < end_s),
        tuple(_moved(line, -first, fps) for line in whole.lines if start_s <= line.start_s < end_s),
    )


def _moved(part: _Part, frames: int, fps: int, **changes: Any) -> _Part:
    """Move a part of a timeline by whole frames, so that its times stay exact."""
    start_s, end_s = ((round(t * fps) + frames) / fps for t in (part.start_s, part.end_s))
    return replace(part, start_s=start_s, end_s=end_s, **changes)


def _order(seed: int, count: int) -> tuple[int, ...]:
    """Place the own clips, in order and never side by side, and deal the bank over the rest, all of it in each turn."""
    rng = random.Random(f"atlasworld reel {seed}")
    apart = sorted(rng.sample(range(count - OWN + 1), OWN))
    own = {place + number: number for number, place in enumerate(apart)}
    dealt = (OWN + clip for _ in range(count) for clip in rng.sample(range(BANK), BANK))
    return tuple(own[place] if place in own else next(dealt) for place in range(count))
