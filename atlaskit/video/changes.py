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

FINE_S = 0.5
"""Length of a fine step, at least: two cuts are no nearer to each other."""
FRAMES_OF_STEP = 4
"""Frames in a fine step, at least, at a video's mean rate."""
MOST_FINE = 1 << 17
"""Fine steps of a video, at most: those of 18 hours."""
MOST_STEPS = 20_000
"""Steps of a video, at most; each is a whole number of fine steps. Those of ten hours last 2 s."""
LOCAL_S = 60.0
"""A step is compared with the minute around it, and with at least LEAST_LOCAL steps."""
LEAST_LOCAL = 9
FLOOR_BYTES = 16
"""Bytes of a packet that holds headers only: a difference of less tells nothing."""

MOST_KEYFRAMES = 1 << 17
"""Keyframes whose rhythm is looked at; if there are more, it tells of no cut."""
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
        shortest_s = max(FINE_S, FRAMES_OF_STEP / fps)
        fine = max(1, min(MOST_FINE, int(duration_s / shortest_s)))
        self._each = math.ceil(fine / MOST_STEPS)
        self.count = max(1, fine // self._each)
        self.step_s, self._fps = duration_s / self.count, fps
        fine = self.count * self._each
        self._fine_s = duration_s / fine
        inside = (packets.times >= 0) & (packets.times < duration_s)
        times, sizes = packets.times[inside], np.maximum(packets.sizes[inside], 0)  # a broken table may tell anything
        steps = np.minimum((times / self._fine_s).astype(np.int64), fine - 1)
        keys = np.flatnonzero(packets.are_keyframes[inside])
        coded = np.flatnonzero(~packets.are_keyframes[inside])
        self._frames = np.bincount(steps, minlength=fine)
        self._coded = _Sums(fine, steps[coded], times[coded], sizes[coded])
        keys = keys[np.argsort(times[keys], kind="stable")]
        self.last_s = float(times.max(initial=-1.0))
        # If there are too many, their rhythm tells nothing.
        self._keyframes = times[keys], sizes[keys]
        if len(keys) > MOST_KEYFRAMES:
            self._keyframes = np.zeros(0), np.zeros(0, np.int64)

    def levels(self, until_s: float = math.inf) -> Floats:
        """Return the bytes of each step over their local median; 1.0 is as usual.

        Keyframes cost bytes wherever they stand, so each counts like a mean frame of its step. A
        step of which nothing is known, as in a stream of keyframes alone, is as usual.

        Args:
            until_s: Where the packets end that could be read: later steps are unknown.
        """
        frames, coded = self._coarse(self._frames), self._coarse(self._coded.count)
        amount = self._coarse(self._coded.total) * frames / np.maximum(coded, 1)
        known = (coded > 0) | (frames == 0)
        known &= np.arange(self.count) * self.step_s < until_s
        if not known.any():
            return np.ones(self.count)
        steps = np.arange(self.count)
        usual = _around(np.interp(steps, steps[known], amount[known]), 50, LOCAL_S / self.step_s)
        floor = FLOOR_BYTES * max(1.0, self._fps * self.step_s)
        return np.where(known, (amount + floor) / (usual + floor), 1.0)

    def cuts_s(self) -> list[float]:
        """Return the times of presumed cuts, in order, no two nearer than a fine step.

        They are the keyframes that come earlier than the rhythm of the others, and the frames whose
        packets are far larger than those around. B-frames after a cut may copy the frame that
        follows them: then that one is found, a few frames late. What changes the picture at once,
        like an object that pops up, may be taken for a cut.
        """
        cuts: list[float] = []
        for time_s in sorted([*self._irregular(), *self._large()]):
            if time_s > 0 and (not cuts or time_s - cuts[-1] >= self._fine_s):
                cuts.append(time_s)
        return cuts

    def _coarse(self, values: Floats | Integers) -> Floats:
        """Return the sum of the fine values in each step."""
        sums: Floats = values.reshape(self.count, self._each).sum(axis=1).astype(float)
        return sums

    # --- cuts -------------------------------------------------------------------------------------

    def _large(self) -> list[float]:
        """Return the times of the largest packets of steps that stand out."""
        times, sizes = self._keyframes
        if not len(times):
            return []
        sums = self._coded
        after = np.searchsorted(times, sums.largest_s)
        beside = np.minimum(sizes[np.maximum(after - 1, 0)], sizes[np.minimum(after, len(sizes) - 1)])
        least = CUT_OF_KEYFRAME * beside
        usual = _around(sums.largest, CUT_PERCENTILE, CUT_LOCAL_S / self._fine_s)
        are_cuts = (sums.largest > least) & (sums.largest > CUT_OF_LARGEST * usual)
        return [float(time_s) for time_s in sums.largest_s[are_cuts]]

    def _irregular(self) -> list[float]:
        """Return the times of keyframes that come earlier than the rhythm of the others."""
        times, _ = self._keyframes
        if len(times) < 3:
            return []
        lengths = [int(length) for length in np.round(np.diff(times) * self._fps)]
        counts = Counter(lengths)
        frequent = max(FEWEST_REGULAR, REGULAR_SHARE * len(lengths))
        alike = {length: counts[length - 1] + counts[length] + counts[length + 1] for length in counts}
        return [
            float(time_s)
            for time_s, length in zip(times[1:], lengths, strict=True)
            if alike[length] < frequent and length < max(lengths) - 1
        ]


class _Sums:
    """How many values each step has, their sum, and the largest with its time."""

    def __init__(self, count: int, steps: Integers, times: Floats, values: Integers) -> None:
        self.count, self.total = np.zeros(count), np.zeros(count)
        self.count += np.bincount(steps, minlength=count)
        self.total += np.bincount(steps, values, minlength=count)
        self.largest, self.largest_s = np.zeros(count), np.zeros(count)
        order = np.argsort(values, kind="stable")  # of several values of one step, the last one is stored
        self.largest[steps[order]], self.largest_s[steps[order]] = values[order], times[order]


def _around(values: Floats, percentile: float, window: float) -> Floats:
    """Return a percentile of the values in a window around each value.

    Beyond the ends, the values are mirrored.
    """
    reach = max(LEAST_LOCAL, int(window)) // 2
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(values, reach, mode="symmetric"), 2 * reach + 1)
    parts = [np.percentile(windows[start : start + ROWS], percentile, axis=1) for start in range(0, len(values), ROWS)]
    return np.concatenate(parts)
