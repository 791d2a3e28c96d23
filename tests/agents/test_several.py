"""A question of several intervals gets several, in prompts, schemas, methods and displays."""

from typing import Any

import pytest
from pydantic import ValidationError
from support.asking import ask
from support.model_doubles import Babbler, Counting, Overruled
from support.searches import text_of

import atlaskit as ak
from atlaskit.agents import schemas
from atlaskit.agents.replies import DecisionReply, read
from atlaskit.agents.run import prediction
from atlaskit.agents.verbalize import ANSWER_FORMS
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.protocol import Request, json_schema
from atlasworld import Oracle, World

SMALL: dict[str, Any] = {"cell": 32}
SEVERAL = Question("When?", kind="when", several=True)
GIVEN = [{"start_s": 30.0, "end_s": 20.0}, {"start_s": 1.0, "end_s": 2.0}, {"start_s": 20.5, "end_s": 41.0}]


def scripted(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
    return {**answer, "intervals": GIVEN}


def test_the_schema_takes_one_to_sixteen_intervals_in_the_video() -> None:
    schema = schemas.decision_schema("when", 0, 60.0, ("A",), has_several=True)

    def answer(*spans: tuple[float, float], **more: Any) -> Any:
        intervals = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans]
        return schema.model_validate({"reasoning": "", "supporting": ["A"], "intervals": intervals, **more})

    several = Question("When?", kind="when", several=True)
    assert prediction(several, read(DecisionReply, answer((5, 6), (3, 1), (2, 4)))) == ((1.0, 4.0), (5.0, 6.0))
    assert prediction(several, read(DecisionReply, answer((1, 2)))) == ((1.0, 2.0),)
    assert len(answer(*((i, i + 1) for i in range(16))).intervals) == schemas.MOST_ANSWERED
    for bad in ([], [(1, 1)], [(0, 61)], [(-1, 2)], [(i, i + 1) for i in range(17)]):
        with pytest.raises(ValidationError):
            answer(*bad)
    with pytest.raises(ValidationError):
        answer((1, 2), supporting=["B"])
    one = json_schema(schemas.decision_schema("when", 0, 60.0, ("A",)))
    assert "intervals" not in one["properties"] and "start_s" in one["properties"]


def test_the_words_reach_the_model_and_its_answer_is_put_in_order(world: World, cache: Cache) -> None:
    oracle = Counting(Oracle(world))
    model = Overruled(oracle, decision=scripted)
    result = ask(world.drawn, world.several[0], vlm=model, cache=cache, **SMALL)
    (decision,) = [request for request in oracle.requests if request.step == "decision"]
    assert ANSWER_FORMS["when, several"] in text_of(decision) and ANSWER_FORMS["when"] not in text_of(decision)
    assert result.prediction == ((1.0, 2.0), (20.0, 41.0)) and not result.is_right
    right = ask(world.drawn, world.several[0], vlm=Oracle(world), cache=cache, **SMALL)
    assert right.intervals == right.question.answer and len(right.intervals) == 3 and right.interval is None


@pytest.mark.parametrize("method", ["uniform", "captions", "composite"])
def test_baselines_answer_with_several_intervals(method: str, world: World, cache: Cache) -> None:
    model = Overruled(Babbler(2), decision=scripted)
    settings: dict[str, Any] = {"captions": {"clip_s": 300.0}, "composite": {"search": ak.Search(cell=32)}}.get(
        method, {}
    )
    first = METHODS[method](world.drawn, SEVERAL, vlm=model, cache=cache, **settings)
    assert first.prediction == ((1.0, 2.0), (20.0, 41.0)) and first.answer == "1.00–2.00 s, 20.00–41.00 s"
    again = METHODS[method](world.drawn, SEVERAL, vlm=model, cache=cache, replay=True, **settings)
    assert again.to_json() == first.to_json() and again.spent.calls == 0
