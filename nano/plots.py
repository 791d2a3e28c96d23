"""Figures of the recipe: learning curves of nano, and of a policy that learns by reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.viz.plots.series import check_rows, interval_over
from atlaskit.viz.plots.style import figure_style, sample, set_note

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("stage", "step", "seconds", "measure", "value")
LEARNING_IN = (7.2, 4.2)
"""Width and height of the figure of learning curves, in inches."""
REWARD_IN = (7.2, 3.4)
"""Width and height of the figure of reward curves, in inches."""
WINDOW = 5
"""Number of rows over which a learning curve is averaged: one row measures only a few examples."""
MEASURES = {"reward": "mean reward", "right": "share right", "steps": "steps of an episode"}


def learning_curves(table: pd.DataFrame) -> Axes:
    """Draw learning curves against minutes of training, with a column of panels for each stage.

    The upper panel shows the loss on a logarithmic axis, the lower panel the shares of correct
    predictions. Each point is the mean of the last WINDOW rows.

    Args:
        table: A table of `nano.curves.curves`.

    Returns:
        The upper left axes.

    Raises:
        InputError: A column is missing, or there are no rows.
    """
    import matplotlib.pyplot as plt
    import seaborn as sns
    from matplotlib.ticker import LogLocator, NullFormatter

    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise InputError(
            f"The table has no column {missing[0]}; pass a table of nano.curves.curves."
        )
    stages = list(dict.fromkeys(table["stage"]))
    if not stages:
        raise InputError(
            "The table has no rows, so there is nothing to draw; pass a table of "
            "nano.curves.curves."
        )
    smoothed = table.groupby(["stage", "measure"])["value"].transform(
        lambda each: each.rolling(WINDOW, 1).mean()
    )
    table = table.assign(minutes=table["seconds"] / 60, value=smoothed)
    with figure_style():
        _, axes = plt.subplots(2, len(stages), sharex="col", squeeze=False, figsize=LEARNING_IN)
        for (loss_ax, share_ax), stage in zip(axes.T, stages, strict=True):
            rows = table[table["stage"] == stage]
            is_loss = rows["measure"] == "loss"
            sns.lineplot(rows[is_loss], x="minutes", y="value", estimator=None, ax=loss_ax)
            sns.lineplot(
                rows[~is_loss], x="minutes", y="value", hue="measure", estimator=None, ax=share_ax
            )
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


def reward_curves(episodes: pd.DataFrame) -> Axes:
    """Draw the reward, share right and episode length of policies against their training steps.

    There is a line for each training seed, and a horizontal line for each rule, which does not
    train. Bands are 95 % intervals, clustered by worlds.

    Args:
        episodes: The table `curve` of what `nano.policy.learn` returns.

    Returns:
        The left axes.

    Raises:
        InputError: A column is missing, or there are no rows.
    """
    import matplotlib.pyplot as plt
    import pandas as pd
    import seaborn as sns

    check_rows(episodes, ["policy", "seed", "trained", "world", *MEASURES])
    is_rule = episodes["seed"] == ""
    rules = episodes[is_rule]
    learned = episodes[~is_rule]
    # A rule has the same episodes at both ends of the axis, which makes its line horizontal.
    rules_at_ends = [
        rules.assign(line=rules["policy"], trained=steps)
        for steps in sorted({0, episodes["trained"].max()})
    ]
    rows = pd.concat(
        [learned.assign(line="learned, seed " + learned["seed"]), *rules_at_ends],
        ignore_index=True,
    )
    rows = rows.astype(dict.fromkeys(MEASURES, float))
    names = list(dict.fromkeys(rows["line"]))
    rule_names = set(rules["policy"])
    line_style = {
        "hue": "line",
        "style": "line",
        "dashes": {name: (4, 1.6) if name in rule_names else "" for name in names},
        "markers": True,
        "markersize": 4,
        "err_kws": {"alpha": 0.15, "linewidth": 0},
    }
    with figure_style():
        figure, axes = plt.subplots(1, len(MEASURES), figsize=REWARD_IN)
        for ax, (measure, label) in zip(axes, MEASURES.items(), strict=True):
            sns.lineplot(
                rows,
                x="trained",
                y=measure,
                errorbar=interval_over(rows["world"], measure),
                **line_style,
                ax=ax,
            )
            ax.set(xlabel="steps of training", ylabel=label)
            ax.xaxis.set_major_formatter(lambda steps, _: f"{steps / 1000:g}k" if steps else "0")
            handles = ax.get_legend().legend_handles
            ax.get_legend().remove()
        set_note(
            axes[0],
            sample(rows.groupby(["line", "trained"]).size(), "a point"),
            "bands: 95 % intervals over worlds",
        )
        figure.legend(handles, names, loc="outside lower center", ncols=min(3, len(names)))
    first: Axes = axes[0]
    return first
