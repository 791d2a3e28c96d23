"""nano's further training, its learning curves, and its evaluation."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.model_doubles import Babbler

from atlaskit import nano
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.errors import InputError
from atlaskit.nano import credit, dagger, evaluate, self_training
from atlaskit.nano.attempts import Attempt, groups_of_attempts
from atlaskit.nano.teacher.teacher import Expert
from atlaskit.viz import plots

Made = tuple[float, int, dict[Any, list[float]]]
"""Score of an attempt, steps of its visit to region (0,), and what its visits kept."""
VISIT = ((0,), 0)


def made(score: float, steps: int, kept: dict[Any, list[float]]) -> Attempt:
    """Return an attempt with one visit, which says where it found something."""
    calls = [("task", None), ("probe", None), *[("step", VISIT)] * steps, ("review", None), ("decision", None)]
    examples = [
        {
            "step": step,
            "visit": visit,
            "text": f"{step} {number}",
            "prefix": 4,
            "images": [],
            "reply": "",
            "kind": "T2O",
        }
        for number, (step, visit) in enumerate(calls)
    ]
    return Attempt(score, len(examples), examples, kept, ((10.0, 12.0),))


def test_attempts_of_one_model_without_temperature_teach_nothing_new(world: World, tmp_path: Path) -> None:
    small = replace(world, questions=world.questions[:3])
    groups = list(groups_of_attempts(Expert(small.script), [small], group=2))
    assert [len(attempts) for attempts in groups] == [2, 2, 2]
    assert not list(credit.advantages(groups)), "equal attempts have no advantage over each other"
    for attempts in groups:
        best = self_training.best_attempt(attempts)
        assert best is not None and best.calls == len(best.examples)
        visits = {each["visit"] for each in best.examples if each["step"] == "step"}
        assert set(best.kept) == visits and {each["visit"] for each in best.examples} == {*visits, None}
    written = list(self_training.best_groups(groups))
    replies = {(group["prefix"] + each["rest"], each["reply"]) for group in written for each in group["examples"]}
    assert replies == {(each["text"], each["reply"]) for attempts in groups for each in attempts[0].examples}
    row = self_training.described(groups)
    assert (row["questions"], row["attempts"], row["groups_that_differ"]) == (3, 6, 0)
    assert row["right"] == row["right_at_best"] and row["calls"] == row["calls_at_best"]


def test_credit_goes_to_the_role_that_earned_it() -> None:
    found, missed, misled = made(1.0, 2, {VISIT: [11.0]}), made(1.0, 2, {}), made(0.0, 2, {VISIT: [50.0]})
    weights: dict[tuple[int, str], set[float]] = defaultdict(set)
    attempts = [found, missed, misled]
    for example, value in credit.advantages([attempts]):
        (number,) = (n for n, each in enumerate(attempts) if any(one is example for one in each.examples))
        weights[number, example["step"]].add(value)
    assert all(len(values) == 1 for values in weights.values()), "calls of one role and attempt share its advantage"
    value = {key: next(iter(values)) for key, values in weights.items()}
    assert value[0, "step"] > 0 > value[1, "step"] > value[2, "step"], "a visit is judged by what it kept"
    assert value[0, "decision"] == value[1, "decision"] > 0 > value[2, "decision"], "and a decision by the answer"
    assert value[0, "task"] == value[0, "probe"] == value[0, "review"] == value[1, "probe"]
    groups = list(credit.weighted_groups([attempts]))
    given = [(each["step"], each["weight"]) for group in groups for each in group["examples"]]
    assert sorted(given) == sorted((step, v) for (n, step), v in value.items() for _ in range(1 + (step == "step")))


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9), st.booleans()), min_size=1, max_size=6))
def test_advantages_of_a_group_cancel_out(drawn: list[tuple[float, int, bool]]) -> None:
    """Nothing is learned from how hard a question is: a role's advantages cancel out."""
    attempts = [made(score, steps, {VISIT: [11.0]} if finds else {}) for score, steps, finds in drawn]
    values = {id(example): value for example, value in credit.advantages([attempts])}
    for step in ("task", "decision", "step"):
        firsts = [next(each for each in attempt.examples if each["step"] == step) for attempt in attempts]
        taken = [values.get(id(each), 0.0) for each in firsts]
        if all(abs(value) < credit.BOUND for value in taken):
            assert abs(sum(taken)) < 1e-6


def test_best_attempt_is_the_shortest_successful_one() -> None:
    wrong, slow, quick = (Attempt(score, calls, []) for score, calls in ((0.4, 1), (1.0, 9), (0.6, 7)))
    assert self_training.best_attempt([wrong, slow, quick]) is quick
    assert self_training.best_attempt([wrong]) is None


