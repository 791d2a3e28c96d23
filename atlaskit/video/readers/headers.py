"""Reads from the headers of MP4, MOV and Matroska files what FFmpeg does not return.

* Boxes of MP4 and MOV (ISO 14496-12): several sample descriptions, encryption, fragments, the
  clean aperture.
* Elements of Matroska (RFC 8794, RFC 9559): whether a file is complete and has cues, where bytes
  are lost, and how a picture is cropped.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from av.packet import Packet
from numpy.typing import NDArray

CONTAINER_BOXES = {b"moov", b"trak", b"mdia", b"minf", b"stbl"}
DEEPEST_NESTING = 6
MOST_BOXES = 4096
MOST_SAMPLES = 1 << 25
"""A table with more samples is not read: at 30 pictures per second, this many last 13 days."""
SAMPLE_ENTRY = 8 + 8 + 78
"""Bytes of the content of a box of sample descriptions (`stsd`) before the boxes inside its first
description, if that describes pictures."""
DOLBY = {b"dvcC", b"dvvC", b"dvwC"}
"""Boxes of MP4 that hold the record of Dolby Vision; Matroska uses the same names."""
DOLBY_DESCRIPTOR = re.compile(
    rb"[\x06\x24][\xe0-\xff].[\xf0-\xff].(?:\x05\x04\w{4})*\xb0[\x05-\x10]([\x01-\x03].{4})",
    re.DOTALL,
)
"""Matches a stream in the table of a transport stream: its type and number, names of formats, and
the record of Dolby Vision, which is the group."""
HEAD_BYTES = 1 << 20
"""Bytes at the start of a file from which its format is recognised."""
OWN_COLOURS = {5, 10}
"""Profiles of Dolby Vision whose pictures may be in colours of its own (IPTPQc2)."""


class Box(NamedTuple):
    """A box: its four-letter kind, and the positions in the file between which its content lies."""

    kind: bytes
    start: int
    end: int


def boxes(file: BinaryIO, start: int, end: int, depth: int = 0) -> Iterator[Box]:
    """Yield the boxes between two positions, and the boxes inside those of CONTAINER_BOXES.

    At most MOST_BOXES boxes are read at each level of nesting, and DEEPEST_NESTING levels.

    Raises:
        struct.error: The file ends within the header of a box.
    """
    for _ in range(MOST_BOXES):
        if start + 8 > end:
            return
        file.seek(start)
        size, kind = struct.unpack(">I4s", file.read(8))
        header = 8
        if size == 1:
            (size,) = struct.unpack(">Q", file.read(8))
            header = 16
        if size == 0:  # the box ends where its parent ends
            size = end - start
        if size < header:
            return
        box = Box(kind, start + header, min(start + size, end))
        yield box
        if kind in CONTAINER_BOXES and depth < DEEPEST_NESTING:
            yield from boxes(file, box.start, box.end, depth + 1)
        start += size


def has_several_descriptions(path: Path) -> bool:
    """Return whether a track of an MP4 or MOV file has several sample descriptions.

    Then its samples need several decoders.
    """
    return _has(path, b"stsd", lambda file, box: _big_endian(file, box.start + 4) > 1)


def is_encrypted_mp4(path: Path) -> bool:
    """Return whether an MP4 is encrypted (`encv`, ISO 23001-7; `drmi` of iTunes)."""
    return _has(
        path, b"stsd", lambda file, box: _four_bytes(file, box.start + 12) in (b"encv", b"drmi")
    )


def codec_of_track(path: Path, number: int) -> str | None:
    """Return the four letters by which an MP4 names the codec of a track, or None."""
    with suppress(OSError, struct.error, UnicodeDecodeError), path.open("rb") as file:
        for box in boxes_of_track(file, number):
            if box.kind == b"stsd":
                return _four_bytes(file, box.start + 12).decode("ascii")
    return None


def reorderings(path: Path, number: int) -> NDArray[np.int64]:
    """Return the delay from decoding to showing of each picture of a track of an MP4, in ticks.

    The result is empty if the header has no such table (box `ctts`, ISO 14496-12, 8.6.1.3).
    """
    with suppress(OSError, struct.error, ValueError, MemoryError), path.open("rb") as file:
        for box in boxes_of_track(file, number):
            if box.kind == b"ctts":
                file.seek(box.start + 8)
                size = (box.end - box.start - 8) // 8 * 8
                runs = np.frombuffer(file.read(size), ">i4").reshape(-1, 2)
                if runs[:, 0].min() >= 0 and runs[:, 0].sum() <= MOST_SAMPLES:
                    return np.repeat(runs[:, 1], runs[:, 0]).astype(np.int64)
    return np.zeros(0, np.int64)


def is_fragmented(path: Path) -> bool:
    """Return whether an MP4 or MOV file consists of fragments, each with times of its own."""
    return _has(path, b"moof")


def boxes_of_track(file: BinaryIO, number: int) -> Iterator[Box]:
    """Yield the boxes of the track whose id is `number`, from `tkhd` on (ISO 14496-12, 8.3.2).

    The box of sample descriptions is followed by the boxes inside the first description.
    """
    is_track = False
    for box in boxes(file, 0, file.seek(0, 2)):
        if box.kind == b"tkhd":
            file.seek(box.start)
            offset = 20 if file.read(1) == b"\x01" else 12  # version 1 has longer times
            is_track = _big_endian(file, box.start + offset) == number
        if is_track:
            yield box
        if is_track and box.kind == b"stsd":
            yield from boxes(file, box.start + SAMPLE_ENTRY, box.end)


def _has(
    path: Path, kind: bytes, is_wanted: Callable[[BinaryIO, Box], bool] = lambda file, box: True
) -> bool:
    """Return whether a file has a box of a kind for which `is_wanted` is true.

    False if the file cannot be read.
    """
    with suppress(OSError, struct.error), path.open("rb") as file:
        for box in boxes(file, 0, path.stat().st_size):
            if box.kind == kind and is_wanted(file, box):
                return True
    return False


def _big_endian(file: BinaryIO, at: int) -> int:
    return int.from_bytes(_four_bytes(file, at), "big")


def _four_bytes(file: BinaryIO, at: int) -> bytes:
    file.seek(at)
    (found,) = struct.unpack("4s", file.read(4))
    return bytes(found)


HEADER = 0x1A45DFA3
SEGMENT = 0x18538067
SEEK_HEAD = 0x114D9B74
CUES = 0x1C53BB6B
CLUSTER = 0x1F43B675
TRACKS = 0x1654AE6B
TRACK_ENTRY = 0xAE
TRACK_NUMBER = 0xD7
VIDEO = 0xE0
CLUSTER_TIME = 0xE7
GROUP = 0xA0
BLOCK = 0xA1
SIMPLE_BLOCK = 0xA3
BLOCK_LENGTH = 0x9B
TRACK_TYPE = 0x83
TRACK_CODEC = 0x86
ADDITIONS = 0x41E4
ADDED_TYPE = 0x41E7
ADDED_DATA = 0x41ED
"""Identifiers of elements of Matroska."""
READ_TYPES = {1, 2, 0x11, 0x21}
"""Types of the tracks that FFmpeg counts: pictures, sound, subtitles and metadata, not buttons."""
CROPS = 0x54CC, 0x54BB, 0x54DD, 0x54AA
"""Identifiers of the elements with the pixels to crop at the left, the top, the right and the
bottom."""
MOST_ELEMENTS = 1 << 16
SEEK_HEAD_BYTES = 1 << 12
BETWEEN_BLOCKS_BYTES = 96
"""Up to this many bytes between two packets are not examined: the headers of a packet take about
20. More bytes must be complete elements."""
BLOCK_HEADER = 4
"""Bytes of a block before its frame: the number of the track, the time and flags."""


def fault_of_elements(path: Path) -> str | None:
    """Return the end of a sentence that says why a Matroska file's index cannot be used.

    None if it can be used.
    """
    with suppress(OSError, struct.error), path.open("rb") as file:
        outer = list(islice(_within(file, 0, file.seek(0, 2)), 3))
        if [element.kind for element in outer] == [HEADER, SEGMENT, HEADER]:
            return "consists of several files"
        for segment in outer[1:2]:
            if not segment.is_whole:
                return "is cut off"
            for child in _within(file, segment.start, segment.end):
                if child.kind == CUES:
                    return None
                if child.kind == SEEK_HEAD:  # names the elements that follow, cues among them
                    file.seek(child.start)
                    names = file.read(min(SEEK_HEAD_BYTES, child.end - child.start))
                    if CUES.to_bytes(4) in names:
                        return None
                if child.kind == CLUSTER:
                    break
    return "has no index"


def last_end(path: Path, start: int, index: int, frame_ticks: int) -> int:
    """Return the end of the last block of the track at `index`, in ticks, from the block headers.

    Args:
        path: The file.
        start: The position of a cluster, from which blocks are read.
        index: The index of the track among those that FFmpeg counts.
        frame_ticks: Length of a block without a length of its own.

    Raises:
        OSError, struct.error, ValueError: The file cannot be read, or is damaged.
    """
    cluster_time = 0
    ends = list[int]()
    is_own = False
    with path.open("rb") as file:
        size = file.seek(0, 2)
        wanted = _value(file, _fields(file, index), TRACK_NUMBER)
        while start < size:
            (element,) = islice(_within(file, start, size), 1)
            start = element.start if element.kind in (CLUSTER, GROUP) else element.end
            file.seek(element.start)
            if element.kind == CLUSTER_TIME:
                cluster_time = _unsigned(file, element)
            elif element.kind in (BLOCK, SIMPLE_BLOCK):
                is_own = _number(file)[0] == wanted
                if is_own:
                    (offset,) = struct.unpack(">h", file.read(2))
                    ends.append(cluster_time + offset + frame_ticks)
            elif element.kind == BLOCK_LENGTH and is_own:
                ends[-1] += _unsigned(file, element) - frame_ticks
            elif element.kind == SEGMENT or not element.is_whole:
                raise struct.error("a file that is cut off")
    return max(ends)


def has_own_colours(path: Path, kind: str, number: int, index: int) -> bool:
    """Return whether a video is in Dolby Vision with colours that only players for it can show.

    Args:
        path: The file.
        kind: Family of its format: "mov", "matroska", …
        number: The id of the track in MP4 and MOV.
        index: The index of the track among those that FFmpeg counts.
    """
    record = b""
    with suppress(OSError, struct.error), path.open("rb") as file:
        if kind == "mov":
            for box in boxes_of_track(file, number):
                if box.kind in DOLBY:
                    file.seek(box.start)
                    record = file.read(5)
        elif kind == "matroska":
            added = _fields(file, index, ADDITIONS)
            if ADDED_DATA in added and _value(file, added, ADDED_TYPE).to_bytes(8)[-4:] in DOLBY:
                file.seek(added[ADDED_DATA].start)
                record = file.read(5)
        elif kind == "mpegts":
            found = DOLBY_DESCRIPTOR.search(file.read(HEAD_BYTES))
            if found:
                record = found[1]
    # Two bytes of version, seven bits of profile, …, four bits of compatibility with others.
    return len(record) == 5 and record[2] >> 1 in OWN_COLOURS and record[4] >> 4 == 0


class Holes:
    """Finds where a Matroska file has lost packets: bytes that belong to no packet or element.

    Call `is_before` with each packet of the file, in order.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # Where the last packet ends, less BLOCK_HEADER: FFmpeg gives as its position that of its
        # block. -1 before the first packet.
        self._end = -1
        self._block = -1  # where the block of the last packet begins

    def is_before(self, packet: Packet[Any]) -> bool:
        """Return whether packets are lost between the packet of the last call and this one."""
        if packet.pos is None or not packet.size:
            return False
        end = self._end
        block = self._block
        # The frames of one block ("lacing") all have the block's position.
        self._end = (end if packet.pos == block else packet.pos) + packet.size
        self._block = packet.pos
        if end < 0 or packet.pos - end <= BETWEEN_BLOCKS_BYTES:
            return False
        with self._path.open("rb") as file:
            return not are_elements(file, end + BLOCK_HEADER, packet.pos)


