"""Files after public reports: shown as FFmpeg decodes them in order, or refused in one sentence."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from support.media import frame_number, make_video, played_frames
from video.pictures import with_box_in_entry

from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError, VideoError
from atlaskit.video.file import VideoFile
from atlaskit.video.opening import open_video
from atlaskit.video.readers.container import is_encrypted
from atlaskit.video.readers.headers import has_own_colours
from atlaskit.video.readers.picture import PictureScaler

SMALL = (160, 90)
FAST = {"preset": "ultrafast"}


def check_played(path: Path, cache: Path) -> VideoFile:
    """Check that each picture that is played from the start is shown at its time."""
    video = open_video(path, cache=Cache(cache))
    assert isinstance(video, VideoFile)
    played = played_frames(path)
    found = video.try_frames([time_s + 1e-3 for time_s, _, _ in played])
    assert [str(each) if isinstance(each, FrameError) else frame_number(each) for each in found] == [
        number for _, number, _ in played
    ]
    return video


def boxes(movie: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the outer boxes of an MP4: the kind and the whole box."""
    at = 0
    while at < len(movie):
        size = struct.unpack_from(">I", movie, at)[0]
        yield movie[at + 4 : at + 8], movie[at : at + size]
        at += size


def hevc(path: Path, frames: int = 10, **options: str) -> Path:
    """Write HEVC in an MP4 with its index at the end; it tells no colours."""
    params = f"log-level=none:{options.pop('params', 'keyint=24')}"
    movie = {"movflags": "0"}
    settings = {"x265-params": params, **FAST, **options}
    return make_video(path, "libx265", frames=frames, size=SMALL, container_options=movie, **settings)


def coloured_hevc(path: Path) -> Path:
    """Write pictures in one colour as HEVC, as above."""
    pixels = np.full((*SMALL[::-1], 3), (200, 60, 40), np.uint8)
    with av.open(str(path), "w", options={"movflags": "0"}) as target:
        stream = target.add_stream("libx265", rate=25, options={"x265-params": "log-level=none", **FAST})
        stream.width, stream.height, stream.pix_fmt = *SMALL, "yuv420p"
        for _ in range(5):
            target.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        target.mux(stream.encode())
    return path


@pytest.mark.parametrize("damage", ["a byte lost", "joined at an odd byte", "cut at an odd byte"])
def test_a_stream_out_of_step_is_not_called_encrypted(tmp_path: Path, damage: str) -> None:
    data = make_video(tmp_path / "v.ts", frames=100, size=SMALL).read_bytes()
    half = len(data) // 2
    changed = {
        "a byte lost": data[:5000] + data[5001:],
        "joined at an odd byte": data[: half + 77] + data,
        "cut at an odd byte": data[101:],
    }
    path = tmp_path / "odd.ts"
    path.write_bytes(changed[damage])
    assert not is_encrypted(path, "mpegts")


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "flv"])
@pytest.mark.parametrize(("fps", "keyint"), [(5, 12), (25, 50)])
def test_a_stream_that_is_refreshed_bit_by_bit_is_whole(tmp_path: Path, suffix: str, fps: int, keyint: int) -> None:
    """No picture can be decoded from its keyframes but the first."""
    params = {"bf": "3", "x264-params": f"intra-refresh=1:keyint={keyint}:bframes=3", "preset": "veryfast"}
    path = make_video(tmp_path / f"v.{suffix}", frames=150, fps=fps, size=SMALL, **params)
    check_played(path, tmp_path)


def test_pictures_before_the_first_keyframe_that_is_shown_are_shown(tmp_path: Path) -> None:
    """They follow it in the file, and need an earlier keyframe, which an edit list hides."""
    path = hevc(tmp_path / "open.mp4", 80, params="open-gop=1:keyint=24:min-keyint=24:bframes=4:scenecut=0")
    for tenths in range(430, 480, 5):
        cut = tmp_path / f"{tenths}.mp4"
        with av.open(str(path)) as source, av.open(str(cut), "w") as target:
            stream = source.streams.video[0]
            copy = target.add_stream_from_template(stream)
            shift = round(tenths / 250 / stream.time_base)
            for packet in source.demux(stream):
                if packet.size and packet.pts >= round(Fraction(24, 25) / stream.time_base):
                    packet.pts, packet.dts, packet.stream = packet.pts - shift, packet.dts - shift, copy
                    target.mux(packet)
        check_played(cut, tmp_path)


