"""Statistics: intervals reach their stated coverage, and comparisons are paired."""

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import bootstrap_bounds, exact_bounds, interval
from atlaskit.evaluation.statistics import (
    COMPUTE,
    accuracy,
    breakdown,
    compare,
    compute,
    exponent,
    mcnemar,
)

TRUTH = 0.6
"""The mean of the simulated benchmarks."""


def benchmarks(count: int, videos: int, spread: float) -> Iterator[tuple[np.ndarray, list[str]]]:
    """Yield simulated benchmarks: whether each question is answered right, and its video."""
    rng = np.random.default_rng(1)
    for _ in range(count):
        sizes = rng.integers(4, 13, videos)
        difficulty = np.clip(rng.normal(TRUTH, spread, videos), 0, 1)
        right = rng.random(sizes.sum()) < np.repeat(difficulty, sizes)
        yield right.astype(float), np.repeat(np.arange(videos), sizes).astype(str).tolist()


@pytest.mark.long
@pytest.mark.parametrize(("videos", "spread"), [(10, 0.15)])
def test_intervals_reach_their_stated_coverage(videos: int, spread: float) -> None:
    """1,000 benchmarks of 4 to 12 questions a video; each video has its own difficulty.

    Prints the coverage that docs/measured.csv has (`-s`).
    """
    covered = 0
    for number, (right, names) in enumerate(benchmarks(1000, videos, spread)):
        mean = interval(right, names, draws=1000, seed=number)
        covered += mean.low <= TRUTH <= mean.high
    print(f"\n{covered} of 1000 intervals contain the truth")
    assert 0.93 <= covered / 1000 <= 0.97


@given(st.integers(0, 10**6), st.integers(2, 30))
def test_an_interval_contains_its_mean_and_is_reproducible(seed: int, videos: int) -> None:
    rng = np.random.default_rng(seed)
    values, names = rng.random(videos * 3), [str(n // 3) for n in range(videos * 3)]
    mean = interval(values, names, draws=400)
    assert mean == interval(values, names, draws=400)
    assert mean.low <= mean.mean + 1e-9 and mean.mean <= mean.high + 1e-9
    assert mean.mean == pytest.approx(values.mean())


def test_one_video_has_no_interval() -> None:
    mean = interval([1.0, 0.0], ["a", "a"])
    assert mean.mean == 0.5 and math.isnan(mean.low) and math.isnan(mean.high)


def test_constant_values_have_the_exact_binomial_interval() -> None:
    mean = interval([1.0] * 6, ["a", "a", "b", "b", "c", "c"])
    assert mean == (1.0, pytest.approx(0.025 ** (1 / 3)), 1.0)  # Clopper and Pearson, three trials
    assert interval([0.0] * 3, ["a", "b", "c"]) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 3)))


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0)])
def test_equal_differences_have_bounds_on_the_side_where_they_can_differ(first: float, second: float) -> None:
    most = 1 - 0.025 ** (1 / 3)  # Clopper and Pearson: no video of three differs
    keys = {"id": ["1", "2", "3"], "video": ["a", "b", "c"]}
    tables = [pd.DataFrame({**keys, "score": score, "right": score > 0.5}) for score in (first, second)]
    found = compare(*tables)
    mean = second - first
    assert (found.difference, found.low, found.high) == pytest.approx(
        (mean, max(-1.0, mean - most), min(1.0, mean + most))
    )


@pytest.mark.parametrize(
    ("successes", "trials", "level", "low", "high"),
    [
        (0, 10, 0.95, 0.0, 0.3085),
        (1, 10, 0.95, 0.0025, 0.4450),
        (10, 100, 0.95, 0.0490, 0.1762),
        (10, 10, 0.99, 0.5887, 1.0),
    ],
)
def test_exact_bounds_are_those_of_clopper_and_pearsons_tables(
    successes: int, trials: int, level: float, low: float, high: float
) -> None:
    assert exact_bounds(successes, trials, level) == pytest.approx((low, high), abs=6e-5)


@pytest.mark.parametrize(("clusters", "t"), [(2, 12.7062), (3, 4.3027), (4, 3.1824), (6, 2.5706), (10, 2.2622)])
def test_the_percentiles_use_the_tabulated_quantiles_of_students_t(clusters: int, t: float) -> None:
    """With n clusters, the tail is Φ(−√(n/(n−1)) t), with t of n − 1 degrees of freedom."""
    draws = np.linspace(0.0, 1.0, 4001)
    low, high = bootstrap_bounds(clusters, lambda taken: draws, 0.95)  # its percentiles are the tails
    tail = NormalDist().cdf(-math.sqrt(clusters / (clusters - 1)) * t)
    assert low == pytest.approx(tail, rel=2e-3, abs=1e-12)
    assert high == pytest.approx(1 - tail, abs=1e-5)


