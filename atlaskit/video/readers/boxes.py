"""Finds boxes in MP4 and MOV files by their headers (ISO 14496-12)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
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
    try:
        with path.open("rb") as file:
            for box in boxes(file, 0, path.stat().st_size):
                if box.kind == b"stsd":
                    file.seek(box.start + 4)
                    if struct.unpack(">I", file.read(4))[0] > 1:
                        return True
    except (OSError, struct.error):
        pass
    return False


def is_fragmented(path: Path) -> bool:
    """Tell whether an MP4 or MOV file consists of fragments, each with times of its own."""
    try:
        with path.open("rb") as file:
            return any(box.kind == b"moof" for box in boxes(file, 0, path.stat().st_size))
    except (OSError, struct.error):
        return False


def track_id(file: BinaryIO, box: Box) -> int:
    """Return the id in a track's header, a box `tkhd` (ISO 14496-12, 8.3.2)."""
    file.seek(box.start)
    file.seek(16 if file.read(4)[0:1] == b"\x01" else 8, 1)
    (number,) = struct.unpack(">I", file.read(4))
    return int(number)
