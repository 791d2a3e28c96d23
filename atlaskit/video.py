"""Frames at times, exactly: `frame(t)` is the frame that playing the file from its start shows at second t.

Reads one file through PyAV. Time 0 is the first frame of the file. Knows nothing of grids, caches or agents.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import FrameError, InputError, VideoError
from atlaskit.subtitles import Subtitles, read_subtitles

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream
    from PIL.Image import Image

Pixels = NDArray[np.uint8]
"""One frame, (height, width, 3), RGB."""

TIME_STEP_S = 1e-6
"""Times are told apart to a microsecond, so that a frame's own time, rounded to a float, still finds that frame."""
WALK_S = 2.0
"""A wanted frame this near ahead is reached by decoding on; farther away, by seeking."""
NOT_VIDEO = {"tty", "image2", "bin", "xbin", "adf", "idf", "hls", "dash", "concat"}
"""FFmpeg's names of formats that are text, a still, or a list of other files."""


class Video(ABC):
    """A video: its facts, and its frames at any time.

    `fingerprint` is a hash of the content: equal for equal videos, wherever they lie. `size` is (width, height) in
    pixels. Safe to use from several threads.
    """

    name: str
    duration_s: float
    fps: float
    size: tuple[int, int]
    fingerprint: str
    subtitles: Subtitles
    frames_decoded: int = 0
    """How many frames a decoder produced for this object, asked-for or passed on the way."""

    @abstractmethod
    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Return, for each time, the frame shown then, scaled to `size` (w, h), or the error that is in its place."""

    def frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> Pixels:
        """Return the frames shown at some times as uint8 (n, h, w, 3), in the order asked for.

        Raises InputError for a time outside [0, duration), FrameError for a frame that cannot be decoded.
        """
        frames = []
        for frame in self.try_frames(times_s, size):
            if isinstance(frame, FrameError):
                raise frame
            frames.append(frame)
        width, height = size or self.size
        return np.stack(frames) if frames else np.empty((0, height, width, 3), np.uint8)

    def frame(self, time_s: float) -> Image:
        """Return the frame shown at a time, at full size."""
        from PIL import Image

        return Image.fromarray(self.frames([time_s])[0])

    def check_time(self, time_s: float) -> None:
        """Raise InputError for a time that is not in the video."""
        if not 0 <= time_s < self.duration_s:
            raise InputError(f"{time_s} s is not in {self.name}, which runs from 0 to {self.duration_s:.3f} s.")

    def __repr__(self) -> str:
        width, height = self.size
        return (
            f"<{self.name}: {self.duration_s:.1f} s, {width}×{height}, {self.fps:g} fps, {len(self.subtitles)} lines>"
        )


def open_video(path: str | Path, subtitles: str | Path | Subtitles | None = None) -> Video:
    """Open a video file, with its subtitles (an SRT or VTT file) where there are any.

    Raises VideoError or SubtitleError with one sentence for what cannot be opened.
    """
    lines = subtitles if isinstance(subtitles, Subtitles) else read_subtitles(subtitles) if subtitles else Subtitles()
    return VideoFile(Path(path), lines)


class VideoFile(Video):
    """A video in one file."""

    def __init__(self, path: Path, subtitles: Subtitles) -> None:
        self.path = path
        self.name = self.path.name
        self.subtitles = subtitles
        _check_file(self.path)
        self._lock = threading.Lock()
        self._decoder = _Decoder(self.path)
        self.duration_s = float(self._decoder.end - self._decoder.origin)
        self.fps = self._decoder.fps
        self.size = self._decoder.size
        self.fingerprint = file_fingerprint(self.path)

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Decode in order of time, whatever the order asked for, so that neighbours share their way."""
        for time_s in times_s:
            self.check_time(time_s)
        width, height = size or self.size
        frames: dict[int, Pixels | FrameError] = {}
        with self._lock:
            for place in sorted(range(len(times_s)), key=lambda place: times_s[place]):
                try:
                    shown = self._decoder.shown_at(times_s[place])
                    scaled = shown.reformat(width, height, "rgb24", interpolation="AREA")
                    frames[place] = np.asarray(scaled.to_ndarray(), np.uint8)
                except FrameError as error:
                    frames[place] = error
            self.frames_decoded = self._decoder.decoded
        return [frames[place] for place in range(len(times_s))]


