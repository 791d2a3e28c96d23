"""Statistics of evaluation tables: means with intervals, costs, and methods side by side.

Questions about one video are correlated, so every interval is clustered by the column `video`.

* `accuracy`, `compute`, `prefix_hits`, `exponent`: of one table.
* `compare`: the paired differences of two tables.
* `breakdown`, `comparison`: several tables side by side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import InputError
from atlaskit.evaluation.costs import NEEDED, cost_of, costs
from atlaskit.evaluation.intervals import (
    SHARES,
    Interval,
    bounds,
    check_columns,
    clustered,
    groups,
    interval,
    paired,
)

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
    "prefix_hits",
]

COMPUTE = (
    "master_tokens",
    "worker_tokens",
    "tokens",
    "effective_tokens",
    "calls",
    "checks",
    "rounds",
    "evidence",
)
"""Columns with the cost of a question and its parts (paper, Appendix C)."""
QUANTILES = (0.1, 0.5, 0.9)
"""Quantiles of `tokens` that `compute` reports."""


def accuracy(
    rows: pd.DataFrame,
    by: str | Sequence[str] | None = None,
    *,
    column: str = "score",
    level: float = 0.95,
) -> pd.DataFrame:
    """Return the mean of a column with its confidence interval.

    For questions with choices, the mean of `score` is the accuracy; for questions of kind "when",
    it is the mean temporal IoU. A row without a value does not count: a question whose true answer
    is not known has no score, and one that failed has no values of a search, such as `rounds`.

    Args:
        rows: Table of `evaluate`.
        by: Column or columns to group by.
        column: The column to average.
        level: Confidence level.

    Returns:
        One row for each group, or a single row without `by`. Columns: those of `by`, `questions`
        and `videos` (how many count), `mean`, `low`, `high`. Rows that lack a value of `by` are in
        no group.

    Raises:
        InputError: If the table lacks a column, or has no rows.

    Examples:
        >>> ak.statistics.accuracy(rows)[["questions", "mean"]].to_dict("records")
        [{'questions': 12, 'mean': 1.0}]
        >>> table = ak.statistics.accuracy(rows, by="category")
    """
    import pandas as pd

    names = [by] if isinstance(by, str) else list(by or ())
    table = []
    for group_values, group in groups(rows, by, [column, "video"]):
        counted = group[_has_value(group, column)]
        sizes = {"questions": len(counted), "videos": counted["video"].nunique()}
        table.append({**group_values, **sizes, **_mean(group, column, level)._asdict()})
    # Named here too, for a table in which no row has a value of `by`.
    columns = dict.fromkeys([*names, "questions", "videos", *Interval._fields])
    return pd.DataFrame(table, columns=list(columns))


def _mean(rows: pd.DataFrame, column: str, level: float) -> Interval:
    """Return the mean of a column over the rows that have a value; nan if none of them has."""
    counted = rows[_has_value(rows, column)]
    if counted.empty:
        return Interval(math.nan, math.nan, math.nan)
    return interval(
        counted[column].to_numpy(float),
        counted["video"].tolist(),
        are_shares=column in SHARES,
        level=level,
    )


def _has_value(rows: pd.DataFrame, column: str) -> pd.Series:
    """Return which rows have a value in a column.

    In the column "right", a question whose true answer is not known is False, but has no value.
    """
    has_value = rows[column].notna()
    if column == "right" and "score" in rows:
        has_value &= rows["score"].notna()
    return has_value


def _values(rows: pd.DataFrame, column: str) -> pd.Series:
    """Return a column as numbers, NaN where a row has no value."""
    return rows[column].astype(float).where(_has_value(rows, column))


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
        `by`, and for each table `NAME n`, `NAME mean`, `NAME low`, `NAME high`; they are missing
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
    found = []
    for name, rows in tables.items():
        means = accuracy(rows, by, column=column, level=level).drop(columns="videos").set_index(by)
        found.append(means.rename(columns={"questions": "n"}).add_prefix(f"{name} "))
    joined = found[0]
    for means in found[1:]:
        joined = joined.join(means, how="outer")
    first_mean = f"{next(iter(tables))} mean"
    return joined.sort_values(
        first_mean, ascending=False, kind="stable", na_position="last"
    ).reset_index()


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
        InputError: If the table lacks a column, or has no rows.

    Examples:
        >>> table = ak.statistics.compute(rows)
        >>> list(table.columns)[:4]
        ['questions', 'master_tokens', 'worker_tokens', 'tokens']
    """
    import pandas as pd

    columns = [*COMPUTE, "seconds"]
    table = []
    for group_values, group in groups(rows, by, columns):
        row = {**group_values, "questions": len(group), **group[columns].mean().to_dict()}
        for share, value in group["tokens"].quantile(list(QUANTILES)).items():
            row[f"tokens {100 * share:.0f} %"] = float(value)
        table.append(row)
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
        InputError: If the table lacks a column, or has no rows.

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
        table.append(
            {
                **group_values,
                "questions": len(counted),
                "mean": shares.mean(),
                "deviation": shares.std(),
            }
        )
    return pd.DataFrame(table)


