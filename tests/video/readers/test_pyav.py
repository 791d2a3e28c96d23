"""Promise 2: exact frames from whole files, and how much is decoded for them."""

from __future__ import annotations

import gc
import math
import random
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.media import SIZE, cut_video, frame_number, make_video, played_frames

from atlaskit.video.opening import open_video
from atlaskit.video.readers import steps

CODECS = {
    "h264.mp4": ("libx264", {"bf": "3"}),
    "h264_open_gop.mp4": ("libx264", {"x264-params": "open-gop=1:keyint=40:bframes=3"}),
    "h264.mkv": ("libx264", {"bf": "2"}),
    "h264.mov": ("libx264", {}),
    "h264.ts": ("libx264", {}),
    "hevc.mp4": ("libx265", {"x265-params": "log-level=none"}),
    "vp8.webm": ("libvpx", {}),
    "vp9.webm": ("libvpx-vp9", {}),
    "mpeg4.avi": ("mpeg4", {}),
    "one_keyframe.mp4": ("libx264", {"x264-params": "keyint=infinite:scenecut=0"}),
}


@pytest.mark.family
@pytest.mark.parametrize("name", CODECS)
def test_random_access_equals_sequential_decoding(tmp_path: Path, name: str) -> None:
    codec, options = CODECS[name]
    video = open_video(make_video(tmp_path / name, codec, **options))
    assert video.duration_s == pytest.approx(9.6, abs=0.05)
    assert (video.fps, video.size) == (25, SIZE)
    rng = random.Random(name)
    times = [rng.uniform(0, video.duration_s) for _ in range(50)] + [0.0, video.duration_s - 1e-3]
    expected = [min(int(time_s * 25 + 1e-6), 239) for time_s in times]
    assert [frame_number(np.asarray(video.frame(time_s))) for time_s in times] == expected
    assert [frame_number(pixels) for pixels in video.frames(times, SIZE)] == expected


def test_a_frame_is_found_at_its_own_time(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4", frames=90, fps=30))
    assert [frame_number(pixels) for pixels in video.frames([index / 30 for index in range(90)])] == list(range(90))


def test_a_dense_request_decodes_each_packet_about_once(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4"))
    video.frames([index / 25 for index in range(240)])
    assert video.frames_decoded <= 245


@pytest.mark.parametrize("name", ["late.mp4", "late.mkv", "late.ts"])
def test_time_zero_is_the_first_frame(tmp_path: Path, name: str) -> None:
    video = open_video(make_video(tmp_path / name, frames=75, starts_at=125))
    assert video.duration_s == pytest.approx(3.0, abs=0.05)
    assert [frame_number(pixels) for pixels in video.frames([0.0, 1.0, 2.9])] == [0, 25, 72]


def test_a_file_cut_between_keyframes_plays_as_in_a_player(tmp_path: Path) -> None:
    """`ffmpeg -ss 3 -c copy` makes such files: frames before the cut are decoded and not shown."""
    path = cut_video(make_video(tmp_path / "whole.mp4"), tmp_path / "cut.mp4", at_s=3, from_s=2)
    shown = played_frames(path)
    video = open_video(path)
    assert [frame_number(np.asarray(video.frame(time_s))) for time_s, _, _ in shown] == [
        number for _, number, _ in shown
    ]
    assert video.duration_s == pytest.approx(len(shown) / 25, abs=0.01)


def test_unreferenced_frames_are_not_decoded(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4", bf="3", **{"x264-params": "b-adapt=0"}))
    video.frames([1.96 + 2 * gop for gop in range(4)])  # the last frame of each GOP but one
    assert video.frames_decoded < 0.6 * 4 * 50


def test_frames_requested_in_order_are_decoded_once(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4"))
    assert [frame_number(np.asarray(video.frame(index / 25))) for index in range(240)] == list(range(240))
    assert video.frames_decoded < 2 * 240


@pytest.mark.family
@pytest.mark.parametrize(
    "name", ["h264.mp4", "h264_open_gop.mp4", "h264.mkv", "h264.ts", "hevc.mp4", "one_keyframe.mp4"]
)
def test_the_order_of_requests_does_not_matter(tmp_path: Path, name: str) -> None:
    """A paused decoder does not matter, whether requests go forwards, backwards, or far."""
    codec, options = CODECS[name]
    video, rng = open_video(make_video(tmp_path / name, codec, **options)), random.Random(name)
    index = 0
    for _ in range(120):
        index = (index + rng.choice((0, 1, 1, 1, 2, 3, 7, -1, 61))) % 240
        times = [(index + more) / 25 for more in rng.choice(((0,), (0,), (0, 1), (0, 5, 2), (0, 40)))]
        times = [time_s for time_s in times if time_s < video.duration_s]
        assert [frame_number(frame) for frame in video.frames(times)] == [round(time_s * 25) for time_s in times]


def test_a_large_gop_is_decoded_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "CHUNK_BYTES", 2000)
    codec, options = CODECS["one_keyframe.mp4"]
    video = open_video(make_video(tmp_path / "v.mp4", codec, **options))
    times = [random.Random(0).uniform(0, 9.5) for _ in range(12)]
    assert [frame_number(frame) for frame in video.frames(times)] == [int(time_s * 25) for time_s in times]


def test_sparse_requests_do_not_decode_what_lies_between(tmp_path: Path) -> None:
    """FFmpeg's index of a transport stream is sparse; distant times must not share a job."""
    video = open_video(make_video(tmp_path / "v.ts", frames=1000, size=(160, 90)))
    video.frames([4 * second + 0.5 for second in range(10)])
    assert video.frames_decoded < 10 * 50


def test_the_last_microsecond_belongs_to_the_last_frame(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4", frames=30))
    times = [video.duration_s - 1e-3, video.duration_s - 5e-7, math.nextafter(video.duration_s, 0)]
    assert [frame_number(frame) for frame in video.frames(times)] == [29] * 3


def test_a_reader_does_not_retain_returned_frames(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4", frames=60))
    frames = [
        weakref.ref(frame) for start in (0, 20) for frame in video.try_frames([(start + i) / 25 for i in range(20)])
    ]
    gc.collect()
    assert [frame for frame in frames if frame()] == []


def test_threads_can_share_a_video(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4"))
    times = [random.Random(i).uniform(0, 9.5) for i in range(40)]
    barrier = threading.Barrier(4)

    def read(part: int) -> list[int]:
        barrier.wait()
        return [frame_number(np.asarray(video.frame(time_s))) for time_s in times[part::4]]

    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(read, range(4)))
    assert seen == [[int(time_s * 25 + 1e-6) for time_s in times[part::4]] for part in range(4)]
