"""`videoagent` and `videotree`: the frames they describe, how frames are grouped, the costs."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from methods.every import ask_by
from pydantic import ValidationError
from support.model_doubles import Counting, Overruled
from support.searches import taken_steps
from support.stand_ins import Flat

import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kind_of
from atlaskit.errors import FrameError, InputError
from atlaskit.methods.records import StillCall
from atlaskit.methods.run import TextCall
from atlaskit.methods.videoagent import JudgeCall, PickCall
from atlaskit.methods.videotree import MOST_FRAMES, Cluster, RelevanceCall, SimilarFrames
from atlaskit.models.protocol import Request
from atlaskit.video.readers import Pixels
from atlasworld import World


def judging(world: World, judgement: dict[str, Any], cell: int = 3) -> Any:
    """Return an oracle with a judgement of its own, which picks one cell everywhere."""
    return Overruled(
        aw.Oracle(world),
        videoagent=lambda *_: {"reasoning": "", "answer": "", "judgement": judgement},
        pick=lambda *_: {"seen": "", "cell": cell},
    )


def looks(*wanted: tuple[int, str]) -> dict[str, Any]:
    return {"sure": 1, "look": [{"segment": segment, "look_for": words} for segment, words in wanted]}


def test_a_certain_answer_costs_five_frames_a_judgement_and_the_answer(tiny: World, cache: Cache) -> None:
    model = Counting(judging(tiny, {"sure": 3}))
    result = ask_by("videoagent", tiny, model, cache)
    assert taken_steps(result) == {"frame": 5, "videoagent": 1} and result.total.calls == 7
    assert times_of(model.of(StillCall)) == [12.0, 36.0, 60.0, 84.0, 108.0]
    (judged,), (answered,) = model.of(JudgeCall), model.of(TextCall)
    assert judged.segments == ((0.0, 12.0), (12.0, 36.0), (36.0, 60.0), (60.0, 84.0), (84.0, 108.0), (108.0, 120.0))
    assert [row.split(" ")[0] for row in judged.rows.split("\n")] == ["Segment", "Frame"] * 5 + ["Segment"]
    assert answered.text.split("\n") == [row for _, row in judged.frames]


def test_an_unsure_answer_gets_the_frames_that_are_picked(tiny: World, cache: Cache) -> None:
    model = Counting(judging(tiny, looks((4, "a star"), (0, "a red circle"))))
    result = ask_by("videoagent", tiny, model, cache)
    _, second = model.of(JudgeCall)
    picks = model.of(PickCall)
    picks[:2] = sorted(picks[:2], key=lambda call: call.view.grid.start_s)  # threads ask in any order
    wanted = [(pick.view.grid.start_s, pick.view.grid.end_s, pick.look_for) for pick in picks[:2]]
    assert wanted == [(0.0, 12.0, "a red circle"), (84.0, 108.0, "a star")]
    picked_s = [pick.view.moments[3] for pick in picks[:2]]
    assert [time_s for time_s, _ in second.frames] == sorted([12.0, 36.0, 60.0, 84.0, 108.0, *picked_s])
    assert len(second.segments) == 8 and all(pick.cells == tuple(range(16)) for pick in picks)
    assert taken_steps(result) == {"frame": 9, "videoagent": 2, "pick": 4}, "the third round answers"
    told = next(event for event in result.trace.of("turn") if event.step == "pick")
    assert (told.told, told.intervals_s) == ("a red circle", ((0.0, 12.0),))


def test_rounds_and_segments_are_bounded(tiny: World, cache: Cache) -> None:
    alone = ask_by("videoagent", tiny, aw.Oracle(tiny), cache, rounds=1)
    assert taken_steps(alone) == {"frame": 5}
    model = Counting(judging(tiny, looks((0, "x"))))
    ask_by("videoagent", tiny, model, Cache(None), rounds=6)
    assert len(model.of(JudgeCall)) == 5
    assert all(span[1] - span[0] >= 1.0 for call in model.of(JudgeCall) for span in call.segments)
    with pytest.raises(ValidationError):
        ask_by("videoagent", tiny, judging(tiny, looks((0, "x"), (1, "x"))), Cache(None), segments=1)


def rating(world: World, *grades: int) -> Counting:
    """Return an oracle that rates frames so, the last grade for all further ones."""

    def rate(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        frames = range(len(request.facts.rows))  # type: ignore[attr-defined]
        ratings = [{"frame": each, "relevance": grades[min(each, len(grades) - 1)]} for each in frames]
        return {"prediction": "", "confidence": 1, "relevance": ratings}

    return Counting(Overruled(aw.Oracle(world), relevance=rate))


def counts(model: Counting) -> list[int]:
    """Return how many frames were rated, call by call."""
    return [len(call.rows) for call in model.of(RelevanceCall)]


def times_of(calls: list[StillCall]) -> list[float]:
    return sorted(call.frame.time_s for call in calls)


def test_the_groups_of_the_frames_that_were_rated_are_opened(tiny: World, cache: Cache) -> None:
    """A rating is of a row, and rows are in order of time."""
    model = rating(tiny, 1, 3, 2, 1)
    ask_by("videotree", tiny, model, cache, clusters=6, most_clusters=6)
    frames = SimilarFrames(tiny.drawn, cache)
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


def test_groups_are_doubled_until_enough_are_relevant(tiny: World) -> None:
    for grade, expected in ((1, [8, 16, 32]), (3, [8])):
        model = rating(tiny, grade)
        ask_by("videotree", tiny, model, Cache(None))
        assert counts(model) == expected
    model = rating(tiny, 1)
    ask_by("videotree", tiny, model, Cache(None), clusters=5, most_clusters=12)
    assert counts(model) == [5, 10, 12]
    described = times_of(model.of(StillCall))
    assert len(described) == len(set(described)), "a frame is described once"


class Scenes(Flat):
    """A video whose seconds have one of three colours, in turns of four seconds.

    Attributes:
        keyframes: How often a keyframe was searched.
    """

    def __init__(self, duration_s: float = 24.0, *, is_lasting: bool = True, broken: tuple[float, float] = (0, 0)):
        super().__init__(broken=broken)
        self.duration_s, self.is_lasting, self.keyframes = duration_s, is_lasting, 0
        self.fingerprint = f"scenes-{duration_s}"

    def colour(self, time_s: float) -> int:
        return int(time_s / 4) % 3

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        frames = list[Pixels | FrameError]()
        for time_s, frame in zip(times_s, super().try_frames(times_s, size), strict=True):
            if isinstance(frame, FrameError):
                frames.append(FrameError("broken", is_lasting=self.is_lasting))
            else:
                frames.append(np.roll(frame, self.colour(time_s), axis=2) + np.uint8(time_s % 4))
        return frames

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        self.keyframes += 1
        return float(int(time_s)), None


def test_frames_of_a_colour_are_a_group() -> None:
    video = Scenes()
    clusters = SimilarFrames(video, Cache(None)).clusters(3)
    colours = [{video.colour(second) for second in each.members} for each in clusters]
    assert len(colours) == 3 and sorted(map(list, colours)) == [[0], [1], [2]]
    assert sorted(member for each in clusters for member in each.members) == list(range(24))
    assert all(each.time_s - 0.5 in each.members for each in clusters), "a frame of its own represents a group"
    assert video.keyframes == 0 and video.asked == 24, "one frame a second, exactly"


def test_frames_that_cannot_be_decoded_are_in_no_group() -> None:
    cache = Cache(None)
    clusters = SimilarFrames(Scenes(broken=(4.0, 9.0)), cache).clusters(3)
    assert {member for each in clusters for member in each.members} == set(range(24)) - {4, 5, 6, 7, 8}
    assert SimilarFrames(Scenes(broken=(0.0, 24.0)), Cache(None)).clusters(3) == []
    assert {kind_of(entry.key) for entry in cache.entries()} == {"features", "clusters"}
    passing = Cache(None)
    SimilarFrames(Scenes(broken=(4.0, 9.0), is_lasting=False), passing).clusters(3)
    assert not list(passing.entries()), "a frame that could not be read this time is tried again"


def test_ten_hours_cost_as_many_frames_as_one() -> None:
    hour, long = Scenes(3_600.0), Scenes(36_000.0)
    for video in (hour, long):
        SimilarFrames(video, Cache(None), most=360).clusters(3)
        assert video.asked == 360
    assert long.keyframes == 360 and SimilarFrames(long, Cache(None)).count == MOST_FRAMES


def test_what_was_grouped_before_decodes_nothing_and_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, video = Cache(None), Scenes()
    frames = SimilarFrames(video, cache)
    clusters = frames.clusters(3)
    parts = frames.clusters(2, clusters[0])
    asked = video.asked
    cache.prune(kinds=["features"])
    monkeypatch.setitem(sys.modules, "sklearn", None)
    again = SimilarFrames(video, cache)
    assert again.clusters(3) == clusters and again.clusters(2, clusters[0]) == parts and video.asked == asked
    with pytest.raises(InputError, match="scikit-learn, .* -m pip install 'scikit-learn>=1.4'"):
        again.clusters(4)


def test_groups_of_a_foreign_cache_are_checked() -> None:
    cache, video = Cache(None), Scenes()
    clusters = SimilarFrames(video, cache).clusters(3)
    (key,) = (entry.key for entry in cache.entries() if kind_of(entry.key) == "clusters")
    twice, missing, outside = b"[[1.5,[1]],[2.5,[1,2]]]", b"[[1.5,[24]]]", b"[[24.0,[1]]]"
    for foreign in (b"\x00", b"{}", b"[[1.5,[1,1]]]", twice, missing, outside, b"[" * 5000):
        cache.put(key, foreign)
        assert SimilarFrames(video, cache).clusters(3) == clusters