class _Decoder:
    """An open file and its decoder, which remembers where it stands so that the next frame on costs one step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.decoded = 0
        self._moved = False
        self._container, self._stream = _open(path)
        self._tick = Fraction(self._stream.time_base or Fraction(1, 1000))
        rate = self._stream.average_rate or self._stream.guessed_rate
        self.fps = float(rate) if rate else 25.0
        self.size = (self._stream.codec_context.width, self._stream.codec_context.height)
        self._ahead: Iterator[VideoFrame] = iter(())
        self._shown: VideoFrame | None = None
        self._next: VideoFrame | None = None
        first = self._first_pts()
        self.origin = first * self._tick
        self.end = self._measure_end()

    def shown_at(self, time_s: float) -> VideoFrame:
        """Return the last frame that starts at or before a time; raise FrameError if it cannot be decoded."""
        ticks = int((self.origin + Fraction(time_s) + Fraction(TIME_STEP_S)) // self._tick)
        # Walking on may cross damage that a seek passes by; what can be shown must not depend on what was asked before.
        failure: Exception = EOFError("nothing there")
        for walk in (True, False) if self._is_near(ticks) else (False,):
            try:
                if not walk:
                    self._seek(ticks)
                shown = self._walk(ticks)
                if shown is not None and not shown.is_corrupt:
                    return shown
                failure = EOFError("no whole frame there")
            except (OSError, ValueError, EOFError) as error:  # what PyAV's own errors derive from
                failure = error
            self._shown = self._next = None
        raise FrameError(f"{self.path.name} cannot be decoded at {time_s:.3f} s ({_reason(failure)}).") from failure

    def _is_near(self, ticks: int) -> bool:
        shown = self._shown
        return shown is not None and 0 <= ticks - _pts(shown) <= WALK_S / self._tick

    def _seek(self, ticks: int) -> None:
        """Stand on a keyframe that is shown at or before `ticks`.

        A seek can land late (containers index decoding times, not showing times) or between keyframes, and frames
        that follow a keyframe in the file but are shown before it need frames from before it. So a landing counts
        only if its first keyframe is shown at or before `ticks`; else the seek starts further back.
        """
        step = max(1, int(1 / self._tick))
        start = ticks
        self._shown = self._next = None
        while True:
            from_start = start <= (self._stream.start_time or 0)
            if from_start:
                self._rewind()
            else:
                self._container.seek(start, stream=self._stream, backward=True)
            self._moved = True
            packets = (packet for packet in self._container.demux(self._stream) if packet.pts is not None)
            first = next((packet for packet in packets if from_start or packet.is_keyframe), None)
            keyframe = None if from_start or first is None else first.pts
            if from_start or (keyframe is not None and keyframe <= ticks):
                break
            start, step = start - step, step * 2
        frames = self._decode(first, packets) if first else iter(())
        self._ahead = (frame for frame in frames if keyframe is None or _pts(frame) >= keyframe)
        self._next = next(self._ahead, None)

    def _rewind(self) -> None:
        """Stand at the start of the file; by opening it again, since a seek to the start is refused by some formats
        (AVI) and lands on the second keyframe in others (MPEG-TS)."""
        if self._moved:
            self._container.close()
            self._container, self._stream = _open(self.path)

    def _decode(self, first: Packet[VideoStream], packets: Iterator[Packet[VideoStream]]) -> Iterator[VideoFrame]:
        for packet in chain([first], packets, [None]):  # None asks the decoder for what it still holds
            for frame in self._stream.codec_context.decode(packet):
                self.decoded += 1
                if frame.pts is not None:
                    yield frame

    def _walk(self, ticks: int) -> VideoFrame | None:
        """Decode on until the next frame would be shown after `ticks`."""
        while self._next is not None and (_pts(self._next) <= ticks or self._shown is None):
            self._shown = self._next
            self._next = next(self._ahead, None)
        return self._shown

    def _first_pts(self) -> int:
        """Showing time of the first frame, in ticks; nothing is decoded.

        It is that of the first keyframe's packet, or, where a file was cut between keyframes and begins with packets
        that are decoded and not shown, the earliest of the others before the next keyframe.
        """
        self._moved, shown = True, None
        try:
            for packet in self._container.demux(self._stream):
                if packet.is_keyframe and packet.pts is not None and (shown is not None or not packet.is_discard):
                    return packet.pts if shown is None else shown
                if packet.pts is not None and not packet.is_discard:
                    shown = packet.pts if shown is None else min(shown, packet.pts)
        except (OSError, ValueError, EOFError) as error:
            raise VideoError(f"{self.path} cannot be read ({_reason(error)}): copy or download it again.") from error
        if shown is None:
            raise VideoError(f"{self.path} holds no video frame: is the file whole?")
        return shown

    def _measure_end(self) -> Fraction:
        """Return when the last frame ends, in seconds from the container's zero.

        Costs one seek and no decoding where the container can seek, a pass over the packets where it cannot.
        Raises VideoError when the file stops short of what its header promises: it was truncated.
        """
        # Some formats count the length from the first frame, some from zero: the lesser of the two is what is promised.
        length = Fraction(self._container.duration or 0, 1_000_000)
        start = Fraction(self._container.start_time or 0, 1_000_000)
        promised = length + min(start, Fraction(0))
        slack = 1 + promised / 100
        # Frames are shown in another order than they lie in the file: two seconds cover the last one.
        ends = self._ends_after(max(length + start - 2, self.origin))
        if ends is None or promised - max(ends) > slack:
            ends = self._ends_after(Fraction(0))
        if ends is None or promised - max(ends) > slack:
            read = float(max(ends)) if ends else 0.0
            raise VideoError(
                f"{self.path} is truncated: its header promises {float(promised):.1f} s, "
                f"but it ends after {read:.1f} s; copy or download it again."
            )
        return ends[0]

    def _ends_after(self, start: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return the end of the last video packet and of the last packet at all, read from the keyframe at `start`."""
        video_end = any_end = None
        frame = 1 / Fraction(self.fps).limit_denominator(100_000)
        try:
            self._container.seek(int(start / self._tick), stream=self._stream, backward=True)
            for packet in self._container.demux():
                if packet.pts is None or packet.time_base is None:
                    continue
                own = packet.stream is self._stream
                length = packet.duration * packet.time_base if packet.duration else frame if own else Fraction(0)
                end = packet.pts * packet.time_base + length
                if own:
                    video_end = end if video_end is None else max(video_end, end)
                any_end = end if any_end is None else max(any_end, end)
        except (OSError, ValueError, EOFError):
            pass  # damage near the end: what was read until here counts
        return None if video_end is None or any_end is None else (video_end, any_end)


