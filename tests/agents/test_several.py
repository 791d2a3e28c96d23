"""A question of several intervals gets several, in prompts, schemas and methods."""

from typing import Any

import pytest
from pydantic import ValidationError
from support.model_doubles import Babbler, Counting, Overruled
from support.searches import search, text_of

import atlaskit as ak
from atlaskit.agents import schemas
from atlaskit.agents.replies import DecisionReply, read
from atlaskit.agents.run import prediction
from atlaskit.agents.verbalize import ANSWER_FORMS
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.protocol import Request
from atlasworld import Oracle, World

SEVERAL = Question("When?", kind="when", several=True)


def reversed_and_overlapping(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
    spans = ((30.0, 20.0), (1.0, 2.0), (20.5, 41.0))
    return {**answer, "intervals": [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans]}


def test_the_schema_takes_one_to_sixteen_intervals_in_the_video() -> None:
    schema = schemas.decision_schema("when", 0, 60.0, ("A",), has_several=True)

    def answered(*spans: tuple[float, float], label: str = "A") -> Any:
        intervals = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans]
        answer = schema.model_validate({"reasoning": "", "supporting": [label], "intervals": intervals})
        return prediction(SEVERAL, read(DecisionReply, answer))

    assert answered((5, 6), (3, 1), (2, 4)) == ((1.0, 4.0), (5.0, 6.0))
    assert answered((1, 2)) == ((1.0, 2.0),)
    assert len(answered(*((i, i + 0.5) for i in range(16)))) == schemas.MOST_ANSWERED
    for bad in ([], [(1, 1)], [(0, 61)], [(-1, 2)], [(i, i + 0.5) for i in range(17)]):
        with pytest.raises(ValidationError):
            answered(*bad)
    with pytest.raises(ValidationError):
        answered((1, 2), label="B")


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
    model = Overruled(Babbler(2), decision=reversed_and_overlapping)
    result = METHODS[method](world.drawn, SEVERAL, vlm=model, cache=cache, **settings)
    assert result.prediction == ((1.0, 2.0), (20.0, 41.0)) and result.answer == "1.00–2.00 s, 20.00–41.00 s"
