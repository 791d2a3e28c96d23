"""One clock for a stream whose times restart, jump or wrap: continuous times in the order of the
file.

Nothing is read here: the times of packets go in, other times come out.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_TIME = -(2**63)
"""Stands for a time that a packet does not give."""
LONGEST_STEP_S = 10
"""A clock that goes on by more between two frames has jumped, unless sound goes on meanwhile."""
SLOWEST_FACTOR = 20
"""…or unless frames were that rare before: a jump is that many times the usual step."""
UNEVEN_S = Fraction(1)
"""A stream that outlasts the picture of its part by more delays the next part."""
INTERLEAVING = 64
"""Packets of one moment lie within so many video packets in a file."""
LONGEST_REORDER = 16
"""Frames over which a codec reorders."""

DRIFT_S = Fraction(1, 2)
"""The times of a program stream are taken to be wrong by at most this much."""

Ticks = NDArray[np.int64]


class PacketTimes:
    """The times of a video stream's packets, in the order of the file. Times are in ticks."""

    def __init__(self) -> None:
        self.pts, self.dts, self.duration = array("q"), array("q"), array("q")

    def add(self, pts: int | None, dts: int | None, duration: int | None) -> None:
        """Add the next packet."""
        self.pts.append(NO_TIME if pts is None else pts)
        self.dts.append(NO_TIME if dts is None else dts)
        self.duration.append(duration or 0)

    @property
    def columns(self) -> tuple[array[int], array[int], array[int]]:
        """Presentation times, decoding times and durations."""
        return self.pts, self.dts, self.duration

    def __len__(self) -> int:
        return len(self.pts)


class Run(NamedTuple):
    """Packets of another stream whose clock runs on without a break, in the container's seconds."""

    first: int
    """Number of video packets that precede the run in the file."""
    last: int
    """Number of video packets that precede its last packet."""
    start_s: Fraction
    end_s: Fraction

    @property
    def middle(self) -> float:
        """Number of video packets that precede its middle."""
        return (self.first + self.last) / 2


class SoundClock:
    """Follows the clock of one other stream, and cuts it into runs.

    Attributes:
        runs: The runs so far, in the order of the file.
    """

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._at_s = Fraction(0)

    def add(self, at_s: Fraction, length_s: Fraction, video_packets: int) -> None:
        """Add the next packet, which starts at `at_s` after so many video packets."""
        end_s = at_s + length_s
        if self.runs and 0 <= at_s - self._at_s <= LONGEST_STEP_S:
            run = self.runs[-1]
            self.runs[-1] = run._replace(last=video_packets, end_s=max(run.end_s, end_s))
        else:
            self.runs.append(Run(video_packets, video_packets, at_s, end_s))
        self._at_s = at_s


class Joint(NamedTuple):
    """Where a new part of the file begins."""

    packet: int
    """Index of its first packet."""
    shift: int
    """Ticks to add to the container's times from there on."""


class Timeline(NamedTuple):
    """The times of packets on one clock, in ticks."""

    pts: Ticks
    dts: Ticks
    joints: list[Joint]
    end: Fraction
    """When the longest stream ends, in seconds on that clock."""


def continuous(times: PacketTimes, sounds: Sequence[SoundClock], tick: Fraction, frame_ticks: int) -> Timeline:
    """Return the times of all packets on one clock that never goes back.

    A part of the file begins where the decoding times go back, or forward by more than
    LONGEST_STEP_S while no sound goes on. It is moved to where the part before it ends. A single
    time that contradicts both its neighbours is replaced.

    Args:
        times: Of the video packets; at least one.
        sounds: The clocks of the other streams.
        tick: Length of a tick in seconds.
        frame_ticks: Duration of a frame that does not give its own.
    """
    pts, dts, duration = (np.array(column, np.int64) for column in (times.pts, times.dts, times.duration))
    duration[duration <= 0] = frame_ticks
    _fill(pts, dts, frame_ticks)
    runs = [run for sound in sounds for run in sound.runs]
    starts = _starts(pts, dts, duration, runs, tick)
    joints: list[Joint] = []
    end = Fraction(0)
    for first, after in zip(starts, [*starts[1:], len(pts)], strict=True):
        part = slice(first, after)
        shift = math.ceil(end / tick) - int(pts[part][:LONGEST_REORDER].min()) if first else 0
        joints.append(Joint(first, shift))
        pts[part] += shift
        dts[part] += shift
        end = _end_of_part(int((pts[part] + duration[part]).max()) * tick, first, after, len(pts), runs, shift * tick)
    return Timeline(pts, dts, joints[1:], end)


def _end_of_part(
    video_end: Fraction, first: int, after: int, count: int, runs: Sequence[Run], shift_s: Fraction
) -> Fraction:
    """Return when the part `[first, after)` ends: with its picture, or with a longer stream."""
    is_last = after == count
    ends = [
        run.end_s + shift_s
        for run in runs
        if first <= run.middle < after + is_last and (is_last or run.last <= after + INTERLEAVING)
    ]
    longest = max([video_end, *ends])
    return longest if is_last or longest - video_end > UNEVEN_S else video_end


