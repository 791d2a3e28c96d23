"""Series of a figure: how seaborn draws each method and model, and what their intervals are.

A table of several models has the column `model`. In a figure of several methods, colour and marker
tell the method, and the stroke of the line and the fill of the marker tell the model. In a figure
of one method, all of them tell the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import SHARES, check_columns, interval
from atlaskit.evaluation.tables import METHOD_ORDER
from atlaskit.viz.plots.style import MARKERS, categorical

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MODEL_COLOURS = (0, 5, 2, 3, 4, 7)
"""Indices of the colours of models, in order: the first is blue, the second vermilion."""
STROKES = ("-", (0, (4, 1.6)), (0, (1, 1.2)), "-.")
"""Line styles of models, in the order of use."""
COLUMN_LABELS = {
    "score": "mean score",
    "tokens": "tokens per question",
    "effective_tokens": "effective tokens per question",
}
"""Axis labels of columns."""
LEAST_SPAN = 12.0
"""A logarithmic axis is extended until its largest value is at least this many times its
smallest."""


@dataclass(frozen=True)
class Look:
    """How a series is drawn. Markers of the first model are filled, those of others are hollow."""

    colour: str
    marker: str
    stroke: Any = "-"
    is_filled: bool = True


def check_rows(rows: pd.DataFrame, columns: Sequence[str]) -> None:
    """Check that a table has the columns, and rows.

    Raises:
        InputError: A column is missing, or there are no rows.
    """
    check_columns(rows, columns)
    if not len(rows):
        raise InputError(
            "The table has no rows, so there is nothing to draw; check the filters that were "
            "applied."
        )


def models_in(rows: pd.DataFrame) -> list[str]:
    """Return the models of a table in their order; [""] if it has no column `model`."""
    if "model" in rows.columns:
        return list(dict.fromkeys(map(str, rows["model"])))
    return [""]


def who_answered(rows: pd.DataFrame) -> str:
    """Return who answered, for a figure's note: the models, and the method if there is only one."""
    models = " and ".join(models_in(rows))
    methods = list(dict.fromkeys(rows["method"])) if "method" in rows.columns else []
    method = methods[0] if len(methods) == 1 else ""
    return ": ".join(filter(None, (models, method)))


def model_look(index: int) -> Look:
    """Return the look of a model in a figure in which each series is a model."""
    colour = categorical(MODEL_COLOURS[index % len(MODEL_COLOURS)])
    return Look(colour, MARKERS[index % len(MARKERS)], STROKES[index % len(STROKES)], index == 0)


def method_look(method: str, methods: Sequence[str], model_index: int) -> Look:
    """Return the look of a method, with the stroke of a model.

    A method of METHOD_ORDER has the same colour and marker in every figure; others follow it.

    Args:
        method: The name of the method.
        methods: All methods of the figure.
        model_index: The index of the model among those of the figure.
    """
    known_methods = list(dict.fromkeys([*METHOD_ORDER, *methods]))
    turn, place = divmod(known_methods.index(method), len(MARKERS))
    # The ninth method has the colour of the first, but another marker.
    marker = MARKERS[(place + turn) % len(MARKERS)]
    return Look(categorical(place), marker, STROKES[model_index % len(STROKES)], model_index == 0)


