"""The default reader: exact frames through PyAV, each packet decoded once at most.

A request is sorted and cut into groups of times that share a group of pictures (GOP). Each group is one job: its
packets are read under a lock, then decoded by a decoder of its own, in parallel with other jobs (decoding releases the
GIL). On the way to a frame, frames that no other refers to are passed over undecoded.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from av.codec import codecs_available
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from atlaskit.errors import FrameError, VideoError, reason
from atlaskit.video.readers import CORES, Pixels, Reader
from atlaskit.video.readers.container import BROKEN, is_passing, scaled
from atlaskit.video.readers.demux import DecodeStep, Demuxer, PacketId, place_of
from atlaskit.video.readers.targets import Targets

WALK_S = 2.0
"""Where a file has no index, times this near to each other are taken to share a GOP."""
STALL_S = 60.0
"""A decoder that has given no frame for this long is given up."""
LARGEST_FRAME_PX = 1 << 26
"""A header that claims larger frames than this is not believed; 8K has half as many pixels."""
BETTER = {"vp8": "libvpx"}
"""Decoders that are taken for a codec where PyAV has them. FFmpeg's own decoder of VP8 leaves the rows that damage
keeps it from as they are, says nothing, and so shows what its memory held: at times another frame, whole."""
TAIL = 64
"""Packets read on after the last frame asked for, where the next frames are expected to be asked for soon."""
MOST_OPEN = 32
"""Files kept open, however many videos there are."""
_slots = threading.BoundedSemaphore(CORES)
"""However many threads ask, no more decoders work at a time than there are cores: each takes some 30 MB for 1080p."""


class PyAVReader(Reader):
    """Frames of one file through PyAV."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._demuxer = Demuxer(path)
        self.duration_s, self.readable_s = float(self._demuxer.end), float(self._demuxer.readable_end)
        self.fps, self.size = self._demuxer.fps, self._demuxer.size
        self.origin_s = float(self._demuxer.origin * self._demuxer.tick)
        self._last: int | None = None
        self._standing: _Decoder | None = None
        self._broken: dict[int, _StreamBreak] = {}
        _keep_open(self)

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int]) -> list[Pixels | FrameError]:
        """Return the frame shown at each time, scaled to `size` (w, h), or the error that is in its place."""
        ticks = [self._demuxer.ticks(time_s) for time_s in times_s]
        wanted = sorted({tick for tick in ticks if not self._demuxer.is_missing(tick)})
        with self._lock:
            try:
                self._open()
            except VideoError as error:
                return [self._error(_DecodeFailure(str(error), is_lasting=False), time_s) for time_s in times_s]
            groups = self._groups(wanted)
            is_sequence = bool(groups) and self._last is not None and self._are_near(self._last, wanted[0])
            self._last = wanted[-1] if wanted else self._last
        found: dict[int, Pixels | _DecodeFailure] = {}
        if len(groups) == 1:
            found = self._job(groups[0], size, threads=0, is_sequence=is_sequence)
        elif groups:
            with ThreadPoolExecutor(min(CORES, len(groups)), thread_name_prefix="atlaskit-reader") as pool:
                for part in pool.map(lambda group: self._job(group, size, threads=1), groups):
                    found |= part
        answers = [found.get(tick) for tick in ticks]
        return [
            answer if isinstance(answer, np.ndarray) else self._error(answer, time_s)
            for answer, time_s in zip(answers, times_s, strict=True)
        ]

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe shown at or before a time, and of the next if before `until_s`."""
        demuxer = self._demuxer
        with self._lock:
            try:
                self._open()
                before, after = demuxer.keyframes_around(demuxer.ticks(time_s), demuxer.ticks(until_s))
            except (*BROKEN, VideoError) as error:
                raise self._error(_DecodeFailure(reason(error), not is_passing(error)), time_s) from error
        return demuxer.seconds(before), None if after is None else demuxer.seconds(after)

    def frame_times(self) -> list[float]:
        """Return the second of every frame, in order. Decodes nothing, but reads the whole file."""
        with self._lock:
            self._open()
            return [self._demuxer.seconds(pts) for pts in self._demuxer.shown_pts()]

    # --- the file ---------------------------------------------------------------------------------

    def _open(self) -> None:
        if not self._demuxer.is_open:
            self._demuxer.open()
        _keep_open(self)

    def close_if_idle(self) -> bool:
        """Close the file unless it is in use; the next request opens it again."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._demuxer.close()
            self._standing = None
            return True
        finally:
            self._lock.release()

    # --- groups -----------------------------------------------------------------------------------

    def _groups(self, wanted: list[int]) -> list[list[int]]:
        """Cut ticks into groups that share a GOP, as far as can be told without reading the file."""
        groups: list[list[int]] = []
        for tick in wanted:
            if groups and self._are_near(groups[-1][-1], tick):
                groups[-1].append(tick)
            else:
                groups.append([tick])
        return groups

    def _are_near(self, tick: int, later: int) -> bool:
        gop, other = self._demuxer.gop_of(tick), self._demuxer.gop_of(later)
        if gop is None or other is None:
            return 0 <= (later - tick) * self._demuxer.tick <= WALK_S
        return gop == other and tick <= later

    # --- jobs -------------------------------------------------------------------------------------

    def _job(
        self, wanted: list[int], size: tuple[int, int], *, threads: int, is_sequence: bool = False
    ) -> dict[int, Pixels | _DecodeFailure]:
        """Decode the frames of one group, or say why not. If anything is wrong on the way, each is decoded by itself,
        so that what can be shown does not depend on what else was asked for."""
        with suppress(_Damage):
            return dict(self._decode(wanted, size, threads=threads, is_sequence=is_sequence))
        return {tick: self._alone(tick, size) for tick in wanted}

    def _alone(self, tick: int, size: tuple[int, int]) -> Pixels | _DecodeFailure:
        """Decode one frame; where that fails, once more from one keyframe earlier: some keyframes only begin to make
        the picture whole."""
        try:
            return self._decode([tick], size, threads=1)[tick]
        except _Damage as damage:
            failure, found_at = _DecodeFailure(str(damage), damage.is_lasting), damage.found_at
            if damage.is_known or not damage.is_lasting:
                return failure
        with suppress(_Damage):
            return self._decode([tick], size, threads=1, is_earlier=True)[tick]
        if found_at:
            self._broken[found_at.keyframe] = found_at
        return failure

    def _decode(
        self,
        wanted: list[int],
        size: tuple[int, int],
        *,
        threads: int,
        is_sequence: bool = False,
        is_earlier: bool = False,
    ) -> dict[int, Pixels]:
        """Return the frame of each tick; raise _Damage if anything was wrong on the way to them."""
        aim, decoder = Targets(wanted), None
        try:
            with _slots:
                with self._lock:
                    self._open()
                    decoder = self._decoder(wanted[0], threads, is_sequence)
                    decoder.aim(size, {} if is_earlier else self._broken)
                    tail = TAIL if is_sequence else 0
                    lists = self._demuxer.steps(aim, after=decoder.stands_at, tail=tail, earlier=is_earlier)
                    steps = next(lists)
                    for following in lists:  # only a GOP too large for one list is decoded while the file is held
                        decoder.feed(steps)
                        steps = following
                decoder.finish(steps, aim, may_stand=is_sequence)
            targets, found = {tick: aim.target_of(tick) for tick in wanted}, decoder.take_found()
            if any(pts not in found for pts in targets.values()):
                raise _Damage("no whole frame there")
            with self._lock:
                self._open()
                if any(self._demuxer.is_lost(tick, int(pts)) for tick, pts in targets.items()):
                    raise _Damage("a part of the file is passed over")
                self._standing = decoder if decoder.stands_at is not None else self._standing
        except (*BROKEN, VideoError) as error:
            raise _Damage(reason(error), is_lasting=not is_passing(error)) from error
        finally:
            if decoder is not None:
                with self._lock:
                    self.frames_decoded += decoder.new_frames()
        return {tick: found[pts] for tick, pts in targets.items()}

    def _decoder(self, tick: int, threads: int, is_sequence: bool) -> _Decoder:
        """Return the decoder that stands shortly before a tick, or else a new one."""
        standing, self._standing = self._standing, None
        if is_sequence and standing and self._are_near(standing.last_tick, tick):
            return standing
        return _Decoder(self._demuxer, threads)

    def _error(self, failure: _DecodeFailure | None, time_s: float) -> FrameError:
        failure = failure or _DecodeFailure(f"the file ends after {self.readable_s:.3f} s")
        said = f"{self._path.name} cannot be decoded at {time_s:.3f} s ({failure.why})."
        return FrameError(said, is_lasting=failure.is_lasting)


