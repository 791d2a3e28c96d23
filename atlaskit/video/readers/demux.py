"""An open video file as packets: its keyframes, and the packets of the requested frames.

Nothing is decoded here, so everything is cheap: a packet takes microseconds, decoding a frame
milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from pathlib import Path

from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from atlaskit.errors import VideoError, reason
from atlaskit.video.readers import TIME_STEP_S
from atlaskit.video.readers.container import (
    DECODE_ERRORS,
    container_kind,
    frame_length,
    open_container,
    shown_size,
    tick_length,
)
from atlaskit.video.readers.duration import earliest_start, first_frame, measure_length
from atlaskit.video.readers.gaps import KINDS_WITH_GAPS, frame_end_of, has_gap, is_misplaced
from atlaskit.video.readers.orientation import rotation_of
from atlaskit.video.readers.steps import DecodeStep, PacketId, StepPlan
from atlaskit.video.readers.targets import Targets

INDEX_REACH_S = 20.0
"""A container's index says nothing about a time this far after its nearest entry."""
KEYFRAME_REACH_S = 60.0
"""How far ahead the next keyframe is searched for."""
SKIPPABLE = {"h264", "mpeg4", "mpeg2video", "mpeg1video"}
"""Codecs whose packets tell whether other frames refer to them: some need not be decoded."""
REORDERING = {"h264", "hevc"}
"""Codecs whose frames may be shown in another order than they are decoded in."""
DEEPEST_REORDER = 16
"""Most frames over which a codec of REORDERING reorders."""


