"""How frames lie, fit and are transparent: as players show them."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from video.pictures import LYING, QUICK, coded, corners, encode, joined, remuxed, with_box_in_entry, with_matrix

import atlaskit as ak
from atlaskit.video.readers import LETTERBOX
from atlaskit.video.readers.headers import crop_of, has_several_descriptions

WIDTH, HEIGHT = LYING
MATRICES = {
    "upright": ((1, 0, 0, 1), lambda x: x),
    "quarter turn": ((0, 1, -1, 0), lambda x: np.rot90(x, 3)),
    "half turn": ((-1, 0, 0, -1), lambda x: np.rot90(x, 2)),
    "three quarters": ((0, -1, 1, 0), np.rot90),
    "mirrored": ((-1, 0, 0, 1), np.fliplr),
    "upside down": ((1, 0, 0, -1), np.flipud),
    "transposed": ((0, 1, 1, 0), lambda x: x.transpose(1, 0, 2)),
    "transverse": ((0, -1, -1, 0), lambda x: np.rot90(x.transpose(1, 0, 2), 2)),
    "turned and scaled": ((0, 2, -2, 0), lambda x: np.rot90(x, 3)),
    "ten degrees": ((0.985, 0.174, -0.174, 0.985), lambda x: x),
    "eighty degrees": ((0.174, 0.985, -0.985, 0.174), lambda x: np.rot90(x, 3)),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an MP4 of a few frames that all show `corners`."""
    path = tmp_path_factory.mktemp("plain") / "plain.mp4"
    return encode(path, "libx264", "yuv444p", [coded(corners(), "yuv444p") for _ in range(3)], **QUICK)


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, "track") for name in MATRICES), ("quarter turn", "movie"), *((name, "matroska") for name in MATRICES)],
)
def test_a_picture_is_upright(plain: Path, tmp_path: Path, name: str, kind: str) -> None:
    """All orientations of a track, of a movie, and of a Matroska projection are shown."""
    matrix, turn = MATRICES[name]
    path = with_matrix(plain, tmp_path / "turned.mp4", matrix, b"mvhd" if kind == "movie" else b"tkhd")
    if kind == "matroska":
        path = remuxed(path, tmp_path / "turned.mkv", lambda packet, _: packet)
    video = ak.open_video(path)
    expected = turn(corners())
    assert video.size == expected.shape[1::-1]
    assert np.abs(video.frames([0.05])[0].astype(int) - expected).max() <= 6
    half = video.frames([0.05], size=(video.size[0] // 2, video.size[1] // 2))[0]
    assert np.abs(half.astype(int) - expected[1::2, 1::2]).mean() <= 4


@pytest.mark.parametrize("off", [0, 8])
def test_a_crop_is_obeyed(plain: Path, tmp_path: Path, off: int) -> None:
    """The clean aperture of an MP4, in the middle and right of it."""
    clap = struct.pack(">I4s8i", 40, b"clap", 64, 1, 48, 1, off, 1, 0, 1)
    path = tmp_path / "v.mp4"
    path.write_bytes(with_box_in_entry(plain.read_bytes(), b"avc1", clap))
    video = ak.open_video(path)
    assert video.size == (64, 48)
    assert np.abs(video.frames([0.05])[0].astype(int) - corners()[8:56, 16 + off : 80 + off]).max() <= 6


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed, which writes the message")
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
def test_a_message_turns_the_picture(tmp_path: Path, suffix: str) -> None:
    # FFmpeg takes a transport stream of a few packets for no video.
    source = encode(tmp_path / "plain.mp4", "libx264", "yuv444p", [coded(corners(), "yuv444p")] * 30, **QUICK)
    path = tmp_path / f"v{suffix}"
    message = "h264_metadata=display_orientation=insert:rotate=90"
    message = f"h264_mp4toannexb,{message}" if suffix == ".ts" else message
    subprocess.run(["ffmpeg", "-v", "error", "-i", source, "-c", "copy", "-bsf:v", message, path], check=True)
    video = ak.open_video(path)
    assert video.size == LYING[::-1]
    assert np.abs(video.frames([0.05])[0].astype(int) - np.rot90(corners())).max() <= 6


def element(kind: int, *content: bytes) -> bytes:
    """Return an element of Matroska."""
    data = b"".join(content)
    return kind.to_bytes((kind.bit_length() + 7) // 8) + (1 << 28 | len(data)).to_bytes(4) + data


def test_the_crop_of_a_matroska_track_is_found_by_its_number() -> None:
    sides = [element(kind, bytes([n])) for n, kind in enumerate((0x54AA, 0x54BB, 0x54CC, 0x54DD), 1)]
    kinds = {kind: (element(0x83, bytes([kind])), element(0x86, b"V_X")) for kind in (1, 2, 0x12)}
    picture = element(0xAE, element(0xD7, b"\2"), *kinds[1], element(0xE0, element(0xB0, b"\x40"), *sides))
    tracks = [element(0xAE, *kinds[0x12]), element(0xAE, *kinds[2]), picture]  # buttons have no number
    segment = element(0x18538067, element(0xEC, b"void"), element(0x1654AE6B, *tracks), element(0x1F43B675, b"x"))
    file = io.BytesIO(element(0x1A45DFA3) + segment)
    assert crop_of(file, 1) == (3, 2, 4, 1) and crop_of(file, 0) == crop_of(file, 2) == (0, 0, 0, 0)


SIZE_CHANGES = {
    "libx264": ("ts", QUICK, (48, 96)),
    "libvpx": ("webm", {"deadline": "realtime", "cpu-used": "-8", "b": "2M"}, (192, 64)),
    "mpeg4": ("avi", {"b": "2M"}, (48, 96)),
}
"""For each codec a container, options of its encoder, and the size to which the picture changes."""


@pytest.mark.parametrize("codec", SIZE_CHANGES)
def test_a_picture_of_another_shape_is_fitted(tmp_path: Path, codec: str) -> None:
    """A picture never appears stretched: bars fill the rest."""
    suffix, options, other = SIZE_CHANGES[codec]
    parts = []
    for size in (LYING, other):
        frames = [coded(corners(size), "yuv420p") for _ in range(12)]
        parts.append(encode(tmp_path / f"{size[0]}.{suffix}", codec, "yuv420p", frames, **options))
    path = joined(tmp_path / f"joined.{suffix}", parts, Fraction(12, 25))
    video = ak.open_video(path)
    assert video.size == LYING
    times = [index / 25 + 0.005 for index in range(24)]
    frames = video.frames(times)
    assert np.abs(frames[3].astype(int) - corners()).mean() < 6
    scale = min(WIDTH / other[0], HEIGHT / other[1])
    width, height = round(other[0] * scale), round(other[1] * scale)
    top, left = (HEIGHT - height) // 2, (WIDTH - width) // 2
    expected = np.full((HEIGHT, WIDTH, 3), LETTERBOX, np.uint8)
    expected[top : top + height, left : left + width] = corners((width, height))
    assert np.abs(frames[18].astype(int) - expected).mean() < 6
    for index in (11, 12, 13, 23):
        assert np.array_equal(ak.open_video(path).frames([times[index]])[0], frames[index])


NARROW, WIDE = Fraction(16, 15), Fraction(64, 45)


@pytest.mark.parametrize(("shapes", "shown"), [((NARROW, WIDE), (192, 144)), ((WIDE, NARROW), (256, 144))])
def test_pixels_of_another_shape_are_fitted(
    tmp_path: Path, shapes: tuple[Fraction, Fraction], shown: tuple[int, int]
) -> None:
    """A broadcast changes from 4:3 to 16:9 or back, with frames of one size."""
    parts = []
    for number, aspect in enumerate(shapes):
        frames = [coded(corners((180, 144)), "yuv420p") for _ in range(24)]
        parts.append(encode(tmp_path / f"{number}.ts", "mpeg2video", "yuv420p", frames, aspect=aspect, qscale="2"))
    path = joined(tmp_path / "joined.ts", parts, Fraction(24, 25))
    video = ak.open_video(path)
    assert video.size == shown
    frames = video.frames([index / 25 + 0.005 for index in range(48)])
    grey = np.abs(frames.astype(int) - LETTERBOX).max(axis=3) <= 2
    edges = grey[:, 0] if shapes[0] == NARROW else grey[:, :, 0]
    assert edges.all(axis=1).tolist() == [False] * 24 + [True] * 24
    assert grey[30].mean() == pytest.approx(0.25, abs=0.02)
    for index in (20, 23, 24, 30, 47):
        assert np.array_equal(ak.open_video(path).frames([index / 25 + 0.005])[0], frames[index])


def test_a_file_with_two_sample_descriptions(tmp_path: Path) -> None:
    """Each frame gets the decoder of its description, wherever decoding begins."""
    parts = []
    for size, pix_fmt in ((LYING, "yuv420p"), ((48, 96), "yuv444p")):
        frames = [coded(corners(size), pix_fmt) for _ in range(24)]
        parts.append(encode(tmp_path / f"{pix_fmt}.flv", "libx264", pix_fmt, frames, bf="0", **QUICK).read_bytes())
    (tmp_path / "joined.flv").write_bytes(parts[0] + parts[1][13:])  # without the header of an FLV

    def later(packet: av.Packet, number: int) -> av.Packet:
        if number >= 24:
            packet.pts, packet.dts = packet.pts + 960, packet.dts + 960
        return packet

    path = remuxed(tmp_path / "joined.flv", tmp_path / "two.mov", later)
    assert has_several_descriptions(path)
    times = [index / 25 + 0.005 for index in range(48)]
    frames = ak.open_video(path).frames(times)
    assert np.abs(frames[:24].astype(int) - corners()).mean() < 6
    assert np.abs(frames[24:, :, :20].astype(int) - LETTERBOX).max() == 0
    assert np.abs(frames[24:, 16, 40].astype(int) - (200, 30, 30)).max() < 20
    video = ak.open_video(path)
    for index in (40, 5, 30, 23, 24, 47, 0, 36, 12):
        assert np.array_equal(video.frames([times[index]])[0], frames[index])
        assert np.array_equal(ak.open_video(path).frames([times[index]])[0], frames[index])


@pytest.mark.parametrize(
    ("name", "codec", "pix_fmt", "options"),
    [
        ("picture.apng", "apng", "rgba", {}),
        ("vp9.webm", "libvpx-vp9", "yuva420p", {"auto-alt-ref": "0", "b": "2M", "cpu-used": "8"}),
        ("p3.mov", "prores_ks", "yuva444p10le", {}),  # in the primaries of Display P3
    ],
)
def test_transparent_parts_are_grey(
    tmp_path: Path, name: str, codec: str, pix_fmt: str, options: dict[str, str]
) -> None:
    """What is behind a transparent picture is never black, which means that it is ruled out."""
    glass = np.array([[(220, 40, 40, 255), (40, 40, 220, 128), (0, 0, 0, 0)]], np.uint8).repeat(32, 1).repeat(64, 0)
    source = av.VideoFrame.from_ndarray(glass, format="rgba")
    frames = [source.reformat(format=pix_fmt) for _ in range(4)]
    for frame in frames:
        frame.color_primaries = 12 if codec == "prores_ks" else 2
    path = encode(tmp_path / name, codec, pix_fmt, frames, **options)
    opaque, half, nothing = ak.open_video(path).frames([0.1])[0][32, [16, 48, 80]].astype(int)
    assert np.abs(nothing - LETTERBOX).max() <= 2
    within = 50 if codec == "prores_ks" else 4  # other primaries make other colours
    assert np.abs(opaque - (220, 40, 40)).max() <= within
    assert np.abs(half - (84, 84, 174)).max() <= within