class _DecodeFailure(NamedTuple):
    """Why there is no frame, and whether that lies in the file."""

    why: str
    is_lasting: bool = True


class _StreamBreak(NamedTuple):
    """A place in a file that cannot be passed: nothing of this GOP that is decoded after it can be made whole."""

    keyframe: int
    dts: int
    why: str


class _Damage(Exception):
    """Something was wrong on the way from a keyframe to the frames asked for."""

    def __init__(
        self, why: str, found_at: _StreamBreak | None = None, *, is_known: bool = False, is_lasting: bool = True
    ) -> None:
        super().__init__(why)
        self.found_at, self.is_known, self.is_lasting = found_at, is_known, is_lasting


class _Decoder:
    """One decoder on its way through one file, and the frames it found."""

    def __init__(self, demuxer: Demuxer, threads: int) -> None:
        self._context = _context(demuxer, threads)
        self._can_skip, self._rotation = demuxer.is_skippable, demuxer.rotation
        self._unordered: list[int] | None = [] if demuxer.is_unordered else None
        self._scaler = VideoReformatter()
        self._new_frames = 0
        self._dts_of: dict[int, int | None] = {}
        self._recent: list[VideoFrame] = []
        self._keeps_recent = False
        self.keyframe: int | None = None
        """Showing time of the packet it began with."""
        self.stands_at: PacketId | None = None
        """The packet it had last, if the next can follow; else None."""
        self.last_tick = 0
        """The latest tick it was asked for."""
        self._found: dict[float, Pixels] = {}

    def aim(self, size: tuple[int, int], broken: dict[int, _StreamBreak]) -> None:
        """Look for frames of a size, on a way that was not yet found to be `broken`."""
        self._size, self._broken = size, broken
        self._targets: set[float] = set()
        self._found = {}
        self._progress_s = time.monotonic()

    def feed(self, steps: Sequence[DecodeStep]) -> None:
        """Decode packets; raise _Damage if one cannot be."""
        for step in steps:
            self._feed(step)

    def finish(self, steps: Sequence[DecodeStep], aim: Targets, *, may_stand: bool) -> None:
        """Decode the last packets and what the decoder still holds; or, if it may stand, only until all is found, so
        that it can go on from there."""
        self._keeps_recent, self.last_tick = may_stand, aim.wanted[-1]
        self._targets |= aim.targets
        for frame in self._recent:
            self._find(frame)
        last = max((place for place, step in enumerate(steps) if step.is_target), default=-1)
        for place, step in enumerate(steps):
            if may_stand and place > last and self._targets <= self._found.keys():
                break
            self._feed(step)
        else:
            self._take(None)
            self.stands_at, self._recent = None, []
        self._recent = [frame for frame in self._recent if frame.pts is not None and frame.pts >= aim.best[-1]]

    def take_found(self) -> dict[float, Pixels]:
        """Return the frames asked for, by showing time, and keep none of them."""
        found, self._found = self._found, {}
        return found

    def new_frames(self) -> int:
        """Return how many frames were decoded since this was last asked."""
        count, self._new_frames = self._new_frames, 0
        return count

    def _feed(self, step: DecodeStep) -> None:
        packet = step.packet
        if self.keyframe is None:
            self.keyframe = packet.pts
        if step.is_target and packet.pts is not None:
            self._targets.add(packet.pts)
        self._check(packet, step.is_damaged)
        self._context.skip_frame = "NONREF" if step.may_skip and not step.is_target and self._can_skip else "DEFAULT"
        if packet.pts is not None:
            self._dts_of[packet.pts] = packet.dts
            if self._unordered is not None:
                heapq.heappush(self._unordered, packet.pts)
        self._take(packet)
        self.stands_at = place_of(packet)

    def _check(self, packet: Packet[VideoStream], is_damaged: bool) -> None:
        known = self._broken.get(self.keyframe) if self.keyframe is not None else None
        if known and packet.dts is not None and packet.dts > known.dts:
            raise _Damage(known.why, is_known=True)
        if is_damaged:
            raise self._damage("a damaged packet", packet.pts)
        if time.monotonic() - self._progress_s > STALL_S:
            raise _Damage(f"no frame in {STALL_S:g} s", is_lasting=False)

    def _take(self, packet: Packet[VideoStream] | None) -> None:
        """Decode a packet, or with None what is still held, and look at each frame that comes out."""
        try:
            frames = self._context.decode(packet)
        except BROKEN as error:
            if is_passing(error):
                raise
            raise self._damage(reason(error), packet.pts if packet else None) from error
        for frame in frames:
            self._new_frames += 1
            self._progress_s = time.monotonic()
            if self._unordered:
                frame.pts = heapq.heappop(self._unordered)
            if frame.is_corrupt:
                raise self._damage("a damaged frame", frame.pts)
            self._find(frame)
            if self._keeps_recent:
                self._recent.append(frame)

    def _find(self, frame: VideoFrame) -> None:
        if frame.pts is not None and frame.pts in self._targets and frame.pts not in self._found:
            try:
                self._found[frame.pts] = self._pixels(frame)
            except BROKEN as error:  # a size that cannot be scaled
                if is_passing(error):
                    raise
                raise self._damage(reason(error), frame.pts) from error

    def _pixels(self, frame: VideoFrame) -> Pixels:
        coded = self._size if self._rotation in (0, 180) else self._size[::-1]
        return np.rot90(scaled(self._scaler, frame, coded), self._rotation // 90)

    def _damage(self, why: str, pts: int | None) -> _Damage:
        dts = self._dts_of.get(pts) if pts is not None else None
        if self.keyframe is None or dts is None or pts in self._targets:  # others may be whole
            return _Damage(why)
        return _Damage(why, _StreamBreak(self.keyframe, dts, why))


def _context(demuxer: Demuxer, threads: int) -> VideoCodecContext:
    """Return a decoder for a file's video, with `threads` threads (0: as many as are good)."""
    template = demuxer.stream.codec_context
    better = BETTER.get(template.codec.name, "")
    context = VideoCodecContext.create(better if better in codecs_available else template.codec.name, "r")
    assert isinstance(context, VideoCodecContext)
    for name in (
        *("extradata", "width", "height", "pix_fmt", "codec_tag", "bits_per_coded_sample", "field_order"),
        *("color_range", "colorspace", "color_primaries", "color_trc"),
    ):
        if (value := getattr(template, name, None)) is not None:  # PyAV 18.0 has no field_order
            setattr(context, name, value)
    context.thread_type, context.thread_count = "AUTO", threads
    # Decoders with several threads may give a frame before they mark it as damaged. So they stop at the slightest
    # fault, upon which each frame is decoded by one thread, whose word holds.
    strict = {} if threads == 1 else {"err_detect": "explode"}
    context.options = {"max_pixels": str(LARGEST_FRAME_PX)} | strict
    return context


_open_readers: WeakValueDictionary[int, PyAVReader] = WeakValueDictionary()
_shelf = threading.Lock()


def _keep_open(reader: PyAVReader) -> None:
    """Note that a file is used now, and close those unused for longest where too many are open."""
    with _shelf:
        _open_readers.pop(id(reader), None)
        _open_readers[id(reader)] = reader
        surplus = len(_open_readers) - MOST_OPEN
        for key, other in list(_open_readers.items())[: max(0, surplus)]:
            if other.close_if_idle():
                del _open_readers[key]
