"""Decides whether the container of a file is trusted, and reads the packets of one that is.

* Trust: a container says which pictures there are, when they are shown, and from which packets they
  can be decoded. The checks here raise `Distrust` if that may be wrong. Then the file is decoded
  once, and an index is made from the decoded pictures (`readers.making`).
* `TrustedSource`: the packets of a stream, read by FFmpeg's demuxer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, dropwhile, islice, pairwise
from pathlib import Path
from typing import cast

import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream

from atlaskit.errors import VideoError, reason
from atlaskit.progress import bar as progress_bar
from atlaskit.video.readers.clock import LONGEST_STEP_S, NEVER
from atlaskit.video.readers.codecs import Codec, VideoPacket, new_context, packet_of, parameters_of
from atlaskit.video.readers.container import (
    DECODE_ERRORS,
    MAY_JUMP,
    Distrust,
    aspect_of,
    codec_of,
    container_kind,
    discard_others,
    open_container,
    tick_length,
)
from atlaskit.video.readers.duration import checked_rate, earliest_start, first_frame, measured_end
from atlaskit.video.readers.headers import (
    Holes,
    fault_of_elements,
    has_several_descriptions,
    is_fragmented,
    reorderings,
)
from atlaskit.video.readers.picture import orientation_of, shown_size
from atlaskit.video.readers.sources import PacketSource, Step

LIVE = {"mpegts", "flv"}
"""Formats of live recordings, whose clock may restart. The clock of a fragmented MP4 may too."""
HEAD = 48
"""Packets at the start of a file that are examined."""
PROVED = 24
"""Packets of these that are decoded if something about them is unusual."""
NEXT_S = 0.5e-3
"""Pictures whose times differ by less than this count as having the same time. Where times would go
back, FFmpeg writes pictures one tick apart."""
SHORT_S = 2
"""A progress bar appears if reading a file takes longer than this."""
MPEG_WRAP = 1 << 33
"""The clock of a transport stream starts again at 0 when it reaches this tick."""
INTRA = {1, 5, 7}
"""FFmpeg's numbers for the types of pictures that refer to no others: I, SI, BI."""


def check_account(
    container: InputContainer, stream: VideoStream, path: Path, head: Sequence[VideoPacket]
) -> None:
    """Raise Distrust if a file's format or its first packets, `head`, give a reason for it."""
    kind = container_kind(container)
    if kind not in LIVE | {"mov", "matroska"}:
        raise Distrust("is in a format whose index is not relied on")
    if stream.codec_context.pix_fmt == "pal8":
        raise Distrust("does not tell which palettes its pictures have")
    if kind == "mov" and has_several_descriptions(path):
        raise Distrust("changes its codec in the middle")
    fault = fault_of_elements(path) if kind == "matroska" else None
    if fault:
        raise Distrust(fault)
    _check_head(head, stream)


def head_of(container: InputContainer, stream: VideoStream) -> list[VideoPacket]:
    """Return the first packets of a file just opened."""
    head: list[VideoPacket] = []
    with suppress(*DECODE_ERRORS):
        head.extend(packet for packet in islice(container.demux(stream), HEAD) if packet.size)
    return head


def is_live(container: InputContainer, path: Path) -> bool:
    """Return whether a file is in a format of live recordings, so that its clock may restart."""
    kind = container_kind(container)
    return kind in LIVE or (kind == "mov" and is_fragmented(path))


def _check_head(head: Sequence[VideoPacket], stream: VideoStream) -> None:
    """Check the first packets of a file, and decode them if something is unusual."""
    codec = codec_of(stream)
    context = stream.codec_context
    shown = [packet for packet in head if not packet.is_discard]
    times = [packet.pts for packet in shown if packet.pts is not None]
    if head and not head[0].is_keyframe:
        raise Distrust("begins between keyframes, or marks none")
    if len(times) < len(shown):
        raise Distrust("does not give the time of each picture")
    gaps_s = np.diff(sorted(times)) * float(tick_length(stream))
    # In VP8, VP9 and AV1, a picture that is not shown may share the time of one that is.
    if gaps_s.min(initial=NEXT_S) < NEXT_S and codec.name not in ("vp8", "vp9", "av1"):
        raise Distrust("gives one time to several pictures")
    # Pictures that may refer to later ones are rarely stored in order of time, and keyframes are
    # rarely in the majority, unless the codec has no other pictures.
    are_in_order = all(before < after for before, after in pairwise(times))
    keys = sum(packet.is_keyframe for packet in head)
    has_many_keys = 2 * keys > len(head) > 1 and not context.codec.intra_only
    if (are_in_order and context.has_b_frames) or has_many_keys:
        _check_decoded(head[:PROVED], codec)


