"""What depends on no question is paid once a video, by whichever method or question is first."""

from __future__ import annotations

import pytest

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.cached import PER_VIDEO_STEPS, Call

CLIP_METHODS = ("retrieval", "mapreduce", "mapreduce-clips", "worldmm", "dvd")
"""The methods that stand on the records of clips."""


CHOOSING_METHODS = ("videoagent", "videotree")
"""The methods whose question decides which frames are described."""


def paid(calls: tuple[Call, ...], steps: frozenset[str] = PER_VIDEO_STEPS) -> list[tuple[str, ...]]:
    """Return what the calls that were made now showed, those of some steps alone."""
    return [call.views for call in calls if call.live and call.step in steps]


@pytest.mark.family
@pytest.mark.parametrize("name", sorted(set(METHODS) - {"video-rlm", "composite"}))
def test_the_second_question_pays_nothing_again_for_the_video(name: str, world: World, cache: Cache) -> None:
    first, second = (
        METHODS[name](world.drawn, question, vlm=ak.Oracle(world), cache=cache) for question in world.questions[:2]
    )
    assert first.prediction is not None and second.prediction is not None
    again = paid(second.calls)
    assert not {views for views in again if views} & set(paid(first.calls))
    assert name in CHOOSING_METHODS or again == []


def test_the_second_method_pays_nothing_for_clips(world: World, cache: Cache) -> None:
    question, clips = world.questions[0], frozenset({"clip"})
    for number, name in enumerate(CLIP_METHODS):
        result = METHODS[name](world.drawn, question, vlm=ak.Oracle(world), cache=cache)
        described = [call.views for call in result.calls if call.step in clips]
        assert described, name
        assert paid(result.calls, clips) == (described if number == 0 else []), name
