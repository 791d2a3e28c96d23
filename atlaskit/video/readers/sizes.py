"""`PacketSizes`: when each frame of a video is shown and how many bytes code it, in chunks.

The sample table of an MP4 or MOV file tells them; other files are read through.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.video.readers.boxes import boxes_of_track

if TYPE_CHECKING:
    from av.video.stream import VideoStream

CHUNK = 8192
"""Packets in a chunk: whatever the length of a video, so many are in memory at once."""
OFFSET = np.dtype([("count", ">u4"), ("ticks", ">i4")])
"""A row of the box `ctts`: so many samples in a row are shown so long after they are decoded."""
MOST_ROWS = 1 << 23
"""Rows of that box that are read at most: 93 hours of 25 frames per second."""


class PacketSizes(NamedTuple):
    """Some packets, in the order of the file. Frames that are never shown are left out."""

    times: NDArray[np.float64]
    """When each packet's frame is shown: in ticks from a source, in seconds from a reader."""
    sizes: NDArray[np.int64]
    """Bytes of each packet."""
    are_keyframes: NDArray[np.bool_]


def sizes_in_table(path: Path, stream: VideoStream, delay: int) -> Iterator[PacketSizes] | None:
    """Return the sizes in the sample table of an MP4 or MOV file, of which nothing else is read.

    Args:
        path: The file.
        stream: Its video stream, just opened or read before.
        delay: Ticks from the decoding of the first keyframe until it is shown.

    Returns:
        The sizes; None if FFmpeg's index is not the whole table, as in a file of fragments or one
        with cuts in its edit list, or if the table does not tell when each frame is shown.
    """
    entries = stream.index_entries
    if not len(entries) or len(entries) != stream.frames:
        return None
    try:
        with path.open("rb") as file:
            offsets = _offsets(file, stream.id)
    except (OSError, struct.error):
        return None
    if offsets is None:
        offsets = np.array([(len(entries), 0)], OFFSET)
    if int(offsets["count"].sum(dtype=np.int64)) != len(entries):
        return None
    return _chunks(stream, offsets, delay)


def _chunks(stream: VideoStream, offsets: NDArray[np.void], delay: int) -> Iterator[PacketSizes]:
    entries = stream.index_entries
    row_ends = np.cumsum(offsets["count"], dtype=np.int64)
    first_key = next((index for index, entry in enumerate(entries) if entry.is_keyframe), 0)
    # FFmpeg shifts the times of the index as edit lists and negative offsets demand.
    shift = delay - int(offsets["ticks"][np.searchsorted(row_ends, first_key, side="right")])
    for start in range(0, len(entries), CHUNK):
        numbers = range(start, min(start + CHUNK, len(entries)))
        chunk = [entries[number] for number in numbers]
        rows = [(entry.timestamp, entry.size, entry.is_keyframe, entry.is_discard) for entry in chunk]
        dts, sizes, keys, hidden = (np.array(column) for column in zip(*rows, strict=True))
        ticks = offsets["ticks"][np.searchsorted(row_ends, numbers, side="right")]
        shown = ~hidden
        yield PacketSizes((dts + ticks + shift).astype(float)[shown], sizes.astype(np.int64)[shown], keys[shown])


def _offsets(file: BinaryIO, track: int) -> NDArray[np.void] | None:
    """Return the box `ctts` of a track, empty if it is too long; None if the track has none."""
    for box in boxes_of_track(file, track):
        if box.kind == b"ctts":
            file.seek(box.start + 4)
            (count,) = struct.unpack(">I", file.read(4))
            if count > MOST_ROWS:
                return np.empty(0, OFFSET)
            content = file.read(min(count * OFFSET.itemsize, box.end - box.start - 8))
            return np.frombuffer(content, OFFSET, len(content) // OFFSET.itemsize)
    return None
