"""Which frame stands out: candidates in a cell, and the one that is least like all frames near it.

Frames are compared as thumbnails. This module decodes nothing and knows no video.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from atlaskit.video.readers import Pixels

CANDIDATES = 9
"""Candidates in a cell, at equal distances; the fifth is its midpoint. With five, the frames of an
hour's root grid lie so far apart that each differs from all others."""
THUMBNAIL = (16, 9)
"""(width, height) in pixels of the frames that are compared."""
BLANK_LEVELS = 8
"""A thumbnail whose pixels differ by no more than this, of 255, is blank: a fade, a black frame. It
differs from everything and shows nothing."""
LONG_CELL_GOPS = 4
"""A cell of at least this many GOPs has keyframes as candidates, which cost no other frames."""

Keyframes = Callable[[float], tuple[float, float | None]]
"""From a time to those of the last keyframe before it and of the next one, in seconds."""


def candidates(start_s: float, end_s: float, fps: float, keyframes: Keyframes) -> list[float]:
    """Return the times of the frames that may represent a cell, in order.

    They lie at equal distances. In a cell that is much longer than a GOP, each is the keyframe
    nearest that place. A cell of fewer frames than candidates has its midpoint alone.

    Args:
        start_s: Start of the cell.
        end_s: End of the cell, not part of it.
        fps: Frames per second of the video.
        keyframes: Finds the keyframes around a time.
    """
    span_s = end_s - start_s
    if span_s * fps < CANDIDATES:
        return [(start_s + end_s) / 2]
    found = set()
    for number in range(CANDIDATES):
        # Whole microseconds, so that two cells mean the same frame by the same time.
        place_s = round(start_s + (number + 0.5) / CANDIDATES * span_s, 6)
        found.add(nearest_keyframe(place_s, start_s, end_s, keyframes(place_s), LONG_CELL_GOPS))
    return sorted(found)


def nearest_keyframe(
    place_s: float, start_s: float, end_s: float, around: tuple[float, float | None], least_gops: int
) -> float:
    """Return the keyframe nearest a place, of the two `around` it; the place if none will do.

    Args:
        place_s: A time.
        start_s: Start of the cell around it.
        end_s: End of the cell. Keyframes outside will not do.
        around: The last keyframe before the place, and the next one, if there is one.
        least_gops: In a shorter cell, no keyframe will do.
    """
    before_s, after_s = around
    if least_gops and (after_s is None or end_s - start_s < least_gops * (after_s - before_s)):
        return place_s
    inside = [time_s for time_s in around if time_s is not None and start_s <= time_s < end_s]
    return min(inside, key=lambda time_s: abs(time_s - place_s), default=place_s)


def most_salient(own_s: Sequence[float], near_s: Sequence[float], middle_s: float, seen: dict[float, Pixels]) -> float:
    """Return the candidate whose likest frame, among all others, is the least like it.

    A candidate that cannot be decoded or is blank does not stand for the cell, unless all are.
    Equal candidates: the one nearest the midpoint, of two the earlier.

    Args:
        own_s: Times of the candidates of the cell.
        near_s: Times of the candidates of the cells beside it.
        middle_s: Midpoint of the cell.
        seen: The thumbnail of each time that can be decoded.

    Returns:
        The time of the candidate; the midpoint if none can be decoded.
    """
    readable_s = [time_s for time_s in own_s if time_s in seen]
    chosen_s = [time_s for time_s in readable_s if not _is_blank(seen[time_s])] or readable_s
    others_s = [time_s for time_s in dict.fromkeys((*own_s, *near_s)) if time_s in seen]
    pixels = np.array([seen[time_s].ravel() for time_s in others_s], np.int32)

    def difference(time_s: float) -> int:
        """Return the difference to the likest other frame, summed over all pixels."""
        sums = np.abs(pixels - seen[time_s].ravel()).sum(axis=1)
        return min((int(each) for each, other_s in zip(sums, others_s, strict=True) if other_s != time_s), default=0)

    return min(chosen_s, key=lambda time_s: (-difference(time_s), abs(time_s - middle_s), time_s), default=middle_s)


def _is_blank(thumbnail: NDArray[np.uint8]) -> bool:
    levels = thumbnail.reshape(-1, thumbnail.shape[-1]).astype(np.int32)
    return bool((levels.max(axis=0) - levels.min(axis=0)).max() <= BLANK_LEVELS)
