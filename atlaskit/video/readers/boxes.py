"""Finds boxes in MP4 and MOV files by their headers (ISO 14496-12)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

CONTAINER_BOXES = {b"moov", b"trak", b"mdia", b"minf", b"stbl"}
DEEPEST_NESTING, MOST_BOXES = 6, 4096


class Box(NamedTuple):
    """A box: its kind, and where its content lies in the file."""

    kind: bytes
    start: int
    end: int


def boxes(file: BinaryIO, start: int, end: int, depth: int = 0) -> Iterator[Box]:
    """Yield the boxes between two positions, and those in CONTAINER_BOXES."""
    for _ in range(MOST_BOXES):
        if start + 8 > end:
            return
        file.seek(start)
        size, kind = struct.unpack(">I4s", file.read(8))
        header = 8
        if size == 1:
            (size,), header = struct.unpack(">Q", file.read(8)), 16
        size = end - start if size == 0 else size
        if size < header:
            return
        box = Box(kind, start + header, min(start + size, end))
        yield box
        if kind in CONTAINER_BOXES and depth < DEEPEST_NESTING:
            yield from boxes(file, box.start, box.end, depth + 1)
        start += size


def has_several_descriptions(path: Path) -> bool:
    """Tell whether a track of an MP4 or MOV file has several sample descriptions.

    Its samples then need several decoders.
    """
    return _has(path, lambda file, box: box.kind == b"stsd" and _number(file, box.start + 4) > 1)


def is_encrypted(path: Path) -> bool:
    """Tell whether the samples of an MP4 are encrypted (`encv`, ISO 23001-7; `drmi` of iTunes)."""
    return _has(path, lambda file, box: box.kind == b"stsd" and _four(file, box.start + 12) in (b"encv", b"drmi"))


def is_fragmented(path: Path) -> bool:
    """Tell whether an MP4 or MOV file consists of fragments, each with times of its own."""
    return _has(path, lambda _, box: box.kind == b"moof")


def boxes_of_track(file: BinaryIO, number: int) -> Iterator[Box]:
    """Yield the boxes of the track whose header, a box `tkhd` (ISO 14496-12, 8.3.2), has an id."""
    is_track = False
    for box in boxes(file, 0, file.seek(0, 2)):
        if box.kind == b"tkhd":
            file.seek(box.start)
            is_track = _number(file, box.start + (20 if file.read(1) == b"\x01" else 12)) == number
        elif is_track:
            yield box


def _has(path: Path, is_wanted: Callable[[BinaryIO, Box], bool]) -> bool:
    """Tell whether a file has such a box; False if that cannot be read."""
    with suppress(OSError, struct.error), path.open("rb") as file:
        return any(is_wanted(file, box) for box in boxes(file, 0, path.stat().st_size))
    return False


def _number(file: BinaryIO, at: int) -> int:
    return int.from_bytes(_four(file, at), "big")


def _four(file: BinaryIO, at: int) -> bytes:
    file.seek(at)
    (found,) = struct.unpack("4s", file.read(4))
    return bytes(found)
