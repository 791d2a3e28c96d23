"""Promise 13 on files whose clock restarts, jumps or wraps, and on files without an index."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from support.media import SIZE, frame_number, make_video

from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError, VideoError
from atlaskit.video.file import VideoFile
from atlaskit.video.opening import open_video
from atlaskit.video.readers.index import MadeSource

SMALL, NARROW = (160, 90), (200, 180)
FRAMES = 60
"""Frames of a part: 2.4 seconds."""
FRAGMENTED = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
WRAP_FRAMES = 25 * 2**33 // 90_000
"""Frames until the clock of a transport stream wraps."""


def part(folder: Path, suffix: str, number: int, starts_at: int = 0, **settings: object) -> bytes:
    """Return the bytes of a part, whose frames are numbered from `number` parts on."""
    path = folder / f"part-{number}-{starts_at}{suffix}"
    options: dict[str, object] = {"codec": "libx264", "size": SMALL, "gop": 20, "sound_s": 2.4, "preset": "ultrafast"}
    options |= {"bf": "2", "first": number * FRAMES, "starts_at": starts_at, "sound_from_s": starts_at / 25}
    if suffix == ".h265":
        options |= {"codec": "libx265", "x265-params": "log-level=none"}
    if suffix in (".h264", ".h265"):
        options["sound_s"] = 0.0
    if suffix == ".mp4":
        options["container_options"] = FRAGMENTED
    return make_video(path, frames=FRAMES, **(options | settings)).read_bytes()  # type: ignore[arg-type]


def joined(folder: Path, suffix: str, parts: list[bytes]) -> Path:
    """Return a file that holds parts one after the other, as `cat` or a recorder leaves them."""
    path = folder / f"joined{suffix}"
    if suffix == ".flv":  # a part without its header
        parts = [parts[0], *(part[13:] for part in parts[1:])]
    if suffix == ".mp4":  # fragments without their header
        parts = [parts[0], *(part[part.find(b"moof") - 4 :] for part in parts[1:])]
    path.write_bytes(b"".join(parts))
    return path


def restart(folder: Path, suffix: str) -> Path:
    return joined(folder, suffix, [part(folder, suffix, number) for number in range(3)])


def restart_once(folder: Path, suffix: str) -> Path:
    return joined(folder, suffix, [part(folder, suffix, number) for number in range(2)])


def jump(folder: Path, suffix: str) -> Path:
    return joined(folder, suffix, [part(folder, suffix, number, at) for number, at in enumerate((0, 90_000, 2_500))])


def overlap(folder: Path, suffix: str) -> Path:
    return joined(folder, suffix, [part(folder, suffix, 0), part(folder, suffix, 1, 35)])


def without_sound(folder: Path, suffix: str) -> Path:
    return joined(folder, suffix, [part(folder, suffix, 0, sound_s=0.0), part(folder, suffix, 1, 40_000, sound_s=0.0)])


def renumbered(folder: Path, suffix: str) -> Path:
    """FFmpeg returns the last packet under the first number at the very end."""
    other = part(folder, suffix, 1, container_options={"mpegts_start_pid": "0x200"})
    return joined(folder, suffix, [part(folder, suffix, 0), other])


def wrap(folder: Path, suffix: str) -> Path:
    return joined(folder, suffix, [part(folder, suffix, 0, WRAP_FRAMES - 75)])


def other_size(folder: Path, suffix: str) -> Path:
    return joined(folder, suffix, [part(folder, suffix, 0, size=SIZE), part(folder, suffix, 1, size=NARROW)])


JOINED: list[tuple[Callable[[Path, str], Path], str, int]] = [
    *((restart, suffix, 3) for suffix in (".ts", ".flv", ".mp4", ".mpg", ".h264")),
    (restart_once, ".mkv", 2),  # FFmpeg reads no third file
    *((jump, suffix, 3) for suffix in (".ts", ".mp4")),
    *(
        (overlap, ".flv", 2),
        (without_sound, ".ts", 2),
        (other_size, ".ts", 2),
        (renumbered, ".ts", 2),
        (wrap, ".ts", 1),
    ),
]


@pytest.mark.family
@pytest.mark.parametrize(("make", "suffix", "parts"), JOINED, ids=lambda value: getattr(value, "__name__", str(value)))
def test_parts_play_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path, str], Path], suffix: str, parts: int
) -> None:
    monkeypatch.chdir(tmp_path)
    path = make(tmp_path, suffix)
    video = open_video(path)
    count = parts * FRAMES
    assert video.duration_s == pytest.approx(count / 25, abs=0.06)
    assert video.fps == pytest.approx(25, rel=0.01)
    times = [(index + 0.5) / 25 for index in range(count)]
    assert [number_at(video, time_s) for time_s in times] == list(range(count)), "in order"
    shuffled = random.Random(0).sample(range(count), 12)
    for index in shuffled:
        assert number_at(open_video(path), times[index]) == index, "alone, from a new reader"
    together = [frame for frame in open_video(path).try_frames(times) if not isinstance(frame, FrameError)]
    assert [upright_number(frame) for frame in together] == list(range(count)), "in one request"


def number_at(video: object, time_s: float) -> int:
    return upright_number(video.frames([time_s])[0])  # type: ignore[attr-defined]


def upright_number(frame: object) -> int:
    """Return the number of a frame that may lie between grey bars."""
    number = frame_number(frame)  # type: ignore[arg-type]
    if number >= 0:
        return number
    height, width = frame.shape[:2]  # type: ignore[attr-defined]
    inner = height * NARROW[0] // NARROW[1]
    return frame_number(frame[:, (width - inner) // 2 :][:, :inner])  # type: ignore[index]


RAW = {
    ".mpg": "mpeg2video",
    ".h264": "libx264",
    ".h265": "libx265",
    ".m4v": "mpeg4",
    ".mjpeg": "mjpeg",
    ".obu": "libsvtav1",
}


@pytest.mark.parametrize("suffix", RAW)
def test_a_file_without_an_index_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.chdir(tmp_path)
    codec = RAW[suffix]
    options = {"libx265": {"x265-params": "log-level=none:open-gop=1:bframes=3"}, "libsvtav1": {"preset": "12"}}
    reorders = {} if codec in ("mjpeg", "libsvtav1") else {"bf": "2"}
    pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    frames, fps = 85, 30 if suffix == ".h264" else 25  # FFmpeg takes 25 for the rate of any raw stream
    path = make_video(
        tmp_path / f"a film{suffix}",
        codec,
        frames,
        fps,
        size=SMALL,
        gop=20,
        pix_fmt=pix_fmt,
        format="m4v" if suffix == ".m4v" else None,
        **reorders,
        **options.get(codec, {}),
    )
    video = open_video(path)
    assert isinstance(video, VideoFile)
    assert isinstance(video._reader._source, MadeSource)  # type: ignore[attr-defined]
    assert video.duration_s == pytest.approx(frames / fps, abs=0.001) and video.fps == pytest.approx(fps)
    times = [(index + 0.5) / fps for index in range(frames)]
    assert [upright_number(frame) for frame in video.frames(times)] == list(range(frames))
    for index in (84, 3, 40, 0, 21):
        assert number_at(open_video(path), times[index]) == index


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, VideoFile, Path]:
    """A file without an index, the video, and the index that was made of it."""
    monkeypatch.chdir(tmp_path)
    path = make_video(tmp_path / "v.mpg", "mpeg2video", frames=30, size=SMALL)
    video = open_video(path)
    assert isinstance(video, VideoFile)
    (copy,) = (tmp_path / "cache" / "streams").iterdir()
    return path, video, copy


def test_a_copy_is_made_once_and_anew_if_it_is_damaged(copied: tuple[Path, VideoFile, Path]) -> None:
    path, video, copy = copied
    expected, made, data = video.frame(0.5).tobytes(), copy.stat().st_mtime_ns, bytearray(copy.read_bytes())
    assert open_video(path).frame(0.5).tobytes() == expected and copy.stat().st_mtime_ns == made
    data[-200] ^= 255
    for damaged in (data, b""):
        copy.write_bytes(damaged)
        assert open_video(path).frame(0.5).tobytes() == expected
    assert list(copy.parent.iterdir()) == [copy], "nothing else is left"


def test_a_copy_that_is_gone_gives_one_sentence(copied: tuple[Path, VideoFile, Path]) -> None:
    _, video, copy = copied
    copy.unlink()
    video._reader.close_if_idle()
    (frame,) = video.try_frames([0.5])
    assert isinstance(frame, FrameError) and "open the video again" in str(frame) and not frame.is_lasting


def test_the_command_line_lists_and_removes_copies(
    copied: tuple[Path, VideoFile, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path, _, copy = copied
    Cache("cache")
    assert main(["cache", "stats"]) == 0 and "streams" in capsys.readouterr().out
    assert main(["cache", "prune", "--kind", "streams"]) == 0 and "1 streams removed" in capsys.readouterr().out
    assert not copy.exists()
    assert number_at(open_video(path), 0.5) == 12, "it is made again"


def test_where_nothing_can_be_written_only_what_needs_a_copy_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cache").write_text("a file where the cache should be")
    assert number_at(open_video(make_video(tmp_path / "v.ts", frames=30, size=SMALL)), 0.5) == 12
    with pytest.raises(VideoError, match="cannot be created.*another directory"):
        open_video(make_video(tmp_path / "v.mpg", "mpeg2video", frames=30, size=SMALL))
