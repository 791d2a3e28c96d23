"""Start, end and readable length of a file, from its header and packets."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from av.container import InputContainer
from av.stream import Stream
from av.video.stream import VideoStream

from atlaskit.errors import VideoError
from atlaskit.video.readers.codecs import VideoPacket
from atlaskit.video.readers.container import (
    DECODE_ERRORS,
    container_kind,
    discard_others,
    frame_length,
    tick_length,
)
from atlaskit.video.readers.elements import blocks_from

RARE_RATE, IMPOSSIBLE_RATE = 240, 20_000
"""Frames per second above which a header is not believed, and above which packets are not."""
TOLERATED_S = 1
"""Decoding times that go back by less, in seconds, are taken to be rounded."""


class Distrust(Exception):
    """What a container tells does not hold; says what, as `doubt` does."""


def earliest_start(container: InputContainer) -> Fraction:
    """Return the container's time, in seconds, at which its earliest stream starts."""
    starts = [
        stream.start_time * stream.time_base
        for stream in container.streams
        if stream.start_time is not None and stream.time_base is not None
    ]
    return min(starts, default=Fraction(0))


def first_frame(packets: Iterable[VideoPacket], path: Path) -> tuple[int, int]:
    """Return the tick at which the first frame is shown, and how much earlier it is decoded.

    The first frame is normally that of the first keyframe's packet. A file that was cut between
    keyframes begins with packets that are decoded and not shown: then it is the earliest of the
    other packets before the next keyframe.

    Raises:
        VideoError: The file holds no frame.
        Exception: One of DECODE_ERRORS if the file cannot be read.
    """
    shown, delay = None, 0
    for packet in packets:
        if packet.pts is None:
            continue
        if packet.dts is not None:
            delay = packet.pts - packet.dts
        if packet.is_keyframe and (shown is not None or not packet.is_discard):
            return packet.pts if shown is None else shown, delay
        if not packet.is_discard:
            shown = packet.pts if shown is None else min(shown, packet.pts)
    if shown is None:
        raise VideoError(f"{path} holds no video frame: is the file whole?")
    return shown, delay


def checked_rate(kind: str, stream: VideoStream, head: Sequence[VideoPacket], path: Path) -> Fraction:
    """Return the frame rate of a file: that of its header if it can be true.

    A rate above RARE_RATE, and that of a Matroska file, which any program may write into it, is
    compared with the times of the first packets, `head`, which decide.

    Raises:
        VideoError: The packets themselves have a rate that no camera has.
    """
    rate = 1 / frame_length(stream)
    if kind != "matroska" and rate <= RARE_RATE:
        return rate
    times = [packet.pts for packet in head if packet.pts is not None]
    length = (max(times) - min(times)) * tick_length(stream) if times else Fraction(0)
    measured = (len(times) - 1) / length if length else rate
    if measured > IMPOSSIBLE_RATE:
        raise VideoError(
            f"{path} has {float(measured):,.0f} frames per second by its own times, and no camera has: "
            "encode or mux it again with its true rate."
        )
    return measured if abs(measured - rate) > rate / 3 else rate


def declared_end(container: InputContainer, stream: Stream) -> Fraction | None:
    """Return when a track of an MP4 or MOV ends by its own account, in the container's seconds.

    An edit list, or the last sample, may end elsewhere than the media. None in other formats.
    """
    if container_kind(container) != "mov" or not stream.duration or stream.time_base is None:
        return None
    return ((stream.start_time or 0) + stream.duration) * Fraction(stream.time_base)


class Length(NamedTuple):
    """When a video ends. Seconds count from its first frame."""

    end: Fraction
    """End of the longest stream, in seconds: the last frame stays until then."""
    readable: Fraction
    """End of the readable part, in seconds; less than `end` in a truncated file."""
    last_frame: int
    """When the last frame's own duration ends, in ticks of the container's time."""


def measure_length(
    container: InputContainer, stream: VideoStream, path: Path, origin_ticks: int, has_cues: bool
) -> Length:
    """Return when the video ends.

    Takes one seek if the container can seek, and a pass over the packets if it cannot.

    Raises:
        Distrust: What the container tells does not hold.
    """
    tick = tick_length(stream)
    read_through = Fraction(0) if has_cues else _read_through(container, stream)
    if (
        has_cues
        and container_kind(container) == "matroska"
        and (known := _by_cues(container, stream, path, origin_ticks))
    ):
        return known
    start = Fraction(container.start_time or 0, 1_000_000)
    declared = (stream.duration or 0) * tick
    if container_kind(container) == "avi":  # FFmpeg shortens the duration to what is there, but not the frame count
        declared = stream.frames * frame_length(stream)
    length = max(Fraction(container.duration or 0, 1_000_000), declared)
    # Some formats count the length from the first frame, some from zero: the lesser of the two is
    # certain.
    promised = length + min(start, Fraction(0))
    origin, slack = origin_ticks * tick, 1 + promised / 100
    # Frames are shown in another order than they are stored in: two seconds cover the last one.
    ends = _last_ends(container, stream, max(read_through or length + start, origin + 2) - 2)
    if ends is None or promised - ends.any > slack:
        ends = _last_ends(container, stream, _last_readable(container, stream, origin, promised))
    readable = ends.video - origin if ends else Fraction(0)
    last_frame = int((readable + origin) / tick)
    if ends is None or promised - ends.any > slack:  # truncated: every stream stops before the end
        return Length(max(declared or promised - max(origin, Fraction(0)), readable), readable, last_frame)
    longest = ends.any - origin
    return Length(longest, longest, last_frame)


