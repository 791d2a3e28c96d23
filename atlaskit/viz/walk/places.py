"""Where the events of a run lie: on its axis, in the tree of regions, and beside the truth.

    places                                  on the axis of the run, parallel workers side by side
    FindingSteps, merged_in                 which step found which evidence
    regions, grid_of_view, path_of          the tree of explored regions
    truth_rows, moments_of                  what became of each moment that holds the answer
    shaded                                  what was seen, the finer the darker

A trace holds no times, so each event takes one step. A worker begins when it is assigned, and the
Master goes on when all workers have reported. Questions about a synthetic world know the moments
that hold the answer (`Question.evidence_s`); one was seen if the frame of a cell that was shown
lies in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

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
    """Yield at which step of the axis each event begins; it ends one later."""
    now = 0  # when the Master's last event ended
    # When the last event of each worker of this round ended; None: a probe beside them.
    busy = dict[int | None, int]()
    for event in trace:
        if event.worker is not None or (isinstance(event, Probe) and event.ahead):
            start = busy.get(event.worker, now)
            busy[event.worker] = start + 1
        else:
            start = max((now, *busy.values()))
            now = start + 1
            busy.clear()
        yield start


def merged_in(event: Event) -> Sequence[Evidence]:
    """Return the evidence that an event added to M+."""
    if isinstance(event, Report):
        return event.kept
    if isinstance(event, Cite | Plan):
        return event.found
    return ()


class FindingSteps:
    """The steps that first found each frame of evidence, by time and by label."""

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
        """Return the same for the frame with a label in M+."""
        return self.of(self.time_of(label))

    def time_of(self, label: str) -> float | None:
        """Return the time of the frame with a label in M+, in seconds; None if there is none."""
        return self._times_s.get(label)

    def labels_at(self, time_s: float) -> list[str]:
        """Return all labels that the frame at a time has had in M+."""
        return [label for label, label_time_s in self._times_s.items() if label_time_s == time_s]


MAX_REGIONS = 2_000
MAX_DEPTH = 32
"""Deepest region in the tree; a trace may name any."""

FAINTEST = 64.0
"""How many times coarser than aimed at the faintest parts were seen."""

Path = tuple[int, ...]
"""The cells opened on the way from the root grid. A negative number after a cell says that its grid
is looked at between its frames, and by how many half cells it is moved."""


def grid_of_view(view: ViewRecord, run: RunSource) -> Grid | None:
    """Return the grid of a view; None if there is none: see `grid_of`."""
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
    """Return the path of a grid from its cells and its shift."""
    if not shift:
        return list(cells)
    depth, number = shift
    mark = 2 * number
    if number > 0:
        mark = -1 - 2 * number
    return [*cells[:depth], mark, *cells[depth:]]


def regions(run: RunSource) -> list[dict[str, Any]]:
    """Return the regions that were seen or assigned, and their ancestors.

    Parents come first, then regions in order of time. Each has its `path`, a description (`told`),
    its interval in seconds (`span`; None where it is not known), and what the run found there
    (`holds`): evidence, a dead zone, or an empty string.
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
    path = path_of(event)
    paths = list[list[int]]()
    if path is not None:
        paths.append(path)
    if isinstance(event, Assign):
        for sortie in event.sorties:
            paths.append(_path(sortie.path, sortie.shift))
    return [tuple(each) for each in paths if len(each) <= MAX_DEPTH]


def _describe(path: Path, run: RunSource) -> dict[str, Any]:
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
    span = grid.start_s, grid.end_s
    return {"told": f"{name} · {span_text(span)}", "holds": holds, "span": list(span)}


