"""`write_questions`: questions about a script, with true answers and intervals.

WRITERS maps each category to its writer. A category has LongVideoBench's code where one fits (S2O,
S2A, T2O, O3O, SSS) and otherwise a code of its own: OCR, COUNT, WHEN, and OPEN, TALLY and SUM,
which have no choices and are written only on demand. `write_absent` asks about what a script lacks.
This module does not know pixels or models.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from atlaskit.agents.schemas import MOST_ANSWERED
from atlaskit.environment.question import ABSENT, Question, Span, with_article
from atlaskit.errors import InputError
from atlasworld import question_writers as write
from atlasworld.question_writers import Askable
from atlasworld.timeline import Script, WorldEvent

WRITERS: dict[str, Callable[[Askable, random.Random], Question | None]] = {
    "S2O": write.object_in_scene,
    "S2A": write.colour_in_scene,
    "OCR": write.text_during,
    "O3O": write.neighbour,
    "SSS": write.first_of,
    "COUNT": write.how_often,
    "T2O": write.object_when_said,
    "WHEN": write.when,
    "OPEN": write.without_choices,
    "TALLY": write.tally,
    "SUM": write.summary,
}
CATEGORIES = ("S2O", "S2A", "OCR", "O3O", "SSS", "COUNT", "T2O", "WHEN")
"""The categories of questions if the caller names none. Their order is frozen."""
ABSENTS: dict[str, Callable[[Askable, random.Random], Question | None]] = {
    "WHEN": write.when_never,
    "OCR": write.text_never,
    "T2O": write.never_said,
    "TALLY": write.tally_of_none,
}
"""For some categories, the writer of the same question about something that the script lacks."""
NOT = "NOT-"
"""Prefix of the category of a question about something that is not there."""
RECURRING = "WHENS"
"""The category of the questions of `write_recurring`."""
MAX_TRIES = 30
"""Most drafts for one question. If all repeat known questions, its category is used up."""


def write_questions(
    script: Script,
    count: int,
    seed: int = 0,
    events: Iterable[WorldEvent] | None = None,
    categories: Sequence[str] | None = None,
) -> tuple[Question, ...]:
    """Return up to `count` different questions; the categories take turns.

    A short video has fewer questions, because a question is written only if its answer is unique.

    Args:
        script: The script to ask about.
        count: Largest number of questions, at least 1.
        seed: Seed of the questions; the same script and seed always give the same questions.
        events: Events that questions may ask about, in order of time; all if None.
        categories: Keys of WRITERS; CATEGORIES if None.

    Raises:
        InputError: `count` is below 1, or `categories` is empty or holds an unknown category.
    """
    categories = CATEGORIES if categories is None else categories
    if count < 1:
        raise InputError(f"questions must be at least 1; got {count}.")
    if not categories or not set(categories) <= WRITERS.keys():
        raise InputError(
            f"categories of an AtlasWorld must be among {', '.join(WRITERS)}; got {categories!r}."
        )
    askable = Askable(script, script.events if events is None else tuple(events))
    rng = random.Random(f"atlasworld questions {script.seed} {seed}")
    questions: dict[str, Question] = {}
    unfinished = list(categories)
    while unfinished and len(questions) < count:
        for category in list(unfinished):
            question = _new_question(askable, category, rng, questions)
            if question is None:
                unfinished.remove(category)
            elif len(questions) < count:
                questions[question.text] = question
    return tuple(questions.values())


def write_recurring(script: Script, names: Collection[str]) -> tuple[Question, ...]:
    """Return a when-question of several intervals about each object that appears again.

    An object that appears more often than an answer can have intervals is left out. No random
    number is drawn, so the questions of `write_questions` do not change.

    Args:
        script: The script to ask about.
        names: The objects that may be asked about.
    """
    spans: dict[str, list[Span]] = {}
    for event in script.events:
        if event.name in names:
            spans.setdefault(event.name, []).append((event.start_s, event.end_s))
    questions = list[Question]()
    for name, appearances in spans.items():
        if not 1 < len(appearances) <= MOST_ANSWERED:
            continue
        question = Question(
            f"When is {with_article(name)} on screen, each time that it appears?",
            kind="when",
            answer=tuple(appearances),
            id=f"atlasworld-{script.seed}-several-{len(questions):03d}",
            category=RECURRING,
            positions_s=tuple(appearances),
        )
        questions.append(question)
    return tuple(questions)


def write_absent(script: Script, count: int, seed: int = 0) -> tuple[Question, ...]:
    """Return up to `count` questions about objects and words that a script lacks.

    Their texts look like those of other questions, so only the video tells them apart. The true
    answer is ABSENT, or 0 for a count. The draws use a random stream of their own, so the questions
    of `write_questions` do not change.

    Args:
        script: The script to ask about.
        count: Largest number of questions.
        seed: Seed of the questions.
    """
    askable = Askable(script, script.events)
    rng = random.Random(f"atlasworld absent {script.seed} {seed}")
    questions: dict[str, Question] = {}
    for number in range(MAX_TRIES * count):
        if len(questions) == count:
            break
        category = tuple(ABSENTS)[number % len(ABSENTS)]
        draft = ABSENTS[category](askable, rng)
        if draft is not None and draft.text not in questions:
            id = f"atlasworld-{script.seed}-absent-{len(questions):03d}"
            questions[draft.text] = replace(draft, id=id, category=f"{NOT}{category}")
    return tuple(questions.values())


def may_be_absent(question: Question) -> Question:
    """Return a question that accepts "not there" as an answer."""
    if question.kind == "count":
        return question
    return replace(question, may_be_absent=True)


def is_absent(question: Question) -> bool:
    """Return whether the script lacks what is asked for: the answer is ABSENT, or a count of 0."""
    return question.answer == ABSENT or (question.kind == "count" and question.answer == 0)


def _new_question(
    askable: Askable, category: str, rng: random.Random, known: dict[str, Question]
) -> Question | None:
    """Return a question that is not known yet; None if its category is used up."""
    for _ in range(MAX_TRIES):
        draft = WRITERS[category](askable, rng)
        if draft is None:
            return None
        if draft.text not in known:
            return _shuffled(
                draft, f"atlasworld-{askable.script.seed}-{len(known):03d}", category, rng
            )
    return None


def _shuffled(draft: Question, id: str, category: str, rng: random.Random) -> Question:
    """Return a draft with its id and category, and its choices in random order.

    The first choice of a draft is the right one.
    """
    order = rng.sample(range(len(draft.choices)), len(draft.choices))
    answer = order.index(0) if draft.kind == "choice" else draft.answer
    return Question(
        draft.text,
        choices=tuple(draft.choices[index] for index in order),
        kind=draft.kind,
        answer=answer,
        id=id,
        category=category,
        positions_s=draft.positions_s,
        misleading_subtitle=draft.misleading_subtitle,
    )
