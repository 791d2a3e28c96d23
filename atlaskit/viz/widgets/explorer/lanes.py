"""`lanes`: what the ruler shows of the whole video beside marks: activity, scene cuts, speech.

Each is a list of intervals as shares of the duration, with a level from 0 to 1. However long the
video is, a lane has at most `MAX_BINS` intervals: more would share pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.caching.cache import Cache
from atlaskit.video.activity import Activity
from atlaskit.video.video import Video

MAX_BINS = 300
"""Equal parts of the video that a lane tells apart."""
LOUDEST = 3.0
"""A level of activity that is drawn as high as possible; as usual is 1."""

Mark = tuple[float, float, float]
"""Start and end as shares of the duration, and a level from 0 to 1."""


class RulerLane(NamedTuple):
    """One lane of the ruler."""

    name: str
    marks: list[Mark]
    words: str
    """What it shows, in a sentence."""


def lanes(video: Video, cache: Cache) -> Iterator[RulerLane]:
    """Yield the lanes of a video: speech at once, then what its packets tell.

    Decodes nothing. The sizes of the packets are in the sample table of an MP4 or MOV file; another
    file is read through once, unless the cache knows it.

    Raises:
        VideoError: The file is another video than the one that the cache knows.
    """
    if len(video.subtitles):
        spans = np.array([(line.start_s, line.end_s) for line in video.subtitles.lines], float)
        marks = _joined(_covered(spans, video.duration_s))
        yield RulerLane("speech", marks, f"Speech: {len(video.subtitles):,} subtitle lines.")
    activity = video.activity(cache)
    if activity is None:
        return
    yield RulerLane("activity", _levels(activity), "Activity: how much changes, from the sizes of packets.")
    marks = _cuts(activity.cuts_s, video.duration_s)
    yield RulerLane("cuts?", marks, f"Presumed scene cuts: {len(activity.cuts_s):,}, from the sizes of packets.")


def _covered(spans_s: NDArray[np.float64], duration_s: float) -> NDArray[np.bool_]:
    """Return for each bin whether an interval overlaps it."""
    first = np.clip((spans_s[:, 0] / duration_s * MAX_BINS).astype(int), 0, MAX_BINS - 1)
    last = np.clip(np.ceil(spans_s[:, 1] / duration_s * MAX_BINS).astype(int), first + 1, MAX_BINS)
    steps = np.bincount(first, minlength=MAX_BINS + 1) - np.bincount(last, minlength=MAX_BINS + 1)
    return np.cumsum(steps)[:MAX_BINS] > 0


def _joined(are_covered: NDArray[np.bool_]) -> list[Mark]:
    """Return neighbouring bins as one interval."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], are_covered, [False]]).astype(int)))
    return [(int(start) / MAX_BINS, int(end) / MAX_BINS, 1.0) for start, end in edges.reshape(-1, 2)]


def _levels(activity: Activity) -> list[Mark]:
    """Return the activity in bins, as high as the highest of their steps."""
    steps = len(activity.levels)
    count = min(MAX_BINS, steps)
    first = np.arange(count) * steps // count
    levels = np.minimum(1.0, np.maximum.reduceat(activity.levels, first) / LOUDEST)
    edges = [*(first / steps).tolist(), 1.0]
    return [(*span, round(float(level), 3)) for span, level in zip(pairwise(edges), levels, strict=True)]


def _cuts(cuts_s: Sequence[float], duration_s: float) -> list[Mark]:
    """Return each cut; or, of more than can be told apart, how many each bin has."""
    if len(cuts_s) <= MAX_BINS:
        return [(time_s / duration_s, time_s / duration_s, 1.0) for time_s in cuts_s]
    counts = np.bincount(np.clip((np.array(cuts_s) / duration_s * MAX_BINS).astype(int), 0, MAX_BINS - 1))
    return [(index / MAX_BINS, (index + 1) / MAX_BINS, round(float(count / counts.max()), 3))
            for index, count in enumerate(counts) if count]  # fmt: skip
