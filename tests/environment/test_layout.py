"""Sheets that show some cells alone, or some frames small: where each stands, and their keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stand_ins import Flat

from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Investigate
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.layout import corners, packed, squared
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.observation import FEW, narrowed
from atlaskit.environment.render import Sheet, View
from atlaskit.environment.tiles import read_tiles
from atlaskit.errors import InputError
from atlaskit.video.readers import LETTERBOX

LABELS = ("A", "B", "C", "D", "E", "F", "G")


def close(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two pictures are the same but for JPEG."""
    return one.shape == other.shape and float(np.abs(one.astype(int) - other.astype(int)).mean()) < 6


@given(st.integers(2, 16), st.data())
def test_packed_cells_leave_the_fewest_places_empty(most: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, most**2))
    columns, rows = packed(count, most)
    assert 1 <= columns <= most and 1 <= rows <= most and columns * (rows - 1) < count <= columns * rows
    fewest = min(c * r for c in range(1, most + 1) for r in range(1, most + 1) if c * r >= count)
    assert columns * rows == fewest


@given(st.integers(0, 300), st.integers(0, 300), st.integers(16, 400), st.integers(16, 400))
def test_frames_of_a_sheet_lie_in_it_and_do_not_overlap(large: int, small: int, width: int, height: int) -> None:
    labels = [str(number) for number in range(large + small)]
    halved = set(labels[:small])
    columns, rows = squared(large, small)
    placed = corners(labels, halved, columns, (width, height))
    assert list(squared(large)) == [max(1, int(np.ceil(np.sqrt(large)))), max(1, -(-large // squared(large)[0]))]
    taken = set()
    for label, (left, top) in placed.items():
        wide, high = (width // 2, height // 2) if label in halved else (width, height)
        assert 0 <= left <= columns * width - wide and 0 <= top <= rows * height - high
        cell = (round(2 * left / width), round(2 * top / height))
        taken |= {cell} if label in halved else {(cell[0] + x, cell[1] + y) for x in (0, 1) for y in (0, 1)}
    assert len(taken) == 4 * large + small


def test_a_view_of_some_cells_shows_them_side_by_side_under_their_numbers(world: World, cache: Cache) -> None:
    whole = View(world.drawn, Grid(0.0, 600.0, 4), 128, "native", "index", cache=cache)
    chosen = (1, 6, 7, 12, 14)
    part = View(world.drawn, whole.grid, 128, "native", "index", cache=cache, only=frozenset(chosen))
    (width, height), (columns, rows) = whole.cell_size, part.shape
    assert (
        part.cell_size == (width, height)
        and columns * rows == 6
        and part.size[0] * part.size[1] < 0.45 * (whole.size[0] * whole.size[1])
    )
    assert part.size[0] % 32 == part.size[1] % 32 == 0
    all_pixels, pixels = np.asarray(whole.image), np.asarray(part.image)
    for place, index in enumerate(chosen):
        (row, column), (row_before, column_before) = divmod(place, columns), divmod(index, 4)
        tile = pixels[row * height : (row + 1) * height, column * width : (column + 1) * width]
        before = all_pixels[row_before * height :, column_before * width :][:height, :width]
        assert close(tile, before), index
        others = [i for i in range(16) if i != index]
        assert not any(close(tile, all_pixels[i // 4 * height :, i % 4 * width :][:height, :width]) for i in others)
    empty = pixels[(rows - 1) * height : rows * height, (columns - 1) * width : columns * width]
    assert np.abs(empty.astype(int) - LETTERBOX).max() < 12, "grey, since black means dead"


def test_a_view_of_some_cells_decodes_nothing_new(world: World, cache: Cache) -> None:
    video = world.drawn
    whole = View(video, Grid(0.0, 600.0, 4), 96, "native", "index", cache=cache)
    whole.jpeg()
    before = video.frames_decoded
    View(video, whole.grid, 96, "native", "index", cache=cache, only=frozenset({0, 5, 9})).jpeg()
    assert video.frames_decoded == before, "the tiles are those of the whole view"


def test_a_dead_cell_among_the_chosen_is_no_frame(cache: Cache) -> None:
    part = View(Flat(), Grid(0.0, 16.0, 4), 64, cache=cache, dead=frozenset({3}), only=frozenset({3, 4}))
    red = np.asarray(part.image)[:, :, 0]
    assert (red > 150).any(1).any() and part.unreadable == frozenset()
    assert part.expand(4).only is None


def test_keys_tell_parts_and_small_frames_apart(cache: Cache) -> None:
    video, grid = Flat(), Grid(0.0, 16.0, 4)
    views = [View(video, grid, 64, cache=cache, only=only) for only in (None, frozenset({1, 2}), frozenset({1, 3}))]
    views.append(View(video, grid, 64, cache=cache, only=frozenset(range(16))))
    assert len({view.key for view in views}) == 4
    pad = scratchpad(3)
    sheets = [Sheet(video, pad, 64, halved=halved, cache=cache) for halved in map(frozenset, ("", "A", "B", "AB"))]
    assert len({sheet.key for sheet in sheets}) == 4


@pytest.mark.parametrize("only", [frozenset(), frozenset({16}), frozenset({-1, 2})])
def test_only_names_cells_of_the_grid(only: frozenset[int], cache: Cache) -> None:
    with pytest.raises(InputError, match="from 0 to 15"):
        View(Flat(), Grid(0.0, 16.0, 4), 64, cache=cache, only=only)


def scratchpad(count: int, duration_s: float = 600.0) -> Scratchpad:
    step_s = duration_s / (count + 1)
    times_s = [step_s * (number + 1) for number in range(count)]
    return Scratchpad().add(Evidence(t, t, t + 1, "a thing", 0.9, "what is said") for t in times_s)


def test_a_sheet_shows_some_frames_at_half_the_size(world: World, cache: Cache) -> None:
    pad, small = scratchpad(7), frozenset({"A", "C", "D", "F", "G"})
    whole, short = (Sheet(world.drawn, pad, 256, "native", cache, halved=each) for each in (frozenset[str](), small))
    assert short.size[0] * short.size[1] < 0.55 * whole.size[0] * whole.size[1]
    columns, _ = squared(2, 5)
    placed = corners(LABELS, small, columns, short.cell_size)
    pixels = np.asarray(short.image)
    for label in LABELS:
        (tile,), _ = read_tiles(world.drawn, [pad[label].timestamp_s], short.cell_size, "native", cache)
        assert tile is not None
        width, height = (side // 2 if label in small else side for side in short.cell_size)
        left, top = placed[label]
        shown = pixels[top : top + height, left : left + width]
        wanted = np.asarray(tile.resize((width, height)))
        middle = slice(height // 3, 2 * height // 3)  # without label and subtitle
        assert close(shown[middle], wanted[middle]), label


class TestNarrowed:
    def test_a_sheet_of_few_cells_shows_no_others(self, cache: Cache) -> None:
        view = View(Flat(), Grid(0.0, 16.0, 4), 64, cache=cache)
        assert narrowed(view, range(8)).only == frozenset(range(8))
        assert narrowed(view, range(9)) == view == narrowed(view, ()), "more than half, or none"
        assert pytest.approx(0.5) == FEW

    def test_an_atlas_shows_only_what_is_open(self, world: World, cache: Cache) -> None:
        plain, sparing = (Atlas(world.drawn, 4, 64, cache=cache, open_only=on) for on in (False, True))
        for dead_s, only in ((300.0, None), (400.0, frozenset(range(11, 16))), (600.0, None)):
            zones = DeadZones().add(0.0, dead_s - 10.0 if dead_s == 300.0 else dead_s)
            seen, before = (atlas.observe(atlas.start(dead_zones=zones)) for atlas in (sparing, plain))
            assert before.view.only is None
            assert seen.view.only == (only and frozenset(i for i in range(16) if i not in seen.view.dead))
            assert (seen.legal, seen.subtitles, seen.view.dead) == (before.legal, before.subtitles, before.view.dead)
            if only:
                assert frozenset(seen.legal.expand) <= seen.view.only

    def test_a_scan_is_whole(self, world: World, cache: Cache) -> None:
        atlas = Atlas(world.drawn, 4, 64, cache=cache, open_only=True)
        state = atlas.start(dead_zones=DeadZones().add(0.0, 500.0))
        scan = atlas.observe(atlas.act(state, Investigate(14, "before"))).looking_at
        assert isinstance(scan, View) and scan.only is None and scan.size[0] == 3 * 64
