"""Promise: worlds ask about what they lack, and "not there" is an answer once all was seen."""

import re
from pathlib import Path

import pytest

import atlaskit as ak
import atlasworld as aw
from atlaskit.__main__ import main
from atlaskit.environment.question import ABSENT
from atlasworld import World
from atlasworld.questions import ABSENTS, is_absent


@pytest.fixture(scope="module")
def lacking() -> World:
    return aw.world(3, 300, size=(128, 72), questions=8, categories=tuple(ABSENTS))


def test_absent_questions_are_about_what_a_script_lacks(lacking: World) -> None:
    shown = {event.name for event in lacking.script.events}
    said = [line.text for line in lacking.script.lines]
    assert {each.category for each in lacking.absent} == {f"NOT-{category}" for category in ABSENTS}
    for question in lacking.absent:
        assert is_absent(question) and (question.kind == "count" or question.can_be_absent)
        of_script = said if question.category == "NOT-T2O" else shown
        assert not any(words in question.text for words in of_script)
    plain = [case.question for case in lacking.cases(drawn=True)]
    both = [case.question for case in lacking.cases(drawn=True, absent=True)]
    assert plain == list(lacking.questions), "others do not change"
    assert all(question.kind == "count" or question.can_be_absent for question in both)
    assert [each.text for each in both[::2]] == [each.text for each in plain] and both[1::2] == list(lacking.absent)


def test_an_oracle_says_that_nothing_is_there_once_all_was_seen(lacking: World) -> None:
    cases = lacking.cases(drawn=True, absent=True)[:8]
    rows = ak.evaluate(cases, vlm=aw.Oracle, cache=ak.Cache(None), progress=False)
    assert rows["score"].min() > 0.9
    assert set(rows.loc[rows["category"].str.startswith("NOT-"), "answer"]) <= {"not there", "0"}
    question = next(each for each in lacking.absent if each.kind == "when")
    result = ak.ask(lacking.drawn, question, vlm=aw.Oracle(lacking), cache=ak.Cache(None))
    assert result.prediction == ABSENT and result.coverage.is_complete


def test_an_oracle_describes_what_it_mistakes_for_something_that_is_not_there(lacking: World) -> None:
    """No event is wanted, so the one that it describes is none of those wanted."""
    mistaken = aw.Oracle(lacking, confuse=0.5)
    for question in lacking.absent[:4]:
        assert ak.baselines.videoarm(lacking.drawn, question, vlm=mistaken, cache=ak.Cache(None)).stop == "answered"


def test_the_shell_prints_rejection(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loading = ["--load", "minutes", "1", "--load", "absent", "true", "--load", "drawn", "true", "--first", "8"]
    assert main(["evaluate", "atlasworld", *loading, "--oracle", "0", "--out", "rows.csv"]) == 0
    assert re.search(r"Rejection:\n.*\n +rejection F1 +1.000", capsys.readouterr().out)
