"""Means with confidence intervals, and the groups of a table's rows that they are taken over.

Questions about one video are correlated, so a cluster of questions is one observation.

* `interval`, `interval_of_group_means`, `interval_of_ratio`: the interval of a mean, of a mean of
  means, and of a ratio of sums.
* `clustered`, `bounds`: the standard error of any statistic, and the interval that follows from it.
* `paired`: a mean difference with its interval and the p-value that belongs to it.
* `groups`, `check_columns`: the rows of an evaluation's table, by the values of some columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

NO_ERROR = 1e-12
"""A standard error up to this size, relative to the statistic, comes from rounding: it is 0."""
NO_ROWS = "There are no rows, so there is no mean; check the filters that were applied."
Values = Sequence[float] | NDArray[np.float64]


class Interval(NamedTuple):
    """A mean and its confidence interval.

    Examples:
        >>> ak.statistics.accuracy(rows)["mean"].tolist()
        [1.0]
        >>> ak.statistics.interval([1, 0, 1], ["a", "b", "c"]).low >= 0
        True
    """

    mean: float
    low: float
    high: float


def interval(
    values: Values, clusters: Sequence[str], *, are_shares: bool = True, level: float = 0.95
) -> Interval:
    """Return the mean of values with its confidence interval.

    The standard error is clustered. It is multiplied by the quantile of Student's t with one degree
    of freedom less than there are clusters, so that the interval holds for few clusters too
    (docs/evaluation.md). `bounds` says how shares are treated.

    Args:
        values: One value a question.
        clusters: The cluster of each value, such as its video.
        are_shares: Whether the values are from 0 to 1, as scores are; tokens and rounds are not.
        level: Confidence level, between 0 and 1.

    Returns:
        The mean with its bounds; the bounds are nan if there is only one cluster.

    Raises:
        InputError: If there are no values, one is NaN, or the level is not between 0 and 1.

    Examples:
        >>> found = ak.statistics.interval([1, 0, 1, 1], ["a", "a", "b", "c"])
        >>> found.mean, found.low < found.mean < found.high
        (0.75, True)
    """
    weights = np.ones(len(values))
    return interval_of_ratio(values, weights, clusters, are_shares=are_shares, level=level)


def interval_of_ratio(
    values: Values,
    weights: Values,
    clusters: Sequence[str],
    *,
    are_shares: bool = True,
    level: float = 0.95,
) -> Interval:
    """Return the sum of values over the sum of weights, such as an F1 score, with its interval.

    Args:
        values: One value a question.
        weights: The weight of each value. The ratio is nan if all weights are 0.
        clusters: The cluster of each value, such as its video.
        are_shares: Whether the ratio is from 0 to 1.
        level: Confidence level, between 0 and 1.

    Returns:
        The ratio with its bounds. A cluster whose values and weights are all 0 changes nothing, so
        it does not count. The bounds are nan if fewer than two clusters count.

    Raises:
        InputError: If there are no values, one is NaN, or the level is not between 0 and 1.
    """
    _check(values, level)
    if not np.sum(weights):
        return Interval(math.nan, math.nan, math.nan)
    ratio, error, count = _clustered_ratio(values, weights, clusters)
    counted = (np.asarray(values, float) != 0) | (np.asarray(weights, float) != 0)
    low, high = bounds(
        ratio,
        error,
        count,
        observations=int(counted.sum()),
        are_shares=are_shares,
        level=level,
    )
    return Interval(ratio, low, high)


def _clustered_ratio(
    values: Values, weights: Values, clusters: Sequence[str]
) -> tuple[float, float, int]:
    """Return the ratio of two sums, its standard error, and the number of clusters that count."""
    _, places = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(places, np.asarray(values, float))
    sizes = np.bincount(places, np.asarray(weights, float))
    counted = (sums != 0) | (sizes != 0)
    sums = sums[counted]
    sizes = sizes[counted]
    ratio, error = clustered(len(sums), lambda taken: (taken @ sums) / (taken @ sizes))
    return ratio, error, len(sums)


def interval_of_group_means(
    values: Values, clusters: Sequence[str], groups: Sequence[str], *, level: float = 0.95
) -> Interval:
    """Return the mean of the means of groups, each counting the same, with its interval.

    Args:
        values: One value a question, from 0 to 1.
        clusters: The cluster of each value, such as its video.
        groups: The group of each value, such as its category.
        level: Confidence level, between 0 and 1.

    Returns:
        The mean with its bounds; the bounds are nan if there is only one cluster.

    Raises:
        InputError: If there are no values, one is NaN, or the level is not between 0 and 1.
    """
    _check(values, level)
    _, places = np.unique(np.asarray(clusters), return_inverse=True)
    _, kinds = np.unique(np.asarray(groups), return_inverse=True)
    sizes = np.zeros((places.max() + 1, kinds.max() + 1))
    sums = np.zeros_like(sizes)
    np.add.at(sizes, (places, kinds), 1)
    np.add.at(sums, (places, kinds), np.asarray(values, float))

    def mean_of_means(taken: NDArray[np.float64]) -> NDArray[np.float64]:
        counts = taken @ sizes
        means = np.divide(taken @ sums, counts, out=np.zeros_like(counts), where=counts > 0)
        mean: NDArray[np.float64] = means.sum(axis=1) / (counts > 0).sum(axis=1)
        return mean

    mean, error = clustered(len(sizes), mean_of_means)
    low, high = bounds(mean, error, len(sizes), observations=len(values), level=level)
    return Interval(mean, low, high)


class Paired(NamedTuple):
    """A mean difference: its interval, and the p-value of the test that the interval inverts."""

    interval: Interval
    p: float


def paired(
    gains: Values, clusters: Sequence[str], *, are_shares: bool = True, level: float = 0.95
) -> Paired:
    """Return the mean of paired differences with its interval and its p-value.

    Both follow from the clustered standard error and Student's t, so p is below 1 − level exactly
    if the interval leaves out 0.

    If all differences are the same, the standard error is 0. For shares, the bounds and p then
    allow for clusters that were not observed, with differences of -1 or 1. The exact binomial bound
    limits how many these may be. If all differences are 1, p is that of a sign test. For values
    other than shares, the bounds and p are then nan.

    Args:
        gains: The difference of each question.
        clusters: The cluster of each question, such as its video.
        are_shares: Whether the differences are from -1 to 1.
        level: Confidence level, between 0 and 1.

    Returns:
        The mean difference. Its bounds and p are nan if there is only one cluster, and if values
        that are no shares all have the same difference.

    Raises:
        InputError: If there are no values, one is NaN, or the level is not between 0 and 1.
    """
    from scipy import stats

    _check(gains, level)
    mean, error, count = _clustered_ratio(gains, np.ones(len(gains)), clusters)
    if count < 2:
        return Paired(Interval(mean, math.nan, math.nan), math.nan)
    if error:
        p = float(2 * stats.t.sf(abs(mean) / error, count - 1))
        low, high = bounds(mean, error, count, are_shares=False, level=level)
    elif are_shares:
        _, differing = exact_bounds(0, count, level)
        p = min(1.0, 2 * (1 + abs(mean)) ** -count)  # the 1 − level at which a bound below is 0
        low = mean - (1 + mean) * differing
        high = mean + (1 - mean) * differing
    else:
        p = low = high = math.nan
    if are_shares:
        low = max(-1.0, low)
        high = min(1.0, high)
    return Paired(Interval(mean, low, high), p)


def clustered(
    count: int, statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> tuple[float, float]:
    """Return a statistic with its standard error, by leaving out each cluster once (jackknife).

    Args:
        count: Number of clusters.
        statistic: Maps an array of shape (any, count), whose rows say how often each cluster is
            taken, to one value for each row.

    Returns:
        The statistic of all clusters, and its error: nan for a single cluster, or if the statistic
        is not defined when one of the clusters is left out.
    """
    whole = float(statistic(np.ones((1, count)))[0])
    if count < 2:
        return whole, math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        without = statistic(1.0 - np.eye(count))
    error = math.sqrt((count - 1) / count * float(((without - whole) ** 2).sum()))
    if error <= NO_ERROR * max(1.0, abs(whole)):
        error = 0.0
    return whole, error


def bounds(
    mean: float,
    error: float,
    count: int,
    *,
    observations: int = 0,
    are_shares: bool = True,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return the bounds of an estimate from its standard error and the number of clusters.

    The bounds of a share are computed for its log-odds. At a share of 0 or 1 nothing varies, and
    the bounds are exact (Clopper and Pearson), with each cluster as one observation. If all
    clusters happen to have the same share, the error is 0 by chance, and the bounds are exact for
    `observations` independent observations; if their number is not given, both bounds are the share
    itself. The bounds are nan for fewer than two clusters.
    """
    from scipy import stats

    if count < 2 or math.isnan(error):
        return math.nan, math.nan
    reach = float(stats.t.ppf((1 + level) / 2, count - 1)) * error
    if not are_shares:
        return mean - reach, mean + reach
    if mean <= 0 or mean >= 1:
        return exact_bounds(round(mean) * count, count, level)
    if not error and observations:
        return exact_bounds(round(mean * observations), observations, level)
    odds = math.log(mean / (1 - mean))
    spread = reach / (mean * (1 - mean))
    return _share_of(odds - spread), _share_of(odds + spread)


