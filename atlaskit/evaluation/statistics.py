"""How sure a table of answers is: intervals, and comparisons of two methods on the same questions.

Questions about one video are alike, so that whole videos are drawn: the bootstrap is clustered by the column `video`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 4000
"""Of a bootstrap."""


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float


class Comparison(NamedTuple):
    """Two methods on the same questions."""

    difference: float
    """Of the means, the second less the first."""
    low: float
    high: float
    only_first: int
    """Questions that the first alone had right."""
    only_second: int
    p: float
    """Of the exact McNemar test: how likely so uneven a split is where neither is better. It takes every question for
    itself, so with many questions a video it is too sure; the interval is not."""


def interval(
    values: Sequence[float] | NDArray[np.float64],
    clusters: Sequence[str],
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """Return the mean of some values with its interval, by a bootstrap over clusters.

    Of the percentiles of the drawn means those are taken that make up for there being few clusters (the expanded
    percentile interval): with the plain ones, 95 % intervals of ten videos hold the truth in 91 % of cases. Of one
    cluster alone nothing is known: its interval is (nan, nan). Where all is right, or all wrong, a bootstrap has
    nothing to vary; then the exact binomial bound is taken, with each cluster as one observation. Raises InputError
    where there are no values.
    """
    if not len(values):
        raise InputError("There are no rows, so there is no mean: check what was filtered out.")
    if not 0 < level < 1:
        raise InputError(f"A level is a share between 0 and 1, got {level!r}.")
    _, places = np.unique(np.asarray(clusters), return_inverse=True)
    sums, counts = np.bincount(places, np.asarray(values, float)), np.bincount(places)
    many = len(sums)
    mean = float(sums.sum() / counts.sum())
    does_vary = mean not in (0.0, 1.0) or set(np.unique(values)) != {mean}
    if many > 1 and not does_vary:  # a bootstrap would be sure of it
        bound = ((1 - level) / 2) ** (1 / many)
        return Interval(mean, bound, 1.0) if mean else Interval(mean, 0.0, 1 - bound)
    low, high = _bounds(many, lambda taken: (taken @ sums) / (taken @ counts), level, draws, seed)
    return Interval(mean, low, high)


def accuracy(
    rows: pd.DataFrame, by: str | Sequence[str] | None = None, *, column: str = "score", level: float = 0.95
) -> pd.DataFrame:
    """Return the mean of a column with its interval: one row, or one for each group of `by`.

    Columns: those of `by`, `questions`, `videos`, `mean`, `low`, `high`. For answers with choices the mean of `score`
    is the accuracy; for intervals it is the mean temporal IoU.
    """
    import pandas as pd

    found = []
    for told, group in _groups(rows, by, [column, "video"]):
        told |= {"questions": len(group), "videos": group["video"].nunique()}
        found.append(told | interval(group[column].to_numpy(float), group["video"].tolist(), level=level)._asdict())
    return pd.DataFrame(found)


def breakdown(
    tables: Mapping[str, pd.DataFrame], by: str, *, column: str = "score", level: float = 0.95
) -> pd.DataFrame:
    """Return the means of several tables side by side, a row for each value of `by`: question type, level, topic
    (paper, Appendix B).

    Columns: `by`, and for each table by its name `… n`, `… mean`, `… low`, `… high`; what a table has no question of is
    missing there. The best of the first table come first.
    """
    if not tables:
        raise InputError("There are no tables to break down.")
    beside = None
    for name, rows in tables.items():
        told = accuracy(rows, by, column=column, level=level).drop(columns="videos").set_index(by)
        told.columns = [f"{name} {'n' if each == 'questions' else each}" for each in told.columns]
        beside = told if beside is None else beside.join(told, how="outer")
    assert beside is not None
    first = f"{next(iter(tables))} mean"
    return beside.sort_values(first, ascending=False, kind="stable", na_position="last").reset_index()


COMPUTE = ("master_tokens", "worker_tokens", "tokens", "effective_tokens", "calls", "checks", "rounds", "evidence")
"""What a question costs, and what it is spent on (paper, Appendix C)."""
QUANTILES = (0.1, 0.5, 0.9)


def compute(rows: pd.DataFrame, by: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Return the mean cost of a question: one row, or one for each group of `by` (paper, Appendix C).

    Columns: those of `by`, `questions`, the means of COMPUTE and `seconds`, and the quantiles of tokens, as
    `tokens 10 %`. The means of what only a question that ended tells (roles, rounds, …) are over those.
    """
    import pandas as pd

    columns = [*COMPUTE, "seconds"]
    found = []
    for told, group in _groups(rows, by, columns):
        quantiles = group["tokens"].quantile(list(QUANTILES))
        spread = {f"tokens {share:.0%}".replace("%", " %"): float(value) for share, value in quantiles.items()}
        found.append({**told, "questions": len(group), **group[columns].mean().to_dict(), **spread})
    return pd.DataFrame(found)


