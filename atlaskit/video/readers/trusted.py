"""`TrustedSource`: the packets of a video stream, read in place by FFmpeg's demuxer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from av.container import InputContainer
from av.video.stream import VideoStream

from atlaskit.errors import VideoError, reason
from atlaskit.video.readers.codecs import VideoPacket
from atlaskit.video.readers.container import (
    DECODE_ERRORS,
    aspect_of,
    codec_of,
    container_kind,
    open_container,
    tick_length,
)
from atlaskit.video.readers.duration import checked_rate, earliest_start, first_frame, measured_end
from atlaskit.video.readers.elements import Holes
from atlaskit.video.readers.orientation import orientation_of
from atlaskit.video.readers.picture import shown_size
from atlaskit.video.readers.sources import PacketSource
from atlaskit.video.readers.steps import Step

SHOWN_VP8 = 0x10
"""Bit of the first byte of a VP8 frame that is shown, and not only decoded (RFC 6386, 9.1)."""
INDEX_REACH_S = 20.0
"""A container's index says nothing about a time this far after its nearest entry."""


class TrustedSource(PacketSource):
    """The packets of a file whose container is believed.

    Raises:
        VideoError: The file is not a video that can be read.
    """

    def __init__(self, path: Path, container: InputContainer, stream: VideoStream, head: Sequence[VideoPacket]) -> None:
        """Begin with a file that is open, of whose video only the packets `head` were read."""
        super().__init__(path, container)
        self._container, self._stream, codec = container, stream, stream.codec_context
        if min(codec.width, codec.height) < 1:
            raise VideoError(f"{path} does not give the size of its frames: is the file whole?")
        self.kind = container_kind(self._container)
        self.codec = codec_of(stream)
        self.orientation = orientation_of(path, self.kind, stream, [*head, None])
        self.size = shown_size(self.orientation.cropped(self.codec.coded_size), aspect_of(stream), self.orientation)
        self.tick = tick_length(stream)
        rate = checked_rate(self.kind, stream, head)
        self.fps, self.frame_ticks = float(rate), max(1, int(1 / rate / self.tick))
        try:
            self.start = earliest_start(container)
            self.origin, delay = first_frame(chain(head, container.demux(stream)), path)
            end, self.last_end = measured_end(container, stream, path, self.origin * self.tick)
        except DECODE_ERRORS as error:
            raise VideoError(f"{path} cannot be read ({reason(error)}): copy or download it again.") from error
        self.end = self.readable_end = end - self.origin * self.tick
        self._index_delay = delay if self.kind == "mov" else 0  # the index of an MP4 holds decoding times

    def _opened(self) -> InputContainer:
        self._container, self._stream = open_container(self.path, is_known=True)
        return self._container

    def gop_of(self, ticks: int) -> int | None:
        """Return a number that is equal for all ticks of one GOP, or None if the GOP is unknown."""
        entries, at = self._stream.index_entries, ticks - self._index_delay
        nearest = entries.search_timestamp(at, any_frame=True) if len(entries) and self.kind != "mpegts" else -1
        if nearest < 0 or at - entries[nearest].timestamp > INDEX_REACH_S / self.tick:
            return None
        return entries.search_timestamp(at)

    def packets_from(self, ticks: int, is_earlier: bool = False) -> Iterator[Step]:
        """Yield all packets from a keyframe on that is shown at or before `ticks`.

        A seek may land too late, since containers index decoding times and not presentation times,
        or between keyframes. Frames that follow a keyframe in the file but are shown before it need
        frames from before it. So a landing counts only if its first keyframe is shown at or before
        `ticks`; otherwise the seek starts further back.
        """
        step = max(1, int(1 / self.tick))
        start = ticks
        while True:
            from_start = start <= max(self.origin, self._stream.start_time or 0) or not self._seek(start)
            if from_start:  # in MPEG-TS, a seek to the start lands too late
                self.open()
            packets = self.following()
            first = next((found for found in packets if found.packet.is_keyframe), None)
            if first is None and from_start:
                return
            pts = first.packet.pts if first else None
            if first is not None and (from_start or (pts is not None and pts <= ticks and not is_earlier)):
                yield from chain([first], packets)
                return
            if pts is not None and pts <= ticks:
                start = ticks = pts - 1
                is_earlier = False
            start, step = start - step, step * 2

    def packet_rows(self) -> list[tuple[int, int, bool]]:
        """Return (tick, bytes, whether it is a keyframe) of every packet that is shown.

        The index of an MP4 holds them all, in decoding times that are turned into those of
        keyframes; other frames may be shown up to a few frames later.
        """
        entries = self._stream.index_entries
        if self.kind != "mov" or not len(entries):
            return super().packet_rows()
        return [(entry.timestamp + self._index_delay, entry.size, entry.is_keyframe) for entry in entries]

    def following(self) -> Iterator[Step]:
        """Yield the packets after the last one that `packets_from` yielded."""
        for packet in self._container.demux(self._stream):
            if packet.size:
                yield Step(packet, self.codec, self._is_shown(packet), packet.is_corrupt)

    def _seek(self, ticks: int) -> bool:
        """Move to a keyframe near a tick; return False if the file cannot seek."""
        with suppress(*DECODE_ERRORS):
            self._container.seek(ticks, stream=self._stream, backward=True)
            return True
        return False

    def _is_shown(self, packet: VideoPacket) -> bool:
        """Tell whether a packet's frame is shown."""
        return not packet.is_discard and (self.codec.name != "vp8" or bool(memoryview(packet)[0] & SHOWN_VP8))

    def has_gap(self, pts: int, tick: int) -> bool:
        """Tell whether packets are lost between the frame shown at `pts` and a later tick."""
        if self.kind != "matroska":
            return False
        self._seek(pts)
        holes, frame_end = Holes(self.path), None
        with suppress(*DECODE_ERRORS):
            for packet in self._container.demux():
                is_hole, is_video = holes.is_before(packet), packet.stream is self._stream
                if is_hole and frame_end is not None:
                    return True
                if is_video and packet.pts == pts:
                    frame_end = self.end_of(packet)
                elif is_video and frame_end is not None and packet.pts is not None and packet.pts > tick:
                    return False
        return frame_end is not None and frame_end <= tick and frame_end < self.last_end  # it cannot be read further
