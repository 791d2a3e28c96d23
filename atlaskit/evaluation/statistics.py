"""Statistics of evaluation tables: means with intervals, costs, and comparisons of two methods.

Questions about one video are correlated, so every interval resamples whole videos: the bootstrap is
clustered by the column `video`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import InputError
from atlaskit.evaluation.comparisons import Comparison, compare, comparison, mcnemar
from atlaskit.evaluation.costs import costs
from atlaskit.evaluation.grouping import SHARES, check_columns, groups
from atlaskit.evaluation.intervals import Interval, bootstrap_bounds, interval

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COMPUTE",
    "QUANTILES",
    "Comparison",
    "Interval",
    "accuracy",
    "breakdown",
    "compare",
    "comparison",
    "compute",
    "costs",
    "exponent",
    "interval",
    "mcnemar",
    "prefix_hits",
]

COMPUTE = ("master_tokens", "worker_tokens", "tokens", "effective_tokens", "calls", "checks", "rounds", "evidence")
"""Columns with the cost of a question and what it is spent on (paper, Appendix C)."""
QUANTILES = (0.1, 0.5, 0.9)
"""Quantiles of `tokens` that `compute` reports."""


def accuracy(
    rows: pd.DataFrame, by: str | Sequence[str] | None = None, *, column: str = "score", level: float = 0.95
) -> pd.DataFrame:
    """Return the mean of a column with its confidence interval.

    For questions with choices, the mean of `score` is the accuracy; for when-questions, it is the
    mean temporal IoU.

    Args:
        rows: Table of `evaluate`.
        by: Column or columns to group by.
        column: The column to average.
        level: Confidence level.

    Returns:
        One row for each group, or a single row without `by`. Columns: those of `by`, `questions`,
        `videos`, `mean`, `low`, `high`.

    Raises:
        InputError: If the table lacks a column.

    Examples:
        >>> ak.statistics.accuracy(rows)[["questions", "mean"]].to_dict("records")
        [{'questions': 12, 'mean': 1.0}]
        >>> table = ak.statistics.accuracy(rows, by="category")
    """
    import pandas as pd

    table = []
    for group_values, group in groups(rows, by, [column, "video"]):
        sizes = {"questions": len(group), "videos": group["video"].nunique()}
        are_shares = column in SHARES
        mean = interval(group[column].to_numpy(float), group["video"].tolist(), are_shares=are_shares, level=level)
        table.append({**group_values, **sizes, **mean._asdict()})
    return pd.DataFrame(table)


def breakdown(
    tables: Mapping[str, pd.DataFrame], by: str, *, column: str = "score", level: float = 0.95
) -> pd.DataFrame:
    """Return the means of several tables side by side (paper, Appendix B).

    Args:
        tables: Tables of `evaluate`, by name.
        by: The column to group by, such as question type, level or topic.
        column: The column to average.
        level: Confidence level.

    Returns:
        One row for each value of `by`, sorted by the mean of the first table, best first. Columns:
        `by`, and for each table by its name `… n`, `… mean`, `… low`, `… high`; they are missing
        where a table has no such question.

    Raises:
        InputError: If there are no tables, or one lacks a column.

    Examples:
        >>> table = ak.statistics.breakdown({"video-rlm": rows}, "category")
        >>> list(table.columns)
        ['category', 'video-rlm n', 'video-rlm mean', 'video-rlm low', 'video-rlm high']
    """
    if not tables:
        raise InputError("There are no tables to break down; pass at least one.")
    joined = None
    for name, rows in tables.items():
        means = accuracy(rows, by, column=column, level=level).drop(columns="videos").set_index(by)
        means.columns = [f"{name} {'n' if each == 'questions' else each}" for each in means.columns]
        joined = means if joined is None else joined.join(means, how="outer")
    assert joined is not None
    first_mean = f"{next(iter(tables))} mean"
    return joined.sort_values(first_mean, ascending=False, kind="stable", na_position="last").reset_index()


def compute(rows: pd.DataFrame, by: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Return the mean cost of a question (paper, Appendix C).

    Args:
        rows: Table of `evaluate`.
        by: Column or columns to group by.

    Returns:
        One row for each group, or a single row without `by`. Columns: those of `by`, `questions`,
        the means of COMPUTE and of `seconds`, and the quantiles of tokens as `tokens 10 %`.
        Questions that failed lack some columns (roles, rounds, …); the means of those columns leave
        them out.

    Raises:
        InputError: If the table lacks a column.

    Examples:
        >>> table = ak.statistics.compute(rows)
        >>> list(table.columns)[:4]
        ['questions', 'master_tokens', 'worker_tokens', 'tokens']
    """
    import pandas as pd

    columns = [*COMPUTE, "seconds"]
    table = []
    for group_values, group in groups(rows, by, columns):
        quantiles = group["tokens"].quantile(list(QUANTILES))
        spread = {f"tokens {share:.0%}".replace("%", " %"): float(value) for share, value in quantiles.items()}
        table.append({**group_values, "questions": len(group), **group[columns].mean().to_dict(), **spread})
    return pd.DataFrame(table)


