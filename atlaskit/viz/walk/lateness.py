"""`older_than`: what a picture does not show yet that is known at its step.

A picture may be older than its step. The Master scores the next round while workers explore, so it
sees the grid as it was before their reports, and in the trace its reply follows them.
"""

from __future__ import annotations

from atlaskit.environment.grid import listed
from atlaskit.environment.mdp import dead_cells
from atlaskit.environment.memory import DeadZones
from atlaskit.errors import InputError
from atlaskit.runs.events import Event
from atlaskit.runs.narrate import MAX_LISTED
from atlaskit.runs.replay import memories
from atlaskit.viz.walk.regions import grid_of, path_of
from atlaskit.viz.walk.source import RunSource
from atlaskit.viz.walk.truth import view_of

MAX_CELLS = 1_024
"""Most cells of a grid that are compared with the dead zones; a trace may name any number."""

Change = tuple[int, DeadZones]
"""The index of an event that changed the dead zones, and the dead zones after it."""


def older_than(run: RunSource) -> dict[int, str]:
    """Return what pictures of the Master's do not show yet, in words, by the index of their event.

    A picture that shows all that is ruled out by its step has an empty text. A worker's has no
    entry: it shows a region of the worker's own.
    """
    told, changes, before = dict[int, str](), list[Change](), DeadZones()
    try:
        for index, (event, memory) in enumerate(zip(run.trace, memories(run.trace), strict=False)):
            if event.worker is None and changes:
                told[index] = _told(event, changes, run)
            if memory.dead_zones != before:
                changes.append((index, memory.dead_zones))
            before = memory.dead_zones
    except InputError:  # the trace contradicts itself from here on
        pass
    return told


def _told(event: Event, changes: list[Change], run: RunSource) -> str:
    """Return the cells that are drawn in a picture although earlier steps ruled them out."""
    view, grid = view_of(event), grid_of(path_of(event), run.within, run.k)
    if view is None or grid is None or grid.size > MAX_CELLS:
        return ""
    drawn = set(range(grid.size)) - set(view.dead)
    late, steps = drawn & dead_cells(grid, changes[-1][1]), list[int]()
    if not late:
        return ""
    for index, zones in reversed(changes[-MAX_LISTED:]):
        if not drawn & dead_cells(grid, zones):
            break
        steps.insert(0, index)
    *others, last = map(str, steps)
    named = f"steps {', '.join(others)} and {last}" if others else f"step {last}"
    cells = f"cell{'' if len(late) == 1 else 's'} {listed(sorted(late))}"
    return f"before {named} ruled out {cells}, which {'is' if len(late) == 1 else 'are'} not black in it yet"
