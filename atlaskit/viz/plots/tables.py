"""Figures of evaluation tables: means with intervals against what was varied.

against_duration, against_spread        length of the video, places of the answer
depth_budget                            score and tokens against the maximum depth
worker_scaling                          seconds and speedup against the number of workers
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from atlaskit.environment.grid import resolution_s, sub_second_depth
from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import check_columns
from atlaskit.evaluation.scaling import amdahl, speedup
from atlaskit.evaluation.statistics import accuracy, exponent
from atlaskit.viz.plots.series import (
    check_rows,
    cluster_of,
    count_decades,
    draw_means,
    interval_note,
    interval_over,
    label_values,
    model_look,
    models_in,
    placing_note,
    who_answered,
    with_series,
)
from atlaskit.viz.plots.style import (
    BESIDE,
    INK,
    NOTE_PT,
    REFERENCE_LINE,
    duration_label,
    figure_style,
    label_ends,
    sample,
    set_note,
    styled_axes,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def against_duration(rows: pd.DataFrame, column: str = "score", ax: Axes | None = None) -> Axes:
    """Draw the mean of a column against the duration of the video (paper, Table 2 and Fig. 1).

    There is a line for each method of each model. The 95 % intervals at one duration stand side by
    side around it. Durations are on a logarithmic axis, and so are tokens. For tokens, the label of
    a line gives the exponent b of tokens ~ duration^b (`statistics.exponent`).

    Args:
        rows: A table of `evaluate`, with `method`, `duration_s` and `column`; a column `model`
            tells several models apart.
        column: The column whose mean is drawn.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: A column is missing, there are no rows, or a row has no positive `duration_s`.

    Examples:
        >>> ax = ak.plots.against_duration(rows)
        >>> ax.get_ylabel()
        'mean score'
    """
    check_rows(rows, ["method", "duration_s", column])
    if not (rows["duration_s"] > 0).all():
        raise InputError(
            "Some rows have no duration_s, so they have no place on the axis; drop them first."
        )
    rows, looks = with_series(rows)
    means = accuracy(rows, ["series", "duration_s"], column=column)
    names = looks["hue_order"]
    durations = sorted(rows["duration_s"].unique())
    has_growth = "tokens" in column and len(durations) > 1
    with styled_axes(ax) as ax:
        draw_means(ax, rows, ("duration_s", column), looks, log_scale=(True, False), legend=False)
        ax.set_xticks(durations, list(map(duration_label, durations)))
        ax.minorticks_off()
        ax.set_xlabel("video duration")
        label_values(ax, column)
        growth = ""
        labels = list(map(str, names))
        if has_growth:
            growth = f"b: {column.replace('_', ' ')} ~ duration^b"
            for place, name in enumerate(names):
                labels[place] += _growth(rows[rows["series"] == name], column)
        label_ends(ax, labels)
        notes = (
            who_answered(rows),
            sample(means["questions"], "a point"),
            interval_note(rows, means),
            placing_note(means, names),
            growth,
        )
        set_note(ax, *notes)
    return ax


def against_spread(
    rows: pd.DataFrame, column: str = "tokens", *, most: int = 3, ax: Axes | None = None
) -> Axes:
    """Draw a column against the number of places that hold the answer (paper, Fig. 5b).

    A point is a question; a bar is the mean, with its 95 % interval. For each number of places,
    there is a bar for each model.

    Args:
        rows: A table of `evaluate` with the column `positions`, the number of places in the video
            that hold the answer; rows with 0 are left out. A column `model` tells several models
            apart.
        column: The column that is drawn.
        most: Questions with this many places or more share one bar.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: No row has a position, or a column is missing.

    Examples:
        >>> ax = ak.plots.against_spread(rows)
        >>> ax.get_xlabel()
        'places in the video that hold the answer'
    """
    import seaborn as sns

    check_columns(rows, ["positions", column])
    known = rows[rows["positions"] > 0].reset_index(drop=True)
    if not len(known):
        raise InputError(
            "No row has a value above 0 in its column positions, so there is no spread to draw."
        )
    models = models_in(known)
    known = known.assign(model=known["model"].astype(str) if "model" in known else "")
    known["places"] = known["positions"].clip(upper=most)
    means = accuracy(known, ["places", "model"], column=column)
    colours = [model_look(index).colour for index in range(len(models))]
    shared = {"x": "places", "y": column, "hue": "model", "hue_order": models, "palette": colours}
    with styled_axes(ax, (4.6 if len(models) == 1 else 7.2, 3.4)) as ax:
        interval = {
            "errorbar": interval_over(known["video"], column),
            "err_kws": {"color": INK, "linewidth": 1.2, "zorder": 4},
        }
        sns.barplot(
            known,
            **shared,
            **interval,
            alpha=0.4,
            saturation=1,
            gap=0.1,
            legend=len(models) > 1,
            ax=ax,
        )
        # A swarm plot is the same each time it is drawn; the jitter of a strip plot is random.
        sns.swarmplot(
            known, **shared, dodge=len(models) > 1, size=2.5, warn_thresh=1, legend=False, ax=ax
        )
        labels = list[str]()
        for places, group in means.groupby("places"):
            more = " or more" if places == most else ""
            counts = ", ".join(map(str, group["questions"].unique()))
            labels.append(f"{places}{more}\nn = {counts}")
        ax.set_xticks(range(len(labels)), labels)
        label_values(ax, column, is_log=False)
        ax.set_xlabel("places in the video that hold the answer")
        if len(models) > 1:
            sns.move_legend(ax, **BESIDE)
        meaning = "a point is a question, a bar the mean"
        sizes = known["model"].value_counts()
        set_note(ax, who_answered(rows), sample(sizes), meaning, interval_note(known, means))
    return ax


def _growth(rows: pd.DataFrame, column: str) -> str:
    """Return the second line of a label: the exponent of growth, if it can be fitted."""
    means = rows.groupby("duration_s")[column].mean()
    if len(means) < 2 or not (means > 0).all():
        return ""
    b = exponent(rows, column, cluster=cluster_of(rows))
    bounds = "" if math.isnan(b.low) else f" ({b.low:.2f} to {b.high:.2f})"
    return f"\nb = {b.mean:.2f}{bounds}".replace("-", "−").replace("−0.00", "0.00")


HEIGHT_IN = 4.6
"""Height of the figure of `depth_budget`, in inches."""
PANELS = ("score", "tokens")
"""The columns that the panels of `depth_budget` show, from the top."""


def depth_budget(rows: pd.DataFrame, duration_s: float, *, k: int | None = None) -> Axes:
    """Draw score, and below it tokens, against the maximum depth (paper, Fig. 5a).

    Below each depth d is its resolution, Δt_d = T / K^(2(d+1)). A dotted line marks the first depth
    at which the resolution is below a second. There is a line for each model.

    Args:
        rows: A table of `evaluate` with the column `max_depth`; a column `model` tells several
            models apart.
        duration_s: Duration T of the videos, in seconds.
        k: Cells per side of a grid; None for the column `k`, or 8 if there is no such column.

    Returns:
        The axes of scores. The axes of tokens are the next ones of the same figure.

    Raises:
        InputError: A column is missing, or there are no rows.

    Examples:
        >>> ax = ak.plots.depth_budget(rows.assign(max_depth=1), duration_s=120)
        >>> ax.get_ylabel()
        'mean score'
    """
    import matplotlib.pyplot as plt

    check_rows(rows, ["max_depth", *PANELS])
    k = k or (int(rows["k"].max()) if "k" in rows else 8)
    rows, looks = with_series(rows)
    means = accuracy(rows, ["series", "max_depth"])
    depths = sorted(rows["max_depth"].unique())
    is_split = len(looks["hue_order"]) > 1
    with figure_style():
        size_in = (plt.rcParams["figure.figsize"][0], HEIGHT_IN)
        _, panels = plt.subplots(2, 1, sharex=True, figsize=size_in)
        for ax, column in zip(panels, PANELS, strict=True):
            draw_means(ax, rows, ("max_depth", column), looks, apart=0.1, legend=False)
            label_values(ax, column, is_log=False)
        _mark_sub_second(panels, depths, sub_second_depth(duration_s, k))
        below = panels[1]
        labels = list[str]()
        for depth in depths:
            labels.append(f"{depth}\n{duration_label(resolution_s(duration_s, k, depth))}")
        below.set_xticks(depths, labels)
        below.set_xlim(depths[0] - 0.3, depths[-1] + 0.3)
        below.set_xlabel("maximum depth, and its resolution")
        if is_split:
            for ax in panels:
                label_ends(ax, looks["hue_order"])
        notes = (
            who_answered(rows),
            sample(means["questions"], "a point"),
            interval_note(rows, means),
            placing_note(means, looks["hue_order"]),
        )
        set_note(panels[0], *notes)
    scores: Axes = panels[0]
    return scores


def _mark_sub_second(panels: Sequence[Axes], depths: Sequence[int], first_below: int) -> None:
    """Draw a dotted line in all panels before the first depth whose cells are below a second."""
    sub_second = [depth for depth in depths if depth >= first_below]
    if not sub_second:
        return
    x = min(sub_second) - 0.5
    for ax in panels:
        ax.axvline(x, color=REFERENCE_LINE, lw=1, ls=":")
    look: dict[str, Any] = {
        "ha": "center",
        "va": "top",
        "fontsize": NOTE_PT,
        "color": REFERENCE_LINE,
    }
    below_axes = panels[0].get_xaxis_transform()
    panels[0].text(x, -0.03, "cells below 1 s from here on", transform=below_axes, **look)


CURVE_POINTS = 100
"""Number of points of the curve of Amdahl's bound."""
DASHES = {"bound": (4, 1.6), "own workload": (1, 1.2)}
"""Strokes of the lines other than the solid ones, which are measured at equal workload."""


