"""Figure of score against cost, with the Pareto front of the methods (`pareto`)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from atlaskit.benchmarks.published import Published
from atlaskit.errors import InputError
from atlaskit.evaluation.grouping import check_columns
from atlaskit.viz.palette import MUTED, REFERENCE_LINE
from atlaskit.viz.plots.labels import LineEnd, label_ends, readable, short_count
from atlaskit.viz.plots.places import Segment, label_points
from atlaskit.viz.plots.series import COLUMN_LABELS, method_look
from atlaskit.viz.plots.style import sample, set_note, styled_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHARED = "a question, with its share of its video"
COST_LABELS = {
    "tokens": f"tokens of {SHARED}",
    "calls": f"calls of {SHARED}",
    "usd": f"USD of {SHARED}",
    "question_tokens": "tokens of a question, without its video",
    "question_calls": "calls of a question, without its video",
    "question_usd": "USD of a question, without its video",
    "video_tokens": "tokens paid once for a video",
    "video_calls": "calls paid once for a video",
    "video_usd": "USD paid once for a video",
    "seconds": "seconds of a question",
}
"""Axis labels of the columns of costs."""
MARGIN = 1.6
"""How far a logarithmic axis of costs goes beyond the data, as a factor: room for labels."""


def pareto(
    compared: pd.DataFrame,
    cost: str = "tokens",
    *,
    column: str = "score",
    references: Sequence[Published] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw what methods score against what they cost, and the Pareto front.

    A method is on the front if no other one scores as much for less. The axis of costs is
    logarithmic, unless something costs nothing. Published numbers are dotted lines: they are of
    other models, and cost what nobody measured here.

    Args:
        compared: A table of `statistics.comparison`, one row a method.
        cost: The column of costs.
        column: The column that was compared.
        references: Published results to draw, of `benchmarks.published`.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: A column is missing, or a method has several rows.

    Examples:
        >>> ax = ak.plots.pareto(ak.statistics.comparison({"video-rlm": rows}))
        >>> ax.get_xlabel()
        'tokens of a question, with its share of its video'
    """
    check_columns(compared, ["method", "questions", column, "low", "high", cost])
    if not len(compared) or compared["method"].duplicated().any():
        raise InputError("The table must have one row a method: choose one duration, or compare without by=.")
    methods = compared["method"].tolist()
    looks = [method_look(method, methods, 0) for method in methods]
    with styled_axes(ax, (7.2, 4.4)) as ax:
        _scale(ax, compared[cost])
        ax.set_ylim(-0.03, 1.03)
        ax.set_ylabel(COLUMN_LABELS.get(column, column))
        ax.set_xlabel(COST_LABELS.get(cost, cost.replace("_", " ")))
        steps = _draw_front(ax, front(compared[cost].tolist(), compared[column].tolist()))
        ax.vlines(
            compared[cost], compared["low"], compared["high"], [look.colour for look in looks], lw=1.1, alpha=0.75
        )
        for x, y, look in zip(compared[cost], compared[column], looks, strict=True):
            ax.plot([x], [y], color=look.colour, marker=look.marker, mec=readable(look.colour), ms=6.5, ls="", zorder=3)
        edge = ax.get_xlim()[1]
        sources = list(dict.fromkeys(each.source for each in references))
        published = [_draw_reference(ax, each, edge, sources.index(each.source) + 1) for each in references]
        parts = [sample(compared["questions"], "a method"), _interval_note(compared), "dashed: Pareto front"]
        set_note(ax, *parts, _sources_note(sources))
        if published:
            label_ends([(ax, published)], ticks=ax)
        spots = list(zip(compared[cost], compared[column], strict=True))
        points = [LineEnd(*spot, name, look.colour) for spot, name, look in zip(spots, methods, looks, strict=True)]
        bounds = zip(compared[cost], compared["low"], compared["high"], strict=True)
        label_points(ax, points, [*steps, *(((x, low), (x, high)) for x, low, high in bounds)])
    return ax


def front(costs: Sequence[float], scores: Sequence[float]) -> list[tuple[float, float]]:
    """Return the points that no other one beats: none scores as much for less, or more for as much.

    They are in order of cost, and so of score.
    """
    found = list[tuple[float, float]]()
    for cost, score in sorted(zip(costs, scores, strict=True), key=lambda point: (point[0], -point[1])):
        if not found or score > found[-1][1]:
            found.append((cost, score))
    return found


def _scale(ax: Axes, costs: pd.Series) -> None:
    """Scale the axis of costs."""
    low, high = float(costs.min()), float(costs.max())
    if low > 0:
        ax.set_xscale("log")
        ax.set_xlim(low / MARGIN, high * MARGIN)
    else:
        ax.set_xlim(-0.05 * high, 1.1 * high or 1.0)
    ax.xaxis.set_major_formatter(short_count)
    if low > 0 and high / low < 30:
        from matplotlib.ticker import LogLocator, NullFormatter

        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_minor_formatter(NullFormatter())


def _draw_front(ax: Axes, points: Sequence[tuple[float, float]]) -> list[Segment]:
    """Draw the front as steps, from its cheapest point to the right edge of the axes."""
    (first, *others), edge = points, ax.get_xlim()[1]
    corners = [first]
    for x, y in others:
        corners += [(x, corners[-1][1]), (x, y)]
    corners.append((edge, corners[-1][1]))
    ax.plot(*zip(*corners, strict=True), color=MUTED, lw=1.2, ls=(0, (4, 2)), zorder=1)
    return list(pairwise(corners))


def _draw_reference(ax: Axes, published: Published, edge: float, number: int) -> LineEnd:
    """Draw a published number as a line; return its label, with the number of its source."""
    ax.axhline(published.score, color=REFERENCE_LINE, lw=0.8, ls=":", zorder=1)
    return LineEnd(edge, published.score, f"{published.system} [{number}]", REFERENCE_LINE)


def _sources_note(sources: Sequence[str]) -> str:
    """Return what the dotted lines are, and their numbered sources; empty for none."""
    if not sources:
        return ""
    listed = "; ".join(f"[{number}] {source}" for number, source in enumerate(sources, start=1))
    return f"dotted: published numbers of other models and settings: {listed}"


def _interval_note(compared: pd.DataFrame) -> str:
    """Return what the intervals are."""
    if compared["low"].isna().all():
        return "a single video, so no intervals"
    return f"{100 * compared.attrs.get('level', 0.95):g} % intervals (bootstrap over videos)"
