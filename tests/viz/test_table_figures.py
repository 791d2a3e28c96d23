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
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from support.figures import assert_apart, assert_legible, evaluation, shown_texts

from atlaskit.errors import InputError
from atlaskit.evaluation import statistics
from atlaskit.viz import plots
from atlaskit.viz.plots import series, style

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


@pytest.mark.long
@pytest.mark.parametrize("width_in", [3.5, 5.0])
def test_a_figure_fits_a_column(width_in: float) -> None:
    drawn = (
        partial(plots.against_duration, evaluation(methods=METHODS)),
        partial(plots.against_spread, evaluation()),
        partial(plots.tokens_by_role, evaluation()),
        partial(plots.failure_modes, MODES, 60, ["nano", "weak"]),
        partial(plots.resolutions, [10, 60, 600, 3600, 36_000]),
        partial(plots.worker_scaling, timings()),
    )
    for draw in drawn:
        with style.figure_style():
            figure, ax = plt.subplots(figsize=(width_in, 3.6))
        assert draw(ax=ax) is ax
        assert_legible(figure)
        assert_apart(figure)


def test_the_note_says_who_was_asked_and_what_was_resampled() -> None:
    asked = evaluation(models=("nano",))
    note = note_of(plots.against_duration(asked))
    assert note == "nano · n = 60 questions a point · 95 % intervals (bootstrap over worlds)"
    means = statistics.accuracy(asked, "duration_s")
    assert "over videos" in series.interval_note(asked.drop(columns="seed"), means)
    same = statistics.accuracy(asked.assign(score=1.0), "duration_s")
    assert "exact binomial where all scores are the same" in series.interval_note(asked, same)
    assert style.sample([2]) == "n = 2: shows that it runs, nothing else"
    assert style.sample([9, 10], "a bar") == "n = 9 to 10 questions a bar"


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


@pytest.mark.long
def test_colour_tells_the_method_and_stroke_and_marker_the_model() -> None:
    lines = lines_with_markers(plots.against_duration(evaluation(methods=METHODS, models=TWO)))
    looks = [(line.get_color(), line.get_marker(), line.get_linestyle(), line.get_markerfacecolor()) for line in lines]
    assert len(set(looks)) == 8 and len({look[0] for look in looks}) == len({look[1] for look in looks}) == 4
    assert {look[2] for look in looks[:4]} == {"-"} != {look[2] for look in looks[4:]}
    assert {look[3] for look in looks[4:]} == {"none"}
    alone = lines_with_markers(plots.against_duration(evaluation(models=TWO)))
    assert len({line.get_color() for line in alone}) == 2
    methods_alone = lines_with_markers(plots.against_duration(evaluation(methods=METHODS)))
    assert [line.get_color() for line in methods_alone] == [line.get_color() for line in lines[:4]]


@pytest.mark.long
def test_tokens_are_labelled_with_their_exponent_of_growth() -> None:
    rows = evaluation(methods=("captions", "uniform"))
    rows["tokens"] = rows["duration_s"].where(rows["method"] == "captions", 5000.0) * (1 + rows["seed"] / 10)
    ax = plots.against_duration(rows, "tokens")
    assert ax.get_yscale() == "log" and "tokens" in ax.get_ylabel() and "tokens ~ duration^b" in note_of(ax)
    b = statistics.exponent(rows[rows["method"] == "captions"], cluster="seed")
    assert legend_of(ax) == [
        f"captions\nb = {b.mean:.2f} ({b.low:.2f} to {b.high:.2f})",
        "uniform\nb = 0.00 (0.00 to 0.00)",
    ]
    one_world = plots.against_duration(rows[rows["seed"] == 0], "tokens")
    assert legend_of(one_world) == ["captions\nb = 1.00", "uniform\nb = 0.00"]
    assert plots.against_duration(rows.assign(tokens=0.0), "tokens").get_yscale() == "linear"


def test_a_logarithmic_axis_always_has_labels() -> None:
    """A narrow range of tokens has no power of ten in it."""
    rows = evaluation(methods=METHODS[:2], tokens=120_000.0)
    ax = plots.against_duration(rows, "tokens")
    shown = [text.get_text() for text in shown_texts(ax.figure) if text in ax.get_yticklabels()]
    assert len(shown) >= 3 and "100 K" in shown


def test_against_duration_needs_durations_and_its_column() -> None:
    rows = evaluation()
    with pytest.raises(InputError, match="no duration_s"):
        plots.against_duration(rows.assign(duration_s=0.0))
    with pytest.raises(InputError, match="lacks the column 'score'"):
        plots.against_duration(rows.drop(columns="score"))


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


@pytest.mark.long
def test_depth_budget_has_a_line_per_model_in_both_panels(tmp_path: Path) -> None:
    ax = plots.depth_budget(depths(models=TWO), 36_000)
    assert legend_of(ax) == list(TWO)
    for panel in ax.figure.axes:
        assert len(lines_with_markers(panel)) == 2
    assert all(file.stat().st_size for file in plots.save(ax, tmp_path, "depths"))
    with style.figure_style():
        _, pair = plt.subplots(2, 1)
    assert plots.depth_budget(depths(), 36_000, axes=tuple(pair)) is pair[0]


