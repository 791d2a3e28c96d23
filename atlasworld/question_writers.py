"""Writers of questions: one for each category, for some also one about what a script lacks.

`Askable` holds the parts of a script that questions may name. A writer returns a question, or None
if the script has nothing to ask about in the writer's category. The first choice of a question is
the right one; if the answer is ABSENT, no choice is right. The texts and the order of random draws
are frozen: the same seed must always give the same questions.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

from atlaskit.environment.question import ABSENT, Question, Span, with_article
from atlasworld.cast import CAPTION_WORDS, EVENT_LINES, OBJECT_NAMES
from atlasworld.timeline import (
    COLOURS,
    Scene,
    Script,
    SpokenLine,
    WorldEvent,
    by_id,
    names_of,
    span_of,
)

CHOICES = 4
"""Number of choices of a question."""


@dataclass(frozen=True)
class Askable:
    """A script and those of its events that questions may ask about.

    "Unique" always means unique in the whole script, not only among `events`.
    """

    script: Script
    events: tuple[WorldEvent, ...]

    @cached_property
    def appearances(self) -> Counter[str]:
        """Number of events in which each object appears, by the object's name."""
        return Counter(names_of(self.script.events))

    @cached_property
    def unique_events(self) -> list[WorldEvent]:
        """The events whose object appears in no other event."""
        return [event for event in self.events if self.appearances[event.name] == 1]

    @cached_property
    def unique_scenes(self) -> list[tuple[Scene, list[WorldEvent]]]:
        """The scenes of `events` whose setting is unique, each with all its events."""
        scenes = self.script.scenes
        by_scene: dict[int, list[WorldEvent]] = {event.scene: [] for event in self.events}
        for event in self.script.events:
            if event.scene in by_scene:
                by_scene[event.scene].append(event)
        settings = Counter(names_of(scenes))
        unique = list[tuple[Scene, list[WorldEvent]]]()
        for index, events in sorted(by_scene.items()):
            if settings[scenes[index].name] == 1:
                unique.append((scenes[index], events))
        return unique

    @cached_property
    def unique_lines(self) -> list[tuple[SpokenLine, WorldEvent]]:
        """The lines spoken once, during their own event and no other, each with that event."""
        events = by_id(self.events)
        texts = Counter(line.text for line in self.script.lines)
        unique = list[tuple[SpokenLine, WorldEvent]]()
        for line in self.script.lines:
            event = events.get(line.event or "")  # a line may be about no event
            if event and texts[line.text] == 1 and self._events_during(line) == [event]:
                unique.append((line, event))
        return unique

    def _events_during(self, line: SpokenLine) -> list[WorldEvent]:
        events = self.script.events
        return [e for e in events if e.start_s < line.end_s and line.start_s < e.end_s]

    def misleading_colour(self, event: WorldEvent) -> str | None:
        """Return the wrong colour that a misleading line gives an event's object, or None."""
        for line in self.script.lines:
            if line.event == event.id and line.misleading:
                return next(colour for colour in COLOURS if f"{colour} {event.shape}" in line.text)
        return None


def object_in_scene(askable: Askable, rng: random.Random) -> Question | None:
    """S2O: which object appears in a described scene."""
    if not askable.unique_scenes:
        return None
    scene, events = rng.choice(askable.unique_scenes)
    event = rng.choice(events)
    text = f"Which of these objects appears in {_scene_phrase(scene)}?"
    others = _other_objects(askable, set(names_of(events)), rng)
    return _draft(text, with_article(event.name), map(with_article, others), [span_of(event)])


def colour_in_scene(askable: Askable, rng: random.Random) -> Question | None:
    """S2A: the colour of an object in a described scene; a misleading line's colour is a choice."""
    candidates = list[tuple[Scene, WorldEvent]]()
    for scene, events in askable.unique_scenes:
        shapes = Counter(event.shape for event in events)
        candidates += [(scene, event) for event in events if shapes[event.shape] == 1]
    if not candidates:
        return None
    scene, event = rng.choice(candidates)
    misleading = askable.misleading_colour(event)
    wrong = [colour for colour in COLOURS if colour not in (event.colour, misleading)]
    distractors = rng.sample(wrong, CHOICES - 1)
    if misleading:
        distractors = [misleading, *distractors[:-1]]
    text = f"What colour is the {event.shape} that appears in {_scene_phrase(scene)}?"
    return _draft(
        text, event.colour, distractors, [span_of(event)], misleading=misleading is not None
    )


