"""`Atlas`: runs the Markov decision process on one video; each step returns an `Observation`."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment import grid as geometry
from atlaskit.environment.actions import Action, AddToScratchpad, Claim, Zoom, cells_of
from atlaskit.environment.grid import SUB_SECOND, Cell, Grid, clock
from atlaskit.environment.image import WIDEST_PX, LazyImage
from atlaskit.environment.mdp import (
    SCAN_K,
    LegalSet,
    Rules,
    State,
    Traversal,
    dead_cells,
    transition,
)
from atlaskit.environment.memory import MAX_SHEET_ITEMS, DeadZones, Scratchpad
from atlaskit.environment.question import Span
from atlaskit.environment.render import Sheet, Still, View, root_grid, squared
from atlaskit.environment.tiles import PATCH_PX, Fit, Labels, Look, are_readable
from atlaskit.errors import IllegalAction, InputError, check_flags
from atlaskit.video.opening import as_video
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Sampling, Video

Cells = Literal["compact", "full"]
"""How the text beside a view describes cells: "compact" gives only facts that the view does not
show, "full" describes each cell as in the paper."""

EVEN_S = 5.0
"""A sheet of a stretch whose step is at most this many seconds shows the frames at the midpoints of
its cells, whatever the sampling. So fine a sheet serves to find where an event begins, or to prove
that no event lasts as long as a step. For both, no gap between frames may exceed the step."""
SHEET_PX = 2560
"""Width of a ruled sheet of few items, whose frames are larger than those of a grid."""


@dataclass(frozen=True)
class Observation:
    """The observation of a state, which an agent receives. A notebook displays its image."""

    state: State
    view: View
    """The view of the current grid, dead cells black."""
    subtitles: tuple[Line, ...]
    """The subtitle lines during the grid; empty if the environment hides them."""
    legal: LegalSet
    looking_at: LazyImage | None = None
    """The frame or the context scan that the last action asked for."""
    cells: Cells = "compact"
    """How text describes the cells; the cells themselves are those of `view`."""

    def __repr__(self) -> str:
        looking = f", looking at {self.looking_at!r}" if self.looking_at else ""
        return f"<observation of {self.view!r}{looking}>"

    @property
    def moments(self) -> tuple[float, ...]:
        """Time in seconds of each cell's frame, followed by the frames of the scan, if any."""
        if isinstance(self.looking_at, View):
            return (*self.view.moments, *self.looking_at.moments)
        return self.view.moments

    def lines_by_cell(self, lines: Sequence[Line] | None = None) -> dict[int, list[Line]]:
        """Return the subtitle lines, or some of them, of each open cell, by the cell's index.

        A line belongs to the first open cell during which it is shown; if `cells` is "full", to all
        of them.
        """
        if lines is None:
            lines = self.subtitles
        return lines_by_cell(self.view, lines, are_repeated=self.cells == "full")

    def _repr_jpeg_(self) -> tuple[bytes, dict[str, int]] | None:
        return (self.looking_at or self.view)._repr_jpeg_()


def lines_by_cell(
    view: View, lines: Sequence[Line], are_repeated: bool = False
) -> dict[int, list[Line]]:
    """Return the subtitle lines of each open cell of a view, by the cell's index.

    Args:
        view: The view.
        lines: Lines that are shown during it.
        are_repeated: Whether a line belongs to all open cells during which it is shown; if not, to
            the first.
    """
    by_cell = dict[int, list[Line]]()
    starts_s = [cell.start_s for cell in view.cells]
    for line in lines:
        first = max(0, bisect_right(starts_s, line.start_s) - 1)
        # The usual case is kept fast: a video of ten hours has 2,000 lines.
        if not are_repeated and first not in view.dead:
            by_cell.setdefault(first, []).append(line)
            continue
        last = max(first, bisect_left(starts_s, line.end_s) - 1)
        open_cells = [index for index in range(first, last + 1) if index not in view.dead]
        if not are_repeated:
            del open_cells[1:]
        for index in open_cells:
            by_cell.setdefault(index, []).append(line)
    return dict(sorted(by_cell.items()))


