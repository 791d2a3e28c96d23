"""Figures of tokens by role and of failure modes (`tokens_by_role`, `failure_modes`)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlaskit.errors import InputError
from atlaskit.evaluation.diagnosis import MODES
from atlaskit.evaluation.statistics import accuracy, compute
from atlaskit.viz.palette import INK, categorical
from atlaskit.viz.plots.groups import Bars
from atlaskit.viz.plots.labels import readable, short_count
from atlaskit.viz.plots.series import by_model, duration_label, interval_lengths, interval_note, models_in, only_model
from atlaskit.viz.plots.style import NOTE_PT, legend_below, sample, set_note, styled_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ROLES = {"master": "Master", "worker": "Workers"}
HEADROOM = 1.35
"""Height of the axis of values as a multiple of the highest bar: room for the text at its end."""


def tokens_by_role(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the mean tokens per question of Master and Workers against the duration of the video.

    Bars are stacked by role, one bar for each value of `duration_s` and each model; the interval is
    that of the sum. Above each are the mean number of rounds and of evidence frames (paper,
    Appendix C).

    Args:
        rows: A table of `evaluate`; a column `model` tells several models apart.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: A column that the figure needs is missing.

    Examples:
        >>> ax = ak.plots.tokens_by_role(rows)
        >>> ax.get_xlabel()
        'video duration'
    """
    durations = sorted(rows["duration_s"].unique()) if "duration_s" in rows else []
    bars = Bars([duration_label(each) for each in durations], models_in(rows))
    notes: dict[tuple[int, str], str] = {}
    drawn = []
    with styled_axes(ax) as ax:
        for model, asked in by_model(rows):
            means, totals = compute(asked, "duration_s"), accuracy(asked, "duration_s", column="tokens")
            groups = [durations.index(duration_s) for duration_s in means["duration_s"]]
            _draw_roles(ax, [bars.x(group, model) for group in groups], means, totals, bars.width)
            notes |= {(group, model): f"n = {n}" for group, n in zip(groups, means["questions"], strict=True)}
            drawn.append(totals)
        bars.label(ax, notes)
        highest = max(float(each[["mean", "high"]].max().max()) for each in drawn)
        ax.set_ylim(0, HEADROOM * highest or 1.0)
        ax.set_xlabel("video duration")
        ax.set_ylabel("tokens per question")
        ax.yaxis.set_major_formatter(short_count)
        lines = 1 if len(bars.models) == 1 else 4
        legend_below(ax, _first_of_each(ax), away_in=0.42 + 0.13 * lines)
        sizes = [n for each in drawn for n in each["questions"]]
        set_note(ax, only_model(rows), sample(sizes, "a bar"), interval_note(rows, drawn))
    return ax


def failure_modes(
    failures: pd.DataFrame, questions: int, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw why answers were wrong: a bar per method, stacked by failure mode (paper, Appendix A).

    If no answer was wrong, the figure says so in words.

    Args:
        failures: A table of `diagnosis.table`, one row per wrong answer.
        questions: Number of questions each method was asked; shares are of this number.
        names: Methods to draw, in this order, also those without a failure; None draws the methods
            in `failures`.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: There is no method to draw, or one has more failures than `questions`.

    Examples:
        >>> weak = ak.Oracle(world, miss=0.9, seed=1)
        >>> table = ak.diagnosis.table({"weak": ak.diagnosis.failures(cases[:6], vlm=weak)})
        >>> ax = ak.plots.failure_modes(table, questions=6, names=["weak"])
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
    with styled_axes(ax, (7.2, 1.7 + 0.42 * len(methods))) as ax:
        if any(totals):
            _draw_modes(ax, methods, counts, totals, questions)
        else:
            _say_none(ax, methods, questions)
        set_note(ax, sample([questions], "a bar" if any(totals) and len(methods) > 1 else ""))
    return ax


def _say_none(ax: Axes, methods: Sequence[str], questions: int) -> None:
    """Say in place of bars that no method gave a wrong answer."""
    asked = f"all {questions} questions" if questions > 1 else "the one question"
    text = f"No wrong answer: {', '.join(methods)} answered {asked} correctly{' each' if len(methods) > 1 else ''}."
    ax.set_axis_off()
    middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": ax.transAxes}
    ax.text(0.5, 0.5, "\n".join(textwrap.wrap(text, 60)), fontsize=11, color=INK, parse_math=False, **middle)


def _draw_modes(
    ax: Axes, methods: Sequence[str], counts: dict[str, list[int]], totals: Sequence[int], questions: int
) -> None:
    """Draw the bars of failures, each with the number and the share of questions at its end."""
    left, rows = [0.0] * len(methods), range(len(methods))
    for index, (mode, failed) in enumerate(counts.items()):
        if any(failed):
            shares = [100 * count / questions for count in failed]
            ax.barh(rows, shares, 0.6, left, color=categorical(index), edgecolor="white", lw=0.6, label=mode)
            left = [start + share for start, share in zip(left, shares, strict=True)]
    for row, count, end in zip(rows, totals, left, strict=True):
        label = f"{end:.0f} % ({count} of {questions})"
        ax.annotate(label, (end, row), (4, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set_yticks(rows, methods, parse_math=False)
    ax.set_xlim(0, max(5.0, HEADROOM * max(left)))
    ax.set_xticks([tick for tick in ax.get_xticks() if tick <= min(100, ax.get_xlim()[1])])
    ax.set_ylim(len(methods) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("wrong answers, % of the questions")
    legend_below(ax, ax.get_legend_handles_labels()[0])


def _draw_roles(ax: Axes, x: Sequence[float], means: pd.DataFrame, totals: pd.DataFrame, width: float) -> None:
    """Draw the bars of one model, with the interval of their height and a note above it."""
    bottom = 0 * means["tokens"]
    for index, (role, label) in enumerate(ROLES.items()):
        height = means[f"{role}_tokens"].fillna(0)
        ax.bar(x, height, width, bottom, color=categorical(4 * index), label=label)
        bottom = bottom + height
    ax.errorbar(x, totals["mean"], interval_lengths(totals), fmt="none", ecolor=INK, elinewidth=1.2)
    tops = totals[["mean", "high"]].max(axis=1)
    for place, top, (_, row) in zip(x, tops, means.iterrows(), strict=True):
        note = f"{row['rounds']:.1f} rounds\n{row['evidence']:.1f} frames"
        look: dict[str, Any] = {"ha": "center", "fontsize": NOTE_PT, "color": readable(INK)}
        ax.annotate(note, (place, top), (0, 3), textcoords="offset points", **look)


def _first_of_each(ax: Axes) -> list[Artist]:
    """Return a handle for each label of a legend, without the repetitions of further models."""
    handles, labels = ax.get_legend_handles_labels()
    return list(dict(zip(reversed(labels), reversed(handles), strict=True)).values())[::-1]
