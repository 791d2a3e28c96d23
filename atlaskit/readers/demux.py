"""An open video file as packets: its facts, where its keyframes lie, and which packets make the frames asked for.

Nothing is decoded here, so all of it is cheap: a packet costs some microseconds, a frame some milliseconds.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, NamedTuple

import av
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.stream import VideoStream

from atlaskit.errors import VideoError
from atlaskit.readers import TIME_STEP_S
from atlaskit.readers.orientation import rotation_of

BROKEN = (av.FFmpegError, OSError, ValueError, EOFError, MemoryError)
"""What PyAV raises where a file is damaged."""
NOT_VIDEO = {"tty", "image2", "bin", "xbin", "adf", "idf", "hls", "dash", "concat"}
"""FFmpeg's names of formats that are text, a still, or a list of other files."""
READ_TIMEOUT_S = 30.0
"""A file that gives nothing for this long is given up."""
CHUNK_BYTES = 16 << 20
"""Packets are handed to a decoder in lists of about this size at most, however long a GOP is."""
KEYFRAME_REACH_S = 60.0
"""The next keyframe is looked for this far ahead."""
BETWEEN_BLOCKS = 96
"""Bytes that a Matroska file may have between two packets; its own headers take about 20."""
STILL_S = 1.0
"""In a transport stream, which knows no lengths, a frame that stays longer than this means that others are lost."""
SKIPPABLE = {"h264", "mpeg4", "mpeg2video", "mpeg1video"}
"""Codecs whose packets say by themselves whether another frame refers to them, so that some need no decoding."""

REORDERING, DEEPEST_REORDER = {"h264", "hevc"}, 16
"""Codecs whose frames may be shown in another order than they are decoded, and over how many frames at most."""


class Step(NamedTuple):
    """One packet on the way to the frames asked for."""

    packet: Packet[VideoStream]
    is_target: bool
    """Its frame was asked for."""
    may_skip: bool
    """If no other frame refers to its frame, it need not be decoded."""
    is_damaged: bool = False
    """The container itself says so."""