def test_a_stretch_without_fragments_keeps_its_time(tmp_path: Path) -> None:
    movflags = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    path = make_video(tmp_path / "v.mp4", frames=700, gop=25, size=SMALL, container_options=movflags, **FAST)
    parts = list(boxes(path.read_bytes()))
    fragments = [number for number, (kind, _) in enumerate(parts) if kind == b"moof"]
    lost = {number + more for number in fragments[8:22] for more in (0, 1)}
    path.write_bytes(b"".join(box for number, (_, box) in enumerate(parts) if number not in lost))
    video = check_played(path, tmp_path)
    assert video.duration_s == pytest.approx(28)


@pytest.mark.parametrize("suffix", ["flv", "mkv", "mp4"])
def test_slides_without_sound_keep_their_times(tmp_path: Path, suffix: str) -> None:
    times = [25 * 60 * number for number in range(5)]
    path = make_video(tmp_path / f"v.{suffix}", frames=5, times=times, size=SMALL, bf="2")
    assert check_played(path, tmp_path).duration_s >= 240


@pytest.mark.parametrize("codec", ["libvpx", "libvpx-vp9"])
def test_pictures_whose_transparency_ends_are_shown(tmp_path: Path, codec: str) -> None:
    whole, path = tmp_path / "whole.webm", tmp_path / "v.webm"
    options = {"auto-alt-ref": "0", "deadline": "realtime", "cpu-used": "8"}
    with av.open(str(whole), "w") as target:
        stream = target.add_stream(codec, rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = *SMALL, "yuva420p"
        for number in range(40):
            pixels = np.dstack([_number(number), np.full(SMALL[::-1], 255, np.uint8)])
            pixels[:8, :8, 3] = 0
            target.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgba")))
        target.mux(stream.encode())
    with av.open(str(whole)) as source, av.open(str(path), "w") as target:
        stream = source.streams.video[0]
        copy = target.add_stream_from_template(stream)
        copy.metadata["alpha_mode"] = "1"
        for number, packet in enumerate(packet for packet in source.demux(stream) if packet.size):
            kept = packet
            if number >= 15:
                kept = av.Packet(bytes(packet))
                kept.pts, kept.dts, kept.time_base = packet.pts, packet.dts, packet.time_base
                kept.is_keyframe = packet.is_keyframe
            kept.stream = copy
            target.mux(kept)
    video = open_video(path, cache=Cache(tmp_path))
    assert [frame_number(video.frames([number / 25 + 0.001])[0]) for number in range(40)] == [*range(40)]


def _number(number: int) -> np.ndarray:
    from support.media import numbered_frame

    return numbered_frame(number, SMALL).to_ndarray(format="rgb24")


@pytest.mark.parametrize(("pix_fmt", "dtype", "scale"), [("gray", np.uint8, 1), ("gray10le", np.uint16, 4)])
@pytest.mark.parametrize(("told", "expected"), [(0, (16, 125, 235)), (1, (0, 127, 255)), (2, (16, 125, 235))])
def test_grey_is_shown_in_the_range_that_it_tells(
    pix_fmt: str, dtype: type, scale: int, told: int, expected: tuple[int, ...]
) -> None:
    grey = np.repeat(np.array([16, 125, 235, 235], dtype) * scale, 40)[None].repeat(90, 0)
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(grey.astype(dtype)), format=pix_fmt)
    frame.color_range = told
    pixels = PictureScaler(SMALL).pixels(frame, SMALL)[45, [20, 60, 140]]
    assert np.abs(pixels.astype(int) - np.array(expected)[:, None]).max() <= 1


@pytest.mark.parametrize(("primaries", "transfer", "matrix", "is_full"), [(1, 1, 1, 0), (9, 16, 9, 0), (1, 1, 1, 1)])
def test_colours_that_only_the_container_tells_count(
    tmp_path: Path, primaries: int, transfer: int, matrix: int, is_full: int
) -> None:
    movie = coloured_hevc(tmp_path / "plain.mp4").read_bytes()
    content = b"nclx" + struct.pack(">HHHB", primaries, transfer, matrix, is_full << 7)
    told = tmp_path / "told.mp4"
    told.write_bytes(with_box_in_entry(movie, b"hev1", struct.pack(">I4s", 8 + len(content), b"colr") + content))
    plain, shown = (open_video(each).frames([0.0])[0].astype(int) for each in (tmp_path / "plain.mp4", told))
    with av.open(str(tmp_path / "plain.mp4")) as container:
        frame = next(container.decode(video=0))
    frame.colorspace, frame.color_primaries, frame.color_trc = matrix, primaries, transfer
    frame.color_range = 1 + is_full
    if transfer == 1:
        expected = frame.to_ndarray(format="rgb24", src_colorspace=1, dst_colorspace=1).astype(int)
        assert np.abs(shown - expected).max() <= 3
    assert np.abs(shown - plain).max() > 3


