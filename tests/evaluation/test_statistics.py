"""Promise: intervals reach their stated coverage, and comparisons are paired."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.errors import InputError
from atlaskit.evaluation.intervals import interval, interval_of_ratio, paired
from atlaskit.evaluation.statistics import COMPUTE, accuracy, breakdown, compare, compute, exponent


def benchmarks(count: int, videos: int, mean: float, alike: float) -> Iterator[tuple[np.ndarray, list[str]]]:
    """Yield simulated benchmarks: whether two equal methods answer each question right; its video.

    A video has 4 to 24 questions. `mean` is the probability of a right answer over all videos, and
    `alike` the correlation of two questions about one video, whose probability is its own.
    """
    rng = np.random.default_rng(1)
    for _ in range(count):
        sizes = rng.integers(4, 25, videos)
        each = rng.beta(mean * (1 - alike) / alike, (1 - mean) * (1 - alike) / alike, (2, videos))
        right = rng.random((2, sizes.sum())) < np.repeat(each, sizes, axis=1)
        yield right.astype(float), np.repeat(np.arange(videos), sizes).astype(str).tolist()


@pytest.mark.long
@pytest.mark.parametrize(("mean", "alike"), [(0.6, 0.1), (0.8, 0.1), (0.5, 0.2), (0.7, 0.05)])
@pytest.mark.parametrize("videos", [3, 5, 10, 30])
def test_intervals_reach_their_stated_coverage(videos: int, mean: float, alike: float) -> None:
    """Prints the coverage that docs/measured.csv has (`-s`)."""
    count = 2000
    covered = 0
    even = 0
    for (right, other), names in benchmarks(count, videos, mean, alike):
        found = interval(right, names)
        covered += found.low <= mean <= found.high
        difference = paired(other - right, names).interval
        even += difference.low <= 0 <= difference.high
    print(f"\n{videos} videos, {mean}, {alike}: {covered / count:.1%} contain the truth, {even / count:.1%} no gain")
    shares = covered / count, even / count
    assert all(0.925 <= share <= 0.975 for share in shares), "93 to 97 %, and half a point for the simulation"


@given(st.integers(0, 10**6), st.integers(2, 30))
def test_an_interval_contains_its_mean_in_any_order(seed: int, videos: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random(videos * 3)
    names = [str(n // 3) for n in range(videos * 3)]
    found = interval(values, names)
    assert found.mean == pytest.approx(values.mean())
    assert found.low <= found.mean + 1e-9 and found.mean <= found.high + 1e-9
    assert interval(values[::-1], names[::-1]) == pytest.approx(found)


def test_one_video_has_no_interval_and_constant_values_the_exact_binomial_one() -> None:
    assert str(interval([1.0, 0.0], ["a", "a"])) == "Interval(mean=0.5, low=nan, high=nan)"
    mean = interval([1.0] * 6, ["a", "a", "b", "b", "c", "c"])
    assert mean == (1.0, pytest.approx(0.025 ** (1 / 3)), 1.0)  # Clopper and Pearson, three trials
    assert interval([0.0] * 3, ["a", "b", "c"]) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 3)))


@pytest.mark.parametrize(("clusters", "t"), [(2, 12.7062), (3, 4.3027), (4, 3.1824), (6, 2.5706), (10, 2.2622)])
def test_bounds_use_the_tabulated_quantiles_of_students_t(clusters: int, t: float) -> None:
    """With clusters of one size, the error is that of their means: s / √n."""
    means = np.linspace(3.0, 5.0, clusters)
    found = interval(np.repeat(means, 4), [str(n // 4) for n in range(4 * clusters)], are_shares=False)
    reach = t * means.std(ddof=1) / math.sqrt(clusters)
    assert found == pytest.approx((4.0, 4.0 - reach, 4.0 + reach), rel=1e-4)


def test_bounds_of_shares_are_those_of_their_log_odds() -> None:
    means = np.array([0.5, 0.75, 1.0])
    _, *bounds = interval(np.repeat(means, 4), [str(n // 4) for n in range(12)])
    spread = 4.3027 * means.std(ddof=1) / math.sqrt(3) / (0.75 * 0.25)
    log_odds = [math.log(bound / (1 - bound)) for bound in bounds]
    assert log_odds == pytest.approx([math.log(3) - spread, math.log(3) + spread], rel=1e-3)


@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([1, 5]))
def test_the_interval_of_a_difference_and_its_p_agree(seed: int, videos: int, scale: int) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.integers(-1, 2, videos * 3) / scale + rng.normal(0, 0.3)
    found, p = paired(gains, [str(n // 3) for n in range(videos * 3)], are_shares=False)
    if math.isnan(p):
        assert math.isnan(found.low), "all differences are the same, and tell nothing"
    else:
        assert (p < 0.05) == (not found.low <= 0 <= found.high)


@pytest.mark.parametrize("videos", [3, 5, 6, 12])
def test_a_difference_that_every_video_has_is_a_sign_test(videos: int) -> None:
    names = [str(n // 2) for n in range(2 * videos)]
    found, p = paired([1.0] * len(names), names)
    assert p == pytest.approx(2 * 0.5**videos) and (p < 0.05) == (found.low > 0)
    assert paired([0.0] * len(names), names).p == 1.0
    assert math.isnan(paired([1.0, 1.0], ["a", "a"]).p), "one video tells nothing of others"


def rows(right: list[bool], **columns: object) -> pd.DataFrame:
    ids = [str(n) for n in range(len(right))]
    scores = [float(each) for each in right]
    table = {"id": ids, "video": [str(n // 2) for n in range(len(right))], "right": right, "score": scores}
    return pd.DataFrame({**table, "kind": "choice", **columns})


def test_comparisons_are_paired() -> None:
    first, second = rows([True, False, False, True, False, False]), rows([True, True, True, False, True, False])
    comparison = compare(first, second.sample(frac=1, random_state=1))
    assert (comparison.only_first, comparison.only_second) == (1, 3)
    assert comparison.difference == pytest.approx(2 / 6) and 0 < comparison.p < 1
    assert compare(first, first).difference == 0 and compare(first, first).p == 1
    with pytest.raises(InputError, match="6 and 5 questions and share 5"):
        compare(first, second.iloc[:5])
    with pytest.raises(InputError, match="'0' twice"):
        compare(pd.concat([first, first.iloc[:1]]), second)


def test_a_breakdown_joins_tables_side_by_side() -> None:
    """As in the paper's Appendix B, where only one benchmark may have a type of question."""
    short = rows([True, False, True, True], category=["S2E", "S2E", "TAA", "SSS"])
    long = rows([False, False], category=["S2E", "TAA"])
    joined = breakdown({"1 h": short, "10 h": long}, "category")
    assert joined["category"].tolist() == ["SSS", "TAA", "S2E"], "best first"
    assert joined["1 h n"].tolist() == [1, 1, 2] and joined["1 h mean"].tolist() == [1.0, 1.0, 0.5]
    assert joined["10 h n"].isna().tolist() == [True, False, False] and joined["10 h mean"].tolist()[1:] == [0.0, 0.0]
    unsorted = breakdown({"1 h": short, "10 h": long.assign(category=math.nan)}, "category")
    assert unsorted["1 h n"].tolist() == [1, 1, 2] and unsorted["10 h n"].isna().all()


