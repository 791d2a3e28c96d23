"""Figures of one video: where a run or a policy looked, and what its grids resolve.

    path, before_after                      where a run looked; its root grid before and after
    rewards                                 a task of `atlaskit.gym`: truth, kept intervals, scores
    resolutions                             the seconds that a cell spans at each depth
    Lane, draw_lanes                        rows over the time of a video

Frames come from the cache. A frame that is no longer there is decoded again.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from atlaskit.environment.grid import SUB_SECOND, clock, deepest, resolution_s, sub_second_depth
from atlaskit.environment.memory import DeadZones
from atlaskit.environment.question import Span
from atlaskit.environment.render import View, with_look
from atlaskit.errors import InputError, printable
from atlaskit.evaluation.intervals import check_columns
from atlaskit.runs import replay
from atlaskit.runs.events import Look, Report, Step
from atlaskit.runs.narrate import counted
from atlaskit.runs.result import Result, verdict
from atlaskit.viz.plots.series import interval_over
from atlaskit.viz.plots.style import (
    DEAD,
    GRID_LINE,
    INK,
    MARKERS,
    NOTE_PT,
    REFERENCE_LINE,
    SMALL_PT,
    TRUTH,
    beside_truth,
    categorical,
    duration_label,
    figure_style,
    label_ends,
    sample,
    set_note,
    set_title,
    styled_axes,
)
from atlaskit.viz.walk.places import shaded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHORTEST = 0.004
"""Length of the shortest bar that can be seen on the axis of time, as a share of the axis."""
TICK_STEPS_S = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18_000, 36_000, 86_400)
"""Distances between ticks on an axis of time, the shortest first."""


@dataclass(frozen=True)
class Lane:
    """One row of a timeline."""

    name: str
    filled: Sequence[Span] = ()
    """Intervals in seconds that are drawn filled."""
    outlined: Sequence[Span] = ()
    """Intervals in seconds that are drawn as outlines."""
    moments: Sequence[tuple[float, str]] = ()
    """Dots, each at a time in seconds and with a label."""
    colour: str = "black"
    shades: Sequence[float] = ()
    """How dark each filled interval is, from 0 to 1; empty if all are drawn alike."""


def draw_lanes(ax: Axes, lanes: Sequence[Lane], duration_s: float, most_ticks: int = 12) -> None:
    """Draw lanes as rows over the time of a video, the first on top."""
    for row, lane in enumerate(lanes):
        for spans, fill in ((lane.filled, lane.colour), (lane.outlined, "none")):
            for place, (start_s, end_s) in enumerate(spans):
                shade = lane.shades[place] if lane.shades and fill != "none" else None
                length_s = max(end_s - start_s, SHORTEST * duration_s)
                ax.barh(
                    row,
                    length_s,
                    left=start_s,
                    height=0.6,
                    facecolor=fill,
                    edgecolor=lane.colour,
                    alpha=shade,
                )
        for times_s, label in _merge_close_labels(lane.moments, min_gap_s=0.02 * duration_s):
            ax.plot(times_s, [row] * len(times_s), "o", ms=4, color="black")
            middle_s = sum(times_s) / len(times_s)
            ax.annotate(
                label, (middle_s, row), (0, 5), textcoords="offset points", ha="center", fontsize=8
            )
    ax.set_yticks(range(len(lanes)), [lane.name for lane in lanes], fontsize=8)
    ax.set(xlim=(0, duration_s), ylim=(len(lanes) - 0.4, -0.9))
    ticks = tick_times(duration_s, most_ticks)
    ax.set_xticks(ticks, [clock(tick).removesuffix(".0") for tick in ticks])
    ax.grid(axis="y", visible=False)


def tick_times(duration_s: float, most: int) -> list[float]:
    """Return the times in seconds, from 0 on, at which an axis over a duration has ticks."""
    step_s = next((step for step in TICK_STEPS_S if duration_s / step <= most), duration_s / 4)
    return [number * step_s for number in range(int(duration_s / step_s) + 1)]


def _merge_close_labels(
    labels: Iterable[tuple[float, str]], min_gap_s: float
) -> list[tuple[list[float], str]]:
    """Group labels that would overlap; return the times in seconds and the label of each group."""
    groups: list[tuple[list[float], str]] = []
    for time_s, label in sorted(labels):
        if groups and time_s - groups[-1][0][-1] < min_gap_s:
            times_s, merged = groups.pop()
            groups.append(([*times_s, time_s], f"{merged} {label}"))
        else:
            groups.append(([time_s], label))
    return groups


WIDTH_IN = 7.2
"""Width of a figure, in inches."""
VIEW_PX = 840
"""Longer side of a drawn view, in pixels."""
GAP = 0.04
"""Gap between two views, as a share of a view's width."""
MAX_NUMBERED_K = 8
"""Largest K for which the cells of a view are numbered."""
MAX_PARTS = 400
"""At most this many of the intervals that were seen are drawn."""
MAX_VISITS = 24
"""At most this many visits have a row each."""


