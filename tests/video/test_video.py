"""Promise 2 (exact frames) and bad files, on media made here."""

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
from support.media import SIZE, cut, make, number_in, numbered, played, song

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError, InputError, VideoError
from atlaskit.video.file import VideoFile
from atlaskit.video.fingerprint import file_fingerprint
from atlaskit.video.opening import open_video
from atlaskit.video.readers import decoder, steps

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


@pytest.mark.parametrize("name", CODECS)
def test_random_access_shows_what_a_sequential_decode_shows(tmp_path: Path, name: str) -> None:
    codec, options = CODECS[name]
    video = open_video(make(tmp_path / name, codec, **options))
    assert video.duration_s == pytest.approx(9.6, abs=0.05)
    assert (video.fps, video.size) == (25, SIZE)
    rng = random.Random(name)
    times = [rng.uniform(0, video.duration_s) for _ in range(50)] + [0.0, video.duration_s - 1e-3]
    expected = [min(int(time_s * 25 + 1e-6), 239) for time_s in times]
    assert [number_in(np.asarray(video.frame(time_s))) for time_s in times] == expected
    assert [number_in(pixels) for pixels in video.frames(times, SIZE)] == expected


def test_the_frame_at_a_frames_own_time_is_that_frame(tmp_path: Path) -> None:
    video = open_video(make(tmp_path / "v.mp4", frames=90, fps=30))
    assert [number_in(pixels) for pixels in video.frames([index / 30 for index in range(90)])] == list(range(90))


def test_dense_requests_decode_each_packet_about_once(tmp_path: Path) -> None:
    video = open_video(make(tmp_path / "v.mp4"))
    video.frames([index / 25 for index in range(240)])
    assert video.frames_decoded <= 245


@pytest.mark.parametrize("name", ["late.mp4", "late.mkv", "late.ts"])
def test_time_zero_is_the_first_frame(tmp_path: Path, name: str) -> None:
    video = open_video(make(tmp_path / name, frames=75, starts_at=125))
    assert video.duration_s == pytest.approx(3.0, abs=0.05)
    assert [number_in(pixels) for pixels in video.frames([0.0, 1.0, 2.9])] == [0, 25, 72]


def test_a_file_cut_between_keyframes_shows_what_a_player_shows(tmp_path: Path) -> None:
    """As `ffmpeg -ss 3 -c copy` cuts: what comes before the cut is decoded and not shown."""
    path = cut(make(tmp_path / "whole.mp4"), tmp_path / "cut.mp4", at_s=3, from_s=2)
    shown = played(path)
    video = open_video(path)
    assert [number_in(np.asarray(video.frame(time_s))) for time_s, _, _ in shown] == [number for _, number, _ in shown]
    assert video.duration_s == pytest.approx(len(shown) / 25, abs=0.01)