def prefix_hits(rows: pd.DataFrame, by: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Return which share of a question's prompt tokens the server had in its prefix cache: one row, or one for each
    group of `by` (paper, Appendix C.1).

    Columns: those of `by`, `questions`, and mean and standard deviation over questions, in [0, 1]. The shares are what
    the server said with each reply; they are missing where token counts are estimates, as an oracle's are.
    """
    import pandas as pd

    found = []
    for told, group in _groups(rows, by, ["prompt_tokens", "cached_tokens", "estimated"]):
        counted = group[(group["prompt_tokens"] > 0) & ~group["estimated"].astype(bool)]
        shares = counted["cached_tokens"] / counted["prompt_tokens"]
        found.append({**told, "questions": len(counted), "mean": shares.mean(), "deviation": shares.std()})
    return pd.DataFrame(found)


def compare(first: pd.DataFrame, second: pd.DataFrame, *, column: str = "score", level: float = 0.95) -> Comparison:
    """Compare two tables of the same questions, paired by `id` and `video`.

    Raises InputError where the questions are not the same, or one is there twice.
    """
    for rows in (first, second):
        _check_columns(rows, ["id", "video", "right", column])
    keys = ["id", "video"]
    for rows, which in ((first, "first"), (second, "second")):
        if rows.duplicated(keys).any():
            twice = rows.loc[rows.duplicated(keys), "id"].iloc[0]
            raise InputError(f"The {which} table has the question {twice!r} twice: compare one method with one other.")
    both = first.merge(second, on=keys, suffixes=("_first", "_second"), how="inner")
    if not len(both) == len(first) == len(second):
        raise InputError(
            f"The tables are of {len(first)} and {len(second)} questions and share {len(both)}: only the same "
            f"questions can be compared."
        )
    gained = both[f"{column}_second"].to_numpy(float) - both[f"{column}_first"].to_numpy(float)
    told = interval(gained, both["video"].tolist(), level=level)
    is_first, is_second = both["right_first"].to_numpy(bool), both["right_second"].to_numpy(bool)
    only_first, only_second = int((is_first & ~is_second).sum()), int((is_second & ~is_first).sum())
    return Comparison(*told, only_first, only_second, mcnemar(only_first, only_second))


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test, from the counts of questions that one alone had right."""
    many, few = only_first + only_second, min(only_first, only_second)
    tail: int = sum(math.comb(many, count) for count in range(few + 1))
    return min(1.0, 2 * tail / (1 << many))


def exponent(rows: pd.DataFrame, column: str = "tokens", *, cluster: str = "video", level: float = 0.95) -> Interval:
    """Return how a mean grows with the duration of the video, as the b of duration^b: 1 is linear, and what grows with
    the logarithm comes close to 0 (paper, Fig. 1). The slope of a straight line through the means at each duration, on
    logarithmic axes, with its interval by a bootstrap over the values of `cluster`: of what is asked about at every
    duration, such as the source video.

    Raises InputError where there are fewer than two durations, or a mean is not positive.
    """
    _check_columns(rows, [column, cluster, "duration_s"])
    durations, at = np.unique(rows["duration_s"].to_numpy(float), return_inverse=True)
    _, who = np.unique(rows[cluster].to_numpy(), return_inverse=True)
    if len(durations) < 2 or durations[0] <= 0:
        raise InputError(f"How {column} grows is seen at two durations or more; these rows have {len(durations)}.")
    many = int(who.max()) + 1
    sums, counts = np.zeros((many, len(durations))), np.zeros((many, len(durations)))
    np.add.at(sums, (who, at), rows[column].to_numpy(float))
    np.add.at(counts, (who, at), 1.0)
    x = np.log(durations) - np.log(durations).mean()

    def slopes(taken: NDArray[np.int64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.log((taken @ sums) / (taken @ counts)) @ x / (x @ x)
        return found[np.isfinite(found)]  # where no drawn video was asked about at some duration, there is none

    with np.errstate(divide="ignore", invalid="ignore"):
        slope = slopes(np.ones((1, many), np.int64))
        if not len(slope):
            raise InputError(f"The mean of {column} is not positive at every duration, so it has no exponent.")
        low, high = _bounds(many, slopes, level)
    return Interval(float(slope[0]), low, high)


def recall_at(rows: pd.DataFrame, iou: float = 0.5) -> Interval:
    """Return the share of when-questions whose temporal IoU is at least `iou`, with its interval."""
    _check_columns(rows, ["kind", "score", "video"])
    asked = rows[rows["kind"] == "when"]
    if not len(asked):
        raise InputError("There are no when-questions among these rows, so there is no temporal IoU.")
    return interval((asked["score"] >= iou).to_numpy(float), asked["video"].tolist())


def _groups(
    rows: pd.DataFrame, by: str | Sequence[str] | None, columns: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the rows of each group, and what they have in common; all of them where they are not grouped."""
    names = [] if by is None else [by] if isinstance(by, str) else list(by)
    _check_columns(rows, [*names, *columns])
    for key, group in rows.groupby(names, sort=True) if names else [((), rows)]:
        yield dict(zip(names, key, strict=True)), group


def _check_columns(rows: pd.DataFrame, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in rows.columns]
    if missing:
        raise InputError(f"The table lacks the column {missing[0]!r}; it has {', '.join(map(str, rows.columns))}.")


def _bounds(
    many: int,
    figures: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    level: float,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the ends of an interval by a bootstrap over so many clusters; (nan, nan) of one alone.

    `figures` returns the figure of each draw, from how often each cluster was taken in it: (draws, many) to (draws,).
    Less is left out at each end than of a plain percentile interval, to make up for there being few clusters.
    """
    if many < 2:
        return math.nan, math.nan
    taken = np.random.default_rng(seed).multinomial(many, np.full(many, 1 / many), size=draws)
    tail = NormalDist().cdf(-math.sqrt(many / (many - 1)) * _t(1 - (1 - level) / 2, many - 1))
    low, high = np.quantile(figures(taken), [tail, 1 - tail])
    return float(low), float(high)


def _t(share: float, freedom: int) -> float:
    """Return a quantile of Student's t, by the expansion of Cornish and Fisher about the normal one."""
    z, n = NormalDist().inv_cdf(share), freedom
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / n + second / n**2 + third / n**3 + fourth / n**4
