"""Series of a figure: a look for each method and model, means with intervals, and what these are.

A table of several models has the column `model`. The colour of a line tells its method, or its
model where there is one method; stroke and marker tell the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atlaskit.evaluation.grouping import check_columns
from atlaskit.evaluation.tables import METHOD_ORDER
from atlaskit.viz.palette import categorical
from atlaskit.viz.plots.labels import LineEnd, short_count
from atlaskit.viz.plots.style import MARKERS, figure_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

MODEL_COLOURS = (0, 5, 2, 3, 4, 7)
"""Indices of the colours of models: nano blue, a model beside it vermilion."""
STROKES = ("-", (0, (4, 1.6)), (0, (1, 1.2)), "-.")
"""Strokes of the lines of models, in the order of use."""
DURATION_LABELS = {60: "1 min", 600: "10 min", 3600: "1 h", 10_800: "3 h", 18_000: "5 h", 36_000: "10 h"}
"""Labels of common durations, by seconds."""
COLUMN_LABELS = {
    "score": "mean score",
    "tokens": "tokens per question",
    "effective_tokens": "effective tokens per question",
}
"""Axis labels of columns."""
ASIDE_PT = 2.6
"""Distance between the intervals of two series at the same place, in points of type."""
LEAST_SPAN = 12.0
"""The largest value of a logarithmic axis is at least this many times its smallest."""


@dataclass(frozen=True)
class Look:
    """How a series is drawn. Markers of the first model are filled, those of others are hollow."""

    colour: str
    marker: str = MARKERS[0]
    stroke: Any = "-"
    is_filled: bool = True


def models_in(rows: pd.DataFrame) -> list[str]:
    """Return the models of a table in their order; [""] if it does not tell them apart."""
    return list(dict.fromkeys(map(str, rows["model"]))) if "model" in rows.columns else [""]


def by_model(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each model of a table with its rows; all rows under "" without a column `model`."""
    for model in models_in(rows):
        yield model, rows[rows["model"].astype(str) == model] if model else rows


def only_model(rows: pd.DataFrame) -> str:
    """Return the name of the only model of a table; "" if it has several, or none is named."""
    models = models_in(rows)
    return models[0] if len(models) == 1 else ""


def model_look(index: int) -> Look:
    """Return the look of a model, where every series is another model."""
    colour = categorical(MODEL_COLOURS[index % len(MODEL_COLOURS)])
    return Look(colour, MARKERS[index % len(MARKERS)], STROKES[index % len(STROKES)], index == 0)


def method_look(method: str, methods: Sequence[str], model_index: int) -> Look:
    """Return the look of a method and a model; a method looks the same in every figure."""
    everything = [*METHOD_ORDER, *(each for each in methods if each not in METHOD_ORDER)]
    turn, place = divmod(everything.index(method), len(MARKERS))
    marker = MARKERS[(place + turn) % len(MARKERS)]  # the ninth method has the first one's colour, not its marker
    return Look(categorical(place), marker, STROKES[model_index % len(STROKES)], model_index == 0)


def draw_means(
    ax: Axes, x: pd.Series, means: pd.DataFrame, look: Look, column: str = "mean", *, aside: float = 0.0
) -> Line2D:
    """Draw a line through means at their true places, and thin intervals behind it.

    Args:
        ax: Axes to draw on.
        x: Where the means are drawn, one value per row of `means`.
        means: A table with `column`, `low` and `high`, the bounds of the intervals.
        look: How the line is drawn.
        column: The column of means.
        aside: How far the intervals stand beside their points, in points of type: those of several
            series would hide each other. `asides` has the values for a number of series.
    """
    from matplotlib.transforms import offset_copy

    shifted = offset_copy(ax.transData, figure_of(ax), x=aside, units="points")
    ax.vlines(x, means["low"], means["high"], look.colour, lw=1.1, alpha=0.75, zorder=2.1, transform=shifted)
    bounds = means[["low", "high"]].to_numpy(float)
    ax.update_datalim([(at, y) for at, pair in zip(x, bounds, strict=True) for y in pair if math.isfinite(y)])
    ax.autoscale_view()
    # A hollow marker is a ring, so that a filled one at the same place can be seen in it.
    marker: dict[str, Any] = (
        {"ms": 5.0, "mfc": look.colour} if look.is_filled else {"ms": 7.0, "mfc": "none", "mew": 1.3}
    )
    (line,) = ax.plot(
        x, means[column], color=look.colour, marker=look.marker, ls=look.stroke, lw=1.6, zorder=2.5, **marker
    )
    return line


