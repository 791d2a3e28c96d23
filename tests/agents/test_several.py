"""A question of several intervals gets several, in prompts and from methods."""

from typing import Any

import pytest
from support.model_doubles import Babbler, Counting, Overruled
from support.searches import search, text_of

import atlaskit as ak
from atlaskit.agents.verbalize import ANSWER_FORMS
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.protocol import Request
from atlasworld import Oracle, World


def reversed_and_overlapping(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
    spans = ((30.0, 20.0), (1.0, 2.0), (20.5, 41.0))
    return {**answer, "intervals": [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans]}


def test_the_words_reach_the_model_and_its_answer_is_put_in_order(world: World, cache: Cache) -> None:
    question, oracle = world.several[0], Counting(Oracle(world))
    result = search(world, question, cache, Overruled(oracle, decision=reversed_and_overlapping))
    (decision,) = [request for request in oracle.requests if request.step == "decision"]
    assert ANSWER_FORMS["when, several"] in text_of(decision) and ANSWER_FORMS["when"] not in text_of(decision)
    assert result.prediction == ((1.0, 2.0), (20.0, 41.0)) and not result.is_right
    right = search(world, question, cache)
    assert right.intervals == question.answer and len(right.intervals) == 3 and right.interval is None


@pytest.mark.parametrize(
    ("method", "settings"),
    [("uniform", {}), ("captions", {"clip_s": 300.0}), ("composite", {"search": ak.Search(cell=32)})],
)
def test_methods_answer_with_several(method: str, settings: dict[str, Any], world: World, cache: Cache) -> None:
    model, several = (
        Overruled(Babbler(2), decision=reversed_and_overlapping),
        Question("When?", kind="when", several=True),
    )
    result = METHODS[method](world.drawn, several, vlm=model, cache=cache, **settings)
    assert result.prediction == ((1.0, 2.0), (20.0, 41.0)) and result.answer == "1.00–2.00 s, 20.00–41.00 s"
