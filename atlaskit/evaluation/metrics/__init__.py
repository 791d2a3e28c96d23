"""The official metrics of published benchmarks (`official`), beside the plain mean score.

A metric is a function of all questions with their answers; METRICS names it by its benchmark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlaskit.benchmarks.case import Benchmark
from atlaskit.errors import InputError, printable
from atlaskit.evaluation.metrics.choices import CHOICES
from atlaskit.evaluation.metrics.grounding import GROUNDING
from atlaskit.evaluation.metrics.measure import Measure, Metric, Scored
from atlaskit.evaluation.metrics.rejection import rejection

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["METRICS", "Measure", "Scored", "official", "rejection"]

METRICS: dict[str, Metric] = {**CHOICES, **GROUNDING}
"""The official metric of each dataset, by `Benchmark.dataset`."""


def official(rows: pd.DataFrame, benchmark: Benchmark) -> pd.DataFrame:
    """Return what a benchmark's own metric makes of the rows of `evaluate`.

    Args:
        rows: Table of `evaluate` on questions of the benchmark, of one method.
        benchmark: The benchmark that was evaluated, or one that it is a part of; only the questions
            among the rows count.

    Returns:
        One row for each number of the metric, and for rejection where some questions are about what
        is not there. Columns: `metric`, `value`, `low`, `high` (95 %, clustered by videos) and `n`
        (how many values it is made of). Values are shares, except where the name says "%".

    Raises:
        InputError: The benchmark has no metric of its own, or a row is no question of it.

    Examples:
        >>> import pandas as pd
        >>> bench = ak.benchmarks.lvbench("data/lvbench")
        >>> rows = pd.DataFrame([{"id": case.question.id, "prediction": 0} for case in bench])
        >>> ak.metrics.official(rows, bench)["metric"].tolist()[:1]
        ['accuracy']
    """
    import pandas as pd

    metric = METRICS.get(benchmark.dataset or benchmark.name)
    cases = {case.question.id: case for case in benchmark}
    scored = []
    for row in rows.to_dict("records"):
        case = cases.get(row["id"])
        if case is None:
            raise InputError(
                f"{printable(str(row['id']), 80)!r} is no question of {benchmark.name}."
            )
        scored.append(Scored(case.question, case.video, case.facts, row["prediction"]))
    own = [] if metric is None else metric(scored)
    measures = [
        (measure, measure.interval()) for measure in (*own, *rejection(scored)) if measure.values
    ]
    if not measures:
        raise InputError(f"{benchmark.name} has no metric of its own; use ak.statistics.accuracy.")
    return pd.DataFrame(
        [
            {
                "metric": each.name,
                "value": mean.mean,
                "low": mean.low,
                "high": mean.high,
                "n": len(each.values),
            }
            for each, mean in measures
        ]
    )


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
