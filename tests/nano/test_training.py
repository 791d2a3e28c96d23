"""nano's learning curves, and its evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlaskit.benchmarks.atlasworld import Oracle, atlasworld
from nano import evaluate
from nano.teacher.teacher import Expert


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
