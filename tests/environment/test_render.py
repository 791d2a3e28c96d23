"""Promises 3 (no silent black), 5 (decode once) and 6 (recipe keys); the law of native cells."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stand_ins import Flat

from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.render import Sheet, Still, View, view, with_look
from atlaskit.environment.tiles import FLATTEST, SHORTEST_PX, Look, read_tiles
from atlaskit.errors import InputError
from atlaskit.video.readers import LETTERBOX
from atlasworld import World


def pixels(view: View) -> np.ndarray:
    return np.asarray(view.image).astype(int)


def cell_of(view: View, index: int) -> np.ndarray:
    row, column = divmod(index, view.grid.k)
    side = view.look.cell
    return pixels(view)[row * side : (row + 1) * side, column * side : (column + 1) * side]


def test_a_view_shows_its_cells_in_row_major_order(world: World, cache: Cache) -> None:
    root = view(world.drawn, k=3, cell=64, fit="contain", sampling="midpoint", cache=cache)
    assert root.image.size == root.size == (192, 192)
    for cell in root.cells:
        frame = world.drawn.frames([cell.midpoint_s], (64, 36))[0].astype(int)
        shown = cell_of(root, cell.index)[14:50]
        assert np.abs(shown - frame).mean() < 4, cell


@pytest.mark.parametrize(("fit", "height"), [("native", 88), ("contain", 160)])
def test_only_the_dead_are_black_and_the_unreadable_are_marked(fit: Any, height: int, cache: Cache) -> None:
    look = Look(160, fit)
    shown = View(Flat(broken=(4.0, 6.0)), Grid(0, 16, 4), look, dead=frozenset({0, 15}), cache=cache)
    assert shown.cell_size == (160, height) and shown.unreadable == {4, 5}
    cells = pixels(shown).reshape(4, height, 4, 160, 3).swapaxes(1, 2).reshape(16, height, 160, 3)
    assert [index for index, cell in enumerate(cells) if (cell.max(axis=2) < 8).mean() > 0.99] == [0, 15]
    hatched = [cell[height // 2 - 30 : height // 2 + 30].std(axis=(0, 1)).max() > 15 for cell in cells]
    assert [index for index, is_hatched in enumerate(hatched) if is_hatched] == [4, 5]
    if fit == "contain":
        assert np.abs(cells[1][:10] - LETTERBOX).max() < 6


def test_a_view_rendered_before_and_a_dead_cell_decode_nothing(film: World, cache: Cache) -> None:
    video = Flat()
    View(video, Grid(0, 16, 4), Look(64), dead=frozenset(range(15)), cache=cache).jpeg()
    assert video.asked == 1
    first = view(film.drawn, k=4, cell=64, cache=cache).jpeg()
    before = film.drawn.frames_decoded
    assert view(film.drawn, k=4, cell=64, cache=cache).jpeg() == first
    look = Look(64, sampling="shots", labels="index")
    masked = View(film.drawn, Grid(0, 120, 4), look, dead=frozenset({3}), cache=cache)
    masked.jpeg()  # another view of the same frames
    assert film.drawn.frames_decoded == before

    video = Flat(broken=(4.0, 6.0))
    for labels in ("none", "none", "index"):
        assert View(video, Grid(0, 16, 4), Look(64, labels=labels), cache=cache).unreadable == {4, 5}  # type: ignore[arg-type]
    assert video.asked == 16, "nor does one with unreadable cells"
    assert Still(video, 5.0, cache).unreadable and not Still(video, 7.0, cache).unreadable


def test_a_key_depends_on_all_that_a_view_is_made_of(cache: Cache) -> None:
    video = Flat()
    base = View(video, Grid(0, 16, 4), Look(64), cache=cache)
    variants = [
        base,
        replace(base, video=Flat((180, 320))),
        replace(base, grid=Grid(0, 16, 2)),
        replace(base, grid=base.grid.expand(1)),
        replace(base, dead=frozenset({1})),
        with_look(base, cell=65),
        with_look(base, fit="stretch"),
        with_look(base, labels="time"),
    ]
    assert len({variant.key for variant in variants}) == len(variants)
    renamed = Flat()
    renamed.name = "elsewhere"
    assert replace(base, video=renamed).key == base.key
    assert video.asked == 0, "reading a key decodes nothing"


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("16 pixels", {"cell": 8}),
        ("8192", {"cell": 2100}),
        ("fit is", {"fit": "crop"}),
        ("patch is a whole number, at least 1", {"patch": 0}),
    ],
)
def test_an_impossible_look_is_refused(message: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=message):
        View(Flat(), Grid(0, 16, 4), Look(**wrong))
    with pytest.raises(InputError, match="runs from 0"):
        View(Flat(), Grid(0, 17, 2))


sides = st.integers(1, 8000)
shapes = st.one_of(st.tuples(sides, sides), st.sampled_from([(1920, 1080), (640, 480), (1080, 1920), (2000, 100)]))
cells = st.integers(16, 640)
patches = st.one_of(st.sampled_from([14, 28, 32, 48, 56, 64]), st.integers(1, 200))
few = st.integers(1, 12)


@given(shapes, cells, few, few, patches)
def test_the_law_of_native_cells(shape: tuple[int, int], cell: int, columns: int, rows: int, patch: int) -> None:
    """The longer side is `cell`; the shorter one, times its count, is a whole number of patches."""
    size = width, height = Look(cell, "native", patch).cell_size(shape, columns, rows)
    assert max(size) == cell and min(size) >= 1, "never more pixels than a square cell"
    is_wide = shape[0] >= shape[1]
    shorter, count = (height, rows) if is_wide else (width, columns)
    assert (width if is_wide else height) == cell, "the longer side is that of the video"
    step = patch // math.gcd(count, patch)
    wanted = max(cell * min(shape) / max(shape), cell / FLATTEST, min(cell, SHORTEST_PX))
    if step <= cell:
        assert shorter * count % patch == 0
        nearest = min(range(step, cell + 1, step), key=lambda length: (abs(length - wanted), -length))
        assert abs(shorter - wanted) == pytest.approx(abs(nearest - wanted)), "no other whole number is nearer"
    else:
        assert abs(shorter - wanted) <= 0.5


@given(
    st.tuples(st.integers(40, 400), st.integers(40, 400)), st.integers(32, 120), st.integers(2, 5), st.integers(1, 64)
)
def test_all_of_the_frame_is_visible(shape: tuple[int, int], cell: int, k: int, patch: int) -> None:
    """The frame keeps its aspect ratio, touches two sides at least, and the rest is grey."""
    video = Flat(shape)
    size = Look(cell, "native", patch).cell_size(shape, k, k)
    (tile,), _ = read_tiles(video, [1.0], size, "native", Cache(None))
    assert tile is not None and tile.size == size
    shown = np.abs(np.asarray(tile).astype(int) - (200, 60, 60)).max(axis=2) < 40
    high, wide = np.ptp(np.nonzero(shown.any(axis=1))) + 1, np.ptp(np.nonzero(shown.any(axis=0))) + 1
    assert shown.sum() == high * wide, "one rectangle"
    scale = min(size[0] / shape[0], size[1] / shape[1])
    assert abs(wide - shape[0] * scale) <= 0.51 and abs(high - shape[1] * scale) <= 0.51
    assert wide == size[0] or high == size[1]
    rest = np.asarray(tile).astype(int)[~shown]
    assert np.abs(rest - LETTERBOX).max(initial=0) < 30


def test_a_key_holds_the_size_that_a_patch_leads_to_and_not_the_patch(cache: Cache) -> None:
    base = View(Flat(), Grid(0, 16, 8), Look(320, "native"), cache=cache)
    by_patch = {patch: with_look(base, patch=patch) for patch in (32, 16, 56)}
    assert by_patch[32].cell_size == by_patch[16].cell_size != by_patch[56].cell_size
    assert by_patch[32].key == by_patch[16].key != by_patch[56].key
    pad = Scratchpad().add([Evidence(1.0, 0.0, 2.0, "x", 0.5), Evidence(3.0, 2.0, 4.0, "y", 0.5)])
    sheets = {patch: Sheet(Flat(), pad, Look(320, "native", patch), cache=cache) for patch in (32, 64, 28)}
    assert sheets[32].key == sheets[64].key != sheets[28].key
    assert replace(sheets[32], scratchpad=pad.erase(["B"])).key != sheets[32].key
    square = with_look(base, fit="contain")
    assert with_look(square, patch=56).key == square.key, "square cells have no patches"
