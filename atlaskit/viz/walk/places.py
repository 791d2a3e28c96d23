"""Where the events of a run lie: on an axis, in the tree of regions, and in the truth.

    places                                  on the axis, parallel workers side by side
    FindingSteps, merged_in                 which event found which evidence
    regions, grid_of_view, path_of          the tree of explored regions
    truth_rows, moments_of                  what became of each moment that holds the answer
    shaded                                  what was seen, the finer the darker

A trace holds no times of day, so on the axis each event has the length 1. A worker begins when it
is assigned, and the Master continues when all workers have reported. A *step* is the index of an
event in the trace, as the page shows it. The moments that hold the answer are known for questions
about a synthetic world (`Question.evidence_s`). A moment was seen if a cell was shown whose frame
lies in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from atlaskit.environment.grid import Grid, Shift
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Span
from atlaskit.errors import InputError
from atlaskit.runs.coverage import Coverage
from atlaskit.runs.events import (
    Assign,
    Cite,
    Event,
    Look,
    Plan,
    Probe,
    Report,
    Scout,
    Step,
    ViewRecord,
)
from atlaskit.runs.narrate import agent, counted, span_text
from atlaskit.runs.replay import views_of
from atlaskit.runs.trace import Trace
from atlaskit.viz.walk.source import MAX_K, RunSource


def places(trace: Trace) -> Iterator[int]:
    """Yield where each event begins on the axis, from 0. It ends 1 later."""
    master_end = 0  # where the Master's last event ended
    # Where the last event of each worker of this round ended. The key None stands for a probe of
    # the Master that runs beside the workers.
    worker_ends = dict[int | None, int]()
    for event in trace:
        if event.worker is not None or (isinstance(event, Probe) and event.ahead):
            start = worker_ends.get(event.worker, master_end)
            worker_ends[event.worker] = start + 1
        else:
            start = max((master_end, *worker_ends.values()))
            master_end = start + 1
            worker_ends.clear()
        yield start


def merged_in(event: Event) -> Sequence[Evidence]:
    """Return the evidence that an event added to M+, the evidence of the run."""
    if isinstance(event, Report):
        return event.kept
    if isinstance(event, Cite | Plan):
        return event.found
    return ()


class FindingSteps:
    """The events that first found each frame of evidence, by the frame's time and label."""

    def __init__(self, trace: Trace) -> None:
        self._steps: dict[float, int] = {}
        self._times_s: dict[str, float] = {}
        for index, event in enumerate(trace):
            if isinstance(event, Step | Cite | Plan | Look):
                for item in event.found:
                    self._steps.setdefault(item.timestamp_s, index)
            for item in merged_in(event):
                self._times_s[item.label] = item.timestamp_s

    def of(self, time_s: float | None) -> int | None:
        """Return the index of the event that first found the frame at a time; None if none did."""
        if time_s is None:
            return None
        return self._steps.get(time_s)

    def of_label(self, label: str) -> int | None:
        """Return the index of the event that first found the frame with a label in M+."""
        return self.of(self.time_of(label))

    def time_of(self, label: str) -> float | None:
        """Return the time of the frame with a label in M+, in seconds; None if there is none."""
        return self._times_s.get(label)

    def labels_at(self, time_s: float) -> list[str]:
        """Return all labels that the frame at a time has had in M+ during the run."""
        return [label for label, label_time_s in self._times_s.items() if label_time_s == time_s]


MAX_REGIONS = 2_000
"""The most regions in the tree."""
MAX_DEPTH = 32
"""Depth of the deepest region in the tree, since a trace may name any depth."""

FAINTEST = 64.0
"""A part that was seen this many times more coarsely than aimed at is drawn at 0.3 of full
shade."""

Path = tuple[int, ...]
"""The cells opened on the way from the root grid. A negative number says that the grid so far is
moved, to look between its frames, and by how much: see `_path`."""


def grid_of_view(view: ViewRecord, run: RunSource) -> Grid | None:
    """Return the grid of a view; None if there is no such grid."""
    if view.stretch_s is None:
        return grid_of(_path(view.path, view.shift), run)
    try:
        grid = Grid(*view.stretch_s, view.k)
    except InputError:  # a trace may name any stretch
        return None
    if view.k > MAX_K or grid.resolution_s <= 0:
        return None
    return grid


def path_of(event: Event) -> list[int] | None:
    """Return the path of the grid that an event is about; None if it is about none."""
    place = event if isinstance(event, Report) else getattr(event, "view", None)
    if isinstance(event, Scout):
        return list(event.path)
    if place is None:
        return None
    return _path(place.path, place.shift)


