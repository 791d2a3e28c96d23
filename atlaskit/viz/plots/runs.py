"""Figures of one run: path, rounds (each visit's actions in short), and what was explored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from atlaskit.environment.grid import Grid, clock
from atlaskit.errors import printable
from atlaskit.runs.events import Event, Probe, Report, Review, Step
from atlaskit.runs.result import Result
from atlaskit.viz.html.timeline import tick_times
from atlaskit.viz.palette import DEAD, DEAD_BEFORE, FOUND, GRID_LINE, INK, REFERENCE_LINE, SCORED, TRUTH, categorical
from atlaskit.viz.plots.style import SMALL_PT, figure_of, set_title, styled_axes

E = TypeVar("E", bound=Event)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

WIDTH_IN = 7.2
"""Width of both figures, in inches."""
MAX_ACTIONS = 5
"""Most actions of a worker that are listed one by one; of more, only their counts are."""
MAX_LABELLED_ROWS = 24
"""Most rows of a figure in full size; with more, rows are lower and carry no text of their own."""
MAX_COLUMNS = 5
"""Most columns of a legend."""


def path(result: Result, ax: Axes | None = None) -> Axes:
    """Draw where a run looked: a row for each visit of a worker, over the time of the video.

    The bar of a row is the region, its dots are evidence frames, its text lists the worker's
    actions. With many visits, a row has those of one round: colours tell the workers. The top row
    has the evidence by label; the ground truth, where known, is green, and the intervals that
    answer a when-question are hatched. The bottom row has the dead zones.

    Examples:
        >>> ax = ak.plots.path(result)
        >>> paths = ak.plots.save(ax, "figures", "path")
    """
    reports, duration_s = result.trace.of(Report), result.sheet.video.duration_s
    is_by_visit = len(reports) <= MAX_LABELLED_ROWS
    visits = [f"round {r.round}, worker {r.worker}" if is_by_visit else f"round {r.round}" for r in reports]
    names = ["evidence", *dict.fromkeys(visits), "dead zones"]
    row_in = 0.3 if is_by_visit else 0.2 if len(names) <= MAX_LABELLED_ROWS else 0.14
    with styled_axes(ax, (WIDTH_IN, 1.1 + row_in * len(names))) as ax:
        marks = _draw_intervals(ax, result)
        workers = [] if is_by_visit else sorted({report.worker or 0 for report in reports})
        _legend_below(ax, [*marks, *_worker_patches(workers)])
        evidence = ((item.timestamp_s, item.label) for item in result.evidence)
        for times_s, label in _merge_close_labels(evidence, min_gap_s=0.02 * duration_s):
            ax.plot(times_s, [0] * len(times_s), "o", ms=5, color="black")
            middle_s = sum(times_s) / len(times_s)
            ax.annotate(label, (middle_s, 0), (0, 5), textcoords="offset points", ha="center", fontsize=8)
        for visit, report in zip(visits, reports, strict=True):
            _draw_visit(ax, names.index(visit), report, result, is_by_visit)
        for start_s, end_s in result.dead_zones.intervals:
            ax.barh(len(names) - 1, end_s - start_s, left=start_s, height=0.6, color=DEAD)
        ax.set_yticks(range(len(names)), names, fontsize=8 if is_by_visit else SMALL_PT)
        ax.set_ylim(len(names) - 0.4, -0.9)
        _draw_time_axis(ax, duration_s)
        set_title(ax, printable(result.question.text, 300))
    return ax


def rounds(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the course of a run: a row for each round, over the time of the video.

    At the top of a row are the cells that the probe scored, higher bars for higher scores. Below
    them are the regions that workers explored: blue with the labels of the evidence found there,
    dark where all of it became a dead zone, white otherwise. Dead zones stay grey in the rows that
    follow. At the right are the number of evidence frames after the round and the review's
    conclusion. The ground truth, where known, is green, and the intervals that answer a
    when-question are hatched.

    Examples:
        >>> ax = ak.plots.rounds(result)
        >>> paths = ak.plots.save(ax, "figures", "rounds")
    """
    duration_s, numbers = result.sheet.video.duration_s, range(1, result.rounds + 1)
    is_labelled = result.rounds <= MAX_LABELLED_ROWS
    with styled_axes(ax, (WIDTH_IN, 1.2 + (0.42 if is_labelled else 0.14) * max(1, result.rounds))) as ax:
        marks = _draw_intervals(ax, result)
        for number in numbers:
            _draw_round(ax, number, result)
        _draw_round_axes(ax, [_conclusion(number, result) for number in numbers], 8 if is_labelled else SMALL_PT)
        _draw_time_axis(ax, duration_s)
        _legend_below(ax, [*_round_legend(), *marks])
        set_title(ax, printable(result.question.text, 300), is_narrow=True)  # the right is taken
    return ax


