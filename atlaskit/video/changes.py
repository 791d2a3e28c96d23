"""`Changes`: how much a video changes over time, and where it cuts, from the sizes of its packets.

An encoder codes what it cannot predict from the frames before. So a frame in which much changes has
a large packet, and a frame after a cut is coded like a keyframe, or as one. Nothing is decoded.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from atlaskit.video.readers.sizes import PacketSizes  # loads PyAV

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEP_S = 0.5
"""Length of a step, at least: two cuts are no nearer to each other."""
FRAMES_OF_STEP = 4
"""Frames in a step, at least, at a video's mean rate."""
MOST_STEPS = 20_000
"""Steps of a video, at most. Those of ten hours last 1.8 s."""
LOCAL_S = 60.0
"""A step is compared with the minute around it, and with at least LEAST_LOCAL steps."""
LEAST_LOCAL = 9
FLOOR_BYTES = 16
"""Bytes of a packet that holds headers only: a difference of less tells nothing."""

REGULAR_SHARE, FEWEST_REGULAR = 0.2, 3
"""A distance between keyframes belongs to the rhythm if at least this share of them has it."""
CUT_LOCAL_S, CUT_PERCENTILE = 20.0, 90
"""What is large is judged by this percentile of the largest packets of the steps around. Some
encoders make a large packet every second or two; a cut every five seconds must still stand out."""
CUT_OF_LARGEST = 1.5
"""A packet at a cut has at least so many times those bytes."""
CUT_OF_KEYFRAME = 0.5
"""And at least this share of the bytes of the smaller keyframe beside it."""
ROWS = 2048
"""Windows that are sorted at a time, so that they take a few megabytes."""


class Changes:
    """What the packets of a video tell, added up in steps of equal length.

    Attributes:
        count: Number of steps.
        step_s: Length of a step: all of them together are the whole video.
        last_s: Time of the last frame; −1 if there is none.
    """

    def __init__(self, duration_s: float, fps: float, packets: PacketSizes) -> None:
        """Take account of packets in the order of the file, of frames inside the video only."""
        self.count = max(1, min(MOST_STEPS, int(duration_s / max(STEP_S, FRAMES_OF_STEP / fps))))
        self.step_s, self._fps = duration_s / self.count, fps
        inside = (packets.times >= 0) & (packets.times < duration_s)
        times, sizes = packets.times[inside], np.maximum(packets.sizes[inside], 0)  # a broken table may tell anything
        steps = np.minimum((times / self.step_s).astype(np.int64), self.count - 1)
        self.last_s, self._frames = float(times.max(initial=-1.0)), np.bincount(steps, minlength=self.count)
        keys = np.flatnonzero(packets.are_keyframes[inside])
        keys = keys[np.argsort(times[keys], kind="stable")]
        self._keyframes = times[keys], sizes[keys]
        coded = np.flatnonzero(~packets.are_keyframes[inside])
        coded = coded[np.argsort(sizes[coded], kind="stable")]  # of several in one step, the last one is stored
        self._coded = np.bincount(steps[coded], minlength=self.count)
        self._bytes = np.bincount(steps[coded], sizes[coded], minlength=self.count)
        self._largest, self._largest_s = np.zeros(self.count), np.zeros(self.count)
        self._largest[steps[coded]], self._largest_s[steps[coded]] = sizes[coded], times[coded]

    def levels(self, until_s: float = math.inf) -> Floats:
        """Return the bytes of each step over their local median; 1.0 is as usual.

        Keyframes cost bytes wherever they stand, so each counts like a mean frame of its step. A
        step of which nothing is known, as in a stream of keyframes alone, is as usual.

        Args:
            until_s: Where the packets end that could be read: later steps are unknown.
        """
        amount = self._bytes * self._frames / np.maximum(self._coded, 1)
        known = (self._coded > 0) | (self._frames == 0)
        known &= np.arange(self.count) * self.step_s < until_s
        if not known.any():
            return np.ones(self.count)
        steps = np.arange(self.count)
        usual = _around(np.interp(steps, steps[known], amount[known]), 50, LOCAL_S / self.step_s)
        floor = FLOOR_BYTES * max(1.0, self._fps * self.step_s)
        return np.where(known, (amount + floor) / (usual + floor), 1.0)

    def cuts_s(self) -> list[float]:
        """Return the times of presumed cuts, in order, no two nearer than a step.

        They are the keyframes that come earlier than the rhythm of the others, and the frames whose
        packets are far larger than those around. B-frames after a cut may copy the frame that
        follows them: then that one is found, a few frames late. What changes the picture at once,
        like an object that pops up, may be taken for a cut.
        """
        cuts: list[float] = []
        for time_s in sorted([*self._irregular(), *self._large()]):
            if time_s > 0 and (not cuts or time_s - cuts[-1] >= self.step_s):
                cuts.append(time_s)
        return cuts

    # --- cuts -------------------------------------------------------------------------------------

    def _large(self) -> list[float]:
        """Return the times of the largest packets of steps that stand out."""
        times, sizes = self._keyframes
        if not len(times):
            return []
        after = np.searchsorted(times, self._largest_s)
        beside = np.minimum(sizes[np.maximum(after - 1, 0)], sizes[np.minimum(after, len(sizes) - 1)])
        usual = _around(self._largest, CUT_PERCENTILE, CUT_LOCAL_S / self.step_s)
        are_cuts = (self._largest > CUT_OF_KEYFRAME * beside) & (self._largest > CUT_OF_LARGEST * usual)
        return [float(time_s) for time_s in self._largest_s[are_cuts]]

    def _irregular(self) -> list[float]:
        """Return the times of keyframes that come earlier than the rhythm of the others."""
        times, _ = self._keyframes
        if len(times) < 3:
            return []
        lengths = [int(length) for length in np.round(np.diff(times) * self._fps)]
        counts, longest = Counter(lengths), max(lengths)
        frequent = max(FEWEST_REGULAR, REGULAR_SHARE * len(lengths))
        alike = {length: counts[length - 1] + counts[length] + counts[length + 1] for length in counts}
        return [
            float(time_s)
            for time_s, length in zip(times[1:], lengths, strict=True)
            if alike[length] < frequent and length < longest - 1
        ]


def _around(values: Floats, percentile: float, window: float) -> Floats:
    """Return a percentile of the values in a window around each value.

    Beyond the ends, the values are mirrored.
    """
    reach = max(LEAST_LOCAL, int(window)) // 2
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(values, reach, mode="symmetric"), 2 * reach + 1)
    parts = [np.percentile(windows[start : start + ROWS], percentile, axis=1) for start in range(0, len(values), ROWS)]
    return np.concatenate(parts)
