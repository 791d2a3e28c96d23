"""`within`: the search of a part of a video, in times of the whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask
from support.invariants import check_grounded, check_memory, check_search
from support.searches import search

from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.runs import replay
from atlaskit.runs.result import Result
from atlaskit.viz.plots.logs import black_cells
from atlaskit.viz.walk.regions import regions
from atlaskit.viz.walk.source import open_run


@pytest.fixture(scope="module")
def question(small_world: World) -> Question:
    return next(question for question in small_world.questions if question.category == "T2O")


@pytest.fixture(scope="module")
def moment_s(small_world: World, question: Question) -> float:
    """When the whole search finds its evidence."""
    return next(iter(search(small_world, question, Cache(None), k=4).evidence)).timestamp_s


@pytest.fixture(scope="module")
def part(small_world: World, question: Question, moment_s: float) -> Result:
    start_s = max(0.0, moment_s - 40)
    return search(small_world, question, Cache(None), k=4, within=(start_s, moment_s + 20))


def test_it_finds_what_lies_within_in_times_of_the_whole(part: Result, moment_s: float) -> None:
    assert part.is_right
    assert part.within == (max(0.0, moment_s - 40), moment_s + 20)
    assert all(part.within[0] <= item.timestamp_s < part.within[1] for item in part.evidence)
    assert any(abs(item.timestamp_s - moment_s) < 10 for item in part.evidence)
    check_grounded(part)
    check_memory(part)
    check_search(part)


@settings(max_examples=15, deadline=None)
@given(st.tuples(st.floats(0, 590), st.floats(2, 600)), st.sampled_from([0.0, 0.3]))
def test_nothing_outside_is_opened_or_becomes_evidence(
    small_world: World, question: Question, times: tuple[float, float], error_rate: float
) -> None:
    start_s, end_s = times[0], min(small_world.drawn.duration_s, times[0] + times[1])
    oracle = Oracle(small_world, error_rate)
    result = search(small_world, question, Cache(None), oracle, k=4, within=(start_s, end_s), second_look=True)
    for event in (*result.trace.of("step"), *result.trace.of("report")):
        assert start_s <= event.interval_s[0] + 1e-6 and event.interval_s[1] <= end_s + 1e-6
    assert all(start_s <= item.timestamp_s <= end_s for item in result.evidence)
    assert 0 <= result.coverage <= 1


def test_the_record_draws_the_part_again(small_world: World, part: Result) -> None:
    shown = list(replay.pictures(part.trace, small_world.drawn, Cache(None)))
    assert shown and all(image.picture.size for image in shown), "each has the key that the run recorded"
    for source in (open_run(part), open_run(part.trace), open_run(part.trace, small_world.drawn)):
        assert source.within == pytest.approx(part.within)
        assert regions(source)[0]["told"].startswith("whole searched part")
    assert black_cells(part) <= set(range(16))


@pytest.mark.parametrize(
    "within", [(5.0, 5.0), (9.0, 3.0), (-1.0, 5.0), (0.0, 601.0), (float("nan"), 5.0), ("a", "b"), (1.0,), 7]
)
def test_an_interval_that_the_video_lacks_is_refused(small_world: World, question: Question, within: object) -> None:
    with pytest.raises(InputError, match=r"^within "):
        ask(small_world.drawn, question, vlm=Oracle(small_world), cache=Cache(None), cell=32, within=within)  # type: ignore[arg-type]


def test_depth_counts_from_the_part(small_world: World) -> None:
    atlas = Atlas(small_world.drawn, k=4, cell=32, within=(100.0, 110.0))
    assert atlas.rules.max_depth == 0, "a cell of the root grid lasts 0.625 s"
    assert (atlas.root.start_s, atlas.root.end_s) == (100.0, 110.0)