def events_of_round(result: Result, kind: type[E], number: int) -> list[E]:
    """Return the events of one kind in a round; rounds count from 1."""
    return [event for event in result.trace.of(kind) if event.round == number]


def probes_for(number: int, result: Result) -> list[Probe]:
    """Return the probes whose scores a round uses: made in it, or ahead in the round before."""
    return [event for event in result.trace.of(Probe) if event.round + event.ahead == number]


def steps_of(report: Report, result: Result) -> list[Step]:
    """Return the steps of a visit, which is given by its report."""
    return [step for step in result.trace.of(Step) if (step.round, step.worker) == (report.round, report.worker)]


def _merge_close_labels(labels: Iterable[tuple[float, str]], min_gap_s: float) -> list[tuple[list[float], str]]:
    """Return groups of times in seconds, each with one label: close labels would overlap."""
    groups: list[tuple[list[float], str]] = []
    for time_s, label in sorted(labels):
        if groups and time_s - groups[-1][0][-1] < min_gap_s:
            times_s, merged = groups.pop()
            groups.append(([*times_s, time_s], f"{merged} {label}"))
        else:
            groups.append(([time_s], label))
    return groups


def _draw_time_axis(ax: Axes, duration_s: float) -> None:
    ax.set_xlim(0, duration_s)
    ticks = tick_times(duration_s, 12)
    ax.set_xticks(ticks, [clock(tick).removesuffix(".0") for tick in ticks])
    ax.set_xlabel(f"time in the video ({'h:' if duration_s > 3600 else ''}min:s)")
    ax.grid(axis="y", visible=False)


def _legend_below(ax: Axes, handles: Sequence[Patch]) -> None:
    """Add a legend below the axis of time, if there is something to explain."""
    from matplotlib.transforms import offset_copy

    if handles:
        below = offset_copy(ax.transAxes, figure_of(ax), y=-0.42)
        at: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "bbox_transform": below}
        ax.legend(handles=handles, ncols=MAX_COLUMNS, columnspacing=1.2, handlelength=1.4, **at)


def _worker_patches(workers: Iterable[int]) -> list[Patch]:
    from matplotlib.patches import Patch

    return [Patch(color=categorical(worker), label=f"worker {worker}") for worker in workers]


def _draw_intervals(ax: Axes, result: Result) -> list[Patch]:
    """Draw all intervals of the truth and of the answer; return one of each for a legend."""
    truth = [
        ax.axvspan(start_s, end_s, color=TRUTH, alpha=0.3, lw=0, label="ground truth")
        for start_s, end_s in result.question.evidence_s
    ]
    answered = [
        ax.axvspan(start_s, end_s, facecolor="none", edgecolor=INK, hatch="////", lw=0.6, label="answer")
        for start_s, end_s in result.intervals
    ]
    return [*truth[:1], *answered[:1]]


def _round_legend() -> list[Patch]:
    from matplotlib.patches import Patch

    colours = {
        "probe score": SCORED,
        "explored: evidence found": FOUND,
        "explored: dead zone": DEAD,
        "earlier dead zone": DEAD_BEFORE,
    }
    return [Patch(color=colour, label=label) for label, colour in colours.items()]


def _draw_round_axes(ax: Axes, conclusions: Sequence[str], fontsize: float) -> None:
    """Number the rounds on the left axis, and write their conclusions on the right one."""
    numbers = range(1, len(conclusions) + 1)
    ax.set_yticks(numbers, map(str, numbers), fontsize=fontsize)
    right = ax.secondary_yaxis("right")
    right.set_yticks(numbers, conclusions, fontsize=fontsize)
    right.spines["right"].set_visible(False)
    for side in (ax, right):
        side.tick_params(axis="y", length=0)
    ax.set_ylim(len(conclusions) + 0.55, 0.45)
    ax.set_ylabel("round")
    ax.annotate(
        "evidence · review",
        (1, 1),
        (4, 4),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        fontsize=8,
        color=REFERENCE_LINE,
    )


