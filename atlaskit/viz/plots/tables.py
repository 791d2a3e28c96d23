"""Figures of evaluation tables: `against_duration`, `depth_budget`, `against_spread`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.environment.grid import resolution_s, sub_second_depth
from atlaskit.errors import InputError
from atlaskit.evaluation.statistics import accuracy
from atlaskit.evaluation.tables import METHOD_ORDER
from atlaskit.viz.palette import REFERENCE_LINE, categorical
from atlaskit.viz.plots.style import MARKERS, styled_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer

DURATION_LABELS = {60: "1 min", 600: "10 min", 3600: "1 h", 10_800: "3 h", 18_000: "5 h", 36_000: "10 h"}
"""Labels of common durations, by seconds."""
COLUMN_LABELS = {
    "score": "mean score",
    "tokens": "tokens per question",
    "effective_tokens": "effective tokens per question",
}
"""Axis labels of columns."""
SHIFT = 0.035
"""Distance between methods at one duration, as a share of it, to keep their intervals apart."""


def against_duration(rows: pd.DataFrame, column: str = "score", ax: Axes | None = None) -> Axes:
    """Draw the mean of a column against the duration of the video (paper, Table 2 and Fig. 1).

    There is a line for each method, with 95 % intervals over videos. Durations are on a logarithmic
    axis, and so are tokens.

    Args:
        rows: A table of `evaluate`, with `method`, `duration_s` and `column`.
        column: The column whose mean is drawn.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: A column is missing, or a row has no positive `duration_s`.
    """
    means = accuracy(rows, ["method", "duration_s"], column=column)
    if not (means["duration_s"] > 0).all():
        raise InputError("Some rows have no duration_s, so they have no place on the axis; drop them first.")
    methods = list(dict.fromkeys(rows["method"]))
    all_methods = [*METHOD_ORDER, *(method for method in methods if method not in METHOD_ORDER)]
    with styled_axes(ax) as ax:
        for number, method in enumerate(methods):
            line = means[means["method"] == method]
            x = line["duration_s"] * (1 + SHIFT) ** (number - (len(methods) - 1) / 2)
            look = all_methods.index(method) % len(MARKERS)  # a method looks the same in every figure
            draw_means(ax, x, line, categorical(look), MARKERS[look], label=method)
        ax.set_xscale("log")
        durations = sorted(means["duration_s"].unique())
        ax.set_xticks(durations, [duration_label(each) for each in durations])
        ax.minorticks_off()
        ax.set_xlabel("video duration")
        _label_values(ax, column)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def depth_budget(rows: pd.DataFrame, duration_s: float, *, k: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw score and tokens against the maximum depth (paper, Fig. 5a).

    Below each depth is its resolution, Δt_d = T / K^(2(d+1)). A dotted line marks the first depth
    at which it is below a second.

    Args:
        rows: A table of `evaluate` with the column `max_depth`.
        duration_s: Duration T of the videos, in seconds.
        k: Cells per side of a grid; None takes the column `k`, and 8 where there is none.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: A column is missing.
    """
    k = k or (int(rows["k"].max()) if "k" in rows else 8)
    scores, tokens = (accuracy(rows, "max_depth", column=column) for column in ("score", "tokens"))
    depths = scores["max_depth"].tolist()
    with styled_axes(ax) as ax:
        _draw_token_bars(ax, depths, tokens)
        draw_means(ax, scores["max_depth"], scores, categorical(0), MARKERS[0])
        sub_second = sub_second_depth(duration_s, k)
        first_below = next((depth for depth in depths if depth >= sub_second), None)
        if first_below is not None:
            ax.axvline(first_below - 0.5, color=REFERENCE_LINE, lw=1, ls=":")
            above: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            note_at = (first_below - 0.5, 1)
            ax.annotate("cells below 1 s from here on", note_at, (0, 3), ha="center", fontsize=8, **above)
        ax.set_xticks(depths, [f"{depth}\n{_span_label(resolution_s(duration_s, k, depth))}" for depth in depths])
        ax.set_xlabel("maximum depth, and its resolution")
        _label_values(ax, "score")
        ax.set_ylabel("mean score (line)")
    return ax


def against_spread(rows: pd.DataFrame, column: str = "tokens", *, most: int = 3, ax: Axes | None = None) -> Axes:
    """Draw the mean of a column against the number of positions of the answer (paper, Fig. 5b).

    Args:
        rows: A table of `evaluate` with the column `positions`: at how many places in the video the
            answer lies; rows with 0 are left out.
        column: The column whose mean is drawn.
        most: Questions with this many positions or more share one bar.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: No row has a position.
    """
    known = rows[rows["positions"] > 0]
    if not len(known):
        raise InputError("No row has a value above 0 in its column positions, so there is no spread to draw.")
    means = accuracy(known.assign(places=known["positions"].clip(upper=most)), "places", column=column)
    counts: Sequence[int] = means["places"].tolist()
    with styled_axes(ax, (4.6, 3.2)) as ax:
        error_look = {"elinewidth": 0.9, "capsize": 2}
        ax.bar(counts, means["mean"], 0.6, yerr=interval_lengths(means), color=categorical(0), error_kw=error_look)
        names = [f"{count}{' or more' if count == most else ''}" for count in counts]
        ax.set_xticks(counts, [f"{name}\nn = {n}" for name, n in zip(names, means["questions"], strict=True)])
        ax.set_xlabel("positions of the answer in the video")
        ax.set_ylabel(COLUMN_LABELS.get(column, column))
        ax.yaxis.set_major_formatter("{x:,.0f}")
    return ax


def duration_label(duration_s: float) -> str:
    """Return the axis label of a duration: 1 min, 10 h, 12.5 min."""
    return DURATION_LABELS.get(round(duration_s), f"{duration_s / 60:.3g} min")


def draw_means(
    ax: Axes, x: pd.Series, means: pd.DataFrame, colour: str, marker: str, *, column: str = "mean", label: str = ""
) -> ErrorbarContainer:
    """Draw a line through means, with their intervals.

    Args:
        ax: Axes to draw on.
        x: Where the means are drawn, one value per row of `means`.
        means: A table with `column`, `low` and `high`, the bounds of the intervals.
        colour: Colour of the line.
        marker: Marker of the means.
        column: The column of means.
        label: Entry in the legend; empty for none.
    """
    look: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5, "lw": 1.6, "elinewidth": 0.9, "capsize": 2}
    return ax.errorbar(x, means[column], interval_lengths(means, column), label=label or None, **look)


def interval_lengths(means: pd.DataFrame, column: str = "mean") -> list[pd.Series]:
    """Return how far the intervals extend below their means, and above them."""
    return [means[column] - means["low"], means["high"] - means[column]]


def _draw_token_bars(ax: Axes, depths: Sequence[int], tokens: pd.DataFrame) -> None:
    """Draw tokens as bars on a second y axis, behind what `ax` holds."""
    right = ax.twinx()
    right.bar(depths, tokens["mean"] / 1000, 0.5, color=categorical(4), alpha=0.45, lw=0)
    right.set_ylabel("thousand tokens per question (bars)")
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    ax.set_zorder(right.get_zorder() + 1)
    ax.patch.set_visible(False)


def _label_values(ax: Axes, column: str) -> None:
    """Label the y axis, and scale it for scores and for tokens."""
    ax.set_ylabel(COLUMN_LABELS.get(column, column))
    if "tokens" in column:
        ax.set_yscale("log")
    elif column == "score":
        ax.set_ylim(0, 1)


def _span_label(span_s: float) -> str:
    return f"{span_s:.3g} s" if span_s < 120 else f"{span_s / 60:.3g} min"
