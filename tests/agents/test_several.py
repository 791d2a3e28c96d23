"""A question of several intervals through prompts, schemas, methods, cache, tables and displays."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest
from pydantic import ValidationError
from support.asking import ask, evaluate
from support.model_doubles import Babbler, Counting, Overruled
from support.searches import RecordingOracle, text_of
from support.stand_ins import Flat

import atlaskit as ak
from atlaskit.agents import schemas
from atlaskit.agents.run import prediction
from atlaskit.agents.verbalize import ANSWER_FORMS
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.errors import ModelWarning
from atlaskit.evaluation import tables
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.answers import find_answer
from atlaskit.models.completion import Completion
from atlaskit.models.protocol import Request, Usage, json_schema
from atlaskit.runs.narrate import summary
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.viz import plots
from atlaskit.viz.html.reprs import result as result_repr
from atlaskit.viz.walk.source import open_run

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
    assert prediction(several, answer((5, 6), (3, 1), (2, 4))) == ((1.0, 4.0), (5.0, 6.0))
    assert prediction(several, answer((1, 2))) == ((1.0, 2.0),)
    assert len(answer(*((i, i + 1) for i in range(16))).intervals) == schemas.MOST_ANSWERED
    for bad in ([], [(1, 1)], [(0, 61)], [(-1, 2)], [(i, i + 1) for i in range(17)]):
        with pytest.raises(ValidationError):
            answer(*bad)
    with pytest.raises(ValidationError):
        answer((1, 2), supporting=["B"])
    one = json_schema(schemas.decision_schema("when", 0, 60.0, ("A",)))
    assert "intervals" not in one["properties"] and "start_s" in one["properties"]


def test_a_model_without_a_grammar_may_leave_out_the_list_of_one() -> None:
    schema = schemas.decision_schema("when", 0, 60.0, (), has_several=True)
    text = 'Here: {"reasoning": "r", "intervals": {"start_s": "1.5", "end_s": 2}}'
    found = find_answer(Completion(text, "", Usage()), schema)
    assert prediction(Question("When?", kind="when", several=True), found.answer) == ((1.5, 2.0),)


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
    oracle = RecordingOracle(world)
    model = Overruled(oracle, decision=scripted)
    result = ask(world.drawn, world.several[0], vlm=model, cache=cache, **SMALL)
    (decision,) = [request for request in oracle.requests if request.step == "decision"]
    assert ANSWER_FORMS["when, several"] in text_of(decision) and ANSWER_FORMS["when"] not in text_of(decision)
    assert result.prediction == ((1.0, 2.0), (20.0, 41.0)) and not result.is_right


@pytest.mark.parametrize("method", ["uniform", "captions", "subtitles", "blind", "composite"])
def test_baselines_answer_with_several_intervals(method: str, world: World, cache: Cache) -> None:
    model = Overruled(Babbler(2), decision=scripted)
    settings: dict[str, Any] = {"captions": {"clip_s": 300.0}, "composite": {"search": ak.Search(cell=32)}}.get(
        method, {}
    )
    first = METHODS[method](world.drawn, SEVERAL, vlm=model, cache=cache, **settings)
    assert first.prediction == ((1.0, 2.0), (20.0, 41.0)) and first.answer == "1.00–2.00 s, 20.00–41.00 s"
    again = METHODS[method](world.drawn, SEVERAL, vlm=model, cache=cache, replay=True, **settings)
    assert again.to_json() == first.to_json() and again.spent.calls == 0


def test_a_saved_run_reads_back_its_intervals(found: Result, recurring: Question, tmp_path: Path) -> None:
    found.save(tmp_path / "run.json")
    for run in (tmp_path / "run.json", found.trace):
        source = open_run(run)
        assert source.question == recurring and source.answer == found.answer_in_words and source.is_right
    (decision,) = found.trace.of("decision")
    assert summary(decision).count("–") == 3
    broken = replace(decision, answer={"intervals": [{"start_s": 1.0}], "reasoning": ""})
    events = tuple(broken if each is decision else each for each in found.trace)
    assert "start_s" in summary(broken)
    assert open_run(Trace(events)).answer is None


def test_each_interval_is_drawn(found: Result, recurring: Question) -> None:
    unplaced = replace(found, question=replace(recurring, positions_s=()))
    for run in (found, unplaced):
        for draw in (plots.path, plots.rounds):
            patches = draw(run).patches
            for label in ("ground truth", "answer"):
                drawn = [patch for patch in patches if patch.get_label() == label]
                spans = [patch.get_extents().transformed(patch.axes.transData.inverted()) for patch in drawn]  # type: ignore[union-attr]
                times = [time_s for box in spans for time_s in (box.x0, box.x1)]
                assert times == pytest.approx([time_s for span in found.intervals for time_s in span])
            plt.close("all")
        lanes = {lane.name: lane for lane in result_repr._path_lanes(run)}
        assert lanes["answer"].outlined == lanes["ground truth"].filled == found.intervals
    wrong = replace(found, prediction=((1.0, 2.0), (3.0, 4.0)))
    assert found.answer_in_words and found.answer_in_words in result_repr.result(wrong), "the correct answer"
    assert "0:01.0–0:02.0, 0:03.0–0:04.0" in str(wrong) and found.answer_in_words in str(wrong)


def test_tables_keep_several_intervals(world: World, recurring: Question, tmp_path: Path) -> None:
    cases = [*world.cases(drawn=True, several=True), *world.cases(drawn=True)[:1]]
    rows = evaluate(cases, vlm=Oracle(world), cache=Cache(tmp_path / "cache"), progress=False, **SMALL)
    assert rows["prediction"][0] == recurring.answer and rows["score"][0] == 1.0
    for name in ("rows.csv", "rows.parquet"):
        tables.save(rows, tmp_path / name)
        assert tables.load(tmp_path / name)["prediction"].tolist() == rows["prediction"].tolist()
        tables.save(rows[:1], tmp_path / name)
        assert tables.load(tmp_path / name)["prediction"].tolist() == [recurring.answer]


def test_nano_is_told_that_it_was_taught_one_interval(world: World, shared_cache: Cache) -> None:
    model = Babbler(1)
    model.name = "nano@1"
    with pytest.warns(ModelWarning, match="was taught to answer with one interval"):
        METHODS["blind"](world.drawn, SEVERAL, vlm=model, cache=shared_cache)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        METHODS["blind"](world.drawn, "When?", vlm=model, kind="when", cache=shared_cache)
        model.name = "other"
        METHODS["blind"](Flat(), SEVERAL, vlm=model, cache=shared_cache)
