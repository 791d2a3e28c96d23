"""Questions about a world: the answer is true, no other choice is, and the evidence is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.atlasworld.questions import CATEGORIES
from atlaskit.environment.question import Question
from atlaskit.environment.render import view
from atlaskit.errors import InputError


def worlds(seeds: range, duration_s: float = 600) -> list[World]:
    return [atlasworld(seed, duration_s, questions=40, directory=Path("unused")) for seed in seeds]


def right_choice(question: Question) -> str:
    assert isinstance(question.answer, int)
    return question.choices[question.answer]


def of_category(category: str) -> list[tuple[World, Question]]:
    return [(w, q) for w in worlds(range(8)) for q in w.questions if q.category == category]


def test_every_category_occurs() -> None:
    for world in worlds(range(6)):
        assert {question.category for question in world.questions} == set(CATEGORIES)
        assert len({question.text for question in world.questions}) == len(world.questions) == 40
        assert any(question.misleading_subtitle for question in world.questions)


def test_s2a_asks_for_a_colour_and_offers_the_misleading_one() -> None:
    misleading = 0
    for world, question in of_category("S2A"):
        (event,) = world.targets(question)
        assert right_choice(question) == event.colour and event.shape in question.text
        if question.misleading_subtitle:
            misleading += 1
            spoken = next(line.text for line in world.script.lines if line.event == event.id and line.misleading)
            assert any(f"{choice} {event.shape}" in spoken for choice in question.choices)
            assert f"{event.colour} {event.shape}" not in spoken
    assert misleading


def test_t2o_asks_for_the_visible_object_not_the_spoken_one() -> None:
    misleading = 0
    for world, question in of_category("T2O"):
        (event,) = world.targets(question)
        line = next(line for line in world.script.lines if line.text in question.text)
        assert right_choice(question).endswith(event.name)
        assert (event.name in line.text) != line.misleading == question.misleading_subtitle
        misleading += line.misleading
    assert misleading


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(10, 1200))
def test_any_world_has_valid_questions(seed: int, duration_s: float) -> None:
    world = atlasworld(seed, duration_s, questions=16, directory=Path("unused"))
    assert world.questions
    for question in world.questions:
        assert world.targets(question)
        assert question.kind == "when" or len(question.choices) >= 2
        assert question.is_right(question.answer)
        assert world.question(question.text) == question


def test_the_root_grid_shows_fewer_than_half_of_the_events() -> None:
    shown = total = 0
    for world in worlds(range(10)):
        cells = view(world.drawn).cells
        shown += len({event.id for cell in cells if (event := world.script.event_at(cell.midpoint_s))})
        total += len(world.script.events)
    assert shown / total < 0.5


def test_invalid_counts_and_durations_are_rejected() -> None:
    with pytest.raises(InputError, match="questions must be at least 1"):
        atlasworld(questions=0)
    with pytest.raises(InputError):
        atlasworld(duration_s=5)