def test_what_a_damaged_file_shows_does_not_depend_on_what_was_asked_before(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    alone = [isinstance(open_video(path).try_frames([index / 25])[0], FrameError) for index in range(100, 240, 7)]
    video = open_video(path)
    in_turn = [isinstance(video.try_frames([index / 25])[0], FrameError) for index in range(100, 240, 7)]
    at_once = [isinstance(frame, FrameError) for frame in video.try_frames([i / 25 for i in range(100, 240, 7)])]
    assert any(alone) and alone == in_turn == at_once


def test_frames_that_nobody_needs_are_not_decoded(tmp_path: Path) -> None:
    video = open_video(make(tmp_path / "v.mp4", bf="3", **{"x264-params": "b-adapt=0"}))
    video.frames([1.96 + 2 * gop for gop in range(4)])  # the last frame of each GOP but one
    assert video.frames_decoded < 0.6 * 4 * 50


def test_frames_asked_for_one_after_the_other_are_decoded_once(tmp_path: Path) -> None:
    video = open_video(make(tmp_path / "v.mp4"))
    assert [number_in(np.asarray(video.frame(index / 25))) for index in range(240)] == list(range(240))
    assert video.frames_decoded < 2 * 240


@pytest.mark.parametrize(
    "name", ["h264.mp4", "h264_open_gop.mp4", "h264.mkv", "h264.ts", "hevc.mp4", "one_keyframe.mp4"]
)
def test_any_order_of_asking_shows_the_same(tmp_path: Path, name: str) -> None:
    """Forwards in steps, backwards, with leaps, alone and together: a decoder that stands somewhere may not matter."""
    codec, options = CODECS[name]
    video, rng = open_video(make(tmp_path / name, codec, **options)), random.Random(name)
    index = 0
    for _ in range(120):
        index = (index + rng.choice((0, 1, 1, 1, 2, 3, 7, -1, 61))) % 240
        times = [(index + more) / 25 for more in rng.choice(((0,), (0,), (0, 1), (0, 5, 2), (0, 40)))]
        times = [time_s for time_s in times if time_s < video.duration_s]
        assert [number_in(frame) for frame in video.frames(times)] == [round(time_s * 25) for time_s in times]


def test_a_gop_too_large_to_hold_is_decoded_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "CHUNK_BYTES", 2000)
    codec, options = CODECS["one_keyframe.mp4"]
    video = open_video(make(tmp_path / "v.mp4", codec, **options))
    times = [random.Random(0).uniform(0, 9.5) for _ in range(12)]
    assert [number_in(frame) for frame in video.frames(times)] == [int(time_s * 25) for time_s in times]


def test_a_decoder_that_gives_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = open_video(make(tmp_path / "v.mp4"))
    monkeypatch.setattr(decoder, "STALL_S", -1.0)
    with pytest.raises(FrameError, match="v.mp4 cannot be decoded at 1.500 s .no frame in"):
        video.frame(1.5)


def test_sparse_requests_cost_the_same_in_a_file_of_any_length(tmp_path: Path) -> None:
    """FFmpeg knows few places of a transport stream: that may not make one long way of them."""
    video = open_video(make(tmp_path / "v.ts", frames=1000, size=(160, 90)))
    video.frames([4 * second + 0.5 for second in range(10)])
    assert video.frames_decoded < 10 * 50


def test_the_last_microsecond_belongs_to_the_last_frame(tmp_path: Path) -> None:
    video = open_video(make(tmp_path / "v.mp4", frames=30))
    times = [video.duration_s - 1e-3, video.duration_s - 5e-7, math.nextafter(video.duration_s, 0)]
    assert [number_in(frame) for frame in video.frames(times)] == [29] * 3


def test_a_reader_keeps_no_frames_that_were_returned(tmp_path: Path) -> None:
    video = open_video(make(tmp_path / "v.mp4", frames=60))
    frames = [
        weakref.ref(frame) for start in (0, 20) for frame in video.try_frames([(start + i) / 25 for i in range(20)])
    ]
    gc.collect()
    assert [frame for frame in frames if frame()] == []


def test_a_file_that_goes_away_is_an_error_in_its_frames_place(tmp_path: Path) -> None:
    path = make(tmp_path / "v.mp4", frames=60)
    video = open_video(path)
    assert number_in(video.frames([2.0])[0]) == 50
    path.rename(tmp_path / "away.mp4")
    (frame,) = video.try_frames([0.0])  # the start is reached by opening the file again
    assert isinstance(frame, FrameError) and "cannot be read" in str(frame) and not frame.is_lasting
    video.try_frames([2.0])
    (tmp_path / "away.mp4").rename(path)
    assert [number_in(frame) for frame in video.frames([0.0, 2.0])] == [0, 50]


def test_a_file_that_was_replaced_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    path = make(tmp_path / "v.mp4", frames=60)
    video = open_video(path)
    video._reader.close_if_idle()  # type: ignore[attr-defined]
    make(path, frames=90)
    with pytest.raises(FrameError, match="has changed since it was opened"):
        video.frame(1.0)


