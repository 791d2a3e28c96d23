"""Figures of seconds and speedup against the number of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atlaskit.evaluation.scaling import amdahl, speedup
from atlaskit.viz.plots.series import count_decades, interval_note, interval_over, who_answered, with_series
from atlaskit.viz.plots.style import label_ends, sample, set_note, styled_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

CURVE_POINTS = 100
"""Number of points of the curve of Amdahl's bound."""
DASHES = {"bound": (4, 1.6), "own workload": (1, 1.2)}
"""Strokes of the lines that are no measurement at equal workload."""


def worker_scaling(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean seconds per question against the number of workers (paper, Fig. 6).

    Thick lines are seconds at equal workload, with 95 % intervals; there is a line for each model
    where the table has a column `model`. The labels have the mean score at each number of workers.
    Dashed lines are Amdahl's bound, computed from the serial share of the time with the fewest
    workers. Dotted lines are the measured seconds, each number of workers at its own workload. Both
    axes are logarithmic, so equal speedups have equal heights.

    Raises:
        InputError: A column is missing.

    Examples:
        >>> times = ak.scaling.by_workers(cases[:1], vlm=vlm, workers=(1, 2), progress=False)
        >>> ax = ak.plots.worker_scaling(times)
    """
    import pandas as pd
    import seaborn as sns

    means = speedup(table)
    rows, looks = with_series(table.drop(columns="method", errors="ignore"))
    order = looks["hue_order"]
    by_model = [each for _, each in means.groupby("model", sort=False)] if "model" in means else [means]
    lines = [_lines(of_model).assign(series=name) for name, of_model in zip(order, by_model, strict=True)]
    colours = {"hue": "series", "hue_order": order, "palette": looks["palette"]}
    with styled_axes(ax) as ax:
        points = {"style": "series", "markers": True, "dashes": False, "linewidth": 1.8, "legend": False}
        bars = {"err_style": "bars", "errorbar": interval_over(rows["video"], "normalised_seconds")}
        sns.lineplot(rows, x="workers", y="normalised_seconds", **colours, **points, **bars, ax=ax)
        how = {"style": "line", "dashes": DASHES, "estimator": None, "legend": False}
        sns.lineplot(pd.concat(lines), x="workers", y="seconds", **colours, **how, ax=ax)
        ax.set(xscale="log", yscale="log")
        counts = sorted(means["workers"].unique())
        ax.set_xticks(counts, [str(count) for count in counts])
        ax.minorticks_off()
        count_decades(ax.yaxis)
        ax.set(xlabel="workers", ylabel="seconds per question")
        named = list(dict.fromkeys(means["model"])) if "model" in means else order
        labels = [f"{name}\n{_scores(of_model)}" for name, of_model in zip(named, by_model, strict=True)]
        label_ends(ax, labels)
        kinds = "solid: at equal workload · dashed: Amdahl's bound · dotted: each at its own workload"
        set_note(
            ax,
            who_answered(table),
            sample(means["questions"], "a point"),
            interval_note(table, means, "normalised_seconds"),
            kinds,
        )
    return ax


def _lines(means: pd.DataFrame) -> pd.DataFrame:
    """Return the points of Amdahl's bound, and of the seconds at each number's own workload."""
    import pandas as pd

    x, first_s = means["workers"], means["normalised_seconds"].iloc[0]
    factors = np.geomspace(1, x.iloc[-1] / x.iloc[0], CURVE_POINTS)
    bound_s = first_s / amdahl(means["serial_share"].iloc[0], factors)
    bound = pd.DataFrame({"workers": x.iloc[0] * factors, "seconds": bound_s, "line": "bound"})
    return pd.concat([bound, means[["workers", "seconds"]].assign(line="own workload")])


def _scores(means: pd.DataFrame) -> str:
    """Return the mean score at each number of workers, in words."""
    shares = [f"{100 * score:.0f} %" for score in means["score"]]
    return f"score: {', '.join(shares if len(set(shares)) > 1 else shares[:1])}"
