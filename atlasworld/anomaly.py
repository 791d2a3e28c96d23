"""Anomalies: scripts in which all objects but one share a colour or a shape, and what is asked of
them.

Such a script is the one of the same seed with other objects: scenes, times, motions and captions
stay. The draws come from random streams of their own, so no other world changes. The voice says
nothing of the objects, because it would name them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlasworld.timeline import COLOURS, LIGHTS, PLACES, SHAPES, Script, WorldEvent

CHOICES = 4
"""Number of choices of a question."""
FEWEST = 4
"""Fewest objects of a world with an anomaly: with fewer, nothing shows what is the rule."""
ODD, WHEN_ODD = "ODD", "WHENODD"
"""The categories of the two questions about an anomaly."""
PREMISE = "All objects in this video but one have something in common."
TRAITS: dict[str, tuple[str, ...]] = {"colour": tuple(COLOURS), "shape": SHAPES}
"""What objects can have in common, and its values."""


@dataclass(frozen=True)
class Rule:
    """What all objects of a world have in common but one, and what that one has instead."""

    trait: str
    """A key of TRAITS."""
    common: str
    odd: str
    clip: int
    """Index of the clip that holds the anomaly."""
    event: str
    """Id of the anomaly in that clip."""

    def applied(self, clips: Sequence[Script]) -> tuple[Script, ...]:
        """Return a world's clips with the objects that the rule gives them."""
        return tuple(
            self._applied(clip, self.event if index == self.clip else "")
            for index, clip in enumerate(clips)
        )

    def _applied(self, script: Script, odd_id: str) -> Script:
        values: list[dict[str, Any]] = [
            {self.trait: self.odd if e.id == odd_id else self.common} for e in script.events
        ]
        events = (
            replace(event, **value) for event, value in zip(script.events, values, strict=True)
        )
        return replace(
            script,
            events=tuple(events),
            lines=tuple(line for line in script.lines if line.event is None),
        )


def draw_rule(clips: Sequence[Script], own: Collection[int], seed: int) -> Rule:
    """Draw what a world's objects have in common, and which object of its own clips has not.

    Args:
        clips: The scripts of the world's clips.
        own: The indices of the world's own clips.
        seed: The world's seed.

    Raises:
        InputError: There are too few objects for a rule to show, or no scene that comes once.
    """
    rng = random.Random(f"atlasworld anomaly {seed}")
    settings = Counter(scene.name for clip in clips for scene in clip.scenes)
    events = [event for clip in clips for event in clip.events]
    places = [
        (number, event.id)
        for number in own
        for event in clips[number].events
        if settings[clips[number].scenes[event.scene].name]
        == 1  # the right choice must name one scene
    ]
    traits = [
        trait for trait in rng.sample(sorted(TRAITS), 2) if not _odd_ones(events, _other(trait))
    ]
    if len(events) < FEWEST or not places or not traits:
        duration_s = sum(clip.duration_s for clip in clips)
        raise InputError(
            f"An anomaly needs at least {FEWEST} objects, one of them in a scene that comes once; "
            f"world {seed} of {duration_s:g} s has {len(events)}: use a larger duration_s."
        )
    common, odd = rng.sample(TRAITS[traits[0]], 2)
    return Rule(traits[0], common, odd, *rng.choice(places))


def odd_event(script: Script) -> WorldEvent:
    """Return the one event whose object has another colour, or another shape, than all others.

    Raises:
        InputError: The script has no such event.
    """
    odd = [event for trait in TRAITS for event in _odd_ones(script.events, trait)]
    if len(odd) != 1:
        raise InputError("This world has no anomaly: make it with anomaly=True.")
    return odd[0]


def write_odd(script: Script, scenes: Collection[str], count: int) -> tuple[Question, ...]:
    """Return up to two questions: in which scene the anomaly is, by choice, and when it is shown.

    The choices are scenes: of four objects, the names would tell which one is odd.

    Args:
        script: The script of a world with an anomaly.
        scenes: The names of the scenes that the choices are taken from, before others that the
            world does not have.
        count: Largest number of questions.

    Raises:
        InputError: The script has no anomaly, or `count` is below 1.
    """
    if count < 1:
        raise InputError(f"questions must be at least 1; got {count}.")
    event = odd_event(script)
    scene = script.scenes[event.scene].name
    span = (event.start_s, event.end_s)
    rng = random.Random(f"atlasworld anomaly choices {script.seed}")
    shown = {each.name for each in script.scenes}
    absent = [
        name
        for name in (f"{place} at {light}" for place in PLACES for light in LIGHTS)
        if name not in shown
    ]
    others = [*_shuffled(set(scenes) - {scene}, rng), *_shuffled(absent, rng)][: CHOICES - 1]
    names = _shuffled([scene, *others], rng)
    choices = tuple(
        f"the {place} scene at {light}" for place, light in (name.split(" at ") for name in names)
    )
    where = f"{PREMISE} In which scene is that one?"
    when = f"{PREMISE} When is that one on screen?"
    id = f"atlasworld-{script.seed}-odd"
    return (
        Question(
            where,
            choices,
            answer=names.index(scene),
            id=f"{id}-000",
            category=ODD,
            positions_s=(span,),
        ),
        Question(
            when, kind="when", answer=span, id=f"{id}-001", category=WHEN_ODD, positions_s=(span,)
        ),
    )[:count]


def _odd_ones(events: Sequence[WorldEvent], trait: str) -> list[WorldEvent]:
    """Return the one event that lacks what all others share, in a list; [] if there is none."""
    values = Counter(getattr(event, trait) for event in events)
    if len(values) != 2 or min(values.values()) > 1:
        return []
    return [event for event in events if values[getattr(event, trait)] == 1][:1]


def _other(trait: str) -> str:
    return next(other for other in TRAITS if other != trait)


def _shuffled(names: Collection[str], rng: random.Random) -> list[str]:
    return rng.sample(sorted(names), len(names))
