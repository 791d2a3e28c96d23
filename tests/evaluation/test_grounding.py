"""The official metrics of the grounding benchmarks, computed by hand and by slow second ways."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.environment.question import Question, Span
from atlaskit.evaluation.metrics import Scored
from atlaskit.evaluation.metrics.grounding import clues, single_interval, windows

TIMES = st.integers(0, 60).map(float)
SPANS = st.tuples(TIMES, TIMES).map(lambda ends: (min(ends), max(ends) + 1))


def scored(truth: Any, given: Any, video: str = "v", **facts: Any) -> Scored:
    return Scored(Question("When?", kind="when", answer=truth), video, facts, given)


def values(metric: Any, *of: Scored) -> dict[str, float]:
    """Return the numbers of a metric by name."""
    return {each.name: sum(each.values) / len(each.values) for each in metric(of) if each.values}


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
