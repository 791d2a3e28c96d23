"""Figures of runs and of tables: right numbers, legible, every series named, any text as text."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from support.model_doubles import ATTACK, Spiteful
from support.stand_ins import FORTY_CALLS, ScriptedAttackVideo, run

from atlaskit.benchmarks.published import RESULTS
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.evaluation import statistics
from atlaskit.evaluation.baselines import METHODS
from atlaskit.runs.result import Result
from atlaskit.viz import plots
from atlaskit.viz.plots import runs
from atlaskit.viz.plots.costs import front
from atlaskit.viz.plots.style import beside_truth, set_title
from atlasworld import World

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed() -> None:
    plt.close("all")


LEAST_PT, SLACK_PX = 7.0, 2.0


def shown_texts(figure: Figure) -> list[Text]:
    """Return every text that a figure shows, without the labels of ticks outside an axis."""
    figure.draw_without_rendering()
    found = [text for ax in figure.axes for text in texts_of(ax)]
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def assert_legible(figure: Figure) -> None:
    """Check that no text is smaller than 7 points, and that none stands outside the figure."""
    for text in shown_texts(figure):
        box = box_of(text)
        assert text.get_fontsize() >= LEAST_PT, text
        assert box.x0 >= figure.bbox.x0 - SLACK_PX and box.x1 <= figure.bbox.x1 + SLACK_PX, text
        assert box.y0 >= figure.bbox.y0 - SLACK_PX and box.y1 <= figure.bbox.y1 + SLACK_PX, text


def assert_apart(figure: Figure) -> None:
    """Check that no two texts of a figure overlap."""
    for first, second in combinations(shown_texts(figure), 2):
        a, b = box_of(first), box_of(second)
        width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert width <= SLACK_PX or height <= SLACK_PX, (first, second)


def evaluation(
    *,
    worlds: int = 6,
    questions: int = 10,
    durations_s: Sequence[float] = (600.0, 3600.0, 36_000.0),
    methods: Sequence[str] = ("video-rlm",),
    models: Sequence[str] = (),
    **constant: Any,
) -> pd.DataFrame:
    """Return a table like that of `evaluate`, of random scores and costs."""
    given = {"model": models or ("",), "method": methods, "seed": range(worlds), "duration_s": durations_s}
    rows = crossed(**given, number=range(questions))
    random = np.random.default_rng(0)
    tokens = random.lognormal(10.5, 0.8, len(rows))
    rows["id"] = rows["seed"].astype(str) + "-" + rows["number"].astype(str)
    rows["video"] = rows["seed"].astype(str) + " " + rows["duration_s"].astype(str)
    rows["score"] = (random.random(len(rows)) < 0.7).astype(float)
    rows["positions"] = random.integers(0, 5, len(rows))
    rows = rows.assign(tokens=tokens, master_tokens=0.3 * tokens, worker_tokens=0.7 * tokens)
    rows = rows.assign(**dict.fromkeys(("effective_tokens", "calls", "checks", "rounds", "evidence", "seconds"), 4.0))
    return rows.drop(columns=[] if models else "model").assign(**constant)


def crossed(**columns: Sequence[Any]) -> pd.DataFrame:
    """Return a table with a row for each combination of values."""
    return pd.MultiIndex.from_product(columns.values(), names=columns).to_frame(index=False)


def texts_of(ax: Axes) -> Iterator[Text]:
    if ax.axison:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            yield from (tick.label1 for tick in ticks if tick.label1.get_visible() and low <= tick.get_loc() <= high)
            yield axis.label
    yield from ax.texts
    yield from (child for child in ax.get_children() if isinstance(child, Text) and child not in ax.texts)
    legend = ax.get_legend()
    yield from legend.get_texts() if legend is not None else ()


def box_of(text: Text) -> Bbox:
    """Return the box of a text in pixels; that of an annotation would include its arrow."""
    return Text.get_window_extent(text)


@pytest.mark.family
@pytest.mark.parametrize("name", ["path", "before_after"])
def test_figures_of_a_run_are_legible_on_a_page(name: str, answered: Result) -> None:
    """No text is smaller than 7 points, and none stands outside the figure."""
    figure = getattr(plots, name)(answered).figure
    assert figure.get_size_inches()[0] == runs.WIDTH_IN
    assert f"video-rlm · oracle: {answered.answer_in_words}, which is right" in note_of(figure.axes[0])
    assert_legible(figure)


def test_the_path_shows_visits_evidence_and_dead_zones(answered: Result, world: World) -> None:
    decoded = world.drawn.frames_decoded
    reports = answered.trace.of("report")
    ax = plots.path(answered)
    visits = [f"round {report.round}, worker {report.worker}" for report in reports]
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert rows == ["evidence", "seen", *dict.fromkeys(visits), "dead zones"]
    assert set(answered.evidence.labels) <= {word for text in ax.texts for word in text.get_text().split()}
    assert ax.get_xlim() == (0, 600) and "min:s" in ax.get_xlabel()
    bars = Counter(beside_truth(report.worker).lower() for report in reports)
    bars[beside_truth(0).lower()] += len(answered.coverage.seen.parts)
    bars[runs.TRUTH.lower()] += len(answered.question.evidence_s)
    bars[runs.DEAD] += len(answered.dead_zones.intervals)
    assert Counter(to_hex(patch.get_facecolor()) for patch in ax.patches) == bars
    assert world.drawn.frames_decoded == decoded


@pytest.mark.long
def test_hostile_text_stays_text_in_figures_of_a_run(cache: Cache, tmp_path: Path) -> None:
    hostile = run(ScriptedAttackVideo(), Spiteful(5), cache, Question(ATTACK, ("a circle", ATTACK[:-1])), **FORTY_CALLS)
    for name in ("path", "before_after"):
        png, svg = plots.save(getattr(plots, name)(hostile), tmp_path, name)
        source = svg.read_text(encoding="utf-8")
        root = ElementTree.fromstring(source)  # raises for one that is not well-formed
        text = " ".join(root.itertext())
        assert "<script>document.title" in text and all(letter.isprintable() or letter == "\n" for letter in text)
        names = {each.tag.rpartition("}")[2] for each in root.iter()}
        assert not {"script", "a", "foreignObject", "img"} & names and "onerror=" not in source.split("<text")[0]
        assert not re.search(r'(?:href|src)="(?!#|data:image/png)', source), "refers to nothing outside"
        assert png.read_bytes().startswith(b"\x89PNG")
    _, ax = plt.subplots()  # in a style that knows formulas
    set_title(ax, "Does it cost $5{ or $10?")
    ax.figure.draw_without_rendering()


ALL = [*METHODS, "one more", "another", "a ninth", "a tenth", "an eleventh", "a twelfth"]


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
    assert legend_of(ax) == best_first["method"].tolist()
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


def test_published_results_have_a_source_and_a_share() -> None:
    assert all(0 < each.score < 1 and each.source and each.system for each in RESULTS)
    assert len({(each.system, each.split) for each in RESULTS}) == len(RESULTS)


TWO = ("nano", "oracle (perfect)")
OF_CALLS = {"worker_seconds": 9.0, "worker_calls": 3, "calls": 9, "rounds": 2}
METHODS = ("video-rlm", "uniform", "composite", "captions")
MODES = pd.DataFrame(
    {"who": ["nano"] * 5 + ["weak"], "mode": [*["perception"] * 3, "navigation", "judgement", "perception"]}
)


def depths(**table: object) -> pd.DataFrame:
    """Return a table of evaluations at four maximum depths."""
    each = {depth: evaluation(durations_s=(36_000.0,), **table) for depth in range(4)}  # type: ignore[arg-type]
    return pd.concat(each, names=["max_depth"]).reset_index("max_depth").reset_index(drop=True)


def timings(worlds: int = 4, questions: int = 3, models: tuple[str, ...] = ("",)) -> pd.DataFrame:
    """Return a table like that of `scaling.by_workers`."""
    rows = crossed(model=models, video=range(worlds), number=range(questions), workers=(1, 3, 7))
    place = rows["video"] + rows["number"]
    seconds = (1 + place) * 8.0 / (1 + rows["model"].map(models.index)) / rows["workers"] ** 0.5
    rows = rows.assign(seconds=seconds / 2, normalised_seconds=seconds, score=(place % 2).astype(float))
    return rows.drop(columns=[] if models[0] else "model").assign(serial_seconds=1.0, **OF_CALLS)


def lines_with_markers(ax: Axes) -> list[Line2D]:
    """Return the lines through means, without those that only the legend has."""
    return [line for line in ax.lines if line.get_marker() not in ("None", "", None) and len(line.get_xdata())]


def intervals_of(ax: Axes) -> list[tuple[float, float]]:
    """Return the ends of the intervals that seaborn drew, in the order of series and points."""
    return [
        tuple(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0
    ]


def names_of(ax: Axes) -> list[str]:
    """Return the names at the last points of lines."""
    return [text.get_text() for text in ax.texts if getattr(text, "arrowprops", None)]


def legend_of(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


FIGURES: dict[str, Callable[[], Axes]] = {
    "score of methods and models": lambda: plots.against_duration(evaluation(methods=METHODS, models=TWO)),
    "score of two questions": lambda: plots.against_duration(evaluation(worlds=1, questions=2, models=TWO)),
    "tokens of methods and models": lambda: plots.against_duration(
        evaluation(durations_s=(600, 3600, 10_800, 36_000), methods=METHODS[:3], models=TWO), "tokens"
    ),
    "depths of models": lambda: plots.depth_budget(depths(models=TWO), 36_000),
    "spread of models": lambda: plots.against_spread(evaluation(models=TWO)),
    "roles of models": lambda: plots.tokens_by_role(evaluation(models=TWO)),
    "roles, all 0": lambda: plots.tokens_by_role(evaluation(tokens=0.0, master_tokens=0.0, worker_tokens=0.0)),
    "failures": lambda: plots.failure_modes(MODES, 60, ["nano", "weak", "oracle (perfect)"]),
    "failures of one": lambda: plots.failure_modes(MODES[:2], 2),
    "no failures": lambda: plots.failure_modes(MODES[:0], 60, ["nano", "oracle (perfect)"]),
    "workers of models": lambda: plots.worker_scaling(timings(models=("nano on 2 cores", "oracle, 0.12 s a reply"))),
    "workers of one question": lambda: plots.worker_scaling(timings(1, 1)),
}
WHO = dict.fromkeys(("score of two questions", "depths of models"), "nano and oracle (perfect): video-rlm")
WITHOUT_INTERVALS = {name for name in FIGURES if "failures" in name}


@pytest.mark.family
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_legible_and_states_n_and_what_its_intervals_are(name: str) -> None:
    ax = FIGURES[name]()
    assert_legible(ax.figure)
    assert_apart(ax.figure)
    note = note_of(ax)
    few = any(word in name for word in ("two questions", "one question", "failures of one"))
    assert ("shows that it runs, nothing else" in note) == few
    assert "n = " in note
    if name in WHO:
        assert note.startswith(f"{WHO[name]} · "), "who answered is in the title"
    assert ("side by side" in note) <= ("95 % intervals" in note)
    assert ("95 % intervals" in note or "so no intervals" in note) == (name not in WITHOUT_INTERVALS)


def test_against_duration_has_the_mean_and_the_interval_of_every_series_at_its_duration() -> None:
    rows = evaluation(methods=METHODS, models=TWO)
    ax = plots.against_duration(rows)
    lines, intervals = lines_with_markers(ax), np.reshape(intervals_of(ax), (-1, 3, 2))
    assert names_of(ax) == [f"{method}, {model}" for model in TWO for method in METHODS]
    for name, line, drawn in zip(names_of(ax), lines, intervals, strict=True):
        method, model = name.split(", ")
        means = statistics.accuracy(rows[(rows["method"] == method) & (rows["model"] == model)], "duration_s")
        assert line.get_ydata().tolist() == pytest.approx(means["mean"].tolist())
        assert np.allclose(drawn, means[["low", "high"]]), "the intervals of `accuracy`, not those of seaborn"
        assert line.get_xdata().tolist() == pytest.approx([600, 3600, 36_000]), "a point stands at its value"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["10 min", "1 h", "10 h"]


def test_a_table_without_rows_is_told() -> None:
    for draw in (plots.against_duration, plots.tokens_by_role, partial(plots.depth_budget, duration_s=9)):
        with pytest.raises(InputError, match="no rows, so there is nothing to draw"):
            draw(depths()[:0])


def test_failure_modes_are_shares_of_all_questions() -> None:
    modes = ["perception", "perception", "navigation", "perception"]
    failures = pd.DataFrame({"who": ["weak"] * 3 + ["strong"], "mode": modes})
    ax = plots.failure_modes(failures, 10, ["weak", "strong", "perfect"])
    shares = ["weak\n30 % (3 of 10)", "strong\n10 % (1 of 10)", "perfect\n0 % (0 of 10)"]
    assert [label.get_text() for label in ax.get_yticklabels()] == shares
    drawn = {(round(patch.get_x()), round(patch.get_width())) for patch in ax.patches if patch.get_width()}
    assert drawn == {(0, 20), (20, 10), (0, 10)}
    assert legend_of(ax) == ["perception", "navigation"]
    with pytest.raises(InputError, match="shares of all questions"):
        plots.failure_modes(failures, 2)


def test_worker_scaling_shows_seconds_scores_and_amdahls_bound() -> None:
    rows = crossed(video=[*"abcd"], workers=(1, 3, 7))
    longer = rows["video"].map({"a": 1.0, "b": 2.0, "c": 3.0, "d": 2.0})
    seconds = longer * rows["workers"].map({1: 8.0, 3: 4.0, 7: 3.2})
    score = ((rows["video"] != "c") | (rows["workers"] == 1)).astype(float)
    rows = rows.assign(seconds=seconds / 2, normalised_seconds=seconds, serial_seconds=longer, score=score, **OF_CALLS)
    ax = plots.worker_scaling(rows)
    (line,) = lines_with_markers(ax)
    assert line.get_xdata().tolist() == pytest.approx([1, 3, 7])
    assert line.get_ydata().tolist() == pytest.approx([16, 8, 6.4])
    assert names_of(ax) == ["mean\nscore: 100 %, 75 %, 75 %"]
    assert all(words in note_of(ax) for words in ("dashed: Amdahl's bound", "dotted: each at its own workload"))
    bound, measured = (each for each in ax.lines if each.get_linestyle() == "--")
    share = 1 / 4  # serial share of the measured time, in the table above
    assert bound.get_xdata()[[0, -1]].tolist() == pytest.approx([1, 7])
    assert bound.get_ydata()[[0, -1]].tolist() == pytest.approx([16, 16 * (share + (1 - share) / 7)])
    assert measured.get_ydata().tolist() == pytest.approx([8, 4, 3.2])
