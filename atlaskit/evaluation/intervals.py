"""Means with confidence intervals, and the groups of a table's rows that have one each.

Questions about one video are correlated, so a cluster, not a question, is the unit that is
resampled.

* `interval`, `interval_of_group_means`: the mean of values, by a bootstrap of whole clusters.
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

DRAWS = 4000
"""Number of bootstrap resamples."""


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
    values: Sequence[float] | NDArray[np.float64],
    clusters: Sequence[str],
    *,
    are_shares: bool = True,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """Return the mean of values with its confidence interval, by a bootstrap over clusters.

    The bounds are the percentiles of the expanded percentile interval, which corrects for a small
    number of clusters: plain percentile intervals of few videos contain the true mean less often
    than they claim (docs/evaluation.md). If every value is 0, or every value is 1, a bootstrap has
    nothing to resample; for shares, the bound is then the exact binomial one (Clopper and Pearson),
    with each cluster as one observation.

    Args:
        values: One value a question.
        clusters: The cluster of each value, such as its video.
        are_shares: Whether the values are from 0 to 1, as scores are; tokens and rounds are not.
        level: Confidence level, between 0 and 1.
        draws: Number of bootstrap resamples.
        seed: Seed of the resampling.

    Returns:
        The mean with its bounds; the bounds are nan if there is only one cluster.

    Raises:
        InputError: If there are no values, or the level is not between 0 and 1.

    Examples:
        >>> found = ak.statistics.interval([1, 0, 1, 1], ["a", "a", "b", "c"])
        >>> found.mean, found.low < found.mean < found.high
        (0.75, True)
    """
    _check(values, level)
    _, cluster_index = np.unique(np.asarray(clusters), return_inverse=True)
    sums, sizes = np.bincount(cluster_index, np.asarray(values, float)), np.bincount(cluster_index)
    cluster_count = len(sums)
    mean = float(sums.sum() / sizes.sum())
    is_constant = are_shares and mean in (0.0, 1.0) and set(np.unique(values)) == {mean}
    if cluster_count > 1 and is_constant:
        return Interval(mean, *exact_bounds(int(mean) * cluster_count, cluster_count, level))
    low, high = bootstrap_bounds(cluster_count, lambda taken: (taken @ sums) / (taken @ sizes), level, draws, seed)
    return Interval(mean, low, high)


def interval_of_group_means(
    values: Sequence[float] | NDArray[np.float64],
    clusters: Sequence[str],
    groups: Sequence[str],
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """Return the mean of the means of groups, each counting the same, with its interval.

    As `interval` for shares, clusters are resampled. A resample in which a group has no value is
    the mean of its other groups.

    Args:
        values: One value a question, from 0 to 1.
        clusters: The cluster of each value, such as its video.
        groups: The group of each value, such as its category.
        level: Confidence level, between 0 and 1.
        draws: Number of bootstrap resamples.
        seed: Seed of the resampling.

    Returns:
        The mean with its bounds; the bounds are nan if there is only one cluster.

    Raises:
        InputError: If there are no values, or the level is not between 0 and 1.
    """
    _check(values, level)
    if set(values) in ({0.0}, {1.0}):
        return interval(values, clusters, level=level)
    _, cluster_index = np.unique(np.asarray(clusters), return_inverse=True)
    _, group_index = np.unique(np.asarray(groups), return_inverse=True)
    sizes = np.zeros((cluster_index.max() + 1, group_index.max() + 1))
    sums = np.zeros_like(sizes)
    np.add.at(sizes, (cluster_index, group_index), 1)
    np.add.at(sums, (cluster_index, group_index), np.asarray(values, float))

    def mean_of_means(taken: NDArray[np.int64]) -> NDArray[np.float64]:
        counts = taken @ sizes
        means = np.divide(taken @ sums, counts, out=np.zeros_like(counts), where=counts > 0)
        mean: NDArray[np.float64] = means.sum(axis=1) / (counts > 0).sum(axis=1)
        return mean

    mean = float(mean_of_means(np.ones((1, len(sizes)), np.int64))[0])
    return Interval(mean, *bootstrap_bounds(len(sizes), mean_of_means, level, draws, seed))


def _check(values: Sequence[float] | NDArray[np.float64], level: float) -> None:
    if not len(values):
        raise InputError("There are no rows, so there is no mean; check the filters that were applied.")
    if not 0 < level < 1:
        raise InputError(f"level must be a fraction between 0 and 1; got {level!r}.")


def exact_bounds(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Return the exact binomial (Clopper-Pearson) confidence bounds of a success probability."""
    from scipy import stats

    low, high = stats.binomtest(successes, trials).proportion_ci(confidence_level=level, method="exact")
    return float(low), float(high)


def bootstrap_bounds(
    cluster_count: int,
    statistic: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    level: float,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the expanded percentile interval of a statistic, by a bootstrap over clusters.

    The tail probability is Φ(−√(n/(n−1)) · t), with n clusters and the quantile t of Student's t
    with n − 1 degrees of freedom: smaller than the tail of a plain percentile interval, to correct
    for a small n.

    Args:
        cluster_count: Number of clusters, n.
        statistic: Maps counts of shape (draws, n), how often each draw takes each cluster, to
            values of shape (draws,).
        level: Confidence level, between 0 and 1.
        draws: Number of bootstrap resamples.
        seed: Seed of the resampling.

    Returns:
        The lower and the upper bound; (nan, nan) for a single cluster.
    """
    if cluster_count < 2:
        return math.nan, math.nan
    from scipy import stats

    shares = np.full(cluster_count, 1 / cluster_count)
    taken = np.random.default_rng(seed).multinomial(cluster_count, shares, size=draws)
    t = stats.t.ppf((1 + level) / 2, cluster_count - 1)
    tail = stats.norm.cdf(-math.sqrt(cluster_count / (cluster_count - 1)) * t)
    low, high = np.quantile(statistic(taken), [tail, 1 - tail])
    return float(low), float(high)


SHARES = ("score", "right")
"""Columns whose values are from 0 to 1."""


def check_columns(rows: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise InputError if a table lacks one of the columns."""
    missing = [name for name in names if name not in rows.columns]
    if missing:
        raise InputError(f"The table lacks the column {missing[0]!r}; it has {', '.join(map(str, rows.columns))}.")


def groups(
    rows: pd.DataFrame, by: str | Sequence[str] | None, columns: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the values of `by` and the rows of each group; without `by`, one group of all rows."""
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    check_columns(rows, [*names, *columns])
    for key, group in rows.groupby(names, sort=True) if names else [((), rows)]:
        yield dict(zip(names, key, strict=True)), group
