"""Methods side by side: paired differences of two tables, and the comparison of several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import InputError
from atlaskit.evaluation.costs import NEEDED, cost_of
from atlaskit.evaluation.grouping import SHARES, check_columns, groups
from atlaskit.evaluation.intervals import Interval, exact_bounds, interval

if TYPE_CHECKING:
    import pandas as pd


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
    """p-value of the exact McNemar test: the probability of a split at least as uneven if neither
    method is better. The test treats every question as independent, so it is too certain if a video
    has many; the interval is not."""


def compare(first: pd.DataFrame, second: pd.DataFrame, *, column: str = "score", level: float = 0.95) -> Comparison:
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
                f"The {which} table has the question {duplicate!r} twice; compare one method with one other."
            )
    pairs = first.merge(second, on=keys, suffixes=("_first", "_second"), how="inner")
    if not len(pairs) == len(first) == len(second):
        raise InputError(
            f"Both tables must have the same questions; they have {len(first)} and {len(second)} questions and share "
            f"{len(pairs)}."
        )
    gains = pairs[f"{column}_second"].to_numpy(float) - pairs[f"{column}_first"].to_numpy(float)
    difference = _difference(gains, pairs["video"].tolist(), are_shares=column in SHARES, level=level)
    first_right, second_right = pairs["right_first"].to_numpy(bool), pairs["right_second"].to_numpy(bool)
    only_first, only_second = int((first_right & ~second_right).sum()), int((second_right & ~first_right).sum())
    return Comparison(*difference, only_first, only_second, mcnemar(only_first, only_second))


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
        method `to` on the same questions, with `difference_low` and `difference_high`, and `p` of
        McNemar's exact test (missing for `to` itself); and the columns of `costs`. `plots.pareto`
        draws it.

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
        raise InputError(f"There is no table of {to!r:.80} to compare with; there are {', '.join(tables) or 'none'}.")
    needed = [*NEEDED, "id", "right", column]
    references = {tuple(values.values()): group for values, group in groups(tables[to], by, needed)}
    table = []
    for method, rows in tables.items():
        found = list(groups(rows, by, needed))
        if {tuple(values.values()) for values, _ in found} != references.keys():
            raise InputError(f"{method} and {to} must have the same values of {by}; ask both the same questions.")
        for values, group in found:
            reference = None if method == to else references[tuple(values.values())]
            table.append({"method": method, **values, **_compared(group, reference, column, level)})
    compared = pd.DataFrame(table)
    compared.attrs = {"to": to, "level": level}
    return compared


def _compared(rows: pd.DataFrame, reference: pd.DataFrame | None, column: str, level: float) -> dict[str, Any]:
    """Return a row of `comparison`; without a reference, its differences are missing."""
    cost = cost_of(rows)
    sizes = {name: cost.pop(name) for name in ("questions", "videos")}
    mean = interval(rows[column].to_numpy(float), rows["video"].tolist(), are_shares=column in SHARES, level=level)
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


def _difference(gains: NDArray[np.float64], videos: Sequence[str], *, are_shares: bool, level: float) -> Interval:
    """Return the mean of differences with its interval.

    Differences of shares that are all −1, all 0 or all 1 give a bootstrap nothing to resample. The
    bounds are then those of the share of videos that differ from it.
    """
    count = len(set(videos))
    if not are_shares or count < 2 or set(gains) not in ({-1.0}, {0.0}, {1.0}):
        return interval(gains, videos, are_shares=False, level=level)
    mean, most = float(gains[0]), exact_bounds(0, count, level)[1]
    return Interval(mean, max(-1.0, mean - most), min(1.0, mean + most))


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value of McNemar's test.

    Args:
        only_first: Number of questions that only the first method answers correctly.
        only_second: Number of questions that only the second method answers correctly.

    Examples:
        >>> round(ak.statistics.mcnemar(only_first=1, only_second=9), 4)
        0.0215
    """
    from scipy import stats

    discordant = only_first + only_second
    return float(stats.binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0
