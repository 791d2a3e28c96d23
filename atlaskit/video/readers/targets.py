"""Which packets of a file make the frames that were asked for. Pure bookkeeping: nothing is read or decoded here."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from av.packet import Packet
from av.video.stream import VideoStream


class Targets:
    """Which packets make the frames shown at some ticks (sorted): for each, the latest one shown by then.

    Packets come in decoding order. One is settled as soon as a packet was seen that is decoded after the tick: since
    nothing is shown before it is decoded, no better one can follow.
    """

    def __init__(self, wanted: Sequence[int]) -> None:
        self.wanted = wanted
        self.best: list[float] = [-math.inf] * len(wanted)
        self._ends: list[float] = [math.inf] * len(wanted)
        self._settled = 0

    def see(self, packet: Packet[VideoStream], is_shown: bool, end: int) -> None:
        """Take note of the next packet, whose frame makes way for the next at `end`."""
        if packet.pts is not None and is_shown:
            place = bisect_left(self.wanted, packet.pts)
            while place < len(self.wanted) and self.best[place] < packet.pts:
                self.best[place], self._ends[place] = packet.pts, end
                place += 1
        if packet.dts is not None:
            self._settled = max(self._settled, bisect_left(self.wanted, packet.dts))

    def close(self, end: int, *, is_cut: bool) -> None:
        """There are no more packets, and the last frame is shown until `end`: nothing is known of what is later. Where
        the file is cut off, frames that are shown before others may be lost that are decoded after them."""
        for place in range(self._settled, len(self.wanted)):
            if self.wanted[place] >= (self._ends[place] if is_cut else end):
                self.best[place] = math.inf
        self._settled = len(self.wanted)

    @property
    def is_done(self) -> bool:
        """Whether all are settled."""
        return self._settled == len(self.wanted)

    @property
    def targets(self) -> set[float]:
        """Showing times of the packets that make the frames asked for, as far as is known."""
        return {pts for pts in self.best if math.isfinite(pts)}

    def target_of(self, tick: int) -> float:
        """Return the showing time of the packet that makes the frame at a tick; infinite where there is none."""
        return self.best[bisect_left(self.wanted, tick)]

    def judge(self, pts: int | None) -> bool | None:
        """Return whether a packet makes a frame asked for; None as long as that is open."""
        place = bisect_left(self.best, pts) if pts is not None else len(self.best)
        if place == len(self.best) or self.best[place] != pts:
            return False
        return True if place < self._settled else None
