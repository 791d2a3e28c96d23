"""The official metrics of multiple-choice benchmarks, against numbers computed by hand."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import atlaskit as ak
from atlaskit.benchmarks.case import Benchmark, Case
from atlaskit.environment.question import Kind, Question
from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import interval, interval_of_group_means
from atlaskit.evaluation.metrics import METRICS, Measure, Scored
from atlaskit.evaluation.metrics.choices import logic_score, mlvu, videomme_v2


def scored(right: bool, video: str = "v", *, category: str = "", kind: Kind = "choice", **facts: Any) -> Scored:
    """Return a question that is answered right, or wrong."""
    if kind != "choice":
        return Scored(Question("?", kind=kind, answer="yes", category=category), video, facts, "yes" if right else "no")
    return Scored(Question("?", ("a", "b"), answer=1, category=category), video, facts, 1 if right else 0)


def values(measures: Sequence[Measure]) -> dict[str, float]:
    """Return each number of a metric, by its name, without the work of an interval."""
    return {measure.name: number(measure) for measure in measures}


def number(measure: Measure) -> float:
    if measure.groups:
        return interval_of_group_means(measure.values, measure.videos, measure.groups).mean
    return interval(measure.values, measure.videos, are_shares=measure.are_shares).mean


def test_lvbench_counts_a_question_in_each_of_its_types() -> None:
    rows = [
        scored(True, "v0", question_type=("reasoning",)),
        scored(False, "v0", question_type=("reasoning", "temporal grounding")),
        scored(True, "v1", question_type=("temporal grounding", "reasoning")),
        scored(True, "v1", question_type=("entity recognition", "entity recognition")),
        scored(False, "v2", question_type=()),
    ]
    assert values(METRICS["LVBench"](rows)) == pytest.approx(
        {
            "accuracy": 3 / 5,
            "accuracy: entity recognition": 1.0,
            "accuracy: reasoning": 2 / 3,
            "accuracy: temporal grounding": 1 / 2,
        }
    )
    sizes = {measure.name: len(measure.values) for measure in METRICS["LVBench"](rows)}
    assert sizes == {
        "accuracy": 5,
        "accuracy: entity recognition": 1,
        "accuracy: reasoning": 3,
        "accuracy: temporal grounding": 2,
    }


def test_mlvu_averages_in_two_ways() -> None:
    rows = [
        *(scored(index < 6, f"p{index}", category="plotQA") for index in range(8)),
        *(scored(index < 1, f"c{index}", category="count") for index in range(4)),
        *(scored(True, f"t{index}", category="topic_reasoning") for index in range(2)),
        scored(False, "s", category="summary", kind="summary"),
        scored(True, "o", category="subPlot", kind="open"),
    ]
    assert values(mlvu(rows)) == pytest.approx(
        {
            "M-Avg, mean of categories": (6 / 8 + 1 / 4 + 1) / 3,
            "M-Avg, pooled": 9 / 14,
            "accuracy: count": 1 / 4,
            "accuracy: plotQA": 6 / 8,
            "accuracy: topic_reasoning": 1.0,
        }
    )
    with pytest.raises(InputError, match="questions with choices, and none of these has any"):
        mlvu(rows[-2:])


def test_the_groups_of_a_dataset_come_in_their_order() -> None:
    by_duration = [
        scored(right, duration=name) for right, name in zip((1, 0, 1), ("long", "short", "medium"), strict=True)
    ]
    assert list(values(METRICS["Video-MME"](by_duration)).items()) == [
        ("accuracy", pytest.approx(2 / 3)),
        ("accuracy: short", 0.0),
        ("accuracy: medium", 1.0),
        ("accuracy: long", 1.0),
    ]
    by_group = [scored(right, duration_group=s) for right, s in zip((1, 0, 1, 1), (3600, 15, 15, None), strict=True)]
    assert list(values(METRICS["LongVideoBench"](by_group)).items()) == [
        ("accuracy", 3 / 4),
        ("accuracy: duration_group 15", 1 / 2),
        ("accuracy: duration_group 3600", 1.0),
    ]
    typed = [
        scored(True, type="QA", length=36000),
        scored(False, type="OCR", length=600),
        scored(True, type="", length=600),
    ]
    assert list(values(METRICS["LongTimeScope"](typed)).items()) == [
        ("accuracy", pytest.approx(2 / 3)),
        ("accuracy: OCR", 0.0),
        ("accuracy: QA", 1.0),
        ("accuracy: length 600", 1 / 2),
        ("accuracy: length 36000", 1.0),
    ]
    assert values(METRICS["EgoSchema"]([scored(True), scored(False, "w")])) == {"accuracy": 1 / 2}


def group(
    rights: Sequence[int], name: str = "g", kind: str = "logic", structure: str = "[1,2,3,4]", **facts: Any
) -> list[Scored]:
    """Return the questions of a group of Video-MME-v2."""
    shared = {"group": name, "group_type": kind, "group_structure": structure, "level": 1, "second_head": "", **facts}
    return [scored(bool(right), name, place=place, **shared) for place, right in enumerate(rights, 1)]


@pytest.mark.parametrize(
    ("structure", "rights", "score"),
    [
        ("[1,2,3,4]", "0000", 0),
        ("[1,2,3,4]", "1011", 6.25),
        ("[1,2,3,4]", "1110", 56.25),
        ("[1,2,3,4]", "1111", 100),
        ("[1,[2,3],4]", "1001", 100 / 12),
        ("[1,[2,3],4]", "1010", 400 / 12),  # of a bracket, either question counts
        ("[1,[2,3],4]", "1011", 400 / 12),  # and the next step only after both
        ("[1,[2,3],4]", "1110", 700 / 12),
        ("[[1,2],3,4]", "0011", 0),
        ("[[1,2],3,4]", "0100", 10),
        ("[[1,2],3,4]", "1101", 20),
        ("[[1,2],3,4]", "1110", 50),
        ("[[1,2],3,4]", "1111", 100),
    ],
)
def test_a_logic_group_scores_its_longest_prefix(structure: str, rights: str, score: float) -> None:
    digits = [int(digit) for digit in rights]
    assert logic_score(structure, [bool(digit) for digit in digits]) == pytest.approx(score)
    assert values(videomme_v2(group(digits, structure=structure)))["group score (%)"] == pytest.approx(score)


@pytest.mark.parametrize(("count", "score"), [(0, 0), (1, 6.25), (2, 25), (3, 56.25), (4, 100)])
def test_a_relevance_group_scores_by_its_count(count: int, score: float) -> None:
    for rights in set(itertools.permutations([1] * count + [0] * (4 - count))):
        found = values(videomme_v2(group(rights, kind="relevance", structure="")))
        assert found["group score (%)"] == score and found["accuracy"] == count / 4


def test_a_mean_of_group_means_has_its_own_interval() -> None:
    """A group of one value counts as much as one of 100: its video decides half of the number."""
    of_one = [1.0, *([0.0, 1.0] * 50)]
    clusters, groups = [f"v{n}" for n in range(101)], ["rare", *["common"] * 100]
    mean, low, high = interval_of_group_means(of_one, clusters, groups)
    assert mean == pytest.approx((1 + 0.5) / 2)
    plain = interval(of_one, clusters)
    assert plain.mean == pytest.approx(51 / 101) and high - low > 1.5 * (plain.high - plain.low)
    equal = interval_of_group_means(of_one, clusters, ["one"] * 101)
    assert equal == pytest.approx(plain), "with one group it is the plain mean"
    assert interval_of_group_means([1.0] * 4, [*"abcd"], [*"xxyy"]) == interval([1.0] * 4, [*"abcd"])
    with pytest.raises(InputError, match="no rows"):
        interval_of_group_means([], [], [])
    with pytest.raises(InputError, match="level must be"):
        interval_of_group_means([1.0, 0.0], [*"ab"], [*"xy"], level=1)


def benchmark() -> Benchmark:
    questions = [Question("?", ("a", "b"), answer=1, id=f"q{n}") for n in range(4)]
    facts = [{"question_type": ("x", "y")}, {"question_type": ("x",)}, {"question_type": ()}, {"question_type": ("y",)}]
    cases = [
        Case(question, f"v{n % 2}", _closed, fact)
        for n, (question, fact) in enumerate(zip(questions, facts, strict=True))
    ]
    return Benchmark("a part", tuple(cases), dataset="LVBench")


def _closed() -> Any:
    raise AssertionError("no metric opens a video")


def table(predictions: Sequence[int | None]) -> pd.DataFrame:
    column = pd.Series(list(predictions), dtype=object)
    return pd.DataFrame({"id": [f"q{n}" for n in range(len(predictions))], "prediction": column})


def test_official_joins_the_rows_with_the_questions() -> None:
    found = ak.metrics.official(table([1, 0, None, 1]), benchmark())
    assert list(found.columns) == ["metric", "value", "low", "high", "n"]
    assert found.set_index("metric")["value"].to_dict() == {"accuracy": 0.5, "accuracy: x": 0.5, "accuracy: y": 1.0}
    assert found["n"].tolist() == [4, 2, 2]
    overall = found.iloc[0]
    assert 0 <= overall["low"] <= 0.5 <= overall["high"] <= 1
    by_name = ak.metrics.official(table([1, 0, None, 1]), replace(benchmark(), name="LVBench", dataset=""))
    assert by_name.equals(found), "a benchmark made by hand counts by its name"
    assert ak.metrics.official(table([1]), benchmark())["n"].tolist() == [1, 1, 1], (
        "questions without a row are left out"
    )


def test_official_rejects_what_it_cannot_score() -> None:
    with pytest.raises(InputError, match=r"AtlasWorld has no metric of its own; use ak\.statistics\.accuracy"):
        ak.metrics.official(table([1]), replace(benchmark(), name="AtlasWorld", dataset=""))
    with pytest.raises(InputError, match=r"'q4' is no question of a part"):
        ak.metrics.official(table([1] * 5), benchmark())
