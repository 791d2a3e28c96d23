"""Groups of frames that look alike: what they hold, what they cost, and what a replay needs."""

import sys
from collections.abc import Sequence

import numpy as np
import pytest
from support.stand_ins import Flat

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kind_of
from atlaskit.errors import FrameError, InputError
from atlaskit.methods.videotree import MOST_FRAMES, SimilarFrames
from atlaskit.video.readers import Pixels

COLOURS = ((200, 60, 60), (60, 200, 60), (60, 60, 200))


class Scenes(Flat):
    """A video whose seconds have one of three colours, in turns of four seconds, with some noise.

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
        self.asked += len(times_s)
        width, height = size or self.size
        frames: list[Pixels | FrameError] = []
        for time_s in times_s:
            if self.broken[0] <= time_s < self.broken[1]:
                frames.append(FrameError("broken", is_lasting=self.is_lasting))
                continue
            noise = np.random.default_rng(int(time_s * 10)).integers(-9, 9, (height, width, 3))
            frames.append((np.array(COLOURS[self.colour(time_s)]) + noise).astype(np.uint8))
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
    short = Scenes()
    SimilarFrames(short, Cache(None)).clusters(3)
    assert short.keyframes == 0 and short.asked == 24, "one frame a second, exactly"


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
