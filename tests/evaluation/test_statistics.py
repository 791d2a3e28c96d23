"""Statistics: stated intervals hold the truth as often as they say, and comparisons are paired."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.errors import InputError
from atlaskit.evaluation import statistics
from atlaskit.evaluation.statistics import (
    COMPUTE,
    accuracy,
    breakdown,
    compare,
    compute,
    exponent,
    interval,
    mcnemar,
    prefix_hits,
    recall_at,
)


@pytest.mark.parametrize(("videos", "spread"), [(40, 0.15), (100, 0.25), (12, 0.1)])
def test_intervals_hold_the_truth_as_often_as_they_say(videos: int, spread: float) -> None:
    """1,000 benchmarks of 4 to 12 questions a video, each video with a difficulty of its own."""
    rng, held, truth = np.random.default_rng(1), 0, 0.6
    for number in range(1000):
        sizes = rng.integers(4, 13, videos)
        hard = np.clip(rng.normal(truth, spread, videos), 0, 1)
        right = rng.random(sizes.sum()) < np.repeat(hard, sizes)
        names = np.repeat(np.arange(videos), sizes).astype(str)
        told = interval(right.astype(float), names.tolist(), draws=1000, seed=number)
        held += told.low <= truth <= told.high
    assert 0.93 <= held / 1000 <= 0.97


@given(st.integers(0, 10**6), st.integers(2, 30))
def test_an_interval_holds_its_mean_and_is_the_same_each_time(seed: int, videos: int) -> None:
    rng = np.random.default_rng(seed)
    values, names = rng.random(videos * 3), [str(n // 3) for n in range(videos * 3)]
    told = interval(values, names, draws=400)
    assert told == interval(values, names, draws=400)
    assert told.low <= told.mean + 1e-9 and told.mean <= told.high + 1e-9
    assert told.mean == pytest.approx(values.mean())


def test_of_one_video_nothing_is_known() -> None:
    told = interval([1.0, 0.0], ["a", "a"])
    assert told.mean == 0.5 and math.isnan(told.low) and math.isnan(told.high)


def test_all_right_is_not_sure_to_be_all_right() -> None:
    told = interval([1.0] * 6, ["a", "a", "b", "b", "c", "c"])
    assert told == (1.0, pytest.approx(0.025 ** (1 / 3)), 1.0)  # Clopper and Pearson, of three
    assert interval([0.0] * 3, ["a", "b", "c"]) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 3)))


@pytest.mark.parametrize("freedom", [3, 5, 9, 30, 200])
def test_quantiles_of_students_t(freedom: int) -> None:
    known = {3: 3.1824, 5: 2.5706, 9: 2.2622, 30: 2.0423, 200: 1.9719}
    assert statistics._t(0.975, freedom) == pytest.approx(known[freedom], abs=0.02)


def test_mcnemar_is_the_binomial_test() -> None:
    assert mcnemar(0, 0) == 1.0 and mcnemar(5, 5) == 1.0
    assert mcnemar(1, 9) == pytest.approx(2 * (1 + 10) / 1024)
    assert mcnemar(9, 1) == mcnemar(1, 9)
    assert 0 <= mcnemar(0, 5000) < 1e-300


def rows(right: list[bool], **columns: object) -> pd.DataFrame:
    ids = [str(n) for n in range(len(right))]
    scores = [float(each) for each in right]
    table = {"id": ids, "video": [str(n // 2) for n in range(len(right))], "right": right, "score": scores}
    return pd.DataFrame({**table, "kind": "choice", **columns})


def test_comparisons_are_paired() -> None:
    first, second = rows([True, False, False, True, False, False]), rows([True, True, True, False, True, False])
    told = compare(first, second.sample(frac=1, random_state=1))
    assert (told.only_first, told.only_second) == (1, 3)
    assert told.difference == pytest.approx(2 / 6) and told.p == mcnemar(1, 3)
    assert compare(first, first).difference == 0 and compare(first, first).p == 1
    with pytest.raises(InputError, match="6 and 5 questions and share 5"):
        compare(first, second.iloc[:5])
    with pytest.raises(InputError, match="'0' twice"):
        compare(pd.concat([first, first.iloc[:1]]), second)


def test_groups_and_recall() -> None:
    table = rows([True, False, True, True], level=["L1", "L1", "L2", "L2"])
    by_level = accuracy(table, "level").set_index("level")
    assert by_level["mean"].to_dict() == {"L1": 0.5, "L2": 1.0}
    assert accuracy(table).iloc[0][["questions", "videos", "mean"]].tolist() == [4, 2, 0.75]
    spans = rows([True] * 4, kind="when", score=[0.2, 0.5, 0.9, 0.7])
    assert recall_at(spans).mean == 0.75 and recall_at(spans, 0.7).mean == 0.5


def test_tables_stand_side_by_side() -> None:
    """As in the paper's Appendix B, where a type of question may be in one benchmark only."""
    short = rows([True, False, True, True], category=["S2E", "S2E", "TAA", "SSS"])
    long = rows([False, False], category=["S2E", "TAA"])
    told = breakdown({"1 h": short, "10 h": long}, "category")
    assert told["category"].tolist() == ["SSS", "TAA", "S2E"], "the best first"
    assert told["1 h n"].tolist() == [1, 1, 2] and told["1 h mean"].tolist() == [1.0, 1.0, 0.5]
    assert told["10 h n"].isna().tolist() == [True, False, False] and told["10 h mean"].tolist()[1:] == [0.0, 0.0]


