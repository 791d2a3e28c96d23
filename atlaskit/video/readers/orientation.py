"""`Orientation`: how a track's frames are turned and mirrored to be upright, from the header.

Phones record sideways and note that in the track's header. FFmpeg tells it with each decoded frame,
but the size of a video must be known before any frame is decoded.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from atlaskit.video.readers import Pixels
from atlaskit.video.readers.boxes import Box, boxes, track_id
from atlaskit.video.readers.elements import Projection, projection_of

HALF_TURN = 180.0


class Orientation(NamedTuple):
    """One of the eight ways in which a picture can lie."""

    quarter_turns: int = 0
    """Number of quarter turns counterclockwise, 0 to 3, that make it upright."""
    is_mirrored: bool = False
    """Whether left and right are exchanged before it is turned."""

    @property
    def is_sideways(self) -> bool:
        """Whether the width of the encoded frames is the height of the shown ones."""
        return self.quarter_turns % 2 == 1

    def apply(self, pixels: Pixels) -> Pixels:
        """Return a frame, (height, width, 3), upright."""
        return np.rot90(pixels[:, ::-1] if self.is_mirrored else pixels, self.quarter_turns)


UPRIGHT = Orientation()


class Matrix(NamedTuple):
    """The linear part of a display matrix: (x, y) is shown at (ax + cy, bx + dy), y downwards."""

    a: float
    b: float
    c: float
    d: float

    def then(self, other: Matrix) -> Matrix:
        """Return the matrix that applies this one, then another."""
        return Matrix(
            self.a * other.a + self.b * other.c,
            self.a * other.b + self.b * other.d,
            self.c * other.a + self.d * other.c,
            self.c * other.b + self.d * other.d,
        )

    def orientation(self) -> Orientation:
        """Return the nearest of the eight orientations.

        Angles between are rounded to a quarter turn, since a frame of a video fills a rectangle. A
        matrix that flattens the picture to a line counts as upright.
        """
        determinant = self.a * self.d - self.b * self.c
        if determinant == 0:
            return UPRIGHT
        sign = -1 if determinant < 0 else 1
        clockwise = math.atan2(sign * self.b, sign * self.a)
        return Orientation(-round(clockwise / (math.pi / 2)) % 4, determinant < 0)


IDENTITY = Matrix(1, 0, 0, 1)


def orientation_of(path: Path, kind: str, track_id: int, number: int) -> Orientation:
    """Return how the frames of a track are made upright.

    MP4 and MOV tell it by the matrices of the track and the movie, Matroska by the pose of its
    projection. In other formats, and where a header cannot be read, frames count as upright.

    Args:
        path: The file.
        kind: Family of its format: "mov", "matroska", …
        track_id: Number by which an MP4 file names the track.
        number: Number of the track among those with video, from 0.
    """
    try:
        with path.open("rb") as file:
            if kind == "mov":
                return _display_matrix(file, path.stat().st_size, track_id).orientation()
            if kind == "matroska":
                return _posed(projection_of(file, number))
    except (OSError, struct.error, OverflowError):
        pass
    return UPRIGHT


def _posed(projection: Projection) -> Orientation:
    """Return the orientation of a projection's pose, with FFmpeg's reading of it.

    A flat picture can only be mirrored, by a yaw of half a turn, and then rolled.
    """
    yaw, pitch, roll = projection
    is_mirrored = abs(yaw) == HALF_TURN
    if pitch or (yaw and not is_mirrored) or not -HALF_TURN <= roll <= HALF_TURN:
        return UPRIGHT
    cosine, sine, sign = math.cos(math.radians(roll)), math.sin(math.radians(roll)), -1 if is_mirrored else 1
    return Matrix(sign * cosine, -sign * sine, sine, cosine).orientation()


def _display_matrix(file: BinaryIO, size: int, track_id: int) -> Matrix:
    found = [box for box in boxes(file, 0, size) if box.kind in (b"mvhd", b"tkhd")]
    tracks = dict(_track_header(file, box) for box in found if box.kind == b"tkhd")
    movies = [_movie_header(file, box) for box in found if box.kind == b"mvhd"]
    return tracks.get(track_id, IDENTITY).then(movies[0] if movies else IDENTITY)


def _track_header(file: BinaryIO, box: Box) -> tuple[int, Matrix]:
    """Return a track's id and its matrix (ISO 14496-12, 8.3.2)."""
    number = track_id(file, box)
    file.seek(box.start)
    is_long = file.read(4)[0:1] == b"\x01"
    file.seek(box.start + (52 if is_long else 40))
    return number, _matrix(file)


def _movie_header(file: BinaryIO, box: Box) -> Matrix:
    """Return a movie's matrix (ISO 14496-12, 8.2.2)."""
    file.seek(box.start)
    is_long = file.read(4)[0:1] == b"\x01"
    file.seek((28 if is_long else 16) + 16, 1)
    return _matrix(file)


def _matrix(file: BinaryIO) -> Matrix:
    a, b, _, c, d = struct.unpack(">5i", file.read(20))
    return Matrix(a, b, c, d)
