"""Anomalies: scripts in which all objects but one share a colour or a shape, and their questions.

Such a script equals the one of the same seed except for its objects: scenes, times, motions and
captions stay. The draws use random streams of their own, so no other world changes. No spoken line
is about an object, because the line would name it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter
from typing import Any

from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlasworld.timeline import (
    COLOURS,
    LIGHTS,
    PLACES,
    SHAPES,
    Script,
    WorldEvent,
    names_of,
    span_of,
)

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
    """The colour or shape that all objects but one share, and the value of the odd one out."""

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
        scripts = list[Script]()
        for index, clip in enumerate(clips):
            odd_id = self.event if index == self.clip else ""
            scripts.append(self._applied(clip, odd_id))
        return tuple(scripts)

    def _applied(self, script: Script, odd_id: str) -> Script:
        events = list[WorldEvent]()
        for event in script.events:
            changes: dict[str, Any] = {self.trait: self.common}
            if event.id == odd_id:
                changes[self.trait] = self.odd
            events.append(replace(event, **changes))
        lines = tuple(line for line in script.lines if line.event is None)
        return replace(script, events=tuple(events), lines=lines)


def draw_rule(clips: Sequence[Script], own: Collection[int], seed: int) -> Rule:
    """Draw the trait that a world's objects share, and the object of its own clips that differs.

    Args:
        clips: The scripts of the world's clips.
        own: The indices of the world's own clips.
        seed: The world's seed.

    Raises:
        InputError: There are too few objects to show a rule, or no scene occurs exactly once.
    """
    rng = random.Random(f"atlasworld anomaly {seed}")
    settings = Counter[str]()
    events = list[WorldEvent]()
    for clip in clips:
        settings.update(names_of(clip.scenes))
        events += clip.events
    places = list[tuple[int, str]]()
    for number in own:
        for event in clips[number].events:
            scene = clips[number].scenes[event.scene]
            if settings[scene.name] == 1:  # the right choice must name one scene
                places.append((number, event.id))
    first, second = rng.sample(sorted(TRAITS), 2)
    traits = list[str]()
    for trait, other in ((first, second), (second, first)):
        if not _odd_ones(events, other):
            traits.append(trait)
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
    odd = list[WorldEvent]()
    for trait in TRAITS:
        odd += _odd_ones(script.events, trait)
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
    span = span_of(event)
    rng = random.Random(f"atlasworld anomaly choices {script.seed}")
    shown = names_of(script.scenes)
    settings = map(" at ".join, product(PLACES, LIGHTS))
    absent = [name for name in settings if name not in shown]
    others = [*_shuffled(set(scenes) - {scene}, rng), *_shuffled(absent, rng)][: CHOICES - 1]
    names = _shuffled([scene, *others], rng)
    choices = list[str]()
    for name in names:
        place, light = name.split(" at ")
        choices.append(f"the {place} scene at {light}")
    where = f"{PREMISE} In which scene is that one?"
    when = f"{PREMISE} When is that one on screen?"
    id = f"atlasworld-{script.seed}-odd"
    by_choice = Question(
        where,
        tuple(choices),
        answer=names.index(scene),
        id=f"{id}-000",
        category=ODD,
        positions_s=(span,),
    )
    by_time = Question(
        when,
        kind="when",
        answer=span,
        id=f"{id}-001",
        category=WHEN_ODD,
        positions_s=(span,),
    )
    return (by_choice, by_time)[:count]


def _odd_ones(events: Sequence[WorldEvent], trait: str) -> list[WorldEvent]:
    """Return the one event that lacks what all others share, in a list; [] if there is none."""
    value_of = attrgetter(trait)
    values = Counter(map(value_of, events))
    if len(values) != 2 or min(values.values()) > 1:
        return []
    return [event for event in events if values[value_of(event)] == 1][:1]


def _shuffled(names: Collection[str], rng: random.Random) -> list[str]:
    return rng.sample(sorted(names), len(names))
