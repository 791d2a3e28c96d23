"""Groups of frames that look alike: what they hold, what they cost, and what a replay needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from support.stand_ins import Flat

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kind_of
from atlaskit.errors import FrameError, InputError
from atlaskit.methods.clusters import FRAME, MOST_FRAMES, THUMBNAIL, Cluster, SimilarFrames, descriptors
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


def seconds(cluster: Cluster) -> set[int]:
    return set(cluster.members)


def test_frames_of_a_colour_are_a_group() -> None:
    video = Scenes()
    clusters = SimilarFrames(video, Cache(None)).clusters(3)
    colours = [{video.colour(second) for second in each.members} for each in clusters]
    assert len(colours) == 3 and sorted(map(list, colours)) == [[0], [1], [2]]
    assert sorted(member for each in clusters for member in each.members) == list(range(24))
    assert all(each.time_s - 0.5 in seconds(each) for each in clusters), "a frame of its own stands for a group"


def test_parts_divide_a_group_and_the_smallest_are_single_frames() -> None:
    frames = SimilarFrames(Scenes(), Cache(None))
    (cluster, *_) = frames.clusters(3)
    parts = frames.clusters(4, cluster)
    assert len(parts) == 4 and sorted(m for part in parts for m in part.members) == list(cluster.members)
    assert [part.time_s for part in parts] == sorted(part.time_s for part in parts)
    smallest = max((p for p in parts), key=lambda part: len(part.members))
    assert [part.members for part in frames.clusters(8, smallest)] == [(member,) for member in smallest.members]


def test_a_video_of_one_picture_has_one_group() -> None:
    (cluster,) = SimilarFrames(Flat(), Cache(None)).clusters(8)
    assert cluster.members == tuple(range(16))
    assert len(SimilarFrames(Flat(), Cache(None)).clusters(4, cluster)) == 4


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


def test_groups_are_the_same_on_any_number_of_threads() -> None:
    def grouped(_: int) -> tuple[list[Cluster], list[Cluster]]:
        frames = SimilarFrames(Scenes(60.0), Cache(None))
        clusters = frames.clusters(5)
        return clusters, frames.clusters(3, clusters[0])

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(grouped, range(8))
    assert all(other == first for other in others)


FOREIGN = {
    "no JSON": b"\x00",
    "an object": b"{}",
    "a number": b"3",
    "no members": b"[[1.5,[]]]",
    "a frame twice": b"[[1.5,[1,1]]]",
    "a frame in two groups": b"[[1.5,[1]],[2.5,[1,2]]]",
    "a frame that there is not": b"[[1.5,[24]]]",
    "a negative frame": b"[[1.5,[-1]]]",
    "no whole number": b"[[1.5,[true]]]",
    "a time outside": b"[[24.0,[1]]]",
    "no number": b"[[NaN,[1]]]",
    "deep": b"[" * 5000,
}


@pytest.mark.parametrize("name", FOREIGN)
def test_groups_of_a_foreign_cache_are_checked(name: str) -> None:
    cache, video = Cache(None), Scenes()
    clusters = SimilarFrames(video, cache).clusters(3)
    (key,) = (entry.key for entry in cache.entries() if kind_of(entry.key) == "clusters")
    cache.put(key, FOREIGN[name])
    assert SimilarFrames(video, cache).clusters(3) == clusters


@pytest.mark.parametrize("entry", [b"", b"\x00", bytes(23 * FRAME.itemsize), b"\x40" * (24 * FRAME.itemsize)])
def test_features_of_a_foreign_cache_are_checked(entry: bytes) -> None:
    cache, video = Cache(None), Scenes()
    clusters = SimilarFrames(video, cache).clusters(3)
    keys = {kind_of(each.key): each.key for each in cache.entries()}
    cache.put(keys["features"], entry)
    cache.prune(kinds=["clusters"])
    assert SimilarFrames(video, cache).clusters(3) == clusters
    assert np.frombuffer(cache.get(keys["features"]) or b"", FRAME)["time_s"][0] == 0.5


@given(arrays(np.uint8, (3, THUMBNAIL[1], THUMBNAIL[0], 3)))
def test_distances_are_those_of_pixels_and_colours(pixels: np.ndarray) -> None:
    rows = descriptors(pixels)
    apart = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert (apart <= 2 + 1e-9).all()
    differences = ((pixels[0].astype(float) - pixels[1]) ** 2).mean() / 255**2
    assert apart[0, 1] >= differences - 1e-9


def test_black_and_white_are_farthest_apart() -> None:
    shape = (THUMBNAIL[1], THUMBNAIL[0], 3)
    rows = descriptors(np.stack([np.zeros(shape, np.uint8), np.full(shape, 255, np.uint8)]))
    assert ((rows[0] - rows[1]) ** 2).sum() == pytest.approx(2)
