"""Colours: the right matrix and range, palettes, and HDR as SDR."""

from __future__ import annotations

import struct
from pathlib import Path

import av
import numpy as np
import pytest
from video.pictures import COLOURS, LYING, QUICK, bars, coded, colours_in, encode, numbers, palette, with_box_in_entry

import atlaskit as ak
from atlaskit.video.readers.colour import FROM_BT2020, HLG, PQ, PQ_PEAK, REFERENCE_WHITE

SMALL, HD, UPRIGHT_HD, PAL = (96, 64), (1280, 64), (96, 640), (720, 576)
UNTAGGED = 2
HEVC = {"x265-params": "log-level=none:crf=2:bframes=0", "preset": "ultrafast"}


def _shown(path: Path) -> np.ndarray:
    return colours_in(ak.open_video(path).frames([0.01])[0])


@pytest.mark.parametrize("matrix", [1, 4, 5, 6, 7, 9])
def test_a_tagged_matrix_is_obeyed(tmp_path: Path, matrix: int) -> None:
    is_full = matrix % 2 == 1
    path = tmp_path / "tagged.mkv"
    pix_fmt = "yuv444p10le" if matrix > 5 else "yuv420p"
    encode(path, "libx264", pix_fmt, [coded(bars(SMALL), pix_fmt, matrix, is_full=is_full)], **QUICK)
    assert np.abs(_shown(path) - COLOURS).max() <= 4


@pytest.mark.parametrize(("size", "matrix"), [(SMALL, 5), (PAL, 5), (HD, 1), (UPRIGHT_HD, 1)])
def test_an_untagged_matrix_follows_from_the_size(tmp_path: Path, size: tuple[int, int], matrix: int) -> None:
    """Small frames are in BT.601, large ones in BT.709."""
    frame = coded(bars(size), "yuv420p", matrix, tag=UNTAGGED)
    frame.color_range = 0
    path = encode(tmp_path / "untagged.mkv", "libx264", "yuv420p", [frame], **QUICK)
    assert np.abs(_shown(path) - COLOURS).max() <= 4


@pytest.mark.parametrize("is_full", [False, True])
def test_colours_that_only_the_container_tells_count(tmp_path: Path, is_full: bool) -> None:
    frame = coded(bars(SMALL), "yuv420p", 1, tag=UNTAGGED, is_full=is_full)
    frame.color_range = 0
    plain = encode(tmp_path / "plain.mp4", "libx265", "yuv420p", [frame], **HEVC)
    told = tmp_path / "told.mp4"
    box = struct.pack(">I4s4sHHHB", 19, b"colr", b"nclx", 1, 1, 1, is_full << 7)
    told.write_bytes(with_box_in_entry(plain.read_bytes(), b"hev1", box))
    assert np.abs(_shown(told) - COLOURS).max() <= 4 < np.abs(_shown(plain) - COLOURS).max()


@pytest.mark.parametrize(
    ("name", "codec", "pix_fmt"),
    [
        ("high.avi", "rawvideo", "rgb555le"),
        ("raw.nut", "rawvideo", "nv12"),
        ("deeper.mkv", "ffv1", "gbrp16le"),
        ("rgb.mp4", "libx264rgb", "rgb24"),
    ],
)
def test_pixel_formats(tmp_path: Path, name: str, codec: str, pix_fmt: str) -> None:
    frame = coded(bars(SMALL), pix_fmt, tag=0 if "rgb" in pix_fmt else None)
    path = encode(tmp_path / name, codec, pix_fmt, [frame], **(QUICK if "264" in codec else {}))
    assert np.abs(_shown(path) - COLOURS).max() <= (10 if "555" in pix_fmt else 4)


# --- palettes -------------------------------------------------------------------------------------


def painted(index: int, colours: np.ndarray) -> av.VideoFrame:
    """Return a frame of numbers of colours, with its palette."""
    frame = av.VideoFrame(*LYING, "pal8")
    stride = frame.planes[0].line_size
    np.frombuffer(frame.planes[0], np.uint8).reshape(-1, stride)[: LYING[1], : LYING[0]] = numbers(index)
    opaque = np.full((256, 1), 255, np.uint8)
    np.frombuffer(frame.planes[1], np.uint8)[:1024] = np.hstack([colours[:, ::-1], opaque]).ravel()
    return frame


