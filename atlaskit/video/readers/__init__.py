"""Readers of video files: one class for each library that decodes them, behind one interface.

A reader knows one file: its facts, its frames at any time, where its keyframes lie. It knows nothing of playlists,
subtitles, grids or caches.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import FrameError

Pixels = NDArray[np.uint8]
"""One frame, (height, width, 3), RGB."""

TIME_STEP_S = 1e-6
"""Times are told apart to a microsecond, so that a frame's own time, rounded to a float, still finds that frame."""

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Cores that this process may use."""


class Reader(ABC):
    """The frames of one video file. Second 0 is its first frame. Safe to use from several threads."""

    duration_s: float
    readable_s: float
    """Where the part that is there ends; less than `duration_s` in a truncated file."""
    fps: float
    """Frames per second, on average."""
    size: tuple[int, int]
    """(width, height) in pixels as it is shown: upright, and with square pixels."""
    origin_s: float
    """The container's own time of second 0: embedded subtitles count from there."""
    frames_decoded: int = 0
    """How many frames the decoder produced, asked-for or passed on the way."""

    @abstractmethod
    def try_frames(self, times_s: Sequence[float], size: tuple[int, int]) -> list[Pixels | FrameError]:
        """Return the frame shown at each time, scaled to `size` (w, h), or the error that is in its place.

        Every time lies in [0, duration_s). The frame is the one that playing the file from its start shows then.
        """

    @abstractmethod
    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe shown at or before a time, and of the next if it is before `until_s`.

        Decodes nothing.
        """