def _check_decoded(head: Sequence[VideoPacket], codec: Codec) -> None:
    """Decode packets in order, and compare the pictures with the packets' times and marks."""
    copies = [packet_of(bytes(packet), codec) for packet in head]
    times = []
    for number, picture_type in _types_by_packet(copies, codec, DECODE_ERRORS):
        times.append(head[number].pts or 0)
        if head[number].is_keyframe and picture_type not in INTRA:
            raise Distrust("marks pictures as keyframes that are none")
    if times != sorted(times):
        raise Distrust("gives its pictures other times than those at which they are shown")


def _types_by_packet(
    packets: Sequence[VideoPacket], codec: Codec, passed_over: tuple[type[Exception], ...] = ()
) -> list[tuple[int, int]]:
    """Decode packets in order; return (number of its packet, FFmpeg's type) of each picture.

    Errors of the types `passed_over` are ignored.
    """
    context = new_context(codec, 1)
    found = []
    for number, packet in enumerate([*packets, None]):
        if packet is not None:
            packet.pts = number
        with suppress(*passed_over):
            for frame in context.decode(packet):
                if frame.pts is not None:
                    found.append((frame.pts, int(frame.pict_type)))
    return found


def check_keyframe(container: InputContainer, stream: VideoStream, ticks: int) -> None:
    """Raise Distrust if the keyframe before a tick does not hold a complete picture.

    An H.264 stream may have no keyframe but its first, and refresh the picture bit by bit instead.
    Then its keyframe marks only say where a decoder may begin to recover.
    """
    codec = codec_of(stream)
    if codec.name != "h264":
        return
    copies = list[VideoPacket]()
    with suppress(*DECODE_ERRORS):  # damage at this place is found when it is decoded
        container.seek(ticks, stream=stream)
        packets = dropwhile(lambda packet: not packet.is_keyframe, container.demux(stream))
        # One packet is usually enough to decode the picture.
        for batch in (islice(packets, 1), islice(packets, PROVED)):
            copies += [packet_of(bytes(packet), codec) for packet in batch if packet.size]
            if dict(_types_by_packet(copies, codec)).get(0) in INTRA:
                return
        if copies:
            raise Distrust("marks pictures as keyframes that are none")


def check_clock(container: InputContainer, stream: VideoStream) -> None:
    """Raise Distrust if a packet of a file is damaged or out of order. Reads the whole file."""
    discard_others(container, stream)
    longest = LONGEST_STEP_S / tick_length(stream) if container.format.flags & MAY_JUMP else NEVER
    is_mpegts = container_kind(container) == "mpegts"
    packets = (packet for packet in container.demux(stream) if packet.size)
    last: int | None = None
    codec = codec_of(stream)
    parameters = set[bytes]()
    label = f"{Path(container.name).name}: its clock is read, once"
    try:
        with progress_bar(
            total=container.size, unit="B", unit_scale=True, desc=label, delay=SHORT_S
        ) as bar:
            head = list(islice(packets, HEAD))
            _check_head(head, stream)
            for packet in chain(head, packets):
                bar.update((packet.pos or bar.n) - bar.n)
                at = packet.dts if packet.dts is not None else packet.pts
                if packet.is_corrupt or packet.pts is None or at is None:
                    raise Distrust("has packets that are damaged, or that give no time")
                if packet.is_keyframe:
                    parameters.add(parameters_of(packet, codec))
                    if len(parameters - {b""}) > 1:
                        raise Distrust("changes the shape of its pictures")
                is_jump = last is not None and not 0 <= at - last <= longest
                if is_jump or (is_mpegts and not 0 <= at < MPEG_WRAP):
                    raise Distrust("has a clock that starts anew or jumps")
                last = at
            bar.update(bar.total - bar.n)  # the rest holds no pictures
    except DECODE_ERRORS as error:
        raise Distrust("cannot be read to its end") from error


SHOWN_VP8 = 0x10
"""Bit that is set in the first byte of a VP8 frame if the frame is shown (RFC 6386, 9.1)."""
INDEX_REACH_S = 20.0
"""A container's index does not cover a time if the entry before it is older than this."""