def test_against_spread_has_a_point_per_question() -> None:
    rows = pd.DataFrame({"positions": [0, 1, 1, 2, 3, 5], "video": list("abcdef"), "tokens": [9.0, 10, 20, 30, 40, 60]})
    ax = plots.against_spread(rows)
    assert [bar.get_height() for bar in ax.patches] == [15, 30, 50]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1\nn = 2", "2\nn = 1", "3 or more\nn = 2"]
    points = [[y for _, y in each.get_offsets().tolist()] for each in ax.collections]
    assert points == [[10, 20], [30], [40, 60]]
    with pytest.raises(InputError, match="positions"):
        plots.against_spread(rows.assign(positions=0))


def test_groups_have_a_bar_per_model_with_its_n() -> None:
    rows = evaluation(models=TWO)
    spread = plots.against_spread(rows)
    assert legend_of(spread) == list(TWO) and all("n = " in text.get_text() for text in spread.get_xticklabels())
    roles = [text.get_text().split("\n") for text in plots.tokens_by_role(rows).get_xticklabels()]
    assert [(text[0], text[1]) for text in roles] == [
        (duration, model) for duration in ("10 min", "1 h", "10 h") for model in ("nano", "oracle")
    ]
    assert all("n = 60" in text for text in roles)


def test_tokens_by_role_stacks_the_roles() -> None:
    rows = pd.concat([evaluation(worlds=1, questions=1, durations_s=(600.0,)), evaluation(worlds=2, questions=1)])
    rows = rows[rows["duration_s"] != 3600].assign(master_tokens=[20.0, 20, 60, 40, 60], rounds=[1.0, 1, 3, 3, 5])
    rows = rows.assign(worker_tokens=2 * rows["master_tokens"], tokens=3 * rows["master_tokens"])
    ax = plots.tokens_by_role(rows)
    means = rows.groupby("duration_s")["master_tokens"].mean().tolist()
    bars = [patch.get_height() for patch in ax.patches if patch.get_width()]
    assert bars == pytest.approx([*(3 * mean for mean in means), *means]), "the Master's part is drawn over the sum"
    below = [label.get_text().split("\n")[:3] for label in ax.get_xticklabels()]
    assert below == [["10 min", "n = 3", "1.7 rounds"], ["10 h", "n = 2", "4.0 rounds"]]
    assert ax.get_ylabel() == "tokens per question" and legend_of(ax) == ["Workers", "Master"]


def test_a_bar_stands_above_its_own_name_where_another_has_no_roles() -> None:
    rows = evaluation(models=TWO)
    nothing = (rows["model"] == "nano") & (rows["duration_s"] == 600)  # as where every question failed
    rows[["master_tokens", "worker_tokens"]] = rows[["master_tokens", "worker_tokens"]].mask(nothing)
    ax = plots.tokens_by_role(rows)
    names = [label.get_text().split("\n")[:2] for label in ax.get_xticklabels()]
    means = rows.groupby(["duration_s", "model"])["master_tokens"].mean().dropna().tolist()
    bars = [patch for patch in ax.patches if patch.get_width()][-len(means) :]
    assert names[:2] == [["10 min", "nano"], ["10 min", "oracle"]]
    assert [round(patch.get_x() + patch.get_width() / 2) for patch in bars] == [1, 2, 3, 4, 5]
    assert [patch.get_height() for patch in bars] == pytest.approx(means)


def test_ticks_of_small_values_differ() -> None:
    """A formatter of thousands would label them 0, 0, 1, 2, 2."""
    ax = plots.tokens_by_role(evaluation(tokens=3.0, master_tokens=1.0, worker_tokens=2.0))
    shown = [text.get_text() for text in shown_texts(ax.figure) if text in ax.get_yticklabels()]
    assert len(shown) == len(set(shown)) > 2
    values = (0, 0.5, 4, 950, 999.9, 1500, 148_000, 999_960, 2_170_000)
    assert [series.short_count(value) for value in values] == [
        *("0", "0.5", "4", "950", "1 K", "1.5 K", "148 K", "1 M", "2.17 M")
    ]


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


@pytest.mark.parametrize("names", [["nano"], ["nano", "oracle (strong)", "oracle (perfect)"]])
def test_without_failures_the_figure_says_so(names: list[str]) -> None:
    ax = plots.failure_modes(MODES[:0], 60, names)
    (said,) = (text.get_text().replace("\n", " ") for text in ax.texts)
    assert said.startswith("No wrong answer") and "all 60 questions" in said and all(name in said for name in names)
    assert ax.get_legend() is None


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


@pytest.mark.long
def test_worker_scaling_has_a_named_line_per_model(tmp_path: Path) -> None:
    rows = timings(models=("nano on 2 cores", "oracle, 0.12 s a reply"))
    ax = plots.worker_scaling(rows)
    lines = lines_with_markers(ax)
    assert len({to_hex(line.get_color()) for line in lines}) == len(lines) == 2
    assert all(line.get_xdata().tolist() == pytest.approx([1, 3, 7]) for line in lines), "no point is moved"
    assert [text.split("\n")[0] for text in legend_of(ax)] == ["nano on 2 cores", "oracle, 0.12 s a reply"]
    assert all(file.stat().st_size for file in plots.save(ax, tmp_path, "workers"))
    one = plots.worker_scaling(rows[rows["workers"] == 1].drop(columns="model"))
    assert [tick.get_text() for tick in one.get_xticklabels()] == ["1"]
    same = plots.worker_scaling(rows.assign(score=0.5).drop(columns="model"))
    assert legend_of(same) == ["mean\nscore: 50 %"]
    with pytest.raises(InputError, match="lacks the column 'worker_seconds'"):
        plots.worker_scaling(rows.drop(columns="worker_seconds"))