def _path(cells: Sequence[int], shift: Sequence[int]) -> list[int]:
    """Return the path of a grid from its cells and its shift, (depth, number).

    The number n is stored after `depth` cells as one negative number: 2n if n < 0, −1 − 2n if n >
    0.
    """
    if not shift:
        return list(cells)
    depth, number = shift
    mark = 2 * number
    if number > 0:
        mark = -1 - 2 * number
    return [*cells[:depth], mark, *cells[depth:]]


def regions(run: RunSource) -> list[dict[str, Any]]:
    """Return the regions that were seen or assigned, and their ancestors, as JSON for the page.

    Parents come before their children, and children are in order of time. Each region has its
    `path`, a description (`told`), its interval in seconds (`span`; None if it is unknown), and
    what the run found there (`holds`): evidence, a dead zone, or an empty string.
    """
    paths = set[Path]()
    for event in run.trace:
        for path in _paths_named_by(event):
            paths |= {path[:depth] for depth in range(len(path) + 1)}
    described = list[dict[str, Any]]()
    for path in islice(sorted(paths), MAX_REGIONS):
        described.append({"path": list(path), **_describe(path, run)})
    return described


def _paths_named_by(event: Event) -> Iterable[Path]:
    """Return the paths of the regions that an event names."""
    path = path_of(event)
    paths = list[list[int]]()
    if path is not None:
        paths.append(path)
    if isinstance(event, Assign):
        for sortie in event.sorties:
            paths.append(_path(sortie.path, sortie.shift))
    return [tuple(each) for each in paths if len(each) <= MAX_DEPTH]


def _describe(path: Path, run: RunSource) -> dict[str, Any]:
    """Return what `regions` says about one path."""
    name = f"whole {run.scope}"
    if path and path[-1] < 0:
        name = "between its frames"
    elif path:
        name = f"cell {path[-1]:,}"
    grid = grid_of(path, run)
    if grid is None:
        return {"told": name, "holds": "", "span": None}
    count = len(run.evidence.within(grid.start_s, grid.end_s))
    holds = ""
    if count:
        holds = f"{counted(count, 'frame')} of evidence"
    if not count and run.memory.dead_zones.coverage(grid.start_s, grid.end_s) >= 1:
        holds = "dead zone"
    span = (grid.start_s, grid.end_s)
    return {"told": f"{name} · {span_text(span)}", "holds": holds, "span": list(span)}


def grid_of(path: Sequence[int] | None, run: RunSource) -> Grid | None:
    """Return the grid of a path; None if there is none, as for a cell that does not exist.

    Args:
        path: A path as `path_of` returns it, from the root grid of the run.
        run: The run.
    """
    if path is None or run.within is None or run.k is None or len(path) > MAX_DEPTH:
        return None
    shift: Shift = ()
    cells = tuple(cell for cell in path if cell >= 0)
    if len(cells) < len(path):
        depth = next(place for place, cell in enumerate(path) if cell < 0)
        number = path[depth] // 2
        if path[depth] % 2:
            number = -1 - number
        shift = (depth, number)
    try:
        return Grid(*run.within, run.k, cells, shift, run.edges_s)
    except InputError:  # the path names a cell that does not exist
        return None


MAX_MOMENTS = 64
"""The most moments of an answer that are listed."""

TruthRow = tuple[str, int | None]
"""A sentence on what became of a moment, and the index of the event that shows it."""


class ShownGrid(NamedTuple):
    """A grid that an agent was shown."""

    grid: Grid
    dead: frozenset[int]
    """The cells that were black in it."""
    step: int
    """The index of the event that shows it."""
    who: str
    """The agent, in words."""


def moments_of(run: RunSource) -> tuple[Span, ...]:
    """Return the moments that hold the answer, each once, in order; none if they are unknown."""
    if run.question is None:
        return ()
    return tuple(sorted(set(run.question.evidence_s)))[:MAX_MOMENTS]


def truth_rows(run: RunSource, findings: FindingSteps) -> list[TruthRow]:
    """Return what became of each moment that holds the answer.

    There are no rows if the moments are unknown, or if the run has no evidence and showed no grids,
    as with a method that keeps none and shows none.
    """
    moments = moments_of(run)
    if not moments:
        return []
    grids = list(_grids(run))
    if not grids and not run.evidence:
        return []
    is_exact = run.settings.get("sampling", "midpoint") == "midpoint"
    return [_row(moment, run, findings, grids, is_exact) for moment in moments]


