"""`open_source`: opens a file in place where its container tells the time of every frame, else its
stream copy.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from pathlib import Path

from av.container import InputContainer
from av.video.stream import VideoStream

from atlaskit.errors import VideoError
from atlaskit.video.fingerprint import file_fingerprint
from atlaskit.video.readers.boxes import is_appended, is_fragmented
from atlaskit.video.readers.container import DECODE_ERRORS, container_kind, open_container
from atlaskit.video.readers.copy_source import CopySource
from atlaskit.video.readers.copying import RAW, Times, clock_breaks, make_copy, vop_type
from atlaskit.video.readers.duration import ClockBreak
from atlaskit.video.readers.file_source import FileSource
from atlaskit.video.readers.sources import PacketSource
from atlaskit.video.readers.stream_copy import copies_in, read_copy

LIVE = {"mpegts", "flv", "ogg"}
"""Kinds that are recorded live, so that their clock may restart. So may that of a fragmented MP4."""
REORDERING = {"h264", "hevc"}
"""Codecs whose frames may be shown in another order than they are decoded in."""
PACKED_BY = re.compile(rb"DivX\d+(?:Build|b)\d+p")
"""What DivX and Xvid write into a stream with two pictures in some packets."""
SAMPLED_PACKETS = 200
"""Packets at the start of a file that show whether its times go back."""


def open_source(path: Path, copies: Path) -> PacketSource:
    """Open the video stream of a file.

    Args:
        path: The file.
        copies: Folder of the stream copies. It is created if the file needs one.

    Raises:
        VideoError: The file is not a video that can be read, or it cannot be copied.
    """
    container, stream = open_container(path)
    try:
        times = _times_of(container, stream, path, copies)
    finally:
        container.close()
    if times is None:
        try:
            return FileSource(path)
        except ClockBreak:
            times = Times.SHOWN
    target = copies_in(copies) / f"{file_fingerprint(path)}.packets"
    copy = read_copy(target)
    if copy is None:
        container, stream = open_container(path)
        with container:
            make_copy(container, stream, path, times, target)
        copy = read_copy(target)
    if copy is None:
        raise VideoError(f"The stream copy {target} of {path} cannot be read again: is the disk whole?")
    return CopySource(path, copy)


def _times_of(container: InputContainer, stream: VideoStream, path: Path, copies: Path) -> Times | None:
    """Return what the times of a file mean if it needs a copy; None if it can be read in place."""
    kind, codec = container_kind(container), stream.codec_context
    if kind in RAW or kind == "mpeg":
        if codec.name in ("mpeg1video", "mpeg2video"):
            return Times.PACED
        is_reordered = codec.name in REORDERING and (kind in REORDERING or codec.has_b_frames)
        return Times.DECODED if is_reordered else Times.GIVEN
    if codec.name == "mpeg4" and _is_packed(container, stream):
        return Times.PACKED
    if kind in ("avi", "asf") and codec.name in (*REORDERING, "mpeg4") and codec.has_b_frames:
        if kind == "asf" and clock_breaks(container, stream, most=SAMPLED_PACKETS):
            return Times.SWAPPED
        return Times.DECODED if codec.name in REORDERING else None
    if kind == "matroska" and is_appended(path):
        return Times.SHOWN
    if kind in LIVE or (kind == "mov" and is_fragmented(path)):
        return None if _is_continuous(container, stream, path, copies) else Times.GIVEN
    return None


def _is_packed(container: InputContainer, stream: VideoStream) -> bool:
    """Tell whether MPEG-4 pictures are packed, or stored with times that ignore their B-frames."""
    with suppress(*DECODE_ERRORS):
        packets = [packet for packet in islice(container.demux(stream), SAMPLED_PACKETS) if packet.size]
        start = (stream.codec_context.extradata or b"") + b"".join(map(bytes, packets[:1]))
        if PACKED_BY.search(start):
            return True
        times = [packet.pts for packet in packets if packet.pts is not None]
        return times == sorted(times) and any(vop_type(bytes(packet)) == "B" for packet in packets)
    return False


def _is_continuous(container: InputContainer, stream: VideoStream, path: Path, copies: Path) -> bool:
    """Tell whether the clock of a file never breaks; the file is read for that once."""
    verdict = copies / f"{file_fingerprint(path)}.continuous"
    if verdict.exists():
        return True
    if clock_breaks(container, stream):
        return False
    copies_in(copies)
    verdict.touch()
    return True