def are_elements(file: BinaryIO, start: int, end: int) -> bool:
    """Return whether only whole elements, and headers of outer ones, lie between two positions."""
    size = file.seek(0, 2)
    try:
        while start < end:
            (element,) = islice(_within(file, start, size), 1)
            is_outer = element.kind in (CLUSTER, GROUP) or element.end > end
            start = element.start if is_outer else element.end
    except (struct.error, ValueError):
        return False
    return start == end


class _Element(NamedTuple):
    """An element: its identifier, and the positions between which its content lies."""

    kind: int
    start: int
    end: int
    is_whole: bool = True
    """Whether its content ends within the element or the file that holds it."""


def crop_of(file: BinaryIO, index: int) -> tuple[int, int, int, int]:
    """Return the pixels that are cropped from the track at `index`: left, top, right, bottom.

    Raises:
        OSError: The file cannot be read.
        struct.error: The header is damaged or cut off.
    """
    video = _fields(file, index, VIDEO)
    left, top, right, bottom = (_value(file, video, kind) for kind in CROPS)
    return left, top, right, bottom


def _fields(file: BinaryIO, index: int, *nested: int) -> dict[int, _Element]:
    """Return the elements in the entry of the track at `index`, by their kinds.

    With `nested`, return those in the element that is reached through these kinds, each inside the
    one before. The result is {} if there is no such track or element.
    """
    outer: Iterable[_Element] = [_Element(HEADER, 0, file.seek(0, 2))]  # stands for the whole file
    for kind in (SEGMENT, TRACKS, TRACK_ENTRY):
        outer = _inside(file, outer, kind)
    count = 0
    for entry in outer:
        fields = {field.kind: field for field in _within(file, entry.start, entry.end)}
        if TRACK_CODEC not in fields or _value(file, fields, TRACK_TYPE) not in READ_TYPES:
            continue
        if count == index:
            for kind in nested:
                if kind not in fields:
                    return {}
                parent = fields[kind]
                fields = {field.kind: field for field in _within(file, parent.start, parent.end)}
            return fields
        count += 1
    return {}


