"""`Grid` and `Cell`: exact time intervals of the hierarchy of grids, depth, resolution, D_max
(paper §3.1).

This module is pure arithmetic; it knows nothing of videos, pixels or agents. Boundaries are exact
rational numbers that are rounded once, to a float, when they are read. A boundary that two grids
share is the same rational and so the same float: the children of a cell tile it without gaps or
overlaps, at any depth, for any K and any duration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import filterfalse, pairwise, starmap

from atlaskit.errors import InputError


def clock(time_s: float) -> str:
    """Return a time in seconds as a clock shows it, cut to a tenth: 1:26.3 or 1:02:03.5."""
    tenths = math.floor(time_s * 10 + 1e-6)  # a float may lie just below a whole tenth
    minutes, tenths = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{tenths // 10:02d}.{tenths % 10}"
    return f"{hours}:{minutes:02d}:{seconds}" if hours else f"{minutes}:{seconds}"


def stamp(time_s: float) -> str:
    """Return a time in seconds as a clock time, cut to a millisecond: 1:26.345."""
    minutes, milliseconds = divmod(math.floor(time_s * 1000 + 1e-3), 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{milliseconds // 1000:02d}.{milliseconds % 1000:03d}"
    return f"{hours}:{minutes:02d}:{seconds}" if hours else f"{minutes}:{seconds}"


def interval(start_s: float, end_s: float) -> str:
    """Return an interval as clock times, with milliseconds if it is shorter than a second."""
    notation = clock if end_s - start_s >= 1 else stamp
    return f"{notation(start_s)}–{notation(end_s)}"


def listed(cells: Sequence[int]) -> str:
    """Return a list of cell indices with consecutive ones joined: 0–5, 9, 11–63."""
    runs: list[list[int]] = []
    for cell in sorted(cells):
        if runs and cell == runs[-1][1] + 1:
            runs[-1][1] = cell
        else:
            runs.append([cell, cell])
    texts = list[str]()
    for first, last in runs:
        texts.append(str(first) if first == last else f"{first}–{last}")
    return ", ".join(texts) or "none"


Shift = tuple[()] | tuple[int, int]
"""How a grid is moved: see `Grid.shift`."""
SUB_SECOND = 1.0
"""Span in seconds below which a cell is not expanded (paper §4.4)."""


@dataclass(frozen=True)
class Cell:
    """One cell of a grid: the half-open interval `[start_s, end_s)` of the video."""

    index: int
    """Index in row-major order, from 0 to K² − 1."""
    start_s: float
    end_s: float
    midpoint_s: float
    """Middle of the cell in seconds: the time of its representative frame by default."""

    @property
    def span_s(self) -> float:
        """Span of the cell in seconds."""
        return self.end_s - self.start_s

    def overlaps(self, start_s: float, end_s: float) -> bool:
        """Return whether the cell overlaps `[start_s, end_s)`."""
        return self.start_s < end_s and start_s < self.end_s


@dataclass(frozen=True)
class Grid:
    """A K×K grid, named by the root interval and the cells that lead to it.

    Raises:
        InputError: K is below 2, the root interval is empty, negative or not finite, or the path
            holds an index that is no cell.
    """

    root_start_s: float
    """Start of the root grid in seconds."""
    root_end_s: float
    """End of the root grid in seconds, exclusive."""
    k: int
    """Cells in a row and in a column."""
    path: tuple[int, ...] = ()
    """Indices of the cells that were expanded, from the root grid down to this one."""
    shift: Shift = ()
    """(depth, number): the grid at this depth of the path, and all grids below it, are moved later
    by this number of its half cells, or earlier if the number is negative. () means that nothing is
    moved. See `over`."""
    edges: tuple[float, ...] = ()
    """The K² + 1 boundaries of the root grid's cells in seconds, if the cells are not equally long:
    in a collection of films, each cell begins with a film. () means equal lengths. Below the root,
    every cell is divided evenly."""

    def __post_init__(self) -> None:
        if self.k < 2:
            raise InputError(f"A grid needs at least 2×2 cells; got K = {self.k}.")
        if not (math.isfinite(self.root_start_s) and math.isfinite(self.root_end_s)):
            raise InputError(
                f"A grid needs finite times; got [{self.root_start_s}, {self.root_end_s}) s."
            )
        if self.root_start_s < 0:
            raise InputError(f"A grid must not start before 0 s; got {self.root_start_s} s.")
        if self.root_end_s <= self.root_start_s:
            raise InputError(
                f"A grid must end after its start; got [{self.root_start_s}, {self.root_end_s}) s."
            )
        if self.edges:
            self._check_edges()
        for index in self.path:
            self._check_index(index)
        if self.shift and not 0 < self.shift[0] <= self.depth:
            raise InputError(
                f"A grid at depth {self.depth} cannot be shifted by cells of depth {self.shift[0]}."
            )

    @property
    def depth(self) -> int:
        """Number of expansions that lead from the root grid to this grid."""
        return len(self.path)

    @property
    def is_uneven(self) -> bool:
        """Whether its cells are of unequal lengths: see `edges`."""
        return bool(self.edges) and not self.path

    @property
    def size(self) -> int:
        """Number of cells, K²."""
        return self.k**2

    @cached_property
    def start_s(self) -> float:
        """Start of the grid in seconds."""
        return self._boundary(0)

    @cached_property
    def end_s(self) -> float:
        """End of the grid in seconds, exclusive."""
        return self._boundary(2 * self.size)

    @property
    def interval_s(self) -> tuple[float, float]:
        """The half-open interval of the grid in seconds, (start, end)."""
        return self.start_s, self.end_s

    @property
    def span_s(self) -> float:
        """Span of the grid in seconds."""
        return self.end_s - self.start_s

    @property
    def centre_s(self) -> float:
        """Middle of the grid in seconds; if its cells are unequal, half of them lie before it."""
        return self._boundary(self.size)

    @property
    def resolution_s(self) -> float:
        """Span of one cell in seconds, Δt_d (paper §3.1); of unequal cells, the longest."""
        return float(self._cell_span)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The K² cells in row-major order, which is the order of time."""
        halves = [self._boundary(half) for half in range(2 * self.size + 1)]
        edges = pairwise(halves[::2])
        cells = list[Cell]()
        for (start_s, end_s), midpoint_s in zip(edges, halves[1::2], strict=True):
            cells.append(Cell(len(cells), start_s, end_s, midpoint_s))
        return tuple(cells)

    def expand(self, index: int) -> Grid:
        """Return the grid of exactly one cell's interval, one depth further down.

        Raises:
            InputError: The grid has no cell of this index.
        """
        self._check_index(index)
        return replace(self, path=(*self.path, index))

    def over(self, start_s: float, end_s: float) -> Grid:
        """Return this grid, moved so that an interval lies as close to its middle as possible.

        Only for a grid that is not yet moved, at depth 1 or more; at depth 2 or more if the cells
        of the root grid are unequal (`edges`). It is moved by an odd number of half cells, so its
        midpoints lie between those of the grids of its depth.
        """
        # The starts of this grid and of the last one of its depth, in half cells of the tree.
        start = 2 * self._first_cell_number
        latest_start = 2 * self.size ** (self._depth_in_tree + 1) - 2 * self.size
        twice_middle = Fraction(start_s) + Fraction(end_s) - 2 * self._origin
        # The middle of a grid lies `size` half cells after its start.
        number = round(twice_middle / self._cell_span) - self.size - start
        if number % 2 == 0:
            number += 1
        number = min(max(number, 1 - start), latest_start - 1 - start)  # stays inside its tree
        return replace(self, shift=(self.depth, number))

    def parent(self) -> Grid:
        """Return the grid that this one was expanded from.

        Raises:
            InputError: This is the root grid, or a shifted grid, whose parent does not contain it.
        """
        if not self.path:
            raise InputError("The root grid has no parent.")
        if self.shift and self.shift[0] == self.depth:
            raise InputError(
                "A grid that is shifted by half a cell has no parent that contains it."
            )
        return replace(self, path=self.path[:-1])

    def cell_at(self, time_s: float) -> Cell:
        """Return the cell that contains a time in seconds.

        Raises:
            InputError: The time lies outside the grid.
        """
        for cell in self.cells:
            if cell.start_s <= time_s < cell.end_s:
                return cell
        raise InputError(
            f"The grid spans [{self.start_s}, {self.end_s}) s; {time_s} s lies outside."
        )

    @property
    def _tree(self) -> tuple[float, float, tuple[int, ...]]:
        """(start_s, end_s, path): the tree of equally long cells that contains this grid.

        It is the tree of the root grid or, below unequal root cells, the tree of one of these
        cells. The path leads from the top of the tree to this grid.
        """
        if not (self.edges and self.path):
            return self.root_start_s, self.root_end_s, self.path
        first, *rest = self.path
        return self.edges[first], self.edges[first + 1], tuple(rest)

    @property
    def _depth_in_tree(self) -> int:
        """Number of expansions that lead from the root of the tree to this grid."""
        return len(self._tree[2])

    @cached_property
    def _cell_span(self) -> Fraction:
        """Span of one cell in seconds; of unequal cells, the longest."""
        if self.is_uneven:
            return max(Fraction(b) - Fraction(a) for a, b in pairwise(self.edges))
        start_s, end_s, path = self._tree
        return (Fraction(end_s) - Fraction(start_s)) / Fraction(self.size ** (len(path) + 1))

    @cached_property
    def _origin(self) -> Fraction:
        """Start of the tree in seconds."""
        return Fraction(self._tree[0])

    @cached_property
    def _first_cell_number(self) -> int:
        """Number of the grid's first cell among all cells of its depth, from the tree's start."""
        number = 0
        for index in self._tree[2]:
            number = (number + index) * self.size
        return number

    @cached_property
    def _boundary_terms(self) -> tuple[int, int, int]:
        """Integers (a, b, c): the boundary after `n` half cells is (a + b·n) / c seconds."""
        start_s, end_s, path = self._tree
        start_ratio = start_s.as_integer_ratio()
        end_ratio = end_s.as_integer_ratio()
        denominator = math.lcm(start_ratio[1], end_ratio[1])
        start = start_ratio[0] * (denominator // start_ratio[1])
        span = end_ratio[0] * (denominator // end_ratio[1]) - start
        tree_half_cells = 2 * self.size ** (len(path) + 1)
        half_cells_before = 2 * self._first_cell_number
        if self.shift:
            depth, number = self.shift
            half_cells_before += number * self.size ** (self.depth - depth)
        offset = span * half_cells_before
        return start * tree_half_cells + offset, span, denominator * tree_half_cells

    def _boundary(self, half_cells: int) -> float:
        """Return the boundary after so many half cells, in seconds."""
        if self.is_uneven:
            cell, is_middle = divmod(half_cells, 2)
            if is_middle:
                return (self.edges[cell] + self.edges[cell + 1]) / 2
            return self.edges[cell]
        # A quotient of integers rounds once, and is much faster than a sum of Fractions.
        a, b, c = self._boundary_terms
        return (a + b * half_cells) / c

    def _check_edges(self) -> None:
        """Raise InputError unless the boundaries go from the root's start to its end, upwards."""
        are_sorted = all(a < b for a, b in pairwise(self.edges))
        spans_root = (self.edges[0], self.edges[-1]) == (self.root_start_s, self.root_end_s)
        if not are_sorted or not spans_root or len(self.edges) != self.size + 1:
            raise InputError(
                f"The boundaries of {self.size} cells are {self.size + 1} times, each after the "
                f"one before it, from {self.root_start_s} to {self.root_end_s} s."
            )

    def _check_index(self, index: int) -> None:
        if not 0 <= index < self.size:
            raise InputError(
                f"There is no cell {index} in a {self.k}×{self.k} grid; its cells are 0 to "
                f"{self.size - 1}."
            )


def resolution_s(duration_s: float, k: int, depth: int) -> float:
    """Return the span of a cell in seconds, Δt_d = T / K^(2(d+1)) (paper §3.1).

    Args:
        duration_s: Duration T of the video.
        k: Cells in a row and in a column.
        depth: Depth d; 0 is the root grid.

    Raises:
        InputError: K is below 2, or the duration is not a positive, finite number.
    """
    size = Grid(0.0, duration_s, k).size  # the grid checks K and the duration
    return float(Fraction(duration_s) / size ** (depth + 1))


def deepest(duration_s: float, fps: float, k: int) -> int:
    """Return D_max = ⌈log_{K²}(T·fps)⌉, the expansions that reach any one frame (paper §3.1).

    Args:
        duration_s: Duration T of the video.
        fps: Frames a second.
        k: Cells in a row and in a column.

    Raises:
        InputError: K is below 2, or the duration is not a positive, finite number.
    """
    size = Grid(0.0, duration_s, k).size  # the grid checks K and the duration
    frames = Fraction(duration_s) * Fraction(fps)
    depth = 0
    while size**depth < frames:
        depth += 1
    return depth


def sub_second_depth(duration_s: float, k: int, span_s: float = SUB_SECOND) -> int:
    """Return the first depth whose cells span less than `span_s`: `max_depth="auto"` (paper §4.4).

    Args:
        duration_s: Duration T of the video.
        k: Cells in a row and in a column.
        span_s: The span in seconds; one second by default.

    Raises:
        InputError: K is below 2, or the duration is not a positive, finite number.
    """
    depth = 0
    while resolution_s(duration_s, k, depth) >= span_s:
        depth += 1
    return depth


def regions_over(
    root: Grid, start_s: float, end_s: float, can_open: Callable[[Grid], bool]
) -> tuple[Grid, ...]:
    """Return the regions that cover an interval: the deepest grids that are at least as long.

    One or two such grids cover it. If the interval is longer than a root cell, the regions are the
    grids of all root cells that it overlaps.

    Args:
        root: The root grid.
        start_s: Start of the interval in seconds.
        end_s: End of the interval in seconds, exclusive. The interval is clipped to the root grid.
            If the end equals the start, the interval is that moment.
        can_open: Tells whether the cells of a grid may be expanded. For grids with cells of equal
            length, the answer must depend on the grid's depth alone.

    Returns:
        The regions in order of time; none for an interval outside the root grid.
    """
    start_s = max(start_s, root.start_s)
    end_s = min(end_s, root.end_s)
    if not can_open(root) or not (start_s <= end_s and start_s < root.end_s):
        return ()
    if not root.edges:
        return _regions_in_tree(root, start_s, end_s, can_open)
    until_s = max(end_s, math.nextafter(start_s, math.inf))  # so that a moment overlaps its cell
    regions = list[Grid]()
    for cell in root.cells:
        if not cell.overlaps(start_s, until_s):
            continue
        top = root.expand(cell.index)
        first_s = max(start_s, cell.start_s)
        last_s = min(end_s, cell.end_s)
        if can_open(top) and top.resolution_s >= last_s - first_s:
            regions += _regions_in_tree(top, first_s, last_s, can_open)
        else:
            regions.append(top)
    return tuple(regions)


def _regions_in_tree(
    top: Grid, start_s: float, end_s: float, can_open: Callable[[Grid], bool]
) -> tuple[Grid, ...]:
    """Return the regions that cover an interval inside a grid with cells of equal length."""
    above = top
    below = top.expand(0)
    while can_open(below) and below.resolution_s >= end_s - start_s:
        above = below
        below = below.expand(0)
    cell_span = above._cell_span
    first = (Fraction(start_s) - top._origin) // cell_span
    last = max(first, math.ceil((Fraction(end_s) - top._origin) / cell_span) - 1)
    steps = below.depth - top.depth
    return tuple(_grid_of_number(top, steps, number) for number in range(first, last + 1))


def unseen_over(
    root: Grid,
    start_s: float,
    end_s: float,
    can_open: Callable[[Grid], bool],
    is_seen: Callable[[Grid], bool],
) -> tuple[Grid, ...]:
    """Return the regions over an interval that were not yet seen.

    The search starts from the regions of `regions_over`. A region that was seen is replaced by the
    grids of the next depth that overlap the interval. If all grids were seen, down to the deepest,
    the deepest grid is moved so that the interval is in its middle, and its frames lie between
    those that were seen. If the interval is longer than that grid, it is cut into equal parts, and
    each part gets a moved grid.

    Returns:
        The regions in order of time; none if the interval was seen as finely as possible.
    """
    until_s = max(end_s, math.nextafter(start_s, math.inf))  # so that a moment overlaps its cell

    def unseen(grid: Grid) -> Iterator[Grid]:
        if not is_seen(grid):
            yield grid
        elif can_open(grid):
            for cell in grid.cells:
                if cell.overlaps(start_s, until_s):
                    yield from unseen(grid.expand(cell.index))

    found = list[Grid]()
    for region in regions_over(root, start_s, end_s, can_open):
        found += unseen(region)
    if found:
        return tuple(found)
    middle_s = (start_s + end_s) / 2
    regions = regions_over(root, middle_s, middle_s, can_open)
    if not regions:
        return ()
    finest = regions[0]
    if not finest._depth_in_tree:
        return ()  # no grid of its depth lies beside it, so that it cannot be moved
    count = math.ceil((end_s - start_s) / finest.span_s) or 1
    edges = [start_s + (end_s - start_s) * part / count for part in range(count + 1)]
    moved_grids = dict.fromkeys(starmap(finest.over, pairwise(edges)))  # without duplicates
    return tuple(filterfalse(is_seen, moved_grids))


def _grid_of_number(top: Grid, steps: int, number: int) -> Grid:
    """Return one of the grids that lie `steps` below another, by its number in order of time."""
    path: list[int] = []
    for _ in range(steps):
        number, index = divmod(number, top.size)
        path.append(index)
    return replace(top, path=(*top.path, *reversed(path)))
