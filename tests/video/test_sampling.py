"""Which frame represents a cell: that at the midpoint (paper §3.1), a keyframe, a salient one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from support.asking import ask
from support.media import frame_number, make_video

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import with_look
from atlaskit.errors import InputError
from atlaskit.video.opening import open_video
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
