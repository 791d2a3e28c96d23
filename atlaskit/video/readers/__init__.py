"""Readers of video files: `PyAVReader`, the default, and `DecordReader`, which is based on it.

A reader knows one file: its duration, frame rate and size, its frames at any time, and its
keyframes. If its container cannot be trusted, it makes an index of the file's packets, in a folder
that it is given. It knows nothing about playlists, subtitles or grids.
"""

from __future__ import annotations

import os
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import FrameError

Pixels = NDArray[np.uint8]
"""One frame, (height, width, 3), RGB."""
FrameOrError: TypeAlias = Pixels | FrameError
"""A frame, or the error that says why it cannot be read."""
Size: TypeAlias = tuple[int, int]
"""(width, height) in pixels."""


class Packets(NamedTuple):
    """The n packets of a stream, in order of time."""

    times_s: NDArray[np.float64]
    """When the frame of each is shown, (n,)."""
    sizes: NDArray[np.int64]
    """Bytes of each, (n,)."""
    are_keyframes: NDArray[np.bool_]
    """(n,)."""


LETTERBOX = (128, 128, 128)
"""Grey, the colour beside a picture that does not fill its cell, and behind a transparent one.
Black is reserved for cells that were ruled out."""

TIME_STEP_S = 1e-6
"""Tolerance of times, so that the time of a frame, rounded to a float, still finds that frame."""

if hasattr(os, "sched_getaffinity"):
    CORES = len(os.sched_getaffinity(0))
else:
    CORES = os.cpu_count() or 1
"""Number of cores that this process may use."""


def letterboxed(pixels: Pixels, size: Size) -> Pixels:
    """Return a frame in the middle of an image of `size` (w, h), with bars of LETTERBOX."""
    height, width = pixels.shape[:2]
    if (width, height) == size:
        return pixels
    image = np.full((size[1], size[0], 3), LETTERBOX, np.uint8)
    top = (size[1] - height) // 2
    left = (size[0] - width) // 2
    image[top : top + height, left : left + width] = pixels
    return image
