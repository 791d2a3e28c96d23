"""The official metrics of published benchmarks (`official`), beside the plain mean score.

A metric is a function of all questions with their answers. METRICS lists them by dataset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlaskit.benchmarks.case import Benchmark
from atlaskit.errors import InputError, printable
from atlaskit.evaluation.metrics.choices import CHOICES
from atlaskit.evaluation.metrics.grounding import GROUNDING, rejection
from atlaskit.evaluation.metrics.measure import Measure, Metric, Scored

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["METRICS", "Measure", "Scored", "official", "rejection"]

METRICS: dict[str, Metric] = {**CHOICES, **GROUNDING}
"""The official metric of each dataset, by `Benchmark.dataset`."""


def official(rows: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    """Return the numbers of a benchmark's own metric for a table of `evaluate`.

    Args:
        rows: Table of `evaluate` on questions of the benchmark, of one method.
        benchmark: The benchmark that was evaluated, or one that it is a part of; only the questions
            among the rows count.

    Returns:
        One row for each number of the metric and, if some questions are about something that is
        not in the video, for `rejection`. Columns: `metric`, `value`, `low` and `high` (the 95 %
        interval, clustered by videos) and `n` (how many questions, or groups of questions, it is
        computed from). Values are shares, unless the name says "%".

    Raises:
        InputError: The benchmark has no metric of its own; or a row is not one of its questions,
            occurs twice, has no known true answer, or has intervals that do not fit the question.

    Examples:
        >>> import pandas as pd
        >>> bench = ak.benchmarks.lvbench("data/lvbench")
        >>> rows = pd.DataFrame([{"id": case.question.id, "prediction": 0} for case in bench])
        >>> ak.metrics.official(rows, bench)["metric"].tolist()[:1]
        ['accuracy']
    """
    import pandas as pd

    scored = _scored(rows, benchmark)
    metric = METRICS.get(benchmark.dataset or benchmark.name)
    measures = list[Measure]()
    if metric is not None:
        measures += metric(scored)
    measures += rejection(scored)
    table = []
    for measure in measures:
        if measure.values:
            value, low, high = measure.interval()
            count = len(measure.values)
            table.append(
                {"metric": measure.name, "value": value, "low": low, "high": high, "n": count}
            )
    if not table:
        raise InputError(f"{benchmark.name} has no metric of its own; use ak.statistics.accuracy.")
    return pd.DataFrame(table)


def _scored(rows: pd.DataFrame, benchmark: Benchmark) -> list[Scored]:
    """Return the questions of a table's rows with their predictions."""
    cases = {case.question.id: case for case in benchmark}
    scored: dict[str, Scored] = {}
    for question_id, prediction in zip(rows["id"], rows["prediction"], strict=True):
        shown = printable(str(question_id), 80)
        case = cases.get(question_id)
        if case is None:
            raise InputError(f"{shown!r} is no question of {benchmark.name}.")
        if question_id in scored:
            raise InputError(
                f"The table has the question {shown!r} twice: pass the rows of one method."
            )
        if case.question.answer is None:
            raise InputError(
                f"The true answer to {shown!r} is not known, so it cannot be scored: leave it out."
            )
        if isinstance(prediction, tuple):
            try:
                case.question.score(prediction)
            except InputError as error:
                raise InputError(f"The prediction of {shown!r} does not fit: {error}") from error
        scored[question_id] = Scored(case.question, case.video, case.facts, prediction)
    return list(scored.values())


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
