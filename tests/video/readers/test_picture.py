"""How frames lie, fit and are transparent: as players show them."""

from __future__ import annotations

import contextlib
import io
import math
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from support.pictures import LYING, QUICK, coded, corners, encode, joined, with_matrix, with_two_descriptions

import atlaskit as ak
from atlaskit.video.readers import LETTERBOX
from atlaskit.video.readers.aspect import aspect_in
from atlaskit.video.readers.elements import projection_of
from atlaskit.video.readers.orientation import UPRIGHT, Matrix, Orientation

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


def _as_matroska(source: Path, path: Path) -> Path:
    with av.open(str(source)) as container, av.open(str(path), "w") as target:
        stream = target.add_stream_from_template(container.streams.video[0])
        for packet in container.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    return path


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("kind", ["track", "movie", "matroska"])
def test_a_picture_is_upright(plain: Path, tmp_path: Path, name: str, kind: str) -> None:
    """All orientations of a track, of a movie, and of a Matroska projection are shown."""
    matrix, turn = MATRICES[name]
    path = with_matrix(plain, tmp_path / "turned.mp4", matrix, b"mvhd" if kind == "movie" else b"tkhd")
    if kind == "matroska":
        path = _as_matroska(path, tmp_path / "turned.mkv")
    video, expected = ak.open_video(path), turn(corners())
    assert video.size == expected.shape[1::-1]
    assert np.abs(video.frames([0.05])[0].astype(int) - expected).max() <= 6
    half = video.frames([0.05], size=(video.size[0] // 2, video.size[1] // 2))[0]
    assert np.abs(half.astype(int) - expected[1::2, 1::2]).mean() <= 4


def test_the_matrices_of_track_and_movie_are_applied_in_turn(plain: Path, tmp_path: Path) -> None:
    """A track that is turned within a movie that is mirrored."""
    turned = with_matrix(plain, tmp_path / "turned.mp4", (0, 1, -1, 0))
    video = ak.open_video(with_matrix(turned, tmp_path / "both.mp4", (-1, 0, 0, 1), b"mvhd"))
    assert np.abs(video.frames([0.05])[0].astype(int) - np.fliplr(np.rot90(corners(), 3))).max() <= 6


def test_a_matrix_that_flattens_the_picture_counts_as_upright() -> None:
    assert Matrix(0, 0, 0, 0).orientation() == Matrix(1, 1, 1, 1).orientation() == UPRIGHT


def test_every_angle_gives_the_nearest_quarter_turn() -> None:
    for degrees in range(-720, 720, 7):
        cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        turns = -round(degrees / 90) % 4
        assert Matrix(cosine, sine, -sine, cosine).orientation() == Orientation(turns)
        assert Matrix(-cosine, -sine, -sine, cosine).orientation() == Orientation(turns, is_mirrored=True)


@pytest.mark.parametrize("pose", [float("nan"), float("inf"), 1e300, -90.5, 45.0])
def test_an_odd_pose_is_rounded_or_counts_as_upright(plain: Path, tmp_path: Path, pose: float) -> None:
    path = _as_matroska(with_matrix(plain, tmp_path / "turned.mp4", (0, 1, -1, 0)), tmp_path / "turned.mkv")
    data = path.read_bytes()
    roll = struct.pack(">d", -90.0)
    if roll not in data:
        roll, odd = struct.pack(">f", -90.0), struct.pack(">f", pose if abs(pose) < 1e30 else math.inf)
    else:
        odd = struct.pack(">d", pose)
    assert data.count(roll) == 1
    path.write_bytes(data.replace(roll, odd))
    assert ak.open_video(path).size == (LYING[::-1] if pose == -90.5 else LYING)


def test_a_header_that_is_cut_off_or_damaged_gives_no_pose(plain: Path, tmp_path: Path) -> None:
    data = _as_matroska(plain, tmp_path / "plain.mkv").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(data[: rng.integers(1, 900)])
        damaged[rng.integers(0, len(damaged))] = rng.integers(0, 256)
        with contextlib.suppress(struct.error):
            projection_of(io.BytesIO(bytes(damaged)), 0)


SIZE_CHANGES = {
    "libx264": ("ts", "yuv420p", QUICK),
    "mpeg2video": ("ts", "yuv420p", {"qscale": "1"}),
    "libvpx": ("webm", "yuv420p", {"deadline": "realtime", "cpu-used": "-8", "b": "2M"}),
    "mpeg4": ("avi", "yuv420p", {"b": "2M"}),
}


@pytest.mark.parametrize("codec", SIZE_CHANGES)
@pytest.mark.parametrize("other", [(48, 96), (192, 128), (192, 64)], ids=["upright", "larger", "wide"])
def test_a_picture_of_another_shape_is_fitted(tmp_path: Path, codec: str, other: tuple[int, int]) -> None:
    """A picture never appears stretched: bars fill the rest."""
    suffix, pix_fmt, options = SIZE_CHANGES[codec]
    parts = [
        encode(
            tmp_path / f"{size[0]}.{suffix}",
            codec,
            pix_fmt,
            [coded(corners(size), pix_fmt) for _ in range(12)],
            **options,
        )
        for size in (LYING, other)
    ]
    path = joined(tmp_path / f"joined.{suffix}", parts, Fraction(12, 25))
    video = ak.open_video(path)
    assert video.size == LYING
    times = [index / 25 + 0.005 for index in range(24)]
    frames = video.frames(times)
    assert np.abs(frames[3].astype(int) - corners()).mean() < 6
    wider = other[0] / other[1] / (WIDTH / HEIGHT)
    width, height = round(WIDTH * min(1, wider)), round(HEIGHT * min(1, 1 / wider))
    expected = np.full((HEIGHT, WIDTH, 3), LETTERBOX, np.uint8)
    top, left = (HEIGHT - height) // 2, (WIDTH - width) // 2
    expected[top : top + height, left : left + width] = corners((width, height))
    assert np.abs(frames[18].astype(int) - expected).mean() < 6
    for index in (11, 12, 13, 23):
        assert np.array_equal(ak.open_video(path).frames([times[index]])[0], frames[index])


@pytest.mark.parametrize("codec", ["libx264", "mpeg2video"])
def test_pixels_of_another_shape_are_fitted(tmp_path: Path, codec: str) -> None:
    """A broadcast changes from 4:3 to 16:9 and back, with frames of one size."""
    size, narrow, wide = (180, 144), Fraction(16, 15), Fraction(64, 45)
    for first, second in ((narrow, wide), (wide, narrow)):
        parts = [
            encode(
                *(tmp_path / f"{number}.ts", codec, "yuv420p"),
                [coded(corners(size), "yuv420p") for _ in range(24)],
                **({"preset": "ultrafast"} if codec == "libx264" else {"qscale": "2"}),
                aspect=aspect,
            )
            for number, aspect in enumerate((first, second))
        ]
        path = joined(tmp_path / "joined.ts", parts, Fraction(24, 25))
        video = ak.open_video(path)
        assert video.size == ((192, 144) if first == narrow else (256, 144))
        frames = video.frames([index / 25 + 0.005 for index in range(48)])
        grey = np.abs(frames.astype(int) - LETTERBOX).max(axis=3) <= 2
        bars = grey[:, 0].all(axis=1) if first == narrow else grey[:, :, 0].all(axis=1)
        assert bars.tolist() == [False] * 24 + [True] * 24
        share = 1 - grey[30].mean()
        assert abs(share - 0.75) < 0.02
        for index in (20, 23, 24, 30, 47):
            assert np.array_equal(ak.open_video(path).frames([index / 25 + 0.005])[0], frames[index])


def test_a_bit_stream_of_nonsense_tells_no_shape() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        noise = rng.bytes(60) if rng.random() < 0.8 else bytes(60)
        aspect_in("h264", memoryview(b"\x00\x00\x01\x67" + noise))
        aspect_in("mpeg2video", memoryview(b"\x00\x00\x01\xb3" + noise + b"\x00\x00\x01\xb5" + noise))


def test_a_file_with_two_sample_descriptions(tmp_path: Path) -> None:
    """Each frame gets the decoder of its description, wherever decoding begins."""
    options = {**QUICK, "bf": "0"}
    parts = [
        encode(
            tmp_path / f"{number}.mp4",
            "libx264",
            pix_fmt,
            [coded(corners(size), pix_fmt) for _ in range(24)],
            **options,
        )
        for number, (size, pix_fmt) in enumerate(((LYING, "yuv420p"), ((48, 96), "yuv444p")))
    ]
    path = with_two_descriptions(tmp_path / "two.mov", parts)
    times = [index / 25 + 0.005 for index in range(48)]
    frames = ak.open_video(path).frames(times)
    assert np.abs(frames[:24].astype(int) - corners()).mean() < 6
    assert np.abs(frames[24:, :, :20].astype(int) - LETTERBOX).max() == 0
    assert np.abs(frames[24:, 16, 40].astype(int) - (200, 30, 30)).max() < 20
    video = ak.open_video(path)
    for index in (40, 5, 30, 23, 24, 47, 0, 36, 12):
        assert np.array_equal(video.frames([times[index]])[0], frames[index])
        assert np.array_equal(ak.open_video(path).frames([times[index]])[0], frames[index])


def _glass() -> np.ndarray:
    """Return a picture (RGBA) with an opaque, a half transparent and a transparent part."""
    pixels = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    pixels[:, : WIDTH // 3], pixels[:, WIDTH // 3 : 2 * WIDTH // 3] = (220, 40, 40, 255), (40, 40, 220, 128)
    return pixels


@pytest.mark.parametrize(
    ("name", "codec", "pix_fmt", "options"),
    [
        ("picture.apng", "apng", "rgba", {}),
        ("animation.mov", "qtrle", "argb", {}),
        ("prores.mov", "prores_ks", "yuva444p10le", {}),
        ("lossless.mkv", "ffv1", "yuva444p16le", {}),
        ("grey.mov", "png", "ya8", {}),
        ("vp8.webm", "libvpx", "yuva420p", {"auto-alt-ref": "0", "b": "2M"}),
        ("vp9.webm", "libvpx-vp9", "yuva420p", {"auto-alt-ref": "0", "b": "2M", "cpu-used": "8"}),
    ],
)
def test_transparent_parts_are_grey(
    tmp_path: Path, name: str, codec: str, pix_fmt: str, options: dict[str, str]
) -> None:
    """What is behind a transparent picture is never black, which means that it is ruled out."""
    source = av.VideoFrame.from_ndarray(_glass(), format="rgba")
    path = encode(tmp_path / name, codec, pix_fmt, [source.reformat(format=pix_fmt) for _ in range(4)], **options)
    opaque, half, nothing = ak.open_video(path).frames([0.1])[0][HEIGHT // 2, [10, WIDTH // 2, WIDTH - 8]].astype(int)
    if pix_fmt != "ya8":
        assert np.abs(opaque - (220, 40, 40)).max() <= 4
        assert np.abs(half - (84, 84, 174)).max() <= 4
    assert np.abs(nothing - LETTERBOX).max() <= 2


@pytest.mark.parametrize("disposal", [0, 1, 2])
def test_a_transparent_gif_is_grey(tmp_path: Path, disposal: int) -> None:
    pixels = _glass()
    pixels[..., 3] = np.where(pixels[..., 3] > 100, 255, 0)
    images = [Image.fromarray(np.roll(pixels, shift, axis=0)) for shift in (0, 8, 16)]
    path = tmp_path / "picture.gif"
    images[0].save(path, save_all=True, append_images=images[1:], duration=100, transparency=0, disposal=disposal)
    video = ak.open_video(path)
    frames = video.frames([0.05, 0.15, 0.25])
    assert np.abs(frames[:, HEIGHT // 2, WIDTH - 8].astype(int) - LETTERBOX).max() <= 2
    assert np.abs(frames[:, HEIGHT // 2, 10].astype(int) - (220, 40, 40)).max() <= 4
    assert np.array_equal(ak.open_video(path).frames([0.25])[0], frames[2])
