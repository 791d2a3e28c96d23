"""`PyAVReader`, the default reader: exact frames through PyAV, decoded in parallel.

`open_source` reads a file in place if its container is trusted; otherwise it makes an index of the
file. A request is sorted and divided into groups of times that share a group of pictures (GOP).
Each group is one job: its packets are read under a lock and decoded by a decoder of its own, in
parallel with other jobs, since decoding releases the GIL. On the way to a requested frame, frames
to which no other frame refers are not decoded.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np

from atlaskit.errors import FrameError, VideoError
from atlaskit.video.names import file_fingerprint
from atlaskit.video.readers import CORES, FrameOrError, Packets, Pixels, Size
from atlaskit.video.readers.container import DECODE_ERRORS, Distrust, open_container
from atlaskit.video.readers.decoder import TRANSPARENT, DecodeError, Decoder
from atlaskit.video.readers.index import MadeSource, folder_of_indexes, read_index
from atlaskit.video.readers.making import make_index
from atlaskit.video.readers.sources import PacketSource, StepPlan
from atlaskit.video.readers.trusted import (
    TrustedSource,
    check_account,
    check_clock,
    check_keyframe,
    head_of,
    is_live,
)


def open_source(path: Path, indexes: Path) -> PacketSource:
    """Open the video stream of a file.

    Args:
        path: The file.
        indexes: Folder of the indexes. It also holds a marker for each live recording that was
            checked and needs no index. It is created when it is needed.

    Raises:
        VideoError: The file is not a video that can be read, or its index cannot be stored.
    """
    try:
        return _open_trusted(path, indexes)
    except Distrust as distrust:
        why = str(distrust)
    target = folder_of_indexes(indexes) / f"{file_fingerprint(path)}.packets"
    index = read_index(target)
    if index is None:
        container, stream = open_container(path, is_known=True)
        with container:
            make_index(container, stream, path, why, target)
        index = read_index(target)
    if index is None:
        raise VideoError(f"The index {target} of {path} cannot be read back: check the disk.")
    return MadeSource(path, index)


def _open_trusted(path: Path, indexes: Path) -> PacketSource:
    """Open the video stream of a file in place; raise Distrust if its container may be wrong."""
    container, stream = open_container(path)
    try:
        if is_live(container, path):
            marker = indexes / f"{file_fingerprint(path)}.orderly"
            if not marker.exists():
                check_clock(container, stream)
                with suppress(VideoError, OSError):  # without a marker, the file is checked again
                    folder_of_indexes(indexes)
                    marker.touch()
                container.close()
                container, stream = open_container(path, is_known=True)
        head = head_of(container, stream)
        check_account(container, stream, path, head)
        source = TrustedSource(path, container, stream, head)
        middle = source.origin + int(source.end / source.tick / 2)
        check_keyframe(container, stream, middle)
        return source
    except Distrust:
        container.close()
        raise


ASSUMED_GOP_S = 2.0
"""Times within this distance are assumed to share a GOP where the GOPs are not known."""
TAIL_PACKETS = 64
"""Packets that are read after the last requested frame if the next frames are likely to be
requested soon."""
MOST_OPEN = 32
"""The most files that stay open."""
_recent: WeakValueDictionary[int, PyAVReader] = WeakValueDictionary()
"""Readers with an open file, the most recently used one last."""
_recent_lock = threading.Lock()
_decoding = threading.BoundedSemaphore(CORES)
"""Limits the decoders at work to the number of cores: for 1080p, each takes some 30 MB."""


class PyAVReader:
    """The frames of one video file; second 0 is its first frame. Several threads may use it.

    Attributes:
        duration_s: Length in seconds.
        readable_s: Second at which the readable part ends; less than `duration_s` in a truncated
            file.
        fps: Frames per second, on average.
        size: (width, height) in pixels as the video is shown: upright, and with square pixels.
        origin_s: The container's time of the first frame. The times of embedded subtitles are in
            the container's time.
        start_s: The container's time at which its earliest stream starts: second 0 of players and
            of subtitle files. It is less than `origin_s` if sound comes before the first frame.
        joints: Where the container's clock restarts or jumps, in the order of the file. In a pair
            (byte, seconds), the seconds are added to all times of packets from this byte of the
            file on, until the next joint.
        frames_decoded: Number of frames decoded so far, including those on the way to a requested
            frame.

    Raises:
        VideoError: The file is not a video that can be read.
    """

    def __init__(self, path: Path, indexes: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._source = open_source(path, indexes)
        self.duration_s = float(self._source.end)
        self.readable_s = float(self._source.readable_end)
        self.fps = self._source.fps
        self.size = self._source.size
        self.origin_s = float(self._source.origin * self._source.tick)
        self.start_s = min(self.origin_s, float(self._source.start))
        self.joints = self._source.joints
        self.frames_decoded = 0
        self._last_tick: int | None = None  # the latest tick of the last request
        self._paused: Decoder | None = None  # a decoder that may continue for the next request
        self._open()

    def try_frames(self, times_s: Sequence[float], size: Size) -> list[FrameOrError]:
        """Return the frame shown at each time, scaled to `size` (w, h), or its error.

        Every time lies in `[0, duration_s)`. The frame is the one that playing the file from its
        start shows at that time.
        """
        ticks = [self._source.ticks(time_s) for time_s in times_s]
        wanted = sorted({tick for tick in ticks if not self._source.is_missing(tick)})
        with self._lock:
            try:
                self._open()
            except VideoError as error:
                return [
                    self._frame_error(DecodeError(str(error), is_lasting=False), time_s)
                    for time_s in times_s
                ]
            groups = self._groups(wanted)
            is_sequence = (
                bool(groups)
                and self._last_tick is not None
                and self._are_near(self._last_tick, wanted[0])
            )
            self._last_tick = wanted[-1] if wanted else self._last_tick
        found = self._decode_groups(groups, size, is_sequence)
        frames = list[FrameOrError]()
        for tick, time_s in zip(ticks, times_s, strict=True):
            answer = found.get(tick)
            if isinstance(answer, np.ndarray):
                frames.append(answer)
            else:
                frames.append(self._frame_error(answer, time_s))
        return frames

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe up to `time_s` and of the next before `until_s`.

        The second value is None if there is no such keyframe. Nothing is decoded.
        """
        source = self._source
        with self._reading(time_s):
            before, after = source.keyframes_around(source.ticks(time_s), source.ticks(until_s))
        if after is None:
            return source.seconds(before), None
        return source.seconds(before), source.seconds(after)

    def frame_times(self) -> list[float]:
        """Return the second of every frame, in order. The file is read, and nothing decoded."""
        source = self._source
        times_s = []
        with self._reading():
            for step in source.packets_from(source.origin):
                # Frames before the first one that is shown need others that are not in the file.
                pts = step.packet.pts
                if step.is_shown and pts is not None and pts >= source.origin:
                    times_s.append(source.seconds(pts))
        return sorted(times_s)

    def packets(self) -> Packets:
        """Return the packets of all frames, in order of time. Nothing is decoded."""
        source = self._source
        times_s = []
        sizes = []
        are_keyframes = []
        with self._reading():
            rows = sorted(source.packet_rows())
        for pts, size, is_keyframe in rows:
            if source.origin <= pts and not source.is_missing(pts):
                times_s.append(source.seconds(pts))
                sizes.append(size)
                are_keyframes.append(is_keyframe)
        return Packets(
            np.array(times_s, np.float64),
            np.array(sizes, np.int64),
            np.array(are_keyframes, np.bool_),
        )

    # --- the file ---------------------------------------------------------------------------------

    @contextmanager
    def _reading(self, time_s: float = 0.0) -> Iterator[None]:
        """Hold the lock and keep the file open; turn a reading error inside into a FrameError."""
        with self._lock:
            try:
                self._open()
                yield
            except (*DECODE_ERRORS, VideoError) as error:
                raise self._frame_error(DecodeError.of(error), time_s) from error

    def _open(self) -> None:
        """Open the file if it is closed, then close the least recently used files beyond MOST_OPEN.

        Files in use stay open.
        """
        if not self._source.is_open:
            self._source.open()
        with _recent_lock:
            _recent.pop(id(self), None)
            _recent[id(self)] = self
            surplus = len(_recent) - MOST_OPEN
            for key, other in list(_recent.items())[: max(0, surplus)]:
                if other.close_if_idle():
                    del _recent[key]

    def close_if_idle(self) -> bool:
        """Close the file and return True, or return False if it is in use.

        The next request opens it again.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._source.close()
            self._paused = None
            return True
        finally:
            self._lock.release()

    # --- groups -----------------------------------------------------------------------------------

    def _groups(self, wanted: list[int]) -> list[list[int]]:
        """Divide ticks into groups that share a GOP, as far as the GOPs are known."""
        groups: list[list[int]] = []
        for tick in wanted:
            if groups and self._are_near(groups[-1][-1], tick):
                groups[-1].append(tick)
            else:
                groups.append([tick])
        return groups

    def _are_near(self, tick: int, later: int) -> bool:
        """Return whether one decoder should go on from a tick to a later one."""
        gop = self._source.gop_of(tick)
        other = self._source.gop_of(later)
        if gop is None or other is None:
            return 0 <= (later - tick) * self._source.tick <= ASSUMED_GOP_S
        return gop == other and tick <= later

    # --- jobs -------------------------------------------------------------------------------------

    def _decode_groups(
        self, groups: list[list[int]], size: Size, is_sequence: bool
    ) -> dict[int, Pixels | DecodeError]:
        """Decode groups in parallel. The fewer groups there are, the more threads each has.

        If an error occurs in a group, each of its frames is decoded alone, so that a frame does not
        depend on what else was requested.
        """
        threads = 1
        if len(groups) == 1:
            threads = 0  # FFmpeg chooses their number
        elif len(groups) <= CORES:
            threads = 2  # when shorter groups have ended, the longest can use their cores

        def decoded(wanted: list[int]) -> dict[int, Pixels | DecodeError]:
            with suppress(DecodeError):
                frames = self._decode(wanted, size, threads=threads, is_sequence=is_sequence)
                return dict[int, Pixels | DecodeError](frames)
            return {tick: self._decode_alone(tick, size) for tick in wanted}

        if len(groups) == 1:  # in this thread, where Ctrl+C stops it at once
            return decoded(groups[0])
        found = dict[int, Pixels | DecodeError]()
        with ThreadPoolExecutor(CORES, thread_name_prefix="atlaskit-reader") as pool:
            for part in pool.map(decoded, groups):
                found |= part
        return found

    def _decode_alone(self, tick: int, size: Size) -> Pixels | DecodeError:
        """Decode one frame; if that fails, from one keyframe earlier, then without transparency.

        An earlier keyframe helps since after some keyframes, the first frames are not complete yet.
        """
        try:
            return self._decode([tick], size, threads=1)[tick]
        except DecodeError as error:
            failure = error
        if failure.is_lasting:
            with suppress(DecodeError):
                return self._decode([tick], size, threads=1, is_earlier=True)[tick]
            if self._source.codec.name in TRANSPARENT:
                with suppress(DecodeError):
                    return self._decode([tick], size, threads=1, is_opaque=True)[tick]
        return failure

    def _decode(
        self,
        wanted: list[int],
        size: Size,
        *,
        threads: int,
        is_sequence: bool = False,
        is_earlier: bool = False,
        is_opaque: bool = False,
    ) -> dict[int, Pixels]:
        """Return the frame of each tick; raise DecodeError if any error occurs on the way."""
        decoder = None
        try:
            with _decoding:
                with self._lock:
                    self._open()
                    decoder = self._paused_near(wanted[0]) if is_sequence else None
                    decoder = decoder or Decoder(self._source, threads, is_opaque=is_opaque)
                    plan = StepPlan(wanted, decoder.position)
                    decoder.start(plan, size)
                    tail = TAIL_PACKETS if is_sequence else 0
                    chunks = self._source.steps(plan, tail=tail, is_earlier=is_earlier)
                    steps = next(chunks)
                    # The last chunk is decoded after the lock is released. Only a very long GOP has
                    # more than one.
                    for following in chunks:
                        for step in steps:
                            decoder.feed(step)
                        steps = following
                found = decoder.finish(steps, may_pause=is_sequence)
            pts_of = {tick: plan.target_of(tick) for tick in wanted}
            if any(pts not in found for pts in pts_of.values()):
                raise DecodeError("no whole frame there")
            with self._lock:
                self._open()
                if any(self._source.is_lost(tick, int(pts)) for tick, pts in pts_of.items()):
                    raise DecodeError("the file has a gap there")
                if decoder.position is not None:
                    self._paused = decoder
        except (*DECODE_ERRORS, VideoError) as error:
            raise DecodeError.of(error) from error
        finally:
            if decoder is not None:
                with self._lock:
                    self.frames_decoded += decoder.take_frame_count()
        return {tick: found[pts] for tick, pts in pts_of.items()}

    def _paused_near(self, tick: int) -> Decoder | None:
        """Take the decoder that is paused shortly before a tick; None if there is none."""
        paused = self._paused
        self._paused = None
        if paused and self._are_near(paused.last_tick, tick):
            return paused
        return None

    def _frame_error(self, failure: DecodeError | None, time_s: float) -> FrameError:
        """Return the error of the frame at a time; None stands for a time after the file's end."""
        failure = failure or DecodeError(f"the file ends after {self.readable_s:.3f} s")
        message = f"{self._path.name} cannot be decoded at {time_s:.3f} s ({failure})."
        return FrameError(message, is_lasting=failure.is_lasting)