def test_mcnemar_is_the_exact_binomial_test() -> None:
    assert mcnemar(0, 0) == 1.0 and mcnemar(5, 5) == 1.0
    assert mcnemar(1, 9) == pytest.approx(2 * (1 + 10) / 1024)
    assert mcnemar(9, 1) == mcnemar(1, 9)
    assert mcnemar(3, 12) == pytest.approx(0.03515625)  # 2 · 576 / 2^15
    assert mcnemar(0, 6) == pytest.approx(0.03125)
    assert 0 <= mcnemar(0, 5000) < 1e-300


def rows(right: list[bool], **columns: object) -> pd.DataFrame:
    ids = [str(n) for n in range(len(right))]
    scores = [float(each) for each in right]
    table = {"id": ids, "video": [str(n // 2) for n in range(len(right))], "right": right, "score": scores}
    return pd.DataFrame({**table, "kind": "choice", **columns})


def test_comparisons_are_paired() -> None:
    first, second = rows([True, False, False, True, False, False]), rows([True, True, True, False, True, False])
    comparison = compare(first, second.sample(frac=1, random_state=1))
    assert (comparison.only_first, comparison.only_second) == (1, 3)
    assert comparison.difference == pytest.approx(2 / 6) and comparison.p == mcnemar(1, 3)
    assert compare(first, first).difference == 0 and compare(first, first).p == 1
    with pytest.raises(InputError, match="6 and 5 questions and share 5"):
        compare(first, second.iloc[:5])
    with pytest.raises(InputError, match="'0' twice"):
        compare(pd.concat([first, first.iloc[:1]]), second)


def test_accuracy_by_group() -> None:
    table = rows([True, False, True, True], level=["L1", "L1", "L2", "L2"])
    by_level = accuracy(table, "level").set_index("level")
    assert by_level["mean"].to_dict() == {"L1": 0.5, "L2": 1.0}
    assert accuracy(table).iloc[0][["questions", "videos", "mean"]].tolist() == [4, 2, 0.75]


def test_a_breakdown_joins_tables_side_by_side() -> None:
    """As in the paper's Appendix B, where only one benchmark may have a type of question."""
    short = rows([True, False, True, True], category=["S2E", "S2E", "TAA", "SSS"])
    long = rows([False, False], category=["S2E", "TAA"])
    joined = breakdown({"1 h": short, "10 h": long}, "category")
    assert joined["category"].tolist() == ["SSS", "TAA", "S2E"], "best first"
    assert joined["1 h n"].tolist() == [1, 1, 2] and joined["1 h mean"].tolist() == [1.0, 1.0, 0.5]
    assert joined["10 h n"].isna().tolist() == [True, False, False] and joined["10 h mean"].tolist()[1:] == [0.0, 0.0]


def test_costs_are_means_and_quantiles() -> None:
    counts = {name: [1.0, 2.0, 3.0, 10.0] for name in COMPUTE}
    costs = compute(rows([True] * 4, seconds=1.0, hours=[1, 1, 10, 10], **counts), "hours").set_index("hours")
    assert costs["questions"].tolist() == [2, 2] and costs["worker_tokens"].tolist() == [1.5, 6.5]
    assert costs["tokens 50 %"].tolist() == [1.5, 6.5] and costs["tokens 90 %"].tolist() == pytest.approx([1.9, 9.3])
    failed = rows(
        [True, False], seconds=1.0, **{name: [4.0, math.nan] for name in COMPUTE if name != "tokens"}, tokens=4
    )
    assert compute(failed).iloc[0][["questions", "rounds"]].tolist() == [2, 4]


def tokens_by_duration(true_exponent: float, videos: int, spread: float, seed: int) -> pd.DataFrame:
    """Tokens of five questions a video at four durations; some videos cost more than others."""
    rng, durations = np.random.default_rng(seed), np.repeat([60.0, 600.0, 3600.0, 36_000.0], 5 * videos)
    names = np.tile(np.repeat(np.arange(videos), 5), 4)
    price = np.exp(rng.normal(0, spread, (videos, 4)))[names, np.repeat(range(4), 5 * videos)]
    tokens = 1000 * durations**true_exponent * price * np.exp(rng.normal(0, 0.3, len(names)))
    return pd.DataFrame({"duration_s": durations, "video": names.astype(str), "tokens": tokens})


@pytest.mark.parametrize("truth", [0.2])
def test_exponents_reach_their_stated_coverage(truth: float) -> None:
    exact = tokens_by_duration(truth, 6, 0.0, 0).assign(tokens=lambda table: 3 * table["duration_s"] ** truth)
    assert exponent(exact).mean == pytest.approx(truth, abs=1e-9)
    fits = [exponent(tokens_by_duration(truth, 20, 0.4, seed)) for seed in range(150)]
    covered = sum(fit.low <= truth <= fit.high for fit in fits)
    assert 0.91 <= covered / 150 <= 0.99