def test_what_could_not_be_read_just_now_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video, cache = open_video(make(tmp_path / "v.mp4")), Cache(tmp_path / "cache")
    with monkeypatch.context() as patch:
        patch.setattr(decoder, "STALL_S", -1.0)
        assert len(ak.view(video, k=2, cell=64, cache=cache).unreadable) == 4
    assert ak.view(video, k=2, cell=64, cache=cache).unreadable == frozenset()


@pytest.mark.parametrize(
    ("times", "size"),
    [
        ([0.5], (0, 0)),
        ([0.5], (64,)),
        ([0.5], (-1, 5)),
        ([0.5], (10**6, 10**6)),
        (["a"], None),
        (0.5, None),
        (None, None),
    ],
)
def test_what_no_frame_has_is_one_sentence(tmp_path: Path, times: object, size: object) -> None:
    video = open_video(make(tmp_path / "v.mp4", frames=30))
    with pytest.raises(InputError, match="times_s must be|A frame must be 1 to"):
        video.frames(times, size)  # type: ignore[arg-type]
    assert video.frames(index / 25 for index in range(3)).shape[0] == 3  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        (None, {}, "Give a video file, a list"),
        ([3], {}, "A video is a file, or a list"),
        ("v.mp4", {"subtitles": 5}, "subtitles must be a file"),
        ("v.mp4", {"reader": "opencv"}, 'reader must be "pyav" or "decord"'),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(
    tmp_path: Path, source: object, options: dict[str, object], sentence: str
) -> None:
    path = make(tmp_path / "v.mp4", frames=30)
    with pytest.raises(InputError, match=sentence):
        open_video(path if source == "v.mp4" else source, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is open already"):
        open_video(open_video(path), subtitles="x.srt")


def test_threads_share_a_video(tmp_path: Path) -> None:
    video = open_video(make(tmp_path / "v.mp4"))
    times = [random.Random(i).uniform(0, 9.5) for i in range(40)]
    gate = threading.Barrier(4)

    def look(part: int) -> list[int]:
        gate.wait()
        return [number_in(np.asarray(video.frame(time_s))) for time_s in times[part::4]]

    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(look, range(4)))
    assert seen == [[int(time_s * 25 + 1e-6) for time_s in times[part::4]] for part in range(4)]


def test_shapes_and_types(tmp_path: Path) -> None:
    video = open_video(make(tmp_path / "v.mp4", frames=30))
    frames = video.frames([0.5, 0.1], size=(64, 48))
    assert (frames.shape, frames.dtype) == ((2, 48, 64, 3), np.uint8)
    assert video.frame(0.5).size == SIZE
    assert video.frames([]).shape == (0, 180, 320, 3)


@pytest.mark.parametrize("time_s", [-0.1, 10.0, 1e9, float("nan")])
def test_a_time_outside_the_video_is_one_sentence(tmp_path: Path, time_s: float) -> None:
    video = open_video(make(tmp_path / "v.mp4", frames=30))
    with pytest.raises(InputError, match="runs from 0 to 1.200 s"):
        video.frame(time_s)


def test_the_fingerprint_is_the_contents(tmp_path: Path) -> None:
    first = make(tmp_path / "a b ü.mp4", frames=30)
    copy = tmp_path / "elsewhere.mp4"
    copy.write_bytes(first.read_bytes())
    assert open_video(first).fingerprint == open_video(copy).fingerprint
    assert open_video(make(tmp_path / "c.mp4", frames=31)).fingerprint != open_video(first).fingerprint


