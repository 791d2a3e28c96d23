"""Intervals for several benchmarks: a ratio of sums, and a mean with its interval as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from atlaskit.evaluation.intervals import Interval, interval_of_ratio


def ratio_of_sums(
    values: Sequence[float], before: Sequence[float], seeds_of: Sequence[object]
) -> Interval:
    """Return the ratio of two sums of paired values, with its interval.

    Args:
        values: The values of the numerator.
        before: Those of the denominator, in the same order.
        seeds_of: For each pair, the cluster that it belongs to.
    """
    return interval_of_ratio(values, before, list(map(str, seeds_of)), are_shares=False)


def bounded(value: Interval, form: str) -> str:
    """Return a mean with its interval, as text; the mean alone if it has no interval."""
    if math.isnan(value.low):
        return f"{value.mean:{form}}"
    return f"{value.mean:{form}} ({value.low:{form}} to {value.high:{form}})"
