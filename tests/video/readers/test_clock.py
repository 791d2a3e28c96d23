"""Promise 13 on files whose clock restarts, jumps or wraps, or that have no index."""

from __future__ import annotations

import errno
import io
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.media import SIZE, frame_number, make_video

from atlaskit.errors import FrameError, VideoError
from atlaskit.video.opening import open_video
from atlaskit.video.readers.clock import SoundClock, Ticks, Timeline, continuous
from atlaskit.video.readers.container import open_container
from atlaskit.video.readers.index import MadeSource
from atlaskit.video.readers.making import make_index
from atlaskit.video.video import Video

SMALL, NARROW = (160, 90), (200, 180)
FRAMES = 60
"""Frames of a part: 2.4 seconds."""
FRAGMENTED = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
WRAP_FRAMES = 25 * 2**33 // 90_000
"""Frames until the clock of a transport stream wraps."""


Part = dict[str, Any]
"""How a part differs from the usual ones; `starts_at` is its first time, in frames."""


def part(path: Path, number: int, starts_at: int = 0, **settings: Any) -> bytes:
    """Return the bytes of a part, whose frames are numbered from `number` parts on."""
    has_sound = path.suffix != ".h264"
    usual: Part = {"size": SMALL, "gop": 20, "sound_s": 2.4 if has_sound else 0.0, "bf": "2", "preset": "ultrafast"}
    usual |= {"container_options": FRAGMENTED if path.suffix == ".mp4" else {}, "sound_from_s": starts_at / 25}
    usual |= {"frames": FRAMES, "first": number * FRAMES, "starts_at": starts_at}
    return make_video(path, **(usual | settings)).read_bytes()


def joined(path: Path, parts: list[Part]) -> Path:
    """Return a file that holds parts one after the other, as `cat` or a recorder leaves them."""
    made = [part(path, number, **settings) for number, settings in enumerate(parts)]
    if path.suffix == ".flv":  # a part without its header
        made[1:] = [each[13:] for each in made[1:]]
    if path.suffix == ".mp4":  # fragments without their header
        made[1:] = [each[each.find(b"moof") - 4 :] for each in made[1:]]
    path.write_bytes(b"".join(made))
    return path


AGAIN: Part = {}
"""A part whose clock starts anew."""
JOINED: dict[str, tuple[str, list[Part]]] = {
    "restart.ts": (".ts", [AGAIN] * 3),
    "restart.flv": (".flv", [AGAIN] * 3),
    "restart.mp4": (".mp4", [AGAIN] * 3),
    "restart.mpg": (".mpg", [AGAIN] * 3),
    "restart.h264": (".h264", [AGAIN] * 3),
    "restart.mkv": (".mkv", [AGAIN] * 2),  # FFmpeg reads no third file
    "jump.ts": (".ts", [AGAIN, {"starts_at": 90_000}, {"starts_at": 2_500}]),
    "jump.mp4": (".mp4", [AGAIN, {"starts_at": 90_000}, {"starts_at": 2_500}]),
    "overlap.flv": (".flv", [AGAIN, {"starts_at": 35}]),
    "without sound.ts": (".ts", [{"sound_s": 0.0}, {"sound_s": 0.0, "starts_at": 40_000}]),
    "other size.ts": (".ts", [{"size": SIZE}, {"size": NARROW}]),
    # FFmpeg returns the last packet under the first number at the very end.
    "other numbers.ts": (".ts", [AGAIN, {"container_options": {"mpegts_start_pid": "0x200"}}]),
    "wrap.ts": (".ts", [{"starts_at": WRAP_FRAMES - 75}]),
}


@pytest.mark.family
@pytest.mark.parametrize("name", JOINED)
def test_parts_play_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    suffix, parts = JOINED[name]
    path = joined(tmp_path / f"joined{suffix}", parts)
    video = open_video(path)
    count = len(parts) * FRAMES
    assert video.duration_s == pytest.approx(count / 25, abs=0.06)
    assert video.fps == pytest.approx(25, rel=0.01)
    times = [(index + 0.5) / 25 for index in range(count)]
    assert [number_at(video, time_s) for time_s in times] == list(range(count)), "in order"
    for index in random.Random(0).sample(range(count), 12):
        assert number_at(open_video(path), times[index]) == index, "alone, from a new reader"
    assert [upright_number(frame) for frame in open_video(path).frames(times)] == list(range(count)), "in one request"


def number_at(video: Video, time_s: float) -> int:
    return upright_number(video.frames([time_s])[0])


