"""`SimilarFrames`: the moments of a video in groups of frames that look alike, without any model.

A frame is described by a thumbnail of 16×9 pixels and a histogram of its colours. k-means divides
all frames of a video, and Ward's method divides a group again. Groups are entries of the cache: a
replay needs neither the frames nor scikit-learn, and has the groups of the run on any machine.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from atlaskit.caching.cache import Cache, Transient
from atlaskit.caching.keys import Kind, canonical_json, is_json
from atlaskit.errors import FrameError, InputError, missing
from atlaskit.video.video import Video

THUMBNAIL = (16, 9)
"""(width, height) in pixels of the frames that are compared."""
LEVELS = 4
"""Levels of each of the three colours in a histogram, which so has 64 counts."""
MOST_FRAMES = 3_600
"""Frames of a video that are compared: one a second in the first hour. A longer video has one for
each of so many equal parts (every ten seconds of ten hours): the keyframe nearest the part's middle
if there is one, so that the cost is bounded."""
SEED = 0
"""Seed of k-means."""
STARTS = 4
"""Starts of k-means, of which the best one counts."""
FRAME = np.dtype([("time_s", "<f8"), ("pixels", "u1", (THUMBNAIL[1], THUMBNAIL[0], 3))])
"""A frame that is compared; its time is NaN if it cannot be decoded."""
FEATURES = Kind("features", 1)
"""The tiny frames by which the moments of a video are compared. A replay has the clusters, whose
keys hold this one."""
CLUSTERS = Kind("clusters", 1, is_json(list))
"""Groups of similar frames. Left out: the version of scikit-learn, so that a replay elsewhere has
the groups of the run."""
GROUPS = TypeAdapter(list[tuple[float, Annotated[list[int], Field(min_length=1)]]], config=ConfigDict(strict=True))
"""An entry of groups: the time and the members of each."""

_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Cluster:
    """A group of frames that look alike."""

    time_s: float
    """Time of the frame that is nearest the group's mean: the one to look at."""
    members: tuple[int, ...]
    """Indices of its frames among those of the video, in order of time."""


@dataclass(frozen=True)
class SimilarFrames:
    """The frames of a video that are compared with each other."""

    video: Video
    cache: Cache
    most: int = MOST_FRAMES

    @property
    def count(self) -> int:
        """How many there are: one a second, but at most `most`."""
        return max(1, min(self.most, math.ceil(self.video.duration_s)))

    def clusters(self, count: int, within: Cluster | None = None) -> list[Cluster]:
        """Return up to `count` groups, in order of their times.

        Args:
            count: The most groups.
            within: The group whose frames are divided (Ward); None for all frames (k-means).

        Raises:
            InputError: If scikit-learn is needed and not installed.
        """
        of = None if within is None else within.members
        key = CLUSTERS.key(features=self._key, count=count, of=of)
        allowed = set(range(self.count) if of is None else of)
        entry = self.cache.remember(key, lambda: self._divide(count, of), fits=lambda entry: self._fits(entry, allowed))
        return [Cluster(time_s, tuple(members)) for time_s, members in GROUPS.validate_json(entry)]

    def _divide(self, count: int, of: tuple[int, ...] | None) -> bytes:
        entry = self.cache.remember(self._key, self._read, fits=self._holds_frames)
        frames, clusters = np.frombuffer(entry, FRAME), []
        chosen = np.flatnonzero(~np.isnan(frames["time_s"]))
        chosen = chosen if of is None else chosen[np.isin(chosen, of)]
        if len(chosen):
            rows = descriptors(frames["pixels"][chosen])
            labels = k_means(rows, count) if of is None else ward(rows, count)
            for label in np.unique(labels):
                inside = np.flatnonzero(labels == label)
                offsets = ((rows[inside] - rows[inside].mean(axis=0)) ** 2).sum(axis=1)
                nearest = chosen[inside[offsets.argmin()]]
                clusters.append([float(frames["time_s"][nearest]), chosen[inside].tolist()])
        divided = canonical_json(sorted(clusters)).encode()
        return Transient(divided) if isinstance(entry, Transient) else divided

    @property
    def _key(self) -> str:
        return FEATURES.key(video=self.video.fingerprint, frames=self.count, size=THUMBNAIL)

    def _read(self) -> bytes:
        """Return the frames, to be cached unless one could not be read this time, or the video
        stands in for another.
        """
        times_s, is_passing = self._times()
        frames = np.zeros(self.count, FRAME)
        for number, (time_s, read) in enumerate(zip(times_s, self.video.try_frames(times_s, THUMBNAIL), strict=True)):
            if isinstance(read, FrameError):
                frames["time_s"][number] = math.nan
                is_passing = is_passing or not read.is_lasting
            else:
                frames[number] = time_s, read
        return Transient(frames.tobytes()) if is_passing or self.video.is_stand_in else frames.tobytes()

    def _times(self) -> tuple[list[float], bool]:
        """Return the time of each frame, and whether keyframes could not be searched this time."""
        part_s = self.video.duration_s / self.count
        middles_s = [(number + 0.5) * part_s for number in range(self.count)]
        if part_s <= 1:
            return middles_s, False
        try:
            return [self.video.moment(at - part_s / 2, at + part_s / 2, "keyframe") for at in middles_s], False
        except FrameError:
            return middles_s, True

    def _holds_frames(self, entry: bytes) -> bool:
        """Return whether cached bytes are frames of this video; a stranger's may be anything."""
        if len(entry) != self.count * FRAME.itemsize:
            return False
        times_s = np.frombuffer(entry, FRAME)["time_s"]
        return bool((np.isnan(times_s) | (times_s >= 0) & (times_s < self.video.duration_s)).all())

    def _fits(self, entry: bytes, allowed: set[int]) -> bool:
        """Return whether cached bytes are groups of such frames; a stranger's may be anything."""
        try:
            clusters = GROUPS.validate_json(entry)
        except ValidationError:
            return False
        members = [member for _, each in clusters for member in each]
        is_disjoint = len(set(members)) == len(members) and allowed.issuperset(members)
        return is_disjoint and all(0 <= time_s < self.video.duration_s for time_s, _ in clusters)


