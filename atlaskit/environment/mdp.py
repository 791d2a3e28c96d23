"""The Markov decision process as pure functions of an immutable state (paper §3.1).

`legal_set` returns the actions that a `State` allows, and `transition` the state after an action.
This module knows nothing of pixels: `Atlas` binds the process to one video. An agent can name only
the cells that the legal set lists: it cannot select what it cannot see.

The messages of `IllegalAction` are returned to the model, so they are part of the keys of recorded
replies: do not change their text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from atlaskit.environment import actions
from atlaskit.environment.actions import (
    ACTIONS,
    Action,
    Direction,
    Investigate,
    Zoom,
    cells_of,
    name_of,
)
from atlaskit.environment.grid import SUB_SECOND, Cell, Grid
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.question import Span
from atlaskit.errors import IllegalAction

SCAN_K = 3
"""A context scan shows SCAN_K² frames."""
Traversal = Literal["dfs", "bfs"]
"""How a worker explores: "dfs" expands and backtracks, "bfs" marks cells for later visits."""


@dataclass(frozen=True)
class Rules:
    """The constants of one exploration."""

    duration_s: float
    """Duration of the video in seconds."""
    max_depth: int
    """Depth of the deepest grid that an agent may expand to."""
    traversal: Traversal = "dfs"
    keeps_scans: bool = False
    """Whether the frames of a context scan can be added to the scratchpad. Their numbers follow
    those of the cells of the current grid."""
    min_span_s: float = SUB_SECOND
    """Span in seconds below which a cell cannot be expanded."""

    def can_open(self, grid: Grid) -> bool:
        """Return whether the cells of a grid may be expanded: not too short, not too deep."""
        return grid.depth < self.max_depth and grid.resolution_s >= self.min_span_s


@dataclass(frozen=True)
class State:
    """Position and memory of an agent: S = (position, depth, M+, M−, stack) (paper §3.1)."""

    grid: Grid
    """The current grid."""
    rules: Rules
    region_depth: int = 0
    """Depth of the agent's region, above which it cannot backtrack."""
    scratchpad: Scratchpad = Scratchpad()
    dead_zones: DeadZones = DeadZones()
    marked: tuple[Grid, ...] = ()
    """Grids of the cells marked promising: a first-in, first-out queue."""
    looking_at: Zoom | Investigate | None = None
    """The last action, if it asks for a frame or a context scan."""
    finished: bool = False
    """Whether the agent declared the region explored."""

    @property
    def position(self) -> tuple[float, float]:
        """(centre, span) of the current grid in seconds."""
        return self.grid.centre_s, self.grid.span_s

    @property
    def depth(self) -> int:
        """Depth of the current grid."""
        return self.grid.depth

    @property
    def region(self) -> Grid:
        """The grid that the agent was sent to explore."""
        return replace(self.grid, path=self.grid.path[: self.region_depth])

    @property
    def stack(self) -> tuple[Grid, ...]:
        """Navigation stack σ: the grids from the region down to the parent of the current grid."""
        path = self.grid.path
        depths = range(self.region_depth, self.depth)
        return tuple(replace(self.grid, path=path[:depth]) for depth in depths)

    @cached_property
    def dead_cells(self) -> frozenset[int]:
        """Indices of the cells of the current grid that lie wholly in dead zones."""
        return dead_cells(self.grid, self.dead_zones)

    @cached_property
    def alive(self) -> tuple[Cell, ...]:
        """The cells of the current grid that do not lie wholly in dead zones."""
        return tuple(cell for cell in self.grid.cells if cell.index not in self.dead_cells)

    @cached_property
    def expandable(self) -> tuple[int, ...]:
        """Indices of the cells that can be expanded or marked, also partly dead ones."""
        if not self.rules.can_open(self.grid):
            return ()
        return tuple(cell.index for cell in self.alive)

    @property
    def markable(self) -> tuple[int, ...]:
        """Indices of the cells that can be marked and are not marked yet."""
        marked = {grid.path for grid in self.marked}
        return tuple(cell for cell in self.expandable if (*self.grid.path, cell) not in marked)

    @property
    def scan(self) -> Grid | None:
        """The grid of the current context scan; None if the last action was no `Investigate`."""
        if not isinstance(self.looking_at, Investigate):
            return None
        cell = self.grid.cells[self.looking_at.cell]
        direction = self.looking_at.direction
        return Grid(*scan_interval(cell, direction, self.rules.duration_s), SCAN_K)

    def cell(self, number: int) -> Cell:
        """Return the cell with a number: of the current grid or, from its size on, of the scan."""
        if number < self.grid.size or self.scan is None:
            return self.grid.cells[number]
        return replace(self.scan.cells[number - self.grid.size], index=number)

    @property
    def addable(self) -> tuple[int, ...]:
        """Numbers of the cells whose frame can be added to the scratchpad.

        Frames in dead zones and frames that the scratchpad already holds cannot be added. If the
        rules keep scans, the cells of a scan that lie in the region follow those of the grid.
        """
        shown = list(self.alive)
        region = self.region
        if self.rules.keeps_scans and self.scan is not None:
            for number in range(self.grid.size, self.grid.size + self.scan.size):
                cell = self.cell(number)
                if region.start_s <= cell.start_s and cell.end_s <= region.end_s:
                    shown.append(cell)
        times_s = set(self.scratchpad.times_s)
        spans_s = {(item.start_s, item.end_s) for item in self.scratchpad}
        new = list[int]()
        for cell in shown:
            is_known = cell.midpoint_s in times_s or (cell.start_s, cell.end_s) in spans_s
            if not is_known and not self.dead_zones.contain(cell.midpoint_s):
                new.append(cell.index)
        return tuple(new)

    @cached_property
    def legal(self) -> LegalSet:
        """The actions that the state allows."""
        return legal_set(self)


