"""Names and functions as scouts, and what a run makes of their hints."""

from __future__ import annotations

from typing import Any

import pytest
from support.spoken import sight

from atlaskit.agents.scouts import (
    LEAST,
    MOST_TOLD,
    SCOUTS,
    Hint,
    Hints,
    Survey,
    checked,
    resolve_scouts,
    words,
)
from atlaskit.environment.grid import Grid
from atlaskit.errors import InputError
from atlaskit.runs.events import HintRecord

ROOT = Grid(0.0, 64.0, 4)


def hinting(scores: dict[int, float]) -> Any:
    return lambda sight, grid: Hints({cell: Hint(score, f"because of {cell}") for cell, score in scores.items()})


def record(cell: int, score: float, reason: str) -> HintRecord:
    return HintRecord(cell=cell, score=score, reason=reason)


def test_names_and_functions_become_scouts() -> None:
    def mine(sight: Any, grid: Grid) -> Hints:
        return Hints()

    assert resolve_scouts(["words", mine, "words"]) == {"words": words, "mine": mine}
    assert resolve_scouts(()) == {} and list(SCOUTS) == ["words"]


@pytest.mark.parametrize(
    ("message", "scouts"),
    [
        (r'A scout is "words" or a function; got \'word\'\.', ["word"]),
        (r'A scout is "words" or a function; got 3\.', [3]),
        (r'A scout is "words" or a function; got None\.', ["words", None]),
        (r"scouts is a list of scouts.*; got 'words'\.", "words"),
        ("scouts is a list of scouts.*; got None", None),
        (r"is callable as scout\(sight, grid\)", [lambda grid: Hints()]),
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
    both = {"mine": hinting({3: 0.9, 5: 0.6, 6: LEAST, 7: LEAST - 0.01}), "yours": hinting({5: 1.0, 9: 0.7})}
    survey = Survey(both, True, lambda task: sight(task=task))
    priors = [survey.prior("", ROOT.expand(cell)) for cell in (3, 5, 6, 7, 9)]
    assert priors == [0.9, 1.0, LEAST, 0.0, 0.7]
    because = "because of {}".format
    assert survey.told("", ROOT, {3, 5, 7}) == (
        record(5, 1.0, because(5)),
        record(3, 0.9, because(3)),
        record(5, 0.6, because(5)),
    )
    many = Survey(
        {"mine": hinting({cell: 0.6 + cell / 100 for cell in range(16)})}, True, lambda task: sight(task=task)
    )
    assert [hint.cell for hint in many.told("", ROOT, range(16))] == list(range(15, 15 - MOST_TOLD, -1))


def test_a_survey_looks_once_and_tells_only_models_that_read_hints() -> None:
    looks = []

    def mine(sight: Any, grid: Grid) -> Hints:
        looks.append((sight.search_task, grid))
        return Hints({2: Hint(0.8, "here"), 3: Hint(0.1, "hardly")})

    survey = Survey({"mine": mine}, True, lambda task: sight(task=task))
    for _ in range(2):
        assert survey.told("Find it.", ROOT, range(16)) == (record(2, 0.8, "here"),)
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