def text_during(askable: Askable, rng: random.Random) -> Question | None:
    """OCR: the text on screen while an object is visible."""
    events = [event for event in askable.unique_events if event.caption]
    if not events:
        return None
    event = rng.choice(events)
    shown = [other.caption for other in askable.events if other.caption and other is not event]
    never_shown = [word for word in CAPTION_WORDS if word != event.caption and word not in shown]
    distractors = [*_sample(shown, rng), *_sample(never_shown, rng)]
    text = f"What text is on screen while the {event.name} is visible?"
    return _draft(text, event.caption or "", distractors[: CHOICES - 1], [span_of(event)])


def neighbour(askable: Askable, rng: random.Random) -> Question | None:
    """O3O: which object appears right after, or right before, another one."""
    ids = by_id(askable.events)
    unique = by_id(askable.unique_events)
    after = list[tuple[WorldEvent, WorldEvent, str]]()
    before = list[tuple[WorldEvent, WorldEvent, str]]()
    for a, b in pairwise(askable.script.events):
        if a.id not in ids or b.id not in ids or a.name == b.name:
            continue
        if a.id in unique:
            after.append((a, b, "after"))
        if b.id in unique:
            before.append((b, a, "before"))
    if not after and not before:
        return None
    anchor, event, side = rng.choice(after + before)
    text = f"Which object appears right {side} the {anchor.name}?"
    others = _other_objects(askable, {anchor.name, event.name}, rng)
    return _draft(
        text, with_article(event.name), map(with_article, others), [span_of(event), span_of(anchor)]
    )


def first_of(askable: Askable, rng: random.Random) -> Question | None:
    """SSS: which of several objects appears first."""
    if len(askable.unique_events) < CHOICES:
        return None
    first, *later = sorted(
        rng.sample(askable.unique_events, CHOICES), key=lambda event: event.start_s
    )
    shown = (first, *later)
    names = list(map(with_article, sorted(names_of(shown))))
    text = f"Which appears first in the video: {', '.join(names[:-1])}, or {names[-1]}?"
    distractors = map(with_article, names_of(later))
    return _draft(text, with_article(first.name), distractors, map(span_of, shown))


def how_often(askable: Askable, rng: random.Random) -> Question | None:
    """COUNT: how many times an object appears; half of the time one that recurs."""
    names = list(dict.fromkeys(names_of(askable.events)))
    recurring = [name for name in names if askable.appearances[name] > 1]
    is_recurring = bool(recurring) and rng.random() < 0.5
    name = rng.choice(recurring if is_recurring else sorted(names))  # this order is frozen too
    count = askable.appearances[name]
    wrong = [*range(1, count), *range(count + 1, count + CHOICES)]
    spans = [span_of(event) for event in askable.script.events if event.name == name]
    text = f"How many times does {with_article(name)} appear in the video?"
    return _draft(text, str(count), map(str, rng.sample(wrong, CHOICES - 1)), spans)


def object_when_said(askable: Askable, rng: random.Random) -> Question | None:
    """T2O: which object is visible while a line is spoken; the line may name a wrong colour."""
    if not askable.unique_lines:
        return None
    line, event = rng.choice(askable.unique_lines)
    # Without a misleading line the colour is None, and no object has this name.
    misleading_name = f"{askable.misleading_colour(event)} {event.shape}"
    distractors = _other_objects(askable, {event.name, misleading_name}, rng)
    if line.misleading:
        distractors = [misleading_name, *distractors][: CHOICES - 1]
    text = f"Which object is on screen when the voice says “{line.text}”?"
    spans = [span_of(event)]
    wrong = map(with_article, distractors)
    return _draft(text, with_article(event.name), wrong, spans, misleading=line.misleading)


def when(askable: Askable, rng: random.Random) -> Question | None:
    """WHEN: the interval during which an object is visible."""
    if not askable.unique_events:
        return None
    event = rng.choice(askable.unique_events)
    span = span_of(event)
    return Question(
        f"When is the {event.name} on screen?", kind="when", answer=span, positions_s=(span,)
    )


