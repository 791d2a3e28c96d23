"""VideoAtlas as a Markov decision process (paper §3.1): states, actions, the legal set, and what is seen.

`transition` and `legal_set` are pure functions of a frozen state and know no pixels; `observe` adds the picture.
`Atlas` binds them to one video and one setting. An agent names cells, never times, and only cells that the legal set
lists: it cannot select what it cannot see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.grid import SUB_SECOND, Cell, Grid, deepest, sub_second_depth
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.question import Span
from atlaskit.environment.render import WIDEST_PX, Fit, Labels, Picture, Still, View, are_readable
from atlaskit.errors import IllegalAction, InputError
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Sampling, Video

Direction = Literal["before", "after"]
Traversal = Literal["dfs", "bfs"]
Cells = Literal["compact", "full"]
"""How cells are told of beside the picture: only what it does not show, or one by one as in the paper."""

SCAN_K = 3
"""A context scan shows SCAN_K² frames."""


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


@dataclass(frozen=True)
class Observation:
    """What an agent is shown."""

    state: State
    view: View
    """The current grid, dead cells black."""
    subtitles: tuple[Line, ...]
    """Every line spoken during the grid's interval."""
    legal: LegalSet
    looking_at: Picture | None = None
    """The frame or the context scan that the last action asked for."""
    cells: Cells = "compact"

    def _repr_jpeg_(self) -> tuple[bytes, dict[str, int]] | None:
        return (self.looking_at or self.view)._repr_jpeg_()


@dataclass(frozen=True)
class Look:
    """How grids are drawn."""

    cell: int = 320
    fit: Fit = "contain"
    labels: Labels = "index"
    subtitles: bool = True
    """Whether agents are given the subtitles."""
    sampling: Sampling = "midpoint"
    """Which frame stands for a cell."""
    cells: Cells = "compact"


def observe(state: State, video: Video, look: Look, cache: Cache) -> Observation:
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


def view_of(state: State, video: Video, look: Look, cache: Cache) -> View:
    """Return a state's grid as a picture."""
    return View(video, state.grid, look.cell, look.fit, look.labels, state.dead_cells, look.sampling, cache)


def _looking_at(state: State, view: View) -> Picture | None:
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
        self.look = Look(self.cell, self.fit, self.labels, self.subtitles, self.sampling, self.cells)
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
