"""`FrameClock`: seconds as numbers of frames and back, by a file's own frame times; timecode.

A stretch has the frames that are shown in it: from the one on the screen at its start to the last
one that appears before its end. Where a file's frames do not come evenly, frames are counted on a
clock that is fast enough to tell them apart, and each keeps its own time.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import InputError, VideoError
from atlaskit.video.readers import TIME_STEP_S
from atlaskit.video.video import Video

RATES = (
    Fraction(24_000, 1001),
    Fraction(24),
    Fraction(25),
    Fraction(30_000, 1001),
    Fraction(30),
    Fraction(48_000, 1001),
    Fraction(48),
    Fraction(50),
    Fraction(60_000, 1001),
    Fraction(60),
    Fraction(100),
    Fraction(120_000, 1001),
    Fraction(120),
)
"""The frame rates of film and television, which editors support."""
NEAR = 2e-4
"""Relative difference up to which a rate counts as one of RATES: files state rounded rates."""
DROPPING = {Fraction(30_000, 1001): 2, Fraction(60_000, 1001): 4}
"""Numbers that drop-frame timecode leaves out in each minute but every tenth, by its rate."""
JITTER = 0.98
"""Share of the shortest usual gap between frames that still counts as that gap."""
TICK_TOLERANCE = 0.05
"""Share of a tick by which a frame may come late: times in files are rounded."""
_TIMECODE = re.compile(r"(\d{1,3})[:;](\d\d)[:;](\d\d)([:;.,])(\d{1,4})", re.ASCII)


def rate_of(fps: float) -> Fraction:
    """Return the rate that frames per second are counted at: 29.97 is 30000/1001.

    A rate with which no timecode can count, such as 12.5, becomes a usual one that is a multiple of
    it, or the next one.
    """
    nearest = min(RATES, key=lambda rate: abs(float(rate) - fps))
    if abs(float(nearest) - fps) <= NEAR * fps:
        return nearest
    if abs(round(fps) - fps) <= NEAR * fps and round(fps):
        return Fraction(round(fps))
    faster = [rate for rate in RATES if rate > fps]
    for rate in faster:
        times = float(rate) / fps
        if abs(times - round(times)) <= NEAR:
            return rate
    return faster[0] if faster else Fraction(math.ceil(fps))


@dataclass(frozen=True)
class FrameClock:
    """A clock of `rate` ticks a second for the frames of one video.

    Args:
        rate: Ticks per second; a tick is a frame where frames come evenly.
        times_s: The second of every frame; None where frames come evenly from second 0 on.
        ticks: The tick of every frame in `times_s`.
    """

    rate: Fraction
    times_s: NDArray[np.float64] | None = field(default=None, compare=False)
    ticks: NDArray[np.int64] | None = field(default=None, compare=False)

    @property
    def drops(self) -> int:
        """Numbers that its timecode leaves out in most minutes; 0 if it drops none."""
        return DROPPING.get(self.rate, 0)

    def span(self, start_s: float, end_s: float) -> tuple[int, int]:
        """Return the ticks `[first, after)` of the frames that are shown in `[start_s, end_s)`."""
        if self.times_s is None or self.ticks is None:
            first = math.floor((start_s + TIME_STEP_S) * self.rate)
            return first, max(first + 1, math.ceil((end_s - TIME_STEP_S) * self.rate))
        index = max(0, int(np.searchsorted(self.times_s, start_s + TIME_STEP_S, "right")) - 1)
        after = int(np.searchsorted(self.times_s, end_s - TIME_STEP_S, "left"))
        first = int(self.ticks[index])
        past_last = math.ceil((end_s - TIME_STEP_S) * self.rate)
        if after < len(self.ticks):
            last = int(self.ticks[after])
        else:
            last = max(past_last, int(self.ticks[-1]) + 1)
        return first, max(first + 1, last)

    def seconds(self, tick: int) -> float:
        """Return the second at which the frame of a tick appears."""
        if self.times_s is not None and self.ticks is not None:
            index = min(int(np.searchsorted(self.ticks, tick)), len(self.ticks) - 1)
            if int(self.ticks[index]) == tick:
                return float(self.times_s[index])
        return float(tick / self.rate)

    def timecode(self, tick: int) -> str:
        """Return a tick as SMPTE timecode; with a semicolon if it is drop-frame timecode.

        Drop-frame timecode leaves out the first `drops` frame numbers of each minute but every
        tenth, so that at 29.97 frames per second it keeps up with the clock.
        """
        base = max(1, round(self.rate))
        if self.drops:
            tens, rest = divmod(tick, 600 * base - 9 * self.drops)
            minutes = 10 * tens
            if rest >= 60 * base:
                after_first, rest = divmod(rest - 60 * base, 60 * base - self.drops)
                minutes += 1 + after_first
                rest += self.drops
        else:
            minutes, rest = divmod(tick, 60 * base)
        seconds, frame = divmod(rest, base)
        sign = ";" if self.drops else ":"
        digits = max(2, len(str(base - 1)))
        return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{sign}{frame:0{digits}}"

    def tick(self, timecode: str, is_dropping: bool | None = None) -> int:
        """Return the tick of a timecode.

        Args:
            timecode: Hours, minutes, seconds and frames.
            is_dropping: Whether numbers are left out; None: if the last sign is a semicolon.

        Raises:
            ValueError: It is none, or counts more frames than a second has.
        """
        match = _TIMECODE.fullmatch(timecode.strip())
        base = max(1, round(self.rate))
        if match is None or int(match[5]) >= base or int(match[3]) > 59 or int(match[2]) > 59:
            raise ValueError(
                f"{timecode!r:.40} is no timecode at {float(self.rate):g} frames per second"
            )
        minutes = 60 * int(match[1]) + int(match[2])
        tick = (60 * minutes + int(match[3])) * base + int(match[5])
        if is_dropping is None:
            is_dropping = match[4] == ";"
        if is_dropping:
            tick -= self.drops * (minutes - minutes // 10)
        return tick


def clock_of(video: Video | None, fps: float | None) -> FrameClock:
    """Return the clock of a video's file, by the times of its frames where the file is there.

    Args:
        video: The video; None if only its rate is known.
        fps: A given rate; None means that of the video.

    Raises:
        InputError: Neither is known.
    """
    if video is not None:
        return _clock_of(video)
    if fps is None:
        raise InputError(
            "This format counts frames, and the frame rate is not known: pass fps=, or the video."
        )
    return FrameClock(rate_of(fps))


@lru_cache(maxsize=64)
def _clock_of(video: Video) -> FrameClock:
    """Return the clock of a video; it is cached, since reading the frame times reads the file."""
    try:
        times_s = video.frame_times()
    except VideoError:  # the file is gone, so its recorded facts are used
        times_s = None
    rate = rate_of(video.fps)
    if times_s is None or len(times_s) < 2:
        return FrameClock(rate)
    ticks = np.arange(len(times_s))
    if np.abs(times_s * float(rate) - ticks).max() < 0.5:
        return FrameClock(rate, times_s, ticks)
    fast = _fast_enough(times_s)
    # At the second of its tick, the file shows the frame, whichever program counts.
    ticks = np.ceil(times_s * float(fast) - TICK_TOLERANCE).astype(np.int64)
    return FrameClock(fast, times_s, np.maximum.accumulate(ticks))


def _fast_enough(times_s: NDArray[np.float64]) -> Fraction:
    """Return the usual rate that tells all but a few frames apart: a slow one that fits them."""
    gap_s = float(np.quantile(np.diff(times_s), 0.01))
    least = JITTER / max(gap_s, 1e-6)
    enough = [rate for rate in RATES if float(rate) >= least] or [RATES[-1]]

    def misfit(rate: Fraction) -> float:
        ticks = times_s * float(rate)
        return float(np.abs(ticks - np.round(ticks)).mean())

    return min((rate for rate in enough if rate <= enough[0] * Fraction(21, 20)), key=misfit)