def _by_cues(container: InputContainer, stream: VideoStream, path: Path, origin: int) -> Length | None:
    """Return the length of a whole Matroska file with cues; None for one that is cut off.

    Its header tells when the longest stream ends, and the blocks behind the last cue when the
    picture does.
    """
    tick, entries = tick_length(stream), stream.index_entries
    try:
        blocks = blocks_from(path, entries[len(entries) - 1].pos, stream.index)
    except (OSError, struct.error):
        return None
    frame = max(1, int(frame_length(stream) / tick))
    ends = [block.ticks + (block.length or frame) for block in blocks]
    if not ends or not container.duration:
        return None
    end = max(Fraction(container.duration, 1_000_000), max(ends) * tick) - origin * tick
    return Length(end, end, max(ends))


def is_without_cues(container: InputContainer, stream: VideoStream) -> bool:
    """Tell whether a file is a Matroska file that is indexed only as it is read.

    FFmpeg reads the cues of a file at the first seek.
    """
    if container_kind(container) != "matroska":
        return False
    with suppress(*DECODE_ERRORS):
        container.seek(stream.start_time or 0, stream=stream, backward=True)
    entries, length = stream.index_entries, Fraction(container.duration or 0, 1_000_000)
    return len(entries) < 3 or entries[len(entries) - 1].timestamp * tick_length(stream) < length / 2


def _read_through(container: InputContainer, stream: VideoStream) -> Fraction:
    """Read a file to its end, so that FFmpeg indexes it once; return when its last frame is shown.

    Without this, FFmpeg reads the file to its end at every seek.

    Raises:
        Distrust: The times of the file start anew, or some keyframes are not marked.
    """
    last = keys = 0
    last_dts: int | None = None
    before = discard_others(container, stream)
    with suppress(*DECODE_ERRORS):
        for packet in container.demux(stream):
            if packet.pts is not None and packet.pts > last:
                last = packet.pts
            if packet.dts is not None:
                if last_dts is not None and packet.dts < last_dts - TOLERATED_S / tick_length(stream):
                    raise Distrust("has a clock that starts anew")
                last_dts = packet.dts
            keys += packet.is_keyframe
    if keys > len(stream.index_entries) + 1:
        raise Distrust("does not mark its keyframes")
    for other, discard in before:
        other.discard = discard
    return last * tick_length(stream)


def _last_readable(container: InputContainer, stream: VideoStream, low: Fraction, high: Fraction) -> Fraction:
    """Return a time shortly before the last readable packet, by bisection."""
    while high - low > 1:
        middle = (low + high) / 2
        is_readable = _last_ends(container, stream, middle, packets=1) is not None
        low, high = (middle, high) if is_readable else (low, middle)
    return max(low - 1, Fraction(0))


class _Ends(NamedTuple):
    """The end of the last video packet, and that of the last packet of any stream, in seconds."""

    video: Fraction
    any: Fraction


def _last_ends(container: InputContainer, stream: VideoStream, start: Fraction, packets: int = 0) -> _Ends | None:
    """Return the ends of the last packets.

    Packets are read from the keyframe at `start` on, up to the end of the file, the first damage,
    or so many video `packets`. Returns None if there is no video packet.
    """
    video_end = any_end = None
    ends: dict[int, Fraction | None] = {}
    count = 0
    with suppress(*DECODE_ERRORS):
        container.seek(int(start / tick_length(stream)), stream=stream, backward=True)
        for packet in container.demux():
            if packet.pts is None or packet.time_base is None or packet.is_corrupt:
                continue
            is_video = packet.stream is stream
            if not is_video and packet.stream.type not in ("audio", "subtitle"):
                continue  # a cover, or data
            length = packet.duration * packet.time_base if packet.duration else frame_length(stream) if is_video else 0
            end = packet.pts * packet.time_base + length
            declared = ends.setdefault(packet.stream.index, declared_end(container, packet.stream))
            end = end if declared is None else min(end, declared)
            if is_video:
                video_end = end if video_end is None else max(video_end, end)
                count += 1
            any_end = end if any_end is None else max(any_end, end)
            if count == packets != 0:
                break
    return None if video_end is None or any_end is None else _Ends(video_end, any_end)
