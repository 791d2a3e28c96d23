"""`Observation`: what an agent receives for a state: view, frame or context scan, subtitle lines,
legal set.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import Literal

from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Investigate, Zoom
from atlaskit.environment.grid import Grid
from atlaskit.environment.image import WIDEST_PX, LazyImage
from atlaskit.environment.mdp import LegalSet, State, dead_cells, scan_interval
from atlaskit.environment.render import Labels, Still, View
from atlaskit.environment.tiles import PATCH_PX, Fit
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Sampling, Video

Cells = Literal["compact", "full"]
"""How the text beside a view describes cells: what the view lacks, or each cell as in the paper."""

SCAN_K = 3
"""A context scan shows SCAN_K² frames."""


@dataclass(frozen=True)
class Observation:
    """What an agent receives for a state. A notebook displays its image."""

    state: State
    view: View
    """The view of the current grid, dead cells black."""
    subtitles: tuple[Line, ...]
    """The subtitle lines during the grid; none if the environment hides them."""
    legal: LegalSet
    looking_at: LazyImage | None = None
    """The frame or the context scan that the last action asked for."""
    cells: Cells = "compact"

    def __repr__(self) -> str:
        looking = f", looking at {self.looking_at!r}" if self.looking_at else ""
        return f"<observation of {self.view!r}{looking}>"

    def lines_by_cell(self) -> dict[int, list[Line]]:
        """Return the subtitle lines of each open cell, by the cell's index.

        A line belongs to the first open cell during which it is shown; if `cells` is "full", to all
        of them.
        """
        view, by_cell = self.view, dict[int, list[Line]]()
        starts_s = [cell.start_s for cell in view.cells]
        for line in self.subtitles:
            first = max(0, bisect_right(starts_s, line.start_s) - 1)
            if self.cells != "full" and first not in view.dead:  # as nearly always; ten hours have 2,000 lines
                by_cell.setdefault(first, []).append(line)
                continue
            last = max(first, bisect_left(starts_s, line.end_s) - 1)
            open_cells = [index for index in range(first, last + 1) if index not in view.dead]
            for index in open_cells if self.cells == "full" else open_cells[:1]:
                by_cell.setdefault(index, []).append(line)
        return dict(sorted(by_cell.items()))

    def _repr_jpeg_(self) -> tuple[bytes, dict[str, int]] | None:
        return (self.looking_at or self.view)._repr_jpeg_()


@dataclass(frozen=True)
class ViewSettings:
    """How observations are drawn and described; the fields are those of `Atlas`."""

    cell: int = 320
    fit: Fit = "contain"
    labels: Labels = "index"
    subtitles: bool = True
    sampling: Sampling = "midpoint"
    cells: Cells = "compact"
    patch: int = PATCH_PX
    between: Sampling | None = None


def observe(state: State, video: Video, settings: ViewSettings, cache: Cache) -> Observation:
    """Return the observation of a state of a video."""
    grid, view = state.grid, view_of(state, video, settings, cache)
    return Observation(
        state=state,
        view=view,
        subtitles=video.subtitles.between(grid.start_s, grid.end_s) if settings.subtitles else (),
        legal=state.legal,
        looking_at=_looking_at(state, view),
        cells=settings.cells,
    )


def view_of(state: State, video: Video, settings: ViewSettings, cache: Cache) -> View:
    """Return the view of a state's grid, dead cells black."""
    sampling = settings.between if settings.between and state.grid.shift else settings.sampling
    look, dead = settings, state.dead_cells
    return View(video, state.grid, look.cell, look.fit, look.labels, dead, sampling, cache, look.patch)


def _looking_at(state: State, view: View) -> LazyImage | None:
    """Return the frame or the context scan that the last action asked for."""
    match state.looking_at:
        case Zoom(cell):
            return Still(view.video, view.moments[cell], view.cache)
        case Investigate(cell, direction):
            start_s, end_s = scan_interval(view.cells[cell], direction, view.video.duration_s)
            grid = Grid(start_s, end_s, SCAN_K)
            cell_px = min(view.cell, WIDEST_PX // SCAN_K)
            dead = dead_cells(grid, state.dead_zones)
            return replace(view, grid=grid, cell=cell_px, labels="time", dead=dead)
        case _:
            return None
