"""`PacketSizes`: when each frame of a video is shown and how many bytes code it.

The sample table of an MP4 or MOV file tells them; other files are read through.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.video.readers.container import DECODE_ERRORS, is_transient
from atlaskit.video.readers.steps import Step

if TYPE_CHECKING:
    from av.video.stream import VideoStream

ENTRY = np.dtype([("dts", "<i8"), ("size", "<i8"), ("is_key", "?"), ("is_hidden", "?")])
"""A sample by FFmpeg's index."""


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


def sizes_in_table(stream: VideoStream, delay: int) -> PacketSizes | None:
    """Return the sizes in the sample table of an MP4 or MOV file, of which nothing else is read.

    Their times are those of decoding, and so those of their pictures to within the reordering of a
    few frames.

    Args:
        stream: Its video stream, just opened or read before.
        delay: Ticks from the decoding of the first keyframe until it is shown.

    Returns:
        The sizes; None if FFmpeg's index is not the whole table, as in a file of fragments or one
        with cuts in its edit list.
    """
    entries = stream.index_entries
    if not len(entries) or len(entries) != stream.frames:
        return None
    rows = np.fromiter(
        ((entry.timestamp, entry.size, entry.is_keyframe, entry.is_discard) for entry in entries), ENTRY, len(entries)
    )
    shown = ~rows["is_hidden"]
    return PacketSizes((rows["dts"] + delay).astype(float)[shown], rows["size"][shown], rows["is_key"][shown])
