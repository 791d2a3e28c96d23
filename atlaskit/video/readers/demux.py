"""An open video file as packets: where its keyframes lie, and which packets lead to the frames asked for.

Nothing is decoded here, so all of it is cheap: a packet costs some microseconds, a frame some milliseconds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, NamedTuple

from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from atlaskit.errors import VideoError, reason
from atlaskit.video.readers import TIME_STEP_S
from atlaskit.video.readers.container import BROKEN, frame_length, kind_of, open_container, shown_size, tick_of
from atlaskit.video.readers.duration import first_shown, length_of
from atlaskit.video.readers.orientation import rotation_of
from atlaskit.video.readers.targets import Targets

CHUNK_BYTES = 16 << 20
"""Packets are handed to a decoder in lists of about this size at most, however long a GOP is."""
INDEX_REACH_S = 20.0
"""A time that lies farther than this behind an entry of an index is not known to it."""
KEYFRAME_REACH_S = 60.0
"""The next keyframe is looked for this far ahead."""
BETWEEN_BLOCKS = 96
"""Bytes that a Matroska file may have between two packets; its own headers take about 20."""
SKIPPABLE = {"h264", "mpeg4", "mpeg2video", "mpeg1video"}
"""Codecs whose packets say by themselves whether another frame refers to them, so that some need no decoding."""
REORDERING, DEEPEST_REORDER = {"h264", "hevc"}, 16
"""Codecs whose frames may be shown in another order than they are decoded, and over how many frames at most."""


class PacketId(NamedTuple):
    """Tells a packet of a file from the others: of a hidden frame and the next, the times may be the same."""

    pts: int | None
    pos: int | None
    size: int


class DecodeStep(NamedTuple):
    """One packet on the way to the frames asked for."""

    packet: Packet[VideoStream]
    is_target: bool
    """Its frame was asked for."""
    is_shown: bool
    """It is not only there for others to refer to."""
    may_skip: bool
    """If no other frame refers to its frame, it need not be decoded."""
    is_damaged: bool = False
    """The container itself says so."""


class Demuxer:
    """An open file. Not for several threads at once: its owner holds a lock.

    Times are in ticks of the stream's own clock. `origin` is the showing time of the first frame; `end` and
    `readable_end` are the seconds after it when the video ends, and when the part that is there ends: they differ in
    a truncated file. `is_unordered` says that packets do not tell when their frames are shown (AVI knows only the
    order of decoding): the decoder's output, sorted, has their times.
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
            raise VideoError(f"{path} does not say how large its pictures are: is the file whole?")
        self._kind = kind_of(self._container)
        self.codec = codec.name
        self.is_unordered = self._kind == "avi" and codec.name in REORDERING
        self.is_skippable = codec.name in SKIPPABLE and not self.is_unordered
        self.rotation = rotation_of(path, stream.id) if self._kind == "mov" else 0
        self.size = shown_size((codec.width, codec.height), stream.sample_aspect_ratio, self.rotation)
        self.tick = tick_of(stream)
        self.fps, self._frame_ticks = float(1 / frame_length(stream)), int(frame_length(stream) / self.tick)
        self._is_fresh = False
        try:
            self.origin, delay = first_shown(self._container, stream)
            self.end, self.readable_end = length_of(self._container, stream, self.origin)
        except BROKEN as error:
            raise VideoError(f"{path} cannot be read ({reason(error)}): copy or download it again.") from error
        self._delay = delay if self._kind == "mov" else 0  # its index has decoding times
        self._lost_after: dict[int, bool] = {}

    # --- the file ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the file, or open it again at its start; raise VideoError if it is no longer the same."""
        if _identity(self.path) != self._identity:
            raise VideoError(f"{self.path} has changed since it was opened: open it again.")
        container, stream = open_container(self.path)
        self.close()
        self._container, self._stream, self.is_open, self._is_fresh = container, stream, True, True

    def close(self) -> None:
        """Close the file; `open` opens it again."""
        if self.is_open:
            self.is_open = False
            self._container.close()

    @property
    def stream(self) -> VideoStream:
        """The video stream."""
        return self._stream

    def ticks(self, time_s: float) -> int:
        """Return the tick of a second of the video; its last microsecond still belongs to the last frame."""
        tick = int((Fraction(time_s) + Fraction(TIME_STEP_S)) // self.tick)
        return self.origin + min(tick, math.ceil(self.end / self.tick) - 1)

    def seconds(self, ticks: int) -> float:
        """Return the second of the video at a tick."""
        return float((ticks - self.origin) * self.tick)

    def is_missing(self, ticks: int) -> bool:
        """Whether a tick lies behind the part of a truncated file that is there."""
        return (ticks - self.origin) * self.tick >= self.readable_end

    def gop_of(self, ticks: int) -> int | None:
        """Return a number that times in the same group of pictures share, or None where the file has no index.

        A hint for sharing work: what is decoded does not depend on it.
        """
        entries, at = self._stream.index_entries, ticks - self._delay
        near = entries.search_timestamp(at, any_frame=True) if len(entries) and self._kind != "mpegts" else -1
        if near < 0 or at - entries[near].timestamp > INDEX_REACH_S / self.tick:  # the index has a gap here
            return None
        return entries.search_timestamp(at)

    # --- packets ----------------------------------------------------------------------------------

    def steps(
        self, aim: Targets, *, after: PacketId | None = None, tail: int = 0, earlier: bool = False
    ) -> Iterator[list[DecodeStep]]:
        """Yield the packets to decode, in lists, for the frames aimed at, from a keyframe on.

        With `after`, only those that follow the packet at that place: a decoder had the others. With `tail`,
        so many more after the last one asked for. With `earlier`, from a keyframe before the one that should do.
        Where the file cannot be read on, the steps end; a tick after that has no target.
        """
        held, chunk, weight, end = deque[DecodeStep](), list[DecodeStep](), 0, self.origin
        wanted, passed = aim.wanted, set[float]()
        tail = max(tail, DEEPEST_REORDER) if self.is_unordered else tail
        for packet in chain(self._until_damage(wanted[0], earlier), [None]):
            if packet is None:
                aim.close(end, is_cut=self.readable_end < self.end)
            else:
                if packet.is_keyframe and not earlier and packet.pts is not None and packet.pts <= wanted[0]:
                    held.clear()  # nothing from before this keyframe is needed
                    chunk.clear()
                    after = after if after and (after.pts or 0) >= packet.pts else None
                is_shown = not packet.is_discard and not self._is_hidden(packet)
                aim.see(packet, is_shown, self._end_of(packet))
                end = max(end, self._end_of(packet))
                may_skip = packet.pts is not None and is_shown and packet.pts < wanted[-1]
                is_damaged = packet.is_corrupt or self._is_misplaced(packet)
                held.append(DecodeStep(packet, False, is_shown, may_skip, is_damaged))
            while held and (is_target := held[0].is_shown and aim.judge(held[0].packet.pts)) is not None:
                step = held.popleft()
                if after is None:
                    chunk.append(step._replace(is_target=is_target))
                    weight += step.packet.size
                elif place_of(step.packet) == after:
                    after = None
                if is_target and step.packet.pts is not None:
                    passed.add(step.packet.pts)
                    if aim.is_done and aim.targets <= passed:
                        yield from self._tail(chunk, held, tail, after)
                        return
            if weight > CHUNK_BYTES:
                yield chunk
                chunk, weight = [], 0
        yield chunk

    def _tail(
        self, chunk: list[DecodeStep], held: deque[DecodeStep], tail: int, after: PacketId | None
    ) -> Iterator[list[DecodeStep]]:
        following = (
            DecodeStep(packet, False, True, False) for packet in self._container.demux(self._stream) if packet.size
        )
        steps = iter(chain(held, following) if tail else ())
        if after is not None:  # the decoder is already beyond the last frame asked for
            steps = islice(dropwhile(lambda step: place_of(step.packet) != after, steps), 1, None)
        chunk += (step._replace(may_skip=False) for step in islice(steps, tail))
        yield chunk

    def _until_damage(self, ticks: int, earlier: bool) -> Iterator[Packet[VideoStream]]:
        with suppress(*BROKEN):
            yield from self._from(ticks, earlier)

    def _end_of(self, packet: Packet[Any]) -> int:
        """The tick at which a packet's frame makes way for the next."""
        return (packet.pts or 0) + (packet.duration or self._frame_ticks)

    def _from(self, ticks: int, earlier: bool = False) -> Iterator[Packet[VideoStream]]:
        """Yield all packets from a keyframe on that is shown at or before `ticks`.

        A seek can land late (containers index decoding times, not showing times) or between keyframes, and frames
        that follow a keyframe in the file but are shown before it need frames from before it. So a landing counts
        only if its first keyframe is shown at or before `ticks`; else the seek starts further back.
        """
        step = max(1, int(1 / self.tick))
        start = ticks
        while True:
            from_start = start <= max(self.origin, self._stream.start_time or 0) or not self._seek(start)
            if from_start:
                self._rewind()
            self._is_fresh = False
            packets = (packet for packet in self._container.demux(self._stream) if packet.size)
            first = next((packet for packet in packets if packet.is_keyframe), None)
            if first is None and from_start:
                return
            if first is not None and (from_start or (first.pts is not None and first.pts <= ticks)):
                if not earlier or from_start:
                    yield from chain([first], packets)
                    return
                ticks, earlier = (first.pts or 0) - 1, False
                start = ticks
                continue
            start, step = start - step, step * 2

    def _seek(self, ticks: int) -> bool:
        """Stand on a keyframe near a tick; return False where the file cannot seek."""
        self._is_fresh = False
        with suppress(*BROKEN):
            self._container.seek(ticks, stream=self._stream, backward=True)
            return True
        return False

    def _rewind(self) -> None:
        """Stand at the start of the file; by opening it again, since a seek to the start is refused by some formats
        (AVI) and lands on the second keyframe in others (MPEG-TS)."""
        if not self._is_fresh:
            self.open()

    def _is_hidden(self, packet: Packet[VideoStream]) -> bool:
        """Whether a packet is decoded and never shown: VP8 says so in a bit of its first byte (RFC 6386, 9.1)."""
        return self.codec == "vp8" and not memoryview(packet)[0] & 0x10

    def keyframes_around(self, ticks: int, until: int) -> tuple[int, int | None]:
        """Return the showing times of the last keyframe at or before a tick, and of the next if before `until`."""
        before, until = self.origin, min(until, ticks + int(KEYFRAME_REACH_S / self.tick))
        for packet in self._from(ticks):
            if packet.pts is None or (packet.dts or packet.pts) >= until:
                break
            if packet.is_keyframe and not packet.is_discard:
                if packet.pts > ticks:
                    return before, packet.pts if packet.pts < until else None
                before = max(before, packet.pts)
        return before, None

    def _is_misplaced(self, packet: Packet[VideoStream]) -> bool:
        """Whether an AVI's index has another packet at this time: reading over damage, FFmpeg loses count."""
        entries = self._stream.index_entries
        if self._kind != "avi" or packet.dts is None or packet.pos is None or not len(entries):
            return False
        place = entries.search_timestamp(packet.dts, any_frame=True)
        return place >= 0 and entries[place].timestamp == packet.dts and packet.pos - entries[place].pos not in (0, 8)

    def is_lost(self, tick: int, pts: int) -> bool:
        """Whether the frame shown at a tick is lost, though another from before it, at `pts`, would still be there.

        A frame that stays may be meant to, or those that follow it are damaged so that the container passed over
        them. MP4 gives each frame its length. In Matroska, bytes that belong to no packet tell; in a transport stream,
        that the packet after the gap is marked as damaged.
        """
        held = (tick - pts) / self._frame_ticks
        if self._kind not in ("matroska", "mpegts") or held < 1.5:
            return False
        if pts not in self._lost_after:
            self._lost_after[pts] = self._is_gap(pts, tick)
        return self._lost_after[pts]

    def _is_gap(self, pts: int, tick: int) -> bool:
        end = until = block = None
        self._seek(pts)
        with suppress(*BROKEN):
            for packet in self._container.demux():
                if packet.pos is None or not packet.size:
                    continue
                own = packet.stream is self._stream
                if until is None:
                    until = self._end_of(packet) if own and packet.pts == pts else None
                elif self._is_loose(packet, end):
                    return True
                elif own and packet.pts is not None and packet.pts > tick:
                    return False
                # The frames of one block ("lacing") all have its place.
                end = (end if end and packet.pos == block else packet.pos) + packet.size
                block = packet.pos
        return until is not None and tick >= until  # at the end of the file

    def _is_loose(self, packet: Packet[Any], end: int | None) -> bool:
        """Whether something is lost between a packet and the one before it, which ends at byte `end`."""
        if self._kind == "mpegts":
            return packet.stream is self._stream and packet.is_corrupt
        return end is not None and packet.pos is not None and packet.pos - end > BETWEEN_BLOCKS

    def shown_pts(self) -> list[int]:
        """Return the showing times of all frames, in order."""
        packets = self._until_damage(self.origin, False)
        shown = (p.pts for p in packets if p.pts is not None and not p.is_discard and not self._is_hidden(p))
        return sorted(shown)


def place_of(packet: Packet[VideoStream]) -> PacketId:
    """Return where a packet is."""
    return PacketId(packet.pts, packet.pos, packet.size)


def _identity(path: Path) -> tuple[int, int, int]:
    """Tell a file from another that was put in its place."""
    try:
        facts = path.stat()
    except OSError as error:
        raise VideoError(f"{path} cannot be read: {error.strerror}.") from error
    return facts.st_size, facts.st_mtime_ns, facts.st_ino