@pytest.mark.parametrize("is_full", [False, True])
def test_ycgco_is_shown_in_its_colours(tmp_path: Path, is_full: bool) -> None:
    red, green, blue = 200, 60, 40
    scale, low = (1.0, 0) if is_full else (219 / 255, 16)
    wide = 1.0 if is_full else 224 / 255
    luma = low + scale * (red / 4 + green / 2 + blue / 4)
    values = (luma, 128 + wide * (green / 2 - red / 4 - blue / 4), 128 + wide * (red - blue) / 2)
    frame = av.VideoFrame.from_ndarray(
        np.stack([np.full(SMALL[::-1], round(value), np.uint8) for value in values]), format="yuv444p"
    )
    frame.colorspace, frame.color_range = 8, 1 + is_full
    with av.open(str(tmp_path / "v.mkv"), "w") as target:
        stream = target.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = *SMALL, "yuv444p"
        stream.codec_context.colorspace, stream.codec_context.color_range = 8, 1 + is_full
        target.mux(stream.encode(frame))
        target.mux(stream.encode())
    assert np.abs(open_video(tmp_path / "v.mkv").frames([0.0])[0].astype(int) - [red, green, blue]).max() <= 2


@pytest.mark.parametrize(
    ("suffix", "rotation", "orientation"), [("mov", 90, 1), ("mkv", 90, 1), ("mov", 0, 6), ("mov", 180, 6)]
)
def test_pictures_with_exif_are_turned_by_their_track_or_else_by_exif(
    tmp_path: Path, suffix: str, rotation: int, orientation: int
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("RGB", SMALL).save(tmp_path / "a.jpg", exif=exif)
    picture = (tmp_path / "a.jpg").read_bytes()
    path = make_video(tmp_path / "v.mov", "mjpeg", frames=2, size=SMALL, pix_fmt="yuvj420p")
    exif_path = tmp_path / f"exif.{suffix}"
    with av.open(str(path)) as source, av.open(str(exif_path), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        stream.set_display_rotation(rotation)
        for number in range(3):
            packet = av.Packet(picture)
            packet.pts = packet.dts = number
            packet.time_base, packet.is_keyframe, packet.stream = Fraction(1, 25), True, stream
            target.mux(packet)
    assert open_video(exif_path).size == (SMALL if rotation == 180 else SMALL[::-1])


@pytest.mark.parametrize(("profile", "others", "is_refused"), [(5, 0, True), (8, 1, False)])
def test_dolby_vision_in_colours_of_its_own_is_named(
    tmp_path: Path, profile: int, others: int, is_refused: bool
) -> None:
    movie = hevc(tmp_path / "v.mp4").read_bytes()
    record = bytes([1, 0, profile << 1, 0x2D, others << 4]) + bytes(19)
    path = tmp_path / "dolby.mp4"
    path.write_bytes(with_box_in_entry(movie, b"hev1", struct.pack(">I4s", 8 + len(record), b"dvcC") + record))
    if is_refused:
        with pytest.raises(VideoError, match=r"Dolby Vision.*convert it to HDR10 or SDR"):
            open_video(path)
    else:
        assert open_video(path).duration_s == pytest.approx(0.4)


def test_dolby_vision_is_found_in_the_table_of_a_transport_stream(tmp_path: Path) -> None:
    names, path = b"\x05\x04HEVC", tmp_path / "v.ts"
    for profile, others, is_own in ((5, 0, True), (8, 1, False)):
        record = bytes([0xB0, 5, 1, 0, profile << 1, 0x2D, others << 4])
        path.write_bytes(b"G" + bytes(30) + b"\x24\xe1\x00\xf0\x0d" + names + record + bytes(500))
        assert has_own_colours(path, "mpegts", 0x100, 0) == is_own


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
@pytest.mark.parametrize("b_frames", [0, 3])
@pytest.mark.parametrize("share", [0.8, 0.97])
def test_all_that_a_cut_file_of_uneven_times_has_is_shown(tmp_path: Path, b_frames: int, share: float) -> None:
    """A player shows one picture more, of which only a part is there."""
    times = np.cumsum(np.random.default_rng(1).integers(1, 9, 200)).tolist()
    path = make_video(tmp_path / "v.mp4", frames=200, fps=100, times=times, size=SMALL, bf=str(b_frames))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    video = open_video(path, cache=Cache(tmp_path))
    times_s = video.frame_times()
    assert times_s is not None
    shown = [frame_number(frame) for frame in video.frames(list(times_s + 1e-3))]
    played = [number for _, number, _ in played_frames(path)]
    assert sorted(shown) == shown and len({*played} - {*shown}) <= 1 and {*shown} <= {*played}


@pytest.mark.parametrize("frames", [3, 4, 12])
@pytest.mark.parametrize("step", [1, 25, 50])
def test_the_last_picture_of_a_slow_stream_is_shown(tmp_path: Path, frames: int, step: int) -> None:
    times = [step * number for number in range(frames)]
    path = make_video(tmp_path / "v.ts", frames=frames, times=times, size=SMALL, bf="3")
    video = check_played(path, tmp_path)
    assert frame_number(video.frames([times[-1] / 25 + 0.001])[0]) == frames - 1


def test_an_edit_list_that_leaves_out_all_is_named(tmp_path: Path) -> None:
    movie = bytearray(make_video(tmp_path / "v.mp4", frames=50, size=SMALL).read_bytes())
    struct.pack_into(">I", movie, movie.index(b"elst") + 12, 0)
    (tmp_path / "v.mp4").write_bytes(movie)
    with pytest.raises(VideoError, match=r"list of edits leaves out every one.*ignore_editlist"):
        open_video(tmp_path / "v.mp4", cache=Cache(tmp_path))


@pytest.mark.parametrize(
    ("codec", "pix_fmt", "suffix"),
    [("rpza", "rgb555le", "mov"), ("qtrle", "rgb24", "mov"), ("cinepak", "rgb24", "avi"), ("svq1", "yuv410p", "mov")],
)
def test_a_codec_that_tells_no_keyframes_is_shown_although_all_are_marked(
    tmp_path: Path, codec: str, pix_fmt: str, suffix: str
) -> None:
    path, marked = tmp_path / f"v.{suffix}", tmp_path / f"marked.{suffix}"
    make_video(path, codec, frames=30, gop=10, size=(160, 96), pix_fmt=pix_fmt)
    with av.open(str(path)) as source, av.open(str(marked), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.size:
                packet.is_keyframe, packet.stream = True, stream
                target.mux(packet)
    video = open_video(marked, cache=Cache(tmp_path))
    for number in (17, 29, 3, 11):  # each alone, and back and forth
        assert frame_number(video.frames([number / 25 + 0.001])[0]) == number


def test_a_list_of_files_without_its_head_is_named(tmp_path: Path) -> None:
    for name, text in {
        "a.m3u": "film one.mp4\nfilm two.mp4\n",
        "b.mp4": "# made by hand\nhttps://example.org/a.ts\n",
        "c.txt": "C:\\films\\x.mkv\n",
        "d.m3u8": "part 1.ts?token=7\n",
        "e.txt": "file 'a.mp4'\nfile 'b.mp4'\n",
        "f.asx": "<asx version='3.0'><entry><ref href='a.wmv'/></entry></asx>",
    }.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(VideoError, match="is a list of other files: name a video file"):
            open_video(tmp_path / name)


@pytest.mark.parametrize("is_moved", [True, False], ids=["a tick apart", "before"])
def test_pictures_that_need_ones_cut_away_are_not_shown(tmp_path: Path, is_moved: bool) -> None:
    """A cut in an open GOP: FFmpeg moves times that go back, or leaves them."""
    whole = make_video(tmp_path / "whole.ts", "mpeg2video", frames=48, gop=12, bf="2", flags="-cgop")
    path = tmp_path / "cut.ts"
    with av.open(str(whole)) as source, av.open(str(path), "w") as target:
        stream = source.streams.video[0]
        copy = target.add_stream_from_template(stream)
        packets = [packet for packet in source.demux(stream) if packet.size]
        (_, first, *_) = [number for number, packet in enumerate(packets) if packet.is_keyframe]
        start = packets[first].pts
        for number, packet in enumerate(packets[first:]):
            if packet.pts < start and is_moved:
                packet.pts = start + number
            packet.stream = copy
            target.mux(packet)
    video = check_played(path, tmp_path / "cache")
    times_s = video.frame_times()
    assert times_s is not None and times_s[0] == 0.0 and len(times_s) == len(played_frames(path))
