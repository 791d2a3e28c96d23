"""`Decoder`: decodes the packets of one group of pictures (GOP) and keeps the requested frames."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

from av.video.frame import VideoFrame

from atlaskit.errors import reason
from atlaskit.video.readers import Pixels, Size
from atlaskit.video.readers.codecs import Codec, VideoPacket, new_context, packet_of, same_decoder
from atlaskit.video.readers.colour import tag_colours
from atlaskit.video.readers.container import aspect_of, is_transient
from atlaskit.video.readers.picture import PictureScaler
from atlaskit.video.readers.sources import PacketId, PacketSource, Step, StepPlan, packet_id

SKIPPABLE = {"h264", "mpeg4", "mpeg2video", "mpeg1video"}
"""Codecs whose packets say whether other frames refer to theirs. Frames to which none refers can be
skipped."""
TRANSPARENT = {"vp8", "libvpx-vp9"}
"""Decoders that may expect each packet to hold transparency beside its colours."""
STALL_S = 60.0
"""A decoder that has produced no frame for this long is abandoned."""


class DecodeError(Exception):
    """A requested frame cannot be decoded.

    Attributes:
        is_lasting: Whether the cause lies in the file's content, so that a retry is useless.
    """

    def __init__(self, why: str, *, is_lasting: bool = True) -> None:
        super().__init__(why)
        self.is_lasting = is_lasting

    @classmethod
    def of(cls, error: Exception) -> DecodeError:
        """Return an error of PyAV or of the file system as a DecodeError."""
        return cls(reason(error), is_lasting=not is_transient(error))


class Decoder:
    """Decodes packets of one file in order, and keeps the requested frames.

    `PacketSource.steps` yields the packets of a request in chunks. Call `start` first, then `feed`
    with each packet of all chunks but the last, then `finish` with the last chunk. If `finish`
    paused the decoder, `start` it again for the frames that follow.

    Attributes:
        position: The last packet that was decoded; None before the first one, and once the decoder
            cannot be started again.
        last_tick: The latest tick that was requested.
    """

    def __init__(self, source: PacketSource, threads: int, *, is_opaque: bool = False) -> None:
        """Begin a decoder.

        Args:
            source: Where the packets come from.
            threads: The number of threads.
            is_opaque: Whether to ignore transparency, whose data may end before the colours do.
        """
        self._is_opaque = is_opaque
        self._first_codec = source.codec
        self._codec = source.codec
        self._threads = threads
        self._context = new_context(self._codec, threads, is_strict=True)
        self._can_skip = source.codec.name in SKIPPABLE
        self._coded_size = source.codec.coded_size
        self._scaler = PictureScaler(source.size, self._coded_size, source.orientation)
        self._new_frames = 0
        self._recent: list[VideoFrame] = []  # frames that the next request may want
        self._keeps_recent = False
        self._found: dict[float, Pixels] = {}
        self.position: PacketId | None = None
        self.last_tick = 0

    def start(self, plan: StepPlan, size: Size) -> None:
        """Begin a request for the frames of a plan, scaled to `size` (w, h)."""
        self._plan = plan
        self._size = size
        self._found = {}
        self._progress_s = time.monotonic()

    def finish(self, steps: Sequence[Step], *, may_pause: bool) -> dict[float, Pixels]:
        """Decode the last packets and return the requested frames. For errors, see `feed`.

        Args:
            steps: The last packets.
            may_pause: Whether to stop as soon as all requested frames are found, so that the
                decoder can continue from there. Otherwise it is flushed.

        Returns:
            The requested frames by presentation time. The decoder keeps none of them.
        """
        plan = self._plan
        self._keeps_recent = may_pause
        self.last_tick = plan.wanted[-1]
        for frame in self._recent:
            self._keep_target(frame)
        targets = [index for index, step in enumerate(steps) if step.is_target]
        for index, step in enumerate(steps):
            is_after_targets = not targets or index > targets[-1]
            if may_pause and is_after_targets and plan.targets <= self._found.keys():
                break
            self.feed(step)
        else:
            self._decode(None)
            self.position = None
            self._recent = []
        latest = plan.best[-1]
        self._recent = [f for f in self._recent if f.pts is not None and f.pts >= latest]
        found = self._found
        self._found = {}
        return found

    def take_frame_count(self) -> int:
        """Return the number of frames decoded since the last call."""
        count = self._new_frames
        self._new_frames = 0
        return count

    def feed(self, step: Step) -> None:
        """Decode a packet.

        Raises:
            DecodeError: The packet is damaged, or the decoder has stalled (STALL_S).
            Exception: One of DECODE_ERRORS.
        """
        if step.is_damaged:
            raise DecodeError("a damaged packet")
        if time.monotonic() - self._progress_s > STALL_S:
            raise DecodeError(f"no frame in {STALL_S:g} s", is_lasting=False)
        self._follow(step.codec)
        self._context.skip_frame = "NONREF" if step.may_skip and self._can_skip else "DEFAULT"
        packet = step.packet
        if self._is_opaque:
            # A copy lacks the side data in which the transparency is.
            packet = packet_of(bytes(packet), step.codec)
            packet.pts = step.packet.pts
            packet.dts = step.packet.dts
            packet.time_base = step.packet.time_base
        self._decode(packet)
        self.position = packet_id(step.packet)

    def _follow(self, codec: Codec) -> None:
        """Begin a new decoder where the stream continues with another codec."""
        if codec is not self._codec and not same_decoder(codec, self._codec):
            self._decode(None)
            self._codec = codec
            self._context = new_context(codec, self._threads, is_strict=True)

    def _decode(self, packet: VideoPacket | None) -> None:
        """Decode a packet, or flush the decoder if it is None, and keep the requested frames."""
        for frame in self._context.decode(packet):
            self._new_frames += 1
            self._progress_s = time.monotonic()
            if frame.is_corrupt:
                raise DecodeError("a damaged frame")
            self._keep_target(frame)
            if self._keeps_recent:
                self._recent.append(frame)

    def _keep_target(self, frame: VideoFrame) -> None:
        """Keep a frame if it was requested and has not been kept before."""
        pts = frame.pts
        if pts is None or pts not in self._plan.targets or pts in self._found:
            return
        tag_colours(frame, self._codec.settings)
        size = (frame.width, frame.height)
        # Where the stream has changed its codec or size, pixels may have another shape than at its
        # beginning. The decoder knows that shape, unless it has already begun the next size.
        has_changed = self._codec is not self._first_codec or size != self._coded_size
        aspect: Fraction | None = None
        if has_changed and (self._context.width, self._context.height) == size:
            aspect = aspect_of(self._context)
        self._found[pts] = self._scaler.pixels(frame, self._size, aspect)