def test_a_palette_stands_until_the_next(tmp_path: Path) -> None:
    """Each frame has its palette, alone, among others, backwards and after a seek back."""
    palettes = [palette(index // 10) for index in range(30)]
    frames = [painted(index, colours) for index, colours in enumerate(palettes)]
    path = encode(tmp_path / "palette.avi", "rawvideo", "pal8", frames)
    assert path.read_bytes().count(b"00pc") >= 2, "the palette changes within the file"
    times = [index / 25 + 0.001 for index in range(30)]
    expected = [colours[numbers(index)] for index, colours in enumerate(palettes)]
    assert np.array_equal(ak.open_video(path).frames(times), expected)
    video = ak.open_video(path)
    for index in (25, 15, 5, 29, 19, 20, 9, 10, 0):
        assert np.array_equal(video.frames([times[index]])[0], expected[index]), index
        assert np.array_equal(ak.open_video(path).frames([times[index]])[0], expected[index]), index


@pytest.mark.parametrize(("name", "codec"), [("film.mov", "smc"), ("film.avi", "msrle"), ("film.gif", "gif")])
def test_palette_codecs(tmp_path: Path, name: str, codec: str) -> None:
    path = encode(tmp_path / name, codec, "pal8", [painted(index, palette(0)) for index in range(30)])
    for index in (0, 7, 13, 29):
        assert np.array_equal(ak.open_video(path).frames([index / 25 + 0.001])[0], palette(0)[numbers(index)])


# --- HDR ------------------------------------------------------------------------------------------


def _pq(nits: np.ndarray) -> np.ndarray:
    m1, m2, c1, c2, c3 = 2610 / 16384, 2523 / 32, 3424 / 4096, 2413 / 128, 2392 / 128
    power = (nits / PQ_PEAK) ** m1
    return ((c1 + c2 * power) / (1 + c3 * power)) ** m2


def _ramp(values: np.ndarray) -> np.ndarray:
    """Return bars of values from 0 to 1, (n, 3), as a picture of 16 bits."""
    wide = np.rint(np.repeat(values, 24, axis=0) * 65535).astype(np.uint16)
    return np.ascontiguousarray(np.broadcast_to(wide, (64, *wide.shape)))


def _hdr(path: Path, values: np.ndarray, transfer: int) -> np.ndarray:
    frame = coded(_ramp(values), "yuv444p10le", 9, primaries=9, transfer=transfer)
    encode(path, "libx265", "yuv444p10le", [frame], **HEVC)
    return colours_in(ak.open_video(path).frames([0.01])[0], len(values))


@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_hdr_greys_stay_grey_and_apart(tmp_path: Path, transfer: int) -> None:
    """Greys keep their order up to the brightest; reference white is bright, and black is black."""
    nits = np.array([0, 1, 10, 50, 100, 203, 400, 1000, 2000, 4000, 10_000])
    values = _pq(nits) if transfer == PQ else np.linspace(0, 1, 11)
    shown = _hdr(tmp_path / "hdr.mkv", np.repeat(values[:, None], 3, axis=1), transfer)
    assert np.ptp(shown, axis=1).max() <= 1
    assert (np.diff(shown[:, 0]) > 0).all()
    assert shown[0, 0] <= 1
    assert shown[-1, 0] >= 254
    if transfer == PQ:
        assert 200 <= shown[5, 0] <= 225
        assert shown[7, 0] <= 248


def test_hdr_colours_below_the_knee_are_those_of_bt709(tmp_path: Path) -> None:
    """Colours of BT.709, coded in BT.2020 and PQ, come out as sRGB codes them."""
    colours = np.array([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (0.5, 0.2, 0.1), (0.1, 0.4, 0.3)])
    nits = 60 * np.maximum(colours @ np.linalg.inv(np.array(FROM_BT2020)).T, 0)
    light = 60 / REFERENCE_WHITE * colours
    srgb = 255 * np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    assert np.abs(_hdr(tmp_path / "hdr.mkv", _pq(nits), PQ) - srgb).max() <= 4


def test_bt2020_in_sdr_keeps_greys_and_widens_colours(tmp_path: Path) -> None:
    greys = np.repeat(np.linspace(0, 1, 8)[:, None], 3, axis=1)
    values = np.concatenate([greys, [(0.6, 0.3, 0.3)]])
    shown = _hdr(tmp_path / "wide.mkv", values, 14)
    assert np.abs(shown[:8] - 255 * greys).max() <= 2
    red, green, _ = shown[8]
    assert red > 0.6 * 255 + 5 and green < 0.3 * 255 - 5
