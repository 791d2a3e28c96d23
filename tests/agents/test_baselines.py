"""Baselines: what each sends to the model, what it costs, and the result it returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Unpack

import atlaskit as ak
from atlaskit.agents.verbalize import quote_line
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.evaluation import baselines
from atlaskit.methods.baselines import CaptionCall
from atlaskit.methods.calls import TextCall
from atlaskit.models.protocol import CallControl, ModelWrapper, Reply, Request


@dataclass
class Recorder(ModelWrapper):
    """A model that passes requests on to another one and records them."""

    requests: list[Request] = field(default_factory=list)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.requests.append(request)
        return self.model.complete(request)


def test_uniform_gives_each_frame_the_lines_of_its_stretch(world: World, cache: Cache) -> None:
    recorder = Recorder(ak.Oracle(world))
    for subtitles in (True, False):
        baselines.uniform(
            world.drawn, world.questions[0], vlm=recorder, frames=64, size=16, subtitles=subtitles, cache=cache
        )
    with_lines, without = (request.facts for request in recorder.requests)
    spoken = [line for lines in with_lines.subtitles for line in lines]
    assert spoken == list(world.drawn.subtitles.lines), "each line once"
    words = "".join(
        part for message in recorder.requests[0].messages for part in message.parts if isinstance(part, str)
    )
    assert all(line.text in words for line in spoken)
    first = with_lines.views[0].grid
    for line in with_lines.subtitles[0]:
        assert f"\n{first.cell_at(line.start_s).index}: {quote_line(line)}" in words
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


def test_blind_and_subtitles_get_no_images(world: World, cache: Cache) -> None:
    recorder = Recorder(ak.Oracle(world))
    baselines.blind(world.drawn, world.questions[0], vlm=recorder, cache=cache)
    baselines.subtitles_only(world.drawn, world.questions[0], vlm=recorder, cache=cache)
    nothing, spoken = recorder.requests
    assert not nothing.images and not spoken.images
    words = [str(request.messages) for request in recorder.requests]
    lines = [line.text for line in world.drawn.subtitles.lines]
    assert not any(line in words[0] for line in lines) and all(line in words[1] for line in lines)
