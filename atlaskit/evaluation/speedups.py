"""Speedup by number of workers and Amdahl's bound, computed from the tables of
`scaling.by_workers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from atlaskit.errors import InputError
from atlaskit.evaluation.statistics import accuracy

if TYPE_CHECKING:
    import pandas as pd

SUMMED = ["seconds", "serial_seconds", "worker_seconds", "worker_calls"]
BY_WORKERS_COLUMNS = ("video", "workers", "normalised_seconds", "score", "calls", "rounds", *SUMMED)
"""Columns of a measurement that speed-ups are computed from."""
COLUMNS = ["workers", "questions", "seconds", "normalised_seconds", "low", "high", "speedup", "bound", "serial_share"]
COLUMNS += ["score", "calls", "rounds", "busy", "call_seconds"]
"""Columns of a table of speed-ups."""
SATURATED = 1.25
"""A server is saturated if its throughput grows by less than this factor."""
PARALLEL_ENOUGH = 1.5
"""Saturation is judged only if at least this many times as many calls run in parallel."""


def amdahl(share: float, more: Any) -> Any:
    """Return Amdahl's bound on the speed-up.

    Args:
        share: The serial share of the time, in [0, 1].
        more: How many times as many workers: a number or an array.

    Examples:
        >>> ak.scaling.amdahl(0.5, 2)
        1.3333333333333333
    """
    return 1 / (share + (1 - share) / more)


def speedup(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each number of workers gains (paper §4.4 and Fig. 6).

    Args:
        table: Table of `by_workers`. If several are joined, a column `model` tells them apart.

    Returns:
        One row for each number of workers (of each `model`). Columns: `workers`, `questions`; the
        means `seconds` and `normalised_seconds`, the latter with its 95 % interval over videos,
        `low` and `high`; `speedup`, the ratio of the fewest workers' normalised seconds to these;
        `serial_share`, the share of the time, in [0, 1], in which no worker's call is running;
        `bound`, Amdahl's bound from the serial share of the fewest workers; the means `score`,
        `calls` and `rounds`; `busy`, the mean number of workers' calls that run in parallel while
        any does; and `call_seconds`, the mean duration of one. On a saturated server `busy` and
        `call_seconds` grow together.

        `bound` assumes that more workers divide the same search without loss (with 3 as the fewest,
        6 are twice as many). They can exceed it, because their search differs: it takes fewer
        rounds.

    Raises:
        InputError: If the table has no rows, or lacks a column.

    Examples:
        >>> times = ak.scaling.by_workers(cases[:1], vlm=vlm, workers=(1, 2), progress=False)
        >>> ak.scaling.speedup(times)["workers"].tolist()
        [1, 2]
    """
    import pandas as pd

    missing = next((name for name in BY_WORKERS_COLUMNS if name not in table.columns), None)
    if missing is not None or not len(table):
        fault = "has no rows" if missing is None else f"lacks the column {missing!r}"
        raise InputError(f"The table {fault}; pass a table of by_workers.")
    tables = []
    for name, group in _models(table):
        gains = accuracy(group, "workers", column="normalised_seconds").rename(columns={"mean": "normalised_seconds"})
        groups = group.groupby("workers", sort=True)
        for column in ("seconds", "score", "calls", "rounds"):
            gains[column] = groups[column].mean().to_numpy()
        sums = groups[SUMMED].sum().reset_index(drop=True)
        gains["speedup"] = gains["normalised_seconds"].iloc[0] / gains["normalised_seconds"]
        gains["serial_share"] = sums["serial_seconds"] / sums["seconds"]
        gains["bound"] = amdahl(gains["serial_share"].iloc[0], gains["workers"] / gains["workers"].iloc[0])
        gains["busy"] = sums["worker_seconds"] / (sums["seconds"] - sums["serial_seconds"])
        gains["call_seconds"] = sums["worker_seconds"] / sums["worker_calls"]
        tables.append(gains.assign(**name))
    names = ["model"] if "model" in table.columns else []
    return pd.concat(tables, ignore_index=True)[[*names, *COLUMNS]]


def conclusions(table: pd.DataFrame) -> list[str]:
    """Return one sentence for each model, about the gain of the most workers and its limit.

    A server counts as saturated if its throughput, in calls a second, stays the same although
    several times as many calls run in parallel.

    Raises:
        InputError: If the table has no rows, or lacks a column.

    Examples:
        >>> times = ak.scaling.by_workers(cases[:1], vlm=vlm, workers=(1, 2), progress=False)
        >>> all(isinstance(sentence, str) for sentence in ak.scaling.conclusions(times))
        True
    """
    sentences = []
    for name, gains in _models(speedup(table)):
        first, last = gains.iloc[0], gains.iloc[-1]
        more, slower = last["busy"] / first["busy"], last["call_seconds"] / first["call_seconds"]
        sentence = (
            f"{name.get('model', 'The search')}: {last['workers']:.0f} workers are {last['speedup']:.2f} times as fast "
            f"as {first['workers']:.0f} at equal workload, Amdahl's bound is {last['bound']:.2f}"
        )
        if last["speedup"] > last["bound"]:
            sentence += (
                f", which assumes the same search: they take {last['rounds']:.1f} rounds, not {first['rounds']:.1f}"
            )
        elif more < PARALLEL_ENOUGH:
            sentence += f"; only {last['busy']:.1f} of their calls run in parallel"
        elif more / slower < SATURATED:
            sentence += (
                f"; {last['busy']:.1f} of their calls run in parallel and take {slower:.1f} times as long: "
                f"this server is already saturated at {first['workers']:.0f}"
            )
        sentences.append(f"{sentence}.")
    return sentences


def _models(table: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the name and the rows of each model; all rows if there is no column `model`."""
    if "model" not in table.columns:
        yield {}, table
        return
    for name in dict.fromkeys(table["model"]):
        yield {"model": name}, table[table["model"] == name]
