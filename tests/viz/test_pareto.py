"""The figure of score against cost: points at their places, the front, every method named."""

from __future__ import annotations

from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from support.figures import assert_apart, assert_legible

import atlaskit as ak
from atlaskit.benchmarks.published import RESULTS, VIDEOATLAS, Published
from atlaskit.errors import InputError
from atlaskit.evaluation.baselines import METHODS
from atlaskit.viz import plots
from atlaskit.viz.plots.fronts import front

matplotlib.use("Agg")
ALL = [*METHODS, "one more", "another", "a ninth", "a tenth", "an eleventh", "a twelfth"]


@pytest.fixture(autouse=True)
def closed() -> None:
    plt.close("all")


def compared(count: int, seed: int = 0, **constant: Any) -> pd.DataFrame:
    """Return a table like that of `statistics.comparison`."""
    random = np.random.default_rng(seed)
    score = random.uniform(0.2, 0.9, count)
    columns = {"method": ALL[:count], "questions": 60, "tokens": random.lognormal(10, 1.2, count), "score": score}
    columns |= {"low": score - 0.08, "high": np.minimum(1, score + 0.07), "usd": 0.01 * columns["tokens"]}
    return pd.DataFrame({**columns, **constant})


def note_of(ax: Axes) -> str:
    return ax.get_title(loc="left").replace("\n", " ")


@pytest.mark.family
@pytest.mark.parametrize(
    ("count", "constant", "cost"),
    [(1, {}, "tokens"), (2, {}, "usd"), (9, {}, "tokens"), (13, {}, "tokens"), (3, {"tokens": 0.0}, "tokens")],
)
def test_each_method_is_at_its_place_and_named(count: int, constant: dict[str, Any], cost: str) -> None:
    table = compared(count, **constant)
    ax = plots.pareto(table, cost)
    best_first = table.sort_values("score", ascending=False)
    bounds, marks = ax.collections
    assert np.allclose(marks.get_offsets(), best_first[[cost, "score"]])
    ends = [segment[:, 1].tolist() for segment in bounds.get_segments()]
    assert ends == best_first[["low", "high"]].to_numpy().tolist()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == best_first["method"].tolist()
    assert ax.get_xscale() == ("linear" if constant else "log")
    assert "n = 60 questions a method" in note_of(ax) and "dashed: Pareto front" in note_of(ax)
    assert_legible(ax.figure)
    if not constant:
        assert_apart(ax.figure)


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 1)), min_size=1, max_size=20))
def test_the_front_is_what_no_point_beats(points: list[tuple[float, float]]) -> None:
    found = front(*zip(*points, strict=True))
    assert set(found) <= set(points)
    for cost, score in points:
        is_beaten = any(c <= cost and s >= score and (c, s) != (cost, score) for c, s in points)
        assert ((cost, score) in found) == (not is_beaten)
    assert found == sorted(found) and [score for _, score in found] == sorted(score for _, score in found)


def test_a_table_that_is_not_one_row_a_method_is_told() -> None:
    for table, message in [
        (pd.concat([compared(2)] * 2), "one row a method"),
        (compared(2)[:0], "one row a method"),
        (compared(2).drop(columns="low"), "lacks the column 'low'"),
    ]:
        with pytest.raises(InputError, match=message):
            plots.pareto(table)
    with pytest.raises(InputError, match="lacks the column 'video_usd'"):
        plots.pareto(compared(2), "video_usd")


def test_published_results_have_a_source_and_a_share() -> None:
    assert all(0 < each.score < 1 and each.source and each.system for each in RESULTS)
    assert len({(each.system, each.split) for each in RESULTS}) == len(RESULTS)
    assert Published("DVD (o3)", "lvbench", 0.742, "Deep Video Discovery, arXiv 2505.18079") in RESULTS
    told_apart = [each.system for each in RESULTS if "not checked" in each.source]
    assert told_apart == ["MR.Video"], "the numbers that nothing confirms are marked"
    of_the_paper = {(each.system.split(" ")[0], each.score) for each in RESULTS if each.source == VIDEOATLAS}
    table = {"MR.Video": (61.6,), "VideoARM": (76.4, 81.2), "Video-RLM": (72.0, 76.2)}
    assert of_the_paper == {(name, round(each / 100, 3)) for name, row in table.items() for each in row}
    with pytest.raises(InputError, match="split must be lvbench, longvideobench-long, videomme-long"):
        ak.benchmarks.published("mlvu")  # type: ignore[arg-type]
