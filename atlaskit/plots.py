"""Figures made from results and tables. Nothing here calls a model or decodes a frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.events import Event
from atlaskit.render import clock
from atlaskit.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE = Path(__file__).with_name("figures.mplstyle")
TRUTH, DEAD = "#009E73", "#30343b"
"""Colours of the known truth and of dead zones."""
WORDY_ROWS = 24
"""A path with more rows is drawn lower, and without words."""
TICKS_S = (1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)


def path(result: Result, ax: Axes | None = None) -> Axes:
    """Draw where a run looked: a row for each region that a worker visited, over the whole video's timeline.

    A row's bar is the region, its dots are the frames kept as evidence, its words the worker's actions. The top row
    has the evidence by label, with the known truth behind it in green where there is one; the bottom row has the
    dead zones.
    """
    import matplotlib.pyplot as plt

    reports, duration_s = result.trace.of("report"), result.sheet.video.duration_s
    with plt.style.context(str(STYLE)):
        if ax is None:
            row_height = 0.3 if len(reports) <= WORDY_ROWS else 0.14
            _, ax = plt.subplots(figsize=(7.2, 1.1 + row_height * (len(reports) + 2)))
        labels = ["evidence", *(f"round {r.round}, worker {r.worker}" for r in reports), "ruled out"]
        for start_s, end_s in result.question.positions_s:
            ax.axvspan(start_s, end_s, color=TRUTH, alpha=0.3, lw=0, label="where the truth lies")
        if result.question.positions_s:
            ax.legend(handles=ax.patches[:1], loc="lower right")
        for times_s, label in _neighbours(result, closer_s=0.02 * duration_s):
            ax.plot(times_s, [0] * len(times_s), "o", ms=5, color="black")
            middle_s = sum(times_s) / len(times_s)
            ax.annotate(label, (middle_s, 0), (0, 5), textcoords="offset points", ha="center", fontsize=8)
        for row, report in enumerate(reports, start=1):
            _draw_visit(ax, row, report, result, wordy=len(reports) <= WORDY_ROWS)
        for start_s, end_s in result.dead_zones.intervals:
            ax.barh(len(reports) + 1, end_s - start_s, left=start_s, height=0.6, color=DEAD)
        ax.set_yticks(range(len(labels)), labels, fontsize=8 if len(reports) <= WORDY_ROWS else 5)
        ax.set_ylim(len(labels) - 0.4, -0.9)
        ax.set_xlim(0, duration_s)
        step_s = next((step for step in TICKS_S if duration_s / step <= 12), TICKS_S[-1])
        ticks = range(0, int(duration_s) + 1, step_s)
        ax.set_xticks(ticks, [clock(tick).removesuffix(".0") for tick in ticks])
        ax.set_xlabel("time in the video (min:s)")
        ax.set_title(result.question.text, parse_math=False, wrap=True)
        ax.grid(axis="y", visible=False)
    return ax


def save(ax: Axes, directory: str | Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG; return both paths."""
    import matplotlib.pyplot as plt

    paths = [Path(directory) / f"{name}.{form}" for form in ("png", "svg")]
    figure = ax.get_figure(root=True)
    if figure is None:
        raise InputError("These axes are in no figure, so there is nothing to write.")
    with plt.style.context(str(STYLE)):
        for file in paths:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
    return paths


def _neighbours(result: Result, closer_s: float) -> list[tuple[list[float], str]]:
    """Group evidence whose labels would be written over each other: their times, and one label for all of them."""
    groups: list[tuple[list[float], str]] = []
    for item in sorted(result.evidence, key=lambda item: item.timestamp_s):
        if groups and item.timestamp_s - groups[-1][0][-1] < closer_s:
            times_s, label = groups.pop()
            groups.append(([*times_s, item.timestamp_s], f"{label} {item.label}"))
        else:
            groups.append(([item.timestamp_s], item.label))
    return groups


def _draw_visit(ax: Axes, row: int, report: Event, result: Result, wordy: bool) -> None:
    start_s, end_s = report["interval_s"]
    worker = report.worker or 0
    steps = [s for s in result.trace.of("step") if (s.round, s.worker) == (report.round, report.worker)]
    ax.barh(row, end_s - start_s, left=start_s, height=0.6, color=f"C{worker % 8}")
    for item in (item for step in steps for item in step["found"]):
        ax.plot(item["timestamp_s"], row, "o", ms=3.5, color="black")
    if not wordy:
        return
    words = " → ".join(step["action"]["name"] for step in steps) or report["stop"]
    late = start_s > 0.55 * result.sheet.video.duration_s
    ax.annotate(
        words,
        (start_s if late else end_s, row),
        (-4 if late else 4, 0),
        textcoords="offset points",
        ha="right" if late else "left",
        va="center",
        fontsize=7,
    )