def file_fingerprint(path: Path) -> str:
    """Hash a file's size, its first and last MiB, and 14 blocks of 64 KiB spread between them.

    The time it takes does not grow with the file. Two files that agree in size and in all of these parts, but
    differ between, would share a fingerprint; re-encoding a video changes its size, so this needs intent.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(f"atlaskit-1:{size}".encode())
    edge, block, blocks = 1 << 20, 1 << 16, 14
    with path.open("rb") as file:
        digest.update(file.read(edge))
        for i in range(1, blocks + 1):
            file.seek(size * i // (blocks + 1))
            digest.update(file.read(block))
        file.seek(max(0, size - edge))
        digest.update(file.read(edge))
    return digest.hexdigest()


def _check_file(path: Path) -> None:
    try:
        if not path.exists():
            raise VideoError(f"There is no file {path}.")
        if path.is_dir():
            raise VideoError(f"{path} is a directory: name the video file in it.")
        if not path.is_file():
            raise VideoError(f"{path} is not a regular file: name a video file.")
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise VideoError(f"{path} cannot be read: {error.strerror}.") from error
    if empty:
        raise VideoError(f"{path} is empty (0 bytes): copy or download it again.")


def _open(path: Path) -> tuple[InputContainer, VideoStream]:
    import av  # here, so that `import atlaskit` stays light
    from av.stream import Disposition

    try:
        # A hostile "video" may be a playlist of addresses: only plain files are read.
        container = av.open(str(path), metadata_errors="replace", options={"protocol_whitelist": "file"})
    except (OSError, ValueError, EOFError) as error:
        raise VideoError(f"{path} is not a video that can be read, or it is truncated ({_reason(error)}).") from error
    if container.format.name in NOT_VIDEO or container.format.name.endswith("_pipe"):
        raise VideoError(f"{path} is not a video: it reads as {container.format.long_name or container.format.name}.")
    streams = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
    if not streams:
        what = "only sound" if container.streams.audio else "no video"
        raise VideoError(f"{path} holds {what}: name a file with a picture in it.")
    if streams[0].codec_context is None:
        raise VideoError(f"{path} is coded in a way that this FFmpeg cannot decode.")
    streams[0].thread_type = "AUTO"
    return container, streams[0]


def _pts(frame: VideoFrame) -> int:
    assert frame.pts is not None  # frames without one are dropped where they are decoded
    return frame.pts


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
