"""Figures of tokens by role and of failure modes (`tokens_by_role`, `failure_modes`)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.evaluation.diagnosis import MODES
from atlaskit.evaluation.statistics import accuracy, compute
from atlaskit.viz.palette import INK, categorical
from atlaskit.viz.plots.series import check_rows, interval_note, interval_over, models_in, short_count, who_answered
from atlaskit.viz.plots.style import BESIDE, duration_label, sample, set_note, styled_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NAME_CHARS = 11
"""Longest line of a model's name below its bar, in characters."""


def tokens_by_role(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean tokens per question of Master and Workers against the duration of the video.

    There is one bar for each value of `duration_s` and each model: the share of the Master is at
    its bottom, and the interval is that of the sum. Below each are the mean number of rounds and of
    evidence frames (paper, Appendix C).

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
    by, is_split = ["duration_s", "model"], len(models_in(rows)) > 1
    rows = rows.reset_index(drop=True).assign(both=rows["master_tokens"].to_numpy() + rows["worker_tokens"].to_numpy())
    rows["model"] = rows["model"].astype(str) if "model" in rows else ""
    rows["bar"] = rows.groupby(by).ngroup()
    means = compute(rows, by)
    bounds = {"errorbar": interval_over(rows["video"], "tokens"), "err_kws": {"color": INK, "linewidth": 1.2}}
    with styled_axes(ax) as ax:
        shared = {"x": "bar", "order": range(len(means)), "width": 0.6, "saturation": 1, "ax": ax}
        sns.barplot(rows, y="both", color=categorical(4), label="Workers", **bounds, **shared)
        sns.barplot(rows, y="master_tokens", color=categorical(0), label="Master", errorbar=None, **shared)
        ax.set_xticks(range(len(means)), [_bar_label(row, is_split) for _, row in means.iterrows()])
        ax.set(xlabel="video duration", ylabel="tokens per question", ylim=(0, ax.get_ylim()[1] or 1.0))
        ax.yaxis.set_major_formatter(short_count)
        sns.move_legend(ax, **BESIDE)
        of_both = accuracy(rows, by, column="tokens")
        set_note(ax, who_answered(rows), sample(means["questions"], "a bar"), interval_note(rows, of_both))
    return ax


def failure_modes(
    failures: pd.DataFrame, questions: int, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw why answers were wrong: a bar per method, stacked by failure mode (paper, Appendix A).

    If no answer was wrong, there is no bar, and the figure says so.

    Args:
        failures: A table of `diagnosis.table`, one row per wrong answer.
        questions: Number of questions each method was asked; shares are of this number.
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
            f"Failures are drawn as shares of all questions: name at least one method, and pass at least as many "
            f"questions as one of them failed; got {questions!r:.40} questions and {len(methods)} methods."
        )
    with styled_axes(ax, (7.2, 1.5 + 0.42 * len(methods))) as ax:
        if any(totals):
            shown = failures[failures["who"].isin(methods)]
            shown = shown.assign(who=pd.Categorical(shown["who"], methods), share=100 / questions)
            found = {mode: categorical(index) for index, mode in enumerate(MODES) if (shown["mode"] == mode).any()}
            bars = {"hue": "mode", "hue_order": list(found)[::-1], "palette": found, "multiple": "stack", "alpha": 1}
            sns.histplot(shown, y="who", weights="share", **bars, shrink=0.6, edgecolor="white", linewidth=0.6, ax=ax)
            sns.move_legend(ax, **BESIDE, reverse=True)
            ax.set_xlim(0, min(100, ax.get_xlim()[1]))
        shares = [f"{100 * count / questions:.0f} % ({count} of {questions})" for count in totals]
        ax.set_yticks(range(len(methods)), [f"{each}\n{share}" for each, share in zip(methods, shares, strict=True)])
        ax.grid(axis="y", visible=False)
        ax.set(xlabel="wrong answers, % of the questions", ylabel="", ylim=(len(methods) - 0.4, -0.6))
        set_note(ax, sample([questions], "a bar" if len(methods) > 1 else ""), "" if any(totals) else "no wrong answer")
    return ax


def _bar_label(means: pd.Series, is_split: bool) -> str:
    """Return what stands below a bar; the model only if there are several."""
    name = textwrap.wrap(means["model"], NAME_CHARS) if is_split else []
    counts = [f"n = {means['questions']}", f"{means['rounds']:.1f} rounds", f"{means['evidence']:.1f} frames"]
    return "\n".join([duration_label(means["duration_s"]), *name, *counts])
