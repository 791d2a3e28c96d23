"""nano's learning curves, and its evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

import nano.plots
from atlaskit.benchmarks.atlasworld import Oracle, atlasworld
from atlaskit.errors import InputError
from nano import evaluate
from nano.curves import curves
from nano.teacher.teacher import Expert


def test_curves_are_one_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no eyes\.csv"):
        curves(tmp_path)
    (tmp_path / "eyes.csv").write_text("step,seconds,loss,shape,word\n10,5.0,3.5,0.25,\n20,9.0,2.5,0.5,0.125\n")
    (tmp_path / "mind.csv").write_text("step,seconds,loss,right\n10,7.5,6.0,0.2\n")
    table = curves(tmp_path)
    assert list(table.columns) == ["stage", "step", "seconds", "measure", "value"]
    assert table.groupby("stage")["value"].sum().to_dict() == {"eyes": 6.875, "mind": 6.2}
    assert len(table) == 7
    axes = nano.plots.learning_curves(table)
    lines = [sum(len(line.get_xdata()) > 0 for line in ax.get_lines()) for ax in axes.figure.axes]
    assert lines == [1, 1, 2, 1] and [ax.get_title(loc="left") or ax.get_title() for ax in axes.figure.axes][:2]
    with pytest.raises(InputError, match="no column stage"):
        nano.plots.learning_curves(table.drop(columns="stage"))


@pytest.mark.long
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
