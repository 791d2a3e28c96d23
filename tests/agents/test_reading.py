"""Promise: prompts say enough. Models search by the words of the prompts alone."""

from typing import Any

import pytest
from agents.readers import Prose, Reader, Repeating
from support.asking import ask
from support.invariants import check_all

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlasworld import World

SMALL: dict[str, Any] = {"cell": 64, "budget": Budget(calls=60)}


def test_ten_hours_are_searched_by_the_words_of_the_prompts_alone(long_world: World) -> None:
    results = [
        ask(long_world.drawn, question, vlm=Reader(long_world), cache=Cache(None), **SMALL)
        for question in long_world.questions
    ]
    assert len(results) > 30
    assert sum(result.is_right for result in results) >= 0.95 * len(results)
    assert not [event.reason for result in results for event in result.trace.of("failure")]
    assert not [event.problem for result in results for event in result.trace.of("step") if event.problem]


@pytest.mark.parametrize("traversal", ["dfs", "bfs"])
@pytest.mark.parametrize("kind", [Repeating, Prose])
def test_whatever_a_model_makes_of_the_words_the_run_ends_and_is_true(
    world: World, shared_cache: Cache, kind: type[Reader], traversal: str
) -> None:
    for question in world.questions[::4]:
        result = ask(world.drawn, question, vlm=kind(world), cache=shared_cache, traversal=traversal, **SMALL)
        check_all(result, SMALL["budget"])
        assert result.prediction is None or result.is_right == (question.score(result.prediction) == 1.0)
