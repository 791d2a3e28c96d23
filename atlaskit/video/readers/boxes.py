"""Finds the parts of MP4, MOV (ISO 14496-12) and Matroska (RFC 8794) files by their headers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

CONTAINER_BOXES = {b"moov", b"trak", b"mdia", b"minf", b"stbl"}
EBML = b"\x1a\x45\xdf\xa3"
"""First bytes of a Matroska file."""
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


def is_appended(path: Path) -> bool:
    """Tell whether a second Matroska file follows the first one in a file."""
    try:
        with path.open("rb") as file:
            for _ in range(2):  # the header and the segment
                file.seek(4, 1)
                size = _element_size(file)
                if size is None:
                    return False
                file.seek(size, 1)
            return file.read(4) == EBML
    except (OSError, ValueError):
        return False


def _element_size(file: BinaryIO) -> int | None:
    """Return the size of the element at the file's position, None for an unknown one."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    length = 9 - first[0].bit_length()
    size = int.from_bytes(bytes([first[0] & (1 << 8 - length) - 1]) + file.read(length - 1), "big")
    return None if size == (1 << 7 * length) - 1 else size
