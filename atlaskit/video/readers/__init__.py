"""The interface to the libraries that decode video files: one `Reader` class for each library.

A reader knows one file: its facts, its frames at any time, and its keyframes. It knows nothing of
playlists, subtitles, grids or caches.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import FrameError
from atlaskit.video.readers.sizes import PacketSizes

Pixels = NDArray[np.uint8]
"""One frame, (height, width, 3), RGB."""

LETTERBOX = (128, 128, 128)
"""Colour beside a picture that does not fill its place, and behind a transparent one. Not black,
which marks dead cells only."""

TIME_STEP_S = 1e-6
"""Tolerance of times: a frame's own time, rounded to a float, still finds that frame."""

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Number of cores that this process may use."""


class Reader(ABC):
    """The frames of one video file; second 0 is its first frame. Safe to use from many threads."""

    duration_s: float
    readable_s: float
    """Second at which the readable part ends; less than `duration_s` in a truncated file."""
    fps: float
    """Frames per second, on average."""
    size: tuple[int, int]
    """(width, height) in pixels as the video is shown: upright, and with square pixels."""
    origin_s: float
    """The container's time of the first frame: embedded subtitles count in that time."""
    start_s: float
    """The container's time at which its earliest stream starts: a player calls it 0, and a subtitle
    file counts from it. Less than `origin_s` where sound comes before the first frame."""
    joints: Sequence[tuple[int, float]] = ()
    """Where the container's clock breaks: byte of the file from which on so many seconds are added
    to its times, in the order of the file."""
    frames_decoded: int = 0
    """Number of frames decoded so far, including those decoded only to reach others."""

    @abstractmethod
    def try_frames(self, times_s: Sequence[float], size: tuple[int, int]) -> list[Pixels | FrameError]:
        """Return the frame shown at each time, scaled to `size` (w, h), or its error.

        Every time lies in `[0, duration_s)`. The frame is the one that playing the file from its
        start shows at that time.
        """

    @abstractmethod
    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe up to `time_s` and of the next before `until_s`.

        The second is None if there is none. Decodes nothing.
        """

    @abstractmethod
    def each_size(self, take: Callable[[PacketSizes], None]) -> bool:
        """Give `take` the size of each packet, in chunks, with times in seconds. Decodes nothing.

        Returns:
            Whether these are all packets, and not only those before damage that cannot be passed.

        Raises:
            VideoError: The file could not be read this time.
        """
