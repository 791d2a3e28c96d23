"""Finds the start and the end of a file, from its header and its packets."""

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
from atlaskit.video.readers.clock import LONGEST_REORDER
from atlaskit.video.readers.codecs import VideoPacket
from atlaskit.video.readers.container import (
    DECODE_ERRORS,
    Distrust,
    as_fraction,
    container_kind,
    frame_length,
    open_container,
    tick_length,
)
from atlaskit.video.readers.headers import last_end

RARE_RATE = 240
"""A higher frame rate in a header is compared with the packets."""


def earliest_start(container: InputContainer) -> Fraction:
    """Return the container's time, in seconds, at which its earliest stream starts."""
    starts = list[Fraction]()
    for stream in container.streams:
        if stream.start_time is not None and stream.time_base is not None:
            starts.append(stream.start_time * stream.time_base)
    return min(starts, default=Fraction(0))


def first_frame(packets: Iterable[VideoPacket], path: Path) -> tuple[int, int]:
    """Return the tick of the first frame, and the delay of the first keyframe.

    The delay is the number of ticks from decoding a keyframe to showing it.

    A file that was cut may begin with packets that are decoded and not shown. Frames that follow
    the first keyframe in the file but are shown before it do not count, since they need frames that
    the file lacks.

    Raises:
        VideoError: The file holds no frame.
        Exception: One of DECODE_ERRORS if the file cannot be read.
    """
    first = None
    delay = 0
    shown: list[int] = []
    for packet in packets:
        if packet.pts is None:
            continue
        if packet.is_keyframe and first is None:
            first = packet.pts
            delay = 0 if packet.dts is None else packet.pts - packet.dts
        if not packet.is_discard and (first is None or packet.pts >= first):
            shown.append(packet.pts)
        if len(shown) > LONGEST_REORDER:
            break
    if not shown:
        raise VideoError(f"{path} holds no video frame: is the file whole?")
    return min(shown), delay


def checked_rate(kind: str, stream: VideoStream, head: Sequence[VideoPacket]) -> Fraction:
    """Return the frame rate in a file's header, or that of its packets if the header is wrong.

    A rate above RARE_RATE, and any rate of a Matroska file, is compared with the times of the first
    packets, `head`. If they differ by more than a third, the rate of the packets is returned.
    """
    rate = 1 / frame_length(stream)
    if kind != "matroska" and rate <= RARE_RATE:
        return rate
    times = [packet.pts for packet in head if packet.pts is not None]
    length = (max(times) - min(times)) * tick_length(stream) if times else Fraction(0)
    measured = (len(times) - 1) / length if length else rate
    if abs(measured - rate) > rate / 3:
        return measured
    return rate


def declared_end(container: InputContainer, stream: Stream) -> Fraction | None:
    """Return the end of a track that an MP4 or MOV declares, in the container's seconds.

    An edit list, or the duration of the last sample, may end the track before its media ends. In
    other formats the result is None.
    """
    if container_kind(container) != "mov" or not stream.duration or stream.time_base is None:
        return None
    return ((stream.start_time or 0) + stream.duration) * as_fraction(stream.time_base)


class DeclaredLengths(NamedTuple):
    """The lengths, in seconds, that the header of a file declares."""

    longest: Fraction
    """Length of the longest stream. Some formats count it from the first frame and some from zero;
    this is the lesser of the two."""
    picture: Fraction
    """Length of the video stream."""

    def is_cut_off(self, end: Fraction) -> bool:
        """Return whether a file lacks its end if its last packet ends at the second `end`.

        The header may be wrong by a second and one percent.
        """
        return self.longest - end > 1 + self.longest / 100


def declared_lengths(
    container: InputContainer, stream: VideoStream, origin: Fraction
) -> DeclaredLengths:
    """Return the lengths in the header of a file whose first frame is shown at `origin` seconds."""
    declared = (stream.duration or 0) * tick_length(stream)
    if container_kind(container) == "avi":
        # FFmpeg shortens the duration to that of the frames in the file, but not their number.
        declared = stream.frames * frame_length(stream)
    longest = max(Fraction(container.duration or 0, 1_000_000), declared)
    longest += min(Fraction(container.start_time or 0, 1_000_000), Fraction(0))
    return DeclaredLengths(longest, declared or longest - max(origin, Fraction(0)))


