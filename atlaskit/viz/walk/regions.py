"""The tree of the regions that a run looked into: which grids were opened, which hold evidence, which are ruled out.

Knows nothing of the steps in which that happened, but for the place that each is about.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones
from atlaskit.errors import InputError
from atlaskit.runs import replay
from atlaskit.runs.events import AssignData, EventData, ReportData
from atlaskit.viz.html import reprs
from atlaskit.viz.walk.source import RunSource, form_in

MOST_REGIONS = 2_000
DEEPEST = 32
"""Levels of a path; a trace may name any number."""

Path = tuple[int, ...]


def path_of(form: EventData | None) -> list[int] | None:
    """Return the path of the grid that an event is about, None if it is about none."""
    if isinstance(form, ReportData):
        return list(form.path)
    seen = getattr(form, "view", None)
    return None if seen is None else list(seen.path)


def regions(run: RunSource, most: int = MOST_REGIONS) -> list[dict[str, Any]]:
    """Return each region that was looked into or handed out, and those it lies in: parents first, then by time.

    Of each: its `path`, what it is in words (`told`), and whether there is evidence in it or it is ruled out (`holds`).
    """
    paths = set[Path]()
    for form in map(form_in, run.trace):
        for path in _named(form):
            paths |= {path[:depth] for depth in range(len(path) + 1)}
    zones = _ruled_out(run)
    ordered = islice(sorted(paths), most)
    return [{"path": list(path), **_told(path, run, zones)} for path in ordered]


def _named(form: EventData | None) -> Iterable[Path]:
    path = path_of(form)
    named = [path] if path is not None else []
    if isinstance(form, AssignData):
        named += [sortie.path for sortie in form.sorties]
    return [tuple(each) for each in named if len(each) <= DEEPEST]


def _ruled_out(run: RunSource) -> DeadZones:
    try:
        return replay.memory(run.trace).dead_zones
    except InputError:
        return DeadZones()


def _told(path: Path, run: RunSource, zones: DeadZones) -> dict[str, str]:
    name = f"cell {path[-1]:,}" if path else "the whole video"
    if run.k is None or run.duration_s is None:
        return {"told": name, "holds": ""}
    try:
        grid = Grid(0.0, run.duration_s, run.k, path)
    except InputError:  # there is no such cell
        return {"told": name, "holds": ""}
    count = sum(grid.start_s <= item.timestamp_s < grid.end_s for item in run.evidence)
    holds = f"{count:,} frame{'' if count == 1 else 's'} of evidence" if count else ""
    if not count and zones.coverage(grid.start_s, grid.end_s) >= 1:
        holds = "ruled out"
    return {"told": f"{name} · {reprs.spans_told([(grid.start_s, grid.end_s)])}", "holds": holds}
