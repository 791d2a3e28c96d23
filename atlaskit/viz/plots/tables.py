"""Figures of many questions, made from the tables of `evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.environment.grid import resolution_s, sub_second_depth
from atlaskit.errors import InputError
from atlaskit.evaluation.statistics import accuracy
from atlaskit.evaluation.tables import METHOD_ORDER
from atlaskit.viz.plots.style import STYLE, colour

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer

MARKERS = "osD^vP*X"
TICKS_S = {60: "1 min", 600: "10 min", 3600: "1 h", 10_800: "3 h", 18_000: "5 h", 36_000: "10 h"}
"""What durations are called."""
CALLED = {"score": "mean score", "tokens": "tokens a question", "effective_tokens": "effective tokens a question"}
"""What columns are called."""
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
    looks = [*METHOD_ORDER, *(method for method in methods if method not in METHOD_ORDER)]  # the same in every figure
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots()
        for number, method in enumerate(methods):
            line = told[told["method"] == method]
            at = line["duration_s"] * (1 + NUDGE) ** (number - (len(methods) - 1) / 2)
            look = looks.index(method) % len(MARKERS)
            draw_means(ax, at, line, colour(look), MARKERS[look], label=method)
        ax.set_xscale("log")
        durations = sorted(told["duration_s"].unique())
        ax.set_xticks(durations, [duration_called(each) for each in durations])
        ax.minorticks_off()
        ax.set_xlabel("duration of the video")
        _name_values(ax, column)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def depth_budget(rows: pd.DataFrame, duration_s: float, *, k: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw score and tokens against the maximum depth, the column `max_depth` (paper, Fig. 5a).

    Below each depth stands how long a cell is there, Δt_d = T / K^(2(d+1)) of a video of `duration_s` seconds; a line
    marks the first depth at which it is shorter than a second. K is that of the rows if not given, 8 if they tell none.
    """
    import matplotlib.pyplot as plt

    k = k or (int(rows["k"].max()) if "k" in rows else 8)
    scores, tokens = (accuracy(rows, "max_depth", column=column) for column in ("score", "tokens"))
    depths = scores["max_depth"].tolist()
    spans_s = [resolution_s(duration_s, k, depth) for depth in depths]
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots()
        right = ax.twinx()
        right.bar(depths, tokens["mean"] / 1000, 0.5, color=colour(4), alpha=0.45, lw=0)
        right.set_ylabel("thousand tokens a question (bars)")
        right.spines["right"].set_visible(True)
        right.grid(visible=False)
        ax.set_zorder(right.get_zorder() + 1)
        ax.patch.set_visible(False)
        draw_means(ax, scores["max_depth"], scores, colour(0), MARKERS[0])
        fine = next((depth for depth in depths if depth >= sub_second_depth(duration_s, k)), None)
        if fine is not None:
            ax.axvline(fine - 0.5, color="0.35", lw=1, ls=":")
            above: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            ax.annotate("from here on, cells below 1 s", (fine - 0.5, 1), (0, 3), ha="center", fontsize=8, **above)
        ax.set_xticks(depths, [f"{depth}\n{_span(span_s)}" for depth, span_s in zip(depths, spans_s, strict=True)])
        ax.set_xlabel("maximum depth, and how long a cell is there")
        _name_values(ax, "score")
        ax.set_ylabel("mean score (line)")
    return ax


def against_spread(rows: pd.DataFrame, column: str = "tokens", *, most: int = 3, ax: Axes | None = None) -> Axes:
    """Draw the mean of a column against the number of places in the video that an answer lies at, the column
    `positions`, of which `most` and more are one (paper, Fig. 5b). Raises InputError where no row tells any."""
    import matplotlib.pyplot as plt

    known = rows[rows["positions"] > 0]
    if not len(known):
        raise InputError("No row tells at how many positions its answer lies, so there is no spread to draw.")
    told = accuracy(known.assign(places=known["positions"].clip(upper=most)), "places", column=column)
    places: Sequence[int] = told["places"].tolist()
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(4.6, 3.2))
        ax.bar(places, told["mean"], 0.6, yerr=reach(told), color=colour(0), error_kw={"elinewidth": 0.9, "capsize": 2})
        names = [f"{place}{' or more' if place == most else ''}" for place in places]
        ax.set_xticks(places, [f"{name}\nn = {count}" for name, count in zip(names, told["questions"], strict=True)])
        ax.set_xlabel("places in the video that the answer lies at")
        ax.set_ylabel(CALLED.get(column, column))
        ax.yaxis.set_major_formatter("{x:,.0f}")
    return ax


def duration_called(duration_s: float) -> str:
    """Return what a duration is called on an axis."""
    return TICKS_S.get(round(duration_s), f"{duration_s / 60:.3g} min")


def draw_means(
    ax: Axes, at: pd.Series, told: pd.DataFrame, ink: str, marker: str, *, column: str = "mean", label: str = ""
) -> ErrorbarContainer:
    """Draw means at some places, joined, with their intervals from `low` to `high`."""
    look: dict[str, Any] = {"color": ink, "marker": marker, "ms": 5, "lw": 1.6, "elinewidth": 0.9, "capsize": 2}
    return ax.errorbar(at, told[column], reach(told, column), label=label or None, **look)


def reach(told: pd.DataFrame, column: str = "mean") -> list[pd.Series]:
    """Return how far intervals reach below their means, and above."""
    return [told[column] - told["low"], told["high"] - told[column]]


def _name_values(ax: Axes, column: str) -> None:
    ax.set_ylabel(CALLED.get(column, column))
    if "tokens" in column:
        ax.set_yscale("log")
    elif column == "score":
        ax.set_ylim(0, 1)


def _span(span_s: float) -> str:
    return f"{span_s:.3g} s" if span_s < 120 else f"{span_s / 60:.3g} min"