def grid_of(path: Sequence[int] | None, run: RunSource) -> Grid | None:
    """Return the grid of a path; None if there is none, as for a cell that does not exist.

    Args:
        path: The path, as `path_of` returns it.
        run: The run, whose root grid it begins at.
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
"""Most moments of an answer that are listed."""

TruthRow = tuple[str, int | None]
"""What became of a moment, and the step that shows it."""


class Sight(NamedTuple):
    """A grid that an agent was shown."""

    grid: Grid
    dead: frozenset[int]
    """The cells that were black in it."""
    step: int
    who: str


def moments_of(run: RunSource) -> tuple[Span, ...]:
    """Return the moments that hold the answer, each once, in order; none if they are not known."""
    if run.question is None:
        return ()
    return tuple(sorted(set(run.question.evidence_s)))[:MAX_MOMENTS]


def truth_rows(run: RunSource, findings: FindingSteps) -> list[TruthRow]:
    """Return what became of each moment that holds the answer.

    There is nothing to tell of a method that keeps no evidence and shows no grid.
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
    moment: Span, run: RunSource, findings: FindingSteps, grids: list[Sight], is_exact: bool
) -> TruthRow:
    kept = run.evidence.within(*moment)
    if len(kept):
        labels = ", ".join([f"[{label}]" for label in kept.labels])
        return f"{span_text(moment)} was found: {labels}.", findings.of(kept.times_s[0])
    if not grids:
        return f"{span_text(moment)} is not among the evidence.", None
    found = _deepest(moment, grids, is_exact)
    if found is None:
        over = _deepest(moment, grids, False)
        where = ""
        if over is not None:
            sight, cell = over
            where = (
                f"; the deepest grid over it is at depth {sight.grid.depth} (cell {cell}, step "
                f"{sight.step})"
            )
        step = None if over is None else over[0].step
        return f"{span_text(moment)} was missed: no frame of it was shown{where}.", step
    sight, cell = found
    shown = "a cell that covers it was shown"
    if is_exact:
        shown = "it was shown"
    place = f"at depth {sight.grid.depth} in cell {cell} at step {sight.step}"
    dropped = _reported(moment, run)
    fate = "not reported"
    if dropped is not None:
        fate = f"reported as [{dropped}] but not kept"
    return (
        f"{span_text(moment)} was missed: {shown} to {sight.who} {place}, and {fate}.",
        sight.step,
    )


def _reported(moment: Span, run: RunSource) -> str | None:
    """Return the label of a frame of a moment that was evidence once; None if there was none."""
    for report in run.trace.of(Report):
        for item in report.kept:
            if moment[0] <= item.timestamp_s < moment[1]:
                return item.label
    return None


def _grids(run: RunSource) -> Iterator[Sight]:
    """Yield each grid that an agent was shown."""
    for step, event in enumerate(run.trace):
        for view in views_of(event):
            grid = grid_of_view(view, run)
            who = "the Master" if event.worker is None else agent(event)
            if grid is not None:
                yield Sight(grid, frozenset(view.dead), step, who)


def _deepest(moment: Span, grids: list[Sight], is_exact: bool) -> tuple[Sight, int] | None:
    """Return the deepest grid, the first of several, with a cell over a moment, and the cell."""
    cells_of = cells_showing if is_exact else cells_over
    for sight in sorted(grids, key=lambda sight: sight.grid.resolution_s):
        for cell in cells_of(moment, sight.grid):
            if cell not in sight.dead:
                return sight, cell
    return None


def shaded(coverage: Coverage, most: int) -> list[tuple[float, float, float]]:
    """Return what was seen in parts, each with a shade, up to 1 for the step that was aimed at."""
    parts = [part for part in coverage.seen.parts if part[2] > 0][:most]
    aim_s = coverage.goal_s or min((step_s for _, _, step_s in parts), default=1.0)
    shaded = []
    for start_s, end_s, step_s in parts:
        shade = 1 - 0.7 * math.log(step_s / aim_s) / math.log(FAINTEST)
        shaded.append((start_s, end_s, round(min(max(shade, 0.3), 1.0), 2)))
    return shaded


def cells_showing(moment: Span, grid: Grid) -> range:
    """Return the cells of a grid whose midpoints lie in a moment."""
    first, last = _positions(moment, grid)
    return range(max(0, math.ceil(first - 0.5)), min(grid.size, math.ceil(last - 0.5)))


def cells_over(moment: Span, grid: Grid) -> range:
    """Return the cells of a grid that overlap a moment."""
    first, last = _positions(moment, grid)
    return range(max(0, math.floor(first)), min(grid.size, math.ceil(last)))


def _positions(moment: Span, grid: Grid) -> tuple[float, float]:
    """Return where the part of a moment within a grid begins and ends, in cells."""
    start_s = max(moment[0], grid.start_s)
    end_s = min(moment[1], grid.end_s)
    return (start_s - grid.start_s) / grid.resolution_s, (end_s - grid.start_s) / grid.resolution_s
