"""Anomalies: scripts in which all objects but one share a colour or a shape, and their questions.

Such a script differs from the ordinary script of its seed only in its objects: scenes, times,
motions and captions are the same. The draws use random streams of their own, so no other world
changes. No spoken line is about an object, because the line would name it.
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
"""Fewest objects of a world with an anomaly: fewer do not show what the others have in common."""
ODD = "ODD"
"""The category of the question in which scene the anomaly is."""
WHEN_ODD = "WHENODD"
"""The category of the question when the anomaly is shown."""
PREMISE = "All objects in this video but one have something in common."
TRAITS: dict[str, tuple[str, ...]] = {"colour": tuple(COLOURS), "shape": SHAPES}
"""The traits that objects can share, each with its values."""


@dataclass(frozen=True)
class Rule:
    """The colour or shape that all objects but one share, and the value of the odd one out."""

    trait: str
    """A key of TRAITS."""
    common: str
    """The value that all other objects have."""
    odd: str
    """The value of the odd one out."""
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
    """Draw the trait that a world's objects share, and which object of its own clips differs.

    Args:
        clips: The scripts of the world's clips.
        own: The indices of the world's own clips.
        seed: The world's seed.

    Raises:
        InputError: There are too few objects to show a rule, or no scene occurs exactly once.
    """
    rng = random.Random(f"atlasworld anomaly {seed}")
    scene_counts = Counter[str]()
    events = list[WorldEvent]()
    for clip in clips:
        scene_counts.update(names_of(clip.scenes))
        events += clip.events
    candidates = list[tuple[int, str]]()  # the clip and the id of each event that may be odd
    for number in own:
        for event in clips[number].events:
            scene = clips[number].scenes[event.scene]
            if scene_counts[scene.name] == 1:  # the right choice must name one scene
                candidates.append((number, event.id))
    first, second = rng.sample(sorted(TRAITS), 2)
    traits = list[str]()
    for trait, other in ((first, second), (second, first)):
        if not _odd_ones(events, other):  # else an object would be odd in the other trait too
            traits.append(trait)
    if len(events) < FEWEST or not candidates or not traits:
        duration_s = sum(clip.duration_s for clip in clips)
        raise InputError(
            f"An anomaly needs at least {FEWEST} objects, one of them in a scene that comes once; "
            f"world {seed} of {duration_s:g} s has {len(events)}: use a larger duration_s."
        )
    common, odd = rng.sample(TRAITS[traits[0]], 2)
    return Rule(traits[0], common, odd, *rng.choice(candidates))


def odd_event(script: Script) -> WorldEvent:
    """Return the one event whose object has another colour, or another shape, than all others.

    Raises:
        InputError: The script does not have exactly one such event.
    """
    odd = list[WorldEvent]()
    for trait in TRAITS:
        odd += _odd_ones(script.events, trait)
    if len(odd) != 1:
        raise InputError("This world has no anomaly: make it with anomaly=True.")
    return odd[0]


def write_odd(script: Script, scenes: Collection[str], count: int) -> tuple[Question, ...]:
    """Return up to two questions: in which scene the anomaly is, by choice, and when it is shown.

    The choices are scenes, because the names of four objects would show which one is odd.

    Args:
        script: The script of a world with an anomaly.
        scenes: The names of scenes for the wrong choices. If they are too few, scenes that the
            world does not have are added.
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
    present = names_of(script.scenes)
    all_names = map(" at ".join, product(PLACES, LIGHTS))
    absent = [name for name in all_names if name not in present]
    others = [*_shuffled(set(scenes) - {scene}, rng), *_shuffled(absent, rng)]
    names = _shuffled([scene, *others[: CHOICES - 1]], rng)
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
    """Return a list of the one event whose trait differs from all others'; [] if there is none.

    Of two different events, the first counts.
    """
    value_of = attrgetter(trait)
    values = Counter(map(value_of, events))
    if len(values) != 2 or min(values.values()) > 1:
        return []
    return [event for event in events if values[value_of(event)] == 1][:1]


def _shuffled(names: Collection[str], rng: random.Random) -> list[str]:
    return rng.sample(sorted(names), len(names))