def upright_number(frame: np.ndarray) -> int:
    """Return the number of a frame that may lie between grey bars."""
    height, width = frame.shape[:2]
    inner = height * NARROW[0] // NARROW[1]
    between = frame[:, (width - inner) // 2 :][:, :inner]
    return max(frame_number(frame), frame_number(between))


RAW: dict[str, dict[str, Any]] = {
    ".mpg": {"codec": "mpeg2video", "bf": "2"},
    ".h264": {"codec": "libx264", "bf": "2", "fps": 30},  # FFmpeg takes 25 for the rate of any raw stream
    ".h265": {"codec": "libx265", "x265-params": "log-level=none:open-gop=1:bframes=3"},
    ".m4v": {"codec": "mpeg4", "bf": "2", "format": "m4v"},
    ".mjpeg": {"codec": "mjpeg", "pix_fmt": "yuvj420p"},
    ".obu": {"codec": "libsvtav1", "preset": "12"},
}


@pytest.mark.parametrize("suffix", RAW)
def test_a_file_without_an_index_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = make_video(tmp_path / f"a film{suffix}", frames=85, size=SMALL, gop=20, **RAW[suffix])
    video = open_video(path)
    fps = RAW[suffix].get("fps", 25)
    assert isinstance(video._reader._source, MadeSource)  # type: ignore[attr-defined]
    assert video.duration_s == pytest.approx(85 / fps, abs=0.001) and video.fps == pytest.approx(fps)
    times = [(index + 0.5) / fps for index in range(85)]
    assert [upright_number(frame) for frame in video.frames(times)] == list(range(85))
    for index in (84, 3, 40, 0, 21):
        assert number_at(open_video(path), times[index]) == index


def test_a_copy_is_made_once_and_anew_if_it_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = make_video(tmp_path / "v.mpg", "mpeg2video", frames=30, size=SMALL)
    video = open_video(path)
    (copy,) = (tmp_path / "cache" / "streams").iterdir()
    expected = video.frame(0.5).tobytes()
    made = copy.stat().st_mtime_ns
    assert open_video(path).frame(0.5).tobytes() == expected and copy.stat().st_mtime_ns == made
    data = bytearray(copy.read_bytes())
    data[-200] ^= 255
    for damaged in (data, b""):
        copy.write_bytes(damaged)
        assert open_video(path).frame(0.5).tobytes() == expected
    assert list(copy.parent.iterdir()) == [copy], "nothing else is left"
    copy.unlink()
    video._reader.close_if_idle()  # type: ignore[attr-defined]
    (frame,) = video.try_frames([0.5])
    assert isinstance(frame, FrameError) and "open the video again" in str(frame) and not frame.is_lasting


def test_where_nothing_can_be_written_only_what_needs_a_copy_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cache").write_text("a file where the cache should be")
    assert number_at(open_video(make_video(tmp_path / "v.ts", frames=30, size=SMALL)), 0.5) == 12
    with pytest.raises(VideoError, match="cannot be created.*another directory"):
        open_video(make_video(tmp_path / "v.mpg", "mpeg2video", frames=30, size=SMALL))


def test_a_film_that_cannot_be_read_is_no_full_cache(tmp_path: Path) -> None:
    class Torn(io.FileIO):
        def read(self, _: int | None = -1) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

    class Film(type(tmp_path)):  # type: ignore[misc]
        def open(self, _: str) -> Torn:
            return Torn(self)

    path = make_video(tmp_path / "v.mp4", frames=5, size=SMALL)
    with pytest.raises(VideoError, match=r"v\.mp4 cannot be read \(Input/output error\)"):
        make_index(*open_container(path), Film(path), "is on a share", tmp_path / "v.packets")


TICK, FRAME = Fraction(1, 90_000), 3600
LONGEST = 10 * 90_000

PARTS = st.tuples(st.integers(-(2**33), 2**33), st.lists(st.integers(1, LONGEST - FRAME), min_size=3, max_size=30))
"""For each part, the tick at which it starts, and the steps between its frames."""


def of_parts(parts: list[tuple[int, list[int]]]) -> tuple[Ticks, list[int]]:
    """Return the times of a file of parts, and the index at which each begins."""
    times: list[int] = []
    starts = []
    for start, steps in parts:
        starts.append(len(times))
        times += np.cumsum([start, *steps]).tolist()
    return np.array(times, np.int64), starts


def timeline_of(times: Ticks, *sounds: SoundClock) -> Timeline:
    return continuous(times, np.full(len(times), FRAME), sounds, TICK)


@given(st.lists(PARTS, min_size=1, max_size=5))
def test_a_part_plays_as_long_as_alone_and_begins_where_the_one_before_ends(parts: list[tuple[int, list[int]]]) -> None:
    apart = [(start + 2**40 * (number % 2), steps) for number, (start, steps) in enumerate(parts)]
    times, starts = of_parts(apart)
    timeline = timeline_of(times)
    assert [joint.picture for joint in timeline.joints] == starts[1:]
    assert timeline.times[0] == times[0] and timeline.end * 90_000 == timeline.times[-1] + FRAME
    for (_, steps), first in zip(apart, starts, strict=True):
        assert np.diff(timeline.times[first : first + len(steps) + 1]).tolist() == steps
    for first in starts[1:]:
        assert timeline.times[first] - timeline.times[first - 1] == FRAME


@given(st.integers(3, 40), st.integers(0, 2**33), st.data())
def test_one_wrong_time_is_corrected(count: int, wrong: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, count - 2))
    times = 10**6 + np.arange(count, dtype=np.int64) * FRAME
    times[at] = wrong
    timeline = timeline_of(times)
    assert not timeline.joints
    assert (np.diff(timeline.times) >= 0).all()
    assert abs(int(timeline.times[at]) - (10**6 + at * FRAME)) <= LONGEST


def test_slides_beside_sound_are_no_joints() -> None:
    times, _ = of_parts([(0, [60 * 90_000] * 3)])
    sound = SoundClock()
    for slide in range(1, 4):
        for tenth in range(600):
            sound.add(Fraction(60 * (slide - 1)) + Fraction(tenth, 10), Fraction(1, 10), slide)
    assert timeline_of(times, sound).times.tolist() == times.tolist()


def test_sound_that_outlasts_the_pictures_of_a_part_delays_the_next() -> None:
    times = list[int]()
    sound = SoundClock()
    for _ in range(2):
        for tenth in range(300):
            if tenth in (0, 10, 20, 30):
                times.append(tenth * 9_000)
            sound.add(Fraction(tenth, 10), Fraction(1, 10), len(times))
    timeline = timeline_of(np.array(times, np.int64), sound)
    assert timeline.times[4] == 30 * 90_000 and timeline.end == 60
