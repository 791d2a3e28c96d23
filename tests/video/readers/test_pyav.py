"""Promise 2: exact frames from whole files; from damaged ones errors, and never a wrong frame."""

from __future__ import annotations

import gc
import random
import weakref
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from support.media import frame_number, make_video

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError
from atlaskit.video.opening import open_video
from atlaskit.video.readers import decoder
from atlaskit.video.readers.index import MadeSource
from atlaskit.video.readers.trusted import SHOWN_VP8


@pytest.mark.parametrize(
    ("name", "options", "times_s", "most"),
    [
        ("v.mp4", {}, [index / 25 for index in range(240)], 245),  # each packet about once
        # Not what lies between distant times; FFmpeg's index of a transport stream is sparse.
        ("v.ts", {"frames": 1000}, [4 * second + 0.5 for second in range(10)], 10 * 50),
        # Not frames that no other needs: the last frame of each GOP but one is wanted.
        ("v.mp4", {"bf": "3", "x264-params": "b-adapt=0"}, [1.96, 3.96, 5.96, 7.96], 0.6 * 4 * 50),
    ],
    ids=["dense", "sparse", "unreferenced"],
)
def test_no_frame_is_decoded_that_is_not_needed(
    tmp_path: Path, name: str, options: dict[str, Any], times_s: list[float], most: float
) -> None:
    video = open_video(make_video(tmp_path / name, size=(160, 90), **options))
    video.frames(times_s)
    assert video.frames_decoded <= most


def test_a_reader_does_not_retain_returned_frames(tmp_path: Path) -> None:
    video = open_video(make_video(tmp_path / "v.mp4", frames=60))
    frames = [weakref.ref(frame) for frame in video.try_frames([index / 25 for index in range(40)])]
    gc.collect()
    assert not any(frame() is not None for frame in frames)


def test_damage_gives_errors_and_never_a_wrong_frame_whatever_was_asked_before(tmp_path: Path) -> None:
    """The middle of the file is overwritten with noise."""
    path = make_video(tmp_path / "damaged.mp4", frames=240)
    whole = bytearray(path.read_bytes())
    noise = random.Random(0).randbytes(len(whole) // 10)
    start = len(whole) * 55 // 100
    whole[start : start + len(noise)] = noise
    path.write_bytes(whole)
    video = open_video(path)
    times = [index / 25 for index in range(240)]
    frames = video.try_frames(times)
    numbers = [None if isinstance(frame, FrameError) else frame_number(frame) for frame in frames]
    assert all(number in (index, None) for index, number in enumerate(numbers))
    assert None not in numbers[:100] and None in numbers, "the damage must cause errors"
    for index in range(100, 240, 7):
        for asked in (open_video(path), video):  # alone, and after others
            assert isinstance(asked.try_frames([times[index]])[0], FrameError) == (numbers[index] is None)
    assert frame_number(np.asarray(video.frame(0.0))) == 0, "the decoder recovers"
    with pytest.raises(FrameError, match="damaged.mp4.* s "):
        video.frames(times)


@pytest.mark.parametrize("has_cues", [True, False])
def test_lost_packets_of_a_matroska_file_are_errors(tmp_path: Path, has_cues: bool) -> None:
    """FFmpeg passes over them; the picture before them must not stand for theirs."""
    data = bytearray(make_video(tmp_path / "v.mkv", frames=240).read_bytes())
    data[len(data) // 2 : len(data) * 6 // 10] = bytes(len(data) * 6 // 10 - len(data) // 2)
    (tmp_path / "v.mkv").write_bytes(data if has_cues else data.replace(b"\x1c\x53\xbb\x6b", b"\x1c\x53\xbb\x6a"))
    video = open_video(tmp_path / "v.mkv", cache=Cache(tmp_path / "cache"))
    assert isinstance(video._reader._source, MadeSource) != has_cues  # type: ignore[attr-defined]
    frames = video.try_frames([(index + 0.5) / 25 for index in range(240)])
    right = [isinstance(frame, FrameError) or frame_number(frame) == index for index, frame in enumerate(frames)]
    lost = sum(isinstance(frame, FrameError) for frame in frames)
    assert all(right) and 10 < lost < 100


def test_lost_packets_behind_pictures_that_are_not_shown_are_errors(tmp_path: Path, cache: Cache) -> None:
    path = make_video(tmp_path / "v.mkv", "libvpx", gop=1000, **{"auto-alt-ref": "0"})
    data = bytearray(path.read_bytes())
    with av.open(path) as container:
        places = [data.index(bytes(packet)) for packet in container.demux(video=0) if packet.size]
    for place in places[40:80]:
        data[place] &= ~SHOWN_VP8
    data[places[70] : places[110]] = bytes(places[110] - places[70])
    path.write_bytes(data)
    assert all(isinstance(frame, FrameError) for frame in open_video(path, cache=cache).try_frames([2.0, 4.0]))


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
@pytest.mark.parametrize("name", ["half.mp4", "half.mkv", "half.avi"])
def test_a_truncated_file_is_readable_up_to_its_end(tmp_path: Path, name: str) -> None:
    codec = "mpeg4" if name.endswith("avi") else "libx264"
    whole = make_video(tmp_path / f"whole{Path(name).suffix}", codec, container_options={"movflags": "+faststart"})
    path = tmp_path / name
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    video = open_video(path)
    assert video.duration_s == pytest.approx(9.6, abs=0.1), "the duration is the one in the header"
    frames = video.try_frames([index / 25 for index in range(239)])
    there = [index for index, frame in enumerate(frames) if not isinstance(frame, FrameError)]
    assert 60 < len(there) < 200
    assert there == list(range(len(there))), "every frame up to the end of the file is readable, and none after it"
    assert [frame_number(frame) for frame in frames[: len(there)]] == there  # type: ignore[arg-type]
    assert "half" in str(frames[-1]) and "cannot be decoded at 9.5" in str(frames[-1])


def test_a_stalled_decoder_is_given_up_and_tried_again_later(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = open_video(make_video(tmp_path / "v.mp4"))
    with monkeypatch.context() as patch:
        patch.setattr(decoder, "STALL_S", -1.0)
        with pytest.raises(FrameError, match="v.mp4 cannot be decoded at 1.500 s .no frame in"):
            video.frame(1.5)
        assert len(ak.view(video, k=2, cell=64, cache=cache).unreadable) == 4
    assert ak.view(video, k=2, cell=64, cache=cache).unreadable == frozenset()


def test_a_missing_file_is_a_transient_error_and_another_in_its_place_is_told(tmp_path: Path) -> None:
    path = make_video(tmp_path / "v.mp4", frames=60)
    video = open_video(path)
    assert frame_number(video.frames([2.0])[0]) == 50
    path.rename(tmp_path / "away.mp4")
    (frame,) = video.try_frames([0.0])  # the reader opens the file again to reach its start
    assert isinstance(frame, FrameError) and "cannot be read" in str(frame) and not frame.is_lasting
    (tmp_path / "away.mp4").rename(path)
    assert [frame_number(frame) for frame in video.frames([0.0, 2.0])] == [0, 50]
    video._reader.close_if_idle()  # type: ignore[attr-defined]
    make_video(path, frames=90)
    with pytest.raises(FrameError, match="has changed since it was opened"):
        video.frame(1.0)
