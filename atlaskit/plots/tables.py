"""Figures of many questions, made from the tables of `evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.plots.style import STYLE
from atlaskit.statistics import accuracy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MARKERS = "osD^vP*X"
DURATIONS_S = {60: "1 min", 600: "10 min", 3600: "1 h", 10_800: "3 h", 18_000: "5 h", 36_000: "10 h"}
"""Ticks of an axis of durations."""
LOUD = {"score": "mean score", "tokens": "tokens a question", "effective_tokens": "effective tokens a question"}
NUDGE = 0.035
"""How far methods stand apart at one duration, as a share of it, so that their intervals do not hide each other."""


def against_duration(rows: pd.DataFrame, column: str = "score", ax: Axes | None = None) -> Axes:
    """Draw the mean of a column against the duration of the video, a line a method, with its 95 % interval (over
    videos) at each duration (paper, Table 2 and Fig. 1).

    The durations are those of the column `duration_s`, on a logarithmic axis; tokens are on one as well. Raises
    InputError for a table that lacks a column, or in which a duration is not known.
    """
    import matplotlib.pyplot as plt

    told = accuracy(rows, ["method", "duration_s"], column=column)
    if not (told["duration_s"] > 0).all():
        raise InputError("Some rows tell no duration_s, so they have no place on an axis of durations.")
    methods = list(dict.fromkeys(rows["method"]))
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots()
        for number, method in enumerate(methods):
            line = told[told["method"] == method]
            middle = number - (len(methods) - 1) / 2
            off = [line["mean"] - line["low"], line["high"] - line["mean"]]
            marker = MARKERS[number % len(MARKERS)]
            at = line["duration_s"] * (1 + NUDGE) ** middle
            ax.errorbar(at, line["mean"], off, label=method, marker=marker, ms=5, lw=1.6, elinewidth=0.9, capsize=2)
        ax.set_xscale("log")
        durations = sorted(told["duration_s"].unique())
        ax.set_xticks(durations, [DURATIONS_S.get(round(each), f"{each / 60:.3g} min") for each in durations])
        ax.minorticks_off()
        ax.set_xlabel("duration of the video")
        ax.set_ylabel(LOUD.get(column, column))
        if "tokens" in column:
            ax.set_yscale("log")
        elif column == "score":
            ax.set_ylim(0, 1)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax
