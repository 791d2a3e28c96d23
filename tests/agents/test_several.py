"""A question of several intervals gets several, in prompts, schemas, methods and displays."""

import json
from typing import Any

import matplotlib
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
from atlaskit.runs.result import Result
from atlasworld import Oracle, World

matplotlib.use("Agg")
SMALL: dict[str, Any] = {"cell": 32}
SEVERAL = Question("When?", kind="when", several=True)
GIVEN = [{"start_s": 30.0, "end_s": 20.0}, {"start_s": 1.0, "end_s": 2.0}, {"start_s": 20.5, "end_s": 41.0}]


@pytest.fixture(scope="module")
def recurring(world: World) -> Question:
    (question,) = world.several
    return question


@pytest.fixture(scope="module")
def found(world: World, recurring: Question, shared_cache: Cache) -> Result:
    return ask(world.drawn, recurring, vlm=Oracle(world), cache=shared_cache, **SMALL)


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


@pytest.mark.long
def test_the_oracle_finds_every_interval_and_a_replay_repeats_it(
    world: World, recurring: Question, found: Result, shared_cache: Cache
) -> None:
    assert isinstance(recurring.answer, tuple) and len(recurring.answer) == 3
    assert found.prediction == recurring.answer and found.is_right and recurring.score(found.prediction) == 1.0
    assert found.intervals == recurring.answer and found.interval is None and found.choice is None
    assert found.answer == recurring.in_words(recurring.answer) and found.answer.count("–") == 3
    counting = Counting(Oracle(world))
    again = ask(world.drawn, recurring, vlm=counting, cache=shared_cache, **SMALL)
    assert counting.calls == [] and again.to_json() == found.to_json()
    assert json.loads(found.to_json())["prediction"] == [list(span) for span in recurring.answer]
    clumsy = ask(world.drawn, recurring, vlm=Oracle(world, miss=0.6, seed=2), cache=shared_cache, **SMALL)
    assert clumsy.prediction is None or set(clumsy.intervals) < set(recurring.answer)


def test_the_words_reach_the_model_and_its_answer_is_put_in_order(world: World, cache: Cache) -> None:
    oracle = Counting(Oracle(world))
    model = Overruled(oracle, decision=scripted)
    result = ask(world.drawn, world.several[0], vlm=model, cache=cache, **SMALL)
    (decision,) = [request for request in oracle.requests if request.step == "decision"]
    assert ANSWER_FORMS["when, several"] in text_of(decision) and ANSWER_FORMS["when"] not in text_of(decision)
    assert result.prediction == ((1.0, 2.0), (20.0, 41.0)) and not result.is_right


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