class Demuxer:
    """An open file. Not safe to use from several threads at once: its owner holds a lock.

    Times are in ticks of the video stream's clock.

    Attributes:
        codec: FFmpeg's name of the codec.
        size: (width, height) in pixels as the video is shown.
        rotation: Degrees counterclockwise by which frames are rotated to be upright.
        fps: Frames per second, on average.
        tick: Length of a tick in seconds.
        origin: Presentation time of the first frame, in ticks.
        start: The container's time at which its earliest stream starts, in seconds.
        end: When the video ends, in seconds after its first frame.
        readable_end: When its readable part ends; less than `end` in a truncated file.
        is_unordered: Whether packets do not give the presentation times of their frames. AVI stores
            only the order of decoding: the presentation times, sorted, are those of the decoder's
            output.
        is_skippable: Whether the decoder may skip frames that no other frame refers to.

    Raises:
        VideoError: The file is not a video that can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity = _identity(path)
        self._container: InputContainer
        self._stream: VideoStream
        self.is_open = False
        self.open()
        stream, codec = self._stream, self._stream.codec_context
        if min(codec.width, codec.height) < 1:
            raise VideoError(f"{path} does not give the size of its frames: is the file whole?")
        self._kind = container_kind(self._container)
        self.codec = codec.name
        self.is_unordered = self._kind == "avi" and codec.name in REORDERING
        self.is_skippable = codec.name in SKIPPABLE and not self.is_unordered
        self.rotation = rotation_of(path, stream.id) if self._kind == "mov" else 0
        self.size = shown_size((codec.width, codec.height), stream.sample_aspect_ratio, self.rotation)
        self.tick = tick_length(stream)
        self.fps, self._frame_ticks = float(1 / frame_length(stream)), int(frame_length(stream) / self.tick)
        self._is_at_start = False
        try:
            self.start = earliest_start(self._container)
            self.origin, delay = first_frame(self._container, stream)
            self.end, self.readable_end = measure_length(self._container, stream, self.origin)
        except DECODE_ERRORS as error:
            raise VideoError(f"{path} cannot be read ({reason(error)}): copy or download it again.") from error
        self._index_delay = delay if self._kind == "mov" else 0  # the index of an MP4 holds decoding times
        self._lost_after: dict[int, bool] = {}

    # --- the file ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the file, again or for the first time; raise VideoError if it has changed."""
        if _identity(self.path) != self._identity:
            raise VideoError(f"{self.path} has changed since it was opened: open it again.")
        container, stream = open_container(self.path)
        self.close()
        self._container, self._stream, self.is_open, self._is_at_start = container, stream, True, True

    def close(self) -> None:
        """Close the file; `open` opens it again."""
        if self.is_open:
            self.is_open = False
            self._container.close()

    @property
    def stream(self) -> VideoStream:
        """The video stream."""
        return self._stream

    # --- times ------------------------------------------------------------------------------------

    def ticks(self, time_s: float) -> int:
        """Return the tick of a second; the last microsecond belongs to the last frame."""
        tick = int((Fraction(time_s) + Fraction(TIME_STEP_S)) // self.tick)
        return self.origin + min(tick, math.ceil(self.end / self.tick) - 1)

    def seconds(self, ticks: int) -> float:
        """Return the second of the video at a tick."""
        return float((ticks - self.origin) * self.tick)

    def is_missing(self, ticks: int) -> bool:
        """Tell whether a tick lies after the readable part of the file."""
        return (ticks - self.origin) * self.tick >= self.readable_end

    def gop_of(self, ticks: int) -> int | None:
        """Return a number that is equal for all ticks of one GOP, or None if the GOP is unknown.

        It is a hint for sharing work: which frame is decoded does not depend on it.
        """
        entries, at = self._stream.index_entries, ticks - self._index_delay
        nearest = entries.search_timestamp(at, any_frame=True) if len(entries) and self._kind != "mpegts" else -1
        if nearest < 0 or at - entries[nearest].timestamp > INDEX_REACH_S / self.tick:
            return None
        return entries.search_timestamp(at)

    # --- packets ----------------------------------------------------------------------------------

    def steps(
        self, targets: Targets, *, after: PacketId | None = None, tail: int = 0, is_earlier: bool = False
    ) -> Iterator[list[DecodeStep]]:
        """Yield the packets to decode for the requested frames, from a keyframe on, in chunks.

        The steps end where the file cannot be read any further; ticks after that have no target.

        Args:
            targets: The requested frames.
            after: Only yield packets after this one: a decoder already had the others.
            tail: Number of packets to add after the last target.
            is_earlier: Begin one keyframe before the one that should suffice.
        """
        plan, first, end = StepPlan(targets, after), targets.wanted[0], self.origin
        tail = max(tail, DEEPEST_REORDER) if self.is_unordered else tail
        for packet in chain(self._until_damage(first, is_earlier), [None]):
            if packet is None:
                targets.close(end, is_cut=self.readable_end < self.end)
            else:
                if packet.is_keyframe and not is_earlier and packet.pts is not None and packet.pts <= first:
                    plan.restart(packet.pts)
                packet_end = frame_end_of(packet, self._frame_ticks)
                end = max(end, packet_end)
                is_damaged = packet.is_corrupt or is_misplaced(packet, self._stream, self._kind)
                plan.add(packet, packet_end, is_shown=self._is_shown(packet), is_damaged=is_damaged)
            if plan.settle():
                following = (packet for packet in self._container.demux(self._stream) if packet.size)
                yield plan.take_tail(following, tail)
                return
            if plan.is_chunk_full:
                yield plan.take_chunk()
        yield plan.take_chunk()

    def _until_damage(self, ticks: int, is_earlier: bool) -> Iterator[Packet[VideoStream]]:
        with suppress(*DECODE_ERRORS):
            yield from self._packets_from(ticks, is_earlier)

    def _packets_from(self, ticks: int, is_earlier: bool = False) -> Iterator[Packet[VideoStream]]:
        """Yield all packets from a keyframe on that is shown at or before `ticks`.

        A seek may land too late, since containers index decoding times and not presentation times,
        or between keyframes. Frames that follow a keyframe in the file but are shown before it need
        frames from before it. So a landing counts only if its first keyframe is shown at or before
        `ticks`; otherwise the seek starts further back.
        """
        step = max(1, int(1 / self.tick))
        start = ticks
        while True:
            from_start = start <= max(self.origin, self._stream.start_time or 0) or not self._seek(start)
            if from_start:
                self._rewind()
            self._is_at_start = False
            packets = (packet for packet in self._container.demux(self._stream) if packet.size)
            first = next((packet for packet in packets if packet.is_keyframe), None)
            if first is None and from_start:
                return
            if first is not None and (from_start or (first.pts is not None and first.pts <= ticks)):
                if not is_earlier or from_start:
                    yield from chain([first], packets)
                    return
                ticks, is_earlier = (first.pts or 0) - 1, False
                start = ticks
                continue
            start, step = start - step, step * 2

    def _seek(self, ticks: int) -> bool:
        """Move to a keyframe near a tick; return False if the file cannot seek."""
        self._is_at_start = False
        with suppress(*DECODE_ERRORS):
            self._container.seek(ticks, stream=self._stream, backward=True)
            return True
        return False

    def _rewind(self) -> None:
        """Move to the start of the file.

        The file is opened again for that: some formats (AVI) refuse a seek to the start, and in
        others (MPEG-TS) it lands on the second keyframe.
        """
        if not self._is_at_start:
            self.open()

    def _is_shown(self, packet: Packet[VideoStream]) -> bool:
        return not packet.is_discard and not self._is_hidden(packet)

    def _is_hidden(self, packet: Packet[VideoStream]) -> bool:
        """Tell whether a VP8 frame is decoded and never shown (RFC 6386, 9.1)."""
        return self.codec == "vp8" and not memoryview(packet)[0] & 0x10

    def keyframes_around(self, ticks: int, until: int) -> tuple[int, int | None]:
        """Return the ticks of the last keyframe up to `ticks` and of the next before `until`."""
        before, until = self.origin, min(until, ticks + int(KEYFRAME_REACH_S / self.tick))
        for packet in self._packets_from(ticks):
            if packet.pts is None or (packet.dts or packet.pts) >= until:
                break
            if packet.is_keyframe and not packet.is_discard:
                if packet.pts > ticks:
                    return before, packet.pts if packet.pts < until else None
                before = max(before, packet.pts)
        return before, None

    def shown_pts(self) -> list[int]:
        """Return the presentation times of all frames, in order."""
        packets = self._until_damage(self.origin, False)
        return sorted(packet.pts for packet in packets if packet.pts is not None and self._is_shown(packet))

    # --- damage -----------------------------------------------------------------------------------

    def is_lost(self, tick: int, pts: int) -> bool:
        """Tell whether the frame at a tick is lost, although an earlier one, at `pts`, is readable.

        A frame may be shown for a long time on purpose, or because the container passed over the
        damaged frames that follow it.
        """
        frames = (tick - pts) / self._frame_ticks
        if self._kind not in KINDS_WITH_GAPS or frames < 1.5:
            return False
        if pts not in self._lost_after:
            self._seek(pts)
            packets = self._container.demux()
            self._lost_after[pts] = has_gap(packets, self._stream, self._kind, pts, tick, self._frame_ticks)
        return self._lost_after[pts]


def _identity(path: Path) -> tuple[int, int, int]:
    """Return what distinguishes a file from another in its place."""
    try:
        facts = path.stat()
    except OSError as error:
        raise VideoError(f"{path} cannot be read: {error.strerror}.") from error
    return facts.st_size, facts.st_mtime_ns, facts.st_ino
