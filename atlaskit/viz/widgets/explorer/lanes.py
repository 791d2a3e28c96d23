"""`lane`: where the lines of a video lie, for a lane of the ruler."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

MARKS = 400
"""Equal parts of the video that a lane tells apart: more would share pixels."""


def lane(spans_s: Iterable[Sequence[float]], duration_s: float) -> list[list[float]]:
    """Return the parts of a video that some intervals overlap, as shares of its duration, in order.

    Args:
        spans_s: Start and end of each interval in seconds, in any order.
        duration_s: Length of the video in seconds.
    """
    spans = np.array(list(spans_s), float).reshape(-1, 2) / duration_s * MARKS
    first = np.clip(spans[:, 0].astype(int), 0, MARKS - 1)
    last = np.clip(np.ceil(spans[:, 1]).astype(int), first + 1, MARKS)
    steps = np.bincount(first, minlength=MARKS + 1) - np.bincount(last, minlength=MARKS + 1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.cumsum(steps) > 0])))  # the last step ends all intervals
    return [[int(start) / MARKS, int(end) / MARKS] for start, end in edges.reshape(-1, 2)]
