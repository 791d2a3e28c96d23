"""Names and functions as scouts, and what a run makes of their hints."""

from __future__ import annotations

from typing import Any

import pytest
from support.spoken import sight

from atlaskit.agents.scouts import SCOUTS, Hint, Hints, change, likeness, words
from atlaskit.agents.scouts.hints import LEAST, MOST_TOLD, CellHint, Said, best_hints, checked, priors
from atlaskit.agents.scouts.survey import Survey, resolve_scouts
from atlaskit.environment.grid import Grid
from atlaskit.errors import InputError
from atlaskit.models.embedding import Embedder

ROOT = Grid(0.0, 64.0, 4)


def named(**scores: float) -> Said:
    return Said("mine", Hints({int(cell[1:]): Hint(score, f"because of {cell}") for cell, score in scores.items()}))


def test_names_and_functions_become_scouts() -> None:
    def mine(sight: Any, grid: Grid) -> Hints:
        return Hints()

    compare = likeness(Embedder("http://127.0.0.1:9/v1", "m"), 9)
    found = resolve_scouts(["change", "words", mine, compare, "words"])
    assert found == {"change": change, "words": words, "mine": mine, "likeness(m, 9)": compare}
    assert resolve_scouts(()) == {} and list(SCOUTS) == ["words", "change"]


@pytest.mark.parametrize(
    ("message", "scouts"),
    [
        (r'A scout is "words", "change", ak\.scouts\.likeness\(…\) or a function; got \'word\'\.', ["word"]),
        (r'A scout is "words", "change".*; got 3\.', [3]),
        (r'A scout is "words", "change".*; got None\.', ["words", None]),
        (r"scouts is a list of scouts.*; got 'words'\.", "words"),
        ("scouts is a list of scouts.*; got None", None),
        (r"must be callable as scout\(sight, grid\)", [lambda grid: Hints()]),
        ("Two different scouts have the name <lambda>", [lambda a, b: Hints(), lambda a, b: Hints()]),
    ],
)
def test_what_is_no_scout_is_told(message: str, scouts: Any) -> None:
    with pytest.raises(InputError, match=message):
        resolve_scouts(scouts)


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan"), float("inf"), "1", None, True])
def test_a_score_outside_its_range_is_told(score: Any) -> None:
    with pytest.raises(InputError, match=r"score of a hint is a number in \[0, 1\]"):
        Hint(score)
    with pytest.raises(InputError, match="reason of a hint is a text"):
        Hint(0.5, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "hints",
    [None, {3: 0.5}, Hints([Hint(1)]), Hints(note=None), Hints({3: 0.5}), Hints({16: Hint(1)}), Hints({-1: Hint(1)})],
)  # type: ignore[dict-item]
def test_a_scout_must_return_hints_about_cells(hints: Any) -> None:
    with pytest.raises(InputError, match="The scout mine must "):
        checked("mine", hints, ROOT)


def test_the_best_hint_of_a_cell_counts() -> None:
    said = [named(c3=0.9, c5=0.6, c6=LEAST, c7=LEAST - 0.01), named(c5=1.0, c9=0.7)]
    assert priors(said) == {3: 0.9, 5: 1.0, 6: LEAST, 9: 0.7}
    told = best_hints(said, {3, 5, 7})
    assert told == (
        CellHint(5, 1.0, "because of c5"),
        CellHint(3, 0.9, "because of c3"),
        CellHint(5, 0.6, "because of c5"),
    )
    many = [named(**{f"c{cell}": 0.6 + cell / 100 for cell in range(16)})]
    assert [hint.cell for hint in best_hints(many, range(16))] == list(range(15, 15 - MOST_TOLD, -1))


def test_a_survey_looks_once_and_tells_only_models_that_read_hints() -> None:
    looks = []

    def mine(sight: Any, grid: Grid) -> Hints:
        looks.append((sight.search_task, grid))
        return Hints({2: Hint(0.8, "here"), 3: Hint(0.1, "hardly")})

    survey = Survey({"mine": mine}, True, lambda task: sight(task=task))
    for _ in range(2):
        assert survey.told("Find it.", ROOT, range(16)) == (CellHint(2, 0.8, "here"),)
        assert survey.told("Find it.", ROOT, (1, 3)) == ()
        assert [survey.prior("Find it.", ROOT.expand(cell)) for cell in (1, 2, 3)] == [0.0, 0.8, 0.0]
        assert survey.prior("Find it.", ROOT.expand(7).expand(2)) == 0.8
    assert looks == [("Find it.", ROOT), ("Find it.", ROOT.expand(7))]
    assert survey.recorded() == {"scouts": ["mine"], "hints_told": True}
    silent = Survey({"mine": mine}, False, lambda task: sight(task=task))
    assert silent.told("Find it.", ROOT, range(16)) == () and silent.prior("Find it.", ROOT.expand(2)) == 0.8
    assert (
        Survey().recorded() == {}
        and Survey().told("", ROOT, range(16)) == ()
        and Survey().prior("", ROOT.expand(1)) == 0
    )
