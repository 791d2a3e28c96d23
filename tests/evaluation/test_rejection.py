"""Rejection: what says that nothing is there is counted; worlds ask about what they lack."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import atlaskit as ak
import atlasworld as aw
from atlaskit.__main__ import main
from atlaskit.environment.question import ABSENT, Answered
from atlaskit.evaluation.metrics.measure import Scored
from atlasworld.questions import ABSENTS, is_absent

SMALL = {"size": (128, 72), "questions": 8, "categories": tuple(ABSENTS)}


def when(answer: Answered) -> ak.Question:
    return ak.Question("When?", kind="when", answer=answer)


def scored(pairs: Sequence[tuple[ak.Question, Answered | None]]) -> list[Scored]:
    return [Scored(question, str(number), {}, given) for number, (question, given) in enumerate(pairs)]


def test_rejection_counts_as_it_is_defined() -> None:
    there, count = when((1.0, 2.0)), ak.Question("How many?", kind="count", answer=0)
    forced = ak.Question("Which?", ("a", "b"), answer=0)
    pairs = [(when(ABSENT), ABSENT), (when(ABSENT), (1.0, 2.0)), (when(ABSENT), None), (count, 0)]
    pairs += [(there, ABSENT), (there, (1.0, 2.0)), (there, (1.0, 2.0)), (forced, 1)]
    found = {each.name: each.interval() for each in ak.metrics.rejection(scored(pairs))}
    # two of four that are absent are rejected, one of three that are there; a choice does not count
    assert found["rejection F1"].mean == pytest.approx(2 * 2 / (4 + 3))
    assert found["false positives"].mean == pytest.approx(1 / 4), "a question without an answer invents nothing"
    assert found["false rejections"].mean == pytest.approx(1 / 3)
    assert all(each.low < each.mean < each.high for each in found.values())
    assert ak.metrics.rejection(scored([(there, ABSENT)])) == [], "nothing is absent"
    lazy = ak.metrics.rejection(scored([(when(ABSENT), ABSENT)] + [(there, ABSENT)] * 3))
    assert lazy[0].interval().mean == pytest.approx(0.4), "who rejects all gains little"


def test_absent_questions_are_about_what_a_script_lacks() -> None:
    world = aw.world(3, 600, **SMALL)  # type: ignore[arg-type]
    shown = {event.name for event in world.script.events}
    said = [line.text for line in world.script.lines]
    assert {each.category for each in world.absent} == {f"NOT-{category}" for category in ABSENTS}
    for question in world.absent:
        assert is_absent(question) and (question.kind == "count" or question.can_be_absent)
        if question.category == "NOT-T2O":
            assert not any(line in question.text for line in said)
        else:
            assert not any(name in question.text for name in shown)
    cases = world.cases(drawn=True, absent=True)
    assert [case.question.text for case in cases[::2]] == [each.text for each in world.questions]
    assert [case.question for case in cases[1::2]] == list(world.absent)
    assert world.absent == aw.world(3, 600, **SMALL).absent  # type: ignore[arg-type]
    assert [case.question for case in world.cases(drawn=True)] == list(world.questions), "others do not change"


def test_an_oracle_says_that_nothing_is_there_once_all_was_seen() -> None:
    world = aw.world(3, 600, **SMALL)  # type: ignore[arg-type]
    rows = ak.evaluate(world.cases(drawn=True, absent=True), vlm=aw.Oracle, cache=ak.Cache(None), progress=False)
    assert rows["score"].min() > 0.9
    assert set(rows.loc[rows["category"].str.startswith("NOT-"), "answer"]) == {"not there", "0"}
    question = next(each for each in world.absent if each.kind == "when")
    result = ak.ask(world.drawn, question, vlm=aw.Oracle(world), cache=ak.Cache(None))
    assert result.prediction == ABSENT and result.coverage.is_complete


def test_the_shell_prints_rejection(in_tmp: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loading = ["--load", "minutes", "1", "--load", "absent", "true", "--load", "drawn", "true", "--first", "8"]
    assert main(["evaluate", "atlasworld", *loading, "--oracle", "0", "--out", "rows.csv"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"Rejection:\n.*\n +rejection F1 +1.000", printed)
