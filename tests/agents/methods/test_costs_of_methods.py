"""What depends on no question is paid once a video, by whichever method and question comes first."""

from __future__ import annotations

import pytest

import atlaskit as ak
from atlaskit.agents.baselines import METHODS
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.models.call_log import PER_VIDEO_STEPS, Call

CLIP_METHODS = ("retrieval", "mapreduce", "mapreduce-clips", "worldmm", "dvd")
"""The methods that stand on the records of clips."""


def paid(calls: tuple[Call, ...], steps: frozenset[str] = PER_VIDEO_STEPS) -> list[str]:
    return [call.step for call in calls if call.live and call.step in steps]


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"video-rlm", "composite"}))
def test_the_second_question_pays_nothing_for_the_video(name: str, world: World, cache: Cache) -> None:
    first, second = (
        METHODS[name](world.drawn, question, vlm=ak.Oracle(world), cache=cache) for question in world.questions[:2]
    )
    if name != "videoagent":  # which frames it has captioned depends on what it looks for
        assert paid(second.calls) == []
    assert first.prediction is not None and second.prediction is not None


def test_the_second_method_pays_nothing_for_clips(world: World, cache: Cache) -> None:
    question, clips = world.questions[0], frozenset({"clip"})
    for number, name in enumerate(CLIP_METHODS):
        result = METHODS[name](world.drawn, question, vlm=ak.Oracle(world), cache=cache)
        described = [call.step for call in result.calls if call.step == "clip"]
        assert described, name
        assert paid(result.calls, clips) == (described if number == 0 else []), name
