"""The environment: `Atlas` binds the MDP to one video and returns what each state shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.grid import Cell, Grid, deepest, sub_second_depth
from atlaskit.environment.mdp import (
    Action,
    AddToScratchpad,
    Investigate,
    LegalSet,
    Rules,
    State,
    Traversal,
    Zoom,
    dead_cells,
    scan_interval,
    transition,
)
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.render import WIDEST_PX, Fit, Labels, LazyImage, Still, View, are_readable
from atlaskit.errors import IllegalAction, InputError
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Sampling, Video

Cells = Literal["compact", "full"]
"""How cells are told of beside the picture: only what it does not show, or one by one as in the paper."""


SCAN_K = 3
"""A context scan shows SCAN_K² frames."""


@dataclass(frozen=True)
class Observation:
    """What an agent is shown."""

    state: State
    view: View
    """The current grid, dead cells black."""
    subtitles: tuple[Line, ...]
    """Every line spoken during the grid's interval."""
    legal: LegalSet
    looking_at: LazyImage | None = None
    """The frame or the context scan that the last action asked for."""
    cells: Cells = "compact"

    def _repr_jpeg_(self) -> tuple[bytes, dict[str, int]] | None:
        return (self.looking_at or self.view)._repr_jpeg_()


@dataclass(frozen=True)
class ViewSettings:
    """How grids are drawn."""

    cell: int = 320
    fit: Fit = "contain"
    labels: Labels = "index"
    subtitles: bool = True
    """Whether agents are given the subtitles."""
    sampling: Sampling = "midpoint"
    """Which frame stands for a cell."""
    cells: Cells = "compact"


def observe(state: State, video: Video, look: ViewSettings, cache: Cache) -> Observation:
    """Return what a state shows of a video."""
    grid, view = state.grid, view_of(state, video, look, cache)
    return Observation(
        state=state,
        view=view,
        subtitles=video.subtitles.between(grid.start_s, grid.end_s) if look.subtitles else (),
        legal=state.legal,
        looking_at=_looking_at(state, view),
        cells=look.cells,
    )


def view_of(state: State, video: Video, look: ViewSettings, cache: Cache) -> View:
    """Return a state's grid as a picture."""
    return View(video, state.grid, look.cell, look.fit, look.labels, state.dead_cells, look.sampling, cache)


