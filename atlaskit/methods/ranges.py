"""Ranges of clips that a controller named: whether they are legal, and sheets that show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from atlaskit.environment.grid import Grid, clock, listed
from atlaskit.environment.question import Span
from atlaskit.errors import InputError, check_whole
from atlaskit.methods.prompts.ranges import MOST_RANGES
from atlaskit.models.protocol import MOST_IMAGES

Range = tuple[int, int]
"""The indices of the first and the last clip of a range."""
SHEETS_K = (4, 3, 2)
"""Cells in a row of a sheet of several, the usual size first."""
LEAST_FRAMES = MOST_RANGES * SHEETS_K[-1] ** 2
"""Frames that suffice for a sheet of each range."""
LARGEST_FRAMES = MOST_IMAGES * SHEETS_K[0] ** 2
"""Frames that fit the sheets of one request."""


def check_frames(frames: int) -> None:
    """Raise InputError unless so many frames give each range a sheet and fit one request."""
    check_whole("frames", frames, least=LEAST_FRAMES)
    if frames > LARGEST_FRAMES:
        raise InputError(f"frames may be at most {LARGEST_FRAMES}, {MOST_IMAGES} sheets of 4×4; got {frames}.")


def objection(named: Iterable[Any]) -> str:
    """Return what is wrong with ranges that a controller named, as it is told; "" if nothing is."""
    for each in named:
        if each.last < each.first:
            return (
                f"Not possible: the range from clip {each.first} to clip {each.last} ends before it begins. first must "
                "not be after last."
            )
    return ""


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Return ranges in order, those joined that overlap or touch."""
    joined: list[Range] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined


def spans_of(ranges: Iterable[Range], clips: Sequence[Span]) -> tuple[Span, ...]:
    """Return the intervals of ranges of clips.

    Args:
        ranges: The ranges.
        clips: The interval of each clip of the video.
    """
    return tuple((clips[first][0], clips[last][1]) for first, last in ranges)


def ranges_text(ranges: Sequence[Range], clips: Sequence[Span]) -> str:
    """Return ranges of clips in words, with their times, such as "Clips 3–5 (0:30.0–1:00.0)"."""
    times = [f"{clock(start_s)}–{clock(end_s)}" for start_s, end_s in spans_of(ranges, clips)]
    named = [listed(range(first, last + 1)) for first, last in ranges]
    return f"Clips {', '.join(f'{clip} ({time})' for clip, time in zip(named, times, strict=True))}"


def sheets_over(spans: Sequence[Span], frames: int) -> list[Grid]:
    """Return the sheets that show some intervals, in order of time.

    A sheet is as large as it can be if each interval gets one of its own. What is left over goes,
    sheet by sheet, to the interval whose frames are the furthest apart.

    Args:
        spans: The intervals, in order of time; at most `frames / 4` of them.
        frames: The most frames on all sheets together.
    """
    k = next(k for k in SHEETS_K if frames // k**2 >= len(spans))
    sheets = [1] * len(spans)
    for _ in range(min(frames // k**2, MOST_IMAGES) - len(spans)):
        steps = [(end_s - start_s) / count for (start_s, end_s), count in zip(spans, sheets, strict=True)]
        sheets[steps.index(max(steps))] += 1
    return [Grid(*part, k) for span, count in zip(spans, sheets, strict=True) for part in pairwise(_edges(span, count))]


def _edges(span: Span, parts: int) -> list[float]:
    """Return the edges of equal parts of an interval."""
    start_s, end_s = span
    return [start_s + (end_s - start_s) * part / parts for part in range(parts)] + [end_s]