@dataclass(frozen=True)
class LegalSet:
    """The actions that a state allows, each with the indices of the cells it may name.

    The JSON Schema of a model's reply is made from this set. `legal["zoom"]` are the cells that can
    be zoomed in on; `"backtrack" in legal` says whether the agent can backtrack.
    """

    cells: dict[str, tuple[int, ...]]
    """Indices of cells by the kind of action, a name in `ACTIONS`. A legal kind that names no cell
    has (); a kind that is not legal is missing."""

    def __getitem__(self, name: str) -> tuple[int, ...]:
        return self.cells.get(name, ())

    def __contains__(self, name: str) -> bool:
        return name in self.cells

    def check(self, action: Action) -> None:
        """Raise an error unless the action is in the set.

        Raises:
            IllegalAction: The set lacks the action, or one of the cells it names.
        """
        name = name_of(action)
        named = cells_of(action)
        kind = ACTIONS[name]
        legal = self[name]
        if kind.takes != "nothing" and not named:
            raise IllegalAction(f"{kind.title} names no cell.")
        for cell in named:
            if cell not in legal:
                listed = ", ".join(map(str, legal)) or "none"
                raise IllegalAction(
                    f"{kind.title} cannot take cell {cell} here; the cells it can take: {listed}."
                )
        if name not in self:
            raise IllegalAction(
                f"{action} is not legal here; legal is {', '.join(self.cells) or 'nothing'}."
            )


def legal_set(state: State) -> LegalSet:
    """Return the actions that a state allows: none if the agent finished, none on dead cells."""
    legal = dict[str, tuple[int, ...]]()
    if state.finished:
        return LegalSet(legal)
    for name, kind in ACTIONS.items():
        if kind.traversal not in ("", state.rules.traversal):
            continue
        cells = kind.legal(state)
        if cells:  # `True` stands for a legal action that names no cell
            legal[name] = () if isinstance(cells, bool) else tuple(cells)
    return LegalSet(legal)


def transition(state: State, action: Action) -> State:
    """Return the state after an action.

    Raises:
        IllegalAction: The action is not in the state's legal set.
    """
    state.legal.check(action)
    after = EFFECTS[type(action)](state, action)
    if isinstance(action, Zoom | Investigate):
        return after
    return replace(after, looking_at=None)


def _mark(state: State, action: actions.MarkPromising) -> State:
    grids = map(state.grid.expand, dict.fromkeys(action.cells))
    return replace(state, marked=(*state.marked, *grids))


def _add(state: State, action: actions.AddToScratchpad) -> State:
    """Add claims as evidence; interval and time come from the cell, not from the agent."""
    found = list[Evidence]()
    for claim in action.items:
        cell = state.cell(claim.cell)
        evidence = Evidence(
            timestamp_s=cell.midpoint_s if claim.timestamp_s is None else claim.timestamp_s,
            start_s=cell.start_s,
            end_s=cell.end_s,
            description=claim.description,
            confidence=claim.confidence,
            subtitle=claim.subtitle,
        )
        found.append(evidence)
    return replace(state, scratchpad=state.scratchpad.add(found))


EFFECTS: dict[type[Action], Callable[[State, Any], State]] = {
    actions.Expand: lambda state, action: replace(state, grid=state.grid.expand(action.cell)),
    actions.Backtrack: lambda state, action: replace(state, grid=state.grid.parent()),
    actions.MarkPromising: _mark,
    actions.Zoom: lambda state, action: replace(state, looking_at=action),
    actions.Investigate: lambda state, action: replace(state, looking_at=action),
    actions.AddToScratchpad: _add,
    actions.Finished: lambda state, action: replace(state, finished=True),
}
"""The effect of each legal action on a state."""


def dead_cells(grid: Grid, zones: DeadZones) -> frozenset[int]:
    """Return the indices of the cells that lie wholly in dead zones."""
    return frozenset(cell.index for cell in grid.cells if zones.covers(cell.start_s, cell.end_s))


def scan_interval(cell: Cell, direction: Direction, duration_s: float) -> Span:
    """Return the interval of a context scan in seconds, clipped to the video.

    It is as long as the cell, but at least one second.
    """
    span_s = max(cell.span_s, SUB_SECOND)
    if direction == "before":
        return max(0.0, cell.start_s - span_s), cell.start_s
    return cell.end_s, min(duration_s, cell.end_s + span_s)