def _looking_at(state: State, view: View) -> LazyImage | None:
    match state.looking_at:
        case Zoom(cell):
            return Still(view.video, view.moments[cell], view.cache)
        case Investigate(cell, direction):
            start_s, end_s = scan_interval(view.cells[cell], direction, view.video.duration_s)
            grid = Grid(start_s, end_s, SCAN_K)
            cell_px = min(view.cell, WIDEST_PX // SCAN_K)
            return replace(view, grid=grid, cell=cell_px, labels="time", dead=dead_cells(grid, state.dead_zones))
        case _:
            return None


@dataclass
class Atlas:
    """One video as an environment: `reset`, then `step` with actions, each giving an observation.

    `max_depth` bounds the exploration: 0 is the root grid alone, "auto" the first depth whose cells are shorter than
    a second, and D_max the depth at which they are no longer than a frame. No agent opens a cell that is shorter than a
    second: what happens in one is seen by zooming and investigating.
    """

    video: Video
    k: int = 8
    cell: int = 320
    max_depth: int | Literal["auto"] = "auto"
    fit: Fit = "contain"
    labels: Labels = "index"
    subtitles: bool = True
    traversal: Traversal = "dfs"
    sampling: Sampling = "midpoint"
    cells: Cells = "compact"
    cache: Cache = field(default_factory=default_cache)
    state: State = field(init=False)

    def __post_init__(self) -> None:
        bottom = deepest(self.video.duration_s, self.video.fps, self.k)
        if self.max_depth == "auto":
            depth = sub_second_depth(self.video.duration_s, self.k)
        elif isinstance(self.max_depth, int) and 0 <= self.max_depth <= bottom:
            depth = self.max_depth
        else:
            raise InputError(
                f'max_depth is "auto" or a number from 0 to D_max, which is {bottom} here; got {self.max_depth!r}.'
            )
        if self.traversal not in get_args(Traversal):
            raise InputError(f'traversal is "dfs" or "bfs", got {self.traversal!r}.')
        if self.cells not in get_args(Cells):
            raise InputError(f'cells is "compact" or "full", got {self.cells!r}.')
        self.root = Grid(0.0, self.video.duration_s, self.k)
        self.rules = Rules(self.video.duration_s, depth, self.traversal)
        self.look = ViewSettings(self.cell, self.fit, self.labels, self.subtitles, self.sampling, self.cells)
        self.state = self.start()

    def start(
        self,
        region: Grid | None = None,
        dead_zones: DeadZones = DeadZones(),
        scratchpad: Scratchpad = Scratchpad(),
        traversal: Traversal | None = None,
    ) -> State:
        """Return the state of an agent that is sent to a region (the whole video if none is named).

        It knows the dead zones and the evidence it is given, and may do what a traversal allows (the atlas's own if
        none is named). Raises InputError for a grid that is no region of this video.
        """
        grid = region or self.root
        if replace(grid, path=()) != self.root:
            raise InputError(f"{grid} is not a region of {self.video.name}: open it from the atlas's own root.")
        rules = replace(self.rules, traversal=traversal or self.rules.traversal)
        return State(grid, rules, region_depth=grid.depth, dead_zones=dead_zones, scratchpad=scratchpad)

    def observe(self, state: State) -> Observation:
        """Return what a state shows."""
        return observe(state, self.video, self.look, self.cache)

    def act(self, state: State, action: Action) -> State:
        """Return the state after an action, its evidence grounded in the video; raise IllegalAction if not legal.

        A frame that cannot be decoded is never evidence, and cannot be zoomed into. Where another frame than the
        middle one stands for a cell, one that is kept already or ruled out is no evidence either.
        """
        state.legal.check(action)
        match action:
            case AddToScratchpad(items):
                moments = self._check_readable(state, [item.cell for item in items])
                self._check_new(state, moments)
                cells = state.grid.cells
                grounded = (
                    replace(item, subtitle=self._said(cells[item.cell]), timestamp_s=moment_s)
                    for item, moment_s in zip(items, moments, strict=True)
                )
                action = AddToScratchpad(tuple(grounded))
            case Zoom(cell):
                self._check_readable(state, [cell])
        return transition(state, action)

    def reset(self, region: Grid | None = None) -> Observation:
        """Begin anew, at the root or at a region."""
        self.state = self.start(region)
        return self.observe(self.state)

    def step(self, action: Action) -> Observation:
        """Act, and return what is seen then."""
        self.state = self.act(self.state, action)
        return self.observe(self.state)

    def _check_readable(self, state: State, indices: Sequence[int]) -> list[float]:
        """Return the seconds of some cells' frames; raise IllegalAction for one that cannot be decoded."""
        moments = view_of(state, self.video, self.look, self.cache).moments
        times_s = [moments[index] for index in indices]
        readable = are_readable(self.video, times_s, self.cell, self.fit, self.cache)
        for index, is_readable in zip(indices, readable, strict=True):
            if not is_readable:
                raise IllegalAction(f"Cell {index} is unreadable: its frame cannot be decoded.")
        return times_s

    def _check_new(self, state: State, moments_s: Sequence[float]) -> None:
        """Raise IllegalAction where some moments are ruled out, or are all in the evidence."""
        dead = [moment_s for moment_s in moments_s if state.dead_zones.hold(moment_s)]
        if dead:
            raise IllegalAction(f"The frame at {dead[0]:.2f} s lies in time that is ruled out.")
        if {item.timestamp_s for item in state.scratchpad} >= set(moments_s):
            raise IllegalAction("What these cells show is kept already.")

    def _said(self, cell: Cell) -> str:
        if not self.subtitles:
            return ""
        return " ".join(line.text for line in self.video.subtitles.between(cell.start_s, cell.end_s))
