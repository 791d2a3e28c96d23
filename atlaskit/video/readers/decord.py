"""`DecordReader`: frames through decord, checked against the default reader.

decord is no longer developed, and returns wrong frames of some files. So the facts about a file
come from the default reader. When a file is opened, all of decord's frame times are compared with
the times of the packets, and some of its frames with the default reader's frames. If they differ,
the file is refused.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from av import VideoFrame

from atlaskit.errors import FrameError, InputError, VideoError, missing
from atlaskit.video.names import media_url
from atlaskit.video.readers import TIME_STEP_S, FrameOrError, Size
from atlaskit.video.readers.picture import PictureScaler
from atlaskit.video.readers.pyav import PyAVReader

CHECKED_FRAMES = 16
"""Number of frames, spread over the file, that are compared with the default reader's."""
CHECKED_SIZE = (160, 90)
"""Width and height of the frames that are compared."""
SAME_TIME_S = 1.5e-3
"""Two times of a frame are the same if they differ by at most this."""
SAME_PIXELS = 6.0
"""Two scaled frames are the same if their mean difference, of 255, is at most this."""


class DecordReader(PyAVReader):
    """The frames of one file through decord.

    `frames_decoded` counts only the requested frames, since decord does not report the others.

    Raises:
        VideoError: decord fails on the file, or shows other frames than the default reader.
        InputError: decord is not installed.
    """

    def __init__(self, path: Path, indexes: Path) -> None:
        super().__init__(path, indexes)
        self._scaler = PictureScaler(self.size)
        self._decord_lock = threading.Lock()
        if self.readable_s < self.duration_s:
            raise self._refusal("the file is truncated")
        try:
            import decord
        except (ImportError, OSError) as error:
            raise InputError(missing('reader="decord"', "decord>=0.6")) from error
        decord.logging.set_level(decord.logging.QUIET)
        try:
            self._decord = decord.VideoReader(media_url(path), num_threads=0)
            timestamps = np.asarray(self._decord.get_frame_timestamp(np.arange(len(self._decord))))
        except Exception as error:
            raise self._refusal(f"it fails: {_reason(error)}") from error
        starts_s = self.frame_times()
        self._frame_starts_s = timestamps[:, 0] - timestamps[0, 0]
        if len(starts_s) != len(self._frame_starts_s):
            raise self._refusal(
                f"it finds {len(self._frame_starts_s)} frames, and there are {len(starts_s)}"
            )
        if (np.abs(np.asarray(starts_s) - self._frame_starts_s) > SAME_TIME_S).any():
            raise self._refusal("it shows frames at other times")
        self._check_frames(starts_s)
        self.frames_decoded = 0  # frames of this check do not count

    def try_frames(self, times_s: Sequence[float], size: Size) -> list[FrameOrError]:
        """Return the frame shown at each time, scaled to `size` (w, h), or its error."""
        asked_s = np.asarray(times_s) + TIME_STEP_S
        indices = np.searchsorted(self._frame_starts_s, asked_s, side="right") - 1
        found: dict[int, FrameOrError] = {}
        with self._decord_lock:
            for index in np.unique(indices):
                found[int(index)] = self._frame(int(index), size)
        return [found[int(index)] for index in indices]

    def _frame(self, index: int, size: Size) -> FrameOrError:
        try:
            pixels = self._decord[index].asnumpy()
        except Exception as error:
            at = f"at {self._frame_starts_s[index]:.3f} s"
            message = f"{self._path.name} cannot be decoded by decord {at} ({_reason(error)})."
            return FrameError(message, is_lasting=False)  # another reader may succeed
        self.frames_decoded += 1
        frame = VideoFrame.from_ndarray(pixels, format="rgb24")  # decord has rotated it already
        return self._scaler.pixels(frame, size)

    def _check_frames(self, starts_s: Sequence[float]) -> None:
        """Raise VideoError unless decord shows the same frames as the default reader."""
        indices = np.unique(np.linspace(0, len(starts_s) - 1, CHECKED_FRAMES).round().astype(int))
        # In random order, since decord returns wrong frames when it seeks.
        shuffled = np.random.default_rng(0).permutation(indices)
        times_s = [float(starts_s[index]) for index in shuffled]
        references = super().try_frames(times_s, CHECKED_SIZE)
        for time_s, expected in zip(times_s, references, strict=True):
            (frame,) = self.try_frames([time_s], CHECKED_SIZE)
            if isinstance(expected, FrameError) or isinstance(frame, FrameError):
                raise self._refusal(f"a frame cannot be decoded at {time_s:.3f} s")
            if np.abs(frame.astype(np.int16) - expected).mean() > SAME_PIXELS:
                raise self._refusal(f"it shows another frame at {time_s:.3f} s")

    def _refusal(self, why: str) -> VideoError:
        return VideoError(
            f'decord does not read {self._path} correctly ({why}): use reader="pyav".'
        )


def _reason(error: Exception) -> str:
    """Return decord's error without the time and source location that it begins with."""
    first_row = str(error).partition("\n")[0] or type(error).__name__
    return re.sub(r"^\[[\d:]+\] \S+:\d+: ", "", first_row)
