"""The tree of explored regions in the walkthrough: opened grids, evidence, dead zones."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones
from atlaskit.errors import InputError
from atlaskit.runs import replay
from atlaskit.runs.events import AssignData, EventData, ReportData, ScoutData
from atlaskit.viz.html.phrases import counted, span_text
from atlaskit.viz.walk.source import RunSource, data_or_none

MAX_REGIONS = 2_000
MAX_DEPTH = 32
"""Deepest region in the tree; a trace may name any."""

Path = tuple[int, ...]
"""The cells opened on the way from the root grid."""


def path_of(data: EventData | None) -> list[int] | None:
    """Return the path of the grid that an event is about; None if it is about none."""
    if isinstance(data, ReportData | ScoutData):
        return list(data.path)
    view = getattr(data, "view", None)
    return None if view is None else list(view.path)


def regions(run: RunSource, max_regions: int = MAX_REGIONS) -> list[dict[str, Any]]:
    """Return the regions that were seen or assigned, and their ancestors.

    Parents come first, then regions in order of time. Each has its `path`, a description (`told`),
    and what the run found there (`holds`): evidence, a dead zone, or an empty string.
    """
    paths = set[Path]()
    for data in map(data_or_none, run.trace):
        for path in _paths_named_by(data):
            paths |= {path[:depth] for depth in range(len(path) + 1)}
    dead_zones = _dead_zones(run)
    return [{"path": list(path), **_describe(path, run, dead_zones)} for path in islice(sorted(paths), max_regions)]


def _paths_named_by(data: EventData | None) -> Iterable[Path]:
    path = path_of(data)
    paths = [path] if path is not None else []
    if isinstance(data, AssignData):
        paths += [assignment.path for assignment in data.sorties]
    return [tuple(each) for each in paths if len(each) <= MAX_DEPTH]


def _dead_zones(run: RunSource) -> DeadZones:
    """Return the dead zones at the end of a run; none for a trace that contradicts itself."""
    try:
        return replay.memory(run.trace).dead_zones
    except InputError:
        return DeadZones()


def _describe(path: Path, run: RunSource, dead_zones: DeadZones) -> dict[str, str]:
    name = f"cell {path[-1]:,}" if path else "whole video"
    if run.k is None or run.duration_s is None:
        return {"told": name, "holds": ""}
    try:
        grid = Grid(0.0, run.duration_s, run.k, path)
    except InputError:  # the path names a cell that does not exist
        return {"told": name, "holds": ""}
    count = sum(grid.start_s <= item.timestamp_s < grid.end_s for item in run.evidence)
    holds = f"{counted(count, 'frame')} of evidence" if count else ""
    if not count and dead_zones.coverage(grid.start_s, grid.end_s) >= 1:
        holds = "dead zone"
    return {"told": f"{name} · {span_text((grid.start_s, grid.end_s))}", "holds": holds}
