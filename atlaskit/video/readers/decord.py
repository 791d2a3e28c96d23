"""The other reader: frames through decord, where its wheel exists, for comparison with work that was done with it.

decord is no longer developed, and wrong on some files. So nothing is taken on trust: the facts of a file come from
the default reader, the times of all frames are compared with those of the file's packets when it is opened, and some
frames with the default reader's own. A file that fails is refused.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from av import VideoFrame
from av.video.reformatter import VideoReformatter

from atlaskit.errors import FrameError, InputError, VideoError
from atlaskit.video.readers import TIME_STEP_S, Pixels, Reader
from atlaskit.video.readers.container import scaled
from atlaskit.video.readers.pyav import PyAVReader

CHECKED_FRAMES = 16
"""Frames compared with the default reader's when a file is opened: spread over the file, both ends among them."""
SAME_TIME_S = 1.5e-3
SAME_PIXELS = 6.0
"""Mean difference (of 255) up to which two decoders' scaled pictures count as the same frame."""


class DecordReader(Reader):
    """Frames of one file through decord; `frames_decoded` counts those asked for, since it does not tell the others."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock, self._scaler = path, threading.Lock(), VideoReformatter()
        self._true = PyAVReader(path)
        self.duration_s, self.readable_s = self._true.duration_s, self._true.readable_s
        self.fps, self.size, self.origin_s = self._true.fps, self._true.size, self._true.origin_s
        if self.readable_s < self.duration_s:
            raise self._refused("the file is truncated")
        try:
            import decord
        except (ImportError, OSError) as error:
            raise InputError('decord is not installed: `pip install decord`, or use reader="pyav".') from error
        decord.logging.set_level(decord.logging.QUIET)
        try:
            self._decord = decord.VideoReader(str(path), num_threads=0)
            stamps = np.asarray(self._decord.get_frame_timestamp(np.arange(len(self._decord))))
        except Exception as error:
            raise self._refused(f"it fails on it: {_reason(error)}") from error
        self._starts_s = stamps[:, 0] - stamps[0, 0]
        self._check()

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int]) -> list[Pixels | FrameError]:
        """Return the frame shown at each time, scaled to `size` (w, h), or the error that is in its place."""
        places = np.searchsorted(self._starts_s, np.asarray(times_s) + TIME_STEP_S, side="right") - 1
        found: dict[int, Pixels | FrameError] = {}
        with self._lock:
            for place in np.unique(places):
                found[int(place)] = self._frame(int(place), size)
        return [found[int(place)] for place in places]

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe shown at or before a time, and of the next if before `until_s`."""
        return self._true.keyframes_around(time_s, until_s)

    def _frame(self, place: int, size: tuple[int, int]) -> Pixels | FrameError:
        try:
            pixels = self._decord[place].asnumpy()
        except Exception as error:
            at = f"at {self._starts_s[place]:.3f} s"
            said = f"{self._path.name} cannot be decoded by decord {at} ({_reason(error)})."
            return FrameError(said, is_lasting=False)  # another reader may
        self.frames_decoded += 1
        frame = VideoFrame.from_ndarray(pixels, format="rgb24")  # turned upright already
        return scaled(self._scaler, frame, size)

    def _check(self) -> None:
        """Raise VideoError unless decord agrees with the file on all times, and with the default reader on frames."""
        starts_s = self._true.frame_times()
        if len(starts_s) != len(self._starts_s):
            raise self._refused(f"it sees {len(self._starts_s)} frames, and there are {len(starts_s)}")
        wrong = np.abs(np.asarray(starts_s) - self._starts_s) > SAME_TIME_S
        if wrong.any():
            place = int(wrong.argmax())
            raise self._refused(f"it shows frame {place} at {self._starts_s[place]:.3f} s, not {starts_s[place]:.3f} s")
        places = np.unique(np.linspace(0, len(starts_s) - 1, CHECKED_FRAMES).round().astype(int))
        shuffled = np.random.default_rng(0).permutation(places)  # backwards too: its seeking is what goes wrong
        times_s, size = [float(starts_s[place]) for place in shuffled], _small(self.size)
        for time_s, own in zip(times_s, self._true.try_frames(times_s, size), strict=True):
            (theirs,) = self.try_frames([time_s], size)
            if isinstance(own, FrameError):
                raise self._refused(f"the file is damaged at {time_s:.3f} s")
            if isinstance(theirs, FrameError):
                raise self._refused(f"it has no frame at {time_s:.3f} s")
            if np.abs(theirs.astype(np.int16) - own).mean() > SAME_PIXELS:
                raise self._refused(f"it shows another frame at {time_s:.3f} s")

    def _refused(self, why: str) -> VideoError:
        return VideoError(f'decord does not read {self._path} rightly ({why}): use reader="pyav".')


def _reason(error: Exception) -> str:
    """Return decord's error without the time, and the place in its source code, that it begins with."""
    first = str(error).partition("\n")[0] or type(error).__name__
    return re.sub(r"^\[[\d:]+\] \S+:\d+: ", "", first)


def _small(size: tuple[int, int]) -> tuple[int, int]:
    scale = min(1.0, 160 / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
