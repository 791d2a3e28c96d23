"""The MDP, its memory and its atlas. Promise 4: evidence is grounded, whatever an agent does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stand_ins import Flat

from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import (
    Action,
    AddToScratchpad,
    Backtrack,
    Claim,
    Expand,
    Finished,
    Investigate,
    MarkPromising,
    Zoom,
    name_of,
)
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import Rules, State, legal_set, scan_interval, transition
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad, Seen, label_of
from atlaskit.environment.render import Still, View
from atlaskit.errors import IllegalAction, InputError
from atlasworld import World


def named(cell: int) -> dict[str, Action]:
    """Return an action of each kind that names a cell, or none."""
    actions: list[Action] = [Backtrack(), Finished(), Expand(cell), Zoom(cell), MarkPromising((cell,))]
    actions += [Investigate(cell, "before"), Investigate(cell, "after"), AddToScratchpad((Claim(cell, "seen"),))]
    return {name_of(action): action for action in actions}


@st.composite
def start_states(draw: st.DrawFn) -> State:
    duration_s, k = draw(st.floats(2.0, 40_000.0)), draw(st.integers(2, 4))
    rules = Rules(duration_s, draw(st.integers(1, 4)), draw(st.sampled_from(["dfs", "bfs"])))
    region = Grid(0.0, duration_s, k, (draw(st.integers(0, k * k - 1)),))
    zones = DeadZones()
    for cell in draw(st.lists(st.sampled_from(region.cells), max_size=4)):
        if cell.start_s < cell.end_s:
            zones = zones.add(cell.start_s, cell.end_s)
    return State(region, rules, region_depth=1, dead_zones=zones)


@given(start_states(), st.data())
def test_evidence_is_grounded_after_any_actions(state: State, data: st.DataObject) -> None:
    region = state.region
    for _ in range(8):
        choices = [named(cell)[name] for name, cells in legal_set(state).cells.items() for cell in cells or (0,)]
        if not choices:
            assert state.finished
            break
        action = data.draw(st.sampled_from(choices))
        before, state = state, transition(state, action)
        assert state.region == region
        assert region.start_s <= state.grid.start_s and state.grid.end_s <= region.end_s
        assert state.depth <= max(before.rules.max_depth, before.region_depth)
        if isinstance(action, AddToScratchpad):
            (claim,), found = action.items, state.scratchpad.items[-1]
            cell = before.grid.cells[claim.cell]
            assert (found.timestamp_s, found.start_s, found.end_s) == (cell.midpoint_s, cell.start_s, cell.end_s)
            assert region.start_s <= found.timestamp_s <= region.end_s
            assert claim.cell not in before.dead_cells
        else:
            assert state.scratchpad == before.scratchpad


@given(start_states(), st.integers(-3, 40), st.data())
def test_exactly_the_actions_outside_the_legal_set_raise(state: State, cell: int, data: st.DataObject) -> None:
    legal = legal_set(state)
    name, action = data.draw(st.sampled_from(list(named(cell).items())))
    if cell in legal[name] or (name in legal and name in ("backtrack", "finished")):
        transition(state, action)
    else:
        with pytest.raises(IllegalAction):
            transition(state, action)


def state_of(duration_s: float = 600.0, max_depth: int = 1, path: tuple[int, ...] = (5,), **rest: object) -> State:
    rules = Rules(duration_s, max_depth, rest.pop("traversal", "dfs"))  # type: ignore[arg-type]
    return State(Grid(0.0, duration_s, 8, path), rules, region_depth=len(path), **rest)  # type: ignore[arg-type]


def test_expand_is_illegal_at_the_maximum_depth_and_below_a_second() -> None:
    root = state_of(path=())
    assert legal_set(root)["expand"] == tuple(range(64))
    assert legal_set(transition(root, Expand(5)))["expand"] == ()
    assert legal_set(state_of(max_depth=3))["expand"] == ()  # cells of 0.15 s
    assert legal_set(state_of(36_000, max_depth=2))["expand"] == tuple(range(64))


def test_breadth_first_workers_mark_and_do_not_expand() -> None:
    state = state_of(36_000, max_depth=2, traversal="bfs")
    legal = legal_set(state)
    assert legal["expand"] == () and "backtrack" not in legal and legal["mark_promising"] == tuple(range(64))
    state = transition(transition(state, MarkPromising((9, 3, 9))), MarkPromising((4,)))
    assert not {9, 3, 4} & set(legal_set(state)["mark_promising"])
    assert [grid.path[-1] for grid in state.marked] == [9, 3, 4]  # in order, once each


def test_no_action_can_name_a_dead_cell() -> None:
    state = state_of(path=(), dead_zones=DeadZones().add(0.0, 25.0))
    assert state.dead_cells == {0, 1}  # cell 2 is dead only in part
    legal = legal_set(state)
    assert all(0 not in cells and 2 in cells for cells in (legal["expand"], legal["zoom"], legal["investigate_after"]))
    assert legal["add_to_scratchpad"][0] == 3, "the midpoint of cell 2, 23.4 s, is dead"


def test_context_scans_stop_at_the_ends_and_at_dead_zones(world: World, shared_cache: Cache) -> None:
    legal = legal_set(state_of(path=()))
    assert 0 not in legal["investigate_before"] and 63 not in legal["investigate_after"]
    cell = Grid(0.0, 600.0, 8).cells[1]
    assert scan_interval(cell, "before", 600.0) == (0.0, cell.start_s)
    short = Grid(0.0, 6.0, 8).cells[32]
    assert scan_interval(short, "after", 6.0) == (short.end_s, short.end_s + 1.0)

    atlas = Atlas(world.drawn, cell=64, cache=shared_cache)
    cell = atlas.root.cells[20]
    zones = DeadZones().add(cell.start_s - 5.0, cell.start_s)
    scan = atlas.observe(atlas.act(atlas.start(dead_zones=zones), Investigate(20, "before"))).looking_at
    assert isinstance(scan, View) and scan.dead == {5, 6, 7, 8}, "5 of 9.4 s cover four whole cells of nine"


def test_an_atlas_observes_each_action(world: World, shared_cache: Cache) -> None:
    atlas = Atlas(world.drawn, cell=64, cache=shared_cache)
    assert atlas.rules.max_depth == 1
    observation = atlas.reset()
    assert observation.view.image.size == (512, 288) and len(observation.subtitles) == len(world.script.lines)
    observation = atlas.step(Expand(cell=12))
    assert (observation.view.grid.start_s, observation.view.grid.end_s) == (112.5, 121.875)
    observation = atlas.step(Zoom(cell=30))
    assert isinstance(observation.looking_at, Still)
    assert observation.looking_at.image.size == world.drawn.size
    observation = atlas.step(Investigate(cell=30, direction="before"))
    assert isinstance(observation.looking_at, View) and observation.looking_at.grid.k == 3
    assert atlas.step(Backtrack()).looking_at is None
    with pytest.raises(IllegalAction, match="Backtrack"):
        atlas.step(Backtrack())


def test_evidence_carries_the_subtitles_of_its_cell(world: World, shared_cache: Cache) -> None:
    line = world.script.lines[0]
    for subtitles in (True, False):
        atlas = Atlas(world.drawn, cell=64, subtitles=subtitles, cache=shared_cache)
        cell = atlas.root.cell_at(line.start_s + 0.01)
        atlas.step(AddToScratchpad((Claim(cell.index, "seen"),)))
        (item,) = atlas.state.scratchpad
        assert (line.text in item.subtitle) == subtitles == bool(item.subtitle)


@given(spans_s=st.tuples(st.floats(0, 600), st.floats(0, 600)), step_s=st.floats(0, 60), k=st.integers(2, 8))
def test_no_sheet_is_finer_than_frames(world: World, spans_s: tuple[float, float], step_s: float, k: int) -> None:
    atlas = Atlas(world.drawn, k=k, cell=32)
    start_s, end_s = sorted(spans_s)
    grid = atlas.over(start_s, end_s, step_s)
    assert atlas.root.start_s <= grid.start_s < grid.end_s <= atlas.root.end_s and grid.k <= k
    assert grid.start_s <= min(start_s, atlas.root.end_s) and min(end_s, atlas.root.end_s) <= grid.end_s + 1e-9
    assert grid.resolution_s >= atlas.finest_s * 0.999, "each cell has a frame of its own"
    is_whole = grid.k == k or grid.resolution_s < 2.3 * atlas.finest_s
    assert is_whole or not step_s or grid.resolution_s <= step_s * 1.001, "as fine as was asked for, where it can be"
    assert len(set(atlas.view(atlas.start(grid)).moments)) == grid.size


def test_a_sheet_of_the_last_frames_ends_with_what_is_searched() -> None:
    video = Flat()
    for video.duration_s, video.fps, within in [(3.80211116141173, 23.976, None), (2.0, 7.5, (0.23, 0.65))]:
        atlas = Atlas(video, k=4, cell=32, within=within)
        grid = atlas.over(atlas.root.end_s - 0.01, atlas.root.end_s)
        assert atlas.view(atlas.start(grid)).grid == grid


spans = st.tuples(st.integers(0, 100), st.integers(1, 20)).map(lambda pair: (float(pair[0]), float(sum(pair))))


def evidence(time_s: float, confidence: float = 0.5, description: str = "seen") -> Evidence:
    return Evidence(time_s, time_s - 0.5, time_s + 0.5, description, confidence)


def test_evidence_keeps_its_label_and_a_moment_its_surest_description() -> None:
    """Labels follow the paper; the label of an erased item is not reused."""
    assert [label_of(i) for i in (0, 25, 26, 50, 51, 52, 701, 702)] == ["A", "Z", "AA", "AY", "AZ", "BA", "ZZ", "AAA"]
    pad = Scratchpad().add([evidence(1), evidence(2)]).erase(["B"]).add([evidence(3)])
    assert pad.labels == ("A", "C") and pad["C"].timestamp_s == 3
    with pytest.raises(InputError, match=r"no evidence \[B\]"):
        pad["B"]
    one = Scratchpad().add([evidence(1, 0.5, "unsure"), evidence(1, 0.9, "sure"), evidence(1, 0.2, "guess")])
    assert [(e.label, e.description) for e in one] == [("A", "sure")]
    four = Scratchpad().add(evidence(float(t), confidence=c) for t, c in ((1, 0.2), (2, 0.9), (3, 0.5), (4, 0.9)))
    assert four.surest(2).labels == ("B", "D") and four.surest(3).labels == ("B", "C", "D")
    assert four.surest(4) is four and four.surest(2).labelled == 4
    with pytest.raises(InputError, match="outside its cell"):
        Evidence(8660.0, 0.0, 10.0, "a yellow card", 1.0)
    with pytest.raises(InputError, match="confidence"):
        Evidence(1.0, 0.0, 2.0, "", 1.1)


@given(st.lists(spans, max_size=12))
def test_dead_zones_are_the_union_of_the_added_intervals(added: list[tuple[float, float]]) -> None:
    zones = DeadZones().add_all(added)
    assert all(a[1] < b[0] for a, b in zip(zones.intervals, zones.intervals[1:], strict=False))
    dead = [any(a <= second < b for a, b in added) for second in range(125)]  # all bounds are whole seconds
    assert [zones.covers(second, second + 1) for second in range(125)] == dead
    assert [zones.contain(second) for second in range(125)] == dead
    assert zones.coverage(0, 125) == pytest.approx(sum(dead) / 125)


SIGHTS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 20), st.sampled_from([0.5, 1.0, 2.0, 4.0])), min_size=1, max_size=12
)


@given(SIGHTS, st.sampled_from([0.5, 1.0, 2.0, 4.0]))
def test_a_moment_has_the_finest_step_that_showed_it(sights: list[tuple[int, int, float]], step_s: float) -> None:
    seen = Seen()
    for start_s, length_s, step in sights:
        seen = seen.add(float(start_s), float(start_s + length_s), step)
    assert all(a[1] <= b[0] for a, b in zip(seen.parts, seen.parts[1:], strict=False))
    unseen = DeadZones(seen.unseen(0.0, 60.0, step_s))
    for moment_s in (second + 0.5 for second in range(60)):
        steps = [step for start_s, length_s, step in sights if start_s <= moment_s < start_s + length_s]
        found = [step for start_s, end_s, step in seen.parts if start_s <= moment_s < end_s]
        assert found == ([min(steps)] if steps else [])
        assert unseen.contain(moment_s) == (not steps or min(steps) > step_s)
