"""The scout of change: hand-computed scores, and what the cache keeps of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.spoken import Spoken, sight

from atlaskit.agents.scouts import change
from atlaskit.agents.scouts.by_change import CUTS_ABOVE, LEVELS_ABOVE, MOST
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.video.activity import Activity

ROOT = Grid(0.0, 64.0, 4)
"""16 cells of 4 seconds."""
CALM = (1.0,) * 64


def busy(**levels: float) -> Activity:
    """Return a calm second after second, but for some."""
    return Activity(1.0, tuple(levels.get(f"s{second}", 1.0) for second in range(64)), ())


def test_a_peak_names_its_cell() -> None:
    found = change(sight(activity=busy(s20=1.0 + LEVELS_ABOVE / 2, s50=9.0)), ROOT).by_cell
    assert {cell: hint.score for cell, hint in found.items()} == {5: MOST / 2, 12: MOST}
    assert found[12].reason == "much changes there"
    assert change(sight(activity=busy()), ROOT).by_cell == {}


def test_many_cuts_name_a_cell() -> None:
    times_s = (1.0, *(48.0 + number / 2 for number in range(int(CUTS_ABOVE))))
    found = change(sight(activity=Activity(1.0, CALM, times_s)), ROOT).by_cell
    assert {cell: hint.score for cell, hint in found.items()} == {0: MOST / CUTS_ABOVE, 12: MOST}


def test_a_video_without_packets_has_no_hints_and_none_are_kept(cache: Cache) -> None:
    unknown = sight(cache=cache)
    assert change(unknown, ROOT).note == "The video has no packets whose sizes could tell."
    assert change(sight(activity=busy(s50=9.0), cache=cache), ROOT).by_cell, "the file may be there another time"


def test_a_replay_needs_no_file(cache: Cache) -> None:
    known = sight(activity=busy(s50=9.0), cache=cache)
    grids = (ROOT, ROOT.expand(12))
    found = [change(known, grid) for grid in grids]
    missing = sight(cache=cache)
    assert [change(missing, grid) for grid in grids] == found and found[0] != found[1]
    assert isinstance(missing.video, Spoken) and missing.video.reads == 0


@pytest.mark.parametrize("entry", [b"[[99, 0.5]]", b"[1]", b"\xff", b"[" * 99_999])
def test_what_is_no_hints_in_a_cache_is_made_again(entry: bytes) -> None:
    cache = Cache(None)
    found = change(sight(activity=busy(s50=9.0), cache=cache), ROOT)
    (key,) = [entry.key for entry in cache.entries()]
    cache.put(key, entry)
    assert change(sight(activity=busy(s50=9.0), cache=cache), ROOT) == found


@given(
    st.lists(st.floats(0, 1e6), max_size=40),
    st.lists(st.floats(0, 64), max_size=20).map(sorted),
    st.floats(0.01, 100),
    st.lists(st.integers(0, 3), max_size=2),
)
def test_the_hints_of_any_activity_are_sound(
    levels: list[float], times: list[float], step: float, path: list[int]
) -> None:
    grid, activity = Grid(0.0, 64.0, 2, tuple(path)), Activity(step, tuple(levels), tuple(times))
    found = change(sight(activity=activity), grid)
    assert found == change(sight(activity=activity), grid)
    assert all(0 < hint.score <= MOST and 0 <= cell < grid.size for cell, hint in found.by_cell.items())
