"""`MadeSource`: the packets of a video stream by the index that was made of it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import BinaryIO

import numpy as np

from atlaskit.errors import VideoError
from atlaskit.video.readers.codecs import packet_of
from atlaskit.video.readers.index import BEHIND_HOLE, CODEC_SHIFT, DAMAGED, HIDDEN, KEYFRAME, MadeIndex
from atlaskit.video.readers.sources import PacketSource
from atlaskit.video.readers.steps import Step


class MadeSource(PacketSource):
    """The packets of a file that was played once. See `PacketSource`."""

    def __init__(self, path: Path, index: MadeIndex) -> None:
        super().__init__(path)
        self._index = index
        known, table = index.description, index.table
        self.kind, self.size, self.fps, self.orientation = known.kind, known.size, known.fps, known.orientation
        self.tick, self.frame_ticks, self.start = Fraction(*known.tick), known.frame_ticks, Fraction(*known.start)
        self.codec = known.codecs[0]
        keyframes = np.flatnonzero(table["flags"] & KEYFRAME)
        self._keyframes = keyframes if len(keyframes) else np.zeros(1, np.int64)
        self._keyframe_pts = np.maximum.accumulate(table["pts"][self._keyframes])
        shown = table[(table["flags"] & HIDDEN) == 0]
        self.origin = int(shown["pts"].min())
        self.last_end = int((shown["pts"] + shown["duration"]).max())
        self.end = Fraction(*known.end) - self.origin * self.tick
        self.readable_end = Fraction(*known.readable_end) - self.origin * self.tick
        self.joints = tuple((position, shift_us / 1e6) for position, shift_us in known.joints if position >= 0)
        self._next = 0
        self.open()

    def _opened(self) -> BinaryIO:
        try:
            self._file = (self.path if self._index.description.is_in_place else self._index.path).open("rb")
        except OSError as error:
            raise VideoError(f"The index of {self.path} is gone from the cache: open the video again.") from error
        return self._file

    def gop_of(self, ticks: int) -> int | None:
        """Return the number of the GOP at a tick."""
        return max(0, int(np.searchsorted(self._keyframe_pts, ticks, side="right")) - 1)

    def packets_from(self, ticks: int, is_earlier: bool = False) -> Iterator[Step]:
        """Yield all packets from a keyframe on that is shown at or before `ticks`."""
        gop = (self.gop_of(ticks) or 0) - is_earlier
        self._next = int(self._keyframes[max(0, gop)])
        yield from self.following()

    def packet_rows(self) -> list[tuple[int, int, bool]]:
        """Return (tick, bytes, whether it is a keyframe) of every packet that is shown."""
        shown = self._index.table[(self._index.table["flags"] & HIDDEN) == 0]
        return [(int(row["pts"]), int(row["size"]), bool(row["flags"] & KEYFRAME)) for row in shown]

    def following(self) -> Iterator[Step]:
        """Yield the packets after the last one that `packets_from` yielded."""
        for index in count(self._next):
            if index >= len(self._index.table):
                return
            self._next = index + 1
            yield self._packet(index)

    def _packet(self, index: int) -> Step:
        pts, dts, duration, offset, size, flags = self._index.table[index].item()
        self._file.seek(offset)
        data = self._file.read(size)
        codec = self._index.description.codecs[flags >> CODEC_SHIFT]
        packet = packet_of(data, codec)
        packet.time_base, packet.duration, packet.dts = self.tick, duration, dts
        packet.pts = None if flags & HIDDEN else pts
        packet.is_keyframe = bool(flags & KEYFRAME)
        return Step(packet, codec, not flags & HIDDEN, bool(flags & DAMAGED))

    def has_gap(self, pts: int, tick: int) -> bool:
        """Tell whether packets are lost between the frame shown at `pts` and a later tick."""
        table = self._index.table
        after = int(np.flatnonzero(table["pts"] == pts)[-1]) + 1
        later = np.flatnonzero(table["pts"][after:] > tick)
        until = after + int(later[0]) + 1 if len(later) else len(table)
        return bool((table["flags"][after:until] & (DAMAGED | BEHIND_HOLE)).any())
