"""Frames at times, exactly: `frame(t)` is the frame that playing the video from its start shows at second t.

A video is a file, or a playlist of videos seen as one. Second 0 is its first frame. How a file is decoded is its
reader's business. Knows nothing of grids, caches or agents.
"""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from atlaskit.errors import DamagedVideo, FrameError, InputError, VideoError
from atlaskit.video.readers import CORES, Pixels, Reader
from atlaskit.video.subtitles import Subtitles, read_embedded, read_subtitles

if TYPE_CHECKING:
    from PIL.Image import Image

Sampling = Literal["midpoint", "keyframe", "auto"]
"""Which frame stands for an interval: see `Video.moment`."""
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
ReaderName = Literal["pyav", "decord"]
Lines: TypeAlias = "str | Path | Subtitles | None"
"""Subtitles: a file of them, "embedded" for the track inside the video file, or what was read before."""

LETTERBOX = (128, 128, 128)
"""What is beside a picture of another shape. Not black: black means dead."""
LARGEST_SIDE_PX = 16384
LONG_CELL_GOPS = 4
"""With `sampling="auto"`, a keyframe stands for an interval that is at least this many GOPs long."""


class Video(ABC):
    """A video: its facts, and its frames at any time.

    `fingerprint` is a hash of the content: equal for equal videos, wherever they lie. `size` is (width, height) in
    pixels as the video is shown: upright and with square pixels. Safe to use from several threads.
    """

    name: str
    duration_s: float
    fps: float
    size: tuple[int, int]
    fingerprint: str
    subtitles: Subtitles

    @property
    def frames_decoded(self) -> int:
        """How many frames a decoder produced for this video, asked-for or passed on the way."""
        return 0

    @abstractmethod
    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Return, for each time, the frame shown then, scaled to `size` (w, h), or the error that is in its place."""

    def frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> Pixels:
        """Return the frames shown at some times as uint8 (n, h, w, 3), in the order asked for.

        Raises InputError for a time outside [0, duration), FrameError for a frame that cannot be decoded.
        """
        frames = []
        times, (width, height) = self.asked(times_s, size)
        for frame in self.try_frames(times, (width, height)):
            if isinstance(frame, FrameError):
                raise frame
            frames.append(frame)
        return np.stack(frames) if frames else np.empty((0, height, width, 3), np.uint8)

    def frame(self, time_s: float) -> Image:
        """Return the frame shown at a time, at full size."""
        from PIL import Image

        return Image.fromarray(self.frames([time_s])[0])

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe at or before a time, and of the next if it is before `until_s`.

        Decodes nothing. Where any frame is as cheap as another, each moment counts as a keyframe.
        """
        return time_s, None

    def moment(self, start_s: float, end_s: float, sampling: Sampling = "midpoint") -> float:
        """Return the second whose frame stands for the interval `[start_s, end_s)`.

        "midpoint" is the middle (the paper's rule). "keyframe" is the keyframe nearest the middle, where the interval
        holds one, else the middle: many times cheaper, and up to half a GOP off. "auto" is a keyframe only where the
        interval is at least 4 GOPs long. Raises FrameError where the file cannot be searched for keyframes.
        """
        if sampling not in SAMPLINGS:
            raise InputError(f"sampling is one of {', '.join(SAMPLINGS)}, got {sampling!r}.")
        middle_s = (start_s + end_s) / 2
        if sampling == "midpoint":
            return middle_s
        before_s, after_s = self.keyframes_around(middle_s, end_s)
        near = [time_s for time_s in (before_s, after_s) if time_s is not None and start_s <= time_s < end_s]
        if sampling == "auto" and (after_s is None or end_s - start_s < LONG_CELL_GOPS * (after_s - before_s)):
            return middle_s
        return min(near, key=lambda time_s: abs(time_s - middle_s), default=middle_s)

    def locate(self, time_s: float) -> tuple[Video, float]:
        """Return the video that has the frame at a time, and the second in it; of a playlist, one of its parts."""
        return self, time_s

    def asked(self, times_s: Sequence[float], size: tuple[int, int] | None) -> tuple[list[float], tuple[int, int]]:
        """Return what frames are asked for, checked; raise InputError for what no frame has."""
        try:
            times = [float(time_s) for time_s in times_s]
            width, height = (int(side) for side in size or self.size)
        except (TypeError, ValueError) as error:
            raise InputError(f"Ask for times in seconds and a size (width, height) in pixels ({error}).") from error
        if not (1 <= width <= LARGEST_SIDE_PX and 1 <= height <= LARGEST_SIDE_PX):
            raise InputError(f"A frame is 1 to {LARGEST_SIDE_PX} pixels wide and high, and {size} was asked for.")
        for time_s in times:
            self.check_time(time_s)
        return times, (width, height)

    def check_time(self, time_s: float) -> None:
        """Raise InputError for a time that is not in the video."""
        if not 0 <= time_s < self.duration_s:
            raise InputError(f"{time_s} s is not in {self.name}, which runs from 0 to {self.duration_s:.3f} s.")

    def __repr__(self) -> str:
        width, height = self.size
        return (
            f"<{self.name}: {self.duration_s:.1f} s, {width}×{height}, {self.fps:g} fps, {len(self.subtitles)} lines>"
        )


