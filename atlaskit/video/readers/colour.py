"""Finds the matrix that a frame's colours are coded with, and maps HDR to SDR (`ToSDR`).

To map HDR, a frame is first scaled with 16 bits per channel. Look-up tables turn its values into
light, in units of reference white. A matrix converts the light to the primaries of BT.709, a tone
curve maps HDR into the range of SDR, and another look-up table turns the light into 8-bit values.

The tone curve is the Möbius curve of FFmpeg's `tonemap` filter: light up to LINEAR_UP_TO keeps its
value, and brighter light is compressed such that different highlights stay different. The curve is
applied to the brightest of a pixel's three channels, and the others are scaled in proportion, so
that grey stays grey and hues are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from atlaskit.video.readers import Pixels

BT709 = 1
BT470BG = 5
BT2020 = 9
"""Numbers of matrices in FFmpeg and ITU-T H.273."""
KNOWN_MATRICES = {1: BT709, 4: 4, 5: BT470BG, 6: BT470BG, 7: 7, 9: BT2020, 10: BT2020, 14: BT2020}
"""Maps a frame's matrix to a matrix of swscale. For BT.2020 with constant luminance (10) and ICtCp
(14), swscale only has a similar matrix."""
YCGCO = 8
"""Number of the YCgCo matrix, which swscale does not have."""
UNSPECIFIED = 2
"""Stands for a matrix, primaries or a transfer function that a stream does not specify."""
LIMITED = 1
FULL = 2
"""Numbers of the ranges of 8-bit values: 16 to 235, or 0 to 255."""
PQ = 16
HLG = 18
"""Numbers of the transfer functions of HDR."""
SD_WIDTH = 1280
SD_HEIGHT = 576
"""A frame without a tag is in BT.601 if it is narrower than SD_WIDTH and at most SD_HEIGHT high."""

REFERENCE_WHITE = 203.0
HLG_PEAK = 1000.0
PQ_PEAK = 10_000.0
"""Light in cd/m²: of a white page in HDR (BT.2408), and of the largest values of HLG and PQ."""
LINEAR_UP_TO = 0.3
"""Light, in units of reference white, up to which the tone curve changes nothing."""
GAMMA = 2.4
"""Exponent of an SDR screen (BT.1886)."""
BLOCK_PX = 1 << 18
"""Pixels that are converted at once, to bound the memory."""

Light = NDArray[np.float32]
Mixing = tuple[tuple[float, float, float], ...]
"""A 3×3 matrix that converts light to other primaries."""

# Each row sums to 1, so that grey stays grey.
FROM_BT2020: Mixing = (
    (1.660491, -0.587641, -0.072850),
    (-0.124550, 1.132900, -0.008350),
    (-0.018151, -0.100579, 1.118730),
)
FROM_P3: Mixing = (
    (1.224940, -0.224940, 0.0),
    (-0.042057, 1.042057, 0.0),
    (-0.019638, -0.078636, 1.098274),
)
PRIMARIES: dict[int, Mixing] = {9: FROM_BT2020, 11: FROM_P3, 12: FROM_P3}
"""Matrices from other primaries, by their number in H.273, to those of BT.709."""


def matrix_of(frame: VideoFrame) -> int:
    """Return swscale's number of the matrix that a frame's colours are coded with.

    Without a known tag, the matrix is that of BT.2020 for frames with BT.2020 primaries or HDR, and
    otherwise BT.709 for large frames and BT.601 for small ones (SD_WIDTH, SD_HEIGHT), as in mpv.
    """
    known = KNOWN_MATRICES.get(frame.colorspace)
    if known is not None:
        return known
    if PRIMARIES.get(frame.color_primaries) is FROM_BT2020 or frame.color_trc in (PQ, HLG):
        return BT2020
    if frame.width >= SD_WIDTH or frame.height > SD_HEIGHT:
        return BT709
    return BT470BG


def tag_colours(frame: VideoFrame, settings: Mapping[str, int | str]) -> None:
    """Tag a frame with the colours that its container specifies, if its stream specifies none.

    Args:
        frame: A decoded frame.
        settings: The settings from the container: see `Codec.settings`.
    """
    names = ("colorspace", "color_primaries", "color_trc")
    if any(getattr(frame, name) != UNSPECIFIED for name in names):
        return
    for name in names:
        setattr(frame, name, int(settings.get(name, UNSPECIFIED)))
    # FFmpeg marks HEVC without a range as limited, so `limited` may mean that none was specified.
    if settings.get("color_range") == FULL:
        frame.color_range = FULL


def from_ycgco(planes: Pixels) -> Pixels:
    """Convert full-range planes of YCgCo, (3, height, width), to RGB pixels."""
    luma, green, orange = planes.astype(np.int16) - np.array([0, 128, 128], np.int16)[:, None, None]
    rgb = np.stack((luma - green + orange, luma + green, luma - green - orange), axis=2)
    return np.asarray(np.clip(rgb, 0, 255), np.uint8)


def from_limited(grey: np.ndarray) -> np.ndarray:
    """Convert grey values from limited to full range, since swscale treats all as full range."""
    top = float(np.iinfo(grey.dtype).max)
    full = (grey.astype(np.float32) * (255 / top) - 16) * (top / 219)
    return np.asarray(np.rint(np.clip(full, 0, top)), grey.dtype)


class ToSDR(NamedTuple):
    """A conversion of the values of a frame to SDR."""

    transfer: int
    """PQ, HLG, or 0 for SDR."""
    mixing: Mixing | None
    """The matrix to BT.709 primaries; None if the primaries stay."""

    def apply(self, values: NDArray[np.uint16]) -> Pixels:
        """Convert 16-bit values, (height, width, 3), to SDR pixels."""
        flat = values.reshape(-1, 3)
        pixels = np.empty(flat.shape, np.uint8)
        for start in range(0, len(flat), BLOCK_PX):
            pixels[start : start + BLOCK_PX] = self._block(flat[start : start + BLOCK_PX])
        return pixels.reshape(values.shape)

    def _block(self, values: NDArray[np.uint16]) -> Pixels:
        """Convert the values of some pixels, (n, 3)."""
        red, green, blue = (_light_of(self.transfer)[values[:, channel]] for channel in range(3))
        if self.transfer == HLG:
            # From light of the scene to light of the screen: system gamma 1.2 (BT.2100).
            luminance = 0.2627 * red + 0.6780 * green + 0.0593 * blue
            gain = np.float32(HLG_PEAK / REFERENCE_WHITE) * luminance ** np.float32(0.2)
            red = red * gain
            green = green * gain
            blue = blue * gain
        if self.mixing:
            red, green, blue = _mixed(red, green, blue, self.mixing)
        light = np.stack((red, green, blue), axis=1)
        np.maximum(light, 0, out=light)
        if self.transfer in (PQ, HLG):
            peak = (PQ_PEAK if self.transfer == PQ else HLG_PEAK) / REFERENCE_WHITE
            light *= _tone_gain(light.max(axis=1), peak)[:, None]
        np.minimum(light, 1, out=light)
        return _values_of(self.transfer in (PQ, HLG))[(light * 65535 + 0.5).astype(np.uint16)]


def to_sdr(frame: VideoFrame) -> ToSDR | None:
    """Return the conversion of a frame's values to SDR; None if it needs none."""
    transfer = frame.color_trc
    primaries = frame.color_primaries
    if transfer in (PQ, HLG):
        default = FROM_BT2020 if primaries in (0, UNSPECIFIED) else None
        return ToSDR(transfer, PRIMARIES.get(primaries, default))
    if primaries in PRIMARIES:
        return ToSDR(0, PRIMARIES[primaries])
    return None


