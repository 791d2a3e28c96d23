"""`StepPlan`: which packets hold the requested frames, which to decode for them, and which to skip.

Nothing is read or decoded here.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, dropwhile, islice
from typing import NamedTuple

from atlaskit.video.readers.codecs import Codec, VideoPacket

CHUNK_BYTES = 16 << 20
"""A chunk of steps is handed to a decoder at about this size, however long a GOP is."""


class PacketId(NamedTuple):
    """Identifies a packet in a file. A time does not: a hidden frame and the next may share it."""

    pts: int | None
    pos: int | None
    size: int


class Step(NamedTuple):
    """One packet on the way to the requested frames, and what its source knows of it."""

    packet: VideoPacket
    codec: Codec
    """What its decoder needs to know: another codec needs another decoder."""
    is_shown: bool = True
    """Whether its frame is shown, and not only a reference for others."""
    is_damaged: bool = False
    """Whether it is known to be damaged or out of place."""
    is_target: bool = False
    """Whether its frame was requested."""
    may_skip: bool = False
    """Whether it need not be decoded, provided that no other frame refers to its own."""


class StepPlan:
    """Sorts out which packets hold requested frames: of each tick, the latest shown up to it.

    Packets arrive in decoding order, and are held back until their role is settled; then they move
    into the current chunk. A tick is settled once a packet arrives that is decoded after it: no
    frame is shown before it is decoded, so no later packet can replace its target.

    Args:
        wanted: The requested ticks, sorted.
        after: The packet that a decoder had last; steps up to it are left out. None for a new
            decoder.

    Attributes:
        wanted: The requested ticks.
        best: For each tick, the presentation time of its target so far: −inf before one is found,
            inf if there is none.
        targets: The presentation times of the targets that are settled.
    """

    def __init__(self, wanted: Sequence[int], after: PacketId | None = None) -> None:
        self.wanted, self._after = wanted, after
        self.best: list[float] = [-math.inf] * len(wanted)
        self.targets = set[float]()
        self._settled = 0
        self._held = deque[Step]()
        self._chunk: list[Step] = []
        self._chunk_bytes = 0

    def restart(self, keyframe_pts: int) -> None:
        """Drop all packets before a keyframe from which every requested frame can be decoded."""
        self._held.clear()
        self.take_chunk()
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
        """Settle the remaining ticks after the last packet; one at or after `end` has no target."""
        for index in range(self._settled, len(self.wanted)):
            if self.wanted[index] >= end:
                self.best[index] = math.inf
        self._settled = len(self.wanted)

    def target_of(self, tick: int) -> float:
        """Return the presentation time of the target of a tick; infinite if there is none."""
        return self.best[bisect_left(self.wanted, tick)]

    def settle(self) -> bool:
        """Move settled packets into the chunk; return True once it has received all targets."""
        while self._held:
            step, pts = self._held[0], self._held[0].packet.pts
            index = bisect_left(self.best, pts) if step.is_shown and pts is not None else len(self.best)
            is_target = index < len(self.best) and self.best[index] == pts
            if is_target and index >= self._settled:
                return False
            self._held.popleft()
            may_skip = step.is_shown and not is_target and pts is not None and pts < self.wanted[-1]
            self._append(step._replace(is_target=is_target, may_skip=may_skip))
            if is_target and pts is not None:
                self.targets.add(pts)
                if self._settled == len(self.wanted) and set(filter(math.isfinite, self.best)) <= self.targets:
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
        chunk, self._chunk, self._chunk_bytes = self._chunk, [], 0
        return chunk

    def take_tail(self, following: Iterable[Step], count: int) -> list[Step]:
        """Return the chunk and `count` more packets: those held back, then `following`."""
        steps: Iterator[Step] = chain(self._held, following) if count else iter(())
        if self._after is not None:  # the decoder has already passed the last target
            steps = islice(dropwhile(lambda step: packet_id(step.packet) != self._after, steps), 1, None)
        self._chunk += islice(steps, count)
        return self.take_chunk()


def packet_id(packet: VideoPacket) -> PacketId:
    """Return what identifies a packet in its file."""
    return PacketId(packet.pts, packet.pos, packet.size)
