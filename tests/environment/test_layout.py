"""Sheets that show some frames small: where each stands, and their keys."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.stand_ins import Flat

from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.layout import corners, squared
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.render import Sheet
from atlaskit.environment.tiles import read_tiles

LABELS = ("A", "B", "C", "D", "E", "F", "G")


def close(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two pictures are the same but for JPEG."""
    return one.shape == other.shape and float(np.abs(one.astype(int) - other.astype(int)).mean()) < 6


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


def test_keys_tell_small_frames_apart(cache: Cache) -> None:
    pad = scratchpad(3)
    sheets = [Sheet(Flat(), pad, 64, halved=halved, cache=cache) for halved in map(frozenset, ("", "A", "B", "AB"))]
    assert len({sheet.key for sheet in sheets}) == 4


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
