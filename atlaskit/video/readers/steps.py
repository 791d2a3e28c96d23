"""`StepPlan`: which packets to decode for a request, in which order, and which to skip."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile, islice
from typing import NamedTuple

from atlaskit.video.readers.sources import Codec, StreamPacket, VideoPacket
from atlaskit.video.readers.targets import Targets

CHUNK_BYTES = 16 << 20
"""A chunk of steps is handed to a decoder at about this size, however long a GOP is."""


class PacketId(NamedTuple):
    """Identifies a packet in a file. A time does not: a hidden frame and the next may share it."""

    pts: int | None
    pos: int | None
    size: int


class DecodeStep(NamedTuple):
    """One packet on the way to the requested frames."""

    packet: VideoPacket
    codec: Codec
    """What its decoder needs to know."""
    is_target: bool
    """Whether its frame was requested."""
    is_shown: bool
    """Whether its frame is shown, and not only a reference for others."""
    may_skip: bool
    """Whether it need not be decoded, provided that no other frame refers to its own."""
    is_damaged: bool = False
    """Whether the container marks it as damaged."""


class StepPlan:
    """Collects packets in decoding order and sorts out which of them hold requested frames.

    A packet is held back until its role is settled, then moves into the current chunk.

    Args:
        targets: The requested frames.
        after: The packet that a decoder had last; steps up to it are left out. None for a new
            decoder.
    """

    def __init__(self, targets: Targets, after: PacketId | None) -> None:
        self._targets, self._after = targets, after
        self._held = deque[DecodeStep]()
        self._chunk: list[DecodeStep] = []
        self._chunk_bytes = 0
        self._passed = set[float]()

    def restart(self, keyframe_pts: int) -> None:
        """Drop all packets before a keyframe from which every requested frame can be decoded."""
        self._held.clear()
        self._chunk.clear()
        self._chunk_bytes = 0
        if self._after and (self._after.pts or 0) < keyframe_pts:
            self._after = None

    def add(self, found: StreamPacket, end: int) -> None:
        """Add the next packet, whose frame is shown until the tick `end`."""
        packet, codec, is_shown, is_damaged = found
        self._targets.add(packet, is_shown, end)
        may_skip = packet.pts is not None and is_shown and packet.pts < self._targets.wanted[-1]
        self._held.append(DecodeStep(packet, codec, False, is_shown, may_skip, is_damaged))

    def settle(self) -> bool:
        """Move settled packets into the chunk; return True once it has received all targets."""
        while self._held:
            is_target = self._held[0].is_shown and self._targets.is_target(self._held[0].packet.pts)
            if is_target is None:
                return False
            step = self._held.popleft()
            self._append(step._replace(is_target=is_target))
            if is_target and step.packet.pts is not None:
                self._passed.add(step.packet.pts)
                if self._targets.is_done and self._targets.targets <= self._passed:
                    return True
        return False

    def _append(self, step: DecodeStep) -> None:
        if self._after is None:
            self._chunk.append(step)
            self._chunk_bytes += step.packet.size
        elif packet_id(step.packet) == self._after:
            self._after = None

    @property
    def is_chunk_full(self) -> bool:
        """Whether the chunk has reached its size."""
        return self._chunk_bytes > CHUNK_BYTES

    def take_chunk(self) -> list[DecodeStep]:
        """Return the chunk and begin a new one."""
        chunk, self._chunk, self._chunk_bytes = self._chunk, [], 0
        return chunk

    def take_tail(self, following: Iterable[StreamPacket], count: int) -> list[DecodeStep]:
        """Return the chunk and `count` more packets: those held back, then `following`."""
        steps: Iterator[DecodeStep] = iter(())
        if count:
            steps = chain(
                self._held, (DecodeStep(found.packet, found.codec, False, True, False) for found in following)
            )
        if self._after is not None:  # the decoder has already passed the last target
            steps = islice(dropwhile(lambda step: packet_id(step.packet) != self._after, steps), 1, None)
        self._chunk += (step._replace(may_skip=False) for step in islice(steps, count))
        return self.take_chunk()


def packet_id(packet: VideoPacket) -> PacketId:
    """Return what identifies a packet in its file."""
    return PacketId(packet.pts, packet.pos, packet.size)
