"""`PacketSizes`: when each frame of a video is shown and how many bytes code it.

The sample table of an MP4 or MOV file tells them; other files are read through.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.video.readers.boxes import boxes_of_track
from atlaskit.video.readers.container import DECODE_ERRORS, is_transient
from atlaskit.video.readers.steps import Step

if TYPE_CHECKING:
    from av.video.stream import VideoStream

ENTRY = np.dtype([("dts", "<i8"), ("size", "<i8"), ("is_key", "?"), ("is_hidden", "?")])
"""A sample by FFmpeg's index."""
OFFSET = np.dtype([("count", ">u4"), ("ticks", ">i4")])
"""A row of the box `ctts`: so many samples in a row are shown so long after they are decoded."""
MOST_ROWS = 1 << 23
"""Rows of that box that are read at most: 93 hours of 25 frames per second."""


class PacketSizes(NamedTuple):
    """All packets, in the order of the file. Frames that are never shown are left out."""

    times: NDArray[np.float64]
    """When each packet's frame is shown: in ticks from a source, in seconds from a reader."""
    sizes: NDArray[np.int64]
    """Bytes of each packet."""
    are_keyframes: NDArray[np.bool_]
    is_whole: bool = True
    """Whether these are all, and not only those before damage that cannot be passed."""


def sizes_of(steps: Iterable[Step]) -> PacketSizes:
    """Return the sizes of packets that are read.

    Raises:
        Exception: One of DECODE_ERRORS if the file cannot be read this time.
    """
    times, sizes, keys, is_whole = array("d"), array("q"), array("b"), True
    try:
        for step in steps:
            if step.packet.pts is not None and step.is_shown:
                times.append(step.packet.pts)
                sizes.append(step.packet.size)
                keys.append(step.packet.is_keyframe)
    except DECODE_ERRORS as error:
        if is_transient(error):
            raise
        is_whole = False
    return PacketSizes(np.array(times, float), np.array(sizes, np.int64), np.array(keys, bool), is_whole)


def sizes_in_table(path: Path, stream: VideoStream, delay: int) -> PacketSizes | None:
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
    rows = np.fromiter(
        ((entry.timestamp, entry.size, entry.is_keyframe, entry.is_discard) for entry in entries), ENTRY, len(entries)
    )
    ticks = np.repeat(offsets["ticks"].astype(np.int64), offsets["count"])
    # FFmpeg shifts the times of the index as edit lists and negative offsets demand.
    times = rows["dts"] + ticks + (delay - ticks[np.argmax(rows["is_key"])])
    shown = ~rows["is_hidden"]
    return PacketSizes(times.astype(float)[shown], rows["size"][shown], rows["is_key"][shown])


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
