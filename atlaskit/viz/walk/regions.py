"""The tree of explored regions in the walkthrough: opened grids, evidence, dead zones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from atlaskit.environment.grid import Grid, Shift
from atlaskit.environment.question import Span
from atlaskit.errors import InputError
from atlaskit.runs.events import Assign, Event, Report, Scout, ViewRecord
from atlaskit.runs.narrate import counted, span_text
from atlaskit.viz.walk.source import RunSource

MAX_REGIONS = 2_000
MAX_DEPTH = 32
"""Deepest region in the tree; a trace may name any."""

Path = tuple[int, ...]
"""The cells opened on the way from the root grid. A negative number after a cell says that its grid
is looked at between its frames, and by how many half cells it is moved."""


def grid_of_view(view: ViewRecord, within: Span | None, k: int | None) -> Grid | None:
    """Return the grid of a view; None if there is none: see `grid_of`."""
    if view.stretch_s is None:
        return grid_of(_path(view.path, view.shift), within, k)
    try:
        return Grid(*view.stretch_s, view.k)
    except InputError:  # a trace may name any stretch
        return None


def path_of(event: Event) -> list[int] | None:
    """Return the path of the grid that an event is about; None if it is about none."""
    place = event if isinstance(event, Report) else getattr(event, "view", None)
    if isinstance(event, Scout):
        return list(event.path)
    return None if place is None else _path(place.path, place.shift)


def _path(cells: Sequence[int], shift: Sequence[int]) -> list[int]:
    """Return the path of a grid from its cells and its shift."""
    if not shift:
        return list(cells)
    depth, number = shift
    return [*cells[:depth], -1 - 2 * number if number > 0 else 2 * number, *cells[depth:]]


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
    return [{"path": list(path), **_describe(path, run)} for path in islice(sorted(paths), MAX_REGIONS)]


def _paths_named_by(event: Event) -> Iterable[Path]:
    path = path_of(event)
    paths = [path] if path is not None else []
    if isinstance(event, Assign):
        paths += [_path(assignment.path, assignment.shift) for assignment in event.sorties]
    return [tuple(each) for each in paths if len(each) <= MAX_DEPTH]


def _describe(path: Path, run: RunSource) -> dict[str, Any]:
    name = f"whole {run.scope}"
    if path:
        name = "between its frames" if path[-1] < 0 else f"cell {path[-1]:,}"
    grid = grid_of(path, run.within, run.k)
    if grid is None:
        return {"told": name, "holds": "", "span": None}
    count = len(run.evidence.within(grid.start_s, grid.end_s))
    holds = f"{counted(count, 'frame')} of evidence" if count else ""
    if not count and run.memory.dead_zones.coverage(grid.start_s, grid.end_s) >= 1:
        holds = "dead zone"
    span = grid.start_s, grid.end_s
    return {"told": f"{name} · {span_text(span)}", "holds": holds, "span": list(span)}


def grid_of(path: Sequence[int] | None, within: Span | None, k: int | None) -> Grid | None:
    """Return the grid of a path; None if there is none, as for a cell that does not exist.

    Args:
        path: The path, as `path_of` returns it.
        within: The interval of the root grid; None where it is not known.
        k: Cells per side; None for a run without grids.
    """
    if path is None or within is None or k is None or len(path) > MAX_DEPTH:
        return None
    moved = next((place for place, cell in enumerate(path) if cell < 0), None)
    shift: Shift = () if moved is None else (moved, path[moved] // 2 if path[moved] % 2 == 0 else -1 - path[moved] // 2)
    try:
        return Grid(*within, k, tuple(cell for cell in path if cell >= 0), shift)
    except InputError:  # the path names a cell that does not exist
        return None