def test_costs_are_means_and_quantiles() -> None:
    counts = {name: [1.0, 2.0, 3.0, 10.0] for name in COMPUTE}
    table = rows([True] * 4, seconds=1.0, hours=[1, 1, 10, 10], **counts)
    costs = compute(table, "hours").set_index("hours")
    assert costs["questions"].tolist() == [2, 2] and costs["worker_tokens"].tolist() == [1.5, 6.5]
    assert costs["tokens 50 %"].tolist() == [1.5, 6.5] and costs["tokens 90 %"].tolist() == pytest.approx([1.9, 9.3])
    failed = table[:2].assign(rounds=[4.0, math.nan])
    assert compute(failed).iloc[0][["questions", "rounds"]].tolist() == [2, 4]


def tokens_by_duration(true_exponent: float, videos: int, spread: float, seed: int) -> pd.DataFrame:
    """Tokens of five questions a video at four durations; some videos cost more than others."""
    rng = np.random.default_rng(seed)
    durations = np.repeat([60.0, 600.0, 3600.0, 36_000.0], 5 * videos)
    names = np.tile(np.repeat(np.arange(videos), 5), 4)
    price = np.exp(rng.normal(0, spread, (videos, 4)))[names, np.repeat(range(4), 5 * videos)]
    tokens = 1000 * durations**true_exponent * price * np.exp(rng.normal(0, 0.3, len(names)))
    return pd.DataFrame({"duration_s": durations, "video": names.astype(str), "tokens": tokens})


def test_exponents_reach_their_stated_coverage() -> None:
    truth = 0.2
    exact = tokens_by_duration(truth, 6, 0.0, 0).assign(tokens=lambda table: 3 * table["duration_s"] ** truth)
    assert exponent(exact).mean == pytest.approx(truth, abs=1e-9)
    failed = pd.concat([exact, exact[:1].assign(tokens=math.nan)])
    assert exponent(failed) == exponent(exact), "a question without a value does not count"
    fits = [exponent(tokens_by_duration(truth, 20, 0.4, seed)) for seed in range(150)]
    covered = sum(fit.low <= truth <= fit.high for fit in fits)
    assert 0.91 <= covered / 150 <= 0.99


def test_a_missing_value_is_left_out_and_no_rows_are_an_error() -> None:
    """A question whose true answer is unknown has no score, and is neither right nor wrong."""
    table = rows([True, False, False, True])
    unknown = table.assign(score=[1.0, 0.0, math.nan, 1.0])
    for column in ("score", "right"):
        (found,) = accuracy(unknown, column=column).to_dict("records")
        assert (found["questions"], found["videos"]) == (3, 2) and found["mean"] == pytest.approx(2 / 3)
    none = accuracy(table.assign(score=math.nan)).iloc[0]
    assert none["questions"] == 0 and math.isnan(none["mean"])
    for column in ("score", "right"):
        gain = compare(unknown, rows([True] * 4), column=column)
        assert (gain.difference, gain.only_second) == (pytest.approx(1 / 3), 1)
    with pytest.raises(InputError, match="1 of 2 values are missing"):
        interval([1.0, math.nan], ["a", "b"])
    for by in (None, "kind"):
        with pytest.raises(InputError, match="no rows"):
            accuracy(table[:0], by)


def test_what_is_undefined_without_a_video_has_no_interval() -> None:
    lone = interval_of_ratio([2.0, 0.0, 0.0], [4.0, 0.0, 0.0], ["a", "b", "c"])
    assert lone.mean == 0.5 and math.isnan(lone.low) and math.isnan(lone.high)
    names = [str(n) for n in range(40)]
    for hits, low, high in ((2.0, 0.025**0.5, 1.0), (0.0, 0.0, 1 - 0.025**0.5)):
        sure = interval_of_ratio([hits] * 2 + [0.0] * 38, [2.0] * 2 + [0.0] * 38, names)
        assert sure[1:] == pytest.approx((low, high)), "a video without a weight is no trial"
    constant = paired([100_000.1] * 6, [*"abcdef"], are_shares=False)
    assert math.isnan(constant.p), "an error of rounding is none"
