"""Figures of how a model was taught."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.viz.plots.style import STYLE, colour

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("stage", "step", "seconds", "measure", "value")
LATELY = 5
"""Rows that a line is the running mean of: one row is a handful of lessons."""


def learning_curves(table: pd.DataFrame) -> Axes:
    """Draw the curves of `nano.curves`: for each stage the loss above, on a logarithmic axis, and below it the shares
    of answers that were right, against the minutes that it took. Returns the first of the axes.

    Raises InputError for a table that lacks a column or has no rows.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise InputError(f"The table has no column {missing[0]}: give that of nano.curves.")
    stages = list(dict.fromkeys(table["stage"]))
    if not stages:
        raise InputError("The table has no rows, so there is nothing to draw.")
    with plt.style.context(STYLE):
        _, axes = plt.subplots(
            2, len(stages), sharex="col", squeeze=False, figsize=(4 * len(stages), 4.5), layout="constrained"
        )
        for (loss_ax, right_ax), stage in zip(axes.T, stages, strict=True):
            told = table[table["stage"] == stage]
            for number, (measure, rows) in enumerate(told.groupby("measure", sort=False)):
                ax = loss_ax if measure == "loss" else right_ax
                value = rows["value"].rolling(LATELY, min_periods=1).mean()
                ax.plot(rows["seconds"] / 60, value, color=colour(number), lw=1, label=str(measure))
            loss_ax.set(title=stage, yscale="log")
            loss_ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            loss_ax.yaxis.set_major_formatter("{x:g}")
            loss_ax.yaxis.set_minor_formatter(NullFormatter())
            right_ax.set(xlabel="minutes", ylim=(0, 1.02))
            right_ax.legend(loc="lower right", fontsize=7)
        axes[0, 0].set_ylabel("loss (nats)")
        axes[1, 0].set_ylabel("share right")
    first: Axes = axes[0, 0]
    return first