class TrustedSource(PacketSource):
    """The packets of a file whose container is trusted.

    Raises:
        VideoError: The file is not a video that can be read.
    """

    def __init__(
        self,
        path: Path,
        container: InputContainer,
        stream: VideoStream,
        head: Sequence[VideoPacket],
    ) -> None:
        """Begin with an open file of which only the video packets `head` were read."""
        super().__init__(path, container)
        self._container = container
        self._stream = stream
        codec = stream.codec_context
        if min(codec.width, codec.height) < 1:
            raise VideoError(f"{path} does not give the size of its frames: is the file whole?")
        self.kind = container_kind(self._container)
        self.codec = codec_of(stream)
        self.orientation = orientation_of(path, self.kind, stream, [*head, None])
        self.size = shown_size(
            self.orientation.cropped(self.codec.coded_size), aspect_of(stream), self.orientation
        )
        self.tick = tick_length(stream)
        rate = checked_rate(self.kind, stream, head)
        self.fps = float(rate)
        self.frame_ticks = max(1, int(1 / rate / self.tick))
        try:
            self.start = earliest_start(container)
            self.origin, delay = first_frame(chain(head, container.demux(stream)), path)
            end, self.last_end = measured_end(container, stream, path, self.origin * self.tick)
        except DECODE_ERRORS as error:
            raise VideoError(
                f"{path} cannot be read ({reason(error)}): copy or download it again."
            ) from error
        self.end = self.readable_end = end - self.origin * self.tick
        # The index of an MP4 holds the times at which pictures are decoded, not shown.
        self._index_delay = delay if self.kind == "mov" else 0

    def _opened(self) -> InputContainer:
        self._container, self._stream = open_container(self.path, is_known=True)
        return self._container

    def gop_of(self, ticks: int) -> int | None:
        """Return a number that is equal for all ticks of one GOP, or None if the GOP is unknown."""
        entries = self._stream.index_entries
        at = ticks - self._index_delay
        if len(entries) and self.kind != "mpegts":
            nearest = entries.search_timestamp(at, any_frame=True)
        else:
            nearest = -1
        if nearest < 0 or at - entries[nearest].timestamp > INDEX_REACH_S / self.tick:
            return None
        return entries.search_timestamp(at)

    def packets_from(self, ticks: int, is_earlier: bool = False) -> Iterator[Step]:
        """Yield all packets, beginning with a keyframe that is shown at or before `ticks`.

        With `is_earlier`, begin one keyframe before the one that should suffice.

        A seek may land too late, or between keyframes, since containers index times of decoding.
        Frames that follow a keyframe in the file and are shown before it need frames from before
        it. So a seek suffices only if the first keyframe after it is shown at or before `ticks`;
        otherwise the next seek goes further back.
        """
        step = max(1, int(1 / self.tick))
        start = ticks
        while True:
            from_start = start <= max(self.origin, self._stream.start_time or 0)
            if not from_start and not self._seek(start):
                from_start = True
            if from_start:  # in MPEG-TS, a seek to the start lands too late
                self.open()
            packets = self.following()
            first = next((found for found in packets if found.packet.is_keyframe), None)
            if first is None and from_start:
                return
            pts = first.packet.pts if first else None
            is_at_or_before = pts is not None and pts <= ticks
            if first is not None and (from_start or (is_at_or_before and not is_earlier)):
                yield from chain([first], packets)
                return
            if pts is not None and is_at_or_before:
                # The next keyframe that is searched for must be shown before this one.
                ticks = pts - 1
                start = ticks
                is_earlier = False
            start -= step
            step *= 2

    def packet_rows(self) -> list[tuple[int, int, bool]]:
        """Return (tick, size in bytes, whether it is a keyframe) of every packet that is shown.

        The index of an MP4 lists all packets with the times at which they are decoded, and its
        header has the delays until they are shown.
        """
        entries = list(self._stream.index_entries)
        if self.kind != "mov" or not entries:
            return super().packet_rows()
        delays = reorderings(self.path, self._stream.id)
        # Without a table, or if an edit list leaves out some packets, all have the same delay.
        if len(delays) != len(entries):
            delays = np.zeros(len(entries), np.int64)
        first = next((number for number, entry in enumerate(entries) if entry.is_keyframe), 0)
        delays += self._index_delay - int(delays[first])
        rows = []
        for entry, delay in zip(entries, delays.tolist(), strict=True):
            rows.append((entry.timestamp + delay, entry.size, entry.is_keyframe))
        return rows

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
        """Return whether the frame of a packet is shown."""
        return not packet.is_discard and (
            self.codec.name != "vp8" or bool(memoryview(packet)[0] & SHOWN_VP8)
        )

    def lost_from(self, pts: int) -> float:
        """Return the tick from which packets may be lost between a frame and the next shown one."""
        # An MP4 lists its packets, and a live recording has been read to its end (`check_clock`).
        if self.kind != "matroska":
            return math.inf
        self._seek(pts)
        holes = Holes(self.path)
        frame_end = None
        with suppress(*DECODE_ERRORS):
            for packet in self._container.demux():
                is_hole = holes.is_before(packet)
                if is_hole and frame_end is not None:
                    return pts
                if packet.stream is not self._stream or not packet.size:
                    continue
                if not self._is_shown(cast(VideoPacket, packet)):
                    continue
                if packet.pts == pts:
                    frame_end = self.end_of(packet)
                elif frame_end is not None and (packet.pts or 0) > pts:
                    return math.inf
        # The file cannot be read further.
        if frame_end is None or frame_end >= self.last_end:
            return math.inf
        return frame_end
