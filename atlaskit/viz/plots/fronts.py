"""Figure of score against cost, with the Pareto front of the methods (`pareto`)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.benchmarks.published import Published
from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import check_columns
from atlaskit.viz.palette import INK, MUTED, REFERENCE_LINE
from atlaskit.viz.plots.series import COLUMN_LABELS, count_decades, method_look, short_count
from atlaskit.viz.plots.style import BESIDE, sample, set_note, styled_axes

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
"""How far a logarithmic axis of costs goes beyond the data, as a factor."""
DASHES = (0, (4, 2))
"""Stroke of the front."""
NAME_CHARS = 32
"""Longest line of a published result's name in the legend, in characters."""


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
    logarithmic, unless something costs nothing. The legend lists the methods by their scores, the
    best first. Published numbers are dotted lines: they are of other models, and cost what nobody
    measured here.

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
    import seaborn as sns

    check_columns(compared, ["method", "questions", column, "low", "high", cost])
    if not len(compared) or compared["method"].duplicated().any():
        raise InputError("The table must have one row a method: choose one duration, or compare without by=.")
    compared = compared.sort_values(column, ascending=False, kind="stable")  # as the legend lists them
    looks = {each: method_look(each, compared["method"].tolist(), 0) for each in compared["method"]}
    colours, markers = ({name: getattr(look, of) for name, look in looks.items()} for of in ("colour", "marker"))
    with styled_axes(ax, (7.2, 4.4)) as ax:
        _scale(ax, compared[cost])
        ax.vlines(compared[cost], compared["low"], compared["high"], list(colours.values()), lw=1.1, alpha=0.75)
        shared: dict[str, Any] = {"hue": "method", "palette": colours, "style": "method", "markers": markers}
        sns.scatterplot(compared, x=cost, y=column, **shared, s=55, edgecolor=INK, zorder=3, ax=ax)
        steps, right = front(compared[cost].tolist(), compared[column].tolist()), ax.get_xlim()[1]
        x, y = zip(*steps, (right, steps[-1][1]), strict=True)
        sns.lineplot(x=x, y=y, estimator=None, drawstyle="steps-post", color=MUTED, linestyle=DASHES, zorder=1, ax=ax)
        ax.set(ylabel=COLUMN_LABELS.get(column, column), ylim=(-0.03, 1.03))
        ax.set_xlabel(COST_LABELS.get(cost, cost.replace("_", " ")))
        sources = list(dict.fromkeys(each.source for each in references))
        for each in sorted(references, key=lambda each: -each.score):
            label = f"{each.system} [{sources.index(each.source) + 1}]: {each.score:.3f}"
            ax.axhline(
                each.score, color=REFERENCE_LINE, lw=0.8, ls=":", zorder=1, label=textwrap.fill(label, NAME_CHARS)
            )
        ax.legend(**BESIDE)
        parts = [sample(compared["questions"], "a method"), _interval_note(compared), "dashed: Pareto front"]
        set_note(ax, *parts, _sources_note(sources))
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
        count_decades(ax.xaxis, is_fine=high / low < 30)
    else:
        ax.xaxis.set_major_formatter(short_count)
        ax.set_xlim(-0.05 * high, 1.1 * high or 1.0)


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
    return f"{100 * compared.attrs.get('level', 0.95):g} % intervals (clustered by videos)"