def exponent(
    rows: pd.DataFrame, column: str = "tokens", *, cluster: str = "video", level: float = 0.95
) -> Interval:
    """Return the exponent b with which the mean of a column grows, as duration^b (paper, Fig. 1).

    The duration is the video's, and b is the slope of the straight line fitted to the means at each
    duration, on logarithmic axes: 1 is linear growth, and logarithmic growth comes close to 0. A
    row without a value does not count.

    Args:
        rows: Table of `evaluate`, with the column `duration_s`.
        column: The column whose mean grows.
        cluster: The column with the source of a question, such as the video that was cut to every
            duration.
        level: Confidence level.

    Returns:
        b with its interval, clustered by the values of `cluster`; the bounds are nan if some
        duration has the questions of one cluster alone.

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
    rows = rows[_has_value(rows, column)]
    durations, duration_index = np.unique(rows["duration_s"].to_numpy(float), return_inverse=True)
    _, cluster_index = np.unique(rows[cluster].to_numpy(), return_inverse=True)
    if len(durations) < 2 or not (durations > 0).all():  # NaN is not above 0
        raise InputError(
            f"The growth of {column} needs two or more durations, all positive; these rows have "
            f"{len(durations)}."
        )
    cluster_count = int(cluster_index.max()) + 1
    sums = np.zeros((cluster_count, len(durations)))
    sizes = np.zeros_like(sums)
    np.add.at(sums, (cluster_index, duration_index), rows[column].to_numpy(float))
    np.add.at(sizes, (cluster_index, duration_index), 1.0)
    x = np.log(durations) - np.log(durations).mean()

    def slopes(taken: NDArray[np.float64]) -> NDArray[np.float64]:
        # The least-squares slope. It is so short because `x` is centred.
        found: NDArray[np.float64] = np.log((taken @ sums) / (taken @ sizes)) @ x / (x @ x)
        return found

    with np.errstate(divide="ignore", invalid="ignore"):
        slope, error = clustered(cluster_count, slopes)
    if not math.isfinite(slope):
        raise InputError(
            f"The mean of {column} must be positive at every duration; otherwise it has no "
            "exponent."
        )
    low, high = bounds(slope, error, cluster_count, are_shares=False, level=level)
    return Interval(slope, low, high)


class Comparison(NamedTuple):
    """Two methods on the same questions.

    Examples:
        >>> ak.statistics.compare(rows, rows).difference
        0.0
    """

    difference: float
    """Mean of the second method minus mean of the first."""
    low: float
    high: float
    only_first: int
    """Number of questions that only the first method answers correctly."""
    only_second: int
    """Number of questions that only the second method answers correctly."""
    p: float
    """p-value of the interval's test: below 1 − level exactly if the interval leaves out 0."""