def _value(file: BinaryIO, fields: dict[int, _Element], kind: int) -> int:
    """Return the number in a field; 0 without the field."""
    if kind in fields:
        return _unsigned(file, fields[kind])
    return 0


def _inside(file: BinaryIO, outer: Iterable[_Element], kind: int) -> Iterator[_Element]:
    """Yield the elements of a kind that lie directly inside outer ones."""
    for element in outer:
        for child in _within(file, element.start, element.end):
            if child.kind == kind:
                yield child


def _within(file: BinaryIO, start: int, end: int) -> Iterator[_Element]:
    """Yield the elements between two positions."""
    for _ in range(MOST_ELEMENTS):
        if start + 2 > end:
            return
        file.seek(start)
        kind, _ = _number(file, keeps_marker=True)
        size, is_unknown = _number(file)
        content = file.tell()
        start = end if is_unknown else content + size  # of the next element
        yield _Element(kind, content, min(start, end), is_unknown or start <= end)


def _number(file: BinaryIO, keeps_marker: bool = False) -> tuple[int, bool]:
    """Read a number of variable length; return it, and whether all bits are set (unknown size).

    Args:
        file: The file, at the position of the number.
        keeps_marker: Whether the bit that marks the length is part of the number, as it is of
            identifiers.

    Raises:
        struct.error: The file ends, or the number is damaged.
    """
    (first,) = struct.unpack("B", file.read(1))
    length = 9 - first.bit_length()
    rest = file.read(length - 1)
    if length > 8 or len(rest) < length - 1:
        raise struct.error("a damaged number")
    marker = 1 << (8 - length)
    number = int.from_bytes(bytes([first if keeps_marker else first - marker]) + rest, "big")
    return number, number == (1 << 7 * length) - 1


def _unsigned(file: BinaryIO, element: _Element) -> int:
    """Return the number that an element holds."""
    file.seek(element.start)
    return int.from_bytes(file.read(min(8, element.end - element.start)), "big")
