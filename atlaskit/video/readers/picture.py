"""`PictureScaler`: a decoded frame as players show it, in upright RGB pixels of a given size."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from av.video.format import VideoFormat
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from PIL import Image

from atlaskit.video.readers import LETTERBOX, Pixels, letterboxed
from atlaskit.video.readers.colour import BT709, matrix_of, to_sdr
from atlaskit.video.readers.orientation import UPRIGHT, Orientation

SAME_SHAPE = 0.02
"""Shapes that differ by less are the same: players and encoders round them."""
OPAQUE = 255


def shown_size(coded: tuple[int, int], aspect: Fraction | None, orientation: Orientation) -> tuple[int, int]:
    """Return the size (w, h) at which a video is shown: upright and with square pixels.

    No side is shorter than in the encoded frames.

    Args:
        coded: (width, height) of the encoded frames.
        aspect: Width of a pixel over its height; None if unknown.
        orientation: How frames are made upright.
    """
    width, height = coded
    aspect = Fraction(aspect) if aspect and Fraction(1, 20) < aspect < 20 else Fraction(1)
    if aspect > 1:
        width = round(width * aspect)
    else:
        height = round(height / aspect)
    return (height, width) if orientation.is_sideways else (width, height)


class PictureScaler:
    """Turns decoded frames into pixels. Not safe to use from several threads at once.

    * A frame is turned and mirrored to be upright.
    * A frame of another shape than the video's is fitted into it, with bars of LETTERBOX beside it.
    * Its transparent parts show LETTERBOX: black would mean that they are ruled out.
    * Its colours become those of SDR, in BT.709.

    Args:
        shown: (width, height) of the video as it is shown.
        coded: (width, height) of the encoded frames that fill it. None: all frames fill it.
        orientation: How frames are made upright.
    """

    def __init__(
        self, shown: tuple[int, int], coded: tuple[int, int] | None = None, orientation: Orientation = UPRIGHT
    ) -> None:
        self._shown, self._coded, self._orientation = shown, coded, orientation
        self._scaler = VideoReformatter()

    def pixels(self, frame: VideoFrame, size: tuple[int, int], aspect: Fraction | None = None) -> Pixels:
        """Return a frame as RGB pixels, (height, width, 3), uint8.

        Args:
            frame: A decoded frame.
            size: (width, height) of the pixels.
            aspect: Width of a pixel over its height; None if it is as usual, or unknown.

        Raises:
            OSError, ValueError: The frame has a size or a pixel format that cannot be scaled.
        """
        inner = self._fitted(frame, size, aspect)
        if any(self._orientation.crop) and (frame.width, frame.height) == self._coded:
            left, top, right, bottom = self._orientation.crop
            whole = self._rgb(frame, self._coded)[top : frame.height - bottom, left : frame.width - right]
            frame = VideoFrame.from_ndarray(np.ascontiguousarray(whole), format="rgb24")
        pixels = self._orientation.apply(self._rgb(frame, inner[::-1] if self._orientation.is_sideways else inner))
        return letterboxed(pixels, size)

    def _fitted(self, frame: VideoFrame, size: tuple[int, int], aspect: Fraction | None) -> tuple[int, int]:
        """Return the size (w, h) at which a frame is shown within `size`."""
        coded = (frame.width, frame.height)
        if self._coded is None or (coded == self._coded and aspect is None):
            return size
        width, height = shown_size(coded, aspect, self._orientation)
        wider = width * self._shown[1] / (height * self._shown[0])
        if abs(wider - 1) < SAME_SHAPE:
            return size
        fitted = (size[0] * min(1.0, wider), size[1] * min(1.0, 1 / wider))
        # A bar of one pixel would be a trick of rounding.
        return (
            size[0] if size[0] - fitted[0] < 1.5 else max(1, round(fitted[0])),
            size[1] if size[1] - fitted[1] < 1.5 else max(1, round(fitted[1])),
        )

    def _rgb(self, frame: VideoFrame, size: tuple[int, int]) -> Pixels:
        mapping = to_sdr(frame)
        if mapping is not None:
            return mapping.apply(self._scaled(frame, size, "rgb48le"))
        return self._scaled(self._opaque(frame), size, "rgb24")

    def _scaled(self, frame: VideoFrame, size: tuple[int, int], pixel_format: str) -> np.ndarray:
        scaled = self._scaler.reformat(
            frame, *size, pixel_format, matrix_of(frame), dst_colorspace=BT709, interpolation="AREA"
        )
        return np.asarray(scaled.to_ndarray())

    def _opaque(self, frame: VideoFrame) -> VideoFrame:
        """Return a frame without transparency: what is not opaque shows LETTERBOX behind it."""
        if not _may_be_transparent(frame.format.name) or _has_opaque_palette(frame):
            return frame
        # At full size: scaling would mix the colours that transparent pixels have with others.
        pixels = self._scaled(frame, (frame.width, frame.height), "rgba")
        if int(pixels[..., 3].min()) == OPAQUE:
            return frame
        solid = Image.new("RGBA", (frame.width, frame.height), LETTERBOX)
        solid.alpha_composite(Image.fromarray(pixels))
        return VideoFrame.from_ndarray(np.asarray(solid.convert("RGB")), format="rgb24")


@lru_cache
def _may_be_transparent(pixel_format: str) -> bool:
    described = VideoFormat(pixel_format)
    return described.has_palette or any(component.is_alpha for component in described.components)


def _has_opaque_palette(frame: VideoFrame) -> bool:
    if not frame.format.has_palette:
        return False
    alpha = memoryview(frame.planes[1]).tobytes()[3::4]
    return min(alpha, default=OPAQUE) == OPAQUE