def _mixed(red: Light, green: Light, blue: Light, mixing: Mixing) -> tuple[Light, Light, Light]:
    """Convert light to other primaries, by differences, so that grey stays exactly the same."""
    (_, rg, rb), (gr, _, gb), (br, bg, _) = mixing
    return (
        red + np.float32(rg) * (green - red) + np.float32(rb) * (blue - red),
        green + np.float32(gr) * (red - green) + np.float32(gb) * (blue - green),
        blue + np.float32(br) * (red - blue) + np.float32(bg) * (green - blue),
    )


def _tone_gain(brightest: Light, peak: float) -> Light:
    """Return the factors by which the tone curve dims light, such that light of `peak` becomes 1.

    Args:
        brightest: The light of the brightest channel of each pixel, in units of reference white.
        peak: The brightest possible light, in the same units.
    """
    knee = LINEAR_UP_TO
    a = -(knee**2) * (peak - 1) / (knee**2 - 2 * knee + peak)
    b = (knee**2 - 2 * knee * peak + peak) / (peak - 1)
    scale = (b**2 + 2 * b * knee + knee**2) / (b - a)
    bright = np.maximum(brightest, np.float32(knee))
    dimmed = scale * (bright + a) / (bright + b)
    return np.where(brightest > knee, dimmed / bright, 1).astype(np.float32)


@lru_cache
def _light_of(transfer: int) -> Light:
    """Return the light of each 16-bit value, in units of reference white.

    For HLG, return instead the light of the scene, from 0 to 1.
    """
    value = np.linspace(0, 1, 1 << 16)
    if transfer == PQ:
        m1 = 2610 / 16384
        m2 = 2523 / 32
        c1 = 3424 / 4096
        c2 = 2413 / 128
        c3 = 2392 / 128
        power = value ** (1 / m2)
        light = (
            PQ_PEAK / REFERENCE_WHITE * (np.maximum(power - c1, 0) / (c2 - c3 * power)) ** (1 / m1)
        )
    elif transfer == HLG:
        a = 0.17883277
        b = 0.28466892
        c = 0.55991073
        light = np.where(value <= 0.5, value**2 / 3, (np.exp((value - c) / a) + b) / 12)
    else:
        light = value**GAMMA
    return light.astype(np.float32)


@lru_cache
def _values_of(is_srgb: bool) -> Pixels:
    """Return the 8-bit values of light in 65,536 equal steps from 0 to 1.

    HDR is coded as sRGB, like images. Other colours are coded with the exponent that decoded them,
    so that grey keeps its value.
    """
    light = np.linspace(0, 1, 1 << 16)
    srgb = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.rint(255 * (srgb if is_srgb else light ** (1 / GAMMA))).astype(np.uint8)
