"""The most promising region comes first; an interval becomes the regions that cover it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.agents.strategies import BEAM_WIDTH, Frontier, beam
from atlaskit.environment.grid import SUB_SECOND, Grid, regions_over, unseen_over
from atlaskit.environment.mdp import Rules
from atlaskit.errors import InputError

ROOT = Grid(0.0, 36_000.0, 4)
CELLS = tuple(ROOT.expand(cell) for cell in range(16))
EQUAL = dict.fromkeys(range(16), 0.5)
RISING = {cell: cell / 16 for cell in range(16)}


def frontier(scores: dict[int, float], priors: dict[int, float] | None = None) -> Frontier:
    """Return a frontier with the master's scores of root cells, and the priors of some."""
    queue = Frontier(CELLS)
    if priors:
        queue.consult(lambda grid: priors.get(grid.path[-1], 0.0))
    queue.rank(scores)
    return queue


def visit(queue: Frontier, *regions: Grid) -> None:
    """Explore regions to the end, together."""
    for region in regions:
        queue.hand_out(region)
    for region in regions:
        queue.take_back(region, is_searched=True)


def test_the_best_regions_come_first_and_those_that_are_passed_over_lose_half_their_score() -> None:
    queue = frontier({3: 0.5, 9: 0.9, 14: 0.5})
    assert queue.best(5) == [CELLS[9], CELLS[3], CELLS[14]], "regions without a score are not chosen"
    assert len(queue.open) == 16, "choosing does not change the queue"
    queue = frontier({3: 0.9, 9: 0.5})
    queue.rank({14: 0.5, 2: 0.5}, offered=range(16))
    assert {r.grid.path[0]: r.score for r in queue.open if r.score} == {3: 0.45, 9: 0.25, 14: 0.5, 2: 0.5}
    assert queue.best(1) == [CELLS[14]]
    queue.rank({5: 0.1}, offered=(5, 14))
    assert queue.best(1) == [CELLS[2]], "14 was offered and not named"


def test_virtual_loss_defers_the_neighbours_of_a_region() -> None:
    """It applies within a round, and until the region is taken back."""
    scores = {4: 0.9, 5: 0.8, 12: 0.7}
    assert frontier(scores).best(3) == [CELLS[4], CELLS[12], CELLS[5]], "5 is adjacent to 4, so 12 comes before it"
    queue = frontier(scores)
    queue.hand_out(CELLS[4])
    assert queue.best(2) == [CELLS[12], CELLS[5]]
    queue.take_back(CELLS[4], is_searched=True)
    assert queue.best(2) == [CELLS[5], CELLS[12]]
    assert CELLS[4] in queue.visited and CELLS[4] not in {region.grid for region in queue.open}


def test_a_suggested_region_keeps_its_score_and_what_was_seen_is_looked_at_more_finely() -> None:
    queue = frontier({2: 0.6})
    inside = CELLS[2].expand(5)
    moment, rules = inside.cells[3].midpoint_s, Rules(36_000.0, 2)

    def unseen() -> tuple[Grid, ...]:
        return unseen_over(ROOT, moment, moment, rules.can_open, queue.is_seen)

    assert unseen() == (inside,), "the deepest grid that may be opened"
    queue.suggest([inside, inside])
    queue.rank({2: 0.1})
    assert queue.best(1) == [inside]
    visit(queue, inside)
    (between,) = unseen()
    assert between.path == inside.path and between.start_s < moment < between.end_s
    assert abs((between.start_s + between.end_s) / 2 - moment) < inside.resolution_s, "the moment is in its middle"
    assert not {cell.midpoint_s for cell in between.cells} & {cell.midpoint_s for cell in inside.cells}
    queue.suggest([between])
    visit(queue, between)
    assert unseen() == (), "it was seen as finely as can be"


def depths_of(strategy: Any, queue: Frontier, workers: int = 4) -> list[int]:
    """Run a strategy until it ends; return the depths of the regions it chose."""
    depths = []
    while assignments := strategy(queue, workers=workers, steps=12):
        assert len(assignments) <= workers
        visit(queue, *(each.region for each in assignments))
        for each in assignments:
            depths.append(each.region.depth)
            if each.traversal == "bfs" and each.region.depth < 3:
                queue.mark([each.region.expand(cell) for cell in range(3)], found_in=each.region)
    return depths


def test_a_beam_limits_each_level_and_widens_at_the_end() -> None:
    queue = frontier(RISING)
    depths = depths_of(beam(2), queue, workers=2)
    assert depths[:6] == [1, 1, 2, 2, 3, 3] and depths[6:8] == [1, 1]
    assert len(depths) == 16 + 48 + 144, "in the end it has visited everything"
    assert queue.visited[0] == CELLS[15]
    assert len(beam()(frontier(EQUAL), workers=16, steps=9)) == BEAM_WIDTH
    with pytest.raises(InputError, match="width of a beam .*1"):
        beam(0)


@given(
    duration_s=st.floats(2.0, 40_000.0),
    k=st.integers(2, 5),
    edges=st.tuples(st.floats(-100, 40_100), st.floats(-100, 40_100)),
    max_depth=st.integers(0, 4),
)
def test_regions_cover_an_interval(duration_s: float, k: int, edges: tuple[float, float], max_depth: int) -> None:
    root, can_open = Grid(0.0, duration_s, k), Rules(duration_s, max_depth).can_open
    regions = regions_over(root, *edges, can_open)
    start_s, end_s = max(0.0, edges[0]), min(duration_s, edges[1])
    if not start_s <= end_s or start_s >= duration_s or not can_open(root):
        assert regions == ()
        return
    assert regions[0].start_s <= start_s < regions[0].end_s
    assert regions[-1].start_s < end_s <= regions[-1].end_s, "no region lies outside the interval"
    assert all(a.end_s == b.start_s for a, b in zip(regions, regions[1:], strict=False))
    depth = regions[0].depth
    assert {region.depth for region in regions} == {depth} and 1 <= depth <= max_depth
    for region in regions:
        assert region.parent().resolution_s >= SUB_SECOND, "each is a cell that a worker could open"
    assert depth == 1 or len(regions) <= 2
    is_finest = regions[0].resolution_s < max(end_s - start_s, SUB_SECOND)
    assert depth == max_depth or is_finest, "the regions are as small as possible"


def test_a_prior_ranks_a_region_unless_the_master_is_surer_of_another() -> None:
    queue = frontier({3: 0.5}, priors={14: 1.0, 1: 0.9, 7: 0.5})
    assert queue.best(5) == [CELLS[14], CELLS[1], CELLS[3]], "regions without either are not chosen"
    assert {region.grid.path[0]: region.score for region in queue.scored} == {3: 0.5, 14: None, 1: None}

    queue = frontier({3: 0.5, 9: 0.9}, priors={14: 1.0, 1: 0.5})
    assert queue.best(5) == [CELLS[9], CELLS[3]]
    for visited, following in ((9, [14, 3]), (3, [14, 1])):
        visit(queue, CELLS[visited])
        assert queue.best(5) == [CELLS[cell] for cell in following]
