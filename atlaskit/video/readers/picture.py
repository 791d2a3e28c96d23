"""Turns decoded frames into upright RGB pixels of a given size, as players show them.

* `Orientation`: how the frames of a track are cropped, turned and mirrored. Phones record sideways,
  and store how to turn the frames in the header of the track or in the first frame.
* `PictureScaler`: converts a frame to pixels.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from av.video.format import VideoFormat
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from atlaskit.video.readers import LETTERBOX, Pixels, Size, letterboxed
from atlaskit.video.readers.codecs import LARGEST_FRAME_PX, VideoPacket, packet_of
from atlaskit.video.readers.colour import (
    BT709,
    FULL,
    LIMITED,
    YCGCO,
    from_limited,
    from_ycgco,
    matrix_of,
    to_sdr,
)
from atlaskit.video.readers.container import DECODE_ERRORS, codec_of
from atlaskit.video.readers.headers import boxes_of_track, crop_of

SAME_SHAPE = 0.02
"""Shapes with a smaller relative difference count as the same, since players and encoders round
them."""
OPAQUE = 255
"""The alpha of an opaque pixel."""
EXIF = re.compile(rb"Exif(?=\0\0)|eXIf")
"""The name of EXIF data in JPEG and in PNG. In FFmpeg, the turn in EXIF data overrides that of the
container."""


class Orientation(NamedTuple):
    """How encoded frames are cropped, mirrored and turned to be shown."""

    quarter_turns: int = 0
    """Quarter turns counterclockwise, 0 to 3, that make a frame upright."""
    is_mirrored: bool = False
    """Whether left and right are exchanged before the frame is turned."""
    crop: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Pixels of the encoded frames that are not shown: left, top, right, bottom."""

    @property
    def is_sideways(self) -> bool:
        """Whether the width of the encoded frames becomes the height."""
        return self.quarter_turns % 2 == 1

    def cropped(self, size: Size) -> Size:
        """Return the (width, height) that remains of encoded frames after the crop."""
        left, top, right, bottom = self.crop
        return size[0] - left - right, size[1] - top - bottom

    def apply(self, pixels: Pixels) -> Pixels:
        """Return a frame, (height, width, 3), upright."""
        return np.rot90(pixels[:, ::-1] if self.is_mirrored else pixels, self.quarter_turns)


UPRIGHT = Orientation()


def turned_by(a: float, b: float, c: float, d: float) -> Orientation:
    """Return the orientation nearest to a matrix, which shows (x, y) at (ax + cy, bx + dy).

    y points downwards. Angles are rounded to quarter turns, since the frame of a video is an
    upright rectangle. A matrix that flattens the picture to a line counts as upright.
    """
    determinant = a * d - b * c
    if determinant == 0:
        return UPRIGHT
    is_mirrored = determinant < 0
    sign = -1 if is_mirrored else 1
    quarter_turns = -round(math.atan2(sign * b, sign * a) / (math.pi / 2)) % 4
    return Orientation(quarter_turns, is_mirrored)


def orientation_of(
    path: Path, kind: str, stream: VideoStream, packets: Iterable[VideoPacket | None]
) -> Orientation:
    """Return the orientation of the frames of a track.

    The crop of MP4 and MOV is the clean aperture; Matroska has a crop of its own. A crop that
    leaves nothing of the frames is ignored. Frames that cannot be read count as upright.

    Args:
        path: The file.
        kind: Family of its format: "mov", "matroska", …
        stream: The track.
        packets: Its first packets, then None, at which the decoder returns the frames it holds.
    """
    context = stream.codec_context
    coded = (context.width, context.height)
    turn = _turn_of_track(stream, packets)
    crop = (0, 0, 0, 0)
    with suppress(OSError, struct.error, OverflowError, ZeroDivisionError), path.open("rb") as file:
        if kind == "mov":
            crop = _aperture(file, stream.id, coded)
        elif kind == "matroska":
            crop = crop_of(file, stream.index)
    cropped = turn._replace(crop=crop)
    if min(cropped.cropped(coded)) > 0 and min(crop) >= 0:
        return cropped
    return turn