def prefix_hits(rows: pd.DataFrame, by: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Return the share of prompt tokens that hit the server's prefix cache (paper, Appendix C.1).

    The shares come from the token counts that the server sends with each reply. Questions whose
    counts are estimates, such as an oracle's, are left out.

    Args:
        rows: Table of `evaluate`.
        by: Column or columns to group by.

    Returns:
        One row for each group, or a single row without `by`. Columns: those of `by`, `questions`,
        and the `mean` and the standard `deviation` over questions of the share, in [0, 1].

    Raises:
        InputError: If the table lacks a column.

    Examples:
        >>> table = ak.statistics.prefix_hits(rows)
        >>> list(table.columns)
        ['questions', 'mean', 'deviation']
    """
    import pandas as pd

    table = []
    for group_values, group in groups(rows, by, ["prompt_tokens", "cached_tokens", "estimated"]):
        counted = group[(group["prompt_tokens"] > 0) & ~group["estimated"].astype(bool)]
        shares = counted["cached_tokens"] / counted["prompt_tokens"]
        table.append({**group_values, "questions": len(counted), "mean": shares.mean(), "deviation": shares.std()})
    return pd.DataFrame(table)


def exponent(rows: pd.DataFrame, column: str = "tokens", *, cluster: str = "video", level: float = 0.95) -> Interval:
    """Return the exponent b with which the mean of a column grows, as duration^b (paper, Fig. 1).

    The duration is the video's, and b is the slope of a straight line through the means at each
    duration, on logarithmic axes: 1 is linear growth, and logarithmic growth comes close to 0.

    Args:
        rows: Table of `evaluate`, with the column `duration_s`.
        column: The column whose mean grows.
        cluster: The column to resample by: what is asked about at every duration, such as the
            source video.
        level: Confidence level.

    Returns:
        b with its interval, by a bootstrap over the values of `cluster`.

    Raises:
        InputError: If there are fewer than two durations, a mean is not positive, or the table
            lacks a column.

    Examples:
        >>> import pandas as pd
        >>> both = pd.concat([rows, rows.assign(duration_s=1_200, tokens=rows["tokens"] * 2)])
        >>> round(ak.statistics.exponent(both).mean, 2)
        0.3
    """
    check_columns(rows, [column, cluster, "duration_s"])
    durations, duration_index = np.unique(rows["duration_s"].to_numpy(float), return_inverse=True)
    _, cluster_index = np.unique(rows[cluster].to_numpy(), return_inverse=True)
    if len(durations) < 2 or durations[0] <= 0:
        raise InputError(
            f"The growth of {column} needs two or more durations, all positive; these rows have {len(durations)}."
        )
    cluster_count = int(cluster_index.max()) + 1
    sums, sizes = np.zeros((cluster_count, len(durations))), np.zeros((cluster_count, len(durations)))
    np.add.at(sums, (cluster_index, duration_index), rows[column].to_numpy(float))
    np.add.at(sizes, (cluster_index, duration_index), 1.0)
    x = np.log(durations) - np.log(durations).mean()

    def slopes(taken: NDArray[np.int64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.log((taken @ sums) / (taken @ sizes)) @ x / (x @ x)
        return found[np.isfinite(found)]  # a draw may lack every question of some duration

    with np.errstate(divide="ignore", invalid="ignore"):
        slope = slopes(np.ones((1, cluster_count), np.int64))
        if not len(slope):
            raise InputError(f"The mean of {column} must be positive at every duration; otherwise it has no exponent.")
        low, high = bootstrap_bounds(cluster_count, slopes, level)
    return Interval(float(slope[0]), low, high)


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
