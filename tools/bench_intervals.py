"""Intervals that several benches print: a ratio of sums, and a mean with its interval as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from atlaskit.evaluation.intervals import Interval, bootstrap_bounds


def ratio_of_sums(values: Sequence[float], before: Sequence[float], seeds_of: Sequence[object]) -> Interval:
    """Return the ratio of the sums of paired values, with its bootstrap interval over seeds."""
    _, places = np.unique(seeds_of, return_inverse=True)
    sums = np.bincount(places, values), np.bincount(places, before)

    def ratio(taken: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(taken @ sums[0] / (taken @ sums[1]), float)

    low, high = bootstrap_bounds(len(sums[0]), ratio, 0.95)
    return Interval(float(sums[0].sum() / sums[1].sum()), low, high)


def bounded(value: Interval, form: str) -> str:
    """Return a mean with its interval, as text."""
    return f"{value.mean:{form}} ({value.low:{form}} to {value.high:{form}})"
