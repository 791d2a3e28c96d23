"""Figures of evaluation tables: `against_duration` and `against_spread`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import InputError
from atlaskit.evaluation.grouping import check_columns
from atlaskit.evaluation.statistics import accuracy, exponent
from atlaskit.viz.palette import INK
from atlaskit.viz.plots.groups import Bars
from atlaskit.viz.plots.labels import label_ends
from atlaskit.viz.plots.series import (
    Look,
    asides,
    by_model,
    cluster_of,
    draw_means,
    duration_label,
    interval_lengths,
    interval_note,
    label_values,
    line_end,
    method_look,
    model_look,
    models_in,
    only_model,
    sizes_of,
)
from atlaskit.viz.plots.style import sample, set_note, styled_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


NO_BREAK = "\u00a0"
"""A space at which no label is broken."""


def against_duration(rows: pd.DataFrame, column: str = "score", ax: Axes | None = None) -> Axes:
    """Draw the mean of a column against the duration of the video (paper, Table 2 and Fig. 1).

    There is a line for each method of each model, labelled at its end. All points are at their true
    durations; their 95 % intervals stand side by side around them. Durations are on a logarithmic
    axis, and so are tokens. A label of tokens has the exponent b of tokens ~ duration^b
    (`statistics.exponent`).

    Args:
        rows: A table of `evaluate`, with `method`, `duration_s` and `column`; a column `model`
            tells several models apart.
        column: The column whose mean is drawn.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: A column is missing, or a row has no positive `duration_s`.

    Examples:
        >>> ax = ak.plots.against_duration(rows)
        >>> ax.get_ylabel()
        'mean score'
    """
    check_columns(rows, ["method", "duration_s", column])
    if not (rows["duration_s"] > 0).all():
        raise InputError("Some rows have no duration_s, so they have no place on the axis; drop them first.")
    drawn = [(each, accuracy(each.rows, "duration_s", column=column)) for each in _series(rows)]
    has_growth = "tokens" in column and rows["duration_s"].nunique() > 1
    with styled_axes(ax) as ax:
        ax.set_xscale("log")
        for (each, line), aside in zip(drawn, asides(len(drawn)), strict=True):
            draw_means(ax, line["duration_s"], line, each.look, aside=aside).set_label(each.name)
        durations = sorted(rows["duration_s"].unique())
        ax.set_xticks(durations, [duration_label(each) for each in durations])
        ax.minorticks_off()
        ax.set_xlabel("video duration")
        label_values(ax, column)
        means = [line for _, line in drawn]
        growth = f"b: {column.replace('_', ' ')} ~ duration^b" if has_growth else ""
        meaning = interval_note(rows, means, are_beside=len(means) > 1)
        set_note(ax, only_model(rows), sample(sizes_of(means), "a point"), meaning, growth)
        labels = [each.name + (_growth(each.rows, column) if has_growth else "") for each, _ in drawn]
        ends = [
            line_end(line["duration_s"], line["mean"], label, each.look)
            for (each, line), label in zip(drawn, labels, strict=True)
        ]
        label_ends([(ax, ends)], ticks=ax)
    return ax


def against_spread(rows: pd.DataFrame, column: str = "tokens", *, most: int = 3, ax: Axes | None = None) -> Axes:
    """Draw a column against the number of positions of the answer (paper, Fig. 5b).

    A point is a question, a bar the mean, with its 95 % interval. In each group there is a bar for
    each model.

    Args:
        rows: A table of `evaluate` with the column `positions`: at how many places in the video the
            answer lies; rows with 0 are left out. A column `model` tells several models apart.
        column: The column that is drawn.
        most: Questions with this many positions or more share one bar.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: No row has a position, or a column is missing.

    Examples:
        >>> ax = ak.plots.against_spread(rows)
        >>> ax.get_xlabel()
        'positions of the answer in the video'
    """
    check_columns(rows, ["positions", column])
    known = rows[rows["positions"] > 0]
    if not len(known):
        raise InputError("No row has a value above 0 in its column positions, so there is no spread to draw.")
    known = known.assign(places=known["positions"].clip(upper=most))
    counts = sorted(known["places"].unique())
    bars = Bars([f"{count}{' or more' if count == most else ''}" for count in counts], models_in(known))
    notes: dict[tuple[int, str], str] = {}
    sizes, drawn = [], []
    with styled_axes(ax, (4.6 if len(bars.models) == 1 else 7.2, 3.4)) as ax:
        for index, (model, asked) in enumerate(by_model(known)):
            means = accuracy(asked, "places", column=column)
            groups = [counts.index(count) for count in means["places"]]
            _draw_spread(ax, [bars.x(group, model) for group in groups], means, bars.width, model_look(index))
            for group, count in zip(groups, means["places"], strict=True):
                values = asked.loc[asked["places"] == count, column].to_numpy(float)
                _draw_points(ax, bars.x(group, model), values, bars.width, model_look(index).colour)
                notes[group, model] = f"n = {len(values)}"
            sizes.append(len(asked))
            drawn.append(means)
        bars.label(ax, notes)
        label_values(ax, column, is_log=False)
        ax.set_xlabel("positions of the answer in the video")
        meaning = "a point is a question, a bar the mean"
        set_note(ax, only_model(known), sample(sizes), meaning, interval_note(known, drawn))
    return ax


@dataclass(frozen=True)
class _Series:
    """What one line shows: the rows of a method and a model."""

    name: str
    rows: pd.DataFrame
    look: Look


def _series(rows: pd.DataFrame) -> Iterator[_Series]:
    """Yield the methods of each model of a table; a name leaves out what all series share."""
    methods, models = list(dict.fromkeys(rows["method"])), models_in(rows)
    for index, (model, asked) in enumerate(by_model(rows)):
        for method in dict.fromkeys(asked["method"]):
            look = method_look(method, methods, index) if len(methods) > 1 else model_look(index)
            parts = [*([method] if len(methods) > 1 else []), *([model] if len(models) > 1 else [])]
            yield _Series(", ".join(parts) or method, asked[asked["method"] == method], look)


def _growth(rows: pd.DataFrame, column: str) -> str:
    """Return the second line of a label: the exponent of growth, if it can be fitted."""
    if rows["duration_s"].nunique() < 2 or not (rows.groupby("duration_s")[column].mean() > 0).all():
        return ""
    b = exponent(rows, column, cluster=cluster_of(rows))
    bounds = "" if math.isnan(b.low) else f"({b.low:.2f} to {b.high:.2f})".replace(" ", NO_BREAK)
    return f"\nb{NO_BREAK}={NO_BREAK}{b.mean:.2f} {bounds}".replace("-", "−").replace("−0.00", "0.00")


def _draw_spread(ax: Axes, x: Sequence[float], means: pd.DataFrame, width: float, look: Look) -> None:
    """Draw the means of a model as pale bars with a dark top, and their intervals."""
    ax.bar(x, means["mean"], width, color=look.colour, alpha=0.25, lw=0)
    ax.hlines(means["mean"], [each - width / 2 for each in x], [each + width / 2 for each in x], look.colour, lw=2)
    ax.errorbar(x, means["mean"], interval_lengths(means), fmt="none", ecolor=INK, elinewidth=1.2, zorder=4)


def _draw_points(ax: Axes, x: float, values: NDArray[np.float64], width: float, colour: str) -> None:
    """Draw the questions of a bar as points, moved apart along the axis, which has no scale."""
    moved = np.random.default_rng(0).uniform(-0.4, 0.4, len(values))
    ax.scatter(x + width * moved, values, s=9, color=colour, alpha=0.55, lw=0, zorder=3, clip_on=False)