def descriptors(pixels: np.ndarray) -> np.ndarray:
    """Return a row of numbers for each thumbnail; alike frames have near rows.

    Args:
        pixels: (n, height, width, 3), RGB, uint8.

    Returns:
        (n, d). The squared distance of two rows is the mean squared difference of the pixels, from
        0 to 1, plus the squared Hellinger distance of the colour histograms, from 0 to 1.
    """
    n, size = len(pixels), pixels[0].size
    levels = pixels.astype(int).reshape(n, -1, 3) * LEVELS // 256
    codes = (levels[..., 0] * LEVELS + levels[..., 1]) * LEVELS + levels[..., 2]
    counts = np.stack([np.bincount(row, minlength=LEVELS**3) for row in codes])
    histograms = np.sqrt(counts / codes.shape[1] / 2)
    return np.hstack([pixels.reshape(n, -1) / (255 * math.sqrt(size)), histograms])


def k_means(rows: np.ndarray, count: int) -> np.ndarray:
    """Return the number of the group of each row, of at most `count` groups."""
    sklearn_cluster = _scikit_learn()
    count = min(count, len(np.unique(rows, axis=0)))
    return _alone(sklearn_cluster.KMeans(count, n_init=STARTS, random_state=SEED), rows)


def ward(rows: np.ndarray, count: int) -> np.ndarray:
    """Return the number of the group of each row, of at most `count` groups."""
    if len(rows) <= count:
        return np.arange(len(rows))
    return _alone(_scikit_learn().AgglomerativeClustering(count, linkage="ward"), rows)


def _alone(clustering: Any, rows: np.ndarray) -> np.ndarray:
    """Return the labels that a clustering finds on one thread.

    Several would add up rounding errors in an order that depends on their timing. The limit counts
    for the whole process, hence the lock.
    """
    from threadpoolctl import threadpool_limits

    with _one_at_a_time, threadpool_limits(1):
        return np.asarray(clustering.fit_predict(rows))


def _scikit_learn() -> Any:
    try:
        from sklearn import cluster
    except ImportError as error:
        raise InputError(missing("The method videotree", "scikit-learn>=1.4")) from error
    return cluster
