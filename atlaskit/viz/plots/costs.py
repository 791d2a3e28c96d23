"""Figures of tokens by role and of failure modes (`tokens_by_role`, `failure_modes`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.evaluation.diagnosis import MODES
from atlaskit.evaluation.statistics import compute
from atlaskit.viz.palette import categorical
from atlaskit.viz.plots.style import styled_axes
from atlaskit.viz.plots.tables import duration_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROLES = {"master": "Master", "worker": "Workers"}


def tokens_by_role(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean tokens per question of Master and Workers against the duration of the video.

    Bars are stacked by role, one bar for each value of `duration_s`; above each are the mean number
    of rounds and of evidence frames (paper, Appendix C).

    Raises:
        InputError: A column that the figure needs is missing.
    """
    means = compute(rows, "duration_s")
    with styled_axes(ax) as ax:
        positions, bottom = range(len(means)), 0 * means["tokens"]
        for index, (role, label) in enumerate(ROLES.items()):
            height = means[f"{role}_tokens"] / 1000
            ax.bar(positions, height, 0.6, bottom, color=categorical(index), label=label)
            bottom = bottom + height
        for position, (_, row) in enumerate(means.iterrows()):
            note = f"{row['rounds']:.1f} rounds\n{row['evidence']:.1f} evidence frames"
            at = (position, bottom[position])
            ax.annotate(note, at, (0, 3), textcoords="offset points", ha="center", fontsize=7)
        ax.set_ylim(0, 1.25 * bottom.max())
        ax.set_xticks(positions, [duration_label(each) for each in means["duration_s"]])
        ax.set_xlabel("video duration")
        ax.set_ylabel("thousand tokens per question")
        ax.yaxis.set_major_formatter("{x:,.0f}")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def failure_modes(
    failures: pd.DataFrame, questions: int, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw why answers were wrong: a bar per method, stacked by failure mode (paper, Appendix A).

    Args:
        failures: A table of `diagnosis.table`, one row per wrong answer.
        questions: Number of questions each method was asked; shares are of this number.
        names: Methods to draw, in this order, also those without a failure; None draws the methods
            in `failures`.

    Raises:
        InputError: There is no method to draw, or one has more failures than `questions`.
    """
    methods = list(dict.fromkeys(failures["who"])) if names is None else list(names)
    counts = {
        mode: [int(((failures["who"] == method) & (failures["mode"] == mode)).sum()) for method in methods]
        for mode in MODES
    }
    totals = [sum(column) for column in zip(*counts.values(), strict=True)]
    if not methods or questions < max(1, *totals):
        raise InputError(
            f"Failures are drawn as shares of all questions: name at least one method, and pass at least as many "
            f"questions as one of them failed; got {questions!r:.40} questions and {len(methods)} methods."
        )
    with styled_axes(ax, (6.4, 1.4 + 0.45 * len(methods))) as ax:
        left = [0.0] * len(methods)
        for index, (mode, failed) in enumerate(counts.items()):
            if any(failed):
                shares = [100 * count / questions for count in failed]
                ax.barh(methods, shares, 0.6, left, color=categorical(index), label=mode)
                left = [start + share for start, share in zip(left, shares, strict=True)]
        for method, count, end in zip(methods, totals, left, strict=True):
            ax.barh(method, 0.0)  # gives a method without failures its row
            label = f"{end:.0f} % ({count})"
            ax.annotate(label, (end, method), (4, 0), textcoords="offset points", va="center", fontsize=8)
        ax.set_xlim(0, max(5.0, 1.25 * max(left)))
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
        ax.set_xlabel(f"wrong answers, % of {questions} questions")
        if any(totals):
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.05))
    return ax