def without_choices(askable: Askable, rng: random.Random) -> Question | None:
    """OPEN: a colour or a text on screen, without choices."""
    draft = rng.choice((colour_in_scene, text_during))(askable, rng)
    return None if draft is None else draft.without_choices()


def tally(askable: Askable, rng: random.Random) -> Question | None:
    """TALLY: how many times an object appears, without choices."""
    draft = how_often(askable, rng)
    return None if draft is None else draft.without_choices()


def when_never(askable: Askable, rng: random.Random) -> Question | None:
    """WHEN about an object that never appears."""
    name = _never_shown(askable, rng)
    return Question(f"When is the {name} on screen?", kind="when", answer=ABSENT)


def text_never(askable: Askable, rng: random.Random) -> Question | None:
    """OCR about an object that never appears; the choices are texts that are on screen."""
    shown = sorted({event.caption for event in askable.events if event.caption})
    if len(shown) < CHOICES:
        return None
    text = f"What text is on screen while the {_never_shown(askable, rng)} is visible?"
    return Question(text, tuple(rng.sample(shown, CHOICES)), answer=ABSENT)


def never_said(askable: Askable, rng: random.Random) -> Question | None:
    """T2O about a line that is never spoken; the choices are objects that appear."""
    said = {line.text for line in askable.script.lines}
    shown = sorted(askable.appearances)
    unsaid = list[str]()
    for line, name in product(EVENT_LINES, shown):
        text = line.format(object=with_article(name))
        if text not in said:
            unsaid.append(text)
    if not unsaid or len(shown) < CHOICES:
        return None
    text = f"Which object is on screen when the voice says “{rng.choice(unsaid)}”?"
    return Question(text, tuple(map(with_article, rng.sample(shown, CHOICES))), answer=ABSENT)


def tally_of_none(askable: Askable, rng: random.Random) -> Question | None:
    """TALLY of an object that never appears: 0."""
    name = _never_shown(askable, rng)
    return Question(
        f"How many times does {with_article(name)} appear in the video?", kind="count", answer=0
    )


def _never_shown(askable: Askable, rng: random.Random) -> str:
    """Return an object that never appears; every cast leaves some out."""
    return rng.choice([name for name in OBJECT_NAMES if name not in askable.appearances])


def summary(askable: Askable, rng: random.Random) -> Question | None:
    """SUM: the objects that appear in a described scene, in order of time."""
    busy = [(scene, events) for scene, events in askable.unique_scenes if len(events) > 1]
    if not busy:
        return None
    scene, events = rng.choice(busy)
    text = f"Summarise what appears in {_scene_phrase(scene)}, in order."
    answer = summary_of(names_of(events))
    return Question(text, kind="summary", answer=answer, positions_s=tuple(map(span_of, events)))


def summary_of(names: Iterable[str]) -> str:
    """Return a sentence that lists objects in the given order."""
    return f"There is {', then '.join(map(with_article, names))}."


def _draft(
    text: str, right: str, wrong: Iterable[str], spans: Iterable[Span], misleading: bool = False
) -> Question:
    """Return a question whose first choice is the right one."""
    return Question(
        text, (right, *wrong), answer=0, positions_s=tuple(spans), misleading_subtitle=misleading
    )


def _other_objects(askable: Askable, names: set[str], rng: random.Random) -> list[str]:
    """Return distractors, none of them in `names`: objects that appear, then some that never do."""
    seen = sorted(askable.appearances.keys() - names)
    unseen = sorted(set(OBJECT_NAMES) - names - set(seen))
    return [*_sample(seen, rng), *_sample(unseen, rng)][: CHOICES - 1]


def _sample(pool: Sequence[str], rng: random.Random) -> list[str]:
    """Return random items of a pool, at most as many as a question has wrong choices."""
    return rng.sample(pool, min(len(pool), CHOICES - 1))


def _scene_phrase(scene: Scene) -> str:
    """Return how a question names a scene: "the snow scene at dawn"."""
    return f"the {scene.place} scene at {scene.light}"
