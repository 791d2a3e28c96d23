"""`older_than`: what a picture does not show yet that is known at its step.

A picture may be older than its step. The Master scores the next round while workers explore, so it
sees the grid as it was before their reports, and in the trace its reply follows them.
"""

from __future__ import annotations

from atlaskit.environment.grid import listed
from atlaskit.environment.mdp import dead_cells
from atlaskit.environment.memory import DeadZones
from atlaskit.errors import InputError
from atlaskit.runs.narrate import counted
from atlaskit.runs.replay import memories
from atlaskit.viz.walk.regions import grid_of, path_of
from atlaskit.viz.walk.source import RunSource
from atlaskit.viz.walk.truth import view_of

MAX_CELLS = 1_024
"""Most cells of a grid that are compared with the dead zones; a trace may name any number."""


def older_than(run: RunSource) -> dict[int, str]:
    """Return what pictures of the Master's do not show yet, in words, by the index of their event.

    A picture that shows all that is ruled out by its step has no entry, and neither has a worker's:
    it shows a region of the worker's own.
    """
    told, zones = dict[int, str](), DeadZones()
    try:
        for index, (event, memory) in enumerate(zip(run.trace, memories(run.trace), strict=False)):
            view, grid = view_of(event), grid_of(path_of(event), run.within, run.k)
            dead = dead_cells(grid, zones) if grid is not None and grid.size <= MAX_CELLS else frozenset()
            if event.worker is None and view is not None and (late := sorted(dead - set(view.dead))):
                told[index] = f"before {counted(len(late), 'cell')} ({listed(late)}) had been ruled out"
            zones = memory.dead_zones
    except InputError:  # the trace contradicts itself from here on
        pass
    return told
