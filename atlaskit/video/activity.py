"""`Activity`: how much changes in a video over time, and where it cuts, read once and cached.

`Changes` works it out from the sizes of packets. An entry of the cache may come from elsewhere, so
it is checked when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from atlaskit.caching.cache import Cache, Transient
from atlaskit.caching.keys import Kind, canonical_json
from atlaskit.errors import VideoError
from atlaskit.video.changes import MOST_STEPS, Changes

if TYPE_CHECKING:
    from atlaskit.video.readers.pyav import PyAVReader

DIGITS = 3
"""Decimals of a level that are kept; of a time, twice as many."""
SAME_LENGTH = 1e-6
"""Largest difference of two lengths, as a share, that rounding explains."""


@dataclass(frozen=True)
class Activity:
    """How much changes in a video over time, from the sizes of its packets: nothing is decoded."""

    step_s: float
    """Length of a step in seconds. All steps together are the whole video."""
    levels: tuple[float, ...]
    """For each step, the bytes of its packets, without keyframes, over their median of a minute
    around: 1.0 is as usual, and also what cannot be known; 0.0 is a still picture."""
    cuts_s: tuple[float, ...]
    """Times of presumed cuts in seconds, in order; some are a few frames late. An object that pops
    up may be among them."""


class PartActivity(NamedTuple):
    """A part of a playlist: the second at which it starts, its length, and what is known of it."""

    start_s: float
    duration_s: float
    activity: Activity | None


class StoredActivity(BaseModel):
    """An `Activity` as JSON."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    step_s: float = Field(gt=0)
    levels: list[float] = Field(min_length=1, max_length=MOST_STEPS)
    cuts_s: list[float] = Field(max_length=2 * MOST_STEPS)


ACTIVITY = Kind("activity", 2, lambda _, value: parse_activity(value) is not None)
"""How much changes in a file over time. Left out: the playlists it is in."""


def read_activity(reader: PyAVReader) -> bytes:
    """Return the activity of a file as an entry of the cache, from one pass over its packets.

    What lies behind damage that cannot be passed, or is missing from a truncated file, is unknown.
    If the file cannot be read this time, or has no packets, the entry is `null` and is not cached.
    """
    try:
        packets = reader.packet_sizes()
    except VideoError:
        return Transient(b"null")
    changes = Changes(reader.duration_s, reader.fps, packets)
    if changes.last_s < 0:
        return Transient(b"null")
    until_s = min(reader.readable_s, reader.duration_s if packets.is_whole else changes.last_s)
    levels = [round(float(level), DIGITS) for level in changes.levels(until_s)]
    cuts_s = [round(time_s, 2 * DIGITS) for time_s in changes.cuts_s() if time_s < until_s]
    return canonical_json({"step_s": changes.step_s, "levels": levels, "cuts_s": cuts_s}).encode()


def parse_activity(entry: bytes, duration_s: float | None = None) -> Activity | None:
    """Return the activity in a cache entry.

    Args:
        entry: The entry.
        duration_s: Length of the video; None if it is not known.

    Returns:
        The activity, or None if the entry holds anything else.
    """
    try:
        stored = StoredActivity.model_validate_json(entry)
    except ValidationError:
        return None
    levels, cuts_s, length_s = stored.levels, stored.cuts_s, stored.step_s * len(stored.levels)
    are_ordered = all(before < after for before, after in pairwise([0.0, *cuts_s, length_s]))
    is_of_video = duration_s is None or abs(length_s - duration_s) <= SAME_LENGTH * duration_s
    if not are_ordered or not is_of_video or min(levels) < 0:
        return None
    return Activity(stored.step_s, tuple(levels), tuple(cuts_s))


def cached_activity(fingerprint: str, duration_s: float, cache: Cache) -> Activity | None:
    """Return the cached activity of a file, or None if there is none."""
    entry = cache.get(ACTIVITY.key(video=fingerprint))
    return None if entry is None else parse_activity(entry, duration_s)


def remembered_activity(
    fingerprint: str, duration_s: float, cache: Cache, read: Callable[[], bytes]
) -> Activity | None:
    """Return the activity of a file from the cache, or read it once; None if it cannot be read."""
    entry = cache.remember(
        ACTIVITY.key(video=fingerprint),
        read,
        fits=lambda entry: parse_activity(entry, duration_s) is not None,
    )
    return parse_activity(entry, duration_s)


def joined(parts: Sequence[PartActivity], duration_s: float) -> Activity | None:
    """Return the activity of a playlist: that of its parts, one after the other.

    The start of each further part is a cut. A part of which nothing is known is as usual. Steps are
    as long as the shortest of the parts, or longer if there would be too many of them. Each has the
    mean level of what it overlaps.
    """
    known = [part.activity for part in parts if part.activity is not None]
    if not known:
        return None
    shortest_s = min(activity.step_s for activity in known)
    count = max(1, min(MOST_STEPS, int(duration_s / shortest_s + SAME_LENGTH)))
    step_s = duration_s / count
    sums = np.zeros(count)
    cuts_s: list[float] = []
    for part in parts:
        activity = part.activity or Activity(part.duration_s, (1.0,), ())
        end_s = part.start_s + part.duration_s
        first, last = int(part.start_s / step_s), min(count - 1, int(end_s / step_s))
        edges = np.clip(np.arange(first, last + 2) * step_s, part.start_s, end_s) - part.start_s
        totals = np.concatenate([[0.0], np.cumsum(activity.levels)]) * activity.step_s
        sums[first : last + 1] += np.diff(np.interp(edges, np.arange(len(totals)) * activity.step_s, totals))
        shifted = (part.start_s + time_s for time_s in (0.0, *activity.cuts_s))
        cuts_s += [time_s for time_s in shifted if 0 < time_s < duration_s]
    levels = tuple(round(max(0.0, float(level)), DIGITS) for level in sums / step_s)
    return Activity(step_s, levels, tuple(sorted(set(cuts_s))))
