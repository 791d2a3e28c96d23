"""Figures of evaluation tables: `against_duration` and `against_spread`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import check_columns
from atlaskit.evaluation.statistics import accuracy, exponent
from atlaskit.viz.palette import INK
from atlaskit.viz.plots.series import (
    check_rows,
    cluster_of,
    draw_means,
    interval_note,
    interval_over,
    label_values,
    model_look,
    models_in,
    who_answered,
    with_series,
)
from atlaskit.viz.plots.style import BESIDE, duration_label, label_ends, sample, set_note, styled_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def against_duration(rows: pd.DataFrame, column: str = "score", ax: Axes | None = None) -> Axes:
    """Draw the mean of a column against the duration of the video (paper, Table 2 and Fig. 1).

    There is a line for each method of each model. The points of a duration, with their 95 %
    intervals, stand side by side around it. Durations are on a logarithmic axis, and so are tokens.
    For tokens, the labels have the exponent b of tokens ~ duration^b (`statistics.exponent`).

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
        raise InputError("Some rows have no duration_s, so they have no place on the axis; drop them first.")
    rows, looks = with_series(rows)
    means = accuracy(rows, ["series", "duration_s"], column=column)
    names, durations = looks["hue_order"], sorted(rows["duration_s"].unique())
    has_growth = "tokens" in column and len(durations) > 1
    with styled_axes(ax) as ax:
        draw_means(ax, rows, ("duration_s", column), looks, log_scale=(True, False), legend=False)
        ax.set_xticks(durations, [duration_label(each) for each in durations])
        ax.minorticks_off()
        ax.set_xlabel("video duration")
        label_values(ax, column)
        growths = [_growth(rows[rows["series"] == name], column) if has_growth else "" for name in names]
        label_ends(ax, [f"{name}{b}" for name, b in zip(names, growths, strict=True)])
        growth = f"b: {column.replace('_', ' ')} ~ duration^b" if has_growth else ""
        aside = "series stand side by side" if len(names) > 1 else ""
        notes = (who_answered(rows), sample(means["questions"], "a point"), interval_note(rows, means), aside, growth)
        set_note(ax, *notes)
    return ax


def against_spread(rows: pd.DataFrame, column: str = "tokens", *, most: int = 3, ax: Axes | None = None) -> Axes:
    """Draw a column against the number of positions of the answer (paper, Fig. 5b).

    A point is a question, a bar the mean, with its 95 % interval. In each group there is a bar for
    each model.

    Args:
        rows: A table of `evaluate` with the column `positions`: at how many places in the video the
            answer lies; rows with 0 are left out. A column `model` tells several models apart.
        column: The column that is drawn.
        most: Questions with this many positions or more share one bar.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: No row has a position, or a column is missing.

    Examples:
        >>> ax = ak.plots.against_spread(rows)
        >>> ax.get_xlabel()
        'positions of the answer in the video'
    """
    import seaborn as sns

    check_columns(rows, ["positions", column])
    known = rows[rows["positions"] > 0].reset_index(drop=True)
    if not len(known):
        raise InputError("No row has a value above 0 in its column positions, so there is no spread to draw.")
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
        sns.barplot(known, **shared, **interval, alpha=0.4, saturation=1, gap=0.1, legend=len(models) > 1, ax=ax)
        # A swarm is the same each time it is drawn; the jitter of a strip plot is not.
        sns.swarmplot(known, **shared, dodge=len(models) > 1, size=2.5, warn_thresh=1, legend=False, ax=ax)
        labels = [
            f"{places}{' or more' if places == most else ''}\nn = {', '.join(map(str, of_group['questions'].unique()))}"
            for places, of_group in means.groupby("places")
        ]
        ax.set_xticks(range(len(labels)), labels)
        label_values(ax, column, is_log=False)
        ax.set_xlabel("positions of the answer in the video")
        if len(models) > 1:
            sns.move_legend(ax, **BESIDE)
        meaning = "a point is a question, a bar the mean"
        sizes = known["model"].value_counts()
        set_note(ax, who_answered(rows), sample(sizes), meaning, interval_note(known, means))
    return ax


def _growth(rows: pd.DataFrame, column: str) -> str:
    """Return the second line of a label: the exponent of growth, if it can be fitted."""
    if rows["duration_s"].nunique() < 2 or not (rows.groupby("duration_s")[column].mean() > 0).all():
        return ""
    b = exponent(rows, column, cluster=cluster_of(rows))
    bounds = "" if math.isnan(b.low) else f" ({b.low:.2f} to {b.high:.2f})"
    return f"\nb = {b.mean:.2f}{bounds}".replace("-", "−").replace("−0.00", "0.00")