def measured_end(
    container: InputContainer, stream: VideoStream, path: Path, origin: Fraction
) -> tuple[Fraction, int]:
    """Return when the longest stream of a file ends, and the tick at which the last frame ends.

    The last seconds of the file are read, except those of a Matroska file (`_matroska_end`).

    Args:
        container: The open file.
        stream: Its video stream.
        path: The path of the file.
        origin: When the first frame is shown, in the container's seconds.

    Returns:
        The end of the longest stream in the container's seconds, until which the last frame is
        shown, and the tick at which the duration of the last frame itself ends.

    Raises:
        Distrust: The file ends earlier than its header says, or its end is damaged.
    """
    tick = tick_length(stream)
    if container_kind(container) == "matroska":
        return _matroska_end(container, stream, path)
    if container_kind(container) == "mov" and len(stream.index_entries):
        last_sample = stream.index_entries[len(stream.index_entries) - 1]
        if last_sample.pos + last_sample.size > path.stat().st_size:
            raise Distrust("is cut off")
    declared = declared_lengths(container, stream, origin)
    start = Fraction(container.start_time or 0, 1_000_000)
    # Frames are not stored in the order in which they are shown. So the part that is read begins
    # earlier and earlier, until it holds enough frames or the whole file.
    tail_s = 2
    begin = origin + 1
    count = 0
    while count < LONGEST_REORDER and begin > origin:
        begin = declared.longest + max(start, Fraction(0)) - tail_s
        if begin > origin:
            with suppress(*DECODE_ERRORS):
                container.seek(int(begin / tick), stream=stream, backward=True)
        else:  # in MPEG-TS, a seek to the start lands too late
            container, stream = open_container(path, is_known=True)
        ends, count = _last_ends(container, stream)
        tail_s *= 4
    if stream not in ends or declared.is_cut_off(max(ends.values())):
        raise Distrust("is cut off")
    return max(ends.values()), int(ends[stream] / tick)


def _matroska_end(
    container: InputContainer, stream: VideoStream, path: Path
) -> tuple[Fraction, int]:
    """Return the ends of a Matroska file as `measured_end` does.

    The header holds the end of the longest stream. For the last frame, only the headers of the last
    blocks are read, since FFmpeg would read all packets from the last keyframe on.
    """
    tick = tick_length(stream)
    with suppress(*DECODE_ERRORS):  # FFmpeg reads the cues at the first seek
        container.seek(stream.start_time or 0, stream=stream)
    entries = stream.index_entries
    frame_ticks = max(1, int(frame_length(stream) / tick))
    try:
        last = last_end(path, entries[len(entries) - 1].pos, stream.index, frame_ticks)
    except (struct.error, *DECODE_ERRORS) as error:
        raise Distrust("is damaged at its end") from error
    return max(Fraction(container.duration or 0, 1_000_000), last * tick), last


def _last_ends(
    container: InputContainer, stream: VideoStream
) -> tuple[dict[Stream, Fraction], int]:
    """Read a file from where it is to its end, or to where it cannot be read any further.

    Returns:
        The end of each stream in seconds, and the number of packets of `stream`.
    """
    count = 0
    ends = dict[Stream, Fraction]()
    begins = dict[Stream, Fraction]()
    with suppress(*DECODE_ERRORS):
        for packet in container.demux():
            if packet.pts is None or packet.time_base is None:
                continue
            if packet.is_corrupt or packet.is_discard:
                continue
            is_video = packet.stream is stream
            count += is_video
            if not is_video and packet.stream.type not in ("audio", "subtitle"):
                continue  # a cover picture, or data
            length = (packet.duration or 0) * packet.time_base
            if is_video and not packet.duration:
                length = frame_length(stream)
            begin = packet.pts * packet.time_base
            begins[packet.stream] = max(begin, begins.get(packet.stream, begin))
            ends[packet.stream] = max(begin + length, ends.get(packet.stream, begin))
    for track, begin in begins.items():
        declared = declared_end(container, track)
        # If pictures have uneven times, the end that FFmpeg declares is too early. Players still
        # show a picture that begins after that end.
        if declared is not None and begin < declared:
            ends[track] = min(ends[track], declared)
    return ends, count
