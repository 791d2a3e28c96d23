"""Makes the index of a file whose container is not trusted, by decoding the file once in order.

The packets are read first, and copied if the container does not say where each of them lies. Then
they are decoded in order, each with its number in place of its time. The numbers of the decoded
pictures say which packets hold pictures, and in which order a player shows them. The times of the
pictures are the container's times of these packets, in ascending order.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

import av
import numpy as np
from av.bitstream import BitStreamFilterContext
from av.container import InputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from atlaskit.errors import VideoError, reason
from atlaskit.progress import bar as progress_bar
from atlaskit.video.readers.clock import (
    LONGEST_REORDER,
    NO_TIME,
    SoundClock,
    continuous,
    ordered,
    paced,
)
from atlaskit.video.readers.codecs import (
    Codec,
    VideoPacket,
    new_context,
    packet_of,
    parameters_of,
    same_decoder,
)
from atlaskit.video.readers.container import (
    DECODE_ERRORS,
    MAY_JUMP,
    NO_TIMESTAMPS,
    aspect_of,
    codec_of,
    container_kind,
    frame_length,
    is_transient,
    packets_of,
    tick_length,
)
from atlaskit.video.readers.duration import declared_end, declared_lengths, earliest_start
from atlaskit.video.readers.headers import Holes
from atlaskit.video.readers.index import (
    BEFORE_LOST,
    BEHIND_HOLE,
    CODEC_SHIFT,
    DAMAGED,
    HIDDEN,
    KEYFRAME,
    PACKET,
    Description,
    IndexWriter,
    Table,
)
from atlaskit.video.readers.picture import orientation_of, shown_size
from atlaskit.video.readers.trusted import INTRA, PROVED

if TYPE_CHECKING:
    from tqdm import tqdm

MARKED_BEFORE = 4
"""Pictures before a keyframe that FFmpeg may mark as damaged although they are not."""
REORDERED = 32
"""The most packets that a decoder takes after a packet before it returns the packet's picture."""
NO_TYPE = 0
"""FFmpeg's number for pictures without a known type."""


def make_index(
    container: InputContainer, stream: VideoStream, path: Path, why: str, target: Path
) -> None:
    """Write the index of a stream to `target`.

    Args:
        container: The file, just opened.
        stream: Its video stream.
        path: The path of the file.
        why: Why its container is not trusted, as the end of a sentence that begins with the name of
            the file.
        target: The file to write.

    Raises:
        VideoError: The file holds no picture or cannot be read, or `target` cannot be written.
    """
    label = f"{path.name} {why}: it is decoded once, in order, and what is shown when is cached"
    size = path.stat().st_size
    try:
        with IndexWriter(target) as writer, path.open("rb") as file:
            packets = _Packets(container, stream, file, writer)
            # Each byte counts twice: when it is read, and when it is decoded.
            with progress_bar(total=2 * size, unit="B", unit_scale=True, desc=label) as bar:
                packets.read(bar)
                pictures = _decoded_pictures(packets, bar)
                bar.update(bar.total - bar.n)
            if not pictures.order:
                raise VideoError(
                    f"{path} holds no picture that can be decoded: is it whole, and not encrypted "
                    "(DRM)?"
                )
            writer.finish(*packets.result(pictures))
    except DECODE_ERRORS as error:
        # Some errors of FFmpeg are OSErrors too. Any other OSError comes from writing the index.
        if not isinstance(error, OSError) or isinstance(error, av.FFmpegError):
            raise VideoError(
                f"{path} cannot be read ({reason(error)}): copy or download it again."
            ) from error
        raise VideoError(
            f"The index of {path} cannot be written to {target.parent} ({reason(error)}): "
            "make room there, or name a cache in another directory."
        ) from error


def _unpacked(packets: Iterator[VideoPacket], stream: VideoStream) -> Iterator[VideoPacket]:
    """Yield the packets of an MPEG-4 stream, cut so that each holds one picture.

    A decoder that begins in the middle of a stream does not know that a packet may hold two.
    """
    unpack = BitStreamFilterContext("mpeg4_unpack_bframes", stream)
    for packet in packets:
        yield from cast("list[VideoPacket]", unpack.filter(packet))
    yield from cast("list[VideoPacket]", unpack.filter(None))


class _Pictures(NamedTuple):
    """The pictures that a decoder returned."""

    order: list[int]
    """The packet of each picture, in the order in which the pictures are shown."""
    keys: list[int]
    """The packets whose pictures can be decoded by themselves."""
    errors: list[int]
    """The packets at which the decoder failed."""