def with_series(rows: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows with the column `series`, and the arguments of `seaborn.pointplot` for them.

    A series is a method and a model. The name of a series leaves out the method or the model if all
    series share it; a single series has the name of its method, or "mean" if the rows have no
    column `method`. The index of the rows becomes unique, as `interval_over` needs it.
    """
    from matplotlib.markers import MarkerStyle

    methods = list(dict.fromkeys(rows["method"])) if "method" in rows.columns else ["mean"]
    rows = rows.reset_index(drop=True).assign(series=methods[0])
    parts = list[str]()
    for column in ("method", "model"):
        if column in rows.columns and rows[column].nunique() > 1:
            parts.append(column)
    if parts:
        rows["series"] = rows[parts].astype(str).agg(", ".join, axis=1)
    models = models_in(rows)
    looks = dict[str, Look]()
    for _, row in rows.drop_duplicates("series").iterrows():
        index = models.index(str(row.get("model", "")))
        if len(methods) > 1:
            look = method_look(row["method"], methods, index)
        else:
            look = model_look(index)
        looks[row["series"]] = look
    colours = list[str]()
    markers = list[MarkerStyle]()
    strokes = list[Any]()
    for look in looks.values():
        colours.append(look.colour)
        markers.append(MarkerStyle(look.marker, fillstyle="full" if look.is_filled else "none"))
        strokes.append(look.stroke)
    return rows, {
        "hue": "series",
        "hue_order": list(looks),
        "palette": colours,
        "markers": markers,
        "linestyles": strokes,
        "err_kws": {"linewidth": 1.1, "alpha": 0.75},
    }


def draw_means(
    ax: Axes,
    rows: pd.DataFrame,
    axes: tuple[str, str],
    looks: dict[str, Any],
    *,
    apart: float = 0.2,
    **options: Any,
) -> None:
    """Draw the means of a table of `with_series`, each at its value of x, with their intervals.

    Means stand exactly at their x, but the intervals of several series stand side by side, so that
    they can be told apart.

    Args:
        ax: Axes to draw on.
        rows: The table.
        axes: The columns of x and of y.
        looks: How series are drawn: the arguments that `with_series` returned.
        apart: The width over which the intervals at one x are spread, as a share of the least
            distance between values of x.
        **options: Further arguments of `seaborn.pointplot`.
    """
    import seaborn as sns

    x, y = axes
    shared = {"x": x, "y": y, "native_scale": True, "ax": ax, **options}
    # At one x a world has one video, so videos are the clusters that `cluster_of` names.
    bars = interval_over(rows["video"], y)
    if len(looks["hue_order"]) == 1:
        sns.pointplot(rows, errorbar=bars, **shared, **looks)
        return
    sns.pointplot(rows, errorbar=None, **shared, **looks)
    only_intervals = {**looks, "markers": "", "linestyles": "none"}
    sns.pointplot(rows, errorbar=bars, dodge=apart, **shared, **only_intervals)


def interval_over(clusters: pd.Series, column: str) -> Callable[[pd.Series], tuple[float, float]]:
    """Return a function for seaborn's `errorbar` that computes the clustered interval of a mean.

    seaborn calls the function with the values of each point, whose index gives their clusters.

    Args:
        clusters: The cluster of each row of the table that is drawn, such as its video.
        column: The column whose mean is drawn.
    """

    def bounds(values: pd.Series) -> tuple[float, float]:
        names = clusters[values.index].astype(str).tolist()
        mean = interval(values.to_numpy(float), names, are_shares=column in SHARES)
        return mean.low, mean.high

    return bounds


def cluster_of(rows: pd.DataFrame) -> str:
    """Return the column whose values are the clusters: `seed` for worlds, otherwise `video`.

    The videos of one world at several durations share its seed.

    Raises:
        InputError: The table has no column `video`.
    """
    check_columns(rows, ["video"])
    if "seed" in rows.columns and rows["seed"].notna().all():
        return "seed"
    return "video"


def interval_note(rows: pd.DataFrame, means: pd.DataFrame, column: str = "mean") -> str:
    """Return a note that says what the intervals of means are, or why there are none.

    Args:
        rows: The table that the means were made from.
        means: A table of `statistics.accuracy`.
        column: The column of means.
    """
    cluster = "world" if cluster_of(rows) == "seed" else "video"
    known = means[means["low"].notna()]
    if not len(known):
        return f"a single {cluster}, so no intervals"
    is_exact = ((known[column] == known["low"]) & (known[column] == 0)) | (
        (known[column] == known["high"]) & (known[column] == 1)
    )
    exact = ""
    if is_exact.any():
        exact = "; exact binomial where all scores are the same"
    return f"95 % intervals (clustered by {cluster}s{exact})"


def placing_note(means: pd.DataFrame, names: Sequence[object]) -> str:
    """Return a note that says where the intervals of several series stand; "" without intervals.

    Args:
        means: A table of `statistics.accuracy`.
        names: The names of the series.
    """
    if len(names) > 1 and means["low"].notna().any():
        return "intervals stand side by side"
    return ""


def short_count(value: float, _position: object = None) -> str:
    """Return a number in short form, as on an axis: 0, 0.5, 950, 1.5 K, 148 K, 2.2 M."""
    for unit, size in (("M", 1e6), ("K", 1e3)):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def label_values(ax: Axes, column: str, *, is_log: bool = True) -> None:
    """Label and scale the y axis: from 0 to 1 for scores, logarithmic for tokens, else from 0.

    Call it after seaborn has drawn: on a logarithmic axis, seaborn would draw geometric means.

    Args:
        ax: Axes that hold the data.
        column: The column that the y axis shows.
        is_log: Whether tokens are on a logarithmic axis; ignored where the data reach 0.
    """
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
    margin = max(1.0, LEAST_SPAN * low / high) ** 0.5
    ax.set_ylim(low / margin, high * margin)
    # Over more than some two decades, labels at 2 and 5 would overlap.
    count_decades(ax.yaxis, is_fine=high / low < 200)


def count_decades(axis: Axis, *, is_fine: bool = True) -> None:
    """Label a logarithmic axis in short numbers: at 1, 2 and 5 of each decade, or only at 1."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if is_fine else (1,)))
    axis.set_major_formatter(short_count)
    axis.set_minor_formatter(NullFormatter())
