"""The packets of one video stream, and which of them to decode for the frames that are wanted.

* `StepPlan`: which packets hold the requested frames, which to decode for them, and which to skip.
* `PacketSource`: the facts about the stream, the packets to decode for a frame, and the keyframes
  around a time, read from the file itself or by an index of it. Nothing is decoded, so this is
  cheap: reading a packet takes microseconds, decoding it milliseconds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from av.container import InputContainer
from av.packet import Packet

from atlaskit.errors import VideoError
from atlaskit.video.readers import TIME_STEP_S, Size
from atlaskit.video.readers.codecs import Codec, VideoPacket
from atlaskit.video.readers.container import DECODE_ERRORS
from atlaskit.video.readers.picture import Orientation

CHUNK_BYTES = 16 << 20
"""Steps are handed to a decoder in chunks of about this size, however long a GOP is."""


class PacketId(NamedTuple):
    """Identifies a packet in a file. A time alone is not enough: a hidden frame may share it."""

    pts: int | None
    pos: int | None
    size: int


class Step(NamedTuple):
    """One packet on the way to the requested frames, with facts from its source."""

    packet: VideoPacket
    codec: Codec
    """The settings of its decoder. Another codec may need another decoder."""
    is_shown: bool = True
    """Whether its frame is shown, and not only a reference for others."""
    is_damaged: bool = False
    """Whether it is known to be damaged."""
    is_target: bool = False
    """Whether its frame was requested."""
    may_skip: bool = False
    """Whether it need not be decoded, provided that no other frame refers to its frame."""


class StepPlan:
    """Finds the *target* of each requested tick: the packet of the frame that is shown then.

    Packets arrive in the order of decoding. They are held back until it is settled which of them
    are targets, and then move into the current chunk. A tick is settled once a packet arrives whose
    decoding time is later: frames are not shown before they are decoded, so no later packet can be
    its target.

    Args:
        wanted: The requested ticks, sorted.
        after: The last packet that the decoder was given. Packets up to it are left out. None for a
            new decoder.

    Attributes:
        wanted: The requested ticks.
        best: For each tick, the presentation time of its target so far: −inf before one is found,
            inf if there is none.
        targets: The presentation times of the settled targets.
    """

    def __init__(self, wanted: Sequence[int], after: PacketId | None = None) -> None:
        self.wanted = wanted
        self._after = after
        self.best: list[float] = [-math.inf] * len(wanted)
        self.targets = set[float]()
        self._settled = 0  # number of ticks, from the first on, that are settled
        self._held = deque[Step]()
        self._chunk: list[Step] = []
        self._chunk_bytes = 0

    def restart(self, keyframe_pts: int) -> None:
        """Drop all packets before a keyframe from which every requested frame can be decoded."""
        self._held.clear()
        self.take_chunk()
        # A decoder that continues from before the keyframe goes on with the keyframe.
        if self._after and (self._after.pts or 0) < keyframe_pts:
            self._after = None

    def add(self, step: Step) -> None:
        """Add the next packet."""
        packet = step.packet
        if packet.pts is not None and step.is_shown:
            index = bisect_left(self.wanted, packet.pts)
            while index < len(self.wanted) and self.best[index] < packet.pts:
                self.best[index] = packet.pts
                index += 1
        if packet.dts is not None:
            self._settled = max(self._settled, bisect_left(self.wanted, packet.dts))
        self._held.append(step)

    def close(self, end: float) -> None:
        """Settle the remaining ticks after the last packet; those from `end` on have no target."""
        for index in range(self._settled, len(self.wanted)):
            if self.wanted[index] >= end:
                self.best[index] = math.inf
        self._settled = len(self.wanted)

    def target_of(self, tick: int) -> float:
        """Return the presentation time of the target of a tick; infinite if there is none."""
        return self.best[bisect_left(self.wanted, tick)]

    def settle(self) -> bool:
        """Move settled packets into the chunk; return True once it has all targets."""
        while self._held:
            step = self._held[0]
            pts = step.packet.pts
            is_target = False
            may_skip = False
            if step.is_shown and pts is not None:
                index = bisect_left(self.best, pts)
                is_target = index < len(self.best) and self.best[index] == pts
                if is_target and index >= self._settled:
                    return False
                # A frame after the last tick may be wanted by the next request of this decoder.
                may_skip = not is_target and pts < self.wanted[-1]
            self._held.popleft()
            self._append(step._replace(is_target=is_target, may_skip=may_skip))
            if is_target and pts is not None:
                self.targets.add(pts)
                is_settled = self._settled == len(self.wanted)
                if is_settled and set(filter(math.isfinite, self.best)) <= self.targets:
                    return True
        return False

    def _append(self, step: Step) -> None:
        if self._after is None:
            self._chunk.append(step)
            self._chunk_bytes += step.packet.size
        elif packet_id(step.packet) == self._after:
            self._after = None

    @property
    def is_chunk_full(self) -> bool:
        """Whether the chunk has reached its size."""
        return self._chunk_bytes > CHUNK_BYTES

    def take_chunk(self) -> list[Step]:
        """Return the chunk and begin a new one."""
        chunk = self._chunk
        self._chunk = []
        self._chunk_bytes = 0
        return chunk

    def take_tail(self, following: Iterable[Step], count: int) -> list[Step]:
        """Return the chunk with up to `count` more packets: those held back, then `following`."""
        if count:
            steps: Iterator[Step] = chain(self._held, following)
            if self._after is not None:  # the decoder has already passed the last target
                steps = dropwhile(lambda step: packet_id(step.packet) != self._after, steps)
                steps = islice(steps, 1, None)
            self._chunk += islice(steps, count)
        return self.take_chunk()


def packet_id(packet: VideoPacket) -> PacketId:
    """Return what identifies a packet in its file."""
    return PacketId(packet.pts, packet.pos, packet.size)


KEYFRAME_REACH_S = 60.0
"""How far ahead the next keyframe is searched for."""

Handle: TypeAlias = "InputContainer | BinaryIO"
"""An open file."""


class PacketSource(ABC):
    """The packets of a video stream. Not safe to use from several threads at once.

    Times are in ticks of the stream's clock.

    Attributes:
        path: The video file.
        kind: Family of the file's format: "mov", "matroska", "avi", "mpegts", …
        codec: The settings of the first decoder.
        size: (width, height) in pixels as the video is shown.
        orientation: How frames are turned and mirrored to be upright.
        fps: Frames per second, on average.
        tick: Length of a tick in seconds.
        frame_ticks: Duration in ticks of a frame whose packet has no duration.
        start: The container's time at which its earliest stream starts, in seconds.
        origin: Presentation time of the first frame, in ticks.
        last_end: When the last frame's own duration ends, in ticks.
        end: When the longest stream ends, in seconds after the first frame.
        readable_end: When the readable part ends; less than `end` in a truncated file.
        is_open: Whether packets can be read.
        joints: Where the container's clock restarts or jumps, as pairs (byte, seconds): see
            `PyAVReader`.
    """

    kind: str
    codec: Codec
    size: Size
    orientation: Orientation
    fps: float
    tick: Fraction
    frame_ticks: int
    start: Fraction
    origin: int
    last_end: int
    end: Fraction
    readable_end: Fraction
    joints: Sequence[tuple[int, float]] = ()
    _handle: Handle | None = None

    def __init__(self, path: Path, handle: Handle | None = None) -> None:
        """Begin with a file, and with its handle if the file is open already."""
        self.path = path
        self._identity = _identity(path)
        self._handle = handle
        self._lost_from = dict[int, float]()

    # --- the file ---------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether packets can be read."""
        return self._handle is not None

    def open(self) -> None:
        """Open the source anew; raise VideoError if the file has changed."""
        if _identity(self.path) != self._identity:
            raise VideoError(f"{self.path} has changed since it was opened: open it again.")
        self.close()
        self._handle = self._opened()

    def close(self) -> None:
        """Close the source; `open` opens it again."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def __del__(self) -> None:
        self.close()

    @abstractmethod
    def _opened(self) -> Handle:
        """Open the file and return its handle."""

    # --- times ------------------------------------------------------------------------------------

    def ticks(self, time_s: float) -> int:
        """Return the tick of a second, with the tolerance TIME_STEP_S, but none after the end."""
        tick = int((Fraction(time_s) + Fraction(TIME_STEP_S)) // self.tick)
        return self.origin + min(tick, math.ceil(self.end / self.tick) - 1)

    def seconds(self, ticks: int) -> float:
        """Return the second of the video at a tick."""
        return float((ticks - self.origin) * self.tick)

    def is_missing(self, ticks: int) -> bool:
        """Return whether a tick lies after the readable part of the file."""
        return (ticks - self.origin) * self.tick >= self.readable_end

    def end_of(self, packet: Packet[Any]) -> int:
        """Return the tick at which the next frame replaces a packet's frame."""
        return (packet.pts or 0) + (packet.duration or self.frame_ticks)

    @abstractmethod
    def gop_of(self, ticks: int) -> int | None:
        """Return a number that is equal for all ticks of one GOP, or None if the GOP is unknown.

        It is a hint for sharing work. The decoded frame does not depend on it.
        """

    # --- packets ----------------------------------------------------------------------------------

    @abstractmethod
    def packets_from(self, ticks: int, is_earlier: bool = False) -> Iterator[Step]:
        """Yield all packets from a keyframe on that is shown at or before `ticks`.

        Args:
            ticks: A time.
            is_earlier: Whether to begin one keyframe before the one that should suffice.

        Raises:
            Exception: One of DECODE_ERRORS if the file cannot be read any further.
        """

    @abstractmethod
    def following(self) -> Iterator[Step]:
        """Yield the packets after the last one that `packets_from` yielded."""

    def steps(
        self, plan: StepPlan, *, tail: int = 0, is_earlier: bool = False
    ) -> Iterator[list[Step]]:
        """Yield the packets to decode for the requested frames, from a keyframe on, in chunks.

        The steps end where the file cannot be read any further; ticks after that have no target.

        Args:
            plan: The requested frames, and the last packet of a decoder that continues.
            tail: Number of packets to add after the last target.
            is_earlier: Whether to begin one keyframe before the one that should suffice.
        """
        first = plan.wanted[0]
        end = self.origin
        for step in chain(self._until_damage(first, is_earlier), [None]):
            if step is None:
                plan.close(end if end < self.last_end else math.inf)
            else:
                packet = step.packet
                pts = packet.pts
                if packet.is_keyframe and not is_earlier and pts is not None and pts <= first:
                    plan.restart(pts)
                end = max(end, self.end_of(packet))
                plan.add(step)
            if plan.settle():
                yield plan.take_tail(self.following(), tail)
                return
            if plan.is_chunk_full:
                yield plan.take_chunk()
        yield plan.take_chunk()

    def _until_damage(self, ticks: int, is_earlier: bool) -> Iterator[Step]:
        with suppress(*DECODE_ERRORS):
            yield from self.packets_from(ticks, is_earlier)

    def keyframes_around(self, ticks: int, until: int) -> tuple[int, int | None]:
        """Return the ticks of the last keyframe up to `ticks` and of the next before `until`."""
        before = self.origin
        until = min(until, ticks + int(KEYFRAME_REACH_S / self.tick))
        for step in self.packets_from(ticks):
            packet = step.packet
            if packet.pts is None or (packet.dts or packet.pts) >= until:
                break
            if packet.is_keyframe and step.is_shown:
                if packet.pts > ticks:
                    return before, packet.pts if packet.pts < until else None
                before = max(before, packet.pts)
        return before, None

    def packet_rows(self) -> list[tuple[int, int, bool]]:
        """Return (tick, bytes, whether it is a keyframe) of every packet that is shown."""
        rows = []
        with suppress(*DECODE_ERRORS):  # packets after the damage are unknown
            for step in self.packets_from(self.origin):
                packet = step.packet
                if step.is_shown and packet.pts is not None:
                    rows.append((packet.pts, packet.size, bool(packet.is_keyframe)))
        return rows

    # --- damage -----------------------------------------------------------------------------------

    def is_lost(self, tick: int, pts: int) -> bool:
        """Return whether the frame at a tick is lost, although an earlier frame is readable.

        A frame may be shown for long on purpose, or because damaged frames after it were skipped.

        Args:
            tick: The requested tick.
            pts: When the earlier frame is shown.
        """
        if tick - pts < 1.5 * self.frame_ticks:
            return False
        if pts not in self._lost_from:
            self._lost_from[pts] = self.lost_from(pts)
        return tick >= self._lost_from[pts]

    @abstractmethod
    def lost_from(self, pts: int) -> float:
        """Return the tick from which packets may be lost between a frame and the next shown one.

        Args:
            pts: When the frame is shown.

        Returns:
            The tick; infinite if no packet is lost there.
        """


def _identity(path: Path) -> tuple[int, int, int]:
    """Return facts that change when a file is replaced; raise VideoError if there is no file."""
    try:
        facts = path.stat()
    except OSError as error:
        raise VideoError(f"{path} cannot be read: {error.strerror}.") from error
    return facts.st_size, facts.st_mtime_ns, facts.st_ino
