"""`FrameClock`: converts seconds to frame numbers and SMPTE timecode, and back.

A stretch has the frames that are shown in it: from the one on the screen at its start to the last
one that appears before its end. In a file with a variable frame rate, frames are numbered by the
ticks of a clock that is fast enough to give each frame a tick of its own.
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
"""How many frame numbers drop-frame timecode skips in each minute but every tenth, by rate."""
JITTER = 0.98
"""Share of the shortest usual gap between frames that still counts as that gap."""
TICK_TOLERANCE = 0.05
"""Share of a tick by which a frame may come late: times in files are rounded."""
_TIMECODE = re.compile(
    r"(?P<hours>\d{1,3})[:;](?P<minutes>\d\d)[:;](?P<seconds>\d\d)"
    r"(?P<sign>[:;.,])(?P<frame>\d{1,4})",
    re.ASCII,
)


def rate_of(fps: float) -> Fraction:
    """Return the exact rate of a timecode for frames per second: 30000/1001 for 29.97.

    Timecode can count at any whole rate, but not at a rate such as 12.5. That becomes the first of
    RATES that is a multiple of it, or else the next faster one.
    """
    nearest = min(RATES, key=lambda rate: abs(float(rate) - fps))
    if abs(float(nearest) - fps) <= NEAR * fps:
        return nearest
    if abs(round(fps) - fps) <= NEAR * fps and round(fps):
        return Fraction(round(fps))
    faster = [rate for rate in RATES if rate > fps]
    for rate in faster:
        multiple = float(rate) / fps
        if abs(multiple - round(multiple)) <= NEAR:
            return rate
    return faster[0] if faster else Fraction(math.ceil(fps))


@dataclass(frozen=True)
class FrameClock:
    """A clock of `rate` ticks a second for the frames of one video.

    Args:
        rate: Ticks per second; at a constant frame rate, a tick is a frame.
        times_s: The time of every frame in seconds, shape (n,); None at a constant rate from second
            0 on.
        ticks: The tick of every frame in `times_s`, shape (n,).
    """

    rate: Fraction
    times_s: NDArray[np.float64] | None = field(default=None, compare=False)
    ticks: NDArray[np.int64] | None = field(default=None, compare=False)

    @property
    def drops(self) -> int:
        """How many frame numbers the timecode skips in most minutes; 0 if it skips none."""
        return DROPPING.get(self.rate, 0)

    def span(self, start_s: float, end_s: float) -> tuple[int, int]:
        """Return the ticks `[first, after)` of the frames that are shown in `[start_s, end_s)`."""
        if self.times_s is None or self.ticks is None:
            first = math.floor((start_s + TIME_STEP_S) * self.rate)
            return first, max(first + 1, math.ceil((end_s - TIME_STEP_S) * self.rate))
        shown = max(0, int(np.searchsorted(self.times_s, start_s + TIME_STEP_S, "right")) - 1)
        following = int(np.searchsorted(self.times_s, end_s - TIME_STEP_S, "left"))
        first = int(self.ticks[shown])
        if following < len(self.ticks):
            after = int(self.ticks[following])
        else:
            past_end = math.ceil((end_s - TIME_STEP_S) * self.rate)
            after = max(past_end, int(self.ticks[-1]) + 1)
        return first, max(first + 1, after)

    def seconds(self, tick: int) -> float:
        """Return the time in seconds at which the frame of a tick appears."""
        if self.times_s is not None and self.ticks is not None:
            index = min(int(np.searchsorted(self.ticks, tick)), len(self.ticks) - 1)
            if int(self.ticks[index]) == tick:
                return float(self.times_s[index])
        return float(tick / self.rate)

    def timecode(self, tick: int) -> str:
        """Return a tick as SMPTE timecode; with a semicolon if it is drop-frame timecode.

        Drop-frame timecode skips the first `drops` frame numbers of each minute but every tenth, so
        that at 29.97 frames per second it does not fall behind the clock.
        """
        base = max(1, round(self.rate))
        if self.drops:
            tens, rest = divmod(tick, 600 * base - 9 * self.drops)
            minutes = 10 * tens
            # The first of ten minutes skips nothing; each of the other nine begins with a skip.
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
            is_dropping: Whether it is drop-frame timecode; None: it is if its last sign is a
                semicolon.

        Raises:
            ValueError: The text is no timecode, or counts more frames than a second has.
        """
        match = _TIMECODE.fullmatch(timecode.strip())
        base = max(1, round(self.rate))
        if (
            match is None
            or int(match["minutes"]) > 59
            or int(match["seconds"]) > 59
            or int(match["frame"]) >= base
        ):
            raise ValueError(
                f"{timecode!r:.40} is no timecode at {float(self.rate):g} frames per second"
            )
        minutes = 60 * int(match["hours"]) + int(match["minutes"])
        tick = (60 * minutes + int(match["seconds"])) * base + int(match["frame"])
        if is_dropping is None:
            is_dropping = match["sign"] == ";"
        if is_dropping:
            tick -= self.drops * (minutes - minutes // 10)
        return tick


def clock_of(video: Video | None, fps: float | None) -> FrameClock:
    """Return the frame clock of a video.

    Args:
        video: The video, whose frame times are read if its file exists; None if it is not known.
        fps: The frame rate, for a video that is not known.

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
    except VideoError:  # the file is gone: only its cached frame rate is known
        times_s = None
    rate = rate_of(video.fps)
    if times_s is None or len(times_s) < 2:
        return FrameClock(rate)
    ticks = np.arange(len(times_s))
    if np.abs(times_s * float(rate) - ticks).max() < 0.5:
        return FrameClock(rate, times_s, ticks)
    fast = _fast_enough(times_s)
    # Round up: a program that seeks to the time of a tick then finds its frame, not the one before.
    ticks = np.ceil(times_s * float(fast) - TICK_TOLERANCE).astype(np.int64)
    return FrameClock(fast, times_s, np.maximum.accumulate(ticks))


def _fast_enough(times_s: NDArray[np.float64]) -> Fraction:
    """Return the rate of RATES that separates all but a few frames.

    Of the slowest such rate and those up to 5 % faster, the one whose ticks lie nearest to the
    frames is returned.
    """
    gap_s = float(np.quantile(np.diff(times_s), 0.01))
    least = JITTER / max(gap_s, 1e-6)
    enough = [rate for rate in RATES if float(rate) >= least] or [RATES[-1]]
    candidates = [rate for rate in enough if rate <= enough[0] * Fraction(21, 20)]

    def misfit(rate: Fraction) -> float:
        ticks = times_s * float(rate)
        return float(np.abs(ticks - np.round(ticks)).mean())

    return min(candidates, key=misfit)
