"""Figures of what answers cost, and of why they are wrong.

tokens_by_role                          tokens of Master and Workers
failure_modes                           why answers were wrong
pareto                                  score against cost, with the Pareto front of the methods
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.benchmarks.published import Published
from atlaskit.errors import InputError
from atlaskit.evaluation.diagnosis import MODES
from atlaskit.evaluation.intervals import check_columns
from atlaskit.evaluation.statistics import accuracy, compute
from atlaskit.viz.plots.series import (
    COLUMN_LABELS,
    check_rows,
    count_decades,
    interval_note,
    interval_over,
    method_look,
    models_in,
    short_count,
    who_answered,
)
from atlaskit.viz.plots.style import (
    BESIDE,
    INK,
    MUTED,
    REFERENCE_LINE,
    categorical,
    duration_label,
    sample,
    set_note,
    styled_axes,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BAR_NAME_CHARS = 11
"""Longest line of a model's name below its bar, in characters."""


def tokens_by_role(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean tokens per question of Master and Workers against the duration of the video.

    There is one bar for each value of `duration_s` and each model. Its lower part is the Master's
    tokens, and the interval is that of the sum. Below each bar are the mean numbers of rounds and
    of evidence frames (paper, Appendix C).

    Args:
        rows: A table of `evaluate`; a column `model` tells several models apart.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: A column that the figure needs is missing, or there are no rows.

    Examples:
        >>> ax = ak.plots.tokens_by_role(rows)
        >>> ax.get_xlabel()
        'video duration'
    """
    import seaborn as sns

    check_rows(rows, ["duration_s", "master_tokens", "worker_tokens"])
    by = ["duration_s", "model"]
    is_split = len(models_in(rows)) > 1
    rows = rows.reset_index(drop=True).assign(
        both=rows["master_tokens"].to_numpy() + rows["worker_tokens"].to_numpy()
    )
    rows["model"] = rows["model"].astype(str) if "model" in rows else ""
    rows["bar"] = rows.groupby(by).ngroup()
    means = compute(rows, by)
    error_bars = {
        "errorbar": interval_over(rows["video"], "tokens"),
        "err_kws": {"color": INK, "linewidth": 1.2},
    }
    with styled_axes(ax) as ax:
        shared = {"x": "bar", "order": range(len(means)), "width": 0.6, "saturation": 1, "ax": ax}
        # This bar is the sum of both, and the Master's bar covers its lower part.
        sns.barplot(rows, y="both", color=categorical(4), label="Workers", **error_bars, **shared)
        sns.barplot(
            rows, y="master_tokens", color=categorical(0), label="Master", errorbar=None, **shared
        )
        ax.set_xticks(range(len(means)), [_bar_label(row, is_split) for _, row in means.iterrows()])
        ax.set(
            xlabel="video duration", ylabel="tokens per question", ylim=(0, ax.get_ylim()[1] or 1.0)
        )
        ax.yaxis.set_major_formatter(short_count)
        sns.move_legend(ax, **BESIDE)
        means_of_both = accuracy(rows, by, column="tokens")
        set_note(
            ax,
            who_answered(rows),
            sample(means["questions"], "a bar"),
            interval_note(rows, means_of_both),
        )
    return ax


def failure_modes(
    failures: pd.DataFrame,
    questions: int,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw why answers were wrong: a bar per method, stacked by failure mode (paper, Appendix A).

    If no answer was wrong, there is no bar, and the figure says so.

    Args:
        failures: A table of `diagnosis.table`, one row per wrong answer.
        questions: Number of questions that each method was asked; bars are shares of it.
        names: Methods to draw, in this order, also those without a failure; None draws the methods
            in `failures`.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: There is no method to draw, or one has more failures than `questions`.

    Examples:
        >>> table = ak.diagnosis.table({"weak": ak.diagnosis.failures(cases[:6], vlm=weak)})
        >>> ax = ak.plots.failure_modes(table, questions=6, names=["weak"])
    """
    import pandas as pd
    import seaborn as sns

    methods = list(dict.fromkeys(failures["who"])) if names is None else list(names)
    totals = [int((failures["who"] == method).sum()) for method in methods]
    if not methods or questions < max(1, *totals):
        raise InputError(
            "Failures are drawn as shares of all questions: name at least one method, and pass "
            f"at least as many questions as one of them failed; got {questions!r:.40} questions "
            f"and {len(methods)} methods."
        )
    with styled_axes(ax, (7.2, 1.5 + 0.42 * len(methods))) as ax:
        if any(totals):
            shown = failures[failures["who"].isin(methods)]
            shown = shown.assign(who=pd.Categorical(shown["who"], methods), share=100 / questions)
            colours = dict[str, str]()
            for index, mode in enumerate(MODES):
                if (shown["mode"] == mode).any():
                    colours[mode] = categorical(index)
            bars = {
                "hue": "mode",
                "hue_order": list(colours)[::-1],
                "palette": colours,
                "multiple": "stack",
                "alpha": 1,
            }
            sns.histplot(
                shown,
                y="who",
                weights="share",
                **bars,
                shrink=0.6,
                edgecolor="white",
                linewidth=0.6,
                ax=ax,
            )
            sns.move_legend(ax, **BESIDE, reverse=True)
            ax.set_xlim(0, min(100, ax.get_xlim()[1]))
        labels = list[str]()
        for method, count in zip(methods, totals, strict=True):
            share = f"{100 * count / questions:.0f} %"
            labels.append(f"{method}\n{share} ({count} of {questions})")
        ax.set_yticks(range(len(methods)), labels)
        ax.grid(axis="y", visible=False)
        ax.set(
            xlabel="wrong answers, % of the questions", ylabel="", ylim=(len(methods) - 0.4, -0.6)
        )
        set_note(
            ax,
            sample([questions], "a bar" if len(methods) > 1 else ""),
            "" if any(totals) else "no wrong answer",
        )
    return ax


def _bar_label(means: pd.Series, is_split: bool) -> str:
    """Return the text below a bar, with the name of the model if there are several."""
    name = textwrap.wrap(means["model"], BAR_NAME_CHARS) if is_split else []
    counts = [
        f"n = {means['questions']}",
        f"{means['rounds']:.1f} rounds",
        f"{means['evidence']:.1f} frames",
    ]
    return "\n".join([duration_label(means["duration_s"]), *name, *counts])


SHARED = "a question, with its share of its video"
"""Words for a question whose cost includes a share of the cost of preparing its video."""
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
"""Line style of the Pareto front."""
LEGEND_CHARS = 32
"""Longest line of a published result's name in the legend, in characters."""


def pareto(
    compared: pd.DataFrame,
    cost: str = "tokens",
    *,
    column: str = "score",
    references: Sequence[Published] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores of methods against their costs, and the Pareto front.

    A method is on the front if no other scores as much for less, or more for as much. The axis of
    costs is logarithmic, unless a method costs nothing. The legend lists the methods by their
    scores, the best first. Published results are dotted lines across all costs, since they are of
    other models, and their costs are not known.

    Args:
        compared: A table of `statistics.comparison`, with one row per method.
        cost: The column of costs.
        column: The column of scores.
        references: Published results to draw, of `benchmarks.published`.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: A column is missing, there are no rows, or a method has several.

    Examples:
        >>> ax = ak.plots.pareto(ak.statistics.comparison({"video-rlm": rows}))
        >>> ax.get_xlabel()
        'tokens of a question, with its share of its video'
    """
    import seaborn as sns

    check_columns(compared, ["method", "questions", column, "low", "high", cost])
    if not len(compared) or compared["method"].duplicated().any():
        raise InputError(
            "The table must have one row a method: choose one duration, or compare without by=."
        )
    # The legend lists the methods in this order.
    compared = compared.sort_values(column, ascending=False, kind="stable")
    methods = compared["method"].tolist()
    colours = dict[str, str]()
    markers = dict[str, str]()
    for method in methods:
        look = method_look(method, methods, model_index=0)  # all points are drawn alike
        colours[method] = look.colour
        markers[method] = look.marker
    with styled_axes(ax, (7.2, 4.4)) as ax:
        _scale(ax, compared[cost])
        ax.vlines(
            compared[cost],
            compared["low"],
            compared["high"],
            list(colours.values()),
            lw=1.1,
            alpha=0.75,
        )
        shared: dict[str, Any] = {
            "hue": "method",
            "palette": colours,
            "style": "method",
            "markers": markers,
        }
        sns.scatterplot(compared, x=cost, y=column, **shared, s=55, edgecolor=INK, zorder=3, ax=ax)
        steps = front(compared[cost].tolist(), compared[column].tolist())
        steps.append((ax.get_xlim()[1], steps[-1][1]))  # the front goes on to the right edge
        x, y = zip(*steps, strict=True)
        sns.lineplot(
            x=x,
            y=y,
            estimator=None,
            drawstyle="steps-post",
            color=MUTED,
            linestyle=DASHES,
            zorder=1,
            ax=ax,
        )
        ax.set(ylabel=COLUMN_LABELS.get(column, column), ylim=(-0.03, 1.03))
        ax.set_xlabel(COST_LABELS.get(cost, cost.replace("_", " ")))
        sources = list(dict.fromkeys(each.source for each in references))
        for each in sorted(references, key=lambda each: -each.score):
            label = f"{each.system} [{sources.index(each.source) + 1}]: {each.score:.3f}"
            ax.axhline(
                each.score,
                color=REFERENCE_LINE,
                lw=0.8,
                ls=":",
                zorder=1,
                label=textwrap.fill(label, LEGEND_CHARS),
            )
        ax.legend(**BESIDE)
        parts = [
            sample(compared["questions"], "a method"),
            _interval_note(compared),
            "dashed: Pareto front",
        ]
        set_note(ax, *parts, _sources_note(sources))
    return ax


def front(costs: Sequence[float], scores: Sequence[float]) -> list[tuple[float, float]]:
    """Return the Pareto front of points (cost, score), in order of cost and so of score.

    A point is on the front if no other scores as much for less, or more for as much.
    """
    points = sorted(zip(costs, scores, strict=True), key=lambda point: (point[0], -point[1]))
    best = list[tuple[float, float]]()
    for cost, score in points:
        if not best or score > best[-1][1]:
            best.append((cost, score))
    return best


def _scale(ax: Axes, costs: pd.Series) -> None:
    """Scale the axis of costs: logarithmic if all costs are positive."""
    low = float(costs.min())
    high = float(costs.max())
    if low > 0:
        ax.set_xscale("log")
        ax.set_xlim(low / MARGIN, high * MARGIN)
        # Over more than 1.5 decades, labels at 2 and 5 would overlap.
        count_decades(ax.xaxis, is_fine=high / low < 30)
    else:
        ax.xaxis.set_major_formatter(short_count)
        ax.set_xlim(-0.05 * high, 1.1 * high or 1.0)


def _sources_note(sources: Sequence[str]) -> str:
    """Return a note on the dotted lines with their numbered sources; "" without sources."""
    if not sources:
        return ""
    listed = "; ".join(f"[{number}] {source}" for number, source in enumerate(sources, start=1))
    return f"dotted: published numbers of other models and settings: {listed}"


def _interval_note(compared: pd.DataFrame) -> str:
    """Return a note that says what the intervals are, or why there are none."""
    if compared["low"].isna().all():
        return "a single video, so no intervals"
    return f"{100 * compared.attrs.get('level', 0.95):g} % intervals (clustered by videos)"
