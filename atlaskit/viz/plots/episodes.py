"""Figure of a task of `atlaskit.gym`: the truth about a world, what policies kept, and scores."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from atlaskit.environment.question import Span
from atlaskit.environment.render import View
from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import check_columns
from atlaskit.viz.palette import TRUTH, beside_truth
from atlaskit.viz.plots.lanes import Lane, draw_lanes
from atlaskit.viz.plots.series import interval_over
from atlaskit.viz.plots.style import MARKERS, NOTE_PT, SMALL_PT, figure_style, sample, set_note, set_title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("task", "policy", "video", "seed", "score", "truth", "kept")
SIZE_IN = (7.2, 3.7)
"""Width and height of the figure in inches."""
VIEW_PX = 840
"""Largest side of the drawn view in pixels."""


def rewards(rows: pd.DataFrame, view: View) -> Axes:
    """Draw what a task is, on the world of the first row, and how policies score on all worlds.

    On the left is the root grid of that world: a cell that holds a part of the truth is framed in
    green, dashed if its frame does not show it. Below is an axis of time with the truth and with
    the cells that each policy kept. On the right are the mean scores with 95 % intervals.

    Args:
        rows: A table of `examples.policies.trials` about one task.
        view: The root grid of the world of the first row.

    Returns:
        The axes of the view.

    Raises:
        InputError: A column is missing, there are no rows, or they are about several tasks.

    Examples:
        >>> from examples.policies import trials, uniform_policy
        >>> rows = trials({"summary": {"uniform": uniform_policy}}, [7], duration_s=60, k=2)
        >>> ax = ak.plots.rewards(rows, ak.view(video, k=2))
    """
    import matplotlib.pyplot as plt

    check_columns(rows, COLUMNS)
    if rows["task"].nunique() != 1:
        raise InputError(f"A figure is about one task; these rows are about {rows['task'].nunique()}.")
    shown = rows[rows["seed"] == rows["seed"].iloc[0]]
    policies = list(dict.fromkeys(rows["policy"]))
    with figure_style():
        figure = plt.figure(figsize=SIZE_IN, layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1.25, 1), height_ratios=(2.1, 1))
        sheet, times = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
        _draw_view(sheet, view, shown["truth"].iloc[0])
        _draw_times(times, view, shown, policies)
        _draw_scores(figure.add_subplot(grid[:, 1]), rows, policies)
        title = f"World {shown['seed'].iloc[0]}: truth in green, dashed where a cell's frame misses it"
        set_title(sheet, title, share=0.5, fontsize=NOTE_PT)
    return sheet


def _draw_view(ax: Axes, view: View, truth: Collection[Span]) -> None:
    """Draw the view, and a frame around each cell that holds a part of the truth."""
    from matplotlib.patches import Rectangle

    image, k = np.asarray(view.small((VIEW_PX, VIEW_PX))), view.grid.k
    height, width = image.shape[:2]
    ax.imshow(image)
    ax.set_axis_off()
    for cell, moment_s in zip(view.cells, view.moments, strict=True):
        inside = [span for span in truth if span[0] < cell.end_s and cell.start_s < span[1]]
        if inside:
            is_shown = any(start_s <= moment_s < end_s for start_s, end_s in inside)
            row, column = divmod(cell.index, k)
            corner = (column * width / k + 3, row * height / k + 3)
            look: dict[str, Any] = {"lw": 2.0, "ls": "-"} if is_shown else {"lw": 1.2, "ls": (0, (3, 3))}
            size = (width / k - 6, height / k - 6)
            ax.add_patch(Rectangle(corner, *size, fill=False, edgecolor=TRUTH, **look))


def _draw_times(ax: Axes, view: View, shown: pd.DataFrame, policies: list[str]) -> None:
    """Draw a line for the truth and for each policy, with the intervals on an axis of time."""
    kept = [shown.loc[shown["policy"] == each, "kept"].iloc[0] for each in policies]
    lanes = [Lane("truth", shown["truth"].iloc[0], colour=TRUTH)]
    for index, (name, spans) in enumerate(zip(policies, kept, strict=True)):
        lanes.append(Lane(name, spans, colour=beside_truth(index)))
    draw_lanes(ax, lanes, view.video.duration_s, most_ticks=4)
    ax.tick_params(axis="y", labelsize=SMALL_PT)


def _draw_scores(ax: Axes, rows: pd.DataFrame, policies: list[str]) -> None:
    """Draw the mean score of each policy with its interval, from left to right."""
    import seaborn as sns

    rows = rows.reset_index(drop=True)
    sns.pointplot(
        rows,
        x="policy",
        y="score",
        hue="policy",
        order=policies,
        hue_order=policies,
        palette=list(map(beside_truth, range(len(policies)))),
        markers=[MARKERS[place % len(MARKERS)] for place in range(len(policies))],
        linestyles="none",
        errorbar=interval_over(rows["video"], "score"),
        capsize=0.1,
        ax=ax,
    )
    means, sizes = rows.groupby("policy")["score"].mean(), rows["policy"].value_counts()
    labels = ["\n".join([*policy.split(" "), f"{means[policy]:.2f}"]) for policy in policies]
    ax.set_xticks(range(len(policies)), labels, fontsize=SMALL_PT)
    ax.set(ylim=(-0.03, 1.05), xlabel="", ylabel="mean score")
    set_note(ax, sample(sizes).replace("questions", "episodes"), "95 % intervals")
