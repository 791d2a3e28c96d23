"""Detects missing or misplaced packets that the container does not report (Matroska, AVI)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from av.packet import Packet
from av.video.stream import VideoStream

from atlaskit.video.readers.container import DECODE_ERRORS
from atlaskit.video.readers.elements import are_elements

BETWEEN_BLOCKS_BYTES = 96
"""Bytes that a Matroska file may have between two packets; its own headers take about 20. If there
are more, they must be whole elements."""
BLOCK_HEADER = 4
"""Bytes of a block before its frame."""


def is_misplaced(packet: Packet[VideoStream], stream: VideoStream, kind: str) -> bool:
    """Tell whether the index of an AVI file has another packet at this time.

    FFmpeg loses count when it reads past damage.
    """
    entries = stream.index_entries
    if kind != "avi" or packet.dts is None or packet.pos is None or not len(entries):
        return False
    index = entries.search_timestamp(packet.dts, any_frame=True)
    return index >= 0 and entries[index].timestamp == packet.dts and packet.pos - entries[index].pos not in (0, 8)


def has_gap(
    packets: Iterable[Packet[Any]],
    stream: VideoStream,
    path: Path,
    pts: int,
    tick: int,
    frame_ticks: int,
    last_end: float,
) -> bool:
    """Tell whether packets of a Matroska file are lost between the frame shown at `pts` and a tick.

    Bytes that belong to no packet, and are no whole elements, show a gap.

    Args:
        packets: The packets of all streams, from a keyframe at or before `pts` on.
        stream: The video stream.
        path: The file.
        pts: Presentation time of the last frame before a possible gap.
        tick: A later tick.
        frame_ticks: Duration of a frame that does not give its own.
        last_end: When the last frame of the file ends: that one stays until the longest stream
            ends. Infinity for a truncated file.
    """
    previous_end: int | None = None
    frame_end = block = None
    with suppress(*DECODE_ERRORS), path.open("rb") as file:
        for packet in packets:
            if packet.pos is None or not packet.size:
                continue
            is_video = packet.stream is stream
            if frame_end is None:
                frame_end = frame_end_of(packet, frame_ticks) if is_video and packet.pts == pts else None
            elif (
                previous_end is not None
                and packet.pos - previous_end > BETWEEN_BLOCKS_BYTES
                and not are_elements(file, previous_end + BLOCK_HEADER, packet.pos)
            ):
                return True
            elif is_video and packet.pts is not None and packet.pts > tick:
                return False
            # The frames of one block ("lacing") all have the block's position.
            previous_end = (previous_end if previous_end and packet.pos == block else packet.pos) + packet.size
            block = packet.pos
    return frame_end is not None and tick >= frame_end and frame_end < last_end  # the file cannot be read further


def frame_end_of(packet: Packet[Any], frame_ticks: int) -> int:
    """Return the tick at which the next frame replaces a packet's frame."""
    return (packet.pts or 0) + (packet.duration or frame_ticks)
