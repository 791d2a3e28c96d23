"""`Decoder`: decodes packets of one GOP and keeps the requested frames; detects what did not come
out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from av.video.frame import VideoFrame

from atlaskit.errors import reason
from atlaskit.video.readers import Pixels
from atlaskit.video.readers.codecs import Codec, VideoPacket, new_context, same_decoder
from atlaskit.video.readers.container import DECODE_ERRORS, is_transient
from atlaskit.video.readers.demux import Demuxer
from atlaskit.video.readers.picture import PictureScaler
from atlaskit.video.readers.steps import DecodeStep, PacketId, Targets, packet_id

STALL_S = 60.0
"""A decoder that has produced no frame for this long is given up."""


class StreamBreak(NamedTuple):
    """A packet that cannot be passed: no frame of its GOP that is decoded after it is whole."""

    keyframe: int
    """Presentation time of the GOP's keyframe."""
    dts: int
    why: str


class DecodeError(Exception):
    """Something went wrong between a keyframe and the requested frames.

    Attributes:
        stream_break: The place in the file that caused it, where that is certain.
        is_known: Whether the place was found before.
        is_lasting: Whether the cause lies in the file's content, so that a retry is of no use.
    """

    def __init__(
        self, why: str, stream_break: StreamBreak | None = None, *, is_known: bool = False, is_lasting: bool = True
    ) -> None:
        super().__init__(why)
        self.stream_break, self.is_known, self.is_lasting = stream_break, is_known, is_lasting


class Decoder:
    """Decodes packets of one file in order, and keeps the requested frames.

    Call `start`, then `feed` with each chunk of steps but the last, `finish` with the last, and
    `take_found`. A decoder that is paused can `start` again for frames that follow.

    Attributes:
        position: The last packet it decoded, if the next one may follow; None if it must not be
            used again.
        last_tick: The latest tick that was requested.
    """

    def __init__(self, demuxer: Demuxer, threads: int) -> None:
        self._codec = self._first = demuxer.source.codec
        self._threads = threads
        self._context = new_context(self._codec, threads, is_strict=True)
        self._can_skip, source = demuxer.is_skippable, demuxer.source
        self._coded = source.codec.coded_size
        self._scaler = PictureScaler(source.size, self._coded, source.orientation)
        self._new_frames = 0
        self._dts_of: dict[int, int | None] = {}
        self._recent: list[VideoFrame] = []
        self._keeps_recent = False
        self._keyframe: int | None = None
        self._found: dict[float, Pixels] = {}
        self.position: PacketId | None = None
        self.last_tick = 0

    def start(self, size: tuple[int, int], breaks: dict[int, StreamBreak]) -> None:
        """Begin a request for frames scaled to `size` (w, h).

        `breaks` are the known places that cannot be passed, by the presentation time of their
        keyframe.
        """
        self._size, self._breaks = size, breaks
        self._targets: set[float] = set()
        self._found = {}
        self._progress_s = time.monotonic()

    def feed(self, steps: Sequence[DecodeStep]) -> None:
        """Decode packets; raise DecodeError if one cannot be decoded."""
        for step in steps:
            self._feed(step)

    def finish(self, steps: Sequence[DecodeStep], targets: Targets, *, may_pause: bool) -> None:
        """Decode the last packets and flush the decoder; raise DecodeError if one fails.

        With `may_pause`, stop as soon as all targets are found, so that the decoder can go on from
        there.
        """
        self._keeps_recent, self.last_tick = may_pause, targets.wanted[-1]
        self._targets |= targets.targets
        for frame in self._recent:
            self._keep_target(frame)
        last = max((index for index, step in enumerate(steps) if step.is_target), default=-1)
        for index, step in enumerate(steps):
            if may_pause and index > last and self._targets <= self._found.keys():
                break
            self._feed(step)
        else:
            self._decode(None)
            self.position, self._recent = None, []
        self._recent = [frame for frame in self._recent if frame.pts is not None and frame.pts >= targets.best[-1]]

    def take_found(self) -> dict[float, Pixels]:
        """Return the requested frames by presentation time, and keep none of them."""
        found, self._found = self._found, {}
        return found

    def take_frame_count(self) -> int:
        """Return the number of frames decoded since the last call."""
        count, self._new_frames = self._new_frames, 0
        return count

    def _feed(self, step: DecodeStep) -> None:
        packet = step.packet
        if self._keyframe is None:
            self._keyframe = packet.pts
        if step.is_target and packet.pts is not None:
            self._targets.add(packet.pts)
        self._check(packet, step.is_damaged)
        self._follow(step.codec)
        self._context.skip_frame = "NONREF" if step.may_skip and not step.is_target and self._can_skip else "DEFAULT"
        if packet.pts is not None:
            self._dts_of[packet.pts] = packet.dts
        self._decode(packet)
        self.position = packet_id(packet)

    def _follow(self, codec: Codec) -> None:
        """Begin a new decoder where the stream goes on with another codec."""
        if codec is not self._codec and not same_decoder(codec, self._codec):
            self._decode(None)
            self._codec, self._context = codec, new_context(codec, self._threads, is_strict=True)

    def _check(self, packet: VideoPacket, is_damaged: bool) -> None:
        """Raise DecodeError for a packet that need not be tried."""
        known = self._breaks.get(self._keyframe) if self._keyframe is not None else None
        if known and packet.dts is not None and packet.dts > known.dts:
            raise DecodeError(known.why, is_known=True)
        if is_damaged:
            raise self._error("a damaged packet", packet.pts)
        if time.monotonic() - self._progress_s > STALL_S:
            raise DecodeError(f"no frame in {STALL_S:g} s", is_lasting=False)

    def _decode(self, packet: VideoPacket | None) -> None:
        """Decode a packet, or flush the decoder if it is None, and keep the requested frames."""
        try:
            frames = self._context.decode(packet)
        except DECODE_ERRORS as error:
            if is_transient(error):
                raise
            raise self._error(reason(error), packet.pts if packet else None) from error
        for frame in frames:
            self._new_frames += 1
            self._progress_s = time.monotonic()
            if frame.is_corrupt:
                raise self._error("a damaged frame", frame.pts)
            self._keep_target(frame)
            if self._keeps_recent:
                self._recent.append(frame)

    def _keep_target(self, frame: VideoFrame) -> None:
        """Keep a frame if it was requested and is not there yet."""
        if frame.pts is not None and frame.pts in self._targets and frame.pts not in self._found:
            try:
                self._found[frame.pts] = self._scaler.pixels(frame, self._size, self._aspect(frame))
            except DECODE_ERRORS as error:  # a size that cannot be scaled
                if is_transient(error):
                    raise
                raise self._error(reason(error), frame.pts) from error

    def _aspect(self, frame: VideoFrame) -> Fraction | None:
        """Return the shape of a frame's pixels; None if it is as usual, or unknown."""
        size, context = (frame.width, frame.height), self._context
        is_other = self._codec is not self._first or size != self._coded
        return context.sample_aspect_ratio if is_other and (context.width, context.height) == size else None

    def _error(self, why: str, pts: int | None) -> DecodeError:
        """Return the error of a packet or frame, with a StreamBreak unless it was requested.

        If only a requested frame is damaged, frames after it may be whole.
        """
        dts = self._dts_of.get(pts) if pts is not None else None
        if self._keyframe is None or dts is None or pts in self._targets:
            return DecodeError(why)
        return DecodeError(why, StreamBreak(self._keyframe, dts, why))
