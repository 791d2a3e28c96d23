"""VideoAtlas as a Markov decision process (paper §3.1): states, actions, the legal set, and what is seen.

`transition` and `legal_set` are pure functions of a frozen state and know no pixels; `observe` adds the picture.
`Atlas` binds them to one video and one setting. An agent names cells, never times, and only cells that the legal set
lists: it cannot select what it cannot see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from atlaskit.environment.grid import SUB_SECOND, Cell, Grid
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.question import Span
from atlaskit.errors import IllegalAction

Direction = Literal["before", "after"]
Traversal = Literal["dfs", "bfs"]


@dataclass(frozen=True)
class Expand:
    """Open a cell: the next view is the grid of exactly that cell's interval."""

    cell: int


@dataclass(frozen=True)
class Backtrack:
    """Go back to the grid this one was opened from."""


@dataclass(frozen=True)
class MarkPromising:
    """Put cells into the queue of places to look at later (breadth-first workers only)."""

    cells: tuple[int, ...]


@dataclass(frozen=True)
class Zoom:
    """Look at a cell's frame at full size."""

    cell: int


@dataclass(frozen=True)
class Investigate:
    """Look at the frames just before or just after a cell."""

    cell: int
    direction: Direction


@dataclass(frozen=True)
class Claim:
    """What an agent says of a visible cell: its frame, it claims, is evidence."""

    cell: int
    description: str
    confidence: float = 1.0
    subtitle: str = ""
    """What is said during the cell; filled in by the environment, never by an agent."""
    timestamp_s: float | None = None
    """When the cell's frame is shown, if not at its midpoint; filled in by the environment, never by an agent."""


@dataclass(frozen=True)
class AddToScratchpad:
    """Keep the frames of some visible cells as evidence."""

    items: tuple[Claim, ...]


@dataclass(frozen=True)
class Finished:
    """Declare the region explored."""


Action = Expand | Backtrack | MarkPromising | Zoom | Investigate | AddToScratchpad | Finished


@dataclass(frozen=True)
class Rules:
    """What stays fixed while a region is explored."""

    duration_s: float
    max_depth: int
    traversal: Traversal = "dfs"
    min_span_s: float = SUB_SECOND
    """A cell shorter than this is not opened."""


@dataclass(frozen=True)
class State:
    """Where an agent is and what it remembers: S = (position, depth, M+, M−, stack) of the paper's §3.1."""

    grid: Grid
    rules: Rules
    region_depth: int = 0
    """Depth of the grid this agent was sent to: its own root, above which it cannot go."""
    scratchpad: Scratchpad = Scratchpad()
    dead_zones: DeadZones = DeadZones()
    marked: tuple[Grid, ...] = ()
    """First-in-first-out queue of the cells marked promising."""
    looking_at: Zoom | Investigate | None = None
    """What the last action asked to see beside the grid."""
    finished: bool = False

    @property
    def position(self) -> tuple[float, float]:
        """(centre, span) of the current grid, in seconds."""
        return self.grid.centre_s, self.grid.span_s

    @property
    def depth(self) -> int:
        """Depth of the current grid in the hierarchy."""
        return self.grid.depth

    @property
    def region(self) -> Grid:
        """The grid this agent was sent to."""
        return replace(self.grid, path=self.grid.path[: self.region_depth])

    @property
    def stack(self) -> tuple[Grid, ...]:
        """σ: the grids opened on the way from the region to the current grid, the region first."""
        return tuple(replace(self.grid, path=self.grid.path[:d]) for d in range(self.region_depth, self.depth))

    @cached_property
    def dead_cells(self) -> frozenset[int]:
        """The cells of the current grid that lie wholly in dead zones."""
        return dead_cells(self.grid, self.dead_zones)

    @cached_property
    def legal(self) -> LegalSet:
        """What it allows."""
        return legal_set(self)


@dataclass(frozen=True)
class LegalSet:
    """The actions a state allows, each with the cells it may name. A replying model's schema is made from it."""

    expand: tuple[int, ...]
    backtrack: bool
    mark: tuple[int, ...]
    zoom: tuple[int, ...]
    investigate_before: tuple[int, ...]
    investigate_after: tuple[int, ...]
    add: tuple[int, ...]
    finished: bool

    def check(self, action: Action) -> None:
        """Raise IllegalAction, naming the rule, for an action that is not in the set."""
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
    if not cells:
        raise IllegalAction(f"{name} names no cell.")
    wrong = [cell for cell in cells if cell not in legal]
    if wrong:
        listed = ", ".join(map(str, legal)) or "none"
        raise IllegalAction(f"{name} cannot take cell {wrong[0]} here; the cells it can take: {listed}.")


def legal_set(state: State) -> LegalSet:
    """Return what a state allows: nothing that is dead, too short, too deep, above the region, or marked before.

    A cell that is dead in part can be opened; it is no evidence if the moment that it shows is ruled out.
    """
    rules, cells = state.rules, state.grid.cells
    if state.finished:
        return LegalSet((), False, (), (), (), (), (), False)
    dead = state.dead_cells
    open_cells = [cell for cell in cells if cell.index not in dead]
    deeper = state.depth < rules.max_depth
    expandable = tuple(c.index for c in open_cells if deeper and c.span_s >= rules.min_span_s)
    marked = {grid.path for grid in state.marked}
    taken = {item.timestamp_s for item in state.scratchpad}
    kept = {(item.start_s, item.end_s) for item in state.scratchpad}
    return LegalSet(
        expand=expandable if rules.traversal == "dfs" else (),
        backtrack=rules.traversal == "dfs" and state.depth > state.region_depth,
        mark=tuple(i for i in expandable if (*state.grid.path, i) not in marked) if rules.traversal == "bfs" else (),
        zoom=tuple(c.index for c in open_cells),
        investigate_before=tuple(c.index for c in open_cells if c.start_s > 0),
        investigate_after=tuple(c.index for c in open_cells if c.end_s < rules.duration_s),
        add=tuple(
            c.index
            for c in open_cells
            if c.midpoint_s not in taken
            and (c.start_s, c.end_s) not in kept
            and not state.dead_zones.hold(c.midpoint_s)
        ),
        finished=True,
    )


def transition(state: State, action: Action) -> State:
    """Return the state after an action; raise IllegalAction for one outside the legal set."""
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
    """Ground a claim: the time is the cell's own, whatever the agent believes."""
    return Evidence(
        timestamp_s=cell.midpoint_s if claim.timestamp_s is None else claim.timestamp_s,
        start_s=cell.start_s,
        end_s=cell.end_s,
        description=claim.description,
        confidence=claim.confidence,
        subtitle=claim.subtitle,
    )


def dead_cells(grid: Grid, zones: DeadZones) -> frozenset[int]:
    """Return the cells of a grid that lie wholly in dead zones."""
    return frozenset(cell.index for cell in grid.cells if zones.covers(cell.start_s, cell.end_s))


def scan_interval(cell: Cell, direction: Direction, duration_s: float) -> Span:
    """Return the time a context scan covers: as long as the cell but at least a second, cut at the video's ends."""
    span = max(cell.span_s, SUB_SECOND)
    if direction == "before":
        return max(0.0, cell.start_s - span), cell.start_s
    return cell.end_s, min(duration_s, cell.end_s + span)