def test_link_synthetic_leaves_trajectories_out(tmp_path: Path) -> None:
    data, folder = tmp_path / "material", tmp_path / "own"
    data.mkdir()
    for name in ("lessons-0000.jsonl", "judging-0000.jsonl"):
        (data / name).write_text(name)
    dagger.link_synthetic(data, folder)
    assert [path.name for path in folder.iterdir()] == ["judging-0000.jsonl"]


def test_dagger_writes_the_teachers_replies_in_the_students_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dagger, "LENGTHS_S", (600,))
    monkeypatch.setattr(dagger, "MAX_CALLS", 12)
    model = Babbler(4)
    dagger.write_dagger_examples(tmp_path, model, 1, questions=3)
    world = atlasworld(dagger.FIRST_SEED, 600, questions=3, size=(640, 360))
    expected = {}
    for question in world.questions:
        student = dagger.make_student(model, world, records_teacher=True)
        dagger.search(student, world, question, 12, traversal="dfs")
        expected |= {example["text"]: example["reply"] for example in student.examples}
    shard = tmp_path / "lessons-0000.jsonl"
    groups = [json.loads(line) for line in shard.open()]
    written = {group["prefix"] + each["rest"]: each["reply"] for group in groups for each in group["examples"]}
    assert written == expected, "the prompts are those of the student's searches"
    assert {each["step"] for group in groups for each in group["examples"]} >= {"task", "probe", "step"}
    own = dagger.make_student(model, world, records_teacher=False)
    dagger.search(own, world, world.questions[0], 12, traversal="dfs")
    assert {example["text"] for example in own.examples} <= written.keys()
    assert any(example["reply"] != written[example["text"]] for example in own.examples), (
        "the replies are the teacher's"
    )
    assert own.teacher.name == Expert(world.script).name
    before = shard.stat()
    dagger.write_dagger_examples(tmp_path, Babbler(5), 1, questions=3)
    assert shard.stat() == before, "an existing shard is not written again"


def test_curves_are_one_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no eyes\.csv"):
        nano.curves(tmp_path)
    (tmp_path / "eyes.csv").write_text("step,seconds,loss,shape,word\n10,5.0,3.5,0.25,\n20,9.0,2.5,0.5,0.125\n")
    (tmp_path / "mind.csv").write_text("step,seconds,loss,right\n10,7.5,6.0,0.2\n")
    table = nano.curves(tmp_path)
    assert list(table.columns) == ["stage", "step", "seconds", "measure", "value"]
    assert table.groupby("stage")["value"].sum().to_dict() == {"eyes": 6.875, "mind": 6.2}
    assert len(table) == 7
    (tmp_path / "practice.csv").write_text("step,seconds,loss,right\n10,7.5,1.0,0.5\n")
    assert set(nano.curves(tmp_path)["stage"]) == {"eyes", "mind", "practice"}, "further training is optional"
    axes = plots.learning_curves(table)
    lines = [sum(len(line.get_xdata()) > 0 for line in ax.get_lines()) for ax in axes.figure.axes]
    assert lines == [1, 1, 2, 1] and [ax.get_title(loc="left") or ax.get_title() for ax in axes.figure.axes][:2]
    with pytest.raises(InputError, match="no column stage"):
        plots.learning_curves(table.drop(columns="stage"))


@pytest.mark.parametrize("method", sorted(evaluate.METHODS))
def test_evaluation_finds_that_the_teacher_agrees_with_itself(method: str, in_tmp: Path) -> None:
    world = atlasworld(0, 120.0, questions=10, size=(640, 360), directory=in_tmp / "cache" / "atlasworld")
    if method == "uniform":  # the teacher does not answer its calls
        evaluation = evaluate.evaluate_nano(Oracle(world), 120.0, 4, method=method)
        assert evaluation.calls.keys() == {"seconds per call"}
    else:
        evaluation = evaluate.evaluate_nano(Expert(world.script), 120.0, 4, method=method)
        agreement = {measure: values for measure, values in evaluation.calls.items() if measure != "seconds per call"}
        assert set(agreement.pop("false evidence", [0.0])) == {0.0}
        assert {value for values in agreement.values() for value in values} <= {1.0}
        assert len(agreement) > 4 or method == "composite"
    assert len(evaluation.rows) == 4 and all(row["calls"] >= 1 for row in evaluation.rows)
    assert "choice" in evaluate.report(evaluation)


@pytest.mark.parametrize(
    ("model", "data", "error"),
    [
        ("http://127.0.0.1:8000/v1", ".", "There are no weights in 'http://127.0.0.1:8000/v1'"),
        ("nano", "missing", "There is no folder 'missing'"),
    ],
)
def test_self_training_names_missing_inputs(
    model: str, data: str, error: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["self_training", model, data, "out"])
    with pytest.raises(SystemExit, match="2"):
        self_training.main()
    assert error in capsys.readouterr().err
