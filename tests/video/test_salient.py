"""`sampling="salient"`: the frame of a cell that is least like all candidates near it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.media import make_video

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kind_of
from atlaskit.errors import FrameError
from atlaskit.video.opening import open_video
from atlaskit.video.readers import Pixels
from atlaskit.video.salient import CANDIDATES, LONG_CELL_GOPS, most_salient
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import Video

Look = Callable[[float], int | FrameError]
"""What a video shows at a time: the number of a picture, or why there is none."""
BLACK = -1


class Painted(Video):
    """A video whose frames are numbered pictures of noise; a larger number, a larger change.

    Attributes:
        asked: The times of all frames that were requested.
    """

    def __init__(self, look: Look, duration_s: float = 100.0, fps: float = 25.0) -> None:
        self.name, self.duration_s, self.fps, self.size = "painted", duration_s, fps, (64, 36)
        self.fingerprint, self.subtitles, self._look = "painted", Subtitles(), look
        self.asked: list[float] = []

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        width, height = size or self.size
        noise = np.random.default_rng(0).integers(60, 160, (height, width, 3))
        frames: list[Pixels | FrameError] = []
        for time_s in times_s:
            self.check_time(time_s)
            self.asked.append(time_s)
            shown = self._look(time_s)
            if isinstance(shown, FrameError):
                frames.append(shown)
            else:
                frames.append(((noise + shown) * (shown != BLACK)).astype(np.uint8))
        return frames


def numbered(*spans: tuple[float, float, int]) -> Look:
    """Return a look with picture 0 at all times except in some spans."""
    return lambda time_s: next((number for start_s, end_s, number in spans if start_s <= time_s < end_s), 0)


def places(start_s: float, end_s: float) -> list[float]:
    return [start_s + (number + 0.5) / CANDIDATES * (end_s - start_s) for number in range(CANDIDATES)]


def test_the_frame_that_differs_represents_the_cell() -> None:
    video = Painted(numbered((21.0, 22.5, 30)))
    assert video.moment(20.0, 30.0, "salient") == pytest.approx(places(20.0, 30.0)[1])
    assert video.moment(30.0, 40.0, "salient") == 35.0, "nothing differs: the midpoint"


def test_a_cell_is_compared_with_those_beside_it() -> None:
    """What the next cell shows too is less salient than a smaller change that is here alone."""
    spans = (21.0, 22.0, 80), (27.0, 28.0, 3)
    assert 21.0 <= Painted(numbered(*spans)).moment(20.0, 30.0, "salient") < 22.0
    assert 27.0 <= Painted(numbered(*spans, (33.0, 34.0, 80))).moment(20.0, 30.0, "salient") < 28.0


def test_what_lasts_is_no_more_salient_than_what_it_replaces() -> None:
    video = Painted(numbered((50.0, 100.0, 40)))
    assert video.moment(45.0, 55.0, "salient") == 50.0, "each half has its like: the midpoint"


def test_of_equal_candidates_the_nearest_to_the_midpoint_is_taken_then_the_earlier() -> None:
    seen = {float(at): np.full((9, 16, 3), 40 + at, np.uint8) for at in range(9)}
    seen = {at: np.where(np.arange(16)[None, :, None] < 8, frame, 0).astype(np.uint8) for at, frame in seen.items()}
    assert most_salient(list(seen), [], 4.2, seen) == 4.0
    assert most_salient([1.0, 2.0], [], 1.5, seen) == 1.0
    assert most_salient([], [1.0], 7.5, seen) == 7.5


def test_a_blank_frame_represents_a_cell_only_if_all_are_blank() -> None:
    faded = Painted(numbered((20.0, 21.0, BLACK), (26.0, 27.0, 5)))
    assert 26.0 <= faded.moment(20.0, 30.0, "salient") < 27.0
    dark = Painted(lambda _: BLACK)
    assert dark.moment(20.0, 30.0, "salient") == 25.0


def test_an_undecodable_candidate_is_passed_over(tmp_path: Path) -> None:
    lost = FrameError("lost")
    video = Painted(lambda at: lost if 20.0 <= at < 23.0 else 50 if 27.0 <= at < 28.0 else 0)
    assert 27.0 <= video.moment(20.0, 30.0, "salient") < 28.0
    assert Painted(lambda _: lost).moment(20.0, 30.0, "salient") == 25.0
    view = ak.view(Painted(lambda _: lost), k=2, cell=64, sampling="salient", cache=Cache(tmp_path))
    assert view.moments == (12.5, 37.5, 62.5, 87.5) and view.unreadable == {0, 1, 2, 3}


def test_a_candidate_that_cannot_be_read_this_time_leaves_nothing_in_the_cache() -> None:
    broken, cache = Painted(lambda _: FrameError("busy", is_lasting=False)), Cache(None)
    with pytest.raises(FrameError, match="busy"):
        broken.moment(20.0, 30.0, "salient")
    view = ak.view(broken, k=2, cell=64, sampling="salient", cache=cache)
    assert view.moments == (12.5, 37.5, 62.5, 87.5)
    assert not any(kind_of(entry.key) == "moments" for entry in cache.entries())
    mended = dataclasses.replace(view, video=Painted(numbered((1.0, 2.0, 9))))
    assert mended.moments[0] < 10


def test_a_cell_of_fewer_frames_than_candidates_shows_its_midpoint_and_decodes_nothing() -> None:
    video = Painted(numbered((0.0, 0.2, 90)))
    least_s = CANDIDATES / video.fps
    assert video.moment(0.0, least_s * 0.99, "salient") == least_s * 0.99 / 2 and video.asked == []
    assert video.moment(0.0, least_s * 1.01, "salient") > 0 and video.asked


INTERVALS = st.lists(
    st.tuples(st.floats(0.0, 99.0), st.floats(1e-3, 60.0)).map(lambda pair: (pair[0], min(100.0, sum(pair)))),
    min_size=1,
    max_size=6,
)
LOOKS = st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(0.1, 20.0), st.integers(1, 90)), max_size=8)


@given(INTERVALS, LOOKS)
def test_a_moment_lies_in_its_cell_whatever_else_is_asked(
    intervals: list[tuple[float, float]], spans: list[tuple[float, float, int]]
) -> None:
    video = Painted(numbered(*((start_s, start_s + span_s, number) for start_s, span_s, number in spans)))
    together = video.moments(intervals, "salient")
    assert len(set(video.asked)) == len(video.asked) <= 3 * CANDIDATES * len(intervals), "no frame is asked for twice"
    for (start_s, end_s), moment_s in zip(intervals, together, strict=True):
        assert start_s <= moment_s < end_s
        assert video.moment(start_s, end_s, "salient") == moment_s


@settings(max_examples=20)
@given(st.integers(2, 9), st.floats(1.0, 100.0), st.sampled_from([(), (0,), (3,), (1, 2)]))
def test_a_grid_asks_for_each_candidate_once(k: int, duration_s: float, path: tuple[int, ...]) -> None:
    video = Painted(lambda time_s: int(time_s * 7) % 50, duration_s)
    view = ak.view(video, k=k, cell=16, sampling="salient", cache=Cache(None))
    for index in path:
        view = view.expand(index)
    assert all(cell.start_s <= moment < cell.end_s for cell, moment in zip(view.cells, view.moments, strict=True))
    assert len(video.asked) <= CANDIDATES * (k * k + 2)


# --- files ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Video:
    """A video of 20 s with a keyframe every 0.4 s."""
    return open_video(make_video(tmp_path_factory.mktemp("video") / "v.mp4", frames=500, gop=10, sc_threshold="0"))


@pytest.mark.parametrize("is_long", [True, False])
def test_a_long_cell_has_keyframes_as_candidates(video: Video, is_long: bool) -> None:
    before, cell_s = video.frames_decoded, 0.4 * LONG_CELL_GOPS + (0.1 if is_long else -0.1)
    moment = video.moment(8.0, 8.0 + cell_s, "salient")
    keyframes = [index / 2.5 for index in range(50)]
    assert any(moment == pytest.approx(keyframe_s, abs=1e-6) for keyframe_s in keyframes) == is_long
    decoded, near = video.frames_decoded - before, 3 * cell_s
    assert 0 < decoded <= (near / 0.4 + 3 if is_long else 25 * (near + 2 * 0.4)), "none outside the three cells"


def test_a_second_view_decodes_nothing(video: Video, tmp_path: Path) -> None:
    view = ak.view(video, k=4, cell=64, sampling="salient", cache=Cache(tmp_path))
    first = view.moments
    decoded = video.frames_decoded
    again = ak.view(video, k=4, cell=32, labels="time", sampling="salient", cache=Cache(tmp_path))
    assert again.moments == first and video.frames_decoded == decoded > 0


def test_parts_of_a_playlist_are_compared_with_each_other(tmp_path: Path) -> None:
    paths = [make_video(tmp_path / f"{number}.mp4", frames=100, first=number * 100) for number in range(2)]
    playlist = open_video(paths)
    moments = playlist.moments([(0.0, 3.0), (3.0, 5.0), (5.0, 8.0)], "salient")
    assert 0 <= moments[0] < 3 <= moments[1] < 5 <= moments[2] < 8


def test_a_drawn_world_shows_more_of_its_events(world: World) -> None:
    shown = {}
    for rule in ("midpoint", "salient"):
        moments_s = ak.view(world.drawn, sampling=rule, cache=Cache(None)).moments  # type: ignore[arg-type]
        shown[rule] = sum(any(e.start_s <= at < e.end_s for at in moments_s) for e in world.script.events)
    assert shown["salient"] > 1.3 * shown["midpoint"]


def test_what_a_stand_in_shows_is_not_cached_for_its_film(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for options in ({"duration_s": 60}, {"duration_s": 480, "clip_s": 60}):  # a clip, and a playlist of clips
        arguments: dict[str, Any] = {"seed": 1, "questions": 2, "size": (160, 90), "directory": tmp_path, **options}
        view = ak.view(atlasworld(**arguments).stand_in, k=2, cell=32, sampling="salient", cache=cache)
        assert len(view.moments) == 4
    assert not any(kind_of(entry.key) == "moments" for entry in cache.entries())
