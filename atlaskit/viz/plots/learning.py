"""Figure of nano's learning curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.viz.plots.style import figure_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("stage", "step", "seconds", "measure", "value")
WIDTH_IN, STAGE_IN = 7.2, 2.3
"""Width of the figure, and the least width of a stage, in inches."""
WINDOW = 5
"""Rows that each point of a line is the mean of; one row measures only a few examples."""


def learning_curves(table: pd.DataFrame) -> Axes:
    """Draw the curves of `nano.curves` against minutes of training, a column for each stage.

    The upper panel has the loss on a logarithmic axis, the lower one the shares of correct replies.
    A point is the mean of the last WINDOW rows.

    Returns:
        The first of the axes.

    Raises:
        InputError: A column is missing, or there are no rows.

    Examples:
        >>> ax = ak.plots.learning_curves(ak.nano.curves())
        >>> ax.get_yscale()
        'log'
    """
    import matplotlib.pyplot as plt
    import seaborn as sns
    from matplotlib.ticker import LogLocator, NullFormatter

    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise InputError(f"The table has no column {missing[0]}; pass a table of nano.curves.")
    stages = list(dict.fromkeys(table["stage"]))
    if not stages:
        raise InputError("The table has no rows, so there is nothing to draw; pass a table of nano.curves.")
    smoothed = table.groupby(["stage", "measure"])["value"].transform(lambda each: each.rolling(WINDOW, 1).mean())
    table = table.assign(minutes=table["seconds"] / 60, value=smoothed)
    size = (max(WIDTH_IN, STAGE_IN * len(stages)), 4.2)
    with figure_style():
        _, axes = plt.subplots(2, len(stages), sharex="col", squeeze=False, figsize=size)
        for (loss_ax, share_ax), stage in zip(axes.T, stages, strict=True):
            rows = table[table["stage"] == stage]
            is_loss = rows["measure"] == "loss"
            sns.lineplot(rows[is_loss], x="minutes", y="value", estimator=None, ax=loss_ax)
            sns.lineplot(rows[~is_loss], x="minutes", y="value", hue="measure", estimator=None, ax=share_ax)
            loss_ax.set(title=stage, ylabel="", yscale="log")
            loss_ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            loss_ax.yaxis.set_major_formatter("{x:g}")
            loss_ax.yaxis.set_minor_formatter(NullFormatter())
            share_ax.set(xlabel="minutes of training", ylabel="", ylim=(0, 1.02))
            if share_ax.get_legend():  # a stage may have no shares yet
                sns.move_legend(share_ax, "lower right", title="")
        axes[0, 0].set_ylabel("loss (nats)")
        axes[1, 0].set_ylabel("share correct")
    first: Axes = axes[0, 0]
    return first