class Demuxer:
    """An open file. Not for several threads at once: its owner holds a lock.

    Times are in ticks of the stream's own clock. `origin` is the showing time of the first frame; `end` and
    `readable_end` are the seconds after it when the video ends, and when the part that is there ends: they differ in
    a truncated file. `is_unordered` says that packets do not tell when their frames are shown (AVI knows only the
    order of decoding): the decoder's output, sorted, has their times.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._container: InputContainer
        self._stream: VideoStream
        self.open()
        stream, codec = self._stream, self._stream.codec_context
        self.tick = Fraction(stream.time_base or Fraction(1, 1000))
        rate = stream.average_rate or stream.guessed_rate
        self.fps = float(rate) if rate else 25.0
        self.codec = codec.name
        self._kind = {"matroska,webm": "matroska"}.get(self._container.format.name, self._container.format.name)
        self._lost_after: dict[int, bool] = {}
        self.is_unordered = self._kind == "avi" and codec.name in REORDERING
        self.is_skippable = codec.name in SKIPPABLE and not self.is_unordered
        if min(codec.width, codec.height) < 1:
            raise VideoError(f"{path} does not say how large its pictures are: is the file whole?")
        self.rotation = rotation_of(path, stream.id) if "mov" in self._container.format.name else 0
        self.size = _shown_size((codec.width, codec.height), stream.sample_aspect_ratio, self.rotation)
        self._delay = 0
        self.origin = self._first_pts()
        self.end, self.readable_end = self._measure_end()

    # --- the file ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the file, or open it again at its start."""
        self._container, self._stream = _open(self.path)
        self._is_fresh = True

    def close(self) -> None:
        """Close the file; `open` opens it again."""
        self._container.close()

    @property
    def stream(self) -> VideoStream:
        """The video stream."""
        return self._stream

    def ticks(self, time_s: float) -> int:
        """Return the tick of a second of the video."""
        return self.origin + int((Fraction(time_s) + Fraction(TIME_STEP_S)) // self.tick)

    def seconds(self, ticks: int) -> float:
        """Return the second of the video at a tick."""
        return float((ticks - self.origin) * self.tick)

    def is_missing(self, ticks: int) -> bool:
        """Whether a tick lies behind the part of a truncated file that is there."""
        return (ticks - self.origin) * self.tick >= self.readable_end

    def gop_of(self, ticks: int) -> int | None:
        """Return a number that times in the same group of pictures share, or None where the file has no index.

        A hint for sharing work: what is decoded does not depend on it.
        """
        entries = self._stream.index_entries
        place = entries.search_timestamp(ticks - self._delay) if len(entries) else -1
        return None if place < 0 else place

    # --- packets ----------------------------------------------------------------------------------

    def steps(
        self, aim: Aim, *, after: int | None = None, tail: int = 0, earlier: bool = False
    ) -> Iterator[list[Step]]:
        """Yield the packets to decode, in lists, for the frames aimed at, from a keyframe on.

        With `after`, only those that follow the packet of that showing time: a decoder had the others. With `tail`,
        so many more after the last one asked for. With `earlier`, from a keyframe before the one that should do.
        Where the file cannot be read on, the steps end; a tick after that has no target.
        """
        held, chunk, weight, end = deque[Step](), list[Step](), 0, self.origin
        wanted, passed = aim.wanted, set[float]()
        tail = max(tail, DEEPEST_REORDER) if self.is_unordered else tail
        for packet in chain(self._until_damage(wanted[0], earlier), [None]):
            if packet is None:
                aim.close(end, is_cut=self.readable_end < self.end)
            else:
                if packet.is_keyframe and not earlier and packet.pts is not None and packet.pts <= wanted[0]:
                    held.clear()  # nothing from before this keyframe is needed
                    chunk.clear()
                    after = after if after is not None and after >= packet.pts else None
                is_shown = not packet.is_discard and not self._is_hidden(packet)
                aim.see(packet, is_shown, self._end_of(packet))
                end = max(end, self._end_of(packet))
                may_skip = packet.pts is not None and is_shown and packet.pts < wanted[-1]
                held.append(Step(packet, False, may_skip, packet.is_corrupt or self._is_misplaced(packet)))
            while held and (is_target := aim.judge(held[0].packet.pts)) is not None:
                step = held.popleft()
                if after is None:
                    chunk.append(step._replace(is_target=is_target))
                    weight += step.packet.size
                elif step.packet.pts == after:
                    after = None
                if is_target and step.packet.pts is not None:
                    passed.add(step.packet.pts)
                    if aim.is_done and aim.targets <= passed:
                        yield from self._tail(chunk, held, tail, after)
                        return
            if weight > CHUNK_BYTES:
                yield chunk
                chunk, weight = [], 0
        yield chunk

    def _tail(self, chunk: list[Step], held: deque[Step], tail: int, after: int | None) -> Iterator[list[Step]]:
        following = (Step(packet, False, False) for packet in self._container.demux(self._stream) if packet.size)
        steps = iter(chain(held, following) if tail else ())
        if after is not None:  # the decoder is already beyond the last frame asked for
            steps = islice(dropwhile(lambda step: step.packet.pts != after, steps), 1, None)
        chunk += (step._replace(may_skip=False) for step in islice(steps, tail))
        yield chunk

    def _until_damage(self, ticks: int, earlier: bool) -> Iterator[Packet[VideoStream]]:
        with suppress(*BROKEN):
            yield from self._from(ticks, earlier)

    def _end_of(self, packet: Packet[Any]) -> int:
        """The tick at which a packet's frame makes way for the next."""
        return (packet.pts or 0) + (packet.duration or int(1 / (Fraction(self.fps) * self.tick)))

    def _from(self, ticks: int, earlier: bool = False) -> Iterator[Packet[VideoStream]]:
        """Yield all packets from a keyframe on that is shown at or before `ticks`.

        A seek can land late (containers index decoding times, not showing times) or between keyframes, and frames
        that follow a keyframe in the file but are shown before it need frames from before it. So a landing counts
        only if its first keyframe is shown at or before `ticks`; else the seek starts further back.
        """
        step = max(1, int(1 / self.tick))
        start = ticks
        while True:
            from_start = start <= max(self.origin, self._stream.start_time or 0)
            if from_start:
                self._rewind()
            else:
                self._container.seek(start, stream=self._stream, backward=True)
            self._is_fresh = False
            packets = (packet for packet in self._container.demux(self._stream) if packet.size)
            first = next((packet for packet in packets if packet.is_keyframe), None)
            if first is None and from_start:
                return
            if first is not None and (from_start or (first.pts is not None and first.pts <= ticks)):
                if not earlier or from_start:
                    yield from chain([first], packets)
                    return
                ticks, earlier = (first.pts or 0) - 1, False
                start = ticks
                continue
            start, step = start - step, step * 2

    def _rewind(self) -> None:
        """Stand at the start of the file; by opening it again, since a seek to the start is refused by some formats
        (AVI) and lands on the second keyframe in others (MPEG-TS)."""
        if not self._is_fresh:
            self._container.close()
            self.open()

    def _is_hidden(self, packet: Packet[VideoStream]) -> bool:
        """Whether a packet is decoded and never shown: VP8 says so in a bit of its first byte (RFC 6386, 9.1)."""
        return self.codec == "vp8" and not memoryview(packet)[0] & 0x10

    def keyframes_around(self, ticks: int, until: int) -> tuple[int, int | None]:
        """Return the showing times of the last keyframe at or before a tick, and of the next if before `until`."""
        before, until = self.origin, min(until, ticks + int(KEYFRAME_REACH_S / self.tick))
        for packet in self._from(ticks):
            if packet.pts is None or (packet.dts or packet.pts) >= until:
                break
            if packet.is_keyframe and not packet.is_discard:
                if packet.pts > ticks:
                    return before, packet.pts if packet.pts < until else None
                before = max(before, packet.pts)
        return before, None

    def _is_misplaced(self, packet: Packet[VideoStream]) -> bool:
        """Whether an AVI's index has another packet at this time: reading over damage, FFmpeg loses count."""
        entries = self._stream.index_entries
        if self._kind != "avi" or packet.dts is None or packet.pos is None or not len(entries):
            return False
        place = entries.search_timestamp(packet.dts, any_frame=True)
        return place >= 0 and entries[place].timestamp == packet.dts and packet.pos - entries[place].pos not in (0, 8)

    def is_lost(self, tick: int, pts: int) -> bool:
        """Whether the frame shown at a tick is lost, though another from before it, at `pts`, would still be there.

        A frame that stays may be meant to, or those that follow it are damaged so that the container passed over
        them. Where the container gives each frame its length, the length tells. Else a Matroska file is looked at for
        bytes that belong to no packet.
        """
        held = (tick - pts) * self.tick * Fraction(self.fps)
        if self._kind == "mpegts":
            return held > max(10, STILL_S * self.fps)
        if self._kind != "matroska" or held < 1.5:
            return False
        if pts not in self._lost_after:
            self._lost_after[pts] = self._has_loose_bytes(pts, tick)
        return self._lost_after[pts]

    def _has_loose_bytes(self, pts: int, tick: int) -> bool:
        end = until = None
        with suppress(*BROKEN):
            self._container.seek(pts, stream=self._stream, backward=True)
            self._is_fresh = False
            for packet in self._container.demux():
                if packet.pos is None or packet.pos < 0 or not packet.size:
                    continue
                if end is not None and packet.pos - end > BETWEEN_BLOCKS:
                    return True
                own = packet.stream is self._stream
                if own and packet.pts is not None and packet.pts > tick and end is not None:
                    return False
                if own and packet.pts == pts:
                    until = self._end_of(packet)
                if end is not None or until is not None:
                    end = packet.pos + packet.size
        return until is not None and tick >= until  # at the end of the file

    def shown_pts(self) -> list[int]:
        """Return the showing times of all frames, in order."""
        packets = self._until_damage(self.origin, False)
        shown = (p.pts for p in packets if p.pts is not None and not p.is_discard and not self._is_hidden(p))
        return sorted(shown)

    # --- measuring --------------------------------------------------------------------------------

    def _first_pts(self) -> int:
        """Showing time of the first frame, in ticks.

        It is that of the first keyframe's packet, or, where a file was cut between keyframes and begins with packets
        that are decoded and not shown, the earliest of the others before the next keyframe.
        """
        self._is_fresh, shown = False, None
        try:
            for packet in self._container.demux(self._stream):
                if packet.dts is not None and packet.pts is not None and "mov" in self._container.format.name:
                    self._delay = packet.pts - packet.dts  # its index has decoding times
                if packet.is_keyframe and packet.pts is not None and (shown is not None or not packet.is_discard):
                    return packet.pts if shown is None else shown
                if packet.pts is not None and not packet.is_discard:
                    shown = packet.pts if shown is None else min(shown, packet.pts)
        except BROKEN as error:
            raise VideoError(f"{self.path} cannot be read ({reason(error)}): copy or download it again.") from error
        if shown is None:
            raise VideoError(f"{self.path} holds no video frame: is the file whole?")
        return shown

    def _measure_end(self) -> tuple[Fraction, Fraction]:
        """Return when the video ends, and when the part of it that can be read ends, in seconds from its start.

        Costs one seek where the container can seek, a pass over the packets where it cannot.
        """
        start = Fraction(self._container.start_time or 0, 1_000_000)
        declared = (self._stream.duration or 0) * self.tick
        if self._kind == "avi":  # FFmpeg shortens that to what is there, and keeps the count
            declared = self._stream.frames / Fraction(self.fps).limit_denominator(100_000)
        length = max(Fraction(self._container.duration or 0, 1_000_000), declared)
        # Some formats count the length from the first frame, some from zero: the lesser of the two is what is promised.
        promised = length + min(start, Fraction(0))
        origin, slack = self.origin * self.tick, 1 + promised / 100
        # Frames are shown in another order than they lie in the file: two seconds cover the last one.
        ends = self._ends_after(max(length + start - 2, origin))
        if ends is None or promised - max(ends) > slack:
            ends = self._ends_after(self._last_readable(promised))
        readable = ends[0] - origin if ends else Fraction(0)
        if ends is None or promised - max(ends) > slack:  # truncated: every stream stops before the end
            return max(declared or promised - max(origin, Fraction(0)), readable), readable
        return readable, readable

    def _last_readable(self, promised: Fraction) -> Fraction:
        """Return a time shortly before the last packet that can be read, by halving."""
        low, high = self.origin * self.tick, promised
        while high - low > 1:
            middle = (low + high) / 2
            low, high = (middle, high) if self._ends_after(middle, packets=1) else (low, middle)
        return max(low - 1, Fraction(0))

    def _ends_after(self, start: Fraction, packets: int = 0) -> tuple[Fraction, Fraction] | None:
        """Return the end of the last video packet and of the last packet at all, read from the keyframe at `start`;
        with `packets`, of the first so many video packets."""
        video_end = any_end = None
        frame, seen = 1 / Fraction(self.fps).limit_denominator(100_000), 0
        try:
            self._container.seek(int(start / self.tick), stream=self._stream, backward=True)
            for packet in self._container.demux():
                if packet.pts is None or packet.time_base is None or packet.is_corrupt:
                    continue
                own = packet.stream is self._stream
                length = packet.duration * packet.time_base if packet.duration else frame if own else Fraction(0)
                end = packet.pts * packet.time_base + length
                if own:
                    video_end = end if video_end is None else max(video_end, end)
                    seen += 1
                any_end = end if any_end is None else max(any_end, end)
                if seen == packets != 0:
                    break
        except BROKEN:
            pass  # damage near the end: what was read until here counts
        return None if video_end is None or any_end is None else (video_end, any_end)


class Aim:
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


def reason(error: BaseException) -> str:
    """Return a library's error as a few words."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _open(path: Path) -> tuple[InputContainer, VideoStream]:
    # A hostile "video" may be a playlist of addresses: only plain files are read. Some AVI files say only when a
    # frame is decoded; with genpts, when it is shown is worked out from that.
    options = {"protocol_whitelist": "file", "fflags": "+genpts"}
    try:
        container = av.open(str(path), metadata_errors="replace", options=options, timeout=READ_TIMEOUT_S)
    except BROKEN as error:
        raise VideoError(f"{path} is not a video that can be read, or it is truncated ({reason(error)}).") from error
    if container.format.name in NOT_VIDEO or container.format.name.endswith("_pipe"):
        raise VideoError(f"{path} is not a video: it reads as {container.format.long_name or container.format.name}.")
    streams = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
    if not streams:
        what = "only sound" if container.streams.audio else "no video"
        raise VideoError(f"{path} holds {what}: name a file with a picture in it.")
    best = container.streams.best("video")
    stream = best if isinstance(best, VideoStream) and best in streams else streams[0]
    if stream.codec_context is None:
        raise VideoError(f"{path} is coded in a way that this FFmpeg cannot decode.")
    return container, stream


def _shown_size(coded: tuple[int, int], aspect: Fraction | None, rotation: int) -> tuple[int, int]:
    """Return the size with square pixels and upright; no side gets smaller than it is coded."""
    width, height = coded
    aspect = Fraction(aspect) if aspect and Fraction(1, 20) < aspect < 20 else Fraction(1)
    if aspect > 1:
        width = round(width * aspect)
    else:
        height = round(height / aspect)
    return (height, width) if rotation in (90, 270) else (width, height)
