"""The figure of score against cost: points at their places, the front, labels that are apart."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.path import Path
from matplotlib.text import Text
from support.figures import assert_apart, assert_legible, shown_texts
from support.paths import ROOT

import atlaskit as ak
from atlaskit.agents.baselines import METHODS
from atlaskit.benchmarks.published import RESULTS, VIDEOATLAS, Published
from atlaskit.errors import InputError
from atlaskit.viz import plots
from atlaskit.viz.plots.fronts import front
from atlaskit.viz.plots.series import method_look

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


@pytest.mark.parametrize(
    ("count", "constant", "cost"),
    [(1, {}, "tokens"), (2, {}, "usd"), (9, {}, "tokens"), (13, {}, "tokens"), (3, {"tokens": 0.0}, "tokens")],
)
def test_each_method_is_at_its_place_and_named(count: int, constant: dict[str, Any], cost: str) -> None:
    table = compared(count, **constant)
    ax = plots.pareto(table, cost)
    marks = [line for line in ax.lines if line.get_marker() not in ("None", "", None)]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in marks] == list(
        zip(table[cost], table["score"], strict=True)
    )
    names = [text.get_text() for text in shown_texts(ax.figure)]
    assert set(table["method"]) <= set(names)
    assert ax.get_xscale() == ("linear" if constant else "log")
    assert "n = 60 questions a method" in note_of(ax) and "dashed: Pareto front" in note_of(ax)
    assert_legible(ax.figure)
    if not constant:
        assert_apart(ax.figure)


def crowded(seed: int) -> pd.DataFrame:
    """Return a table of fourteen methods of about the same score and cost, but for one."""
    random = np.random.default_rng(seed)
    tokens = np.exp(10 + random.normal(0, 0.4, 14)) * np.array([30, *[1] * 13])
    return compared(14, seed).assign(tokens=tokens, score=random.uniform(0.6, 0.9, 14), low=0.55, high=0.95)


def shipped() -> pd.DataFrame:
    return pd.read_csv(ROOT / "docs" / "results" / "09_benchmarks_methods.csv")


@pytest.mark.parametrize("table", [shipped(), *map(crowded, range(6))], ids=["shipped", *map(str, range(6))])
def test_where_points_crowd_no_leader_meets_a_label_or_a_leader(table: pd.DataFrame) -> None:
    ax = plots.pareto(table)
    assert_legible(ax.figure)
    assert_apart(ax.figure)
    labels = {text: Text.get_window_extent(text) for text in ax.texts}
    leaders = {}
    for text, box in labels.items():
        if text.arrow_patch.get_visible():
            (x, y), to = ax.transData.transform(text.xy), ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
            share = 5 / math.dist((x, y), to)  # pixels inside the mark: two points may be in one place
            leaders[text] = Path([(x + share * (to[0] - x), y + share * (to[1] - y)), to])
            assert abs(to[0] - x) > 5, "a vertical line would lengthen the point's interval"
    assert len(labels) == 14 and leaders
    for text, leader in leaders.items():
        met = [
            other.get_text() for other, box in labels.items() if other != text and leader.intersects_bbox(box, False)
        ]
        met += [
            other.get_text() for other in leaders if other != text and leader.intersects_path(leaders[other], False)
        ]
        assert met == [], text


def test_published_numbers_are_lines_with_numbered_sources() -> None:
    references = ak.benchmarks.published("lvbench")
    ax = plots.pareto(compared(5), references=references)
    dotted = [line.get_ydata()[0] for line in ax.lines if line.get_linestyle() == ":"]
    assert dotted == [each.score for each in references]
    texts = " ".join(text.get_text().replace("\n", " ") for text in shown_texts(ax.figure))
    assert all(each.source in texts and each.system in texts for each in references)
    assert "published numbers of other models and settings: [1] " in note_of(ax)
    assert_legible(ax.figure)


def test_a_single_video_and_few_questions_are_told() -> None:
    ax = plots.pareto(compared(2, low=math.nan, high=math.nan, questions=4))
    assert "shows that it runs, nothing else" in note_of(ax) and "no intervals" in note_of(ax)


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


def test_no_two_methods_look_the_same() -> None:
    looks = [(look.colour, look.marker) for look in (method_look(name, ALL, 0) for name in ALL)]
    assert all(one != other for one, other in combinations(looks, 2))


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
