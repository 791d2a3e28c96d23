"""Figures of tables: the right means and intervals, every series named, n and intervals stated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from support.figures import assert_apart, assert_legible, evaluation

from atlaskit.errors import InputError
from atlaskit.evaluation import statistics
from atlaskit.viz import plots

matplotlib.use("Agg")

TWO = ("nano", "oracle (perfect)")
METHODS = ("video-rlm", "uniform", "composite", "captions")
MODES = pd.DataFrame(
    {"who": ["nano"] * 5 + ["weak"], "mode": [*["perception"] * 3, "navigation", "judgement", "perception"]}
)


@pytest.fixture(autouse=True)
def closed() -> None:
    plt.close("all")


def depths(**table: object) -> pd.DataFrame:
    """Return a table of evaluations at four maximum depths."""
    each = {depth: evaluation(durations_s=(36_000.0,), **table) for depth in range(4)}  # type: ignore[arg-type]
    return pd.concat(each, names=["max_depth"]).reset_index("max_depth").reset_index(drop=True)


def timings(worlds: int = 4, questions: int = 3, models: tuple[str, ...] = ()) -> pd.DataFrame:
    """Return a table like that of `scaling.by_workers`."""
    rows = []
    for index, model in enumerate(models or ("",)):
        for world in range(worlds):
            for number, workers in ((n, w) for n in range(questions) for w in (1, 3, 7)):
                seconds = (1 + world + number) * 8.0 / (1 + index) / workers**0.5
                row = {"video": f"{world}", "workers": workers, "seconds": seconds / 2, "normalised_seconds": seconds}
                row |= {"serial_seconds": 1.0, "worker_seconds": 9.0, "worker_calls": 3, "calls": 9, "rounds": 2}
                rows.append(row | {"score": float((world + number) % 2)} | ({"model": model} if model else {}))
    return pd.DataFrame(rows)


def lines_with_markers(ax: Axes) -> list[Line2D]:
    """Return the lines through means, without those that only the legend has."""
    return [line for line in ax.lines if line.get_marker() not in ("None", "", None) and len(line.get_xdata())]


def intervals_of(ax: Axes) -> list[tuple[float, float]]:
    """Return the ends of the intervals that seaborn drew, in the order of series and points."""
    return [
        tuple(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0
    ]


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def note_of(ax: Axes) -> str:
    return ax.get_title(loc="left").replace("\n", " ")


FIGURES: dict[str, Callable[[], Axes]] = {
    "score of methods": lambda: plots.against_duration(evaluation(methods=METHODS)),
    "score of methods and models": lambda: plots.against_duration(evaluation(methods=METHODS, models=TWO)),
    "score, all 0": lambda: plots.against_duration(evaluation(methods=METHODS, models=TWO, score=0.0)),
    "score, all 1": lambda: plots.against_duration(evaluation(methods=METHODS, score=1.0)),
    "score at one duration": lambda: plots.against_duration(evaluation(durations_s=(600.0,), models=TWO)),
    "score of two questions": lambda: plots.against_duration(evaluation(worlds=1, questions=2, models=("nano",))),
    "tokens of methods and models": lambda: plots.against_duration(
        evaluation(durations_s=(600, 3600, 10_800, 36_000), methods=METHODS[:3], models=TWO), "tokens"
    ),
    "tokens, all 0": lambda: plots.against_duration(evaluation(methods=METHODS, tokens=0.0), "tokens"),
    "depths": lambda: plots.depth_budget(depths(), 36_000),
    "depths of models": lambda: plots.depth_budget(depths(models=TWO), 36_000),
    "depths of two questions": lambda: plots.depth_budget(depths(worlds=1, questions=2), 36_000),
    "depths, all 1": lambda: plots.depth_budget(depths(models=TWO, score=1.0), 36_000),
    "spread": lambda: plots.against_spread(evaluation()),
    "spread of models": lambda: plots.against_spread(evaluation(models=TWO)),
    "spread of scores": lambda: plots.against_spread(evaluation(models=TWO), "score"),
    "spread of three questions": lambda: plots.against_spread(evaluation(worlds=1, questions=3)),
    "roles": lambda: plots.tokens_by_role(evaluation()),
    "roles of models": lambda: plots.tokens_by_role(evaluation(models=TWO)),
    "roles of few tokens": lambda: plots.tokens_by_role(evaluation(tokens=3.0, master_tokens=1.0, worker_tokens=2.0)),
    "roles, all 0": lambda: plots.tokens_by_role(evaluation(tokens=0.0, master_tokens=0.0, worker_tokens=0.0)),
    "failures": lambda: plots.failure_modes(MODES, 60, ["nano", "weak", "oracle (perfect)"]),
    "failures of one": lambda: plots.failure_modes(MODES[:2], 2),
    "no failures": lambda: plots.failure_modes(MODES[:0], 60, ["nano", "oracle (perfect)"]),
    "workers": lambda: plots.worker_scaling(timings()),
    "workers of models": lambda: plots.worker_scaling(timings(models=("nano on 2 cores", "oracle, 0.12 s a reply"))),
    "workers of one question": lambda: plots.worker_scaling(timings(1, 1)),
}
WITHOUT_INTERVALS = {name for name in FIGURES if "failures" in name}


@pytest.mark.family
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_legible_and_states_n_and_what_its_intervals_are(name: str) -> None:
    ax = FIGURES[name]()
    assert_legible(ax.figure)
    assert_apart(ax.figure)
    note = note_of(ax)
    few = any(word in name for word in ("two questions", "three questions", "one question", "failures of one"))
    assert ("shows that it runs, nothing else" in note) == few
    assert "n = " in note
    assert ("95 % intervals" in note or "so no intervals" in note) == (name not in WITHOUT_INTERVALS)


def test_names_are_text_and_no_formulas(tmp_path: Path) -> None:
    name = "<b>$x^{$</b>"
    rows = evaluation(worlds=2, questions=5, models=("nano", name))
    failures = MODES.assign(who=name)
    drawn = (
        plots.against_duration(rows),
        plots.depth_budget(rows.assign(max_depth=rows["duration_s"].rank(method="dense").astype(int)), 600),
        plots.against_spread(rows),
        plots.tokens_by_role(rows),
        plots.failure_modes(failures, 20),
        plots.failure_modes(failures[:0], 20, [name]),
        plots.worker_scaling(timings(2, 1, (name,))),
    )
    for ax in drawn:
        _, svg = plots.save(ax, tmp_path, "named")
        assert "<b>" not in svg.read_text(encoding="utf-8")


def test_against_duration_has_the_mean_and_the_interval_of_every_series_beside_its_duration() -> None:
    rows = evaluation(methods=METHODS, models=TWO)
    ax = plots.against_duration(rows)
    lines, intervals = lines_with_markers(ax), np.reshape(intervals_of(ax), (-1, 3, 2))
    assert legend_of(ax) == [f"{method}, {model}" for model in TWO for method in METHODS]
    for name, line, drawn in zip(legend_of(ax), lines, intervals, strict=True):
        method, model = name.split(", ")
        means = statistics.accuracy(rows[(rows["method"] == method) & (rows["model"] == model)], "duration_s")
        assert line.get_ydata().tolist() == pytest.approx(means["mean"].tolist())
        assert np.allclose(drawn, means[["low", "high"]]), "the intervals of `accuracy`, not those of seaborn"
        assert all(
            0.7 < x / duration_s < 1.4 for x, duration_s in zip(line.get_xdata(), (600, 3600, 36_000), strict=True)
        )
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["10 min", "1 h", "10 h"]
    assert "side by side" in note_of(ax)
    (alone,) = lines_with_markers(plots.against_duration(evaluation()))
    assert alone.get_xdata().tolist() == pytest.approx([600, 3600, 36_000])


def test_bars_and_lines_have_the_intervals_of_accuracy() -> None:
    rows = evaluation(models=TWO)
    known = rows[rows["positions"] > 0]
    means = statistics.accuracy(
        known.assign(places=known["positions"].clip(upper=3)), ["model", "places"], column="tokens"
    )
    ax = plots.against_spread(rows)
    assert np.allclose(intervals_of(ax), means[["low", "high"]])
    assert [bar.get_height() for bar in ax.patches if bar.get_width()] == pytest.approx(means["mean"].tolist())
    times = timings()
    means = statistics.accuracy(times, "workers", column="normalised_seconds")
    (bars,) = plots.worker_scaling(times).collections
    assert np.allclose([segment[:, 1] for segment in bars.get_segments()], means[["low", "high"]])


def test_means_of_tokens_are_arithmetic_although_their_axis_is_logarithmic() -> None:
    rows = evaluation()
    ax = plots.against_duration(rows, "tokens")
    (line,) = lines_with_markers(ax)
    assert ax.get_yscale() == "log"
    assert line.get_ydata().tolist() == pytest.approx(rows.groupby("duration_s")["tokens"].mean().tolist())


@pytest.mark.parametrize(
    "draw", [plots.against_duration, plots.tokens_by_role, partial(plots.depth_budget, duration_s=9)]
)
def test_a_table_without_rows_is_told(draw: Callable[[pd.DataFrame], Axes]) -> None:
    with pytest.raises(InputError, match="no rows, so there is nothing to draw"):
        draw(depths()[:0])


@pytest.mark.long
def test_depth_budget_has_score_above_and_tokens_below() -> None:
    rows = pd.DataFrame({"max_depth": [0, 1, 2] * 4, "video": list("aaabbbcccddd"), "tokens": 5000.0})
    ax = plots.depth_budget(rows.assign(score=rows["max_depth"] / 2), 36_000)
    scores, tokens = ax.figure.axes
    assert ax is scores and scores.get_ylabel() == "mean score" and tokens.get_ylabel() == "tokens per question"
    assert [tick.get_text() for tick in tokens.get_xticklabels()] == ["0\n9.38 min", "1\n8.79 s", "2\n0.137 s"]
    for panel, values in ((scores, [0, 0.5, 1]), (tokens, [5000] * 3)):
        (line,) = lines_with_markers(panel)
        assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([0, 1, 2], values)
        (mark,) = (line for line in panel.lines if line.get_linestyle() == ":")
        assert mark.get_xdata()[0] == 1.5, "depth 2 is the first below one second"
    assert scores.get_xlim() == tokens.get_xlim()
    never = plots.depth_budget(rows.assign(score=0), 1e6)
    assert not [line for line in never.lines if line.get_linestyle() == ":"]


def test_groups_have_a_bar_per_model_with_its_n() -> None:
    rows = evaluation(models=TWO)
    spread = plots.against_spread(rows)
    assert legend_of(spread) == list(TWO) and all("n = " in text.get_text() for text in spread.get_xticklabels())
    roles = [text.get_text().split("\n") for text in plots.tokens_by_role(rows).get_xticklabels()]
    assert [(text[0], text[1]) for text in roles] == [
        (duration, model) for duration in ("10 min", "1 h", "10 h") for model in ("nano", "oracle")
    ]
    assert all("n = 60" in text for text in roles)


def test_failure_modes_are_shares_of_all_questions() -> None:
    failures = pd.DataFrame(
        {"who": ["weak"] * 3 + ["strong"], "mode": ["perception", "perception", "navigation", "perception"]}
    )
    ax = plots.failure_modes(failures, 10, ["weak", "strong", "perfect"])
    shares = ["30 % (3 of 10)", "10 % (1 of 10)", "0 % (0 of 10)"]
    names = [f"{name}\n{share}" for name, share in zip(("weak", "strong", "perfect"), shares, strict=True)]
    assert [label.get_text() for label in ax.get_yticklabels()] == names
    drawn = {(round(patch.get_x()), round(patch.get_width())) for patch in ax.patches if patch.get_width()}
    assert drawn == {(0, 20), (20, 10), (0, 10)}
    assert legend_of(ax) == ["perception", "navigation"]
    all_wrong = plots.failure_modes(failures[:3], 3, ["weak"])
    assert max(all_wrong.get_xticks()) <= 100, "no share exceeds 100 %"
    for questions, names in ((2, None), (0, ["perfect"]), (10, [])):
        with pytest.raises(InputError, match="shares of all questions"):
            plots.failure_modes(failures if questions == 2 else failures[:0], questions, names)


def test_worker_scaling_shows_seconds_scores_and_amdahls_bound() -> None:
    rows = pd.DataFrame(
        [
            {
                "video": video,
                "workers": workers,
                "seconds": longer * seconds / 2,
                "normalised_seconds": longer * seconds,
            }
            | {"serial_seconds": longer, "worker_seconds": 9.0, "worker_calls": 3, "calls": 9, "rounds": 2}
            | {"score": float(video != "c" or workers == 1)}
            for video, longer in (("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 2.0))
            for workers, seconds in ((1, 8.0), (3, 4.0), (7, 3.2))
        ]
    )
    ax = plots.worker_scaling(rows)
    (line,) = lines_with_markers(ax)
    assert line.get_xdata().tolist() == pytest.approx([1, 3, 7]) and line.get_ydata().tolist() == pytest.approx(
        [16, 8, 6.4]
    )
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "3", "7"]
    assert ax.get_xlabel() == "workers" and ax.get_ylabel() == "seconds per question"
    assert legend_of(ax) == ["mean\nscore: 100 %, 75 %, 75 %"]
    assert all(words in note_of(ax) for words in ("dashed: Amdahl's bound", "dotted: each at its own workload"))
    bound, measured = (each for each in ax.lines if each.get_linestyle() == "--")
    share = 1 / 4  # serial share of the measured time, in the table above
    assert bound.get_xdata()[[0, -1]].tolist() == pytest.approx([1, 7])
    assert bound.get_ydata()[[0, -1]].tolist() == pytest.approx([16, 16 * (share + (1 - share) / 7)])
    assert measured.get_ydata().tolist() == pytest.approx([8, 4, 3.2])