def worker_scaling(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean seconds per question against the number of workers (paper, Fig. 6).

    The table is that of `scaling.by_workers`.

    Thick lines are seconds at equal workload, with 95 % intervals. If the table has a column
    `model`, there is a line for each model. Its label gives the mean score at each number of
    workers. Dashed lines are Amdahl's bound, computed from the serial share of the time with the
    fewest workers. Dotted lines are the measured seconds, at the workload that each number of
    workers happened to have. Both axes are logarithmic, so equal speedups have equal heights.

    Raises:
        InputError: A column is missing.

    Examples:
        >>> times = ak.scaling.by_workers(cases[:1], vlm=vlm, workers=(1, 2), progress=False)
        >>> ax = ak.plots.worker_scaling(times)
    """
    import pandas as pd
    import seaborn as sns

    means = speedup(table)
    # Without a column `method`, which a joined table may have, each series is a model.
    rows, looks = with_series(table.drop(columns="method", errors="ignore"))
    order = looks["hue_order"]
    if "model" in means:
        by_model = [each for _, each in means.groupby("model", sort=False)]
    else:
        by_model = [means]
    lines = list[pd.DataFrame]()
    for name, of_model in zip(order, by_model, strict=True):
        lines.append(_lines(of_model).assign(series=name))
    colours = {"hue": "series", "hue_order": order, "palette": looks["palette"]}
    with styled_axes(ax) as ax:
        solid = {
            "style": "series",
            "markers": True,
            "dashes": False,
            "linewidth": 1.8,
            "legend": False,
        }
        bars = {"err_style": "bars", "errorbar": interval_over(rows["video"], "normalised_seconds")}
        sns.lineplot(rows, x="workers", y="normalised_seconds", **colours, **solid, **bars, ax=ax)
        dashed = {"style": "line", "dashes": DASHES, "estimator": None, "legend": False}
        sns.lineplot(pd.concat(lines), x="workers", y="seconds", **colours, **dashed, ax=ax)
        ax.set(xscale="log", yscale="log")
        counts = sorted(means["workers"].unique())
        ax.set_xticks(counts, list(map(str, counts)))
        ax.minorticks_off()
        count_decades(ax.yaxis)
        ax.set(xlabel="workers", ylabel="seconds per question")
        names = list(dict.fromkeys(means["model"])) if "model" in means else order
        labels = list[str]()
        for name, of_model in zip(names, by_model, strict=True):
            labels.append(f"{name}\n{_scores(of_model)}")
        label_ends(ax, labels)
        kinds = (
            "solid: at equal workload · dashed: Amdahl's bound · dotted: each at its own workload"
        )
        set_note(
            ax,
            who_answered(table),
            sample(means["questions"], "a point"),
            interval_note(table, means, "normalised_seconds"),
            kinds,
        )
    return ax


def _lines(means: pd.DataFrame) -> pd.DataFrame:
    """Return the points of the lines in DASHES, for the means of one model."""
    import pandas as pd

    workers = means["workers"]
    first_s = means["normalised_seconds"].iloc[0]
    factors = np.geomspace(1, workers.iloc[-1] / workers.iloc[0], CURVE_POINTS)
    bound_s = first_s / amdahl(means["serial_share"].iloc[0], factors)
    bound = pd.DataFrame(
        {"workers": workers.iloc[0] * factors, "seconds": bound_s, "line": "bound"}
    )
    return pd.concat([bound, means[["workers", "seconds"]].assign(line="own workload")])


def _scores(means: pd.DataFrame) -> str:
    """Return the mean score at each number of workers, in words; once if all are equal."""
    shares = [f"{100 * score:.0f} %" for score in means["score"]]
    if len(set(shares)) == 1:
        shares = shares[:1]
    return f"score: {', '.join(shares)}"
