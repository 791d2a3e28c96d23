"""The coverage of a run is how finely each second was seen, in the tree and by looks."""

from typing import Any

import pytest
from support.asking import ask

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.environment.memory import Seen
from atlaskit.runs.coverage import Coverage
from atlasworld import Oracle, World


@pytest.mark.parametrize(
    ("parts", "share", "step_s", "shortest_s", "words"),
    [
        ((), 0.0, None, None, "nothing was seen as sheets"),
        (((0.0, 60.0, 2.0),), 1.0, 2.0, 2.0, "1:00.0 of 1:00.0 at 2 s or finer; anything that lasts 2 s"),
        (((0.0, 30.0, 2.0), (30.0, 60.0, 9.0)), 0.5, 9.0, 18.0, "longest stretch not seen so finely: 30 s from 0:30.0"),
        (((0.0, 30.0, 2.0),), 0.5, None, None, "0:30.0 of 1:00.0 at 2 s or finer"),
    ],
)
def test_it_says_what_cannot_be_missed(
    parts: tuple[Any, ...], share: float, step_s: float | None, shortest_s: float | None, words: str
) -> None:
    coverage = Coverage((0.0, 60.0), Seen(parts), goal_s=2.0, is_even=False)
    assert coverage.share(2.0) == share and coverage.step_s == step_s
    assert coverage.shortest_event_s == shortest_s and words in str(coverage)
    assert coverage.is_complete == (share == 1.0)
    assert [tuple(part) for part in coverage.to_json()["parts"]] == list(parts)


def test_the_tree_is_covered_by_its_sheets(film: World, cache: Cache) -> None:
    result = ask(film.video, film.questions[0], vlm=Oracle(film), cache=cache, cell=32)
    coverage = result.coverage
    assert coverage.share(120 / 64) == 1.0 and coverage.goal_s is None and not coverage.is_complete
    finest = min((step.interval_s[1] - step.interval_s[0]) / 64 for step in result.trace.of("step"))
    assert min(step for _, _, step in coverage.seen.parts) == pytest.approx(finest)
    assert result.to_dict()["coverage"]["parts"] == [list(part) for part in coverage.seen.parts]


def test_a_method_without_sheets_has_none(film: World, cache: Cache) -> None:
    result = ak.baselines.uniform(film.video, film.questions[0], vlm=Oracle(film), cache=cache)
    assert not result.coverage.seen.parts and "coverage" not in result.to_dict()
