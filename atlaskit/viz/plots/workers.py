"""Figures of how much faster a search is with more workers, made from the tables of `scaling`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atlaskit.evaluation.scaling import amdahl, speedup
from atlaskit.viz.plots.style import STYLE, colour
from atlaskit.viz.plots.tables import MARKERS, draw_means

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer

NUDGE = 0.03
"""How far models stand apart at one number of workers, as a share of it."""
POINTS = 100
"""Of the curve of a bound."""


def worker_scaling(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean seconds a question takes at equal workload against the number of workers, with 95 % intervals over
    videos and the mean score beside each point (paper, Fig. 6); a line a model, where the table has a column `model`.

    Dashed is what Amdahl's law allows, from the share of the fewest workers' time that is serial; dotted are the
    seconds as they were, each number of workers at its own workload. Both axes are logarithmic, so that as many times
    faster is as far down everywhere. Raises InputError for a table that lacks a column.
    """
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullFormatter

    told = speedup(table)
    names = list(dict.fromkeys(told["model"])) if "model" in told.columns else [""]
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots()
        ax.set(xscale="log", yscale="log")
        drawn = []
        for number, name in enumerate(names):
            line, shift = told[told["model"] == name] if name else told, number - (len(names) - 1) / 2
            drawn.append(_draw_line(ax, line, (1 + NUDGE) ** shift, colour(number), MARKERS[number % len(MARKERS)]))
        counts = sorted(told["workers"].unique())
        ax.set_xticks(counts, [str(count) for count in counts])
        ax.minorticks_off()
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("workers")
        ax.set_ylabel("seconds a question")
        styles = [Line2D([], [], color="0.35", lw=1, ls=style) for style in ("--", ":")]
        told_of = [name or "at equal workload" for name in names]
        ax.legend(
            [*drawn, *styles],
            [*told_of, "Amdahl's bound", "each at its own workload"],
            title="at equal workload" if names != [""] else None,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
        )
        told_above = "%: mean score; bars: 95 % intervals over videos"
        above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "color": "0.35"}
        ax.annotate(told_above, (1, 1), (0, 4), ha="right", fontsize=8, **above)
    return ax


def _draw_line(ax: Axes, told: pd.DataFrame, shift: float, ink: str, marker: str) -> ErrorbarContainer:
    """Draw what was measured of one model, what Amdahl's law allows, and the scores; return the first of these."""
    at, mean = told["workers"] * shift, told["normalised_seconds"]
    drawn = draw_means(ax, at, told, ink, marker, column="normalised_seconds")
    more = np.geomspace(1, at.iloc[-1] / at.iloc[0], POINTS)
    ax.plot(at.iloc[0] * more, mean.iloc[0] / amdahl(told["serial_share"].iloc[0], more), color=ink, lw=1, ls="--")
    ax.plot(at, told["seconds"], color=ink, lw=1, ls=":")
    for place, value, score in zip(at, mean, told["score"], strict=True):
        ax.annotate(f"{100 * score:.0f} %", (place, value), (5, 4), textcoords="offset points", fontsize=8)
    return drawn
