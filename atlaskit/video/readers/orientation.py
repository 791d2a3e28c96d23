"""`Orientation`: how a track's frames are cropped, turned and mirrored to be shown.

Phones record sideways and note that in the track's header, or in the first frame. The size of a
video must be known before any other frame is decoded.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from av.video.stream import VideoStream

from atlaskit.video.readers import Pixels
from atlaskit.video.readers.boxes import boxes, boxes_of_track
from atlaskit.video.readers.codecs import LARGEST_FRAME_PX, VideoPacket
from atlaskit.video.readers.container import DECODE_ERRORS
from atlaskit.video.readers.elements import crop_of

SAMPLE_ENTRY = 8 + 8 + 78
"""Bytes of a sample description and of its first, visual entry before the boxes in it."""


class Orientation(NamedTuple):
    """One of the eight ways in which a picture can lie."""

    quarter_turns: int = 0
    """Number of quarter turns counterclockwise, 0 to 3, that make it upright."""
    is_mirrored: bool = False
    """Whether left and right are exchanged before it is turned."""
    crop: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Pixels of the encoded frames that are not shown, left, top, right and bottom."""

    @property
    def is_sideways(self) -> bool:
        """Whether the width of the encoded frames is the height of the shown ones."""
        return self.quarter_turns % 2 == 1

    def cropped(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return the (width, height) of encoded frames without what is not shown."""
        left, top, right, bottom = self.crop
        return size[0] - left - right, size[1] - top - bottom

    def apply(self, pixels: Pixels) -> Pixels:
        """Return a frame, (height, width, 3), upright."""
        return np.rot90(pixels[:, ::-1] if self.is_mirrored else pixels, self.quarter_turns)


UPRIGHT = Orientation()


def turned_by(a: float, b: float, c: float, d: float) -> Orientation:
    """Return the orientation that is nearest to a matrix: (x, y) is shown at (ax + cy, bx + dy).

    y points downwards. Angles between are rounded to a quarter turn, since a frame of a video fills
    a rectangle. A matrix that flattens the picture to a line counts as upright.
    """
    determinant = a * d - b * c
    if determinant == 0:
        return UPRIGHT
    sign = -1 if determinant < 0 else 1
    return Orientation(-round(math.atan2(sign * b, sign * a) / (math.pi / 2)) % 4, determinant < 0)


def orientation_of(path: Path, kind: str, stream: VideoStream, packets: Iterable[VideoPacket | None]) -> Orientation:
    """Return how the frames of a track are shown.

    The first frame tells how it is turned: FFmpeg gives it the matrix of its own message, else that
    of the container. MP4 and MOV tell what is cut away by the clean aperture, Matroska by its crop.
    Frames of which nothing can be read count as upright.

    Args:
        path: The file.
        kind: Family of its format: "mov", "matroska", …
        stream: The track.
        packets: Its first packets, and None.
    """
    context = stream.codec_context
    coded, found, crop = (context.width, context.height), UPRIGHT, (0, 0, 0, 0)
    context.thread_count, context.options = 1, {"max_pixels": str(LARGEST_FRAME_PX)}
    for packet in packets:
        with suppress(*DECODE_ERRORS):
            if frames := context.decode(packet):
                if (data := cast("Any", frames[0].side_data.get("DISPLAYMATRIX"))) is not None:
                    a, b, _, c, d, *_ = struct.unpack("9i", bytes(data))
                    found = turned_by(a, b, c, d)
                break
    with suppress(OSError, struct.error, OverflowError, ZeroDivisionError), path.open("rb") as file:
        if kind == "mov":
            crop = _aperture(file, stream.id, coded)
        elif kind == "matroska":
            crop = crop_of(file, stream.index)
    width, height = found._replace(crop=crop).cropped(coded)
    return found._replace(crop=crop) if min(width, height, *(side + 1 for side in crop)) > 0 else found


def _aperture(file: BinaryIO, number: int, coded: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the crop of a track's clean aperture (ISO 14496-12, 12.1.4)."""
    for box in boxes_of_track(file, number):
        if box.kind == b"stsd":
            for part in boxes(file, box.start + SAMPLE_ENTRY, box.end):
                if part.kind == b"clap":
                    file.seek(part.start)
                    values = struct.unpack(">IIIIiIiI", file.read(32))
                    sides = [Fraction(*values[at : at + 2]) for at in range(0, 8, 2)]
                    first = [(coded[axis] - sides[axis]) / 2 + sides[axis + 2] for axis in (0, 1)]
                    left, top = math.floor(first[0]), math.floor(first[1])
                    return left, top, coded[0] - left - int(sides[0]), coded[1] - top - int(sides[1])
    return 0, 0, 0, 0