class VideoFile(Video):
    """A video in one file. `fingerprint` stands for its content where that is known otherwise: a film by its script."""

    def __init__(
        self, path: Path, subtitles: Lines = None, reader: ReaderName = "pyav", fingerprint: str | None = None
    ) -> None:
        _check_file(path)
        self.path, self.name = path, path.name
        self._reader = _reader(path, reader)
        self.duration_s, self.fps, self.size = self._reader.duration_s, self._reader.fps, self._reader.size
        self.fingerprint = fingerprint or file_fingerprint(path)
        if self._reader.readable_s < self.duration_s:
            warnings.warn(
                f"{path} is truncated: its header promises {self.duration_s:.1f} s, but it ends after "
                f"{self._reader.readable_s:.1f} s; what is missing is shown as unreadable.",
                DamagedVideo,
                stacklevel=3,
            )
        if subtitles == "embedded":
            self.subtitles = read_embedded(path, origin_s=self._reader.origin_s, duration_s=self.duration_s)
        else:
            self.subtitles = read_lines(subtitles, self.duration_s)

    @property
    def frames_decoded(self) -> int:
        """How many frames the decoder produced, asked-for or passed on the way."""
        return self._reader.frames_decoded

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Return, for each time, the frame shown then, scaled to `size` (w, h), or the error that is in its place."""
        return self._reader.try_frames(*self.asked(times_s, size))

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe at or before a time, and of the next if it is before `until_s`."""
        self.check_time(time_s)
        return self._reader.keyframes_around(time_s, until_s)


def read_frames(wanted: Sequence[tuple[Video, float, tuple[int, int]]]) -> list[Pixels | FrameError]:
    """Return the frame of each (video, second, size), or the error in its place; several files at the same time."""
    groups: dict[tuple[int, tuple[int, int]], list[int]] = {}
    for place, (video, _, size) in enumerate(wanted):
        groups.setdefault((id(video), size), []).append(place)

    def read(places: list[int]) -> list[Pixels | FrameError]:
        video, _, size = wanted[places[0]]
        return video.try_frames([wanted[place][1] for place in places], size)

    with ThreadPoolExecutor(CORES, thread_name_prefix="atlaskit-parts") as pool:
        parts = pool.map(read, groups.values()) if len(groups) > 1 else map(read, groups.values())
        found = {
            place: frame
            for places, frames in zip(groups.values(), parts, strict=True)
            for place, frame in zip(places, frames, strict=True)
        }
    return [found[place] for place in range(len(wanted))]


def read_lines(subtitles: Lines, duration_s: float) -> Subtitles:
    """Return the lines of a video of some length, out of a file or as they are; none where there are none."""
    if subtitles is None or isinstance(subtitles, Subtitles):
        return subtitles or Subtitles()
    if not isinstance(subtitles, (str, Path)):
        raise InputError(f'Subtitles are a file, "embedded", or what was read before, not {subtitles!r:.80}.')
    return read_subtitles(subtitles, duration_s=duration_s)


def _reader(path: Path, name: ReaderName) -> Reader:
    """Open a file with the reader of a name. Each is imported where it is used, so that `import atlaskit` is light."""
    if name == "pyav":
        from atlaskit.video.readers.pyav import PyAVReader

        return PyAVReader(path)
    from atlaskit.video.readers.decord import DecordReader

    return DecordReader(path)


def _boxed(frame: Pixels, width: int, height: int) -> Pixels:
    if frame.shape[:2] == (height, width):
        return frame
    box = np.full((height, width, 3), LETTERBOX, np.uint8)
    top, left = (height - frame.shape[0]) // 2, (width - frame.shape[1]) // 2
    box[top : top + frame.shape[0], left : left + frame.shape[1]] = frame
    return box


def playlist_fingerprint(parts: Sequence[str]) -> str:
    """Hash the fingerprints of a playlist's videos, in order."""
    return hashlib.sha256(f"atlaskit-playlist-1:{' '.join(parts)}".encode()).hexdigest()


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