def test_costs_are_means_and_quantiles() -> None:
    counts = {name: [1.0, 2.0, 3.0, 10.0] for name in COMPUTE}
    told = compute(rows([True] * 4, seconds=1.0, hours=[1, 1, 10, 10], **counts), "hours").set_index("hours")
    assert told["questions"].tolist() == [2, 2] and told["worker_tokens"].tolist() == [1.5, 6.5]
    assert told["tokens 50 %"].tolist() == [1.5, 6.5] and told["tokens 90 %"].tolist() == pytest.approx([1.9, 9.3])
    failed = rows(
        [True, False], seconds=1.0, **{name: [4.0, math.nan] for name in COMPUTE if name != "tokens"}, tokens=4
    )
    assert compute(failed).iloc[0][["questions", "rounds"]].tolist() == [2, 4]


def grown(exponent_of: float, videos: int, spread: float, seed: int) -> pd.DataFrame:
    """Tokens of five questions a video at four durations; some videos cost more than others."""
    rng, durations = np.random.default_rng(seed), np.repeat([60.0, 600.0, 3600.0, 36_000.0], 5 * videos)
    names = np.tile(np.repeat(np.arange(videos), 5), 4)
    dear = np.exp(rng.normal(0, spread, (videos, 4)))[names, np.repeat(range(4), 5 * videos)]
    tokens = 1000 * durations**exponent_of * dear * np.exp(rng.normal(0, 0.3, len(names)))
    return pd.DataFrame({"duration_s": durations, "video": names.astype(str), "tokens": tokens})


@pytest.mark.parametrize("truth", [0.0, 0.2, 1.0])
def test_exponents_hold_the_truth_as_often_as_they_say(truth: float) -> None:
    exact = grown(truth, 6, 0.0, 0).assign(tokens=lambda table: 3 * table["duration_s"] ** truth)
    assert exponent(exact).mean == pytest.approx(truth, abs=1e-9)
    told = [exponent(grown(truth, 20, 0.4, seed)) for seed in range(150)]
    held = sum(each.low <= truth <= each.high for each in told)
    assert 0.91 <= held / 150 <= 0.99


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: exponent(grown(1, 2, 0, 0).query("duration_s == 60")), "two durations or more"),
        (lambda: exponent(grown(1, 2, 0, 0).assign(tokens=0)), "has no exponent"),
        (lambda: breakdown({}, "level"), "no tables"),
        (lambda: compute(rows([True])), "lacks the column 'master_tokens'"),
        (lambda: interval([], []), "no rows"),
        (lambda: interval([1.0], ["a"], level=95), "between 0 and 1"),
        (lambda: accuracy(rows([True]), "topic"), "lacks the column 'topic'"),
        (lambda: recall_at(rows([True])), "no when-questions"),
    ],
)
def test_what_cannot_be_reckoned_is_one_sentence(wrong: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        wrong()  # type: ignore[operator]


def test_hits_of_a_prefix_cache_are_shares_of_what_was_counted() -> None:
    table = pd.DataFrame(
        {
            "duration_s": [600, 600, 600, 36_000],
            "prompt_tokens": [100, 200, 0, 100],
            "cached_tokens": [50, 50, 0, 0],
            "estimated": [False, False, False, True],
        }
    )
    told = prefix_hits(table, "duration_s").set_index("duration_s")
    assert told.loc[600, "questions"] == 2 and told.loc[600, "mean"] == pytest.approx(0.375)
    assert told.loc[600, "deviation"] == pytest.approx(np.std([0.5, 0.25], ddof=1))
    assert told.loc[36_000, "questions"] == 0 and math.isnan(told.loc[36_000, "mean"]), "estimates tell nothing"
