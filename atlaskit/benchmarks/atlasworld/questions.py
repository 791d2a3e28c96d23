"""Questions about a script, with their true answers and where in the video the evidence lies.

Each kind is one function of the script and a random generator, in the table WRITERS under LongVideoBench's code where
one fits: S2O, S2A, T2O, O3O, SSS; OCR, COUNT and WHEN where none does. Knows nothing of pixels or models.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from atlaskit.benchmarks.atlasworld.screenplay import CAPTION_WORDS
from atlaskit.benchmarks.atlasworld.script import COLOURS, SHAPES, Event, Scene, Script
from atlaskit.errors import InputError
from atlaskit.question import Question, Span

CHOICES = 4
TRIES = 30
"""How often a kind is tried for a question that was not asked yet before it counts as used up."""


def write_questions(script: Script, count: int, seed: int = 0) -> tuple[Question, ...]:
    """Return up to `count` different questions, the kinds taking turns; the same for the same script and seed.

    A short video has fewer: each object and scene is asked about where the answer is unique.
    """
    if count < 1:
        raise InputError(f"Ask for at least one question, got {count}.")
    rng = random.Random(f"atlasworld questions {script.seed} {seed}")
    questions: dict[str, Question] = {}
    kinds = list(WRITERS)
    while kinds and len(questions) < count:
        for kind in list(kinds):
            question = _new_question(script, kind, rng, questions)
            if question is None:
                kinds.remove(kind)
            elif len(questions) < count:
                questions[question.text] = question
    return tuple(questions.values())


def _new_question(script: Script, kind: str, rng: random.Random, asked: dict[str, Question]) -> Question | None:
    for _ in range(TRIES):
        draft = WRITERS[kind](script, rng)
        if draft is None:
            return None
        if draft.text not in asked:
            return _shuffled(draft, f"atlasworld-{script.seed}-{len(asked):03d}", kind, rng)
    return None


def _shuffled(draft: Question, id: str, kind: str, rng: random.Random) -> Question:
    """Give a question, whose first choice is the right one, its name and place its answer at random."""
    order = rng.sample(range(len(draft.choices)), len(draft.choices))
    return Question(
        draft.text,
        tuple(draft.choices[i] for i in order),
        draft.kind,
        draft.answer if draft.kind == "when" else order.index(0),
        id,
        kind,
        draft.positions_s,
        misleading_subtitle=draft.misleading_subtitle,
    )


def _object_in_scene(script: Script, rng: random.Random) -> Question | None:
    """S2O: which object appears in a described scene."""
    scenes = [scene for scene in _unique_scenes(script) if _events_of(script, scene)]
    if not scenes:
        return None
    scene = rng.choice(scenes)
    names = {event.name for event in _events_of(script, scene)}
    event = rng.choice(_events_of(script, scene))
    text = f"Which of these objects appears in {_the(scene)}?"
    return _draft(text, _a(event.name), map(_a, _other_objects(script, names, rng)), [_span(event)])


def _colour_in_scene(script: Script, rng: random.Random) -> Question | None:
    """S2A: the colour of an object in a described scene; a misleading line about it is told as such."""
    candidates = [
        (scene, event)
        for scene in _unique_scenes(script)
        for event in _events_of(script, scene)
        if sum(other.shape == event.shape for other in _events_of(script, scene)) == 1
    ]
    if not candidates:
        return None
    scene, event = rng.choice(candidates)
    lie = _lie_about(script, event)
    wrong = [colour for colour in COLOURS if colour not in (event.colour, lie)]
    distractors = [*([lie] if lie else []), *rng.sample(wrong, CHOICES - 1)][: CHOICES - 1]
    text = f"What colour is the {event.shape} that appears in {_the(scene)}?"
    return _draft(text, event.colour, distractors, [_span(event)], misleading=lie is not None)


def _text_during(script: Script, rng: random.Random) -> Question | None:
    """OCR: the text on screen while an object is there."""
    events = [event for event in _unique_objects(script) if event.caption]
    if not events:
        return None
    event = rng.choice(events)
    written = [other.caption for other in script.events if other.caption and other is not event]
    unwritten = [word for word in CAPTION_WORDS if word != event.caption and word not in written]
    distractors = [*_some(written, rng), *_some(unwritten, rng)]
    text = f"What text is on screen while the {event.name} is visible?"
    return _draft(text, event.caption or "", distractors[: CHOICES - 1], [_span(event)])


def _neighbour(script: Script, rng: random.Random) -> Question | None:
    """O3O: what appears right after, or right before, an object."""
    unique = set(_unique_objects(script))
    pairs = [(a, b, "after") for a, b in pairwise(script.events) if a in unique and a.name != b.name]
    pairs += [(b, a, "before") for a, b in pairwise(script.events) if b in unique and a.name != b.name]
    if not pairs:
        return None
    anchor, event, side = rng.choice(pairs)
    text = f"Which object appears right {side} the {anchor.name}?"
    others = _other_objects(script, {anchor.name, event.name}, rng)
    return _draft(text, _a(event.name), map(_a, others), [_span(event), _span(anchor)])


def _first_of(script: Script, rng: random.Random) -> Question | None:
    """SSS: which of several objects appears first."""
    events = _unique_objects(script)
    if len(events) < CHOICES:
        return None
    first, *later = sorted(rng.sample(events, CHOICES), key=lambda event: event.start_s)
    listed = sorted([first.name, *(event.name for event in later)])
    text = f"Which appears first in the video: {', '.join(map(_a, listed[:-1]))}, or {_a(listed[-1])}?"
    return _draft(text, _a(first.name), [_a(event.name) for event in later], [_span(e) for e in (first, *later)])


def _how_often(script: Script, rng: random.Random) -> Question | None:
    """COUNT: how many times an object appears, half of the time one that comes back."""
    counts = Counter(event.name for event in script.events)
    recurring = [name for name, times in counts.items() if times > 1]
    name = rng.choice(recurring if recurring and rng.random() < 0.5 else sorted(counts))
    times = counts[name]
    wrong = [n for n in range(1, times + CHOICES) if n != times]
    spans = [_span(event) for event in script.events if event.name == name]
    text = f"How many times does {_a(name)} appear in the video?"
    return _draft(text, str(times), [str(n) for n in rng.sample(wrong, CHOICES - 1)], spans)


def _object_when_said(script: Script, rng: random.Random) -> Question | None:
    """T2O: what is on screen while a line is spoken, which may name something else."""
    by_id = {event.id: event for event in script.events}
    quoted = Counter(line.text for line in script.lines)
    lines = [line for line in script.lines if line.event and quoted[line.text] == 1]
    lines = [line for line in lines if _during(script, line.start_s, line.end_s) == [by_id[line.event or ""]]]
    if not lines:
        return None
    line = rng.choice(lines)
    event = by_id[line.event or ""]
    lie = _lie_about(script, event)
    false_name = f"{lie} {event.shape}"
    others = _other_objects(script, {event.name, false_name}, rng)
    distractors = [_a(false_name), *map(_a, others)] if line.misleading else [_a(name) for name in others]
    text = f"Which object is on screen when the voice says “{line.text}”?"
    return _draft(text, _a(event.name), distractors[: CHOICES - 1], [_span(event)], misleading=line.misleading)


def _when(script: Script, rng: random.Random) -> Question | None:
    """WHEN: the interval during which an object is on screen."""
    events = _unique_objects(script)
    if not events:
        return None
    event = rng.choice(events)
    span = _span(event)
    return Question(f"When is the {event.name} on screen?", kind="when", answer=span, positions_s=(span,))


WRITERS: dict[str, Callable[[Script, random.Random], Question | None]] = {
    "S2O": _object_in_scene,
    "S2A": _colour_in_scene,
    "OCR": _text_during,
    "O3O": _neighbour,
    "SSS": _first_of,
    "COUNT": _how_often,
    "T2O": _object_when_said,
    "WHEN": _when,
}


def _draft(
    text: str, right: str, wrong: Sequence[str] | map[str], spans: Sequence[Span], misleading: bool = False
) -> Question:
    return Question(text, (right, *wrong), answer=0, positions_s=tuple(spans), misleading_subtitle=misleading)


def _unique_scenes(script: Script) -> list[Scene]:
    names = Counter(scene.name for scene in script.scenes)
    return [scene for scene in script.scenes if names[scene.name] == 1]


def _unique_objects(script: Script) -> list[Event]:
    names = Counter(event.name for event in script.events)
    return [event for event in script.events if names[event.name] == 1]


def _events_of(script: Script, scene: Scene) -> list[Event]:
    return [event for event in script.events if event.scene == scene.index]


def _during(script: Script, start_s: float, end_s: float) -> list[Event]:
    return [event for event in script.events if event.start_s < end_s and start_s < event.end_s]


def _other_objects(script: Script, names: set[str], rng: random.Random) -> list[str]:
    """Return distractors: objects that appear elsewhere in the video, filled up with some that never do."""
    seen = sorted({event.name for event in script.events} - names)
    unseen = sorted({f"{colour} {shape}" for colour in COLOURS for shape in SHAPES} - names - set(seen))
    return [*_some(seen, rng), *_some(unseen, rng)][: CHOICES - 1]


def _lie_about(script: Script, event: Event) -> str | None:
    """Return the colour that a misleading line gives an event's object."""
    for line in script.lines:
        if line.event == event.id and line.misleading:
            return next(colour for colour in COLOURS if f"{colour} {event.shape}" in line.text)
    return None


def _some(pool: Sequence[str], rng: random.Random) -> list[str]:
    return rng.sample(pool, min(len(pool), CHOICES - 1))


def _span(event: Event) -> Span:
    return event.start_s, event.end_s


def _the(scene: Scene) -> str:
    return f"the {scene.place} scene at {scene.light}"


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"
