"""Figures of seconds and speedup against the number of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atlaskit.evaluation.speedups import amdahl, speedup
from atlaskit.viz.plots.labels import LineEnd, label_ends, readable
from atlaskit.viz.plots.series import (
    Look,
    by_model,
    draw_means,
    interval_note,
    line_end,
    model_look,
    sizes_of,
)
from atlaskit.viz.plots.style import NOTE_PT, sample, set_note, styled_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

CURVE_POINTS = 100
"""Number of points of the curve of Amdahl's bound."""


def worker_scaling(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean seconds per question against the number of workers (paper, Fig. 6).

    Thick lines are seconds at equal workload, with 95 % intervals and the mean score beside each
    point; there is a line for each model where the table has a column `model`. Dashed lines are
    Amdahl's bound, computed from the serial share of the time with the fewest workers. Dotted lines
    are the measured seconds, each number of workers at its own workload. Both axes are logarithmic,
    so equal speedups have equal heights.

    Raises:
        InputError: A column is missing.

    Examples:
        >>> times = ak.scaling.by_workers(cases[:1], vlm=vlm, workers=(1, 2), progress=False)
        >>> ax = ak.plots.worker_scaling(times)
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    means = speedup(table)
    with styled_axes(ax) as ax:
        ax.set(xscale="log", yscale="log")
        ends = [
            end
            for index, (model, rows) in enumerate(by_model(means))
            for end in _draw_model(ax, rows, model_look(index), model)
        ]
        counts = sorted(means["workers"].unique())
        ax.set_xticks(counts, [str(count) for count in counts])
        ax.minorticks_off()
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("workers")
        ax.set_ylabel("seconds per question")
        meaning = interval_note(table, [means], "normalised_seconds")
        set_note(ax, sample(sizes_of([means]), "a point"), meaning, "%: mean score")
        label_ends([(ax, ends)], ticks=ax)
    return ax


def _draw_model(ax: Axes, means: pd.DataFrame, look: Look, model: str) -> list[LineEnd]:
    """Draw the three lines and the scores of one model; return the ends of the lines."""
    x, seconds = means["workers"], means["normalised_seconds"]
    solid = Look(look.colour, look.marker, "-", look.is_filled)
    draw_means(ax, x, means, solid, "normalised_seconds")
    factors = np.geomspace(1, x.iloc[-1] / x.iloc[0], CURVE_POINTS)
    bound = seconds.iloc[0] / amdahl(means["serial_share"].iloc[0], factors)
    ax.plot(x.iloc[0] * factors, bound, color=look.colour, lw=1, ls="--")
    ax.plot(x, means["seconds"], color=look.colour, lw=1, ls=":")
    last = float(x.iloc[-1])
    labels = [f"{100 * score:.0f} %" for score in means["score"]]
    if len(labels) > 1 and len(set(labels)) == 1:
        labels = [f"{labels[0]} at each point"]
    for x_value, y_value, label in zip(x, seconds, labels, strict=False):
        side = -1 if x_value == last else 1  # the last one's label stands where the line's label begins
        at: dict[str, Any] = {"textcoords": "offset points", "ha": "right" if side < 0 else "left", "fontsize": NOTE_PT}
        ax.annotate(label, (x_value, y_value), (5 * side, 5), color=readable(look.colour), **at)
    return [
        line_end(x, seconds, f"{model}, at equal workload" if model else "at equal workload", look),
        LineEnd(last, float(bound[-1]), "Amdahl's bound (dashed)", look.colour),
        LineEnd(last, float(means["seconds"].iloc[-1]), "each at its own workload (dotted)", look.colour),
    ]