def _turn_of_track(stream: VideoStream, packets: Iterable[VideoPacket | None]) -> Orientation:
    """Return how the first frame of a track is turned, without its crop.

    FFmpeg attaches a matrix to the first frame, from a message in the stream or else from the
    container.
    """
    context = stream.codec_context
    context.thread_count = 1
    context.options = {"max_pixels": str(LARGEST_FRAME_PX)}
    turn = UPRIGHT
    for packet in packets:
        with suppress(*DECODE_ERRORS):
            frames = context.decode(packet)
            if not frames:
                continue
            turn = _turn_of(frames[0])
            if packet is not None and EXIF.search(memoryview(packet)):
                # Without EXIF data, FFmpeg reports the matrix of the container.
                plain = packet_of(EXIF.sub(b"none", bytes(packet)), codec_of(stream))
                by_container = _turn_of(context.decode(plain)[0])
                if by_container != UPRIGHT:
                    turn = by_container
            break
    return turn


def _turn_of(frame: VideoFrame) -> Orientation:
    """Return how a frame is turned and mirrored, by its side data."""
    try:
        data = frame.side_data.get("DISPLAYMATRIX")
    except ValueError:  # PyAV does not know the type of all side data, such as EXIF
        return Orientation(round(frame.rotation / 90) % 4)
    if data is None:
        return UPRIGHT
    matrix = struct.unpack("9i", bytes(cast("Any", data)))
    return turned_by(matrix[0], matrix[1], matrix[3], matrix[4])


def _aperture(file: BinaryIO, number: int, coded: Size) -> tuple[int, int, int, int]:
    """Return the crop (left, top, right, bottom) of a track's clean aperture.

    The box `clap` holds four fractions: the aperture's width and height, and how far its centre
    lies to the right of and below the frame's centre (ISO 14496-12, 12.1.4).
    """
    for box in boxes_of_track(file, number):
        if box.kind == b"clap":
            file.seek(box.start)
            values = struct.unpack(">IIIIiIiI", file.read(32))
            width, height, right_by, down_by = (
                Fraction(*values[at : at + 2]) for at in range(0, 8, 2)
            )
            left = math.floor((coded[0] - width) / 2 + right_by)
            top = math.floor((coded[1] - height) / 2 + down_by)
            return left, top, coded[0] - left - int(width), coded[1] - top - int(height)
    return 0, 0, 0, 0


def shown_size(coded: Size, aspect: Fraction | None, orientation: Orientation) -> Size:
    """Return the size (w, h) of a video when it is upright and its pixels are square.

    No side becomes shorter than in the encoded frames.

    Args:
        coded: (width, height) of the encoded frames.
        aspect: Width of a pixel over its height; None if unknown.
        orientation: How the frames are made upright.
    """
    width, height = coded
    aspect = Fraction(aspect) if aspect and Fraction(1, 20) < aspect < 20 else Fraction(1)
    if aspect > 1:
        width = round(width * aspect)
    else:
        height = round(height / aspect)
    if orientation.is_sideways:
        return (height, width)
    return (width, height)