def path(result: Result, ax: Axes | None = None) -> Axes:
    """Draw where a run looked: a row for each visit of a worker, over the time of the video.

    The top row has the evidence with its labels. The row below it shows what was seen, the finer
    the darker. In the row of a visit, a bar is the region, and dots are evidence frames. If there
    are more than MAX_VISITS, a row has all visits of a worker, filled where they added evidence.
    The bottom row has the dead zones. The ground truth, where it is known, is green in all rows,
    and the intervals that answer a when-question are hatched.

    Examples:
        >>> ax = ak.plots.path(result)
        >>> paths = ak.plots.save(ax, "figures", "path")
    """
    reports = result.trace.of(Report)
    duration_s = result.sheet.video.duration_s
    is_by_visit = len(reports) <= MAX_VISITS
    if is_by_visit:
        visits = [_visit_lane(report, _steps_of(report, result)) for report in reports]
    else:
        visits = _worker_lanes(result)
    moments = [(item.timestamp_s, item.label) for item in result.evidence]
    lanes = [Lane("evidence", moments=moments)]
    spans = list[Span]()
    shades = list[float]()
    for start_s, end_s, shade in shaded(result.coverage, MAX_PARTS):
        spans.append((start_s, end_s))
        shades.append(shade)
    if spans:
        lanes.append(Lane("seen", spans, shades=shades, colour=categorical(0)))
    lanes += visits
    lanes.append(Lane("dead zones", result.dead_zones.intervals, colour=DEAD))
    with styled_axes(ax, (WIDTH_IN, 1.1 + 0.3 * len(lanes))) as ax:
        legend = _draw_intervals(ax, result)
        draw_lanes(ax, lanes, duration_s)
        form = "h:min:s" if duration_s >= 3600 else "min:s"
        filled = "" if is_by_visit else " · filled: evidence was added"
        ax.set_xlabel(f"time in the video ({form}){filled}{legend}")
        set_title(ax, _title(result))
    return ax


