"""Which packets of a file hold the requested frames. Nothing is read or decoded here."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from av.packet import Packet
from av.video.stream import VideoStream


class Targets:
    """For each requested tick, the packet of the frame shown then: the latest one up to the tick.

    Packets arrive in decoding order. A tick is settled once a packet arrives that is decoded after
    it: no frame is shown before it is decoded, so no later packet can replace its target.

    Args:
        wanted: The requested ticks, sorted.

    Attributes:
        wanted: The requested ticks.
        best: For each tick, the presentation time of its target so far: −inf before one is found,
            inf if there is none.
    """

    def __init__(self, wanted: Sequence[int]) -> None:
        self.wanted = wanted
        self.best: list[float] = [-math.inf] * len(wanted)
        self._ends: list[float] = [math.inf] * len(wanted)
        self._settled = 0

    def add(self, packet: Packet[VideoStream], is_shown: bool, end: int) -> None:
        """Take account of the next packet, whose frame is shown until the tick `end`."""
        if packet.pts is not None and is_shown:
            index = bisect_left(self.wanted, packet.pts)
            while index < len(self.wanted) and self.best[index] < packet.pts:
                self.best[index], self._ends[index] = packet.pts, end
                index += 1
        if packet.dts is not None:
            self._settled = max(self._settled, bisect_left(self.wanted, packet.dts))

    def close(self, end: float, *, is_cut: bool) -> None:
        """Settle the remaining ticks after the last packet, whose frame is shown until `end`.

        A tick at or after `end` has no target. In a file that is cut off, neither has a tick after
        its own target ends: a frame shown between the two may be lost, since it may be decoded
        later.
        """
        for index in range(self._settled, len(self.wanted)):
            if self.wanted[index] >= (self._ends[index] if is_cut else end):
                self.best[index] = math.inf
        self._settled = len(self.wanted)

    @property
    def is_done(self) -> bool:
        """Whether all ticks are settled."""
        return self._settled == len(self.wanted)

    @property
    def targets(self) -> set[float]:
        """Presentation times of all targets found so far."""
        return {pts for pts in self.best if math.isfinite(pts)}

    def target_of(self, tick: int) -> float:
        """Return the presentation time of the target of a tick; infinite if there is none."""
        return self.best[bisect_left(self.wanted, tick)]

    def is_target(self, pts: int | None) -> bool | None:
        """Tell whether the packet shown at `pts` is a target; None while that is not settled."""
        index = bisect_left(self.best, pts) if pts is not None else len(self.best)
        if index == len(self.best) or self.best[index] != pts:
            return False
        return True if index < self._settled else None
