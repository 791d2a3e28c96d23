"""`State`, `LegalSet`, `legal_set` and `transition`: the Markov decision process as pure functions
(paper §3.1).

`legal_set` and `transition` are pure functions of an immutable state; this module knows nothing of
pixels. `Atlas` binds the process to one video. An agent can name only the cells that the legal set
lists: it cannot select what it cannot see.

The messages of `IllegalAction` are returned to the model, so they are part of the keys of recorded
replies: do not change their text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from atlaskit.environment.actions import (
    Action,
    AddToScratchpad,
    Backtrack,
    Claim,
    Direction,
    Expand,
    Finished,
    Investigate,
    MarkPromising,
    Zoom,
)
from atlaskit.environment.grid import SUB_SECOND, Cell, Grid
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.question import Span
from atlaskit.errors import IllegalAction

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
    min_span_s: float = SUB_SECOND
    """Span in seconds below which a cell cannot be expanded."""


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
        return tuple(replace(self.grid, path=self.grid.path[:d]) for d in range(self.region_depth, self.depth))

    @cached_property
    def dead_cells(self) -> frozenset[int]:
        """Indices of the cells of the current grid that lie wholly in dead zones."""
        return dead_cells(self.grid, self.dead_zones)

    @cached_property
    def legal(self) -> LegalSet:
        """The actions that the state allows."""
        return legal_set(self)


@dataclass(frozen=True)
class LegalSet:
    """The actions that a state allows, each with the indices of the cells it may name.

    The JSON Schema of a model's reply is made from it.
    """

    expand: tuple[int, ...]
    backtrack: bool
    mark: tuple[int, ...]
    zoom: tuple[int, ...]
    investigate_before: tuple[int, ...]
    investigate_after: tuple[int, ...]
    add: tuple[int, ...]
    finished: bool

    @property
    def cells(self) -> dict[str, tuple[int, ...]]:
        """The cells that each action may name, by the action's name; a scan has two."""
        cells = {"expand": self.expand, "mark_promising": self.mark, "zoom": self.zoom}
        cells |= {"investigate_before": self.investigate_before, "investigate_after": self.investigate_after}
        return {**cells, "add_to_scratchpad": self.add}

    def check(self, action: Action) -> None:
        """Raise an error unless the action is in the set.

        Raises:
            IllegalAction: The set lacks the action, or one of the cells it names.
        """
        match action:
            case Expand(cell):
                _require("Expand", [cell], self.expand)
            case Zoom(cell):
                _require("Zoom", [cell], self.zoom)
            case Investigate(cell, "before"):
                _require("Investigate before", [cell], self.investigate_before)
            case Investigate(cell, "after"):
                _require("Investigate after", [cell], self.investigate_after)
            case MarkPromising(cells):
                _require("MarkPromising", cells, self.mark)
            case AddToScratchpad(items):
                _require("AddToScratchpad", [item.cell for item in items], self.add)
            case Backtrack() if self.backtrack:
                pass
            case Finished() if self.finished:
                pass
            case _:
                raise IllegalAction(f"{action} is not legal here; legal is {self}.")


def _require(name: str, cells: Sequence[int], legal: Sequence[int]) -> None:
    """Raise IllegalAction unless an action names at least one cell, and only legal ones."""
    if not cells:
        raise IllegalAction(f"{name} names no cell.")
    wrong = [cell for cell in cells if cell not in legal]
    if wrong:
        listed = ", ".join(map(str, legal)) or "none"
        raise IllegalAction(f"{name} cannot take cell {wrong[0]} here; the cells it can take: {listed}.")


def legal_set(state: State) -> LegalSet:
    """Return the actions that a state allows.

    Dead cells allow nothing. Cells to expand or mark are not too short, too deep or marked before.
    Cells to add are not in the scratchpad, and their midpoint is not in a dead zone. A cell that is
    dead only in part can be expanded.
    """
    if state.finished:
        return LegalSet((), False, (), (), (), (), (), False)
    rules = state.rules
    alive = [cell for cell in state.grid.cells if cell.index not in state.dead_cells]
    expandable = _expandable(state, alive)
    marked = {grid.path for grid in state.marked}
    is_dfs, is_bfs = rules.traversal == "dfs", rules.traversal == "bfs"
    return LegalSet(
        expand=expandable if is_dfs else (),
        backtrack=is_dfs and state.depth > state.region_depth,
        mark=tuple(i for i in expandable if (*state.grid.path, i) not in marked) if is_bfs else (),
        zoom=tuple(cell.index for cell in alive),
        investigate_before=tuple(cell.index for cell in alive if cell.start_s > 0),
        investigate_after=tuple(cell.index for cell in alive if cell.end_s < rules.duration_s),
        add=_addable(state, alive),
        finished=True,
    )


def _expandable(state: State, alive: Sequence[Cell]) -> tuple[int, ...]:
    if state.depth >= state.rules.max_depth:
        return ()
    return tuple(cell.index for cell in alive if cell.span_s >= state.rules.min_span_s)


def _addable(state: State, alive: Sequence[Cell]) -> tuple[int, ...]:
    """Return the cells whose frame is not in the scratchpad, nor in a dead zone."""
    timestamps_s = {item.timestamp_s for item in state.scratchpad}
    intervals_s = {(item.start_s, item.end_s) for item in state.scratchpad}
    return tuple(
        cell.index
        for cell in alive
        if cell.midpoint_s not in timestamps_s
        and (cell.start_s, cell.end_s) not in intervals_s
        and not state.dead_zones.contain(cell.midpoint_s)
    )


def transition(state: State, action: Action) -> State:
    """Return the state after an action.

    Raises:
        IllegalAction: The action is not in the state's legal set.
    """
    state.legal.check(action)
    state = replace(state, looking_at=None)
    match action:
        case Expand(cell):
            return replace(state, grid=state.grid.expand(cell))
        case Backtrack():
            return replace(state, grid=state.grid.parent())
        case MarkPromising(cells):
            grids = tuple(state.grid.expand(cell) for cell in dict.fromkeys(cells))
            return replace(state, marked=state.marked + grids)
        case Zoom() | Investigate():
            return replace(state, looking_at=action)
        case AddToScratchpad(items):
            found = [_evidence(state.grid.cells[item.cell], item) for item in items]
            return replace(state, scratchpad=state.scratchpad.add(found))
        case Finished():
            return replace(state, finished=True)


def _evidence(cell: Cell, claim: Claim) -> Evidence:
    """Return a claim as evidence; interval and time come from the cell, not from the agent."""
    return Evidence(
        timestamp_s=cell.midpoint_s if claim.timestamp_s is None else claim.timestamp_s,
        start_s=cell.start_s,
        end_s=cell.end_s,
        description=claim.description,
        confidence=claim.confidence,
        subtitle=claim.subtitle,
    )


def dead_cells(grid: Grid, zones: DeadZones) -> frozenset[int]:
    """Return the indices of the cells that lie wholly in dead zones."""
    return frozenset(cell.index for cell in grid.cells if zones.covers(cell.start_s, cell.end_s))


def scan_interval(cell: Cell, direction: Direction, duration_s: float) -> Span:
    """Return the interval of a context scan in seconds, clipped to the video.

    It spans as much as the cell, and at least a second.
    """
    span_s = max(cell.span_s, SUB_SECOND)
    if direction == "before":
        return max(0.0, cell.start_s - span_s), cell.start_s
    return cell.end_s, min(duration_s, cell.end_s + span_s)