def before_after(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the root grid before the run and, beside it, after the run, with dead cells black.

    Raises:
        InputError: The result is of a baseline, which explores no grid.

    Examples:
        >>> paths = ak.plots.save(ak.plots.before_after(result), "figures", "before_after")
    """
    atlas = replay.atlas_of(result.trace, result.sheet.video, result.sheet.cache)
    views = list[View]()
    for zones in (DeadZones(), result.dead_zones):
        view = atlas.view(atlas.start(dead_zones=zones))
        views.append(with_look(view, labels="none"))  # the figure writes larger labels
    before, after = views
    rounds = counted(result.rounds, "round")
    captions = (
        f"(a) Before: {before.grid.size} cells of {before.grid.resolution_s:.3g} s",
        f"(b) After {rounds}: {len(after.dead)} cells black",
    )
    height = before.size[1] / before.size[0]  # of a view of width 1
    height_in = 3.95 - WIDTH_IN / (2 + GAP) * (1 - height)  # 3.95 inches with square views
    with styled_axes(ax, (WIDTH_IN, height_in)) as ax:
        for index, (view, caption) in enumerate(zip((before, after), captions, strict=True)):
            left = index * (1 + GAP)
            _draw_view(ax, view, left, height)
            ax.text(left, height + 0.02, caption, fontsize=9, va="bottom")
        ax.set(xlim=(0, 2 + GAP), ylim=(0, height + 0.08), aspect="equal")
        ax.set_axis_off()
        set_title(ax, _title(result))
    return ax


def _title(result: Result) -> str:
    """Return the question, and below it the method, the model, the answer and its verdict."""
    names = list[str]()
    for setting in ("method", "model"):
        name = result.settings.get(setting)
        if name:
            # A title has no room for the fingerprint in a name.
            names.append(re.sub(r"[:@][0-9a-f]{12,}", "", str(name)))
    who = " · ".join(names)
    answer = result.answer_in_words or "no answer"
    answer += verdict(result.is_right, result.truth_in_words)
    return f"{printable(result.question.text, 300)}\n{printable(f'{who}: {answer}', 300)}"


def _worker_lanes(result: Result) -> list[Lane]:
    """Return each worker's lane: the regions of its visits, filled if they added evidence."""
    filled = defaultdict[int, list[Span]](list)
    outlined = defaultdict[int, list[Span]](list)
    for report in result.trace.of(Report):
        spans = filled if report.kept else outlined
        spans[report.worker or 0].append(report.interval_s)
    lanes = list[Lane]()
    for worker in sorted(filled.keys() | outlined.keys()):
        name = f"worker {worker}"
        colour = beside_truth(worker)
        lanes.append(Lane(name, filled[worker], outlined[worker], colour=colour))
    return lanes


def _steps_of(report: Report, result: Result) -> list[Step | Look]:
    """Return the steps and looks of the visit that ended with a report."""
    visit = (report.round, report.worker)
    steps = list[Step | Look]()
    for event in result.trace:
        if isinstance(event, Step | Look) and (event.round, event.worker) == visit:
            steps.append(event)
    return steps


def _draw_intervals(ax: Axes, result: Result) -> str:
    """Draw the intervals of the truth and of the answer; return the legend for them."""
    for start_s, end_s in result.question.evidence_s:
        ax.axvspan(start_s, end_s, color=TRUTH, alpha=0.3, lw=0)
    for start_s, end_s in result.intervals:
        ax.axvspan(start_s, end_s, facecolor="none", edgecolor=INK, hatch="////", lw=0.6)
    legend = ""
    if result.question.evidence_s:
        legend += " · green: the truth"
    if result.intervals:
        legend += " · hatched: the answer"
    return legend


def _visit_lane(report: Report, steps: Sequence[Step | Look]) -> Lane:
    """Return the lane of one visit: its region, and dots for the evidence frames it found there."""
    start_s, end_s = report.interval_s
    found = list[tuple[float, str]]()
    for step in steps:
        for item in step.found:
            if start_s <= item.timestamp_s < end_s:
                found.append((item.timestamp_s, ""))
    name = f"round {report.round}, worker {report.worker}"
    colour = beside_truth(report.worker or 0)
    return Lane(name, filled=[report.interval_s], moments=found, colour=colour)


def _draw_view(ax: Axes, view: View, left: float, height: float) -> None:
    """Draw a view with numbered cells, from x = `left` to `left` + 1 and from y = 0 to `height`."""
    k = view.grid.k
    ax.imshow(
        np.asarray(view.small((VIEW_PX, VIEW_PX))),
        extent=(left, left + 1, 0, height),
        aspect="auto",
    )
    if k > MAX_NUMBERED_K:
        return
    box = {"boxstyle": "square,pad=0.1", "facecolor": INK, "edgecolor": "none", "alpha": 0.75}
    for cell in view.grid.cells:
        row, column = divmod(cell.index, k)
        corner = (left + (column + 0.06) / k, height * (1 - (row + 0.06) / k))
        ax.text(
            *corner,
            str(cell.index),
            fontsize=SMALL_PT,
            color="white",
            ha="left",
            va="top",
            bbox=box,
        )


COLUMNS = ("task", "policy", "video", "seed", "score", "truth", "kept")
"""The columns of a table for `rewards`."""
REWARDS_IN = (7.2, 3.7)
"""Width and height of the figure in inches."""


def rewards(rows: pd.DataFrame, view: View) -> Axes:
    """Draw a task on the synthetic world of the first row, and the scores of policies on all.

    On the left is the root grid of that world. A cell that holds a part of the truth is framed in
    green; the frame is dashed if the cell's image does not show this part. Below is an axis of time
    with the truth, and with the intervals that each policy kept. On the right are the mean scores
    with 95 % intervals.

    Args:
        rows: A table of `examples.policies.trials` about one task. Its columns are COLUMNS.
        view: The root grid of the world of the first row.

    Returns:
        The axes of the view.

    Raises:
        InputError: A column is missing, there are no rows, or they are about several tasks.

    Examples:
        >>> from examples.policies import trials, uniform_policy
        >>> rows = trials({"summary": {"uniform": uniform_policy}}, [7], duration_s=60, k=2)
        >>> ax = ak.plots.rewards(rows, ak.view(video, k=2))
    """
    import matplotlib.pyplot as plt

    check_columns(rows, COLUMNS)
    if rows["task"].nunique() != 1:
        raise InputError(
            f"A figure is about one task; these rows are about {rows['task'].nunique()}."
        )
    shown = rows[rows["seed"] == rows["seed"].iloc[0]]
    policies = list(dict.fromkeys(rows["policy"]))
    with figure_style():
        figure = plt.figure(figsize=REWARDS_IN, layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1.25, 1), height_ratios=(2.1, 1))
        sheet = figure.add_subplot(grid[0, 0])
        times = figure.add_subplot(grid[1, 0])
        _draw_framed(sheet, view, shown["truth"].iloc[0])
        _draw_times(times, view, shown, policies)
        _draw_scores(figure.add_subplot(grid[:, 1]), rows, policies)
        title = (
            f"World {shown['seed'].iloc[0]}: truth in green, dashed where a cell's frame misses it"
        )
        set_title(sheet, title, share=0.5, fontsize=NOTE_PT)
    return sheet


