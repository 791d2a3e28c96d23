"""nano's further training, its learning curves, and its evaluation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.model_doubles import Babbler

from atlaskit import nano
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.errors import InputError
from atlaskit.nano import dagger, evaluate, self_training
from atlaskit.nano.teacher.teacher import Expert
from atlaskit.viz import plots


def test_self_training_writes_the_best_successful_searches(world: World, tmp_path: Path) -> None:
    small = replace(world, questions=world.questions[:4])
    path = tmp_path / "own.jsonl"
    sentence = self_training.write_best_attempts(path, Expert(small.script), [small])
    by_question = self_training.attempts_by_question(Expert(small.script), [small])
    best = [found for attempts in by_question if (found := self_training.best_attempt(attempts))]
    assert best and all(each.score >= self_training.SUCCESS_SCORE for each in best)
    assert all(each.calls == len(each.examples) for each in best)
    groups = [json.loads(line) for line in path.open()]
    assert sum(len(group["examples"]) for group in groups) <= sum(each.calls for each in best)
    written = {(group["prefix"] + each["rest"], each["reply"]) for group in groups for each in group["examples"]}
    assert written == {(each["text"], each["reply"]) for found in best for each in found.examples}
    assert sentence.startswith("4 questions. First attempts: ")
    assert f"Best of 3 attempts: {len(best) / 4:.0%} successful" in sentence


def test_best_attempt_is_the_shortest_successful_one() -> None:
    wrong, slow, quick = (self_training.Attempt(score, calls, []) for score, calls in ((0.4, 1), (1.0, 9), (0.6, 7)))
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
    lines = [len(ax.get_lines()) for ax in axes.figure.axes]
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
