"""Questions about a script, with their true answers and where in the video the evidence lies.

Each category is one function of the script and a random generator, in the table WRITERS under LongVideoBench's code
where one fits: S2O, S2A, T2O, O3O, SSS; a code of our own where none does: OCR, COUNT, WHEN, and OPEN, TALLY and SUM,
which have no choices and are asked only on demand. Knows nothing of pixels or models.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from atlaskit.benchmarks.atlasworld.generator import CAPTION_WORDS
from atlaskit.benchmarks.atlasworld.timeline import COLOURS, SHAPES, Scene, Script, SpokenLine, WorldEvent
from atlaskit.environment.question import Question, Span, with_article
from atlaskit.errors import InputError

CHOICES = 4
TRIES = 30
"""How often a kind is tried for a question that was not asked yet before it counts as used up."""


@dataclass(frozen=True)
class Askable:
    """A timeline, and those of its events that may be asked about; what is unique is so in the whole timeline."""

    script: Script
    asked: tuple[WorldEvent, ...]

    @cached_property
    def counts(self) -> Counter[str]:
        """How many times each object appears."""
        return Counter(event.name for event in self.script.events)

    @cached_property
    def objects(self) -> list[WorldEvent]:
        """The events whose object appears in no other."""
        return [event for event in self.asked if self.counts[event.name] == 1]

    @cached_property
    def scenes(self) -> list[tuple[Scene, list[WorldEvent]]]:
        """The scenes that no other resembles, with the events in each."""
        script = self.script
        inside: dict[int, list[WorldEvent]] = {event.scene: [] for event in self.asked}
        for event in script.events:
            if event.scene in inside:
                inside[event.scene].append(event)
        names = Counter(scene.name for scene in script.scenes)
        return [(script.scenes[i], events) for i, events in sorted(inside.items()) if names[script.scenes[i].name] == 1]

    @cached_property
    def lines(self) -> list[tuple[SpokenLine, WorldEvent]]:
        """The lines that are spoken once, while the object they are about is on screen and no other."""
        events = {event.id: event for event in self.asked}
        quoted = Counter(line.text for line in self.script.lines)
        return [
            (line, events[line.event])
            for line in self.script.lines
            if line.event in events and quoted[line.text] == 1 and self._during(line) == [events[line.event]]
        ]

    def _during(self, line: SpokenLine) -> list[WorldEvent]:
        return [e for e in self.script.events if e.start_s < line.end_s and line.start_s < e.end_s]


def write_questions(
    script: Script,
    count: int,
    seed: int = 0,
    asked: Iterable[WorldEvent] | None = None,
    categories: Sequence[str] | None = None,
) -> tuple[Question, ...]:
    """Return up to `count` different questions, the categories taking turns; the same for the same script and seed.

    `asked` are the events that may be asked about, in order of time; all of them, if not given. A short video has
    fewer questions: each object and scene is asked about where the answer is unique. Raises InputError for a count
    below 1, and for an unknown category.
    """
    categories = CATEGORIES if categories is None else categories
    if count < 1:
        raise InputError(f"Ask for at least one question, got {count}.")
    if not categories or not set(categories) <= WRITERS.keys():
        raise InputError(f"AtlasWorld asks questions of the categories {', '.join(WRITERS)}; got {categories!r}.")
    material = Askable(script, script.events if asked is None else tuple(asked))
    rng = random.Random(f"atlasworld questions {script.seed} {seed}")
    questions: dict[str, Question] = {}
    kinds = list(categories)
    while kinds and len(questions) < count:
        for kind in list(kinds):
            question = _new_question(material, kind, rng, questions)
            if question is None:
                kinds.remove(kind)
            elif len(questions) < count:
                questions[question.text] = question
    return tuple(questions.values())


def _new_question(material: Askable, kind: str, rng: random.Random, asked: dict[str, Question]) -> Question | None:
    for _ in range(TRIES):
        draft = WRITERS[kind](material, rng)
        if draft is None:
            return None
        if draft.text not in asked:
            return _shuffled(draft, f"atlasworld-{material.script.seed}-{len(asked):03d}", kind, rng)
    return None


def _shuffled(draft: Question, id: str, kind: str, rng: random.Random) -> Question:
    """Give a question, whose first choice is the right one, its name and place its answer at random."""
    order = rng.sample(range(len(draft.choices)), len(draft.choices))
    return Question(
        draft.text,
        tuple(draft.choices[i] for i in order),
        draft.kind,
        order.index(0) if draft.kind == "choice" else draft.answer,
        id,
        kind,
        draft.positions_s,
        misleading_subtitle=draft.misleading_subtitle,
    )


def _object_in_scene(material: Askable, rng: random.Random) -> Question | None:
    """S2O: which object appears in a described scene."""
    if not material.scenes:
        return None
    scene, events = rng.choice(material.scenes)
    event = rng.choice(events)
    text = f"Which of these objects appears in {_the(scene)}?"
    others = _other_objects(material, {event.name for event in events}, rng)
    return _draft(text, with_article(event.name), map(with_article, others), [_span(event)])


def _colour_in_scene(material: Askable, rng: random.Random) -> Question | None:
    """S2A: the colour of an object in a described scene; a misleading line about it is told as such."""
    candidates = [
        (scene, event)
        for scene, events in material.scenes
        for event in events
        if sum(other.shape == event.shape for other in events) == 1
    ]
    if not candidates:
        return None
    scene, event = rng.choice(candidates)
    lie = _lie_about(material.script, event)
    wrong = [colour for colour in COLOURS if colour not in (event.colour, lie)]
    distractors = [*([lie] if lie else []), *rng.sample(wrong, CHOICES - 1)][: CHOICES - 1]
    text = f"What colour is the {event.shape} that appears in {_the(scene)}?"
    return _draft(text, event.colour, distractors, [_span(event)], misleading=lie is not None)


def _text_during(material: Askable, rng: random.Random) -> Question | None:
    """OCR: the text on screen while an object is there."""
    events = [event for event in material.objects if event.caption]
    if not events:
        return None
    event = rng.choice(events)
    written = [other.caption for other in material.asked if other.caption and other is not event]
    unwritten = [word for word in CAPTION_WORDS if word != event.caption and word not in written]
    distractors = [*_some(written, rng), *_some(unwritten, rng)]
    text = f"What text is on screen while the {event.name} is visible?"
    return _draft(text, event.caption or "", distractors[: CHOICES - 1], [_span(event)])


def _neighbour(material: Askable, rng: random.Random) -> Question | None:
    """O3O: what appears right after, or right before, an object; both may be asked about."""
    asked, unique = ({event.id for event in events} for events in (material.asked, material.objects))
    both = [(a, b) for a, b in pairwise(material.script.events) if {a.id, b.id} <= asked and a.name != b.name]
    pairs = [(a, b, "after") for a, b in both if a.id in unique]
    pairs += [(b, a, "before") for a, b in both if b.id in unique]
    if not pairs:
        return None
    anchor, event, side = rng.choice(pairs)
    text = f"Which object appears right {side} the {anchor.name}?"
    others = _other_objects(material, {anchor.name, event.name}, rng)
    return _draft(text, with_article(event.name), map(with_article, others), [_span(event), _span(anchor)])


def _first_of(material: Askable, rng: random.Random) -> Question | None:
    """SSS: which of several objects appears first."""
    if len(material.objects) < CHOICES:
        return None
    first, *later = sorted(rng.sample(material.objects, CHOICES), key=lambda event: event.start_s)
    listed = sorted([first.name, *(event.name for event in later)])
    text = (
        f"Which appears first in the video: {', '.join(map(with_article, listed[:-1]))}, or {with_article(listed[-1])}?"
    )
    return _draft(
        text,
        with_article(first.name),
        [with_article(event.name) for event in later],
        [_span(e) for e in (first, *later)],
    )


def _how_often(material: Askable, rng: random.Random) -> Question | None:
    """COUNT: how many times an object appears, half of the time one that comes back."""
    names = list(dict.fromkeys(event.name for event in material.asked))
    recurring = [name for name in names if material.counts[name] > 1]
    name = rng.choice(recurring if recurring and rng.random() < 0.5 else sorted(names))
    times = material.counts[name]
    wrong = [n for n in range(1, times + CHOICES) if n != times]
    spans = [_span(event) for event in material.script.events if event.name == name]
    text = f"How many times does {with_article(name)} appear in the video?"
    return _draft(text, str(times), [str(n) for n in rng.sample(wrong, CHOICES - 1)], spans)


def _object_when_said(material: Askable, rng: random.Random) -> Question | None:
    """T2O: what is on screen while a line is spoken, which may name something else."""
    if not material.lines:
        return None
    line, event = rng.choice(material.lines)
    lie = _lie_about(material.script, event)
    false_name = f"{lie} {event.shape}"
    others = _other_objects(material, {event.name, false_name}, rng)
    distractors = (
        [with_article(false_name), *map(with_article, others)]
        if line.misleading
        else [with_article(name) for name in others]
    )
    text = f"Which object is on screen when the voice says “{line.text}”?"
    return _draft(
        text, with_article(event.name), distractors[: CHOICES - 1], [_span(event)], misleading=line.misleading
    )


def _when(material: Askable, rng: random.Random) -> Question | None:
    """WHEN: the interval during which an object is on screen."""
    if not material.objects:
        return None
    event = rng.choice(material.objects)
    span = _span(event)
    return Question(f"When is the {event.name} on screen?", kind="when", answer=span, positions_s=(span,))


def _in_words(material: Askable, rng: random.Random) -> Question | None:
    """OPEN: a colour, or a text on screen, with nothing to pick from."""
    draft = rng.choice((_colour_in_scene, _text_during))(material, rng)
    return draft and draft.without_choices()


def _tally(material: Askable, rng: random.Random) -> Question | None:
    """TALLY: how many times an object appears, with nothing to pick from."""
    draft = _how_often(material, rng)
    return draft and draft.without_choices()


def _summary(material: Askable, rng: random.Random) -> Question | None:
    """SUM: what appears in a described scene, in order of time."""
    busy = [(scene, events) for scene, events in material.scenes if len(events) > 1]
    if not busy:
        return None
    scene, events = rng.choice(busy)
    text = f"Summarise what appears in {_the(scene)}, in order."
    answer = summary_of(event.name for event in events)
    return Question(text, kind="summary", answer=answer, positions_s=tuple(map(_span, events)))


def summary_of(names: Iterable[str]) -> str:
    """Return objects in the order in which they come, as a sentence."""
    return f"There is {', then '.join(map(with_article, names))}."


WRITERS: dict[str, Callable[[Askable, random.Random], Question | None]] = {
    "S2O": _object_in_scene,
    "S2A": _colour_in_scene,
    "OCR": _text_during,
    "O3O": _neighbour,
    "SSS": _first_of,
    "COUNT": _how_often,
    "T2O": _object_when_said,
    "WHEN": _when,
    "OPEN": _in_words,
    "TALLY": _tally,
    "SUM": _summary,
}
CATEGORIES = tuple(WRITERS)[:8]
"""Those that are asked unless others are named."""


def _draft(
    text: str, right: str, wrong: Sequence[str] | map[str], spans: Sequence[Span], misleading: bool = False
) -> Question:
    return Question(text, (right, *wrong), answer=0, positions_s=tuple(spans), misleading_subtitle=misleading)


def _other_objects(material: Askable, names: set[str], rng: random.Random) -> list[str]:
    """Return distractors: objects that appear elsewhere in the video, filled up with some that never do."""
    seen = sorted(material.counts.keys() - names)
    unseen = sorted({f"{colour} {shape}" for colour in COLOURS for shape in SHAPES} - names - set(seen))
    return [*_some(seen, rng), *_some(unseen, rng)][: CHOICES - 1]


def _lie_about(script: Script, event: WorldEvent) -> str | None:
    """Return the colour that a misleading line gives an event's object."""
    for line in script.lines:
        if line.event == event.id and line.misleading:
            return next(colour for colour in COLOURS if f"{colour} {event.shape}" in line.text)
    return None


def _some(pool: Sequence[str], rng: random.Random) -> list[str]:
    return rng.sample(pool, min(len(pool), CHOICES - 1))


def _span(event: WorldEvent) -> Span:
    return event.start_s, event.end_s


def _the(scene: Scene) -> str:
    return f"the {scene.place} scene at {scene.light}"