def _draw_framed(ax: Axes, view: View, truth: Collection[Span]) -> None:
    """Draw the view, and a frame around each cell that holds a part of the truth."""
    from matplotlib.patches import Rectangle

    image = np.asarray(view.small((VIEW_PX, VIEW_PX)))
    k = view.grid.k
    height, width = image.shape[:2]
    ax.imshow(image)
    ax.set_axis_off()
    for cell, moment_s in zip(view.cells, view.moments, strict=True):
        inside = [span for span in truth if span[0] < cell.end_s and cell.start_s < span[1]]
        if inside:
            is_shown = any(start_s <= moment_s < end_s for start_s, end_s in inside)
            row, column = divmod(cell.index, k)
            corner = (column * width / k + 3, row * height / k + 3)
            stroke: dict[str, Any] = {"lw": 1.2, "ls": (0, (3, 3))}
            if is_shown:
                stroke = {"lw": 2.0, "ls": "-"}
            size = (width / k - 6, height / k - 6)
            ax.add_patch(Rectangle(corner, *size, fill=False, edgecolor=TRUTH, **stroke))


def _draw_times(ax: Axes, view: View, shown: pd.DataFrame, policies: list[str]) -> None:
    """Draw the intervals of the truth and of each policy, a row for each, on an axis of time."""
    lanes = [Lane("truth", shown["truth"].iloc[0], colour=TRUTH)]
    for index, policy in enumerate(policies):
        spans = shown.loc[shown["policy"] == policy, "kept"].iloc[0]
        lanes.append(Lane(policy, spans, colour=beside_truth(index)))
    draw_lanes(ax, lanes, view.video.duration_s, most_ticks=4)
    ax.tick_params(axis="y", labelsize=SMALL_PT)


def _draw_scores(ax: Axes, rows: pd.DataFrame, policies: list[str]) -> None:
    """Draw the mean score of each policy with its interval, from left to right."""
    import seaborn as sns

    rows = rows.reset_index(drop=True)
    sns.pointplot(
        rows,
        x="policy",
        y="score",
        hue="policy",
        order=policies,
        hue_order=policies,
        palette=list(map(beside_truth, range(len(policies)))),
        markers=list(islice(cycle(MARKERS), len(policies))),
        linestyles="none",
        errorbar=interval_over(rows["video"], "score"),
        capsize=0.1,
        ax=ax,
    )
    means = rows.groupby("policy")["score"].mean()
    sizes = rows["policy"].value_counts()
    labels = list[str]()
    for policy in policies:
        labels.append("\n".join([*policy.split(" "), f"{means[policy]:.2f}"]))
    ax.set_xticks(range(len(policies)), labels, fontsize=SMALL_PT)
    ax.set(ylim=(-0.03, 1.05), xlabel="", ylabel="mean score")
    set_note(ax, sample(sizes).replace("questions", "episodes"), "95 % intervals")


