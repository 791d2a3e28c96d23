"""The packets of the requested frames, and the keyframes around a time.

Nothing is decoded here, so everything is cheap: a packet takes microseconds, decoding a frame
milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import chain

from atlaskit.video.readers import TIME_STEP_S
from atlaskit.video.readers.container import DECODE_ERRORS
from atlaskit.video.readers.gaps import frame_end_of
from atlaskit.video.readers.sources import PacketSource, StreamPacket
from atlaskit.video.readers.steps import DecodeStep, PacketId, StepPlan, Targets

KEYFRAME_REACH_S = 60.0
"""How far ahead the next keyframe is searched for."""
SKIPPABLE = {"h264", "mpeg4", "mpeg2video", "mpeg1video"}
"""Codecs whose packets tell whether other frames refer to them: some need not be decoded."""


class Demuxer:
    """An open video. Not safe to use from several threads at once: its owner holds a lock.

    Times are in ticks of the video stream's clock.

    Attributes:
        source: Where the packets come from.
        is_skippable: Whether the decoder may skip frames that no other frame refers to.
    """

    def __init__(self, source: PacketSource) -> None:
        self.source = source
        self.is_skippable = source.codec.name in SKIPPABLE
        self._lost_after: dict[int, bool] = {}

    # --- times ------------------------------------------------------------------------------------

    def ticks(self, time_s: float) -> int:
        """Return the tick of a second; the last microsecond belongs to the last frame."""
        tick = int((Fraction(time_s) + Fraction(TIME_STEP_S)) // self.source.tick)
        return self.source.origin + min(tick, math.ceil(self.source.end / self.source.tick) - 1)

    def seconds(self, ticks: int) -> float:
        """Return the second of the video at a tick."""
        return float((ticks - self.source.origin) * self.source.tick)

    def is_missing(self, ticks: int) -> bool:
        """Tell whether a tick lies after the readable part of the file."""
        return (ticks - self.source.origin) * self.source.tick >= self.source.readable_end

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
        source = self.source
        plan, first, end = StepPlan(targets, after), targets.wanted[0], source.origin
        for found in chain(self._until_damage(first, is_earlier), [None]):
            if found is None:
                is_cut = source.readable_end < source.end
                targets.close(end if is_cut or end < source.last_end else math.inf, is_cut=is_cut)
            else:
                packet = found.packet
                if packet.is_keyframe and not is_earlier and packet.pts is not None and packet.pts <= first:
                    plan.restart(packet.pts)
                packet_end = frame_end_of(packet, source.frame_ticks)
                end = max(end, packet_end)
                plan.add(found, packet_end)
            if plan.settle():
                yield plan.take_tail(source.following(), tail)
                return
            if plan.is_chunk_full:
                yield plan.take_chunk()
        yield plan.take_chunk()

    def _until_damage(self, ticks: int, is_earlier: bool) -> Iterator[StreamPacket]:
        with suppress(*DECODE_ERRORS):
            yield from self.source.packets_from(ticks, is_earlier)

    def keyframes_around(self, ticks: int, until: int) -> tuple[int, int | None]:
        """Return the ticks of the last keyframe up to `ticks` and of the next before `until`."""
        before, until = self.source.origin, min(until, ticks + int(KEYFRAME_REACH_S / self.source.tick))
        for packet, _, is_shown, _ in self.source.packets_from(ticks):
            if packet.pts is None or (packet.dts or packet.pts) >= until:
                break
            if packet.is_keyframe and is_shown:
                if packet.pts > ticks:
                    return before, packet.pts if packet.pts < until else None
                before = max(before, packet.pts)
        return before, None

    def shown_pts(self) -> list[int]:
        """Return the presentation times of all frames, in order."""
        found = self._until_damage(self.source.origin, False)
        return sorted(packet.pts for packet, _, is_shown, _ in found if packet.pts is not None and is_shown)

    # --- damage -----------------------------------------------------------------------------------

    def is_lost(self, tick: int, pts: int) -> bool:
        """Tell whether the frame at a tick is lost, although an earlier one, at `pts`, is readable.

        A frame may be shown for a long time on purpose, or because the container passed over the
        damaged frames that follow it.
        """
        if tick - pts < 1.5 * self.source.frame_ticks:
            return False
        if pts not in self._lost_after:
            self._lost_after[pts] = self.source.has_gap(pts, tick)
        return self._lost_after[pts]
