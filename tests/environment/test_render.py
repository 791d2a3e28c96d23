"""Promises 3 (no silent black), 5 (decode once) and 6 (recipe keys)."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stand_ins import Flat

from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.render import Frame, Sheet, Still, View, view, with_look
from atlaskit.environment.tiles import Look
from atlaskit.errors import InputError
from atlaskit.video.readers import LETTERBOX


def pixels(view: View) -> np.ndarray:
    return np.asarray(view.image).astype(int)


def cell_of(view: View, index: int) -> np.ndarray:
    row, column = divmod(index, view.grid.k)
    side = view.look.cell
    return pixels(view)[row * side : (row + 1) * side, column * side : (column + 1) * side]


def test_a_view_shows_its_cells_in_row_major_order(world: World, cache: Cache) -> None:
    root = view(world.drawn, k=3, cell=64, cache=cache)
    assert root.image.size == root.size == (192, 192)
    for cell in root.cells:
        frame = world.drawn.frames([cell.midpoint_s], (64, 36))[0].astype(int)
        shown = cell_of(root, cell.index)[14:50]
        assert np.abs(shown - frame).mean() < 4, cell


def test_dead_cells_and_nothing_else_are_black(cache: Cache) -> None:
    video = Flat(broken=(4.0, 6.0))
    masked = View(video, Grid(0, 16, 4), Look(64), dead=frozenset({0, 15}), cache=cache)
    assert masked.unreadable == {4, 5}
    for cell in masked.cells:
        is_black = (cell_of(masked, cell.index).max(axis=2) < 8).mean() > 0.99
        assert is_black == (cell.index in masked.dead), cell
    unreadable, letterbox = cell_of(masked, 4), cell_of(masked, 1)[:10]
    assert unreadable.std() > 15  # hatched
    assert np.abs(letterbox - LETTERBOX).max() < 6


def test_a_dead_cell_is_not_decoded(cache: Cache) -> None:
    video = Flat()
    View(video, Grid(0, 16, 4), Look(64), dead=frozenset(range(15)), cache=cache).jpeg()
    assert video.asked == 1


def test_contain_keeps_the_aspect_ratio_and_stretch_does_not(cache: Cache) -> None:
    red = np.array((200, 60, 60))
    for size, fit, expected in [
        ((320, 180), "contain", 9 / 16),
        ((180, 320), "contain", 9 / 16),
        ((320, 180), "stretch", 1),
    ]:
        fitted = View(Flat(size), Grid(0, 16, 2), Look(160, fit), cache=cache)  # type: ignore[arg-type]
        share = (np.abs(cell_of(fitted, 0) - red).max(axis=2) < 12).mean()
        assert share == pytest.approx(expected, abs=0.02)


def test_a_view_rendered_before_decodes_nothing(world: World, cache: Cache) -> None:
    first = view(world.drawn, k=4, cell=64, cache=cache).jpeg()
    before = world.drawn.frames_decoded
    assert view(world.drawn, k=4, cell=64, cache=cache).jpeg() == first
    masked = View(world.drawn, Grid(0, 600, 4), Look(64, labels="index"), dead=frozenset({3}), cache=cache)
    masked.jpeg()  # another view of the same frames
    assert world.drawn.frames_decoded == before


def test_a_view_with_unreadable_cells_is_cached_too(cache: Cache) -> None:
    video = Flat(broken=(4.0, 6.0))
    for labels in ("none", "none", "index"):
        assert View(video, Grid(0, 16, 4), Look(64, labels=labels), cache=cache).unreadable == {4, 5}  # type: ignore[arg-type]
    assert video.asked == 16
    assert Still(video, 5.0, cache).unreadable and not Still(video, 7.0, cache).unreadable


def test_a_key_depends_on_all_that_a_view_is_made_of(cache: Cache) -> None:
    video = Flat()
    base = View(video, Grid(0, 16, 4), Look(64), cache=cache)
    variants = [
        base,
        dataclasses.replace(base, video=Flat((180, 320))),
        dataclasses.replace(base, grid=Grid(0, 16, 2)),
        dataclasses.replace(base, grid=base.grid.expand(1)),
        with_look(base, cell=65),
        with_look(base, fit="stretch"),
        with_look(base, labels="time"),
        dataclasses.replace(base, dead=frozenset({1})),
    ]
    assert len({variant.key for variant in variants}) == len(variants)
    assert dataclasses.replace(base).key == base.key
    renamed = Flat()
    renamed.name = "elsewhere"
    assert dataclasses.replace(base, video=renamed).key == base.key
    assert video.asked == 0, "reading a key decodes nothing"


@given(st.integers(2, 6), st.lists(st.integers(0, 3), max_size=3), st.sets(st.integers(0, 3)))
def test_the_order_of_dead_cells_does_not_change_a_key(k: int, path: list[int], dead: set[int]) -> None:
    grid = Grid(0, 16, k, tuple(path))
    no_cache: Cache = None  # type: ignore[assignment]  # a key needs no cache
    one, other = (
        View(Flat(), grid, Look(64), dead=frozenset(d), cache=no_cache) for d in (sorted(dead), sorted(dead)[::-1])
    )
    assert one.key == other.key


def test_the_sheet_of_a_scratchpad(world: World, cache: Cache) -> None:
    times = [world.drawn.duration_s * i / 28 for i in range(28)]
    items = [Evidence(t, t, t + 1, "x", 0.5, "a long line of speech that must be wrapped <b>here</b>") for t in times]
    pad = Scratchpad().add(items)
    sheet = Sheet(world.drawn, pad, Look(64), cache=cache)
    assert pad.labels[-1] == "AB"
    assert sheet.size == (6 * 64, 5 * 64) == sheet.image.size
    assert Sheet(world.drawn, pad.erase(["C"]), Look(64), cache=cache).key != sheet.key


def test_a_still_shows_the_frame(world: World, cache: Cache) -> None:
    still = Still(world.drawn, 12.0, cache)
    frame = np.asarray(world.drawn.frame(12.0)).astype(int)
    assert np.abs(np.asarray(still.image).astype(int) - frame).mean() < 4
    other = Still(world.drawn, 300.0, cache)
    assert np.abs(np.asarray(other.image).astype(int) - frame).mean() > 20


def test_a_frame_shows_what_the_still_does_in_the_size_of_a_cell(world: World, cache: Cache) -> None:
    for fit, size in {"native": (96, 54), "contain": (96, 96), "stretch": (96, 96)}.items():
        frame = Frame(world.drawn, 12.0, Look(96, fit, 2), cache=cache)  # type: ignore[arg-type]
        assert frame.image.size == frame.size == size
    still = np.asarray(Still(world.drawn, 12.0, cache).small((96, 54))).astype(int)
    shown = Frame(world.drawn, 12.0, Look(96, "native", 2), cache=cache)
    assert np.abs(np.asarray(shown.image).astype(int) - still).mean() < 6
    before = world.drawn.frames_decoded
    assert shown.jpeg() and world.drawn.frames_decoded == before, "what was shown before decodes nothing"


def test_a_frames_key_tells_it_from_others_and_an_unreadable_one_is_marked(cache: Cache) -> None:
    video = Flat(broken=(4.0, 6.0))
    base = Frame(video, 5.0, Look(64, "contain"), cache=cache)
    variants = [base, dataclasses.replace(base, time_s=5.5), with_look(base, cell=65)]
    variants += [with_look(base, fit="stretch"), dataclasses.replace(base, video=Flat((180, 320)))]
    assert len({*(each.key for each in variants), Still(video, 5.0, cache).key}) == len(variants) + 1
    assert video.asked == 0
    hatched = np.asarray(with_look(base, fit="stretch").image).std(axis=(0, 1)).max()
    plain = np.asarray(Frame(video, 7.0, Look(64, "stretch"), cache=cache).image).std(axis=(0, 1)).max()
    assert hatched > 10 and plain < 2
    for wrong in ({"cell": 8}, {"cell": 9_000}, {"fit": "crop"}, {"patch": 0}):
        with pytest.raises(InputError):
            with_look(base, **wrong)
    with pytest.raises(InputError):
        dataclasses.replace(base, time_s=16.0)


def test_invalid_views_are_refused(cache: Cache) -> None:
    with pytest.raises(InputError, match="16 pixels"):
        View(Flat(), Grid(0, 16, 2), Look(8), cache=cache)
    with pytest.raises(InputError, match=r"16 pixels wide; got 64\.5"):
        Look(64.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="8192"):
        View(Flat(), Grid(0, 16, 45), Look(330), cache=cache)
    with pytest.raises(InputError, match="fit is"):
        View(Flat(), Grid(0, 16, 2), Look(fit="crop"), cache=cache)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="labels is"):
        View(Flat(), Grid(0, 16, 2), Look(labels="all"), cache=cache)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="runs from 0"):
        View(Flat(), Grid(0, 17, 2), cache=cache)
    with pytest.raises(InputError, match="K = 1"):
        view(Flat(), k=1, cache=cache)
