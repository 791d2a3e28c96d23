"""Questions about a world: the answer is true, no other choice is, and the evidence is right."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.environment.render import view


def worlds(seeds: range, duration_s: float = 600) -> list[World]:
    return [atlasworld(seed, duration_s, questions=40, directory=Path("unused")) for seed in seeds]


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
