"""`truth_rows`: for each moment that holds the answer, whether the run kept, saw or missed it.

Questions of AtlasWorld know these moments (`Question.evidence_s`). A moment was seen if the frame
of a cell that was shown lies in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Span
from atlaskit.runs.events import Report
from atlaskit.runs.narrate import agent, span_text
from atlaskit.runs.replay import views_of
from atlaskit.viz.walk.findings import FindingSteps
from atlaskit.viz.walk.regions import grid_of_view
from atlaskit.viz.walk.source import RunSource

MAX_MOMENTS = 64
"""Most moments that are told of."""

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
    known = () if run.question is None else run.question.evidence_s
    return tuple(sorted(dict.fromkeys(known)))[:MAX_MOMENTS]


def truth_rows(run: RunSource, findings: FindingSteps) -> list[TruthRow]:
    """Return what became of each moment that holds the answer.

    There is nothing to tell of a method that keeps no evidence and shows no grid.
    """
    moments = moments_of(run)
    grids = list(_grids(run)) if moments else []
    if not grids and not run.evidence:
        return []
    rules = [run.settings.get(name, "midpoint") for name in ("sampling", "second_look")]
    is_exact = all(rule in ("midpoint", True, False) for rule in rules)
    return [_row(moment, run, findings, grids, is_exact) for moment in moments]


def _row(moment: Span, run: RunSource, findings: FindingSteps, grids: list[Sight], is_exact: bool) -> TruthRow:
    kept = [item for item in run.evidence if moment[0] <= item.timestamp_s < moment[1]]
    if kept:
        labels = ", ".join(f"[{item.label}]" for item in kept)
        return f"{span_text(moment)} was found: {labels}.", findings.of(kept[0].timestamp_s)
    if not grids:
        return f"{span_text(moment)} is not among the evidence.", None
    found = _deepest(moment, grids, is_exact)
    if found is None:
        over = _deepest(moment, grids, False)
        where = ""
        if over is not None:
            sight, cell = over
            where = f"; the deepest grid over it is at depth {sight.grid.depth} (cell {cell}, step {sight.step})"
        return f"{span_text(moment)} was missed: no frame of it was shown{where}.", over and over[0].step
    sight, cell = found
    shown = "it was shown" if is_exact else "a cell that covers it was shown"
    place = f"at depth {sight.grid.depth} in cell {cell} at step {sight.step}"
    dropped = _reported(moment, run)
    fate = "not reported" if dropped is None else f"reported as [{dropped}] but not kept"
    return f"{span_text(moment)} was missed: {shown} to {sight.who} {place}, and {fate}.", sight.step


def _reported(moment: Span, run: RunSource) -> str | None:
    """Return the label of a frame of a moment that was evidence once; None if there was none."""
    items = (item for report in run.trace.of(Report) for item in report.kept)
    return next((item.label for item in items if moment[0] <= item.timestamp_s < moment[1]), None)


def _grids(run: RunSource) -> Iterator[Sight]:
    """Yield each grid that an agent was shown."""
    for step, event in enumerate(run.trace):
        for view in views_of(event):
            grid = grid_of_view(view, run.within, run.k)
            if grid is not None:
                yield Sight(grid, frozenset(view.dead), step, "the Master" if event.worker is None else agent(event))


def _deepest(moment: Span, grids: list[Sight], is_exact: bool) -> tuple[Sight, int] | None:
    """Return the deepest grid, the first of several, with a cell over a moment, and the cell."""
    for sight in sorted(grids, key=lambda sight: sight.grid.resolution_s):
        for cell in cells_showing(moment, sight.grid) if is_exact else cells_over(moment, sight.grid):
            if cell not in sight.dead:
                return sight, cell
    return None


def cells_showing(moment: Span, grid: Grid) -> range:
    """Return the cells of a grid whose midpoints lie in a moment."""
    first, last = ((time_s - grid.start_s) / grid.resolution_s - 0.5 for time_s in moment)
    return range(max(0, math.ceil(first)), min(grid.size, math.ceil(last)))


def cells_over(moment: Span, grid: Grid) -> range:
    """Return the cells of a grid that overlap a moment."""
    first, last = ((time_s - grid.start_s) / grid.resolution_s for time_s in moment)
    return range(max(0, math.floor(first)), min(grid.size, math.ceil(last)))
