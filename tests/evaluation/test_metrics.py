"""Promise: official metrics are those of the papers, against numbers computed by hand."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import atlaskit as ak
from atlaskit.benchmarks.case import Benchmark, Case
from atlaskit.environment.question import ABSENT, Kind, Question
from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import interval, interval_of_group_means
from atlaskit.evaluation.metrics import METRICS, Measure, Scored
from atlaskit.evaluation.metrics.choices import logic_score, mlvu, videomme_v2
from atlaskit.evaluation.metrics.grounding import clues, every_event, single_interval, windows


def chosen(right: bool | None, video: str = "v", *, category: str = "", kind: Kind = "choice", **facts: Any) -> Scored:
    """Return a question that is answered right, wrong, or (None) not at all."""
    if kind != "choice":
        return Scored(Question("?", kind=kind, answer="yes", category=category), video, facts, "yes" if right else "no")
    given = None if right is None else int(right)
    return Scored(Question("?", ("a", "b"), answer=1, category=category), video, facts, given)


def when(truth: Any, given: Any, **facts: Any) -> Scored:
    return Scored(Question("When?", kind="when", answer=truth), "v", facts, given)


def values(measures: Sequence[Measure]) -> dict[str, float]:
    """Return each number of a metric that has values, by its name."""
    return {measure.name: measure.interval().mean for measure in measures if measure.values}


def test_lvbench_counts_a_question_in_each_of_its_types() -> None:
    rows = [
        chosen(True, question_type=("reasoning",)),
        chosen(False, question_type=("reasoning", "temporal grounding")),
        chosen(True, question_type=("temporal grounding", "reasoning")),
        chosen(True, question_type=("entity recognition", "entity recognition")),
        chosen(False, question_type=()),
    ]
    parts = {"entity recognition": 1.0, "reasoning": 2 / 3, "temporal grounding": 1 / 2}
    expected = {"accuracy": 3 / 5} | {f"accuracy: {name}": share for name, share in parts.items()}
    assert values(METRICS["LVBench"](rows)) == pytest.approx(expected)


def test_mlvu_averages_in_two_ways() -> None:
    rows = [
        *(chosen(index < 6, f"p{index}", category="plotQA") for index in range(8)),
        *(chosen(index < 1, f"c{index}", category="count") for index in range(4)),
        *(chosen(True, f"t{index}", category="topic_reasoning") for index in range(2)),
        chosen(False, "s", category="summary", kind="summary"),
        chosen(True, "o", category="subPlot", kind="open"),
    ]
    both = {"M-Avg, mean of categories": (6 / 8 + 1 / 4 + 1) / 3, "M-Avg, pooled": 9 / 14}
    parts = {"accuracy: count": 1 / 4, "accuracy: plotQA": 6 / 8, "accuracy: topic_reasoning": 1.0}
    assert values(mlvu(rows)) == pytest.approx(both | parts)
    with pytest.raises(InputError, match="questions with choices, and none of these has any"):
        mlvu(rows[-2:])


@pytest.mark.parametrize(
    ("dataset", "facts", "names"),
    [
        ("Video-MME", [{"duration": name} for name in ("long", "short", "medium")], ["short", "medium", "long"]),
        ("LongTimeScope", [{"type": "QA", "length": 3600}, {"type": "OCR", "length": 600}, {"type": "", "length": 600}],
         ["OCR", "QA", "length 600", "length 3600"]),
    ],
)  # fmt: skip
def test_the_groups_of_a_dataset_come_in_their_order(
    dataset: str, facts: list[dict[str, Any]], names: list[str]
) -> None:
    found = values(METRICS[dataset]([chosen(True, **each) for each in facts]))
    assert list(found) == ["accuracy", *(f"accuracy: {name}" for name in names)]


def group(rights: Sequence[int], kind: str = "logic", structure: str = "[1,2,3,4]") -> list[Scored]:
    """Return the questions of a group of Video-MME-v2."""
    shared = {"group": "g", "group_type": kind, "group_structure": structure, "level": 1, "second_head": ""}
    return [chosen(bool(right), "g", place=place, **shared) for place, right in enumerate(rights, 1)]


LOGIC = {
    "[1,2,3,4]": {"0000": 0, "1011": 6.25, "1110": 56.25, "1111": 100},
    # Of a bracket, either question counts, and the next step only after both.
    "[1,[2,3],4]": {"1001": 100 / 12, "1010": 400 / 12, "1011": 400 / 12, "1110": 700 / 12},
    "[[1,2],3,4]": {"0011": 0, "0100": 10, "1101": 20, "1110": 50, "1111": 100},
}


@pytest.mark.parametrize("structure", LOGIC)
def test_a_logic_group_scores_its_longest_prefix(structure: str) -> None:
    for rights, score in LOGIC[structure].items():
        digits = [int(digit) for digit in rights]
        assert logic_score(structure, [bool(digit) for digit in digits]) == pytest.approx(score), rights
        assert values(videomme_v2(group(digits, structure=structure)))["group score (%)"] == pytest.approx(score)


@pytest.mark.parametrize(("count", "score"), [(0, 0), (1, 6.25), (2, 25), (3, 56.25), (4, 100)])
def test_a_relevance_group_scores_by_its_count(count: int, score: float) -> None:
    for rights in set(itertools.permutations([1] * count + [0] * (4 - count))):
        found = values(videomme_v2(group(rights, kind="relevance", structure="")))
        assert found["group score (%)"] == score and found["accuracy"] == count / 4


def test_a_group_of_which_a_question_is_missing_is_left_out() -> None:
    other = [replace(each, facts={**each.facts, "group": "h"}) for each in group([1, 1, 1])]
    with pytest.warns(UserWarning, match="1 of 2 groups are left out"):
        assert values(videomme_v2([*group([0] * 4), *other]))["group score (%)"] == 0


def test_a_mean_of_group_means_has_its_own_interval() -> None:
    """A group of one value counts as much as one of 100: its video decides half of the number."""
    of_one = [1.0, *([0.0, 1.0] * 50)]
    clusters, groups = [f"v{n}" for n in range(101)], ["rare", *["common"] * 100]
    mean, low, high = interval_of_group_means(of_one, clusters, groups)
    assert mean == pytest.approx((1 + 0.5) / 2)
    plain = interval(of_one, clusters)
    assert plain.mean == pytest.approx(51 / 101) and high - low > 1.5 * (plain.high - plain.low)
    assert interval_of_group_means(of_one, clusters, ["one"] * 101) == pytest.approx(plain)
    assert interval_of_group_means([1.0] * 4, [*"abcd"], [*"xxyy"]) == interval([1.0] * 4, [*"abcd"])


def test_single_intervals_by_hand() -> None:
    """No answer scores 0, and questions about what is absent do not count."""
    truth = (0.0, 10.0)
    given = [(0.0, 3.0), (0.0, 5.0), (0.0, 7.0), truth, (20.0, 30.0), None]
    rows = [*(when(truth, each) for each in given), when(ABSENT, ABSENT), when(ABSENT, truth)]
    expected = {"mIoU": 2.5 / 6, "R@0.3": 4 / 6, "R@0.5": 3 / 6, "R@0.7": 2 / 6}
    assert values(single_interval(rows)) == pytest.approx(expected)
    assert values(single_interval([when(truth, (0.0, 2.999))]))["R@0.3"] == 0.0


def test_windows_by_hand() -> None:
    truth, elsewhere = ((0.0, 10.0), (20.0, 30.0)), (40.0, 50.0)
    both = values(windows([when(truth, truth), when(ABSENT, truth)]))
    assert both == dict.fromkeys(("R1@0.5", "R1@0.7", "mAP", "mAP@0.5", "mAP@0.75"), 1.0)
    # The first prediction has an IoU of 0.6 with the second window: a hit up to 0.6.
    one = values(windows([when(truth, ((20.0, 26.0),))]))
    assert one == pytest.approx({"R1@0.5": 1, "R1@0.7": 0, "mAP": 3 * 0.5 / 10, "mAP@0.5": 0.5, "mAP@0.75": 0})
    # Miss, hit, hit: precisions 0, 1/2, 2/3, interpolated to 2/3 at both recalls.
    late = values(windows([when(truth, (elsewhere, *truth))]))
    assert late == pytest.approx({"R1@0.5": 0, "R1@0.7": 0, **dict.fromkeys(("mAP", "mAP@0.5", "mAP@0.75"), 2 / 3)})
    # A window is found once: the second prediction of it is a miss.
    assert values(windows([when(truth, (truth[0], truth[0]))]))["mAP"] == pytest.approx(0.5)
    # The better window is taken, so that the other one is a hit for the next prediction.
    crossed = when(((0.0, 10.0), (4.0, 14.0)), ((3.0, 13.0), (0.0, 10.0)))
    assert values(windows([crossed]))["mAP@0.75"] == 1.0
    assert values(windows([when(truth, truth), when(truth, None)])) == dict.fromkeys(both, 0.5)


def test_clues_by_hand() -> None:
    """An IoU must be above a threshold: 0.5 is above four of the five, and not above 0.5."""
    truth = ((0.0, 5.0), (10.0, 15.0))
    choices = [chosen(right, qid=qid) for right, qid in zip((True, False, True, None, True), "12345", strict=True)]
    found = [
        when(truth, (0.0, 5.0), qid="1"),  # IoU 0.5
        when(truth, truth, qid="2"),  # IoU 1, and a wrong choice
        when(truth, None, qid="3"),  # IoU 0
        when(truth, ((0.0, 2.0), (10.0, 11.5)), qid="4"),  # IoU 0.35: above three, and no choice
        when(truth, truth, qid="6"),  # not asked with choices: only its clues count
    ]
    assert values(clues([*choices, *found])) == pytest.approx(
        {
            "long-acc.": 3 / 5,
            "mIoU": (0.5 + 1 + 0 + 0.35 + 1) / 5,
            "rec.@IoU": (4 / 5 + 1 + 0 + 3 / 5 + 1) / 5,
            "acc.@IoU": (4 / 5 + 0 + 0 + 0) / 4,
        }
    )
    assert values(clues(choices)).keys() == {"long-acc."} and values(clues(found)).keys() == {"mIoU", "rec.@IoU"}


def test_events_are_counted_over_all_queries() -> None:
    two, one = ((0.0, 10.0), (20.0, 30.0)), ((0.0, 10.0),)
    rows = [when(two, ((0.0, 10.0), (50.0, 60.0))), when(one, None), when(two, ((0.0, 10.0), (20.0, 26.0)))]
    assert values(every_event([*rows, when(ABSENT, one)])) == pytest.approx(
        {"F1@0.5": 2 * 3 / (4 + 1 + 4), "mIoU": (10 / 30 + 0 + 16 / 20) / 3, "count accuracy": 2 / 3}
    )


def test_rejection_counts_as_it_is_defined() -> None:
    there = (1.0, 2.0)
    absent = when(ABSENT, ABSENT)
    none = Scored(Question("How many?", kind="count", answer=0), "w", {}, 0)
    rows = [absent, when(ABSENT, there), when(ABSENT, None), none]
    rows += [when(there, ABSENT), when(there, there), when(there, there), chosen(True)]
    found = [replace(each, video=str(number)) for number, each in enumerate(rows)]
    measures = {each.name: each.interval() for each in ak.metrics.rejection(found)}
    # Two of four that are absent are rejected, one of three that are there. A choice counts not.
    assert measures["rejection F1"].mean == pytest.approx(2 * 2 / (4 + 3))
    assert measures["false positives"].mean == pytest.approx(1 / 4), "a question without an answer invents nothing"
    assert measures["false rejections"].mean == pytest.approx(1 / 3)
    assert all(each.low < each.mean < each.high for each in measures.values())
    assert ak.metrics.rejection([when(there, ABSENT)]) == [], "nothing is absent"


TYPES = (("x", "y"), ("x",), (), ("y",))
CASES = tuple(
    Case(Question("?", ("a", "b"), answer=1, id=f"q{n}"), f"v{n % 2}", pytest.fail, {"question_type": TYPES[n]})  # type: ignore[arg-type]
    for n in range(4)
)
BENCHMARK = Benchmark("a part", CASES, dataset="LVBench")


def table(predictions: Sequence[object]) -> pd.DataFrame:
    column = pd.Series(list(predictions), dtype=object)
    return pd.DataFrame({"id": [f"q{n}" for n in range(len(predictions))], "prediction": column})


def test_official_joins_the_rows_with_the_questions() -> None:
    found = ak.metrics.official(table([1, 0, None, 1]), BENCHMARK)
    assert list(found.columns) == ["metric", "value", "low", "high", "n"]
    assert found.set_index("metric")["value"].to_dict() == {"accuracy": 0.5, "accuracy: x": 0.5, "accuracy: y": 1.0}
    assert found["n"].tolist() == [4, 2, 2] and 0 <= found["low"][0] <= 0.5 <= found["high"][0] <= 1
    by_name = ak.metrics.official(table([1, 0, None, 1]), replace(BENCHMARK, name="LVBench", dataset=""))
    assert by_name.equals(found), "a benchmark made by hand counts by its name"
    assert ak.metrics.official(table([1]), BENCHMARK)["n"].tolist() == [1, 1, 1], "other questions are left out"


def test_official_rejects_what_it_cannot_score() -> None:
    unknown = replace(CASES[0], question=replace(CASES[0].question, answer=None))
    timed = replace(CASES[0], question=Question("When?", kind="when", answer=(1, 2), id="q0"))
    for rows, bench, words in (
        (table([1]), replace(BENCHMARK, name="AtlasWorld", dataset=""), r"no metric of its own; use ak\.statistics"),
        (table([1] * 5), BENCHMARK, "'q4' is no question of a part"),
        (pd.concat([table([1])] * 2), BENCHMARK, "the question 'q0' twice: pass the rows of one method"),
        (table([1]), replace(BENCHMARK, cases=(unknown,)), "true answer to 'q0' is not known"),
        (table([("x", 1)]), replace(BENCHMARK, cases=(timed,), dataset="CG-Bench"), "of 'q0' does not fit: .* 'when'"),
    ):
        with pytest.raises(InputError, match=words):
            ak.metrics.official(rows, bench)
