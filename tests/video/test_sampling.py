"""Which frame represents a cell: that at the midpoint (paper §3.1), a keyframe, a salient one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import ask
from support.media import frame_number, make_video

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kind_of
from atlaskit.environment.render import with_look
from atlaskit.errors import FrameError, InputError
from atlaskit.video.opening import open_video
from atlaskit.video.readers import Pixels
from atlaskit.video.salient import CANDIDATES
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import SAMPLINGS, Sampling, Video

GOP = 10


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Video:
    """A video of 20 s with a keyframe every 0.4 s."""
    return open_video(make_video(tmp_path_factory.mktemp("video") / "v.mp4", frames=500, gop=GOP, sc_threshold="0"))


def test_the_keyframe_nearest_to_the_midpoint_is_taken(video: Video) -> None:
    for start_s, end_s in ((0.0, 5.0), (5.0, 10.0), (0.3, 0.9), (12.1, 12.9), (19.0, 20.0)):
        middle_s = (start_s + end_s) / 2
        keyframes = [index / 25 for index in range(0, 500, GOP) if start_s <= index / 25 < end_s]
        nearest = min(keyframes, key=lambda time_s: abs(time_s - middle_s))
        sampled_s = video.moment(start_s, end_s, "keyframe")
        assert abs(sampled_s - middle_s) == pytest.approx(abs(nearest - middle_s), abs=1e-6)
        assert frame_number(np.asarray(video.frame(sampled_s))) % GOP == 0
        assert video.moment(start_s, end_s) == middle_s


def test_a_cell_without_a_keyframe_shows_its_midpoint(video: Video) -> None:
    assert video.moment(0.41, 0.79, "keyframe") == pytest.approx(0.6)


def test_auto_takes_keyframes_in_cells_of_four_gops(video: Video) -> None:
    assert video.moment(3.05, 4.6, "auto") == (3.05 + 4.6) / 2, "1.55 s is shorter than four GOPs of 0.4 s"
    assert video.moment(3.05, 4.7, "auto") == pytest.approx(4.0), "1.65 s is longer"


def test_finding_keyframes_decodes_nothing(tmp_path: Path, video: Video) -> None:
    before = video.frames_decoded
    view = ak.view(video, k=4, cell=64, sampling="keyframe", cache=Cache(tmp_path))
    assert all(number * 25 % GOP < 1e-6 or number * 25 % GOP > GOP - 1e-6 for number in view.moments)
    assert video.frames_decoded == before
    view.jpeg()
    assert video.frames_decoded == before + 16, "a keyframe needs no other frames"


def test_sampling_is_part_of_the_key_and_its_times_are_cached(tmp_path: Path, video: Video) -> None:
    view = ak.view(video, k=4, cell=64, cache=Cache(tmp_path))
    views = [with_look(view, sampling=rule) for rule in SAMPLINGS]
    assert len({view.key for view in views}) == 4
    assert views[1].expand(3).look.sampling == "keyframe"
    for each in views[1:]:
        found = each.moments
        assert dataclasses.replace(each, video=MissingVideo(video)).moments == found


class MissingVideo(Video):
    """A video whose file cannot be read any more."""

    def __init__(self, video: Video) -> None:
        self.name, self.duration_s, self.fps, self.size = video.name, video.duration_s, video.fps, video.size
        self.fingerprint, self.subtitles = video.fingerprint, video.subtitles

    def try_frames(self, times_s: object, size: object = None) -> list[object]:  # type: ignore[override]
        raise AssertionError

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        raise AssertionError


@pytest.mark.parametrize("sampling", ["keyframe", "salient"])
def test_evidence_has_the_time_of_the_sampled_frame(tmp_path: Path, video: Video, sampling: Sampling) -> None:
    """Promise 4, with another sampling than that of midpoints."""
    atlas = ak.Atlas(video, k=4, cell=64, sampling=sampling, cache=Cache(tmp_path))
    observation = atlas.reset()
    after = atlas.step(ak.AddToScratchpad((ak.Claim(5, "it", timestamp_s=19.0),)))
    (item,) = after.state.scratchpad
    assert item.timestamp_s == observation.view.moments[5] != observation.view.cells[5].midpoint_s
    assert 5 not in after.legal["add_to_scratchpad"], "a cell is added once"
    zoomed = atlas.step(ak.Zoom(5)).looking_at
    assert frame_number(np.asarray(zoomed.image)) == round(item.timestamp_s * 25)  # type: ignore[union-attr]


@pytest.mark.parametrize("sampling", ["keyframe", "auto", "salient"])
def test_a_run_samples_other_frames_and_replays_from_the_cache(film: World, tmp_path: Path, sampling: str) -> None:
    question = film.questions[0]
    cache = Cache(tmp_path)
    options = {"vlm": Oracle(film), "cell": 64, "k": 4, "cache": cache, "sampling": sampling}
    result = ask(film.video, question, **options)  # type: ignore[arg-type]
    assert f'"sampling":"{sampling}"' in result.to_json().replace(" ", "")
    assert result.evidence
    again = ask(film.video, question, **options)  # type: ignore[arg-type]
    assert again.to_json() == result.to_json() and again.spent.calls == again.spent.frames_decoded == 0


def test_an_unknown_sampling_raises_one_sentence(video: Video) -> None:
    with pytest.raises(InputError, match="sampling is one of midpoint, keyframe, auto, salient; got 'first'"):
        ak.view(video, sampling="first")  # type: ignore[arg-type]


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
