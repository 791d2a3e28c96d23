"""`path` and `before_after`: where a run looked, and its root grid before and after it.

Frames come from the cache; one that is no longer there is decoded again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from atlaskit.environment.memory import DeadZones
from atlaskit.environment.render import View, with_look
from atlaskit.errors import printable
from atlaskit.runs import replay
from atlaskit.runs.events import Look, Report, Step
from atlaskit.runs.result import Result, verdict
from atlaskit.viz.palette import DEAD, INK, TRUTH, beside_truth
from atlaskit.viz.plots.lanes import Lane, draw_lanes
from atlaskit.viz.plots.style import SMALL_PT, set_title, styled_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH_IN = 7.2
"""Width of a figure, in inches."""
VIEW_PX, GAP = 840, 0.04
"""Largest side of a drawn view in pixels; the gap between two views, as a fraction of one."""
MAX_NUMBERED_K = 8
"""Largest K for which the cells of a view are numbered."""
MAX_VISITS = 24
"""Most visits that have a row each."""


def path(result: Result, ax: Axes | None = None) -> Axes:
    """Draw where a run looked: a row for each visit of a worker, over the time of the video.

    The bar of a row is the region, its dots are evidence frames. With many visits, a row has those
    of a worker, filled where they added evidence. The top row has the evidence by label; the ground
    truth, where known, is green, and the intervals that answer a when-question are hatched. The
    bottom row has the dead zones.

    Examples:
        >>> ax = ak.plots.path(result)
        >>> paths = ak.plots.save(ax, "figures", "path")
    """
    reports, duration_s = result.trace.of(Report), result.sheet.video.duration_s
    is_by_visit = len(reports) <= MAX_VISITS
    steps = [_steps_of(report, result) for report in reports]
    visits = (
        [_visit_lane(*visit) for visit in zip(reports, steps, strict=True)] if is_by_visit else _worker_lanes(result)
    )
    evidence = Lane("evidence", moments=[(item.timestamp_s, item.label) for item in result.evidence])
    lanes = [evidence, *visits, Lane("dead zones", result.dead_zones.intervals, colour=DEAD)]
    with styled_axes(ax, (WIDTH_IN, 1.1 + 0.3 * len(lanes))) as ax:
        told = _draw_intervals(ax, result)
        draw_lanes(ax, lanes, duration_s)
        filled = "" if is_by_visit else " · filled: evidence was added"
        ax.set_xlabel(f"time in the video ({'h:' if duration_s > 3600 else ''}min:s){filled}{told}")
        set_title(ax, _title(result))
    return ax


def before_after(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the root grid before the run, and beside it after the run, with dead cells black.

    Raises:
        InputError: The result is that of a baseline, which explores no grid.

    Examples:
        >>> paths = ak.plots.save(ak.plots.before_after(result), "figures", "before_after")
    """
    atlas = replay.atlas_of(result.trace, result.sheet.video, result.sheet.cache)
    zones = DeadZones(), result.dead_zones
    # The figure has labels of its own, which are larger.
    before, after = (with_look(atlas.view(atlas.start(dead_zones=each)), labels="none") for each in zones)
    rounds = f"{result.rounds} round{'' if result.rounds == 1 else 's'}"
    captions = (
        f"(a) Before: {before.grid.size} cells of {before.grid.resolution_s:.3g} s",
        f"(b) After {rounds}: {len(after.dead)} cells black",
    )
    height = before.size[1] / before.size[0]
    with styled_axes(ax, (WIDTH_IN, 3.95 - WIDTH_IN / (2 + GAP) * (1 - height))) as ax:
        for index, (view, caption) in enumerate(zip((before, after), captions, strict=True)):
            left = index * (1 + GAP)
            _draw_view(ax, view, left, height)
            ax.text(left, height + 0.02, caption, fontsize=9, va="bottom")
        ax.set(xlim=(0, 2 + GAP), ylim=(0, height + 0.08), aspect="equal")
        ax.set_axis_off()
        set_title(ax, _title(result))
    return ax


def _title(result: Result) -> str:
    """Return the question, and below it who answered what, and whether that is right."""
    named = (str(result.settings[name]) for name in ("method", "model") if result.settings.get(name))
    who = " · ".join(re.sub(r"[:@][0-9a-f]{12,}", "", each) for each in named)  # without a fingerprint
    answer = f"{result.answer_in_words or 'no answer'}{verdict(result.is_right, result.truth_in_words)}"
    return f"{printable(result.question.text, 300)}\n{printable(f'{who}: {answer}', 300)}"


def _worker_lanes(result: Result) -> list[Lane]:
    """Return the regions that each worker explored, filled where it added evidence."""
    reports, lanes = result.trace.of(Report), list[Lane]()
    for worker in sorted({report.worker or 0 for report in reports}):
        own = [report for report in reports if (report.worker or 0) == worker]
        filled, outlined = ([each.interval_s for each in own if bool(each.kept) is kept] for kept in (True, False))
        lanes.append(Lane(f"worker {worker}", filled, outlined, colour=beside_truth(worker)))
    return lanes


def _steps_of(report: Report, result: Result) -> list[Step | Look]:
    """Return the steps of a visit, which is given by its report; or its look."""
    steps = [step for step in result.trace if isinstance(step, Step | Look)]
    return [step for step in steps if (step.round, step.worker) == (report.round, report.worker)]


def _draw_intervals(ax: Axes, result: Result) -> str:
    """Draw all intervals of the truth and of the answer; return what they look like."""
    for start_s, end_s in result.question.evidence_s:
        ax.axvspan(start_s, end_s, color=TRUTH, alpha=0.3, lw=0)
    for start_s, end_s in result.intervals:
        ax.axvspan(start_s, end_s, facecolor="none", edgecolor=INK, hatch="////", lw=0.6)
    truth = " · green: the truth" if result.question.evidence_s else ""
    return f"{truth}{' · hatched: the answer' if result.intervals else ''}"


def _visit_lane(report: Report, steps: Sequence[Step | Look]) -> Lane:
    start_s, end_s = report.interval_s
    times_s = [item.timestamp_s for step in steps for item in step.found]
    found = [(time_s, "") for time_s in times_s if start_s <= time_s < end_s]
    name, colour = f"round {report.round}, worker {report.worker}", beside_truth(report.worker or 0)
    return Lane(name, filled=[report.interval_s], moments=found, colour=colour)


def _draw_view(ax: Axes, view: View, left: float, height: float) -> None:
    """Draw a view from x = `left` to `left` + 1 and from y = 0 to `height`, its cells numbered."""
    k = view.grid.k
    ax.imshow(np.asarray(view.small((VIEW_PX, VIEW_PX))), extent=(left, left + 1, 0, height), aspect="auto")
    for cell in view.grid.cells if k <= MAX_NUMBERED_K else ():
        row, column = divmod(cell.index, k)
        box = {"boxstyle": "square,pad=0.1", "facecolor": INK, "edgecolor": "none", "alpha": 0.75}
        corner = (left + (column + 0.06) / k, height * (1 - (row + 0.06) / k))
        ax.text(*corner, str(cell.index), fontsize=SMALL_PT, color="white", ha="left", va="top", bbox=box)