def _row(
    moment: Span, run: RunSource, findings: FindingSteps, grids: list[ShownGrid], is_exact: bool
) -> TruthRow:
    """Return the row of a moment; `is_exact` says whether the frame of a cell is its midpoint."""
    evidence = run.evidence.within(*moment)
    if len(evidence):
        labels = ", ".join([f"[{label}]" for label in evidence.labels])
        return f"{span_text(moment)} was found: {labels}.", findings.of(evidence.times_s[0])
    if not grids:
        return f"{span_text(moment)} is not among the evidence.", None
    found = _deepest(moment, grids, is_exact)
    if found is None:
        missed = f"{span_text(moment)} was missed: no frame of it was shown"
        over = _deepest(moment, grids, is_exact=False)
        if over is None:
            return f"{missed}.", None
        seen, cell = over
        where = f"at depth {seen.grid.depth} (cell {cell}, step {seen.step})"
        return f"{missed}; the deepest grid over it is {where}.", seen.step
    seen, cell = found
    shown = "a cell that covers it was shown"
    if is_exact:
        shown = "it was shown"
    place = f"at depth {seen.grid.depth} in cell {cell} at step {seen.step}"
    label = _reported(moment, run)
    fate = "not reported"
    if label is not None:
        fate = f"reported as [{label}] but not kept"  # it was erased later
    sentence = f"{span_text(moment)} was missed: {shown} to {seen.who} {place}, and {fate}."
    return sentence, seen.step


def _reported(moment: Span, run: RunSource) -> str | None:
    """Return the label of a reported frame that lies in a moment; None if there was none."""
    for report in run.trace.of(Report):
        for item in report.kept:
            if moment[0] <= item.timestamp_s < moment[1]:
                return item.label
    return None


def _grids(run: RunSource) -> Iterator[ShownGrid]:
    """Yield each grid that an agent was shown."""
    for step, event in enumerate(run.trace):
        for view in views_of(event):
            grid = grid_of_view(view, run)
            who = "the Master" if event.worker is None else agent(event)
            if grid is not None:
                yield ShownGrid(grid, frozenset(view.dead), step, who)


def _deepest(moment: Span, grids: list[ShownGrid], is_exact: bool) -> tuple[ShownGrid, int] | None:
    """Return the grid with the finest cells that shows a moment, and the first such cell.

    With `is_exact`, the midpoint of the cell lies in the moment; else they overlap. Dead cells show
    nothing. Of several grids, the first one is returned.
    """
    cells_of = cells_showing if is_exact else cells_over
    for seen in sorted(grids, key=lambda seen: seen.grid.resolution_s):
        for cell in cells_of(moment, seen.grid):
            if cell not in seen.dead:
                return seen, cell
    return None


def shaded(coverage: Coverage, most: int) -> list[tuple[float, float, float]]:
    """Return the first parts that were seen, each as (start, end, shade).

    The shade is 1 for parts that were seen as finely as the run aimed at, or finer. Without an aim,
    it is 1 for the finest part. The shade of coarser parts falls to 0.3.
    """
    # A trace from elsewhere may give a step of 0 or less, which has no logarithm.
    parts = [part for part in coverage.seen.parts if part[2] > 0][:most]
    aim_s = coverage.goal_s or min((step_s for _, _, step_s in parts), default=1.0)
    shades = []
    for start_s, end_s, step_s in parts:
        shade = 1 - 0.7 * math.log(step_s / aim_s) / math.log(FAINTEST)
        shades.append((start_s, end_s, round(min(max(shade, 0.3), 1.0), 2)))
    return shades


def cells_showing(moment: Span, grid: Grid) -> range:
    """Return the cells of a grid whose midpoints lie in a moment."""
    first, last = _positions(moment, grid)
    return range(max(0, math.ceil(first - 0.5)), min(grid.size, math.ceil(last - 0.5)))


def cells_over(moment: Span, grid: Grid) -> range:
    """Return the cells of a grid that overlap a moment."""
    first, last = _positions(moment, grid)
    return range(max(0, math.floor(first)), min(grid.size, math.ceil(last)))


def _positions(moment: Span, grid: Grid) -> tuple[float, float]:
    """Return where the part of a moment within a grid begins and ends, counted in cells."""
    start_s = max(moment[0], grid.start_s)
    end_s = min(moment[1], grid.end_s)
    if grid.is_uneven:
        cells = np.arange(grid.size + 1)
        first, last = np.interp((start_s, end_s), grid.edges, cells)
        return float(first), float(last)
    return (start_s - grid.start_s) / grid.resolution_s, (end_s - grid.start_s) / grid.resolution_s
