"""Puts the times of a stream on one continuous clock, where they restart, jump or wrap.

This module reads no file. It takes the times of packets and returns corrected times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_TIME = -(2**63)
"""Stands for a time that a packet does not give."""
LONGEST_STEP_S = 10
"""A longer step between two frames is a jump of the clock, unless sound continues through the step,
or the frames before it were about as far apart (SLOWEST_FACTOR)."""
NEVER = 2**62
"""A number of ticks that no step reaches."""
SLOWEST_FACTOR = 20
"""A jump is at least this many times as long as the usual step."""
UNEVEN_S = Fraction(1)
"""If another stream outlasts the pictures of a part by more than this many seconds, the next part
starts at the end of that stream."""
INTERLEAVING = 64
"""Packets for the same moment lie within this many video packets of each other in a file."""
LONGEST_REORDER = 16
"""The most frames between the place of a frame in the order of decoding and in that of showing."""
DRIFT_S = Fraction(1, 2)
"""The times in an MPEG program stream may be wrong by at most this many seconds."""

Ticks = NDArray[np.int64]


class Run(NamedTuple):
    """Consecutive packets of a stream other than the video, without a break in their times."""

    first: int
    """Number of video packets that precede the run in the file."""
    last: int
    """Number of video packets that precede its last packet."""
    start_s: Fraction
    """When it starts, in the container's time."""
    end_s: Fraction

    @property
    def middle(self) -> float:
        """Number of video packets that precede its middle."""
        return (self.first + self.last) / 2


class SoundClock:
    """Follows the clock of one stream of sound or subtitles, and cuts the stream into runs.

    Attributes:
        runs: The runs so far, in the order of the file.
    """

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._at_s = Fraction(0)  # when the last packet starts

    def add(self, at_s: Fraction, length_s: Fraction, video_packets: int) -> None:
        """Add the next packet, which starts at `at_s`, after `video_packets` video packets."""
        end_s = at_s + length_s
        if self.runs and 0 <= at_s - self._at_s <= LONGEST_STEP_S:
            run = self.runs[-1]
            self.runs[-1] = run._replace(last=video_packets, end_s=max(run.end_s, end_s))
        else:
            self.runs.append(Run(video_packets, video_packets, at_s, end_s))
        self._at_s = at_s


class Joint(NamedTuple):
    """The place where a new part of a file begins, because the container's clock breaks off."""

    picture: int
    """Index of the part's first picture."""
    shift: int
    """Ticks to add to the container's times of the part."""


class Timeline(NamedTuple):
    """The times of pictures on one clock, in ticks."""

    times: Ticks
    joints: list[Joint]
    """The beginnings of all parts but the first."""
    end: Fraction
    """End of the longest stream, in seconds on that clock."""


def continuous(
    times: Ticks,
    duration: Ticks,
    sounds: Sequence[SoundClock],
    tick: Fraction,
    may_jump: bool = True,
) -> Timeline:
    """Return the times of all pictures on one clock that never goes back.

    A new part of the file begins where the times go back, or jump forward by more than
    LONGEST_STEP_S while no sound goes on. Each part is moved to the end of the part before it. A
    single time that contradicts both its neighbours is replaced.

    Args:
        times: The times of the pictures in ticks, in the order in which they are shown; at least
            one.
        duration: The duration of each picture in ticks.
        sounds: The clocks of the other streams.
        tick: Length of a tick in seconds.
        may_jump: Whether a long step forward may be a jump of the clock. In most formats times are
            absolute, and a long step means that a picture is shown for a long time.
    """
    times = times.copy()
    runs = list(chain.from_iterable(sound.runs for sound in sounds))
    longest = int(LONGEST_STEP_S / tick) if may_jump else NEVER
    starts = _starts(times, duration, runs, tick, longest)
    joints: list[Joint] = []
    end = Fraction(0)
    for first, after in zip(starts, [*starts[1:], len(times)], strict=True):
        part = slice(first, after)
        shift = math.ceil(end / tick) - int(times[first]) if first else 0
        joints.append(Joint(first, shift))
        times[part] += shift
        last = int((times[part] + duration[part]).max())
        end = _end_of_part(last * tick, first, after, len(times), runs, shift * tick)
    return Timeline(times, joints[1:], end)


