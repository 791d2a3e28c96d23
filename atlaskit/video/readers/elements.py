"""Finds elements in a Matroska or WebM file by their headers (RFC 8794, RFC 9559)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

HEADER = 0x1A45DFA3
SEGMENT, CLUSTER, TRACKS, TRACK_ENTRY = 0x18538067, 0x1F43B675, 0x1654AE6B, 0xAE
TRACK_NUMBER = 0xD7
VIDEO = 0xE0
CROPS = 0x54CC, 0x54BB, 0x54DD, 0x54AA
CLUSTER_TIME, GROUP, BLOCK, SIMPLE_BLOCK, BLOCK_LENGTH = 0xE7, 0xA0, 0xA1, 0xA3, 0x9B
MOST_ELEMENTS = 1 << 16


def is_appended(path: Path) -> bool:
    """Tell whether a second Matroska file follows the first one in a file."""
    try:
        with path.open("rb") as file:
            kinds = [element.kind for element in islice(_within(file, 0, path.stat().st_size), 3)]
    except (OSError, struct.error):
        return False
    return kinds == [HEADER, SEGMENT, HEADER]


class Block(NamedTuple):
    """A block's number of its track, its time and its length (0 if it is not given), in ticks."""

    track: int
    ticks: int
    length: int


def blocks_from(path: Path, start: int, index: int) -> list[Block]:
    """Return the blocks of the track at `index` from the cluster at a byte on, by their headers.

    Raises:
        OSError, struct.error: The file cannot be read, or is damaged or cut off.
    """
    found, base = list[Block](), 0
    with path.open("rb") as file:
        tracks, end = _tracks(file), file.seek(0, 2)
        wanted = _value(file, tracks[index], TRACK_NUMBER) if index < len(tracks) else None
        while start < end:
            (element,) = islice(_within(file, start, end), 1)
            start = element.start if element.kind in (CLUSTER, GROUP) else element.end
            if element.kind == CLUSTER_TIME:
                base = _unsigned(file, element)
            elif element.kind in (BLOCK, SIMPLE_BLOCK):
                file.seek(element.start)
                track, _ = _number(file)
                found.append(Block(track, base + struct.unpack(">h", file.read(2))[0], 0))
            elif element.kind == BLOCK_LENGTH and found:
                found[-1] = found[-1]._replace(length=_unsigned(file, element))
            elif element.kind == SEGMENT or not element.is_whole:
                raise struct.error("a file that is cut off")
    return [block for block in found if block.track == wanted]


def are_elements(file: BinaryIO, start: int, end: int) -> bool:
    """Tell whether only whole elements, and headers of those around, lie between two bytes."""
    size = file.seek(0, 2)
    try:
        while start < end:
            (element,) = islice(_within(file, start, size), 1)
            is_around = element.kind in (CLUSTER, GROUP) or element.end > end
            start = element.start if is_around else element.end
    except (struct.error, ValueError):
        return False
    return start == end


class _Element(NamedTuple):
    kind: int
    start: int
    end: int
    is_whole: bool = True


def crop_of(file: BinaryIO, index: int) -> tuple[int, int, int, int]:
    """Return the pixels of the track at `index` that are not shown, left, top, right and bottom.

    Raises:
        OSError: The file cannot be read.
        struct.error: The header is damaged or cut off.
    """
    tracks = _tracks(file)
    video = _fields(file, tracks[index].get(VIDEO)) if index < len(tracks) else {}
    left, top, right, bottom = (_value(file, video, kind) or 0 for kind in CROPS)
    return left, top, right, bottom


def _tracks(file: BinaryIO) -> list[dict[int, _Element]]:
    """Return the fields of each track, in the order of the file."""
    end = file.seek(0, 2)
    segment = next((found for found in _within(file, 0, end) if found.kind == SEGMENT), None)
    for child in _within(file, segment.start, segment.end) if segment else ():
        if child.kind == TRACKS:
            return [
                _fields(file, entry) for entry in _within(file, child.start, child.end) if entry.kind == TRACK_ENTRY
            ]
    return []


def _value(file: BinaryIO, fields: dict[int, _Element], kind: int) -> int | None:
    return _unsigned(file, fields[kind]) if kind in fields else None


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
        yield _Element(kind, content, min(start, end), is_unknown or start <= end)


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