def asides(count: int) -> list[float]:
    """Return how far the intervals of each of several series stand beside their points."""
    return [ASIDE_PT * (index - (count - 1) / 2) for index in range(count)]


def interval_lengths(means: pd.DataFrame, column: str = "mean") -> list[pd.Series]:
    """Return how far the intervals extend below their means, and above them."""
    return [means[column] - means["low"], means["high"] - means[column]]


def line_end(x: pd.Series, y: pd.Series, label: str, look: Look) -> LineEnd:
    """Return the last point of a line with its label."""
    return LineEnd(float(x.iloc[-1]), float(y.iloc[-1]), label, look.colour)


def cluster_of(rows: pd.DataFrame) -> str:
    """Return the column of what is asked about at every duration: worlds have a `seed`.

    Raises:
        InputError: The table has no column `video`.
    """
    check_columns(rows, ["video"])
    return "seed" if "seed" in rows.columns and rows["seed"].notna().all() else "video"


def interval_note(
    rows: pd.DataFrame, means: Sequence[pd.DataFrame], column: str = "mean", *, are_beside: bool = False
) -> str:
    """Return what the intervals of means are; that there are none, if each has a single video.

    Args:
        rows: The table that the means were made from.
        means: Tables of `statistics.accuracy`, one for each series.
        column: The column of means.
        are_beside: Whether the intervals stand beside their points.
    """
    import pandas as pd

    clusters = "worlds" if cluster_of(rows) == "seed" else "videos"
    every = pd.concat(means)
    known = every[every["low"].notna()]
    if not len(known):
        return f"a single {clusters[:-1]}, so no intervals"
    is_exact = ((known[column] == known["low"]) & (known[column] == 0)) | (
        (known[column] == known["high"]) & (known[column] == 1)
    )
    exact = "; exact binomial where all scores are the same" if is_exact.any() else ""
    beside = " beside their points" if are_beside else ""
    return f"95 % intervals{beside} (bootstrap over {clusters}{exact})"


def sizes_of(means: Sequence[pd.DataFrame]) -> list[int]:
    """Return the number of questions of each mean, of tables of `statistics.accuracy`."""
    return [int(size) for each in means for size in each["questions"]]


def duration_label(duration_s: float) -> str:
    """Return the axis label of a duration: 1 min, 10 h, 12.5 min."""
    return DURATION_LABELS.get(round(duration_s), f"{duration_s / 60:.3g} min")


def label_values(ax: Axes, column: str, *, is_log: bool = True) -> None:
    """Label the y axis and scale it: scores from 0 to 1, tokens logarithmic and in short numbers.

    Args:
        ax: Axes that hold the data.
        column: The column that the y axis shows.
        is_log: Whether tokens are on a logarithmic axis; ignored where the data reach 0.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_ylabel(COLUMN_LABELS.get(column, column))
    if column == "score":
        ax.set_ylim(-0.03, 1.03)
        return
    ax.yaxis.set_major_formatter(short_count)
    if not (is_log and "tokens" in column and ax.dataLim.y0 > 0):
        ax.set_ylim(bottom=0)
        return
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    wider = max(1.0, LEAST_SPAN * low / high) ** 0.5
    ax.set_ylim(low / wider, high * wider)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 200 else (1,)))
    ax.yaxis.set_major_formatter(short_count)
    ax.yaxis.set_minor_formatter(NullFormatter())