def test_the_fingerprint_reads_a_bounded_part_of_the_file(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(50 << 30)  # 50 GB that take no disk: reading them all would never end
    assert len(file_fingerprint(large)) == 64


def test_opening_decodes_nothing(tmp_path: Path) -> None:
    assert open_video(make(tmp_path / "v.mp4", frames=60)).frames_decoded == 0


def bad_files(folder: Path) -> dict[str, tuple[Path, str]]:
    whole = make(folder / "whole.mp4")
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "text.mp4").write_text("this is a letter, not a film\n" * 50)
    (folder / "text.txt").write_text("this is a letter, not a film\n" * 50)
    (folder / "head.mp4").write_bytes(whole.read_bytes()[:500])
    song(folder / "sound.m4a")
    numbered(1).to_image().save(folder / "still.png")
    return {
        "missing": (folder / "missing.mp4", "There is no file"),
        "directory": (folder, "is a directory"),
        "empty": (folder / "empty.mp4", "is empty"),
        "text": (folder / "text.mp4", "not a video"),
        "text file": (folder / "text.txt", "not a video"),
        "still": (folder / "still.png", "not a video"),
        "sound": (folder / "sound.m4a", "only sound"),
        "truncated header": (folder / "head.mp4", "truncated"),
        "program stream": (make(folder / "v.mpg", "mpeg2video"), "cannot be searched exactly"),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "missing",
        "directory",
        "empty",
        "text",
        "text file",
        "still",
        "sound",
        "truncated header",
        "program stream",
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, kind: str) -> None:
    path, sentence = bad_files(tmp_path)[kind]
    with pytest.raises(VideoError, match=sentence) as caught:
        open_video(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
@pytest.mark.parametrize("name", ["half.mp4", "half.mkv", "half.avi", "half.mov"])
def test_a_truncated_file_is_readable_up_to_where_it_ends(tmp_path: Path, name: str) -> None:
    codec = "mpeg4" if name.endswith("avi") else "libx264"
    whole = make(tmp_path / f"whole{Path(name).suffix}", codec, container_options={"movflags": "+faststart"})
    path = tmp_path / name
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    video = open_video(path)
    assert video.duration_s == pytest.approx(9.6, abs=0.1), "the map has the size that the header promises"
    frames = video.try_frames([index / 25 for index in range(239)])
    there = [index for index, frame in enumerate(frames) if not isinstance(frame, FrameError)]
    assert 60 < len(there) < 200
    assert there == list(range(len(there))), "all that is there, and nothing after"
    assert [number_in(frame) for frame in frames[: len(there)]] == there  # type: ignore[arg-type]
    assert "half" in str(frames[-1]) and "cannot be decoded at 9.5" in str(frames[-1])


def damaged(folder: Path) -> Path:
    """A film with a stretch of noise in its middle."""
    whole = bytearray(make(folder / "damaged.mp4", frames=240).read_bytes())
    start = len(whole) * 55 // 100
    noise = random.Random(0).randbytes(len(whole) // 10)
    whole[start : start + len(noise)] = noise
    path = folder / "damaged.mp4"
    path.write_bytes(bytes(whole))
    return path


def test_damage_is_an_error_never_another_frame(tmp_path: Path) -> None:
    video = open_video(damaged(tmp_path))
    frames = video.try_frames([index / 25 for index in range(240)])
    errors = [frame for frame in frames if isinstance(frame, FrameError)]
    assert errors, "the damage should be felt"
    assert "damaged.mp4" in str(errors[0]) and " s " in str(errors[0])
    right = [
        index for index, frame in enumerate(frames) if not isinstance(frame, FrameError) and number_in(frame) == index
    ]
    assert len(right) + len(errors) == 240
    assert set(range(100)) <= set(right)
    assert number_in(np.asarray(video.frame(0.0))) == 0  # the decoder recovers
    with pytest.raises(FrameError):
        video.frames([index / 25 for index in range(240)])


def test_reading_is_behind_one_interface(tmp_path: Path) -> None:
    video = open_video(make(tmp_path / "v.mp4", frames=30))
    assert isinstance(video, VideoFile)
    assert repr(video) == "<v.mp4: 1.2 s, 320×180, 25 fps, 0 lines>"