RESOLUTIONS_IN = (7.2, 4.2)
"""Width and height of the figure in inches."""


def resolutions(
    durations_s: Sequence[float], *, k: int = 8, fps: float = 25.0, ax: Axes | None = None
) -> Axes:
    """Draw the resolution of each depth, Δt_d = T / K^(2(d+1)), against duration T (paper §3.1).

    Both axes are logarithmic and in seconds. There is a line for each depth, with a marker at each
    of `durations_s`. In the grey area, cells are shorter than a frame, so neighbouring cells show
    the same frame. D_max, the depth at which any single frame is reached, is written below each
    duration. A dashed line marks one second, and rings mark the first depth below it, which
    `max_depth="auto"` selects (§4.4).

    Args:
        durations_s: Durations to mark, in seconds; at least two different ones.
        k: Cells per side of a grid.
        fps: Frames per second of the video.
        ax: Axes to draw on; None makes a new figure.

    Raises:
        InputError: There are fewer than two different durations, or a duration or `fps` is not
            positive and finite.

    Examples:
        >>> ax = ak.plots.resolutions([60, 3_600, 36_000])
        >>> ax.get_xscale()
        'log'
    """
    import pandas as pd
    import seaborn as sns

    if not (fps > 0 and math.isfinite(fps)):
        raise InputError(f"fps must be a positive number of frames per second; got {fps:g}.")
    marked_s = sorted(set(map(float, durations_s)))
    if len(marked_s) < 2 or not all(0 < duration_s < math.inf for duration_s in marked_s):
        raise InputError(
            "durations_s must hold two or more different positive numbers of seconds; got "
            f"{marked_s}."
        )
    auto_depths = [sub_second_depth(duration_s, k) for duration_s in marked_s]
    finest_s = list(map(resolution_s, marked_s, repeat(k), auto_depths))
    count = max(deepest(marked_s[-1], fps, k), auto_depths[-1] + 1)
    names = ["depth 0, the root", *(f"depth {depth}" for depth in range(1, count))]
    points = list[tuple[str, float, float]]()
    for depth, name in enumerate(names):
        for duration_s in marked_s:
            points.append((name, duration_s, resolution_s(duration_s, k, depth)))
    table = pd.DataFrame(points, columns=["depth", "duration_s", "cell_s"])
    with styled_axes(ax, RESOLUTIONS_IN) as ax:
        shared: dict[str, Any] = {
            "hue": "depth",
            "style": "depth",
            "dashes": False,
            "markers": True,
            "legend": False,
        }
        sns.lineplot(
            table, x="duration_s", y="cell_s", **shared, estimator=None, linewidth=1.8, ax=ax
        )
        ring: dict[str, Any] = {
            "ms": 11,
            "mfc": "none",
            "mec": "black",
            "mew": 1,
            "zorder": 4,
            "clip_on": False,
        }
        ax.plot(
            marked_s, finest_s, "o", ls="none", label='first below 1 s: max_depth="auto"', **ring
        )
        ax.axhline(SUB_SECOND, color=REFERENCE_LINE, lw=1, ls="--", label="1 s")
        ax.set(xscale="log", yscale="log", xlim=(marked_s[0] / 1.15, marked_s[-1] * 1.15))
        # The grey area, below one frame, is as high as one depth; the rings fit in as well.
        lowest_s = min(1 / (fps * k**2), 0.6 * min(finest_s))
        ax.set_ylim(lowest_s, 2 * resolution_s(marked_s[-1], k, 0))
        below = f"below one frame at {fps:g} fps: neighbours show the same"
        ax.axhspan(ax.get_ylim()[0], 1 / fps, color=GRID_LINE, lw=0, zorder=0.3, label=below)
        labels = [f"{duration_label(each)}\n{deepest(each, fps, k)}" for each in marked_s]
        ax.set_xticks(marked_s, labels)
        ax.minorticks_off()
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set(xlabel="video duration T, and below it D_max", ylabel="resolution, Δt (s)")
        ax.legend(loc="upper left")
        label_ends(ax, names)
    return ax
