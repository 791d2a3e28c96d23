"""`PacketSource`: the packets of one video stream, from its file or by the index made of it.

A source gives the facts of the stream, the packets to decode for a frame, and the keyframes around
a time. It decodes nothing, so it is cheap: a packet takes microseconds, decoding one milliseconds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from av.container import InputContainer
from av.packet import Packet

from atlaskit.errors import VideoError
from atlaskit.video.readers import TIME_STEP_S
from atlaskit.video.readers.codecs import Codec
from atlaskit.video.readers.container import DECODE_ERRORS
from atlaskit.video.readers.orientation import Orientation
from atlaskit.video.readers.steps import Step, StepPlan

KEYFRAME_REACH_S = 60.0
"""How far ahead the next keyframe is searched for."""


Handle: TypeAlias = "InputContainer | BinaryIO"
"""What holds a file open."""


class PacketSource(ABC):
    """An open source. Not safe to use from several threads at once: its owner holds a lock.

    Times are in ticks of the stream's clock.

    Attributes:
        path: The video file.
        kind: Family of the file's format: "mov", "matroska", "avi", "mpegts", …
        codec: What a decoder needs to know.
        size: (width, height) in pixels as the video is shown.
        orientation: How frames are turned and mirrored to be upright.
        fps: Frames per second, on average.
        tick: Length of a tick in seconds.
        frame_ticks: Duration of a frame that does not give its own, in ticks.
        start: The container's time at which its earliest stream starts, in seconds.
        origin: Presentation time of the first frame, in ticks.
        last_end: When the last frame's own duration ends, in ticks.
        end: When the longest stream ends, in seconds after the first frame.
        readable_end: When the readable part ends; less than `end` in a truncated file.
        is_open: Whether packets can be read.
        joints: Where the container's clock breaks: byte of the file from which on so many seconds
            are added to its times.
    """

    kind: str
    codec: Codec
    size: tuple[int, int]
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
        """Begin with a file, and with what holds it open, if it is."""
        self.path, self._identity, self._handle = path, _identity(path), handle
        self._lost_after: dict[int, bool] = {}

    # --- the file ---------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether packets can be read."""
        return self._handle is not None

    def open(self) -> None:
        """Open the source, again or not; raise VideoError if the file has changed."""
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
        """Open the file and return what holds it open."""

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

    def end_of(self, packet: Packet[Any]) -> int:
        """Return the tick at which the next frame replaces a packet's frame."""
        return (packet.pts or 0) + (packet.duration or self.frame_ticks)

    @abstractmethod
    def gop_of(self, ticks: int) -> int | None:
        """Return a number that is equal for all ticks of one GOP, or None if the GOP is unknown.

        It is a hint for sharing work: which frame is decoded does not depend on it.
        """

    # --- packets ----------------------------------------------------------------------------------

    @abstractmethod
    def packets_from(self, ticks: int, is_earlier: bool = False) -> Iterator[Step]:
        """Yield all packets from a keyframe on that is shown at or before `ticks`.

        Args:
            ticks: A time.
            is_earlier: Begin one keyframe before the one that should suffice.

        Raises:
            Exception: One of DECODE_ERRORS if the file cannot be read any further.
        """

    @abstractmethod
    def following(self) -> Iterator[Step]:
        """Yield the packets after the last one that `packets_from` yielded."""

    def steps(self, plan: StepPlan, *, tail: int = 0, is_earlier: bool = False) -> Iterator[list[Step]]:
        """Yield the packets to decode for the requested frames, from a keyframe on, in chunks.

        The steps end where the file cannot be read any further; ticks after that have no target.

        Args:
            plan: The requested frames, and what a decoder already had.
            tail: Number of packets to add after the last target.
            is_earlier: Begin one keyframe before the one that should suffice.
        """
        first, end = plan.wanted[0], self.origin
        for step in chain(self._until_damage(first, is_earlier), [None]):
            if step is None:
                plan.close(end if end < self.last_end else math.inf)
            else:
                packet = step.packet
                if packet.is_keyframe and not is_earlier and packet.pts is not None and packet.pts <= first:
                    plan.restart(packet.pts)
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
        before, until = self.origin, min(until, ticks + int(KEYFRAME_REACH_S / self.tick))
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
        with suppress(*DECODE_ERRORS):  # what lies behind the damage is unknown
            for step in self.packets_from(self.origin):
                packet = step.packet
                if step.is_shown and packet.pts is not None:
                    rows.append((packet.pts, packet.size, bool(packet.is_keyframe)))
        return rows

    # --- damage -----------------------------------------------------------------------------------

    def is_lost(self, tick: int, pts: int) -> bool:
        """Tell whether the frame at a tick is lost, although an earlier one, at `pts`, is readable.

        A frame may be shown for a long time on purpose, or because the container passed over the
        damaged frames that follow it.
        """
        if tick - pts < 1.5 * self.frame_ticks:
            return False
        if pts not in self._lost_after:
            self._lost_after[pts] = self.has_gap(pts, tick)
        return self._lost_after[pts]

    @abstractmethod
    def has_gap(self, pts: int, tick: int) -> bool:
        """Tell whether packets are lost between the frame shown at `pts` and a later tick."""


def _identity(path: Path) -> tuple[int, int, int]:
    """Return what distinguishes a file from another in its place; raise VideoError without one."""
    try:
        facts = path.stat()
    except OSError as error:
        raise VideoError(f"{path} cannot be read: {error.strerror}.") from error
    return facts.st_size, facts.st_mtime_ns, facts.st_ino