def _fill(pts: Ticks, dts: Ticks, frame_ticks: int) -> None:
    """Give every packet a decoding and a presentation time, in place."""
    for index in np.flatnonzero(dts == NO_TIME):
        if index:
            dts[index] = dts[index - 1] + frame_ticks
        else:
            dts[index] = pts[index] if pts[index] != NO_TIME else 0
    missing = pts == NO_TIME
    pts[missing] = dts[missing]


def _starts(pts: Ticks, dts: Ticks, duration: Ticks, runs: Sequence[Run], tick: Fraction) -> list[int]:
    """Return the indices at which parts begin; correct single wrong times in place."""
    longest = int(LONGEST_STEP_S / tick)
    starts = [0]
    steps = np.diff(dts)
    for index in np.flatnonzero((steps < 0) | (steps - duration[:-1] > longest)) + 1:
        before = int(dts[index - 1])
        step = int(dts[index]) - before
        if 0 <= step <= longest + duration[index - 1]:
            continue  # the time before it was the wrong one, and is corrected
        if step < 0 and index - 2 >= starts[-1] and dts[index] >= dts[index - 2]:
            _move(pts, dts, int(index) - 1, min(int(dts[index - 2] + duration[index - 2]), int(dts[index])))
            continue
        following = int(dts[index + 1]) if index + 1 < len(dts) else None
        if following is not None and 0 <= following - before <= longest + 2 * duration[index - 1]:
            _move(pts, dts, int(index), min(before + int(duration[index - 1]), following))
        elif step < 0 or not _is_still(int(index), dts, starts[-1], runs, tick):
            starts.append(int(index))
    return starts


def _move(pts: Ticks, dts: Ticks, index: int, to: int) -> None:
    """Give a packet another decoding time; it is shown as much later as before."""
    pts[index] += to - dts[index]
    dts[index] = to


def _is_still(index: int, dts: Ticks, part: int, runs: Sequence[Run], tick: Fraction) -> bool:
    """Tell whether a picture stands on purpose: sound goes on, or pictures are always that rare."""
    from_s, until_s = int(dts[index - 1]) * tick + LONGEST_STEP_S, int(dts[index]) * tick - LONGEST_STEP_S
    near = [run for run in runs if run.first - INTERLEAVING <= index <= run.last + INTERLEAVING]
    if any(run.start_s <= from_s and run.end_s >= until_s for run in near):
        return True
    steps = index - 1 - part
    usual = (int(dts[index - 1]) - int(dts[part])) / steps if steps else math.inf
    return int(dts[index] - dts[index - 1]) < SLOWEST_FACTOR * usual


def decoded(pts: Ticks, frame_ticks: int) -> Ticks:
    """Return decoding times for frames whose presentation times alone are known.

    Within a part of the file they are the presentation times in order, earlier by as much as it
    takes to decode each frame before it is shown.

    Args:
        pts: In the order of decoding, in ticks.
        frame_ticks: Usual duration of a frame.
    """
    dts = pts.copy()
    breaks = np.flatnonzero(np.diff(pts) < -LONGEST_REORDER * frame_ticks) + 1
    for part in np.split(np.arange(len(pts)), breaks):
        ordered = np.sort(pts[part])
        dts[part] = ordered - max(0, int((ordered - pts[part]).max()))
    return dts


def paced(dts: Ticks, duration: Ticks, tick: Fraction) -> Ticks:
    """Return decoding times that follow from the durations of frames.

    A program stream gives one time for several pictures, and FFmpeg may take it for that of another
    picture. So the times of the container count only where they are further off than DRIFT_S.

    Args:
        dts: What the container gives, in ticks.
        duration: Of each frame, in ticks.
        tick: Length of a tick in seconds.
    """
    longest = int(DRIFT_S / tick)
    times = dts.copy()
    for index in range(1, len(dts)):
        expected = times[index - 1] + duration[index - 1]
        if dts[index] == NO_TIME or abs(int(dts[index]) - int(expected)) <= longest:
            times[index] = expected
    return times


def presented(types: bytes, times: Ticks) -> Ticks:
    """Return the presentation times of MPEG frames that are given in the order of decoding.

    A B-frame is shown when it is decoded, every other when the next other one is decoded.

    Args:
        types: `B` or another letter for each packet.
        times: When each is decoded, in ticks.
    """
    pts = times.copy()
    others = [index for index, letter in enumerate(types) if letter != ord("B")]
    for index, following in pairwise(others):
        pts[index] = times[following]
    if others:  # the last one is shown after all others
        pts[others[-1]] = times[-1] + (times[-1] - times[-2] if len(times) > 1 else 1)
    return pts


def in_slots(slots: Ticks, times: Ticks, frame_ticks: int) -> Ticks:
    """Return the presentation times of frames of which it is known how many are decoded before.

    Args:
        slots: For each packet, the number of frames that are decoded before its own is shown.
        times: When each is decoded, in ticks.
        frame_ticks: Duration of a frame, in ticks.
    """
    last = len(times) - 1
    beyond = np.maximum(slots - last, 0)
    shown: Ticks = times[np.clip(slots, 0, last)] + beyond * frame_ticks
    return shown
