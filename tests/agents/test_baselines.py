"""Baselines: what each sends to the model, what it costs, and the result it returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.methods import ask_by

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.evaluation import baselines
from atlaskit.methods.baselines import CaptionCall, FramesCall
from atlaskit.methods.calls import TextCall
from atlaskit.models.errors import Unreachable
from atlaskit.models.protocol import CallControl, ModelWrapper, Reply, Request


@dataclass
class Recorder(ModelWrapper):
    """A model that passes requests on to another one and records them."""

    requests: list[Request] = field(default_factory=list)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.requests.append(request)
        return self.model.complete(request)


@dataclass
class Failing(Recorder):
    """A recorder whose calls of some kinds fail."""

    error: type[Exception] = Unreachable
    steps: tuple[str, ...] = ("caption", "clip", "frame", "videoarm", "decision")

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        if request.step in self.steps:
            raise self.error("the call failed")
        return super().complete(request)


@pytest.mark.long
@given(st.sampled_from([(16, 16), (64, 16), (160, 16), (9, 9), (12, 4), (4, 4)]), st.floats(10, 36_000))
def test_uniform_frames_are_at_the_middles_of_equal_parts(sheets: tuple[int, int], duration_s: float) -> None:
    frames, per_image = sheets
    short = ak.benchmarks.atlasworld(1, math.floor(min(duration_s, 900)), questions=1, size=(160, 90))
    recorder = Recorder(ak.Oracle(short))
    baselines.uniform(
        short.drawn, short.questions[0], vlm=recorder, frames=frames, per_image=per_image, size=16, cache=Cache(None)
    )
    (request,) = recorder.requests
    call = request.facts
    assert isinstance(call, FramesCall)
    moments = [moment for view in call.views for moment in view.moments]
    part_s = short.drawn.duration_s / frames
    assert moments == pytest.approx([(number + 0.5) * part_s for number in range(frames)])
    assert len(request.images) == frames // per_image


def test_uniform_includes_only_the_lines_at_its_frames(world: World, cache: Cache) -> None:
    recorder = Recorder(ak.Oracle(world))
    for subtitles in (True, False):
        baselines.uniform(
            world.drawn, world.questions[0], vlm=recorder, frames=64, size=16, subtitles=subtitles, cache=cache
        )
    with_lines, without = (request.facts for request in recorder.requests)
    spoken = [(time_s, line) for each in with_lines.subtitles for time_s, lines in each for line in lines]
    assert spoken and all(line.start_s <= time_s < line.end_s for time_s, line in spoken)
    words = "".join(
        part for message in recorder.requests[0].messages for part in message.parts if isinstance(part, str)
    )
    assert all(line.text in words for _, line in spoken)
    assert not any(without.subtitles)


def test_a_video_is_captioned_once(world: World, cache: Cache) -> None:
    recorder = Recorder(ak.Oracle(world))
    results = [
        baselines.captions(world.drawn, question, vlm=recorder, size=32, cache=cache)
        for question in world.questions[:2]
    ]
    clips = math.ceil(world.drawn.duration_s / 30)
    assert [result.spent.calls for result in results] == [clips + 1, 1]
    assert [result.total.calls for result in results] == [clips + 1] * 2
    assert sum(isinstance(request.facts, CaptionCall) for request in recorder.requests) == clips
    spans = [event.intervals_s[0] for event in results[0].trace.of("turn")]
    assert spans[0][0] == 0 and spans[-1][1] == world.drawn.duration_s
    assert all(one[1] == other[0] for one, other in zip(spans, spans[1:], strict=False))
    assert isinstance(recorder.requests[-1].facts, TextCall) and not recorder.requests[-1].images


def test_text_beyond_the_context_is_cut_off_and_reported(world: World, cache: Cache) -> None:
    recorder = Recorder(ak.Oracle(world))
    result = baselines.captions(world.drawn, world.questions[0], vlm=recorder, size=32, context=100, cache=cache)
    text_call = recorder.requests[-1].facts
    assert isinstance(text_call, TextCall) and 0 < len(text_call.text) <= 400
    assert "fit the context" in result.failure and result.prediction is not None


def test_blind_and_subtitles_get_no_images(world: World, cache: Cache) -> None:
    recorder = Recorder(ak.Oracle(world))
    baselines.blind(world.drawn, world.questions[0], vlm=recorder, cache=cache)
    baselines.subtitles_only(world.drawn, world.questions[0], vlm=recorder, cache=cache)
    nothing, spoken = recorder.requests
    assert not nothing.images and not spoken.images
    words = [str(request.messages) for request in recorder.requests]
    lines = [line.text for line in world.drawn.subtitles.lines]
    assert not any(line in words[0] for line in lines) and all(line in words[1] for line in lines)


def test_methods_that_show_more_answer_more(world: World, cache: Cache) -> None:
    choices = [number for number, question in enumerate(world.questions) if question.kind == "choice"]
    right = {
        name: sum(bool(ask_by(name, world, ak.Oracle(world), cache, number).is_right) for number in choices)
        for name in ("video-rlm", "uniform", "composite", "blind")
    }
    assert right["video-rlm"] == len(choices) > right["composite"] > right["blind"]
    assert right["uniform"] >= right["composite"]
