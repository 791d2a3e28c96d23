"""Makes a stream copy: one pass over a file, in which each packet gets the time it is shown at."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from atlaskit.errors import VideoError, reason
from atlaskit.video.readers.bitstream import (
    SMALLEST_VOP,
    counted,
    is_hidden_vp8,
    picture_type,
    scaled,
    unpacked,
    unpadded,
    vop_type,
)
from atlaskit.video.readers.container import (
    DECODE_ERRORS,
    codec_of,
    container_kind,
    frame_length,
    is_transient,
    tick_length,
)
from atlaskit.video.readers.duration import earliest_start
from atlaskit.video.readers.orientation import orientation_of
from atlaskit.video.readers.picture import shown_size
from atlaskit.video.readers.sources import Codec, VideoPacket
from atlaskit.video.readers.stream_copy import (
    CODEC_SHIFT,
    DAMAGED,
    HIDDEN,
    KEYFRAME,
    PACKET,
    CopyWriter,
    Description,
    StoredCodec,
    Table,
)
from atlaskit.video.readers.survey import RAW, REORDERING, Times
from atlaskit.video.readers.timeline import (
    PacketTimes,
    SoundClock,
    Timeline,
    continuous,
    decoded,
    in_slots,
    paced,
    presented,
)

if TYPE_CHECKING:
    from tqdm import tqdm

NEAR_JOINT = 4
"""Packets on either side of a joint that FFmpeg may take for damaged."""


def make_copy(container: InputContainer, stream: VideoStream, path: Path, times: Times, target: Path) -> None:
    """Copy the packets of a stream to `target`.

    Args:
        container: The file, just opened.
        stream: Its video stream.
        path: The file, for messages.
        times: What the times of its packets mean.
        target: The file to write.

    Raises:
        VideoError: The file holds no video packet or cannot be read, or `target` cannot be written.
    """
    writer = None
    try:
        writer = CopyWriter(target)
        pass_ = _Pass(container, stream, path, times)
        pass_.run(writer)
        if not len(pass_.times):
            raise VideoError(f"{path} holds no video frame: is the file whole?")
        writer.finish(*pass_.result())
    except DECODE_ERRORS as error:
        if not isinstance(error, OSError) or isinstance(error, av.FFmpegError):
            raise VideoError(f"{path} cannot be read ({reason(error)}): copy or download it again.") from error
        raise VideoError(
            f"The video stream of {path} cannot be copied to {target.parent} ({reason(error)}): "
            "make room there, or name a cache in another directory."
        ) from error
    finally:
        if writer is not None:
            writer.discard()


class _Pass:
    """One pass over a file."""

    def __init__(self, container: InputContainer, stream: VideoStream, path: Path, times: Times) -> None:
        self._container, self._stream, self._path, self._meaning = container, stream, path, times
        self._tick = tick_length(stream)
        # FFmpeg gives 25 frames per second as the average of a raw stream, whatever that says.
        is_raw = container_kind(container) in RAW
        length = 1 / Fraction(stream.guessed_rate) if is_raw and stream.guessed_rate else frame_length(stream)
        self._frame_ticks = max(1, round(length / self._tick))
        self._start = earliest_start(container)
        self._codecs: list[Codec] = [codec_of(stream)]
        self._codec = 0
        self.times = PacketTimes()
        self._sounds: dict[int, SoundClock] = {}
        self._offsets, self._sizes, self._flags = array("q"), array("i"), array("i")
        self._positions = array("q")
        self._types = bytearray()
        self._decoded, self._slots = array("q"), array("q")

    def run(self, writer: CopyWriter) -> None:
        """Read the file to its end, or to the first place that cannot be passed."""
        from tqdm import tqdm  # here, so that `import atlaskit` stays light

        name = self._path.name
        with tqdm(
            total=self._path.stat().st_size,
            unit="B",
            unit_scale=True,
            desc=f"{name} has no reliable index: its video stream is copied to the cache, once",
        ) as bar:
            for packet in self._filtered(self._video_packets(bar)):
                self._add(packet, writer)
            bar.update(bar.total - bar.n)

    def _video_packets(self, bar: tqdm) -> Iterator[VideoPacket]:
        try:
            for packet in self._container.demux():
                if packet.pos is not None and packet.pos > bar.n:
                    bar.update(packet.pos - bar.n)
                if packet.stream is self._stream:
                    if packet.size:
                        yield cast("VideoPacket", packet)
                elif packet.stream.type in ("audio", "subtitle") and packet.pts is not None and packet.time_base:
                    clock = self._sounds.setdefault(packet.stream.index, SoundClock())
                    length_s = (packet.duration or 0) * packet.time_base
                    clock.add(packet.pts * packet.time_base, length_s, len(self.times))
        except DECODE_ERRORS as error:
            if is_transient(error):
                raise VideoError(f"{self._path} cannot be read ({reason(error)}): try again.") from error

    # --- times ------------------------------------------------------------------------------------

    def _filtered(self, packets: Iterator[VideoPacket]) -> Iterator[VideoPacket]:
        """Yield the packets so that each holds one picture, and tells its time if it can."""
        codec = self._codecs[0].name
        if self._meaning is Times.DECODED and codec in REORDERING:
            return counted(packets, self._stream, self._frame_ticks, self._decoded)
        if self._meaning is Times.PACKED:
            return unpacked(packets, self._stream)
        return scaled(packets, self._frame_ticks) if codec == "dirac" else packets

    def _add(self, packet: VideoPacket, writer: CopyWriter) -> None:
        if packet.has_sidedata("new_extradata"):
            self._change_codec(bytes(packet.get_sidedata("new_extradata")))
        data: bytes | memoryview = memoryview(packet)
        is_keyframe, is_hidden = packet.is_keyframe, packet.is_discard
        if self._meaning is Times.PACKED:
            data = unpadded(bytes(data))
            letter = vop_type(data)
            is_keyframe, is_hidden = letter == "I", is_hidden or len(data) <= SMALLEST_VOP
            self._types.append(ord(letter))
        elif self._meaning is Times.PACED:
            self._types.append(ord(picture_type(bytes(data))))
        elif self._codecs[0].name == "vp8":
            is_hidden = is_hidden or is_hidden_vp8(data)
        flags = KEYFRAME * is_keyframe | HIDDEN * is_hidden | DAMAGED * packet.is_corrupt
        self._flags.append(flags | self._codec << CODEC_SHIFT)
        self._offsets.append(writer.write(data))
        self._sizes.append(len(data))
        self._positions.append(-1 if packet.pos is None else packet.pos)
        pts, dts = packet.pts, packet.dts
        if self._decoded:  # the times count frames
            self._slots.append((pts if pts is not None else dts or 0) // self._frame_ticks)
            pts, dts = None, self._decoded[len(self.times)]
        elif self._meaning is Times.SWAPPED:
            pts = dts
        self.times.add(pts, dts, packet.duration)

    def _rate(self, timeline: Timeline) -> float:
        """Return the number of frames per second, on average."""
        length = (int(timeline.pts.max()) - int(timeline.pts.min())) * self._tick
        return float((len(timeline.pts) - 1) / length if length > 0 else 1 / (self._frame_ticks * self._tick))

    def _change_codec(self, extradata: bytes) -> None:
        first = self._codecs[0]
        codec = Codec(first.name, first.settings | {"extradata": extradata})
        if codec not in self._codecs:
            self._codecs.append(codec)
        self._codec = self._codecs.index(codec)

    # --- the result -------------------------------------------------------------------------------

    def result(self) -> tuple[Table, Description]:
        """Return the table and the description of the copy."""
        timeline = self._timeline()
        table = np.zeros(len(self.times), PACKET)
        table["pts"], table["dts"] = timeline.pts, np.maximum.accumulate(timeline.dts)
        duration = np.array(self.times.duration, np.int64)
        table["duration"] = np.where(duration > 0, duration, self._frame_ticks)
        table["offset"], table["size"], table["flags"] = self._offsets, self._sizes, self._flags
        for joint in timeline.joints:  # FFmpeg takes a joint for damage
            table["flags"][max(0, joint.packet - NEAR_JOINT) : joint.packet + NEAR_JOINT] &= ~DAMAGED
        if timeline.joints and self._codecs[0].name != "vp8":
            # and what has an early time, for what an edit list hides
            table["flags"][timeline.joints[0].packet :] &= ~HIDDEN
        starts = [joint.packet for joint in timeline.joints]
        for start, after in pairwise([*starts, len(table)]):
            self._hide_start(table["flags"][start:after])
        return table, self._description(timeline)

    @staticmethod
    def _hide_start(flags: NDArray[np.int32]) -> None:
        """Hide the pictures before the first keyframe of a part: they need ones that are not there.

        The last picture of the part before stands in their place. A part without keyframes is
        decoded as it is.
        """
        keyframes = np.flatnonzero(flags & KEYFRAME)
        if len(keyframes):
            flags[: keyframes[0]] |= HIDDEN

    def _put_in_order(self) -> None:
        """Put the packets of a transport stream into the order in which they begin in the file.

        Where a stream goes on under another number, FFmpeg returns its last packet at the very end.
        """
        positions = np.array(self._positions, np.int64)
        known = np.maximum.accumulate(np.where(positions >= 0, np.arange(len(positions)), 0))
        order = np.argsort(positions[known], kind="stable")
        if container_kind(self._container) == "mpegts" and (np.diff(order) < 0).any():
            for column in (*self.times.columns, self._offsets, self._sizes, self._flags, self._positions):
                column[:] = array(column.typecode, np.array(column)[order].tolist())

    def _timeline(self) -> Timeline:
        self._put_in_order()
        times = self.times
        if self._meaning in (Times.SHOWN, Times.SWAPPED):
            times.dts = array("q", decoded(np.array(times.pts, np.int64), self._frame_ticks).tolist())
        elif self._meaning is Times.PACKED:
            if (np.diff(np.array(times.pts, np.int64)) >= 0).all():
                times.dts = times.pts
        elif self._meaning is Times.PACED or (self._decoded and container_kind(self._container) == "mpeg"):
            duration = np.array([ticks or self._frame_ticks for ticks in times.duration], np.int64)
            times.dts = array("q", paced(np.array(times.dts, np.int64), duration, self._tick).tolist())
        timeline = continuous(times, list(self._sounds.values()), self._tick, self._frame_ticks)
        if self._types:
            timeline = timeline._replace(pts=presented(bytes(self._types), timeline.dts))
        elif self._slots:
            timeline = timeline._replace(pts=in_slots(np.array(self._slots, np.int64), timeline.dts, self._frame_ticks))
        return self._without_delay(timeline)

    def _without_delay(self, timeline: Timeline) -> Timeline:
        """Return the times so that the first picture is shown when it is decoded, as in a player.

        AVI and ASF tell when a picture is decoded, and their sound is in step with that.
        """
        if container_kind(self._container) not in ("avi", "asf"):
            return timeline
        delay = int(timeline.pts.min()) - int(timeline.dts[0])
        end = timeline.end - max(0, delay) * self._tick if len(self._sounds) == 0 else timeline.end
        return timeline._replace(pts=timeline.pts - delay, dts=timeline.dts - delay, end=end)

    def _description(self, timeline: Timeline) -> Description:
        joints = [
            (self._positions[joint.packet], round(joint.shift * self._tick * 1_000_000)) for joint in timeline.joints
        ]
        kind = container_kind(self._container)
        orientation = orientation_of(
            self._path, kind, self._stream.id, self._container.streams.video.index(self._stream)
        )
        return Description(
            kind=kind,
            size=shown_size(self._codecs[0].coded_size, self._stream.sample_aspect_ratio, orientation),
            orientation=orientation,
            fps=self._rate(timeline),
            tick=_pair(self._tick),
            frame_ticks=self._frame_ticks,
            start=_pair(self._start),
            end=_pair(timeline.end),
            codecs=[StoredCodec.of(codec) for codec in self._codecs],
            joints=joints,
        )


def _pair(value: Fraction) -> tuple[int, int]:
    return value.numerator, value.denominator