def compare(
    first: pd.DataFrame, second: pd.DataFrame, *, column: str = "score", level: float = 0.95
) -> Comparison:
    """Compare two methods on the same questions, paired by `id` and `video`.

    A question for which one of the methods has no value does not count.

    Args:
        first: Table of `evaluate` with the first method.
        second: Table of `evaluate` with the second method.
        column: The column to compare.
        level: Confidence level of the difference.

    Raises:
        InputError: If the questions differ, a table has a question twice, or a table lacks a
            column.

    Examples:
        >>> blind = ak.evaluate(cases, "blind", vlm=vlm, progress=False)
        >>> ak.statistics.compare(blind, rows).difference > 0
        True
    """
    for rows in (first, second):
        check_columns(rows, ["id", "video", "right", column])
    keys = ["id", "video"]
    for rows, which in ((first, "first"), (second, "second")):
        if rows.duplicated(keys).any():
            duplicate = rows.loc[rows.duplicated(keys), "id"].iloc[0]
            raise InputError(
                f"The {which} table has the question {duplicate!r} twice; compare one method with "
                "one other."
            )
    valued = [rows.assign(value=_values(rows, column)) for rows in (first, second)]
    pairs = valued[0].merge(valued[1], on=keys, suffixes=("_first", "_second"), how="inner")
    if not len(pairs) == len(first) == len(second):
        raise InputError(
            f"Both tables must have the same questions; they have {len(first)} and {len(second)} "
            f"questions and share {len(pairs)}."
        )
    gains = pairs["value_second"] - pairs["value_first"]
    known = gains.notna()
    difference, p = paired(
        gains[known].to_numpy(),
        pairs.loc[known, "video"].tolist(),
        are_shares=column in SHARES,
        level=level,
    )
    first_right = pairs.loc[known, "right_first"].to_numpy(bool)
    second_right = pairs.loc[known, "right_second"].to_numpy(bool)
    only_first = int((first_right & ~second_right).sum())
    only_second = int((second_right & ~first_right).sum())
    return Comparison(*difference, only_first, only_second, p)


def comparison(
    tables: Mapping[str, pd.DataFrame],
    to: str = "video-rlm",
    *,
    by: str | Sequence[str] | None = None,
    column: str = "score",
    level: float = 0.95,
) -> pd.DataFrame:
    """Return the scores and costs of methods, and their differences from one of the methods.

    Args:
        tables: Tables of `evaluate`, by the name of their method. All have the same questions.
        to: The method that the others are compared with.
        by: Column or columns to group by, such as `duration_s`.
        column: The column to compare.
        level: Confidence level.

    Returns:
        One row for each method and group, in the order of the tables. Columns: `method`, those of
        `by`, `questions`, `videos`; the mean of `column`, `low` and `high`; `difference` to the
        method `to` on the same questions, with `difference_low`, `difference_high` and `p` (missing
        for `to` itself); and the columns of `costs`. `plots.pareto` draws this table.

    Raises:
        InputError: If there is no table of `to`, the tables differ in their questions, or a table
            lacks a column.

    Examples:
        >>> table = ak.statistics.comparison({"video-rlm": rows})
        >>> table["questions"].tolist()
        [12]
    """
    import pandas as pd

    if to not in tables:
        raise InputError(
            f"There is no table of {to!r:.80} to compare with; there are "
            f"{', '.join(tables) or 'none'}."
        )
    needed = [*NEEDED, "id", "right", column]
    references = {tuple(values.values()): group for values, group in groups(tables[to], by, needed)}
    table = []
    for method, rows in tables.items():
        found = {tuple(values.values()) for values, _ in groups(rows, by, needed)}
        if found != references.keys():
            raise InputError(
                f"{method} and {to} must have the same values of {by}; ask both the same questions."
            )
        for values, group in groups(rows, by, needed):
            row = _mean_and_costs(group, column, level)
            if method != to:
                reference = references[tuple(values.values())]
                row |= _difference(reference, group, column, level)
            table.append({"method": method, **values, **row})
    compared = pd.DataFrame(table)
    compared.attrs = {"to": to, "level": level}
    return compared


def _mean_and_costs(rows: pd.DataFrame, column: str, level: float) -> dict[str, Any]:
    """Return a row of `comparison` in which the differences are missing."""
    cost = cost_of(rows)
    mean = _mean(rows, column, level)
    return {
        "questions": cost.pop("questions"),
        "videos": cost.pop("videos"),
        column: mean.mean,
        "low": mean.low,
        "high": mean.high,
        "difference": math.nan,
        "difference_low": math.nan,
        "difference_high": math.nan,
        "p": math.nan,
        **cost,
    }


def _difference(
    reference: pd.DataFrame, rows: pd.DataFrame, column: str, level: float
) -> dict[str, float]:
    """Return the columns of `comparison` that compare with the rows of another method."""
    found = compare(reference, rows, column=column, level=level)
    return {
        "difference": found.difference,
        "difference_low": found.low,
        "difference_high": found.high,
        "p": found.p,
    }


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