def _looking_at(state: State, view: View) -> LazyImage | None:
    """Return the frame or the context scan that the last action asked for."""
    if isinstance(state.looking_at, Zoom):
        return Still(view.video, view.moments[state.looking_at.cell], view.cache)
    if state.scan is None:
        return None
    look = replace(view.look, cell=min(view.look.cell, WIDEST_PX // SCAN_K), labels="time")
    return replace(
        view,
        grid=state.scan,
        look=look,
        dead=dead_cells(state.scan, state.dead_zones),
        first=view.grid.size if look.ruled else 0,  # continue the numbers of the view's cells
    )


@dataclass
class Atlas:
    """One video as an environment: `reset`, then `step` with actions (paper §3.1).

    `reset` and `step` move the atlas's own `state`. `start`, `act` and `observe` do the same with a
    state that the caller holds; they change nothing in the atlas.

    Raises:
        InputError: An option is unknown, or `max_depth` exceeds the D_max of the video.

    Examples:
        >>> atlas = ak.Atlas(video, k=4, cell=64)
        >>> "backtrack" in atlas.reset().legal
        False
        >>> observation = atlas.step(ak.Expand(cell=5))
        >>> observation.view.grid.start_s, observation.view.grid.end_s
        (37.5, 45.0)
        >>> observation.view.image.size
        (256, 160)
    """

    video: Video
    k: int = 8
    """Cells in a row and in a column of a grid."""
    cell: int = 320
    """Width and height of a cell in pixels; of a native cell, the longer of the two."""
    max_depth: int | Literal["auto"] = "auto"
    """Depth of the deepest grid that an agent may expand to, from 0 (the root grid alone) to D_max.
    "auto" is the first depth whose cells span less than `min_span_s`. At any setting an agent
    cannot expand a cell shorter than `min_span_s`, only zoom and investigate there."""
    fit: Fit = "native"
    labels: Labels = "index"
    subtitles: bool = True
    """Whether observations and evidence carry subtitle lines."""
    traversal: Traversal = "dfs"
    sampling: Sampling = "midpoint"
    """Which frame represents a cell: see `Video.moment`."""
    cells: Cells = "compact"
    """How text describes the cells of an observation."""
    cache: Cache = field(default_factory=default_cache)
    patch: int = PATCH_PX
    """Side of a model's image token in pixels; native cells are rounded to it."""
    within: Span | None = None
    """The interval [start_s, end_s) that the root grid spans; None for the whole video. Nothing
    outside can be opened or become evidence, but the context of a cell at its border is shown."""
    ruled: bool = False
    """Whether images have gutters, strips of text and hatched dead cells: see `Look.ruled`."""
    min_span_s: float = SUB_SECOND
    """Span in seconds below which a cell is not expanded."""
    state: State = field(init=False)
    """The state that `reset` and `step` change."""

    # Arithmetic of depths that needs no video: `ak.Atlas.deepest(36_000, fps=25, k=8)`.
    deepest = staticmethod(geometry.deepest)
    resolution_s = staticmethod(geometry.resolution_s)
    sub_second_depth = staticmethod(geometry.sub_second_depth)

    def __post_init__(self) -> None:
        self.video = as_video(self.video, self.cache)  # a caller may pass the name of a file
        if self.traversal not in get_args(Traversal):
            raise InputError(f'traversal is "dfs" or "bfs"; got {self.traversal!r}.')
        if self.cells not in get_args(Cells):
            raise InputError(f'cells is "compact" or "full"; got {self.cells!r}.')
        check_flags(subtitles=self.subtitles, ruled=self.ruled)
        self.root = root_grid(self.video, *self._interval(), self.k)
        self.look = Look(self.cell, self.fit, self.patch, self.sampling, self.labels, self.ruled)
        self.look.check(self.k)  # raises here, before any call is paid for
        self.rules = Rules(
            self.video.duration_s,
            self._depth_limit(),
            self.traversal,
            keeps_scans=self.ruled,
            min_span_s=self.min_span_s,
        )
        self.state = self.start()

    def __repr__(self) -> str:
        now = self.state.grid
        return (
            f"<atlas of {self.video!r}, {self.k}×{self.k} cells of {self.cell} px, max_depth "
            f"{self.rules.max_depth}, {self.traversal}; now at "
            f"{clock(now.start_s)}–{clock(now.end_s)}, depth {now.depth}>"
        )

    def start(
        self,
        region: Grid | None = None,
        dead_zones: DeadZones = DeadZones(),
        scratchpad: Scratchpad = Scratchpad(),
        traversal: Traversal | None = None,
    ) -> State:
        """Return the first state of an agent that is sent to a region.

        Args:
            region: The grid to explore, below the root grid or over any stretch of it (see
                `over`); None means the root grid.
            dead_zones: The dead zones that the agent knows.
            scratchpad: The evidence that the agent knows.
            traversal: How the agent explores; None means the traversal of the atlas.

        Raises:
            InputError: The region was not expanded from this atlas's root grid, and is no stretch
                of it.
        """
        grid = region or self.root
        is_stretch = (
            not grid.path and self.root.start_s <= grid.start_s and grid.end_s <= self.root.end_s
        )
        if not is_stretch and replace(grid, path=(), shift=()) != self.root:
            raise InputError(
                f"{grid} is not a region of {self.video.name}: expand it from atlas.root."
            )
        rules = replace(self.rules, traversal=traversal or self.rules.traversal)
        return State(
            grid, rules, region_depth=grid.depth, dead_zones=dead_zones, scratchpad=scratchpad
        )

    def observe(self, state: State) -> Observation:
        """Return the observation of a state."""
        grid = state.grid
        view = self.view(state)
        lines: tuple[Line, ...] = ()
        if self.subtitles:
            lines = self.video.subtitles.between(grid.start_s, grid.end_s)
        return Observation(
            state=state,
            view=view,
            subtitles=lines,
            legal=state.legal,
            looking_at=_looking_at(state, view),
            cells=self.cells,
        )

    def view(self, state: State) -> View:
        """Return the view of a state's grid, dead cells black."""
        grid = state.grid
        look = self.look
        is_stretch = grid != self.root and not grid.path
        if is_stretch and grid.resolution_s <= EVEN_S:
            look = replace(look, sampling="midpoint")
        # Larger cells make the sheet as wide as the others, if the video has the pixels.
        if is_stretch and grid.resolution_s < SUB_SECOND:
            widest = max(self.cell, max(self.video.size))
            look = replace(look, cell=min(widest, self.cell * self.k // grid.k))
        return View(self.video, grid, look, state.dead_cells, self.cache)

    @property
    def finest_s(self) -> float:
        """The smallest step in seconds that `over` takes: a frame, or that of `max_depth`."""
        frame_s = 1 / self.video.fps
        if self.max_depth == "auto":
            return frame_s
        return max(frame_s, geometry.resolution_s(self.root.span_s, self.k, self.max_depth))

    def over(self, start_s: float, end_s: float, step_s: float = 0.0) -> Grid:
        """Return the grid over a stretch: at most k×k cells, none shorter than `finest_s`.

        Args:
            start_s: Start of the stretch in seconds.
            end_s: End of the stretch in seconds, exclusive. The stretch is clipped to the root
                grid, and widened if its cells would be shorter than `finest_s`.
            step_s: The longest allowed step in seconds; the grid has no more cells than this step
                requires. 0 means as many cells as possible.
        """
        finest_s = self.finest_s
        root = self.root
        start_s = max(start_s, root.start_s)
        end_s = min(end_s, root.end_s)
        step_s = max(step_s or (end_s - start_s) / root.size, finest_s)
        # The 1e-6 keeps a rounding error from changing the number of cells.
        steps = max(1.0, (end_s - start_s) / step_s - 1e-6)
        most_k = math.floor(math.sqrt(root.span_s / finest_s + 1e-6))
        k = max(2, min(self.k, math.ceil(math.sqrt(steps)), most_k))
        least_s = min(k * k * finest_s, root.span_s)
        if end_s - start_s < least_s:
            start_s = min((start_s + end_s - least_s) / 2, root.end_s - least_s)
            # Rounding must not move the stretch out of the root grid.
            start_s = max(start_s, root.start_s)
            end_s = min(start_s + least_s, root.end_s)
        return Grid(start_s, end_s, k)

    def act(self, state: State, action: Action) -> State:
        """Return the state after an action. Evidence gets the time and subtitles of its cell.

        Raises:
            IllegalAction: The action is not in the legal set, a frame that it names cannot be
                decoded, a frame to add lies in a dead zone, or all frames to add are in the
                scratchpad.
        """
        state.legal.check(action)
        match action:
            case AddToScratchpad(items):
                times_s = self._readable_times(state, cells_of(action))
                self._check_new(state, times_s)
                grounded = list[Claim]()
                for item, time_s in zip(items, times_s, strict=True):
                    subtitle = self._spoken_in(state.cell(item.cell))
                    grounded.append(replace(item, subtitle=subtitle, timestamp_s=time_s))
                action = AddToScratchpad(tuple(grounded))
            case Zoom(cell):
                self._readable_times(state, [cell])
        return transition(state, action)

    def reset(self, region: Grid | None = None) -> Observation:
        """Start again at a region, None for the root grid; return the observation."""
        self.state = self.start(region)
        return self.observe(self.state)

    def step(self, action: Action) -> Observation:
        """Apply an action to the atlas's state; return the new observation.

        Raises:
            IllegalAction: See `act`. The state does not change.
        """
        self.state = self.act(self.state, action)
        return self.observe(self.state)

    def sheet(
        self,
        scratchpad: Scratchpad | None = None,
        *,
        cell: int | None = None,
        most: int | None = None,
    ) -> Sheet:
        """Return the sheet of a scratchpad: its evidence frames as one image (paper §3.1).

        Args:
            scratchpad: The evidence; None means the evidence of the atlas's state.
            cell: Width and height of a frame in pixels, like the atlas's `cell`. None means the
                size of the atlas's cells; if the atlas is ruled, it means the size of the video's
                frames, up to SHEET_PX for all columns together.
            most: The most items on the sheet; None means MAX_SHEET_ITEMS. If there are more, the
                most confident are shown.
        """
        if scratchpad is None:
            scratchpad = self.state.scratchpad
        shown = scratchpad.surest(most or MAX_SHEET_ITEMS)
        if self.ruled:
            shown = replace(shown, items=tuple(sorted(shown, key=lambda item: item.timestamp_s)))
        if cell is None and self.ruled:
            columns, _ = squared(len(shown))
            cell = max(self.cell, min(max(self.video.size), SHEET_PX // columns))
        look = self.look if cell is None else replace(self.look, cell=cell)
        return Sheet(self.video, shown, look, self.cache)

    def _interval(self) -> Span:
        """Return the interval of the root grid; raise InputError unless the video contains it."""
        if self.within is None:
            return 0.0, self.video.duration_s
        try:
            start_s, end_s = map(float, self.within)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"within is a pair of times in seconds; got {self.within!r:.80}."
            ) from error
        if not 0 <= start_s < end_s <= self.video.duration_s:
            raise InputError(
                f"within must be an interval of the video, from 0 to {self.video.duration_s:g} s; "
                f"got {start_s:g} to {end_s:g} s."
            )
        return start_s, end_s

    def _depth_limit(self) -> int:
        """Return `max_depth` as a number."""
        if self.max_depth == "auto":
            return geometry.sub_second_depth(self.root.span_s, self.k, self.min_span_s)
        d_max = geometry.deepest(self.root.span_s, self.video.fps, self.k)
        if isinstance(self.max_depth, int) and 0 <= self.max_depth <= d_max:
            return self.max_depth
        raise InputError(
            f'max_depth is "auto" or an integer from 0 to D_max, which is {d_max} for this video; '
            f"got {self.max_depth!r}."
        )

    # A model reads the messages below: their text is part of the keys of recorded replies.

    def _readable_times(self, state: State, indices: Sequence[int]) -> list[float]:
        """Return the times of some cells' frames; raise IllegalAction if one cannot be decoded."""
        observation = self.observe(state)
        moments_s = observation.moments
        times_s = [moments_s[index] for index in indices]
        view = observation.view
        size = view.look.frame_size(view.cell_size)
        readable = are_readable(self.video, times_s, size, self.fit, self.cache)
        for index, is_readable in zip(indices, readable, strict=True):
            if not is_readable:
                raise IllegalAction(f"Cell {index} is unreadable: its frame cannot be decoded.")
        return times_s

    def _check_new(self, state: State, times_s: Sequence[float]) -> None:
        """Raise IllegalAction if a frame lies in a dead zone, or all frames are in the scratchpad.

        The legal set has checked midpoints only; with another `sampling` the frames lie elsewhere.
        """
        for time_s in times_s:
            if state.dead_zones.contain(time_s):
                raise IllegalAction(f"The frame at {time_s:.2f} s lies in time that is ruled out.")
        if set(times_s).issubset(state.scratchpad.times_s):
            raise IllegalAction("What these cells show is kept already.")

    def _spoken_in(self, cell: Cell) -> str:
        """Return the text of the subtitle lines during a cell."""
        if not self.subtitles:
            return ""
        lines = self.video.subtitles.between(cell.start_s, cell.end_s)
        return " ".join(line.text for line in lines)
