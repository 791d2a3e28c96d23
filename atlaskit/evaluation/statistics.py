"""Statistics of evaluation tables: means with intervals, costs, and methods side by side.

Questions about one video are correlated, so every interval is clustered by the column `video`.

* `accuracy`, `breakdown`, `compute`, `prefix_hits`, `exponent`: of one table.
* `compare`, `comparison`: paired differences of two tables, and the comparison of several.
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
"""Columns with the cost of a question and what it is spent on (paper, Appendix C)."""
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
        mean = interval(
            group[column].to_numpy(float),
            group["video"].tolist(),
            are_shares=are_shares,
            level=level,
        )
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
        spread = {
            f"tokens {share:.0%}".replace("%", " %"): float(value)
            for share, value in quantiles.items()
        }
        table.append(
            {**group_values, "questions": len(group), **group[columns].mean().to_dict(), **spread}
        )
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

    The duration is the video's, and b is the slope of a straight line through the means at each
    duration, on logarithmic axes: 1 is linear growth, and logarithmic growth comes close to 0.

    Args:
        rows: Table of `evaluate`, with the column `duration_s`.
        column: The column whose mean grows.
        cluster: The column of what varies: what is asked about at every duration, such as the
            source video.
        level: Confidence level.

    Returns:
        b with its interval, clustered by the values of `cluster`.

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
            f"The growth of {column} needs two or more durations, all positive; these rows have "
            f"{len(durations)}."
        )
    cluster_count = int(cluster_index.max()) + 1
    sums = np.zeros((cluster_count, len(durations)))
    sizes = np.zeros((cluster_count, len(durations)))
    np.add.at(sums, (cluster_index, duration_index), rows[column].to_numpy(float))
    np.add.at(sizes, (cluster_index, duration_index), 1.0)
    x = np.log(durations) - np.log(durations).mean()

    def slopes(taken: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.log((taken @ sums) / (taken @ sizes)) @ x / (x @ x)
        return found

    with np.errstate(divide="ignore", invalid="ignore"):
        slope, error = clustered(cluster_count, slopes)
    if not math.isfinite(slope):
        raise InputError(
            f"The mean of {column} must be positive at every duration; otherwise it has no "
            "exponent."
        )
    return Interval(slope, *bounds(slope, error, cluster_count, are_shares=False, level=level))


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__


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
    """p-value of the test that the interval inverts: below 0.05 just where it leaves out 0."""


def compare(
    first: pd.DataFrame, second: pd.DataFrame, *, column: str = "score", level: float = 0.95
) -> Comparison:
    """Compare two methods on the same questions, paired by `id` and `video`.

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
    pairs = first.merge(second, on=keys, suffixes=("_first", "_second"), how="inner")
    if not len(pairs) == len(first) == len(second):
        raise InputError(
            f"Both tables must have the same questions; they have {len(first)} and {len(second)} "
            f"questions and share {len(pairs)}."
        )
    gains = pairs[f"{column}_second"].to_numpy(float) - pairs[f"{column}_first"].to_numpy(float)
    difference, p = paired(gains, pairs["video"].tolist(), are_shares=column in SHARES, level=level)
    first_right = pairs["right_first"].to_numpy(bool)
    second_right = pairs["right_second"].to_numpy(bool)
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
    """Return methods side by side: what each scores, what it costs, and how it differs from one.

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
        for `to` itself); and the columns of `costs`. `plots.pareto` draws it.

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
        found = list(groups(rows, by, needed))
        if {tuple(values.values()) for values, _ in found} != references.keys():
            raise InputError(
                f"{method} and {to} must have the same values of {by}; ask both the same questions."
            )
        for values, group in found:
            reference = None if method == to else references[tuple(values.values())]
            table.append({"method": method, **values, **_compared(group, reference, column, level)})
    compared = pd.DataFrame(table)
    compared.attrs = {"to": to, "level": level}
    return compared


def _compared(
    rows: pd.DataFrame, reference: pd.DataFrame | None, column: str, level: float
) -> dict[str, Any]:
    """Return a row of `comparison`; without a reference, its differences are missing."""
    cost = cost_of(rows)
    sizes = {name: cost.pop(name) for name in ("questions", "videos")}
    mean = interval(
        rows[column].to_numpy(float),
        rows["video"].tolist(),
        are_shares=column in SHARES,
        level=level,
    )
    found = None if reference is None else compare(reference, rows, column=column, level=level)
    return {
        **sizes,
        column: mean.mean,
        "low": mean.low,
        "high": mean.high,
        "difference": math.nan if found is None else found.difference,
        "difference_low": math.nan if found is None else found.low,
        "difference_high": math.nan if found is None else found.high,
        "p": math.nan if found is None else found.p,
        **cost,
    }
