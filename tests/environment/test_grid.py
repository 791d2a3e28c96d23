"""Promise 1: the children of a cell tile it exactly, at any depth, for any K and duration."""

import math
from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.environment.grid import Grid, deepest, resolution_s, sub_second_depth, unseen_over
from atlaskit.errors import InputError

durations = st.floats(min_value=1e-3, max_value=1e6, allow_nan=False)
sizes = st.integers(2, 12)


def between(grid: Grid) -> Grid:
    """Return a grid moved by half a cell: later, or earlier if it is the last of its depth."""
    is_last = all(index == grid.size - 1 for index in grid.path)
    return replace(grid, shift=(grid.depth, -1 if is_last else 1))


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """Grids at any depth, some of them below one that is shifted by half a cell."""
    k = draw(sizes)
    path = tuple(draw(st.lists(st.integers(0, k * k - 1), max_size=5)))
    start_s = draw(st.floats(min_value=0, max_value=1e4))
    grid = Grid(start_s, start_s + draw(durations), k, path)
    if not path or draw(st.booleans()):
        return grid
    return reduce(Grid.expand, draw(st.lists(st.integers(0, k * k - 1), max_size=2)), between(grid))


@given(grids(), st.data())
def test_cells_tile_their_grid_and_a_child_spans_exactly_its_cell(grid: Grid, data: st.DataObject) -> None:
    cells = grid.cells
    assert len(cells) == grid.k**2
    assert (cells[0].start_s, cells[-1].end_s) == (grid.start_s, grid.end_s)
    assert all(a.end_s == b.start_s for a, b in zip(cells, cells[1:], strict=False))
    assert all(cell.start_s <= cell.midpoint_s <= cell.end_s for cell in cells)
    cell = data.draw(st.sampled_from(cells))
    child = grid.expand(cell.index)
    assert (child.start_s, child.end_s) == (cell.start_s, cell.end_s)
    assert (child.cells[0].start_s, child.cells[-1].end_s) == (cell.start_s, cell.end_s)
    assert child.parent() == grid and child.depth == grid.depth + 1


@given(durations, sizes, st.integers(0, 5))
def test_resolution_is_the_papers_formula(duration_s: float, k: int, depth: int) -> None:
    assert resolution_s(duration_s, k, depth) == pytest.approx(duration_s / k ** (2 * (depth + 1)), rel=1e-12)
    assert Grid(0, duration_s, k, (0,) * depth).resolution_s == resolution_s(duration_s, k, depth)


@given(durations, st.floats(1, 120), sizes)
def test_deepest_is_the_papers_formula_and_reaches_every_frame(duration_s: float, fps: float, k: int) -> None:
    depth, frames = deepest(duration_s, fps, k), duration_s * fps
    assert k ** (2 * depth) >= frames * (1 - 1e-12)
    assert depth == 0 or k ** (2 * (depth - 1)) < frames


def test_the_numbers_of_the_paper() -> None:
    assert resolution_s(36_000, 8, 2) == pytest.approx(0.137, abs=1e-3)  # §4.4: 137 ms at d = 2 for ten hours
    assert sub_second_depth(36_000, 8) == 2
    assert deepest(36_000, 25, 8) == math.ceil(math.log(36_000 * 25, 64))


def test_an_invalid_stretch_is_refused() -> None:
    for start_s, end_s in [(-1, 5), (5, 5), (5, 4), (0, math.inf), (0, math.nan)]:
        with pytest.raises(InputError):
            Grid(start_s, end_s, 2)


@given(duration_s=st.floats(0.5, 40_000.0), k=st.integers(2, 9), data=st.data())
def test_a_shifted_grid_looks_between_the_frames(duration_s: float, k: int, data: st.DataObject) -> None:
    path = tuple(data.draw(st.lists(st.integers(0, k * k - 1), min_size=1, max_size=4)))
    grid = Grid(0.0, duration_s, k, path)
    shifted = between(grid)
    is_last = all(index == k * k - 1 for index in path)
    edges = [cell.start_s for cell in grid.cells] if is_last else [cell.end_s for cell in grid.cells]
    assert [cell.midpoint_s for cell in shifted.cells] == edges, "where one cell ends and the next begins"
    assert 0.0 <= shifted.start_s < shifted.end_s <= duration_s
    assert (shifted.path, shifted.depth) == (grid.path, grid.depth)
    assert shifted.expand(0).parent() == shifted
    with pytest.raises(InputError, match="no parent that contains it"):
        shifted.parent()


@pytest.mark.parametrize("edges", [(), (0.0, 10.0, 20.0, 30.0, 40.0)], ids=["video", "collection"])
def test_no_grid_is_moved_beyond_the_video_or_the_film(edges: tuple[float, ...]) -> None:
    """The finest grid of a film that cannot be opened spans all of it: none lies between."""
    root = Grid(0, 40, 2, edges=edges)
    depth = len(edges) > 0
    assert unseen_over(root, 1, 2, lambda grid: grid.depth < depth, lambda grid: not grid.shift) == ()
    (moved,) = unseen_over(root, 1, 2, lambda grid: grid.depth <= depth, lambda grid: not grid.shift)
    assert moved.shift and moved.start_s >= 0