def _share_of(odds: float) -> float:
    """Return the share with these log-odds."""
    if odds < -700:  # below, exp overflows
        return 0.0
    return 1 / (1 + math.exp(-odds))


def _check(values: Values, level: float) -> None:
    if not len(values):
        raise InputError(NO_ROWS)
    missing = int(np.isnan(np.asarray(values, float)).sum())
    if missing:
        raise InputError(
            f"{missing} of {len(values)} values are missing (NaN), so there is no mean: leave "
            "them out."
        )
    if not 0 < level < 1:
        raise InputError(f"level must be a fraction between 0 and 1; got {level!r}.")


def exact_bounds(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Return the exact binomial (Clopper-Pearson) confidence bounds of a success probability."""
    from scipy import stats

    low, high = stats.binomtest(successes, trials).proportion_ci(
        confidence_level=level, method="exact"
    )
    return float(low), float(high)


SHARES = ("score", "right")
"""Columns whose values are from 0 to 1."""


def check_columns(rows: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise InputError if a table lacks one of the columns, or is no table."""
    if not hasattr(rows, "columns"):
        raise InputError(
            "Pass a table of results, as ak.evaluate returns it and ak.read_rows opens a file; "
            f"got {rows!r:.80}."
        )
    for name in names:
        if name not in rows.columns:
            raise InputError(
                f"The table lacks the column {name!r}; it has {', '.join(map(str, rows.columns))}."
            )


def groups(
    rows: pd.DataFrame, by: str | Sequence[str] | None, columns: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the values of `by` and the rows of each group; without `by`, one group of all rows.

    Rows that lack a value of `by` are in no group.

    Raises:
        InputError: The table lacks a column, or has no rows.
    """
    if isinstance(by, str):
        names = [by]
    else:
        names = list(by or ())
    check_columns(rows, [*names, *columns])
    if rows.empty:
        raise InputError(NO_ROWS)
    if not names:
        yield {}, rows
        return
    for key, group in rows.groupby(names, sort=True):
        yield dict(zip(names, key, strict=True)), group