class PictureScaler:
    """Converts decoded frames to pixels. Not safe to use from several threads at once.

    * A frame is turned and mirrored to be upright.
    * A frame of another shape than the video is fitted into it, with bars in LETTERBOX beside it.
    * Transparent parts show LETTERBOX, since black marks cells that were ruled out.
    * Colours are converted to SDR in BT.709.

    Args:
        shown: (width, height) of the video as it is shown.
        coded: (width, height) of the encoded frames that fill the video. None if all frames do.
        orientation: How frames are made upright.
    """

    def __init__(
        self,
        shown: Size,
        coded: Size | None = None,
        orientation: Orientation = UPRIGHT,
    ) -> None:
        self._shown = shown
        self._coded = coded
        self._orientation = orientation
        self._scaler = VideoReformatter()

    def pixels(self, frame: VideoFrame, size: Size, aspect: Fraction | None = None) -> Pixels:
        """Return a frame as RGB pixels, (height, width, 3), uint8.

        Args:
            frame: A decoded frame.
            size: (width, height) of the pixels.
            aspect: Width of a pixel over its height; None for the video's own, or if unknown.

        Raises:
            OSError, ValueError: The frame has a size or a pixel format that cannot be scaled.
        """
        inner = self._fitted(frame, size, aspect)
        if any(self._orientation.crop) and (frame.width, frame.height) == self._coded:
            left, top, right, bottom = self._orientation.crop
            whole = self._rgb(frame, self._coded)[
                top : frame.height - bottom, left : frame.width - right
            ]
            frame = VideoFrame.from_ndarray(np.ascontiguousarray(whole), format="rgb24")
        coded = inner[::-1] if self._orientation.is_sideways else inner
        return letterboxed(self._orientation.apply(self._rgb(frame, coded)), size)

    def _fitted(self, frame: VideoFrame, size: Size, aspect: Fraction | None) -> Size:
        """Return the size (w, h) at which a frame is shown within `size`."""
        coded = (frame.width, frame.height)
        if self._coded is None or (coded == self._coded and aspect is None):
            return size
        width, height = shown_size(coded, aspect, self._orientation)
        relative_aspect = width * self._shown[1] / (height * self._shown[0])
        if abs(relative_aspect - 1) < SAME_SHAPE:
            return size
        fitted = []
        for side, share in zip(size, (relative_aspect, 1 / relative_aspect), strict=True):
            length = side * min(1.0, share)
            # A difference of one pixel comes from rounding: no bar is drawn.
            fitted.append(side if side - length < 1.5 else max(1, round(length)))
        return fitted[0], fitted[1]

    def _rgb(self, frame: VideoFrame, size: Size) -> Pixels:
        """Return a frame of any colour space as RGB, scaled to `size` (w, h)."""
        mapping = to_sdr(frame)
        if mapping is None:
            return self._scaled(self._opaque(frame), size, "rgb24")
        pixels = mapping.apply(self._scaled(frame, size, "rgb48le"))
        if _may_be_transparent(frame.format.name):
            return _over_letterbox(pixels, self._scaled(frame, size, "rgba")[..., 3:])
        return pixels

    def _scaled(self, frame: VideoFrame, size: Size, pixel_format: str) -> np.ndarray:
        """Return a frame in a pixel format of FFmpeg, scaled to `size` (w, h)."""
        if frame.colorspace == YCGCO and pixel_format == "rgb24" and not frame.format.is_rgb:
            # swscale has no YCgCo: with BT.709 on both sides, it leaves the matrix as it is.
            planes = self._scaler.reformat(
                frame,
                *size,
                "yuv444p",
                BT709,
                dst_colorspace=BT709,
                src_color_range=frame.color_range or LIMITED,
                dst_color_range=FULL,
                interpolation="AREA",
            )
            return from_ycgco(np.asarray(planes.to_ndarray(), np.uint8))
        scaled = self._scaler.reformat(
            frame, *size, pixel_format, matrix_of(frame), dst_colorspace=BT709, interpolation="AREA"
        )
        pixels = np.asarray(scaled.to_ndarray())
        is_grey = frame.format.name.startswith("gray")
        if is_grey and frame.color_range == LIMITED:
            return from_limited(pixels)
        return pixels

    def _opaque(self, frame: VideoFrame) -> VideoFrame:
        """Return a frame without transparency, over a background of LETTERBOX."""
        if not _may_be_transparent(frame.format.name) or _has_opaque_palette(frame):
            return frame
        # At full size, since scaling would mix the colours of transparent and opaque pixels.
        pixels = self._scaled(frame, (frame.width, frame.height), "rgba")
        if int(pixels[..., 3].min()) == OPAQUE:
            return frame
        solid = _over_letterbox(pixels[..., :3], pixels[..., 3:])
        return VideoFrame.from_ndarray(solid, format="rgb24")


def _over_letterbox(pixels: Pixels, alpha: Pixels) -> Pixels:
    """Return pixels over a background of LETTERBOX.

    Args:
        pixels: RGB, (height, width, 3).
        alpha: How opaque each pixel is, (height, width, 1).
    """
    solid = np.empty(pixels.shape, np.uint8)
    for row, line in enumerate(pixels):  # one row at a time, to save memory
        weight = alpha[row].astype(np.uint16)
        behind = np.array(LETTERBOX, np.uint16) * (OPAQUE - weight)
        solid[row] = (line * weight + behind + OPAQUE // 2) // OPAQUE
    return solid


@lru_cache
def _may_be_transparent(pixel_format: str) -> bool:
    described = VideoFormat(pixel_format)
    return described.has_palette or any(component.is_alpha for component in described.components)


def _has_opaque_palette(frame: VideoFrame) -> bool:
    if not frame.format.has_palette:
        return False
    alpha = memoryview(frame.planes[1]).tobytes()[3::4]
    return min(alpha, default=OPAQUE) == OPAQUE
