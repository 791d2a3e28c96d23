"""Figures of what questions cost, and of why answers are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.evaluation.diagnosis import MODES
from atlaskit.evaluation.statistics import compute
from atlaskit.viz.plots.style import STYLE, colour
from atlaskit.viz.plots.tables import duration_called

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROLES = {"master": "Master", "worker": "Workers"}


def tokens_by_role(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean tokens a question that Master and Workers use, a bar for each duration of the column `duration_s`
    (paper, Appendix C); above it, how many rounds the search took and how many frames it kept.

    Raises InputError for a table that lacks a column.
    """
    import matplotlib.pyplot as plt

    told = compute(rows, "duration_s")
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots()
        places, below = range(len(told)), 0 * told["tokens"]
        for number, (role, name) in enumerate(ROLES.items()):
            height = told[f"{role}_tokens"] / 1000
            ax.bar(places, height, 0.6, below, color=colour(number), label=name)
            below = below + height
        for place, (_, row) in enumerate(told.iterrows()):
            said = f"{row['rounds']:.1f} rounds\n{row['evidence']:.1f} frames kept"
            ax.annotate(said, (place, below[place]), (0, 3), textcoords="offset points", ha="center", fontsize=7)
        ax.set_ylim(0, 1.25 * below.max())
        ax.set_xticks(places, [duration_called(each) for each in told["duration_s"]])
        ax.set_xlabel("duration of the video")
        ax.set_ylabel("thousand tokens a question")
        ax.yaxis.set_major_formatter("{x:,.0f}")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def failure_modes(
    failures: pd.DataFrame, questions: int, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw why answers were wrong, a bar for each who failed: the share of all `questions` asked that failed in each
    mode (paper, Appendix A).

    `failures` is a table of `diagnosis.table`; `names` are those to draw, also who never failed. Raises InputError
    where there is nobody to draw, or fewer questions than failures of one.
    """
    import matplotlib.pyplot as plt

    shown = list(dict.fromkeys(failures["who"])) if names is None else list(names)
    counts = {
        mode: [int(((failures["who"] == who) & (failures["mode"] == mode)).sum()) for who in shown] for mode in MODES
    }
    ends = [sum(each) for each in zip(*counts.values(), strict=True)]
    if not shown or questions < max(1, *ends):
        raise InputError(f"Failures are shares of all questions that were asked, got {questions!r:.40} of them.")
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 1.4 + 0.45 * len(shown)))
        left = [0.0] * len(shown)
        for number, (mode, found) in enumerate(counts.items()):
            if any(found):
                shares = [100 * count / questions for count in found]
                ax.barh(shown, shares, 0.6, left, color=colour(number), label=mode)
                left = [sum(each) for each in zip(left, shares, strict=True)]
        for who, count, end in zip(shown, ends, left, strict=True):
            ax.barh(who, 0.0)  # so that who never failed has a place
            ax.annotate(
                f"{end:.0f} % ({count})", (end, who), (4, 0), textcoords="offset points", va="center", fontsize=8
            )
        ax.set_xlim(0, max(5.0, 1.25 * max(left)))
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
        ax.set_xlabel(f"wrong answers, % of {questions} questions")
        if any(ends):
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.05))
    return ax
