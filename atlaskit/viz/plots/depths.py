"""Figure of score and tokens against the maximum depth (`depth_budget`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.environment.grid import resolution_s, sub_second_depth
from atlaskit.evaluation.statistics import accuracy
from atlaskit.viz.palette import REFERENCE_LINE
from atlaskit.viz.plots.series import check_rows, draw_means, interval_note, label_values, who_answered, with_series
from atlaskit.viz.plots.style import NOTE_PT, duration_label, figure_style, label_ends, sample, set_note

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

HEIGHT_IN = 4.6
"""Height of the figure, in inches."""
PANELS = ("score", "tokens")
"""The columns that the panels show, from the top."""


def depth_budget(rows: pd.DataFrame, duration_s: float, *, k: int | None = None) -> Axes:
    """Draw score, and below it tokens, against the maximum depth (paper, Fig. 5a).

    Below each depth is its resolution, Δt_d = T / K^(2(d+1)). A dotted line marks the first depth
    at which it is below a second. There is a line for each model.

    Args:
        rows: A table of `evaluate` with the column `max_depth`; a column `model` tells several
            models apart.
        duration_s: Duration T of the videos, in seconds.
        k: Cells per side of a grid; None takes the column `k`, and 8 where there is none.

    Returns:
        The axes of scores; those of tokens are the next ones of its figure.

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
    depths, is_split = sorted(rows["max_depth"].unique()), len(looks["hue_order"]) > 1
    with figure_style():
        pair = plt.subplots(2, 1, sharex=True, figsize=(plt.rcParams["figure.figsize"][0], HEIGHT_IN))[1]
        for ax, column in zip(pair, PANELS, strict=True):
            draw_means(ax, rows, ("max_depth", column), looks, apart=0.1, legend=False)
            label_values(ax, column, is_log=False)
        _mark_sub_second(pair, depths, sub_second_depth(duration_s, k))
        below = pair[1]
        below.set_xticks(depths, [f"{depth}\n{duration_label(resolution_s(duration_s, k, depth))}" for depth in depths])
        below.set_xlim(depths[0] - 0.3, depths[-1] + 0.3)
        below.set_xlabel("maximum depth, and its resolution")
        for ax in pair if is_split else ():
            label_ends(ax, looks["hue_order"])
        aside = "models stand side by side" if is_split else ""
        notes = (who_answered(rows), sample(means["questions"], "a point"), interval_note(rows, means), aside)
        set_note(pair[0], *notes)
    first: Axes = pair[0]
    return first


def _mark_sub_second(pair: Sequence[Axes], depths: Sequence[int], first_below: int) -> None:
    """Draw a dotted line in both panels before the first depth of less than a second a cell."""
    if not any(depth >= first_below for depth in depths):
        return
    at = min(depth for depth in depths if depth >= first_below) - 0.5
    for ax in pair:
        ax.axvline(at, color=REFERENCE_LINE, lw=1, ls=":")
    look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": NOTE_PT, "color": REFERENCE_LINE}
    pair[0].text(at, -0.03, "cells below 1 s from here on", transform=pair[0].get_xaxis_transform(), **look)
