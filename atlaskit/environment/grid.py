"""Geometry of the map: an interval of time cut into K×K cells, each of which opens into a grid of its own.

Pure arithmetic; knows nothing of videos, pixels or agents. Boundaries are exact rational numbers until the moment
they are shown, so the children of a cell tile it without gaps or overlaps at any depth, for any K and duration:
a boundary that two grids share is the same rational, and so rounds to the same float.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from atlaskit.errors import InputError

SUB_SECOND = 1.0
"""Seconds; exploration is fine enough once a cell is shorter than this (paper §4.4)."""


@dataclass(frozen=True)
class Cell:
    """One cell: its place in the grid, row by row, and the half-open interval `[start_s, end_s)` it stands for."""

    index: int
    start_s: float
    end_s: float
    midpoint_s: float
    """The time whose frame represents the cell."""

    @property
    def span_s(self) -> float:
        """Length of the cell in seconds."""
        return self.end_s - self.start_s

    def overlaps(self, start_s: float, end_s: float) -> bool:
        """Tell whether the cell shares time with `[start_s, end_s)`."""
        return self.start_s < end_s and start_s < self.end_s


@dataclass(frozen=True)
class Grid:
    """A K×K grid over the part of `[root_start_s, root_end_s)` reached by opening the cells of `path` in turn."""

    root_start_s: float
    root_end_s: float
    k: int
    path: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.k < 2:
            raise InputError(f"A grid needs at least 2×2 cells, and got K = {self.k}.")
        if not (math.isfinite(self.root_start_s) and math.isfinite(self.root_end_s)):
            raise InputError(f"A grid needs finite times, got [{self.root_start_s}, {self.root_end_s}) s.")
        if self.root_start_s < 0:
            raise InputError(f"Times are not negative, got a grid that starts at {self.root_start_s} s.")
        if self.root_end_s <= self.root_start_s:
            raise InputError(f"A grid needs a span, got [{self.root_start_s}, {self.root_end_s}) s.")
        for index in self.path:
            self._check(index)

    @property
    def depth(self) -> int:
        """0 for the root grid, one more for each cell opened."""
        return len(self.path)

    @property
    def size(self) -> int:
        """The number of cells, K²."""
        return self.k**2

    @cached_property
    def start_s(self) -> float:
        """Start of the grid in seconds."""
        return self._boundary(0)

    @cached_property
    def end_s(self) -> float:
        """End of the grid in seconds, not included."""
        return self._boundary(2 * self.size)

    @property
    def span_s(self) -> float:
        """Length of the grid in seconds."""
        return self.end_s - self.start_s

    @property
    def centre_s(self) -> float:
        """The middle of the grid in seconds."""
        return self._boundary(self.size)

    @property
    def resolution_s(self) -> float:
        """Length of one cell in seconds: Δt_d of the paper's §3.1."""
        return float(self._unit)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The K² cells, row by row, that is in order of time."""
        halves = [self._boundary(half) for half in range(2 * self.size + 1)]
        return tuple(Cell(i, halves[2 * i], halves[2 * i + 2], halves[2 * i + 1]) for i in range(self.size))

    def expand(self, index: int) -> Grid:
        """Open cell `index`: the grid over exactly that cell's interval, one level deeper."""
        self._check(index)
        return Grid(self.root_start_s, self.root_end_s, self.k, (*self.path, index))

    def parent(self) -> Grid:
        """Return the grid this one was opened from; raise InputError at the root."""
        if not self.path:
            raise InputError("The root grid has no parent.")
        return Grid(self.root_start_s, self.root_end_s, self.k, self.path[:-1])

    def cell_at(self, time_s: float) -> Cell:
        """Return the cell that holds a time; raise InputError outside the grid."""
        for cell in self.cells:
            if cell.start_s <= time_s < cell.end_s:
                return cell
        raise InputError(f"{time_s} s lies outside this grid, [{self.start_s}, {self.end_s}) s.")

    @cached_property
    def _unit(self) -> Fraction:
        root = Fraction(self.root_end_s) - Fraction(self.root_start_s)
        return root / Fraction(self.size ** (self.depth + 1))

    @cached_property
    def _origin(self) -> Fraction:
        return Fraction(self.root_start_s)

    @cached_property
    def _first_cell(self) -> int:
        """Place of this grid's first cell among all cells of its depth, counted from the root's start."""
        place = 0
        for index in self.path:
            place = (place + index) * self.size
        return place

    @cached_property
    def _halves(self) -> tuple[int, int, int]:
        """Whole numbers (a, b, c) with which the boundary after `n` half cells lies at (a + b·n) / c."""
        start, end = self.root_start_s.as_integer_ratio(), self.root_end_s.as_integer_ratio()
        parts, halves = math.lcm(start[1], end[1]), 2 * self.size ** (self.depth + 1)
        first, last = start[0] * (parts // start[1]), end[0] * (parts // end[1])
        return first * halves + 2 * (last - first) * self._first_cell, last - first, parts * halves

    def _boundary(self, half_cells: int) -> float:
        """Return a boundary, rounded once: to divide whole numbers is exact until then, and much quicker than to add
        fractions."""
        a, b, c = self._halves
        return (a + b * half_cells) / c

    def _check(self, index: int) -> None:
        if not 0 <= index < self.size:
            raise InputError(f"There is no cell {index} in a {self.k}×{self.k} grid: cells are 0 to {self.size - 1}.")


def resolution_s(duration_s: float, k: int, depth: int) -> float:
    """Return Δt_d = T / K^(2(d+1)), the length in seconds of a cell at a depth (paper §3.1)."""
    return float(Fraction(duration_s) / Grid(0.0, duration_s, k).size ** (depth + 1))


def deepest(duration_s: float, fps: float, k: int) -> int:
    """Return D_max = ⌈log_{K²}(T·fps)⌉: that many steps reach any single frame (paper §3.1)."""
    frames = Fraction(duration_s) * Fraction(fps)
    size, depth = Grid(0.0, duration_s, k).size, 0
    while size**depth < frames:
        depth += 1
    return depth


def sub_second_depth(duration_s: float, k: int) -> int:
    """Return the first depth whose cells are shorter than a second: `max_depth="auto"` (paper §4.4)."""
    depth = 0
    while resolution_s(duration_s, k, depth) >= SUB_SECOND:
        depth += 1
    return depth


def regions_over(root: Grid, start_s: float, end_s: float, max_depth: int) -> tuple[Grid, ...]:
    """Return the regions that an interval of time becomes: the grids of the smallest cells that are as long as it.

    So these are two at most, or as many of the root's cells as a longer interval meets. The interval is clipped to the
    root, and nothing deeper than `max_depth`, or in a cell shorter than a second, is returned; an interval that is
    empty, or that lies outside, becomes none.
    """
    start_s, end_s = max(start_s, root.start_s), min(end_s, root.end_s)
    if max_depth < 1 or root.resolution_s < SUB_SECOND or not start_s < end_s:
        return ()
    levels = [root]
    while len(levels) < max_depth and levels[-1].expand(0).resolution_s >= max(end_s - start_s, SUB_SECOND):
        levels.append(levels[-1].expand(0))
    unit = levels[-1]._unit
    first = (Fraction(start_s) - root._origin) // unit
    last = -((root._origin - Fraction(end_s)) // unit) - 1
    return tuple(_at_place(root, len(levels), place) for place in range(first, last + 1))


def _at_place(root: Grid, depth: int, place: int) -> Grid:
    """Return the grid at a depth by its place among all of that depth, counted from the root's start."""
    path: list[int] = []
    for _ in range(depth):
        place, index = divmod(place, root.size)
        path.append(index)
    return Grid(root.root_start_s, root.root_end_s, root.k, tuple(reversed(path)))