def _draw_round(ax: Axes, number: int, result: Result) -> None:
    """Draw one row of `rounds`: scores, visits, and from there on the new dead zones."""
    duration_s = result.sheet.video.duration_s
    ax.axhline(number + 0.5, color=GRID_LINE, lw=0.7, zorder=0.5)
    cells = Grid(*result.within, result.settings["k"]).cells
    for probe in probes_for(number, result):
        for index, score in probe.scores.items():
            cell, height = cells[index], 0.06 + 0.22 * score
            ax.bar(cell.start_s, height, cell.span_s, number - 0.12 - height, align="edge", color=SCORED, lw=0)
    reports = events_of_round(result, Report, number)
    for report in reports:
        _draw_region(ax, number, report, duration_s)
    labels = [(item.timestamp_s, item.label) for report in reports for item in report.kept]
    for times_s, label in _merge_close_labels(labels, min_gap_s=0.03 * duration_s):
        middle_s = sum(times_s) / len(times_s)
        ax.text(middle_s, number + 0.18, label, ha="center", va="top", fontsize=SMALL_PT)
    look: dict[str, Any] = {"align": "edge", "color": DEAD_BEFORE, "lw": 0, "zorder": 0.4}
    events: list[Report | Review] = [*reports, *events_of_round(result, Review, number)]
    for event in events:
        for start_s, end_s in event.dead_s:
            ax.bar(start_s, result.rounds - number, end_s - start_s, number + 0.5, **look)


def _draw_region(ax: Axes, number: int, report: Report, duration_s: float) -> None:
    """Draw the region of one visit in the row of its round."""
    start_s, end_s = report.interval_s
    is_ruled_out = report.dead_s and not report.is_open
    colour = FOUND if report.kept else DEAD if is_ruled_out else "white"
    is_wide = end_s - start_s > 0.005 * duration_s
    edge = DEAD if colour == "white" else "white" if is_wide else colour  # separates neighbours
    ax.barh(number + 0.03, end_s - start_s, 0.24, start_s, color=colour, edgecolor=edge, lw=0.6)


def _conclusion(number: int, result: Result) -> str:
    """Return how many frames the scratchpad held after a round, and what the review concluded."""
    events = [event for event in result.trace if event.round <= number]
    labels = {item.label for event in events if isinstance(event, Report) for item in event.kept}
    labels -= {label for event in events if isinstance(event, Review) for label in event.erased}
    reviews = events_of_round(result, Review, number)
    conclusion = "nothing new" if not reviews else "sufficient" if reviews[-1].sufficient else "continue"
    return f"{len(labels)} · {conclusion}"


def _action_summary(actions: Sequence[str]) -> str:
    """Return the actions of a visit in order; if too many, their counts and the last one."""
    if len(actions) <= MAX_ACTIONS:
        return " → ".join(actions)
    counts = Counter(actions[:-1])
    return f"{', '.join(f'{count} {name}' for name, count in counts.items())} → {actions[-1]}"


def _draw_visit(ax: Axes, row: int, report: Report, result: Result, has_text: bool) -> None:
    """Draw one row of `path`: the region, its evidence frames, and the worker's actions."""
    start_s, end_s = report.interval_s
    steps = steps_of(report, result)
    ax.barh(row, end_s - start_s, left=start_s, height=0.6, color=categorical(report.worker or 0))
    for item in (item for step in steps for item in step.found):
        ax.plot(item.timestamp_s, row, "o", ms=3.5, color="black")
    if not has_text:
        return
    summary = _action_summary([step.action.name for step in steps]) or report.stop
    is_late = start_s > 0.55 * result.sheet.video.duration_s  # then there is more room on the left
    ax.annotate(
        summary,
        (start_s if is_late else end_s, row),
        (-4 if is_late else 4, 0),
        textcoords="offset points",
        ha="right" if is_late else "left",
        va="center",
        fontsize=SMALL_PT,
    )
