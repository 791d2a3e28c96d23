"""The official metrics of the grounding benchmarks, computed by hand and by slow second ways."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.case import Case
from atlaskit.environment.question import Question, Span, Spans
from atlaskit.environment.scoring import intervals_iou, temporal_iou
from atlaskit.errors import InputError
from atlaskit.evaluation.metrics import Scored, official
from atlaskit.evaluation.metrics.grounding import CLUES, PRECISIONS, clues, single_interval, windows

TIMES = st.integers(0, 60).map(float)
SPANS = st.tuples(TIMES, TIMES).map(lambda ends: (min(ends), max(ends) + 1))
LISTS = st.lists(SPANS, min_size=1, max_size=5).map(tuple)
PREDICTIONS = st.none() | st.lists(SPANS, min_size=1, max_size=13).map(tuple)


def scored(truth: Any, given: Any, video: str = "v", **facts: Any) -> Scored:
    return Scored(Question("When?", kind="when", answer=truth), video, facts, given)


def values(metric: Any, *of: Scored) -> dict[str, float]:
    """Return the numbers of a metric by name."""
    return {each.name: sum(each.values) / len(each.values) for each in metric(of)}


def test_single_intervals_by_hand() -> None:
    """IoUs of 0.3, 0.5, 0.7 and 1 reach their thresholds; no answer scores 0."""
    truth = (0.0, 10.0)
    given = [(0.0, 3.0), (0.0, 5.0), (0.0, 7.0), truth, (20.0, 30.0), None]
    found = values(single_interval, *(scored(truth, each) for each in given))
    assert found == pytest.approx({"mIoU": 2.5 / 6, "R@0.3": 4 / 6, "R@0.5": 3 / 6, "R@0.7": 2 / 6})
    assert values(single_interval, scored(truth, (0.0, 2.999)))["R@0.3"] == 0.0


def test_windows_by_hand() -> None:
    truth = ((0.0, 10.0), (20.0, 30.0))
    both = values(windows, scored(truth, truth))
    assert both == dict.fromkeys(("R1@0.5", "R1@0.7", "mAP", "mAP@0.5", "mAP@0.75"), 1.0)
    # The first prediction has an IoU of 0.6 with the second window: a hit up to 0.6.
    one = values(windows, scored(truth, ((20.0, 26.0),)))
    assert one == pytest.approx({"R1@0.5": 1, "R1@0.7": 0, "mAP": 3 * 0.5 / 10, "mAP@0.5": 0.5, "mAP@0.75": 0})
    # Miss, hit, hit: precisions 0, 1/2, 2/3, interpolated to 2/3 at both recalls.
    late = values(windows, scored(truth, ((40.0, 50.0), *truth)))
    assert late == pytest.approx({"R1@0.5": 0, "R1@0.7": 0, **dict.fromkeys(("mAP", "mAP@0.5", "mAP@0.75"), 2 / 3)})
    # Hit, miss, hit: precisions 1, 1/2, 2/3.
    split = values(windows, scored(truth, (truth[0], (40.0, 50.0), truth[1])))
    assert split["mAP"] == pytest.approx((1 + 2 / 3) / 2) and split["R1@0.7"] == 1
    # A window is found once: the second prediction of it is a miss.
    twice = values(windows, scored(truth, ((0.0, 10.0), (0.0, 10.0))))
    assert twice["mAP"] == pytest.approx(0.5)
    # The better window is taken, so that the other one is a hit for the next prediction.
    crossed = values(windows, scored(((0.0, 10.0), (4.0, 14.0)), ((3.0, 13.0), (0.0, 10.0))))
    assert crossed["mAP@0.75"] == 1.0
    assert values(windows, scored(truth, None)) == dict.fromkeys(both, 0.0)
    assert values(windows, scored(truth, truth), scored(truth, None)) == dict.fromkeys(both, 0.5)


def test_only_ten_windows_count() -> None:
    wrong = tuple((100.0 + i, 100.5 + i) for i in range(10))
    assert values(windows, scored(((0.0, 10.0),), (*wrong[:9], (0.0, 10.0))))["mAP"] == pytest.approx(0.1)
    assert values(windows, scored(((0.0, 10.0),), (*wrong, (0.0, 10.0))))["mAP"] == 0.0


def slow_average_precision(truth: Spans, predicted: Spans, threshold: float) -> float:
    """Return the AP as the published evaluators define it, in a second way.

    Each prediction goes through the true windows by falling IoU, passes those that are taken, and
    is a false alarm at the first whose IoU is too low. The area under the interpolated curve is the
    mean, over the number of windows to find, of the best precision with which so many are found.
    """
    taken: set[int] = set()
    hits = []
    for span in predicted[:10]:
        order = sorted(range(len(truth)), key=lambda index: -temporal_iou(truth[index], span))
        hit = False
        for index in order:
            if temporal_iou(truth[index], span) < threshold:
                break
            if index not in taken:
                taken.add(index)
                hit = True
                break
        hits.append(hit)
    total = 0.0
    for wanted in range(1, len(truth) + 1):
        enough = [count for count in range(1, len(hits) + 1) if sum(hits[:count]) >= wanted]
        total += max((sum(hits[:count]) / count for count in enough), default=0.0)
    return total / len(truth)


@given(LISTS, PREDICTIONS)
def test_the_map_equals_a_slow_second_way(truth: Spans, predicted: Spans | None) -> None:
    found = values(windows, scored(truth, predicted))
    slow = {threshold: slow_average_precision(truth, predicted or (), threshold) for threshold in PRECISIONS}
    assert PRECISIONS == (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    assert found["mAP"] == pytest.approx(sum(slow.values()) / 10)
    assert found["mAP@0.5"] == pytest.approx(slow[0.5]) and found["mAP@0.75"] == pytest.approx(slow[0.75])
    first = max((temporal_iou(each, predicted[0]) for each in truth), default=0.0) if predicted else 0.0
    assert (found["R1@0.5"], found["R1@0.7"]) == (first >= 0.5, first >= 0.7)
    assert 0.0 <= found["mAP@0.75"] <= found["mAP@0.5"] <= 1.0


@given(st.lists(st.tuples(SPANS, st.none() | SPANS), min_size=1, max_size=5))
def test_recalls_fall_with_the_threshold_and_order_does_not_matter(pairs: list[tuple[Span, Span | None]]) -> None:
    every = [scored(truth, given) for truth, given in pairs]
    found = values(single_interval, *every)
    assert 1.0 >= found["R@0.3"] >= found["R@0.5"] >= found["R@0.7"] >= 0.0
    assert values(single_interval, *reversed(every)) == pytest.approx(found)
    assert values(single_interval, *(scored(truth, truth) for truth, _ in pairs)) == dict.fromkeys(found, 1.0)


def choice(qid: str, right: bool | None) -> Scored:
    given = None if right is None else int(not right)
    return Scored(Question("Which?", ("a", "b"), answer=0), "v", {"qid": qid}, given)


def test_clues_by_hand() -> None:
    """An IoU must be above a threshold: 0.5 is above four of the five, and not above 0.5."""
    truth = ((0.0, 5.0), (10.0, 15.0))
    rows = [
        choice("1", True),
        scored(truth, (0.0, 5.0), qid="1"),  # IoU 0.5
        choice("2", False),
        scored(truth, truth, qid="2"),  # IoU 1, and a wrong choice
        choice("3", True),
        scored(truth, None, qid="3"),  # IoU 0
        choice("4", None),
        scored(truth, ((0.0, 2.0), (10.0, 11.5)), qid="4"),  # IoU 0.35: above three
        choice("5", True),  # without clues: only its choice counts
        scored(truth, truth, qid="6"),  # without a choice: only its clues count
    ]
    found = values(clues, *rows)
    assert found == pytest.approx(
        {
            "long-acc.": 3 / 5,
            "mIoU": (0.5 + 1 + 0 + 0.35 + 1) / 5,
            "rec.@IoU": (4 / 5 + 1 + 0 + 3 / 5 + 1) / 5,
            "acc.@IoU": (4 / 5 + 0 + 0 + 0) / 4,
        }
    )
    assert values(clues, *(each for each in rows if each.question.kind == "choice")).keys() == {"long-acc."}
    assert values(clues, *(each for each in rows if each.question.kind == "when")).keys() == {"mIoU", "rec.@IoU"}


@given(st.lists(st.tuples(LISTS, PREDICTIONS, st.booleans()), min_size=1, max_size=4))
def test_clues_equal_the_definition_threshold_by_threshold(rows: list[tuple[Spans, Spans | None, bool]]) -> None:
    pairs = [
        each
        for number, (truth, given, right) in enumerate(rows)
        for each in (scored(truth, given, qid=str(number)), choice(str(number), right))
    ]
    found = values(clues, *pairs)
    ious = [intervals_iou(truth, given or ()) for truth, given, _ in rows]
    shares = [sum(iou > threshold for iou in ious) / len(ious) for threshold in CLUES]
    both = [sum(iou > t and right for iou, (*_, right) in zip(ious, rows, strict=True)) / len(ious) for t in CLUES]
    assert found["rec.@IoU"] == pytest.approx(sum(shares) / 5) and found["acc.@IoU"] == pytest.approx(sum(both) / 5)
    assert found["acc.@IoU"] <= min(found["rec.@IoU"], found["long-acc."]) + 1e-9


def test_official_pairs_rows_with_cases_and_keeps_their_videos() -> None:
    truths: list[Any] = [(0.0, 10.0), (5.0, 15.0)]
    cases = tuple(
        Case(Question(f"When {number}?", kind="when", answer=truth, id=str(number)), f"v{number}", lambda: None)  # type: ignore[arg-type, return-value]
        for number, truth in enumerate(truths)
    )
    rows = pd.DataFrame({"id": ["1", "0"], "prediction": pd.Series([(5.0, 15.0), None], dtype=object)})
    table = official(rows, Benchmark("Charades-STA", cases))
    assert table["metric"].tolist() == ["mIoU", "R@0.3", "R@0.5", "R@0.7"]
    assert table["value"].tolist() == [0.5] * 4 and table["n"].tolist() == [2] * 4
    assert (table["low"] < 0.5).all() and (table["high"] > 0.5).all(), "two videos are resampled"
    with pytest.raises(InputError, match="is no question of Charades-STA"):
        official(rows.assign(id=["1", "x"]), Benchmark("Charades-STA", cases))
