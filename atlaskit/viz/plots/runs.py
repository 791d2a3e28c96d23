"""Figures of one run, made from its result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from atlaskit.environment.grid import Grid
from atlaskit.environment.notation import clock
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.viz.palette import DEAD, FOUND, SCORED, TRUTH, WAS_DEAD
from atlaskit.viz.plots.style import STYLE, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

MOST_ACTIONS = 5
"""Of a worker, that are told one by one."""
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
    with plt.style.context(STYLE):
        if ax is None:
            row_height = 0.3 if len(reports) <= WORDY_ROWS else 0.14
            _, ax = plt.subplots(figsize=(7.2, 1.1 + row_height * (len(reports) + 2)))
        labels = ["evidence", *(f"round {r.round}, worker {r.worker}" for r in reports), "ruled out"]
        for start_s, end_s in result.question.positions_s:
            ax.axvspan(start_s, end_s, color=TRUTH, alpha=0.3, lw=0, label="where the truth lies")
        _legend_below(ax, ax.patches[:1])
        kept = ((item.timestamp_s, item.label) for item in result.evidence)
        for times_s, label in _neighbours(kept, closer_s=0.02 * duration_s):
            ax.plot(times_s, [0] * len(times_s), "o", ms=5, color="black")
            middle_s = sum(times_s) / len(times_s)
            ax.annotate(label, (middle_s, 0), (0, 5), textcoords="offset points", ha="center", fontsize=8)
        for row, report in enumerate(reports, start=1):
            _draw_visit(ax, row, report, result, wordy=len(reports) <= WORDY_ROWS)
        for start_s, end_s in result.dead_zones.intervals:
            ax.barh(len(reports) + 1, end_s - start_s, left=start_s, height=0.6, color=DEAD)
        ax.set_yticks(range(len(labels)), labels, fontsize=8 if len(reports) <= WORDY_ROWS else 5)
        ax.set_ylim(len(labels) - 0.4, -0.9)
        _draw_timeline(ax, duration_s)
        ax.set_title(result.question.text, parse_math=False, wrap=True)
    return ax


def rounds(result: Result, ax: Axes | None = None) -> Axes:
    """Draw how a run went, round by round: a row for each round, over the whole video's timeline.

    At the top of a row are the cells that the Master's probe scored for it, the higher the better; below them the
    regions that workers went to: blue where they kept frames, with the labels of those, dark where they ruled all of
    it out, white where neither is so. What is ruled out stays grey in the rows that follow. On the right is what the
    review said. The known truth is green.
    """
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    duration_s = result.sheet.video.duration_s
    with plt.style.context(STYLE):
        if ax is None:
            row_height = 0.42 if result.rounds <= WORDY_ROWS else 0.14
            _, ax = plt.subplots(figsize=(7.2, 1.2 + row_height * max(1, result.rounds)))
        for start_s, end_s in result.question.positions_s:
            ax.axvspan(start_s, end_s, color=TRUTH, alpha=0.3, lw=0)
        for number in range(1, result.rounds + 1):
            _draw_round(ax, number, result)
        said = [_outcome(number, result) for number in range(1, result.rounds + 1)]
        size = 8 if result.rounds <= WORDY_ROWS else 5
        ax.set_yticks(range(1, result.rounds + 1), map(str, range(1, result.rounds + 1)), fontsize=size)
        right = ax.secondary_yaxis("right")
        right.set_yticks(range(1, result.rounds + 1), said, fontsize=size)
        right.spines["right"].set_visible(False)
        for side in (ax, right):
            side.tick_params(axis="y", length=0)
        ax.set_ylim(result.rounds + 0.55, 0.45)
        ax.set_ylabel("round")
        ax.annotate(
            "frames kept · review",
            (1, 1),
            (4, 4),
            xycoords="axes fraction",
            textcoords="offset points",
            va="bottom",
            fontsize=8,
            color="0.35",
        )
        _draw_timeline(ax, duration_s)
        named = {
            "scored by the probe": SCORED,
            "visited: frames kept": FOUND,
            "visited: ruled out": DEAD,
            "ruled out before": WAS_DEAD,
        }
        swatches = [Patch(color=colour, label=label) for label, colour in named.items()]
        truth = [Patch(color=TRUTH, alpha=0.3, lw=0, label="truth")] if result.question.positions_s else []
        _legend_below(ax, swatches + truth)
        ax.set_title(result.question.text, parse_math=False, wrap=True)
    return ax


def _neighbours(labels: Iterable[tuple[float, str]], closer_s: float) -> list[tuple[list[float], str]]:
    """Group labels that would be written over each other: their times, and one label for all of them."""
    groups: list[tuple[list[float], str]] = []
    for time_s, label in sorted(labels):
        if groups and time_s - groups[-1][0][-1] < closer_s:
            times_s, before = groups.pop()
            groups.append(([*times_s, time_s], f"{before} {label}"))
        else:
            groups.append(([time_s], label))
    return groups


def _draw_timeline(ax: Axes, duration_s: float) -> None:
    ax.set_xlim(0, duration_s)
    step_s = next((step for step in TICKS_S if duration_s / step <= 12), TICKS_S[-1])
    ticks = range(0, int(duration_s) + 1, step_s)
    ax.set_xticks(ticks, [clock(tick).removesuffix(".0") for tick in ticks])
    ax.set_xlabel(f"time in the video ({'h:' if duration_s > 3600 else ''}min:s)")
    ax.grid(axis="y", visible=False)


def _legend_below(ax: Axes, handles: Sequence[Patch]) -> None:
    """Explain colours below the axis' own label, wherever the axes lie."""
    from matplotlib.transforms import offset_copy

    below = offset_copy(ax.transAxes, ax.get_figure(root=True), y=-0.42, units="inches")
    if handles:
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=below,
            ncols=len(handles),
            columnspacing=1.2,
            handlelength=1.4,
        )


