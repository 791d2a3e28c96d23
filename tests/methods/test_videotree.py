"""`videotree`: which frames it describes, what it rates, what it costs, and what a replay needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support.model_doubles import Babbler, Counting, Noting, Overruled
from support.searches import taken_steps

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.evaluation.baselines import videoagent, videotree
from atlaskit.methods.calls import TextCall
from atlaskit.methods.clusters import Cluster, SimilarFrames
from atlaskit.methods.records import StillCall
from atlaskit.methods.videotree import RelevanceCall
from atlaskit.models.protocol import Request
from atlaskit.runs.archive import export, import_
from atlaskit.runs.result import Result
from atlaskit.video.opening import open_video


def graded(request: Request, *grades: int) -> dict[str, Any]:
    """Return an answer that rates the frames of a request, the last grade for all further ones."""
    frames = range(len(request.facts.rows))  # type: ignore[attr-defined]
    ratings = [{"frame": each, "relevance": grades[min(each, len(grades) - 1)]} for each in frames]
    return {"prediction": "", "confidence": 1, "relevance": ratings}


def rating(world: World, *grades: int) -> Any:
    return Overruled(ak.Oracle(world), relevance=lambda request, _: graded(request, *grades))


def tree(world: World, model: Any, cache: Cache, number: int = 0, **settings: Any) -> Result:
    return videotree(
        world.drawn, world.questions[number], vlm=model, cache=cache, **{"size": 32, "threads": 1, **settings}
    )


def times_of(calls: list[StillCall]) -> list[float]:
    return sorted(call.frame.time_s for call in calls)


def test_a_question_costs_its_frames_its_ratings_and_the_answer(brief_world: World, cache: Cache) -> None:
    model = Noting(ak.Oracle(brief_world))
    result = tree(brief_world, model, cache)
    calls = taken_steps(result)
    assert set(calls) == {"frame", "relevance"} and result.total.calls == calls.total() + 1
    assert len(model.of(RelevanceCall)) == calls["relevance"] <= 3, "8, 16 and 32 groups"
    assert [type(facts) for facts in model.facts if type(facts) is not StillCall][-1] is TextCall
    (answered,) = model.of(TextCall)
    rows = answered.text.split("\n")
    assert len(rows) <= calls["frame"] and all(row.startswith("Frame at ") for row in rows)
    assert result.stop == "answered" and result.prediction is not None and result.failure == ""
    assert all(len(call.views) <= 1 for call in result.calls)


def test_the_groups_of_the_frames_that_were_rated_are_opened(brief_world: World, cache: Cache) -> None:
    """A rating is of a row, and rows are in order of time."""
    model = Noting(rating(brief_world, 1, 3, 2, 1))
    tree(brief_world, model, cache, clusters=6, most_clusters=6)
    frames = SimilarFrames(brief_world.drawn, cache)
    groups = sorted(frames.clusters(6), key=lambda group: group.time_s)
    (call,) = model.of(RelevanceCall)
    rows = {still.frame.time_s: still for still in model.of(StillCall)}
    assert len(call.rows) == 6 and all(group.time_s in rows for group in groups)

    def parts(group: Cluster) -> list[Cluster]:
        return frames.clusters(4, group)

    opened = [*parts(groups[1]), *(small for part in parts(groups[1]) for small in parts(part)), *parts(groups[2])]
    assert times_of(model.of(StillCall)) == sorted({group.time_s for group in [*groups, *opened]})
    answered = model.of(TextCall)[0].text.split("\n")
    assert answered == sorted(answered, key=lambda row: list(map(float, row.split(" ")[2].strip(":").split(":"))))


def test_groups_are_doubled_until_enough_are_relevant(brief_world: World) -> None:
    expected = {1: [8, 16, 32], 3: [8]}
    for grade, counts in expected.items():
        model = Noting(rating(brief_world, grade))
        tree(brief_world, model, Cache(None))
        assert [len(call.rows) for call in model.of(RelevanceCall)] == counts
    model = Noting(rating(brief_world, 1))
    tree(brief_world, model, Cache(None), clusters=5, most_clusters=12)
    assert [len(call.rows) for call in model.of(RelevanceCall)] == [5, 10, 12]
    described = times_of(model.of(StillCall))
    assert len(described) == len(set(described)), "a frame is described once"


def test_groups_can_grow_with_the_duration_and_are_rated_32_at_a_time() -> None:
    long = ak.benchmarks.atlasworld(3, 3_750, questions=1, size=(160, 90))
    model = Noting(rating(long, 1))
    settings = {"clusters": 10, "most_clusters": 20, "most_frames": 60, "grow": True, "threads": 1}
    result = tree(long, model, Cache(None), **settings)
    assert [len(call.rows) for call in model.of(RelevanceCall)] == [20, 32, 8], "two hours have begun"
    assert result.settings["grow"] is True and result.settings["most_frames"] == 60
    model = Noting(rating(long, 1))
    tree(long, model, Cache(None), **{**settings, "grow": False})
    assert [len(call.rows) for call in model.of(RelevanceCall)] == [10, 20]


def test_a_frame_that_videoagent_described_is_paid(cache: Cache) -> None:
    world, question = ak.benchmarks.atlasworld(1, 10, size=(160, 90)), "What is seen?"
    agent = Counting(Babbler(1))
    videoagent(world.drawn, question, vlm=agent, frames=10, rounds=1, size=32, cache=cache)
    model = Counting(Babbler(1))
    result = videotree(world.drawn, question, vlm=model, size=32, cache=cache)
    assert agent.calls.count("frame") == 10 and "frame" not in model.calls and taken_steps(result)["frame"] >= 8


def test_a_failed_call_costs_what_it_asked_for(brief_world: World) -> None:
    no_ratings = tree(brief_world, Noting(ak.Oracle(brief_world), "relevance"), Cache(None))
    assert no_ratings.prediction is not None and no_ratings.failure == "the call failed"
    assert taken_steps(no_ratings)["relevance"] == 0 and taken_steps(no_ratings)["frame"] > 16, (
        "as if nothing were relevant"
    )
    no_frames = tree(brief_world, Noting(ak.Oracle(brief_world), "frame"), Cache(None))
    assert no_frames.prediction is not None and set(taken_steps(no_frames)) == set()


def test_a_replay_elsewhere_needs_neither_the_file_nor_the_library(
    brief_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, other = Cache(tmp_path / "one"), Cache(tmp_path / "other")
    result = tree(brief_world, ak.Oracle(brief_world), cache)
    packed = export(tmp_path / "run.jsonl.xz", result, cache=cache)
    assert packed["clusters"] >= 1 and "features" not in packed
    import_(tmp_path / "run.jsonl.xz", cache=other)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    without_file = open_video(fingerprint=brief_world.drawn.fingerprint, cache=other)
    model = ak.Oracle(brief_world)
    again = videotree(without_file, brief_world.questions[0], vlm=model, size=32, replay=True, cache=other)
    assert again.to_json() == result.to_json() and again.spent.calls == again.spent.frames_decoded == 0
    assert "features" not in export(tmp_path / "all.jsonl.xz", cache=cache)


def test_only_frames_that_were_shown_can_be_rated() -> None:
    schema = RelevanceCall(Question("What?", kind="open"), 16.0, ("a", "b", "c")).request().schema

    def rates(frame: Any, relevance: Any = 2) -> Any:
        return {"prediction": "", "confidence": 1, "relevance": [{"frame": frame, "relevance": relevance}]}

    assert schema.model_validate(rates(2)).relevance[0].frame == 2
    for wrong in (rates(3), rates(-1), rates(True), rates("0"), rates(0, 0), rates(0, 4), rates(0, True)):
        with pytest.raises(ValidationError):
            schema.model_validate(wrong)
    with pytest.raises(ValidationError):
        schema.model_validate({**rates(0), "relevance": [{"frame": 0, "relevance": 1}] * 4})


def test_of_two_ratings_of_a_frame_the_first_counts(brief_world: World, cache: Cache) -> None:
    twice = [{"frame": 0, "relevance": 1}, {"frame": 0, "relevance": 3}]
    model = Noting(Overruled(ak.Oracle(brief_world), relevance=lambda _, answer: {**answer, "relevance": twice}))
    tree(brief_world, model, cache, clusters=4, most_clusters=4)
    assert len(model.of(StillCall)) == 4, "no group is opened; what is not rated is not relevant"
