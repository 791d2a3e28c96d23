"""`CopySource`: the packets of a video stream from its stream copy."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from av.packet import Packet

from atlaskit.errors import VideoError
from atlaskit.video.readers.orientation import Orientation
from atlaskit.video.readers.sizes import CHUNK, PacketSizes
from atlaskit.video.readers.sources import PacketSource, StreamPacket, VideoPacket, check_unchanged, file_identity
from atlaskit.video.readers.stream_copy import (
    CODEC_SHIFT,
    DAMAGED,
    HIDDEN,
    KEYFRAME,
    StreamCopy,
)


class CopySource(PacketSource):
    """The packets of a file that has a stream copy. See `PacketSource`."""

    def __init__(self, path: Path, copy: StreamCopy) -> None:
        self.path, self._identity, self._copy = path, file_identity(path), copy
        told, table = copy.description, copy.table
        self.kind, self.size, self.fps = told.kind, told.size, told.fps
        self.orientation = Orientation(*told.orientation)
        self.tick, self.frame_ticks, self.start = Fraction(*told.tick), told.frame_ticks, Fraction(*told.start)
        self._codecs = [codec.codec() for codec in told.codecs]
        self.codec = self._codecs[0]
        keyframes = np.flatnonzero(table["flags"] & KEYFRAME)
        self._keyframes = keyframes if len(keyframes) else np.zeros(1, np.int64)
        self._keyframe_pts = np.maximum.accumulate(table["pts"][self._keyframes])
        shown = table[(table["flags"] & HIDDEN) == 0]
        from_key = shown["pts"][shown["dts"] >= table["dts"][self._keyframes[0]]]
        self.origin = int(from_key.min())
        self.last_end = int((shown["pts"] + shown["duration"]).max())
        self.end = max(Fraction(*told.end), self.last_end * self.tick) - self.origin * self.tick
        self.readable_end = self.end
        self.joints = tuple((position, shift_us / 1e6) for position, shift_us in told.joints if position >= 0)
        self._file: BinaryIO
        self._next = 0
        self.open()

    def open(self) -> None:
        """Open the copy, again or for the first time; raise VideoError if the file has changed."""
        check_unchanged(self.path, self._identity)
        self.close()
        try:
            self._file = self._copy.path.open("rb")
        except OSError as error:
            raise VideoError(f"The stream copy of {self.path} is gone from the cache: open the video again.") from error
        self.is_open = True

    def close(self) -> None:
        """Close the copy; `open` opens it again."""
        if self.is_open:
            self.is_open = False
            self._file.close()

    def gop_of(self, ticks: int) -> int | None:
        """Return the number of the GOP at a tick."""
        return max(0, int(np.searchsorted(self._keyframe_pts, ticks, side="right")) - 1)

    def packets_from(self, ticks: int, is_earlier: bool = False) -> Iterator[StreamPacket]:
        """Yield all packets from a keyframe on that is shown at or before `ticks`."""
        gop = (self.gop_of(ticks) or 0) - is_earlier
        self._next = int(self._keyframes[max(0, gop)])
        yield from self.following()

    def following(self) -> Iterator[StreamPacket]:
        """Yield the packets after the last one that `packets_from` yielded."""
        for index in count(self._next):
            if index >= len(self._copy.table):
                return
            self._next = index + 1
            yield self._packet(index)

    def sizes(self) -> Iterator[PacketSizes]:
        """Yield the sizes of all packets, in chunks, with times in ticks: the table holds them."""
        for start in range(int(self._keyframes[0]), len(self._copy.table), CHUNK):
            rows = self._copy.table[start : start + CHUNK]
            rows = rows[(rows["flags"] & HIDDEN) == 0]
            are_keyframes = (rows["flags"] & KEYFRAME).astype(bool)
            yield PacketSizes(rows["pts"].astype(float), rows["size"].astype(np.int64), are_keyframes)

    def _packet(self, index: int) -> StreamPacket:
        pts, dts, duration, offset, size, flags = self._copy.table[index].item()
        self._file.seek(offset)
        data = self._file.read(size)
        # Not Packet(data): a decoder's thread frees that only with Python's lock, which the thread
        # that closes the decoder holds while it waits for the other.
        packet = cast("VideoPacket", Packet(len(data)))
        packet.update(data)
        packet.time_base, packet.pts, packet.dts, packet.duration = self.tick, pts, dts, duration
        packet.is_keyframe = bool(flags & KEYFRAME)
        return StreamPacket(packet, self._codecs[flags >> CODEC_SHIFT], not flags & HIDDEN, bool(flags & DAMAGED))

    def has_gap(self, pts: int, tick: int) -> bool:
        """Tell whether packets are lost between the frame shown at `pts` and a later tick."""
        table = self._copy.table
        after = int(np.flatnonzero(table["pts"] == pts)[-1]) + 1
        later = np.flatnonzero(table["pts"][after:] > tick)
        until = after + int(later[0]) + 1 if len(later) else len(table)
        return bool((table["flags"][after:until] & DAMAGED).any())