def _draw_round(ax: Axes, number: int, result: Result) -> None:
    """Draw one row of `rounds`: scores, visits, and what is ruled out from then on."""
    duration_s = result.sheet.video.duration_s
    ax.axhline(number + 0.5, color="#e6e8ec", lw=0.7, zorder=0.5)
    cells = Grid(0.0, duration_s, result.settings["k"]).cells
    for event in probes_for(number, result):
        for index, score in event["scores"].items():
            cell, height = cells[int(index)], 0.06 + 0.22 * score
            ax.bar(cell.start_s, height, cell.span_s, number - 0.12 - height, align="edge", color=SCORED, lw=0)
    labels: list[tuple[float, str]] = []
    reports = [event for event in result.trace.of("report") if event.round == number]
    for report in reports:
        start_s, end_s = report["interval_s"]
        ink = FOUND if report["kept"] else DEAD if report["dead_s"] else "white"
        is_wide = end_s - start_s > 0.005 * duration_s
        edge = DEAD if ink == "white" else "white" if is_wide else ink  # so that neighbours are told apart
        ax.barh(number + 0.03, end_s - start_s, 0.24, start_s, color=ink, edgecolor=edge, lw=0.6)
        labels += [(item["timestamp_s"], item["label"]) for item in report["kept"]]
    for times_s, label in _neighbours(labels, closer_s=0.03 * duration_s):
        middle_s = sum(times_s) / len(times_s)
        ax.text(middle_s, number + 0.18, label, ha="center", va="top", fontsize=7)
    reviews = [event for event in result.trace.of("review") if event.round == number]
    for start_s, end_s in (span for event in (*reports, *reviews) for span in event["dead_s"]):
        left = result.rounds - number
        ax.bar(start_s, left, end_s - start_s, number + 0.5, align="edge", color=WAS_DEAD, lw=0, zorder=0.4)


def probes_for(number: int, result: Result) -> list[Event]:
    """Return the probes whose scores came in for a round: made in it, or ahead, in the round before."""
    return [event for event in result.trace.of("probe") if event.round + event["ahead"] == number]


def _outcome(number: int, result: Result) -> str:
    """Say how many frames were in the scratchpad after a round, and what came of them."""
    before = [event for event in result.trace if event.round <= number]
    kept = {item["label"] for event in before if event.kind == "report" for item in event["kept"]}
    kept -= {label for event in before if event.kind == "review" for label in event["erased"]}
    judged = [event for event in before if event.kind == "review" and event.round == number]
    said = "nothing new" if not judged else "sufficient" if judged[-1]["sufficient"] else "goes on"
    return f"{len(kept)} · {said}"


def _told(actions: Sequence[str]) -> str:
    """Tell a worker's actions one after another; of more than a row has room for, how many there were of each, and the
    last."""
    if len(actions) <= MOST_ACTIONS:
        return " → ".join(actions)
    counts = Counter(actions[:-1])
    return f"{', '.join(f'{count} {name}' for name, count in counts.items())} → {actions[-1]}"


def _draw_visit(ax: Axes, row: int, report: Event, result: Result, wordy: bool) -> None:
    start_s, end_s = report["interval_s"]
    worker = report.worker or 0
    steps = [s for s in result.trace.of("step") if (s.round, s.worker) == (report.round, report.worker)]
    ax.barh(row, end_s - start_s, left=start_s, height=0.6, color=colour(worker))
    for item in (item for step in steps for item in step["found"]):
        ax.plot(item["timestamp_s"], row, "o", ms=3.5, color="black")
    if not wordy:
        return
    words = _told([step["action"]["name"] for step in steps]) or report["stop"]
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
