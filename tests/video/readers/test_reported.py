"""Files after public reports: shown as FFmpeg decodes them in order, or refused in one sentence."""

from __future__ import annotations

import re
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from support.media import frame_number, make_video, played_frames
from video.pictures import SMALL, remuxed, with_box_in_entry

from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError, VideoError
from atlaskit.video.file import VideoFile
from atlaskit.video.opening import open_video


def check_played(path: Path, cache: Cache) -> VideoFile:
    """Check that each picture that is played from the start is shown at its time."""
    video = open_video(path, cache=cache)
    assert isinstance(video, VideoFile)
    played = played_frames(path)
    found = video.try_frames([time_s + 1e-3 for time_s, _, _ in played])
    numbers = [str(each) if isinstance(each, FrameError) else frame_number(each) for each in found]
    assert numbers == [number for _, number, _ in played]
    return video


def hevc(path: Path, frames: int = 10, params: str = "keyint=24") -> Path:
    """Write HEVC in an MP4 with its index at the end."""
    settings = {"x265-params": f"log-level=none:{params}", "preset": "ultrafast"}
    return make_video(path, "libx265", frames=frames, size=SMALL, container_options={"movflags": "0"}, **settings)


@pytest.mark.parametrize("tenths", range(430, 480, 10))
def test_pictures_before_the_first_keyframe_that_is_shown_are_shown(tmp_path: Path, cache: Cache, tenths: int) -> None:
    """They follow it in the file, and need an earlier keyframe, which an edit list hides."""
    path = hevc(tmp_path / "open.mp4", 80, "open-gop=1:keyint=24:min-keyint=24:bframes=4:scenecut=0")

    def cut(packet: av.Packet, _: int) -> av.Packet | None:
        if packet.pts * packet.time_base < Fraction(24, 25):
            return None
        shift = round(tenths / 250 / packet.time_base)
        packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
        return packet

    check_played(remuxed(path, tmp_path / "cut.mp4", cut), cache)


def test_a_stretch_without_fragments_keeps_its_time(tmp_path: Path, cache: Cache) -> None:
    movflags = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    path = make_video(tmp_path / "v.mp4", frames=700, gop=25, size=SMALL, container_options=movflags)
    head, *fragments = re.split(rb"(?s)(?=.{4}moof)", path.read_bytes())
    path.write_bytes(b"".join([head, *fragments[:8], *fragments[22:]]))
    assert check_played(path, cache).duration_s == pytest.approx(28)


@pytest.mark.parametrize("suffix", ["flv", "mkv", "mp4"])
def test_slides_without_sound_keep_their_times(tmp_path: Path, cache: Cache, suffix: str) -> None:
    times = [25 * 60 * number for number in range(5)]
    path = make_video(tmp_path / f"v.{suffix}", frames=5, times=times, size=SMALL, bf="2")
    assert check_played(path, cache).duration_s >= 240


def dolby_box(profile: int, others: int) -> bytes:
    record = bytes([1, 0, profile << 1, 0x2D, others << 4]) + bytes(19)
    return struct.pack(">I4s", 8 + len(record), b"dvcC") + record


def test_dolby_vision_in_colours_of_its_own_is_named(tmp_path: Path) -> None:
    movie = hevc(tmp_path / "v.mp4").read_bytes()
    own, usual = (tmp_path / name for name in ("own.mp4", "usual.mp4"))
    own.write_bytes(with_box_in_entry(movie, b"hev1", dolby_box(5, 0)))
    with pytest.raises(VideoError, match=r"Dolby Vision.*convert it to HDR10 or SDR"):
        open_video(own)
    usual.write_bytes(with_box_in_entry(movie, b"hev1", dolby_box(8, 1)))
    assert open_video(usual).duration_s == pytest.approx(0.4)


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
@pytest.mark.parametrize("b_frames", [0, 3])
@pytest.mark.parametrize("share", [0.8, 0.97])
def test_all_that_a_cut_file_of_uneven_times_has_is_shown(
    tmp_path: Path, cache: Cache, b_frames: int, share: float
) -> None:
    """A player shows one picture more, of which only a part is there."""
    times = np.cumsum(np.random.default_rng(1).integers(1, 9, 200)).tolist()
    path = make_video(tmp_path / "v.mp4", frames=200, fps=100, times=times, size=SMALL, bf=str(b_frames))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    video = open_video(path, cache=cache)
    shown = [frame_number(frame) for frame in video.frames([time_s + 1e-3 for time_s in video.frame_times()])]
    played = {number for _, number, _ in played_frames(path)}
    assert sorted(shown) == shown and len(played - {*shown}) <= 1 and {*shown} <= played


@pytest.mark.parametrize(("frames", "step"), [(3, 50), (4, 25), (12, 1)])
def test_the_last_picture_of_a_slow_stream_is_shown(tmp_path: Path, cache: Cache, frames: int, step: int) -> None:
    times = [step * number for number in range(frames)]
    video = check_played(make_video(tmp_path / "v.ts", frames=frames, times=times, size=SMALL, bf="3"), cache)
    assert frame_number(video.frames([times[-1] / 25 + 0.001])[0]) == frames - 1


def test_an_edit_list_that_leaves_out_all_is_named(tmp_path: Path, cache: Cache) -> None:
    path = make_video(tmp_path / "v.mp4", frames=50, size=SMALL)
    movie = bytearray(path.read_bytes())
    struct.pack_into(">I", movie, movie.index(b"elst") + 12, 0)
    path.write_bytes(movie)
    with pytest.raises(VideoError, match=r"list of edits leaves out every one.*ignore_editlist"):
        open_video(path, cache=cache)


@pytest.mark.parametrize(("codec", "pix_fmt", "suffix"), [("rpza", "rgb555le", "mov"), ("cinepak", "rgb24", "avi")])
def test_a_codec_that_tells_no_keyframes_is_shown_although_all_are_marked(
    tmp_path: Path, cache: Cache, codec: str, pix_fmt: str, suffix: str
) -> None:
    def marked(packet: av.Packet, _: int) -> av.Packet:
        packet.is_keyframe = True
        return packet

    path = make_video(tmp_path / f"v.{suffix}", codec, frames=30, gop=10, size=(160, 96), pix_fmt=pix_fmt)
    video = open_video(remuxed(path, tmp_path / f"marked.{suffix}", marked), cache=cache)
    for number in (17, 29, 3, 11):  # each alone, and back and forth
        assert frame_number(video.frames([number / 25 + 0.001])[0]) == number


@pytest.mark.parametrize("is_moved", [True, False], ids=["a tick apart", "before"])
def test_pictures_that_need_ones_cut_away_are_not_shown(tmp_path: Path, cache: Cache, is_moved: bool) -> None:
    """A cut in an open GOP: FFmpeg moves times that go back, or leaves them."""
    whole = make_video(tmp_path / "whole.ts", "mpeg2video", frames=48, gop=12, bf="2", flags="-cgop")
    starts = list[tuple[int, int]]()

    def cut(packet: av.Packet, number: int) -> av.Packet | None:
        if packet.is_keyframe:
            starts.append((number, packet.pts))
        if len(starts) < 2:
            return None
        first, start = starts[1]
        if packet.pts < start and is_moved:
            packet.pts = start + number - first
        return packet

    path = remuxed(whole, tmp_path / "cut.ts", cut)
    times_s = check_played(path, cache).frame_times()
    assert times_s is not None and times_s[0] == 0.0 and len(times_s) == len(played_frames(path))