def _end_of_part(
    video_end: Fraction, first: int, after: int, count: int, runs: Sequence[Run], shift_s: Fraction
) -> Fraction:
    """Return the second at which a part ends: with its pictures, or with a longer stream.

    Args:
        video_end: The second at which the part's pictures end.
        first: Index of the part's first picture.
        after: Index of the first picture after the part.
        count: Number of pictures of all parts.
        runs: The runs of the other streams.
        shift_s: Seconds that are added to the container's times of the part.
    """
    is_last = after == count
    longest = video_end
    for run in runs:
        # A run after the last picture has `count` as its middle, and belongs to the last part.
        is_of_part = first <= run.middle < after + is_last
        # A run that goes on far into the next part does not say where this one ends.
        if is_of_part and (is_last or run.last <= after + INTERLEAVING):
            longest = max(longest, run.end_s + shift_s)
    if is_last or longest - video_end > UNEVEN_S:
        return longest
    return video_end


def _starts(
    times: Ticks, duration: Ticks, runs: Sequence[Run], tick: Fraction, longest: int
) -> list[int]:
    """Return the indices at which parts begin; correct single wrong times in place.

    `longest` is the longest step in ticks that is no jump of the clock.
    """
    starts = [0]
    steps = np.diff(times)
    for index in np.flatnonzero((steps < 0) | (steps - duration[:-1] > longest)) + 1:
        before = int(times[index - 1])
        step = int(times[index]) - before
        if 0 <= step <= longest + duration[index - 1]:
            continue  # the time at index - 1 was the wrong one, and has been corrected
        if step < 0 and index - 2 >= starts[-1] and times[index] >= times[index - 2]:
            # Without the time at index - 1, the times do not go back.
            times[index - 1] = min(int(times[index - 2] + duration[index - 2]), int(times[index]))
            continue
        following = int(times[index + 1]) if index + 1 < len(times) else None
        if following is not None and 0 <= following - before <= longest + 2 * duration[index - 1]:
            # Without the time at index, the times neither go back nor jump.
            times[index] = min(before + int(duration[index - 1]), following)
        elif step < 0 or not _was_shown_until(int(index), times, starts[-1], runs, tick):
            starts.append(int(index))
    return starts


def _was_shown_until(
    index: int, times: Ticks, first: int, runs: Sequence[Run], tick: Fraction
) -> bool:
    """Return whether the picture before `index` was shown until then, so that no clock jumped.

    It was if sound continues through the step to `index`, or if the pictures from `first` on, where
    the part begins, are about as far apart. It also counts as shown if it is the only one there.
    """
    from_s = int(times[index - 1]) * tick + LONGEST_STEP_S
    until_s = int(times[index]) * tick - LONGEST_STEP_S
    near = [run for run in runs if run.first - INTERLEAVING <= index <= run.last + INTERLEAVING]
    if any(run.start_s <= from_s and run.end_s >= until_s for run in near):
        return True
    steps = index - 1 - first
    usual = (int(times[index - 1]) - int(times[first])) / steps if steps else math.inf
    return int(times[index] - times[index - 1]) < SLOWEST_FACTOR * usual


def ordered(times: Ticks, reach: int) -> Ticks:
    """Return the times that a container gives to pictures, sorted.

    A container may swap the times of pictures that are close together. Where times fall by more
    than `reach` ticks, a new part begins, and each part is sorted by itself.
    """
    breaks = np.flatnonzero(np.diff(times) < -reach) + 1
    return np.concatenate(list(map(np.sort, np.split(times, breaks))))


def paced(times: Ticks, duration: Ticks, tick: Fraction) -> Ticks:
    """Return the times of pictures as computed from their durations.

    Where a stream gives one time for several pictures, FFmpeg may assign it to the wrong one. So a
    time of the container is used only if it differs from the computed one by more than DRIFT_S.

    Args:
        times: The container's times, in ticks, in the order in which the pictures are shown.
        duration: The duration of each picture, in ticks.
        tick: Length of a tick in seconds.
    """
    tolerance = int(DRIFT_S / tick)
    result = times.copy()
    if len(times) and times[0] == NO_TIME:
        result[0] = 0
    for index in range(1, len(times)):
        expected = result[index - 1] + duration[index - 1]
        if times[index] == NO_TIME or abs(int(times[index]) - int(expected)) <= tolerance:
            result[index] = expected
    return result
