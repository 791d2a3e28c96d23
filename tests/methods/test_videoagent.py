"""`videoagent`: what it looks at in each round, what it may name, what it costs."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from support.model_doubles import Babbler, Counting, Noting, Overruled
from support.searches import taken_steps
from support.stand_ins import Flat

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Look
from atlaskit.evaluation.baselines import videoagent
from atlaskit.methods.calls import TextCall
from atlaskit.methods.records import Note, StillCall
from atlaskit.methods.videoagent import JudgeCall, PickCall, between
from atlaskit.models.errors import Unreachable
from atlaskit.runs.result import Result

WHAT = Question("What is seen?", kind="open")


def judging(world: World, judgement: dict[str, Any], cell: int = 3) -> Any:
    """Return an oracle with a judgement of its own, which picks one cell everywhere."""
    return Overruled(
        ak.Oracle(world),
        videoagent=lambda *_: {"reasoning": "", "answer": "", "judgement": judgement},
        pick=lambda *_: {"seen": "", "cell": cell},
    )


def looks(*wanted: tuple[int, str]) -> dict[str, Any]:
    return {"sure": 1, "look": [{"segment": segment, "look_for": words} for segment, words in wanted]}


def look(world: World, model: Any, cache: Cache, number: int = 0, **settings: Any) -> Result:
    return videoagent(
        world.drawn, world.questions[number], vlm=model, cache=cache, **{"size": 32, "threads": 1, **settings}
    )


def test_a_certain_answer_costs_five_frames_a_judgement_and_the_answer(brief_world: World, cache: Cache) -> None:
    model = Noting(judging(brief_world, {"sure": 3}))
    result = look(brief_world, model, cache)
    assert taken_steps(result) == {"frame": 5, "videoagent": 1} and result.total.calls == 7
    assert [call.frame.time_s for call in model.of(StillCall)] == [12.0, 36.0, 60.0, 84.0, 108.0]
    (judged,), (answered,) = model.of(JudgeCall), model.of(TextCall)
    assert judged.segments == ((0.0, 12.0), (12.0, 36.0), (36.0, 60.0), (60.0, 84.0), (84.0, 108.0), (108.0, 120.0))
    assert [row.split(" ")[0] for row in judged.rows.split("\n")] == ["Segment", "Frame"] * 5 + ["Segment"]
    assert answered.text.split("\n") == [row for _, row in judged.frames]


def test_an_unsure_answer_gets_the_frames_that_are_picked(brief_world: World, cache: Cache) -> None:
    model = Noting(judging(brief_world, looks((4, "a star"), (0, "a red circle"))))
    result = look(brief_world, model, cache)
    _, second = model.of(JudgeCall)
    picks = model.of(PickCall)
    picks[:2] = sorted(picks[:2], key=lambda call: call.view.grid.start_s)  # threads ask in any order
    assert [(pick.view.grid.start_s, pick.view.grid.end_s, pick.look_for) for pick in picks[:2]] == [
        (0.0, 12.0, "a red circle"),
        (84.0, 108.0, "a star"),
    ]
    picked_s = [pick.view.moments[3] for pick in picks[:2]]
    assert [time_s for time_s, _ in second.frames] == sorted([12.0, 36.0, 60.0, 84.0, 108.0, *picked_s])
    assert len(second.segments) == 8 and all(pick.cells == tuple(range(16)) for pick in picks)
    assert taken_steps(result) == {"frame": 9, "videoagent": 2, "pick": 4}, "the third round answers"
    assert all(len(call.views) <= 1 for call in result.calls)
    told = [event for event in result.trace.of("turn") if event.step == "pick"]
    assert [event.told for event in told][:2] == ["a red circle", "a star"]
    assert told[0].intervals_s == ((0.0, 12.0),)
    (answered,) = model.of(TextCall)
    assert len(answered.text.split("\n")) == 9


def test_a_segment_named_twice_is_looked_into_once(brief_world: World, cache: Cache) -> None:
    model = Noting(judging(brief_world, looks((2, "the first"), (2, "the second"))))
    look(brief_world, model, cache, rounds=2)
    assert [pick.look_for for pick in model.of(PickCall)] == ["the first"]


def test_rounds_and_segments_are_bounded(brief_world: World, cache: Cache) -> None:
    alone = Noting(ak.Oracle(brief_world))
    look(brief_world, alone, cache, rounds=1)
    assert not alone.of(JudgeCall) and len(alone.of(StillCall)) == 5 and len(alone.of(TextCall)) == 1
    model = Noting(judging(brief_world, looks((0, "x"))))
    look(brief_world, model, Cache(None), rounds=6)
    assert len(model.of(JudgeCall)) == 5
    assert all(span[1] - span[0] >= 1.0 for call in model.of(JudgeCall) for span in call.segments)
    with pytest.raises(ValidationError):
        look(brief_world, judging(brief_world, looks((0, "x"), (1, "x"))), Cache(None), segments=1)


def test_segments_are_what_lies_between_frames_unless_it_is_short() -> None:
    notes = [Note((time_s, time_s + 0.1), "x", ()) for time_s in (0.5, 10.0, 10.9, 30.0)]
    assert between(30.5, notes) == ((0.5, 10.0), (10.9, 30.0))
    assert between(30.5, []) == ((0.0, 30.5),) and between(0.5, []) == ()


def test_a_video_without_segments_is_answered_at_once(cache: Cache) -> None:
    video, model = Flat(), Counting(Babbler(1))
    result = videoagent(video, "What is seen?", vlm=model, frames=32, size=32, cache=cache)
    assert model.calls == ["frame"] * 32 + ["decision"] and result.prediction is not None


def test_unreadable_frames_cannot_be_picked(cache: Cache) -> None:
    video = Flat(broken=(0.0, 1.0))
    wanted = looks((0, "anything"), (1, "anything"))
    model = Noting(Overruled(Babbler(1), videoagent=lambda *_: {"reasoning": "", "answer": "", "judgement": wanted}))
    videoagent(video, "What is seen?", vlm=model, frames=2, rounds=2, size=32, cache=cache)
    pick, other = sorted(model.of(PickCall), key=lambda call: call.view.grid.start_s)  # threads ask in any order
    assert pick.cells == tuple(range(4, 16)) and other.cells == tuple(range(16)), "cells of a quarter of a second"
    dead, cut = Flat(broken=(0.0, 3.9)), Noting(model.model)
    videoagent(dead, "What is seen?", vlm=cut, frames=2, rounds=2, size=32, cache=Cache(None))
    assert [pick.view.grid.start_s for pick in cut.of(PickCall)] == [4.0], "a segment without a frame is left out"


def test_only_segments_and_cells_that_there_are_can_be_named() -> None:
    spans = ((0.0, 5.0), (5.0, 10.0), (10.0, 16.0))
    schema, said = JudgeCall(WHAT, 16.0, (), spans, 5).request().schema, {"reasoning": "", "answer": ""}
    assert schema.model_validate({**said, "judgement": looks((2, "x"))}).judgement.look[0].segment == 2
    wrong = [{"sure": 3, "look": []}, {"sure": 1}, {"sure": 1, "look": []}, {"sure": 4}, {"sure": True, "look": []}]
    wrong += [looks((3, "x")), looks((-1, "x")), looks((0, " ")), looks(*[(0, "x")] * 4)]
    for judgement in wrong:
        with pytest.raises(ValidationError):
            schema.model_validate({**said, "judgement": judgement})
    view = View(Flat(), Grid(0.0, 16.0, 4), Look(32), cache=Cache(None))
    pick = PickCall(WHAT, "x", view, (4, 5)).request().schema
    for cell in (0, 16, True, "5"):
        with pytest.raises(ValidationError):
            pick.model_validate({"seen": "", "cell": cell})


def test_a_failed_call_costs_what_it_asked_for(brief_world: World) -> None:
    wanted, expected = judging(brief_world, looks((0, "x"))), dict[str, dict[str, int]]()
    expected["frame"] = {"videoagent": 2, "pick": 2}
    expected["videoagent"] = {"frame": 5}
    expected["pick"] = {"frame": 5, "videoagent": 1}
    for step, left in expected.items():
        result = look(brief_world, Noting(wanted, step), Cache(None))
        assert result.prediction is not None and result.failure == "the call failed" and result.stop == "answered"
        assert taken_steps(result) == left


def test_a_server_that_vanishes_later_costs_the_frames_and_not_the_run(brief_world: World, cache: Cache) -> None:
    wanted = judging(brief_world, looks(*((segment, "x") for segment in range(5))))
    result = look(brief_world, Noting(wanted, "pick", error=Unreachable), cache)
    assert result.prediction is not None and taken_steps(result) == {"frame": 5, "videoagent": 1}
    with pytest.raises(Unreachable):
        look(brief_world, Noting(wanted, "frame", "videoagent", "decision", error=Unreachable), Cache(None))
