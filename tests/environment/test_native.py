"""Cells in the video's own shape: how large they are, what they show, and their keys."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stand_ins import Flat

from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Investigate, Zoom
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.render import Sheet, Still, View, view, with_look
from atlaskit.environment.tiles import FLATTEST, SHORTEST_PX, Look, read_tiles
from atlaskit.errors import FrameError, InputError
from atlaskit.video.playlist import Playlist
from atlaskit.video.readers import LETTERBOX, Pixels

sides = st.integers(1, 8000)
shapes = st.one_of(st.tuples(sides, sides), st.sampled_from([(1920, 1080), (640, 480), (1080, 1920), (2000, 100)]))
cells = st.integers(16, 640)
patches = st.one_of(st.sampled_from([14, 28, 32, 48, 56, 64]), st.integers(1, 200))
few = st.integers(1, 12)
LONG = "a long line of speech that must be wrapped and that no tile has room for, not even in three lines of it"


class Clock(Flat):
    """A video that is the redder the later it is."""

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        width, height = size or self.size
        return [np.full((height, width, 3), (round(15 * time_s), 60, 120), np.uint8) for time_s in times_s]


@pytest.mark.parametrize(
    ("shape", "cell", "k", "patch", "expected"),
    [
        ((1920, 1080), 320, 8, 32, (320, 180)),
        ((640, 480), 320, 8, 32, (320, 240)),
        ((1080, 1920), 320, 8, 32, (180, 320)),
        ((1920, 800), 320, 8, 32, (320, 132)),  # 133.3
        ((1000, 1000), 320, 8, 28, (320, 315)),  # 322 would be more than a square cell
        ((1920, 1080), 320, 3, 32, (320, 192)),
        ((2000, 100), 320, 8, 32, (320, 80)),  # no flatter than 4:1
        ((1920, 1080), 24, 3, 64, (24, 16)),  # no multiple of 64 fits
    ],
)
def test_the_size_of_a_native_cell(
    shape: tuple[int, int], cell: int, k: int, patch: int, expected: tuple[int, int]
) -> None:
    assert Look(cell, "native", patch).cell_size(shape, k, k) == expected


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


@pytest.mark.parametrize("shape", [(320, 180), (180, 320), (200, 200)])
@pytest.mark.parametrize("patch", [14, 32])
def test_a_cell_lies_where_its_number_says(shape: tuple[int, int], patch: int, cache: Cache) -> None:
    """A pixel's share of the image's width and height gives its cell, as a click on it does."""
    shown = View(Clock(shape), Grid(0, 16, 4), Look(64, "native", patch), cache=cache)
    pixels = np.asarray(shown.image).astype(int)
    assert pixels.shape[1::-1] == shown.size
    for y, x in np.ndindex(12, 12):
        share_y, share_x = (y + 0.5) / 12, (x + 0.5) / 12
        cell = shown.cells[int(share_y * 4) * 4 + int(share_x * 4)]
        pixel = pixels[int(share_y * shown.size[1]), int(share_x * shown.size[0])]
        assert abs(pixel[0] - 15 * cell.midpoint_s) < 7, (x, y)


def test_only_the_dead_are_black_and_the_unreadable_are_marked(cache: Cache) -> None:
    shown = View(Flat(broken=(4.0, 6.0)), Grid(0, 16, 4), Look(160, "native"), dead=frozenset({0}), cache=cache)
    assert shown.cell_size == (160, 88) and shown.unreadable == {4, 5}
    cells = np.asarray(shown.image).astype(int).reshape(4, 88, 4, 160, 3).swapaxes(1, 2).reshape(16, 88, 160, 3)
    assert [index for index, cell in enumerate(cells) if (cell.max(axis=2) < 8).mean() > 0.99] == [0]
    assert [index for index, cell in enumerate(cells) if cell.std(axis=(0, 1)).max() > 15] == [4, 5]


def test_a_key_holds_the_size_that_a_patch_leads_to_and_not_the_patch(cache: Cache) -> None:
    base = View(Flat(), Grid(0, 16, 8), Look(320, "native"), cache=cache)
    by_patch = {patch: with_look(base, patch=patch) for patch in (32, 16, 56)}
    assert by_patch[32].cell_size == by_patch[16].cell_size != by_patch[56].cell_size
    assert by_patch[32].key == by_patch[16].key != by_patch[56].key
    square = View(Flat((320, 320)), Grid(0, 16, 8), Look(320, "native"), cache=cache)
    assert square.size == with_look(square, fit="contain").size
    assert square.key != with_look(square, fit="contain").key
    pad = Scratchpad().add([Evidence(1.0, 0.0, 2.0, "x", 0.5)])
    sheets = {patch: Sheet(Flat(), pad, Look(320, "native", patch), cache=cache) for patch in (32, 64, 28)}
    assert sheets[32].key == sheets[64].key != sheets[28].key
    for fit in ("contain", "stretch"):
        for other in (28, 56):
            assert with_look(base, fit=fit, patch=other).key == with_look(base, fit=fit).key
            assert (
                Sheet(Flat(), pad, Look(320, fit, other), cache=cache).key
                == Sheet(Flat(), pad, Look(320, fit), cache=cache).key
            )  # type: ignore[arg-type]


def test_native_and_contained_views_share_their_tiles(world: World, cache: Cache) -> None:
    view(world.drawn, k=4, cell=64, cache=cache).jpeg()
    before = world.drawn.frames_decoded
    native = view(world.drawn, k=4, cell=64, fit="native", cache=cache)
    native.jpeg()
    assert native.cell_size == (64, 40) and world.drawn.frames_decoded == before


def test_a_part_of_another_shape_is_letterboxed(cache: Cache) -> None:
    upright = Flat((180, 320))
    both = Playlist([Flat((320, 180)), upright])
    assert both.size == (320, 320)
    shown = View(Playlist([Flat((640, 320)), Flat((200, 320))]), Grid(0, 32, 2), Look(160, "native"), cache=cache)
    assert shown.cell_size == (160, 80)
    red = np.abs(np.asarray(shown.image).astype(int) - (200, 60, 60)).max(axis=2) < 40
    assert red[:80].mean() > 0.99 and red[80:].mean() == pytest.approx(200 / 320 * 80 / 160, abs=0.02)


def test_an_investigation_and_a_sheet_are_native_too(cache: Cache) -> None:
    atlas = Atlas(Flat((1920, 1080)), 8, 320, 1, "native", cache=cache)
    atlas.reset()
    scan = atlas.step(Investigate(20, "after")).looking_at
    assert isinstance(scan, View) and scan.size == (960, 576)
    still = atlas.step(Zoom(20)).looking_at
    assert isinstance(still, Still) and still.size == (1920, 1080), "a still is the frame itself"
    items = [Evidence(t + 0.5, t, t + 1, "x", 0.5, LONG) for t in range(5)]
    sheet = atlas.sheet(Scratchpad().add(items))
    assert sheet.image.size == sheet.size == (960, 352)
    assert Atlas(Flat((1920, 1080)), 8, 320, 1, "native", cache=cache, patch=28).sheet(Scratchpad()).size == (320, 168)


@pytest.mark.parametrize("shape", [(1920, 1080), (640, 480), (1080, 1920)])
def test_the_text_on_evidence_leaves_the_frame_visible(shape: tuple[int, int], cache: Cache) -> None:
    pad = Scratchpad().add([Evidence(1.0, 0.0, 2.0, "x", 0.5, LONG)])
    sheet = Sheet(Flat(shape), pad, Look(320, "native"), cache=cache)
    red = np.abs(np.asarray(sheet.image).astype(int) - (200, 60, 60)).max(axis=2) < 40
    assert 0.6 < red.mean() < 0.95
    silent = Sheet(
        Flat(shape),
        Scratchpad().add([dataclasses.replace(pad.items[0], subtitle="")]),
        Look(320, "native"),
        cache=cache,
    )
    assert red.mean() < (np.abs(np.asarray(silent.image).astype(int) - (200, 60, 60)).max(axis=2) < 40).mean()


@pytest.mark.parametrize("patch", [0, -32, 1.5, True])
def test_an_impossible_patch_is_refused(patch: int, cache: Cache) -> None:
    for fit in ("native", "contain"):
        with pytest.raises(InputError, match="patch is a whole number, at least 1"):
            View(Flat(), Grid(0, 16, 2), Look(fit=fit, patch=patch), cache=cache)  # type: ignore[arg-type]
