"""Finds elements in a Matroska or WebM file by their headers (RFC 8794, RFC 9559)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

HEADER = 0x1A45DFA3
SEGMENT, CLUSTER, TRACKS, TRACK_ENTRY = 0x18538067, 0x1F43B675, 0x1654AE6B, 0xAE
TRACK_TYPE, VIDEO_TYPE = 0x83, 1
VIDEO, PROJECTION, PROJECTION_TYPE = 0xE0, 0x7670, 0x7671
YAW, PITCH, ROLL = 0x7673, 0x7674, 0x7675
RECTANGULAR = 0
MOST_ELEMENTS = 4096


def is_appended(path: Path) -> bool:
    """Tell whether a second Matroska file follows the first one in a file."""
    try:
        with path.open("rb") as file:
            kinds = [element.kind for element in islice(_within(file, 0, path.stat().st_size), 3)]
    except (OSError, struct.error):
        return False
    return kinds == [HEADER, SEGMENT, HEADER]


class Projection(NamedTuple):
    """The pose of a flat picture, in degrees."""

    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0


class _Element(NamedTuple):
    kind: int
    start: int
    end: int


def projection_of(file: BinaryIO, number: int) -> Projection:
    """Return the pose in which a video track is shown; `number` counts video tracks from 0.

    A track without one, and one whose picture is not flat, has the pose (0, 0, 0).

    Raises:
        OSError: The file cannot be read.
        struct.error: The header is damaged or cut off.
    """
    end = file.seek(0, 2)
    for segment in _within(file, 0, end):
        if segment.kind != SEGMENT:
            continue
        for child in _within(file, segment.start, segment.end):
            if child.kind == CLUSTER:
                break
            if child.kind == TRACKS:
                return _pose_in(file, child, number)
        break
    return Projection()


def _pose_in(file: BinaryIO, tracks: _Element, number: int) -> Projection:
    for entry in _within(file, tracks.start, tracks.end):
        if entry.kind != TRACK_ENTRY:
            continue
        fields = _fields(file, entry)
        if TRACK_TYPE not in fields or _unsigned(file, fields[TRACK_TYPE]) != VIDEO_TYPE:
            continue
        if number == 0:
            video = _fields(file, fields.get(VIDEO))
            pose = _fields(file, video.get(PROJECTION))
            if PROJECTION_TYPE in pose and _unsigned(file, pose[PROJECTION_TYPE]) != RECTANGULAR:
                return Projection()
            return Projection(*(_real(file, pose[kind]) if kind in pose else 0.0 for kind in (YAW, PITCH, ROLL)))
        number -= 1
    return Projection()


def _fields(file: BinaryIO, element: _Element | None) -> dict[int, _Element]:
    if element is None:
        return {}
    return {field.kind: field for field in _within(file, element.start, element.end)}


def _within(file: BinaryIO, start: int, end: int) -> Iterator[_Element]:
    """Yield the elements between two positions."""
    for _ in range(MOST_ELEMENTS):
        if start + 2 > end:
            return
        file.seek(start)
        kind, _ = _number(file, keeps_marker=True)
        size, is_unknown = _number(file)
        content = file.tell()
        start = end if is_unknown else content + size
        yield _Element(kind, content, min(start, end))


def _number(file: BinaryIO, keeps_marker: bool = False) -> tuple[int, bool]:
    """Return a number of variable length, and whether all its bits are set: an unknown size."""
    (first,) = struct.unpack("B", file.read(1))
    length = 9 - first.bit_length()
    rest = file.read(length - 1)
    if length > 8 or len(rest) < length - 1:
        raise struct.error("a damaged number")
    marker = 1 << (8 - length)
    number = int.from_bytes(bytes([first if keeps_marker else first - marker]) + rest, "big")
    return number, number == (1 << 7 * length) - 1


def _unsigned(file: BinaryIO, element: _Element) -> int:
    file.seek(element.start)
    return int.from_bytes(file.read(min(8, element.end - element.start)), "big")


def _real(file: BinaryIO, element: _Element) -> float:
    file.seek(element.start)
    data = file.read(min(8, element.end - element.start))
    return 0.0 if not data else float(struct.unpack(">f" if len(data) == 4 else ">d", data)[0])
