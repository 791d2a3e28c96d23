"""Figures of seconds and speedup against the number of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atlaskit.evaluation.speedups import amdahl, speedup
from atlaskit.viz.palette import REFERENCE_LINE, categorical
from atlaskit.viz.plots.style import MARKERS, styled_axes
from atlaskit.viz.plots.tables import draw_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer

SHIFT = 0.03
"""Distance between models at one number of workers, as a share of it."""
CURVE_POINTS = 100
"""Number of points of the curve of Amdahl's bound."""


def worker_scaling(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean seconds per question against the number of workers (paper, Fig. 6).

    Solid lines are seconds at equal workload, with 95 % intervals over videos and the mean score
    beside each point; there is a line for each model where the table has a column `model`. Dashed
    lines are Amdahl's bound, computed from the serial share of the time with the fewest workers.
    Dotted lines are the measured seconds, each number of workers at its own workload. Both axes are
    logarithmic, so equal speedups have equal heights.

    Raises:
        InputError: A column is missing.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    means = speedup(table)
    models = list(dict.fromkeys(means["model"])) if "model" in means.columns else [""]
    with styled_axes(ax) as ax:
        ax.set(xscale="log", yscale="log")
        lines = []
        for index, model in enumerate(models):
            rows, offset = means[means["model"] == model] if model else means, index - (len(models) - 1) / 2
            marker = MARKERS[index % len(MARKERS)]
            lines.append(_draw_model(ax, rows, (1 + SHIFT) ** offset, categorical(index), marker))
        counts = sorted(means["workers"].unique())
        ax.set_xticks(counts, [str(count) for count in counts])
        ax.minorticks_off()
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("workers")
        ax.set_ylabel("seconds per question")
        _add_legend(ax, lines, models)
        note = "%: mean score; bars: 95 % intervals over videos"
        above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "color": REFERENCE_LINE}
        ax.annotate(note, (1, 1), (0, 4), ha="right", fontsize=8, **above)
    return ax


def _add_legend(ax: Axes, lines: Sequence[ErrorbarContainer], models: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    bounds = [Line2D([], [], color=REFERENCE_LINE, lw=1, ls=style) for style in ("--", ":")]
    ax.legend(
        [*lines, *bounds],
        [*(model or "at equal workload" for model in models), "Amdahl's bound", "each at its own workload"],
        title="at equal workload" if list(models) != [""] else None,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
    )


def _draw_model(ax: Axes, means: pd.DataFrame, shift: float, colour: str, marker: str) -> ErrorbarContainer:
    """Draw the three lines and the scores of one model; return the line at equal workload."""
    x, seconds = means["workers"] * shift, means["normalised_seconds"]
    line = draw_means(ax, x, means, colour, marker, column="normalised_seconds")
    factors = np.geomspace(1, x.iloc[-1] / x.iloc[0], CURVE_POINTS)
    bound = seconds.iloc[0] / amdahl(means["serial_share"].iloc[0], factors)
    ax.plot(x.iloc[0] * factors, bound, color=colour, lw=1, ls="--")
    ax.plot(x, means["seconds"], color=colour, lw=1, ls=":")
    for x_value, y_value, score in zip(x, seconds, means["score"], strict=True):
        ax.annotate(f"{100 * score:.0f} %", (x_value, y_value), (5, 4), textcoords="offset points", fontsize=8)
    return line