class _Packets:
    """The packets of a stream, in the order of the file."""

    def __init__(
        self, container: InputContainer, stream: VideoStream, file: BinaryIO, writer: IndexWriter
    ) -> None:
        self._container = container
        self._stream = stream
        self._path = Path(file.name)
        self._writer = writer
        self.kind = container_kind(container)
        self.tick = tick_length(stream)
        self._is_raw = bool(container.format.flags & NO_TIMESTAMPS)
        self._frame_ticks = max(1, round(frame_length(stream, is_raw=self._is_raw) / self.tick))
        self._is_in_place = self.kind == "mov"
        self._source = file if self._is_in_place else writer.file
        self._start = earliest_start(container)
        self.codecs: list[Codec] = [codec_of(stream)]
        self._codec_number = 0
        self._is_behind_hole = False
        self._track_aspect = aspect_of(stream)
        self._codec_aspect = aspect_of(stream.codec_context)
        self._times = array("q")
        self._durations = array("q")
        self._sounds = dict[int, SoundClock]()
        self._offsets = array("q")  # where the bytes of each packet are in `_source`
        self.sizes = array("i")
        self.flags = array("i")
        self._positions = array("q")  # where each packet begins in the video file; -1 if unknown

    def __len__(self) -> int:
        return len(self.sizes)

    def read(self, bar: tqdm) -> None:
        """Read the file to its end, or to the first place that cannot be passed."""
        packets = self._video_packets(bar)
        if self.codecs[0].name == "mpeg4" and not self._is_in_place:
            packets = _unpacked(packets, self._stream)
        for packet in packets:
            for name in ("new_extradata", "palette"):
                if packet.has_sidedata(name):
                    self._change_codec(name.removeprefix("new_"), bytes(packet.get_sidedata(name)))
            if packet.is_keyframe:
                parameters = parameters_of(packet, self.codecs[self._codec_number])
                if parameters:
                    self._change_codec("parameters", parameters)
            self.flags.append(
                HIDDEN * packet.is_discard
                | DAMAGED * packet.is_corrupt
                | KEYFRAME * packet.is_keyframe
                | BEHIND_HOLE * self._is_behind_hole
                | self._codec_number << CODEC_SHIFT
            )
            self._is_behind_hole = False
            position = -1 if packet.pos is None else packet.pos
            self._positions.append(position)
            if self._is_in_place:
                self._offsets.append(position)
            else:
                self._offsets.append(self._writer.write(memoryview(packet)))
            self.sizes.append(packet.size)
            # AVI and ASF hold decoding times. Sorted, these are the times of the pictures.
            pts = packet.pts
            if self.kind in ("avi", "asf") and packet.dts is not None:
                pts = packet.dts
            self._times.append(NO_TIME if pts is None or self._is_raw else pts)
            self._durations.append(packet.duration or 0)
        self._put_in_order()
        self._writer.file.flush()

    def _video_packets(self, bar: tqdm) -> Iterator[VideoPacket]:
        """Yield the packets of the video stream; add the others to the clocks of their streams."""
        holes = Holes(self._path)
        try:
            for packet in packets_of(self._container):
                self._is_behind_hole |= self.kind == "matroska" and holes.is_before(packet)
                if packet.pos is not None and packet.pos > bar.n:
                    bar.update(packet.pos - bar.n)
                if packet.stream is self._stream:
                    # A packet of which only a part can be read is the last one, except in a
                    # transport stream.
                    if packet.size and not (packet.is_corrupt and self.kind != "mpegts"):
                        yield cast("VideoPacket", packet)
                elif (
                    packet.stream.type in ("audio", "subtitle")
                    and packet.pts is not None
                    and packet.time_base
                ):
                    clock = self._sounds.setdefault(packet.stream.index, SoundClock())
                    length_s = (packet.duration or 0) * packet.time_base
                    clock.add(packet.pts * packet.time_base, length_s, len(self))
        except DECODE_ERRORS as error:
            if is_transient(error):
                raise VideoError(
                    f"{self._path} cannot be read ({reason(error)}): try again."
                ) from error

    def _change_codec(self, name: str, value: bytes) -> None:
        """Continue with the codec whose data differ in one value from those of the last codec."""
        before = self.codecs[self._codec_number]
        codec = before._replace(data=before.data | {name: value})
        if name == "parameters" and name not in before.data and len(self.codecs) == 1:
            self.codecs[0] = codec  # the first parameters belong to the codec of the stream
        if codec not in self.codecs:
            self.codecs.append(codec)
        self._codec_number = self.codecs.index(codec)

    def _put_in_order(self) -> None:
        """Sort the packets of a transport stream by where they begin in the file.

        Where a stream continues under another number, FFmpeg returns its last packet at the end.
        """
        positions = np.array(self._positions, np.int64)
        # A packet without a position takes that of the packet before it.
        known = np.maximum.accumulate(np.where(positions >= 0, np.arange(len(positions)), 0))
        order = np.argsort(positions[known], kind="stable")
        if self.kind == "mpegts" and (np.diff(order) < 0).any():
            columns = (self._times, self._durations, self._offsets, self._positions)
            for column in (*columns, self.sizes, self.flags):
                column[:] = array(column.typecode, np.array(column)[order].tolist())

    def packet(self, number: int) -> VideoPacket:
        """Return a packet with its number in place of its time."""
        try:
            self._source.seek(self._offsets[number])
            content = self._source.read(self.sizes[number])
        except OSError as error:
            if not self._is_in_place:
                raise  # the packets lie in the index
            raise VideoError(
                f"{self._path} cannot be read ({reason(error)}): try again."
            ) from error
        packet = packet_of(content, self.codec(number))
        packet.time_base = self.tick
        packet.pts = number
        return packet

    def codec(self, number: int) -> Codec:
        """Return the codec of a packet."""
        return self.codecs[self.flags[number] >> CODEC_SHIFT]

    def result(self, pictures: _Pictures) -> tuple[Table, Description]:
        """Return the table and the description of the index."""
        table = np.zeros(len(self), PACKET)
        duration = np.array(self._durations, np.int64)
        table["duration"] = np.where(duration > 0, duration, self._frame_ticks)
        table["offset"] = self._offsets
        table["size"] = self.sizes
        table["flags"] = self.flags
        is_key = self._keyframes(table, pictures)
        file_times = np.array(self._times, np.int64)
        steps = np.diff(np.unique(file_times[file_times != NO_TIME]))
        reach = LONGEST_REORDER * max(self._frame_ticks, int(np.median(steps)) if len(steps) else 0)
        order = self._shown_order(pictures, is_key, file_times=file_times, reach=reach)
        length = table["duration"][order]
        is_sparse = self.kind == "mpeg" or bool((file_times[order] == NO_TIME).any())
        if is_sparse:
            times = paced(file_times[order], length, self.tick)
        else:
            times = ordered(file_times[order], reach)
        may_jump = bool(self._container.format.flags & MAY_JUMP)
        timeline = continuous(times, length, list(self._sounds.values()), self.tick, may_jump)
        table["pts"] = file_times
        joints = []
        for joint in timeline.joints:
            first = int(order[: joint.picture].max()) + 1
            shifted = np.where(
                file_times[first:] == NO_TIME, NO_TIME, file_times[first:] + joint.shift
            )
            table["pts"][first:] = shifted
            joints.append((first, joint.shift))
        table["pts"][order] = timeline.times
        if joints:
            # FFmpeg hides the beginning of later parts, since it judges them by the clock of the
            # first part.
            table["flags"][joints[0][0] :] &= ~HIDDEN
        self._note_pictures(table, pictures, is_key, [first for first, _ in joints])
        # A part may begin with pictures that need others which are not in the file.
        starts = [0, *(joint.picture for joint in timeline.joints), len(order)]
        for first, after in pairwise(starts):
            keys = np.flatnonzero(is_key[order[first:after]])
            if len(keys):
                table["flags"][order[first : first + keys[0]]] |= HIDDEN
        self._hide_repeated(table)
        visible = (table["flags"] & HIDDEN) == 0
        if not visible.any():
            raise VideoError(
                f"{self._path} shows no picture, as its own list of edits leaves out every one: "
                "write it anew without that list (ffmpeg -ignore_editlist 1 -i FILE -c copy NEW)."
            )
        # `dts` is the earliest time of the visible pictures from a packet on. Packets that are not
        # visible get a late time, so that they do not count.
        table["pts"][~visible] = int(table["pts"][visible].max()) + 1
        table["dts"] = np.minimum.accumulate(table["pts"][::-1])[::-1]
        return table, self._description(table, np.flatnonzero(visible), timeline.end, joints)

    def _keyframes(self, table: Table, pictures: _Pictures) -> NDArray[np.bool_]:
        """Return for each packet whether decoding can begin at it.

        A decoder that marks no picture or all of them as keyframes tells nothing, so that the marks
        of the container count. But in H.264, no marks mean that every picture needs others before
        it.
        """
        decoder_keys = np.isin(np.arange(len(self)), pictures.keys)
        container_keys: NDArray[np.bool_] = (table["flags"] & KEYFRAME) != 0
        is_telling = 0 < len(pictures.keys) < len(pictures.order)
        is_recovering = self.codecs[0].name == "h264" and not pictures.keys
        if is_telling or is_recovering or not container_keys.any():
            return decoder_keys
        return container_keys

    @staticmethod
    def _shown_order(
        pictures: _Pictures, is_key: NDArray[np.bool_], file_times: NDArray[np.int64], reach: int
    ) -> NDArray[np.int64]:
        """Return the packets of the pictures in the order in which the pictures are shown.

        The decoder of a cut stream may return pictures in a wrong order. Pictures that the file
        holds before a keyframe, or before a place where the container's times fall by more than
        `reach`, are shown before the pictures from there on.
        """
        is_start = is_key.copy()
        is_fall = file_times[1:] < file_times[:-1] - reach
        is_start[1:] |= is_fall & (file_times[1:] != NO_TIME) & (file_times[:-1] != NO_TIME)
        order = np.array(pictures.order, np.int64)
        return order[np.argsort(np.cumsum(is_start)[order], kind="stable")]

    @staticmethod
    def _note_pictures(
        table: Table, pictures: _Pictures, is_key: NDArray[np.bool_], starts: list[int]
    ) -> None:
        """Flag where decoding can begin, what is damaged or lost, and packets without a picture."""
        flags = table["flags"]
        count = len(table)
        has_picture = np.zeros(count, bool)
        has_picture[pictures.order] = True
        is_near_error = np.zeros(count, bool)
        for number in pictures.errors:
            is_near_error[max(0, number - REORDERED) : number + 1] = True
        # Where the counter of packets jumps right before a keyframe, FFmpeg marks the pictures
        # before the keyframe as damaged. If the decoder returned all of them, nothing is lost.
        is_start = is_key.copy()
        is_start[starts] = True
        is_end = np.zeros(count, bool)
        for _ in range(MARKED_BEFORE):
            is_end[:-1] |= (is_start | is_end)[1:] & has_picture[:-1]
        damaged = (flags & DAMAGED).astype(bool) & ~is_end
        groups = np.cumsum(is_key)
        is_in_damaged_group = np.isin(groups, groups[damaged | (is_near_error & ~has_picture)])
        part_starts = np.zeros(count, np.int64)
        part_starts[starts] = starts
        last_start = np.maximum.accumulate(part_starts)
        last_key = np.maximum.accumulate(np.where(is_key, np.arange(count), -1))
        is_decodable = last_key >= last_start
        is_lost = is_in_damaged_group & ~has_picture & is_decodable & (table["pts"] != NO_TIME)
        flags &= ~(KEYFRAME | DAMAGED)
        flags |= (
            KEYFRAME * (is_key & has_picture)
            | DAMAGED * (damaged | is_lost)
            | HIDDEN * (~has_picture & ~is_lost)
        )

    @staticmethod
    def _hide_repeated(table: Table) -> None:
        """Of the pictures that are shown at the same time, hide all but the last."""
        shown = np.flatnonzero((table["flags"] & HIDDEN) == 0)
        by_time = shown[np.argsort(table["pts"][shown], kind="stable")]
        is_repeated = np.diff(table["pts"][by_time]) == 0
        table["flags"][by_time[:-1][is_repeated]] |= HIDDEN

    def _note_lost(self, table: Table, shown: NDArray[np.intp]) -> None:
        """Flag those of the last pictures of a cut file that are followed by lost ones.

        The order of decoding differs from that of showing. So pictures may be missing among the
        last ones, where the steps between their times are then longer than the steps before.
        """
        by_time = np.argsort(table["pts"][shown], kind="stable")
        steps = np.diff(table["pts"][shown][by_time])
        reordering = int((by_time - np.arange(len(shown))).max())
        tail = len(steps) - reordering
        longest = steps[:tail][-REORDERED:].max(initial=3 * self._frame_ticks // 2)
        gaps = tail + np.flatnonzero(steps[tail:] > longest)
        table["flags"][shown[by_time[gaps]]] |= BEFORE_LOST

    def _description(
        self, table: Table, rows: NDArray[np.intp], end: Fraction, joints: Sequence[tuple[int, int]]
    ) -> Description:
        """Return the description of the index; if the file is cut off, also call `_note_lost`.

        Args:
            table: The table of the index.
            rows: The numbers of the packets that are shown.
            end: End of the longest stream, in seconds.
            joints: For each further part, its first packet and the ticks added from there.
        """
        shown = table[rows]
        length = (int(shown["pts"].max()) - int(shown["pts"].min())) * self.tick
        rate = (len(shown) - 1) / length if length > 0 else 1 / (self._frame_ticks * self.tick)
        head = [*map(self.packet, range(min(PROVED, len(self)))), None]
        orientation = orientation_of(self._path, self.kind, self._stream, head)
        first = int(shown["pts"].min()) * self.tick
        ends = shown["pts"] + shown["duration"]
        last = max(end, int(ends.max()) * self.tick)
        declared = declared_end(self._container, self._stream)
        last_begin = int(shown["pts"].max()) * self.tick
        # The header ends the track after its last picture has begun, but much before its end.
        if (
            declared is not None
            and not joints
            and last_begin < declared < last - self.tick * self._frame_ticks * 3 / 2
        ):
            last = declared
        readable = last
        lengths = declared_lengths(self._container, self._stream, first)
        # In these cases, FFmpeg only guesses the lengths.
        is_guess = bool(joints) or self._is_raw or self.kind in ("mpeg", "mpegts")
        if not is_guess and lengths.is_cut_off(last):
            self._note_lost(table, rows)
            readable = int(ends.max()) * self.tick
            last = max(first + lengths.picture, readable)
        places = list[tuple[int, int]]()
        for packet, shift in joints:
            places.append((self._positions[packet], round(shift * self.tick * 1_000_000)))
        # FFmpeg takes the shape of pixels from the track, or from the last codec if there are
        # several.
        has_one_codec = len(self.codecs) == 1
        return Description(
            kind=self.kind,
            is_in_place=self._is_in_place,
            size=shown_size(
                orientation.cropped(self.codecs[0].coded_size),
                self._track_aspect if has_one_codec else self._codec_aspect,
                orientation,
            ),
            orientation=orientation,
            fps=float(rate),
            tick=self.tick.as_integer_ratio(),
            frame_ticks=self._frame_ticks,
            start=self._start.as_integer_ratio(),
            end=last.as_integer_ratio(),
            readable_end=readable.as_integer_ratio(),
            codecs=self.codecs,
            joints=places,
        )


def _decoded_pictures(packets: _Packets, bar: tqdm) -> _Pictures:
    """Decode all packets, and return the pictures."""
    pictures = _Pictures([], [], [])
    for frame in _frames(packets, pictures.errors, bar):
        number = frame.pts
        if number is None or not 0 <= number < len(packets):
            continue
        pictures.order.append(number)
        if _is_key(packets, number, frame):
            pictures.keys.append(number)
    return pictures


def _is_key(packets: _Packets, number: int, frame: VideoFrame) -> bool:
    """Return whether decoding can begin at a packet.

    Decoders of old codecs do not mark keyframes. For these, decoding can begin at a picture if it
    is the same when it is decoded without the pictures before it.
    """
    if frame.key_frame:
        return frame.pict_type in INTRA or frame.pict_type == NO_TYPE
    context = new_context(packets.codec(number), 1)
    if not packets.flags[number] & KEYFRAME or context.codec.reorder:
        return False
    with suppress(*DECODE_ERRORS):
        alone = [*context.decode(packets.packet(number)), *context.decode(None)]
        return np.array_equal(alone[0].to_ndarray(format="rgb24"), frame.to_ndarray(format="rgb24"))
    return False


def _frames(packets: _Packets, errors: list[int], bar: tqdm) -> Iterator[VideoFrame]:
    """Yield the pictures of all packets, each with the number of its packet as its time."""
    codec = packets.codec(0)
    context = new_context(codec, 0)
    for number in range(len(packets)):
        if packets.codec(number) is not codec and not same_decoder(packets.codec(number), codec):
            yield from _decoded(context, None, number, errors)
            codec = packets.codec(number)
            context = new_context(codec, 0)
        yield from _decoded(context, packets.packet(number), number, errors)
        bar.update(packets.sizes[number])
    yield from _decoded(context, None, len(packets), errors)


def _decoded(
    context: VideoCodecContext, packet: VideoPacket | None, number: int, errors: list[int]
) -> Iterator[VideoFrame]:
    """Yield the pictures that the decoder returns after a packet, or after the last one for None.

    An error adds `number`, the number of the packet, to `errors`.
    """
    try:
        yield from context.decode(packet)
    except DECODE_ERRORS as error:
        if is_transient(error):
            raise
        errors.append(number)
