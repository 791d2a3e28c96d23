"""Figures are drawn from results and tables alone, and show any text as text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from support.model_doubles import ATTACK, Babbler, Spiteful
from support.stand_ins import FORTY_CALLS, Flat, ScriptedAttackVideo, run

from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import deepest, resolution_s, sub_second_depth
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.runs.result import Result
from atlaskit.viz import plots
from atlaskit.viz.plots import appendix, logs, runs

matplotlib.use("Agg")


@pytest.fixture
def result(answered: Result) -> Result:
    return answered


def test_path_has_a_row_per_visit_and_every_evidence_label(result: Result, world: World) -> None:
    decoded = world.drawn.frames_decoded
    ax = plots.path(result)
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert len(rows) == len(result.trace.of("report")) + 2 and rows[0] == "evidence" and rows[-1] == "dead zones"
    written = " ".join(text.get_text() for text in ax.texts).split()
    assert set(result.evidence.labels) <= set(written)
    assert ax.get_xlim() == (0, 600) and ax.get_xlabel()
    assert world.drawn.frames_decoded == decoded


def test_a_long_visit_is_summarized_by_counts() -> None:
    """A list of every action would run off the figure."""
    few = ["Expand", "AddToScratchpad", "Finished"]
    assert runs._action_summary(few) == "Expand → AddToScratchpad → Finished"
    many = ["Expand", "Backtrack"] * 19 + ["AddToScratchpad", "Finished"]
    assert runs._action_summary(many) == "19 Expand, 19 Backtrack, 1 AddToScratchpad → Finished"
    assert runs._action_summary([]) == ""


def test_rounds_show_scores_visits_and_conclusions(result: Result, world: World) -> None:
    decoded = world.drawn.frames_decoded
    ax = plots.rounds(result)
    assert [label.get_text() for label in ax.get_yticklabels()] == [str(n + 1) for n in range(result.rounds)]
    (right,) = ax.child_axes
    conclusions = [label.get_text() for label in right.get_yticklabels()]
    assert len(conclusions) == result.rounds and conclusions[-1] == f"{len(result.evidence)} · sufficient"
    written = " ".join(text.get_text() for text in ax.texts).split()
    assert set(result.evidence.labels) <= set(written)
    assert ax.get_xlim() == (0, 600) and "min:s" in ax.get_xlabel() and ax.get_ylabel() == "round"
    bars = Counter(to_hex(patch.get_facecolor()) for patch in ax.patches)
    reports = result.trace.of("report")
    assert bars[runs.FOUND.lower()] == sum(bool(report["kept"]) for report in reports) > 0
    assert bars[runs.DEAD] == sum(bool(report["dead_s"]) for report in reports)
    used = [probe for number in range(1, result.rounds + 1) for probe in runs.probes_for(number, result)]
    assert bars[runs.SCORED] == sum(len(probe["scores"]) for probe in used) > 0
    assert world.drawn.frames_decoded == decoded


def test_rounds_of_a_run_without_rounds_and_of_a_very_long_run(world: World, shared_cache: Cache) -> None:
    question = next(question for question in world.questions if question.category == "SSS")
    shallow = ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, cell=48, max_depth=0)
    assert not shallow.rounds and not plots.rounds(shallow).get_yticklabels()
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=1), workers=2, cache=shared_cache, cell=48)
    ax = plots.rounds(blind)
    assert blind.rounds > runs.MAX_LABELLED_ROWS and len(ax.get_yticklabels()) == blind.rounds
    assert ax.child_axes[0].get_yticklabels()[-1].get_text() == "0 · nothing new"


def test_labels_that_would_overlap_are_merged(result: Result) -> None:
    labels = [(item.timestamp_s, item.label) for item in result.evidence]
    groups = runs._merge_close_labels(labels, min_gap_s=600.0)
    assert groups == [(sorted(e.timestamp_s for e in result.evidence), groups[0][1])]
    assert sorted(groups[0][1].split()) == sorted(result.evidence.labels)
    assert len(runs._merge_close_labels(labels, min_gap_s=0.0)) == len(result.evidence)


def test_any_question_is_a_valid_title(result: Result, tmp_path: Path) -> None:
    text = "Does it cost $5 or $x^{?"
    odd = replace(result, question=replace(result.question, text=text))
    png, svg = plots.save(plots.path(odd), tmp_path, "odd")
    assert png.read_bytes().startswith(b"\x89PNG") and "</svg>" in svg.read_text()
    hostile = replace(result, question=replace(result.question, text="<script>alert(1)</script>"))
    _, svg = plots.save(plots.path(hostile), tmp_path, "hostile")
    assert "<script>" not in svg.read_text()


def test_against_duration_has_a_line_per_method() -> None:
    lengths = (600.0, 36_000.0)
    cells = list(product(("video-rlm", "uniform"), lengths, range(8)))
    table = pd.DataFrame(
        [{"method": m, "duration_s": d, "video": f"{d} {n // 2}", "score": float(n % 4 > 0)} for m, d, n in cells]
    )
    ax = plots.against_duration(table.assign(tokens=1000.0))
    assert [line.get_label() for line in ax.containers] == ["video-rlm", "uniform"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["10 min", "10 h"]
    means = [line.lines[0].get_ydata().tolist() for line in ax.containers]
    assert means == [[0.75, 0.75]] * 2 and ax.get_ylim() == (0, 1)
    tokens = plots.against_duration(table.assign(tokens=1000.0 + table.index), "tokens")
    assert tokens.get_yscale() == "log" and "tokens" in tokens.get_ylabel()
    with pytest.raises(InputError, match="no duration_s"):
        plots.against_duration(table.assign(duration_s=0.0))
    with pytest.raises(InputError, match="lacks the column 'score'"):
        plots.against_duration(table.drop(columns="score"))


def test_depth_budget_shows_score_tokens_and_resolution() -> None:
    depths = pd.DataFrame({"max_depth": [0, 1, 2] * 4, "video": list("aaabbbcccddd"), "tokens": 5000.0})
    ax = plots.depth_budget(depths.assign(score=depths["max_depth"] / 2), 36_000)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0\n9.38 min", "1\n8.79 s", "2\n0.137 s"]
    assert ax.containers[0].lines[0].get_ydata().tolist() == [0, 0.5, 1]
    (line,) = (line for line in ax.lines if line.get_linestyle() == ":")
    assert line.get_xdata()[0] == 1.5, "depth 2 is the first below one second"
    assert not [line for line in plots.depth_budget(depths.assign(score=0), 1e6).lines if line.get_linestyle() == ":"]


def test_against_spread_groups_by_number_of_positions() -> None:
    rows = pd.DataFrame({"positions": [0, 1, 1, 2, 3, 5], "video": list("abcdef"), "tokens": [9.0, 10, 20, 30, 40, 60]})
    ax = plots.against_spread(rows)
    assert [bar.get_height() for bar in ax.patches] == [15, 30, 50]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1\nn = 2", "2\nn = 1", "3 or more\nn = 2"]
    with pytest.raises(InputError, match="positions"):
        plots.against_spread(rows.assign(positions=0))


def test_resolutions_has_a_line_per_depth_down_to_and_below_one_frame() -> None:
    marked_s = [10, 60, 600, 3600, 36_000]
    ax = plots.resolutions(marked_s, fps=25)
    assert ax.get_xscale() == ax.get_yscale() == "log" and "(s)" in ax.get_ylabel() and "T" in ax.get_xlabel()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["10 s", "1 min", "10 min", "1 h", "10 h"]
    lines = [line for line in ax.lines if line.get_marker() in "osD^" and len(line.get_xdata()) > 1]
    rings = next(line for line in lines if "auto" in str(line.get_label()))
    depths = {str(line.get_label()): line for line in lines if str(line.get_label()).startswith("depth")}
    assert list(depths) == ["depth 0, the root", "depth 1", "depth 2", "depth 3"]
    for depth, line in enumerate(depths.values()):
        spans_s = [resolution_s(duration_s, 8, depth) for duration_s in line.get_xdata()]
        assert line.get_ydata().tolist() == spans_s
        assert [spans_s[place] >= 1 / 25 for place in line.get_markevery()].count(False) == (depth == 3)
    assert depths["depth 0, the root"].get_xdata().tolist() == marked_s
    colours, markers = [{getter(line) for line in depths.values()} for getter in (Line2D.get_color, Line2D.get_marker)]
    assert len(colours) == len(markers) == 4
    assert all(colour.startswith("#") for colour in colours), (
        "names like C0 depend on the style that is active when the figure is shown"
    )
    below = [line for line in lines if line.get_linestyle() == ":"]
    assert all(max(line.get_ydata()) <= 1 / 25 * (1 + 1e-9) for line in below) and len(below) == 3
    ends = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert ends == [(pytest.approx(64**2 / 25), 1 / 25), (pytest.approx(64**3 / 25), 1 / 25)]
    assert [text.get_text() for text in ax.texts] == [f"D$_{{max}}$ = {steps}" for steps in (2, 3, 4)]
    assert rings.get_ydata().tolist() == [resolution_s(t, 8, sub_second_depth(t, 8)) for t in marked_s]
    assert max(rings.get_ydata()) < 1 and min(ax.get_ylim()) < min(min(line.get_ydata()) for line in lines) * 1.001
    (second,) = (line for line in ax.lines if line.get_linestyle() == "--")
    assert list(second.get_ydata()) == [1, 1]


@pytest.mark.parametrize("k, fps, marked_s", [(2, 30.0, [1, 36_000]), (8, 0.5, [0.5, 100]), (16, 25.0, [0.01, 2])])
def test_resolutions_of_any_grid_and_duration(k: int, fps: float, marked_s: list[float], tmp_path: Path) -> None:
    _, own = plt.subplots()
    ax = plots.resolutions(marked_s[::-1], k=k, fps=fps, ax=own)
    assert ax is own and next(tick.get_text() for tick in ax.get_xticklabels()).endswith(" s")
    drawn = {str(line.get_label()) for line in ax.lines}
    deepest_used = max(deepest(marked_s[-1], fps, k), sub_second_depth(marked_s[-1], k) + 1)
    assert {"depth 0, the root", *(f"depth {depth}" for depth in range(1, deepest_used))} <= drawn
    assert all(file.stat().st_size for file in plots.save(ax, tmp_path, "resolutions"))


def test_resolutions_rejects_invalid_durations_rates_and_grids() -> None:
    for durations_s in ([], [60], [60, 60], [0, 60], [-1, 60], [60, float("nan")], [60, float("inf")]):
        with pytest.raises(InputError):
            plots.resolutions(durations_s)
    for fps in (0.0, -25.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="frames per second"):
            plots.resolutions([60, 600], fps=fps)
    with pytest.raises(InputError, match="2×2"):
        plots.resolutions([60, 600], k=1)


def test_tokens_by_role_stacks_the_roles() -> None:
    rows = pd.DataFrame(
        [
            {"duration_s": duration_s, "master_tokens": 20_000 * n, "worker_tokens": 50_000 * n, "tokens": 70_000 * n}
            | dict.fromkeys(("effective_tokens", "calls", "checks", "rounds", "evidence", "seconds"), float(n))
            for duration_s, n in ((600.0, 1), (36_000.0, 2), (36_000.0, 4))
        ]
    )
    ax = plots.tokens_by_role(rows)
    bars = [(patch.get_y(), patch.get_height()) for patch in ax.patches]
    assert bars == [(0, 20), (0, 60), (20, 50), (60, 150)], "means per duration, in thousands"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["10 min", "10 h"]
    assert [text.get_text() for text in ax.texts] == [
        "1.0 rounds\n1.0 evidence frames",
        "3.0 rounds\n3.0 evidence frames",
    ]
    assert ax.get_ylabel() == "thousand tokens per question" and ax.get_legend() is not None


def test_failure_modes_are_shares_of_all_questions() -> None:
    failures = pd.DataFrame(
        {"who": ["weak"] * 3 + ["strong"], "mode": ["perception", "perception", "navigation", "perception"]}
    )
    ax = plots.failure_modes(failures, 10, ["weak", "strong", "perfect"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["weak", "strong", "perfect"]
    assert [text.get_text() for text in ax.texts] == ["30 % (3)", "10 % (1)", "0 % (0)"]
    drawn = {(patch.get_x(), patch.get_width()) for patch in ax.patches if patch.get_width()}
    assert drawn == {(0, 20), (20, 10), (0, 10)}
    legend = ax.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["perception", "navigation"]
    without_failures = plots.failure_modes(failures[:0], 10, ["perfect"])
    assert without_failures.get_legend() is None
    for questions, names in ((2, None), (0, ["perfect"]), (10, [])):
        with pytest.raises(InputError, match="shares of all questions"):
            plots.failure_modes(failures if questions == 2 else failures[:0], questions, names)


def test_worker_scaling_shows_seconds_scores_and_amdahls_bound() -> None:
    plt.close("all")
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
    (line,) = ax.containers
    assert line.lines[0].get_xdata().tolist() == [1, 3, 7]
    assert line.lines[0].get_ydata().tolist() == pytest.approx([16, 8, 6.4])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "3", "7"]
    assert ax.get_xlabel() == "workers" and ax.get_ylabel() == "seconds per question"
    scores = [text.get_text() for text in ax.texts if not text.get_text().startswith("%")]
    assert scores == ["100 %", "75 %", "75 %"]
    (bound,) = (each for each in ax.lines if each.get_linestyle() == "--")
    share = 1 / 4  # serial share of the measured time, in the table above
    assert bound.get_xdata()[[0, -1]].tolist() == pytest.approx([1, 7])
    assert bound.get_ydata()[[0, -1]].tolist() == pytest.approx([16, 16 * (share + (1 - share) / 7)])
    (measured,) = (each for each in ax.lines if each.get_linestyle() == ":")
    assert measured.get_ydata().tolist() == pytest.approx([8, 4, 3.2])


def test_worker_scaling_has_a_line_per_model(tmp_path: Path) -> None:
    row = {"normalised_seconds": 4.0, "seconds": 4.0, "serial_seconds": 1.0, "worker_seconds": 9.0, "worker_calls": 3}
    rows = pd.DataFrame(
        [
            {**row, "video": "a", "workers": n, "calls": 9, "rounds": 2, "score": 0.5, "model": m}
            for m in "yx"
            for n in (1, 2)
        ]
    )
    ax = plots.worker_scaling(rows)
    assert len(ax.containers) == 2, "a single video has a mean without an interval"
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["y", "x", "Amdahl's bound", "each at its own workload"]
    assert len({to_hex(line.lines[0].get_color()) for line in ax.containers}) == 2
    assert all(file.stat().st_size for file in plots.save(ax, tmp_path, "workers"))
    one = plots.worker_scaling(rows[rows["workers"] == 1].drop(columns="model"))
    assert [tick.get_text() for tick in one.get_xticklabels()] == ["1"]
    with pytest.raises(InputError, match="lacks the column 'worker_seconds'"):
        plots.worker_scaling(rows.drop(columns="worker_seconds"))


def strings_in(svg: Path) -> str:
    """Return the text of an SVG, with plain spaces; raise for one that is not well-formed."""
    from xml.etree import ElementTree

    return " ".join(ElementTree.parse(svg).getroot().itertext()).replace("\u00a0", " ")


def test_before_after_blacks_out_the_dead_cells(result: Result, world: World, tmp_path: Path) -> None:
    plots.before_after(result)
    decoded = world.drawn.frames_decoded
    ax = plots.before_after(result)
    assert world.drawn.frames_decoded == decoded, "the second figure takes every frame from the cache"
    before, after = (np.asarray(image.get_array()).astype(int) for image in ax.images)
    (high, wide), black = (side // 8 for side in before.shape[:2]), logs.black_cells(result)
    for index in range(64):
        row, column = divmod(index, 8)
        cell = np.s_[row * high + high // 2 : row * high + high - 4, column * wide + 4 : column * wide + wide - 4]
        assert before[cell].max() > 0 and (after[cell].max() < 8) == (index in black)
    png, svg = plots.save(ax, tmp_path, "before_after")
    assert f"{len(black)} cells black" in strings_in(svg) and {str(n) for n in range(64)} <= set(
        strings_in(svg).split()
    )
    assert png.stat().st_size < 2_000_000 and svg.stat().st_size < 3_000_000


@pytest.mark.parametrize(("size", "fit"), [((320, 180), "native"), ((180, 320), "native"), ((320, 180), "contain")])
@pytest.mark.parametrize("name", ["before_after", "scratchpad"])
def test_no_figure_distorts_a_picture(size: tuple[int, int], fit: str, name: str, cache: Cache) -> None:
    shown = run(Flat(size), Babbler(8), cache, k=3, cell=96, fit=fit, traversal="dfs", steps=6, max_rounds=2)
    assert len(shown.evidence)
    ax = getattr(plots, name)(shown)
    assert ax.images and ax.get_aspect() == 1
    for image in ax.images:
        left, right, *ends = image.get_extent()
        high, wide = image.get_array().shape[:2]
        assert abs(ends[1] - ends[0]) / (right - left) == pytest.approx(high / wide, rel=0.02)
        assert 0 <= left < right <= ax.get_xlim()[1]


def test_trace_log_has_every_round_visit_and_evidence_label(result: Result, tmp_path: Path) -> None:
    _, svg = plots.save(plots.trace_log(result), tmp_path, "log")
    text = strings_in(svg)
    assert all(f"round {number}" in text for number in range(1, result.rounds + 1))
    assert text.count("worker ") == len(result.trace.of("report")) and "→ Finished" in text
    assert all(f"[{item.label}]" in text for item in result.evidence) and f"answer      {result.answer}" in text
    assert f"{result.total.calls:,} calls" in text


def test_a_long_log_omits_its_middle(world: World, shared_cache: Cache) -> None:
    question = next(question for question in world.questions if question.category == "SSS")
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=1), workers=2, cache=shared_cache, cell=48)
    ax = plots.trace_log(blind)
    lines = [text.get_text() for text in ax.texts]
    assert (
        len(lines) == appendix.MAX_LINES + 1 and "lines\u00a0are\u00a0left\u00a0out" in lines[appendix.MAX_LINES // 2]
    )
    assert max(map(len, lines)) <= appendix.LINE_CHARS and lines[0].startswith("round") and "cost" in lines[-1]
    assert "no evidence" in plots.scratchpad(blind).texts[0].get_text()


def test_scratchpad_shows_each_evidence_frame(result: Result, world: World, tmp_path: Path) -> None:
    ax = plots.scratchpad(result)
    assert len(ax.images) == len(result.evidence) > 0
    _, svg = plots.save(ax, tmp_path, "pad")
    text = strings_in(svg)
    assert all(f"[{item.label}]" in text and item.description[:12] in text for item in result.evidence)
    many = Scratchpad().add(Evidence(n + 0.5, n + 0.0, n + 1.0, "a thing", n / 100, "said") for n in range(70))
    ax = plots.scratchpad(replace(result, evidence=many))
    assert len(ax.images) == appendix.MAX_ITEMS and "6 frames of lower confidence" in ax.texts[-1].get_text()
    _, svg = plots.save(ax, tmp_path, "many")
    assert svg.stat().st_size < 5_000_000


def test_hostile_text_stays_text_in_the_appendix(cache: Cache, tmp_path: Path) -> None:
    hostile = run(ScriptedAttackVideo(), Spiteful(5), cache, Question(ATTACK, ("a circle", ATTACK[:-1])), **FORTY_CALLS)
    for name in ("before_after", "trace_log", "scratchpad"):
        png, svg = plots.save(getattr(plots, name)(hostile), tmp_path, name)
        text, source = strings_in(svg), svg.read_text(encoding="utf-8")
        assert (
            "<script>document.title" in text and "<script" not in source and "onerror=" not in source.split("<text")[0]
        )
        assert all(letter.isprintable() or letter == "\n" for letter in text)
        elements = set(re.findall(r"<([a-zA-Z:]+)", source))
        assert not {"script", "a", "foreignObject", "img"} & elements
        assert not re.search(r'(?:href|src)="(?!#|data:image/png)', source), "refers to nothing outside"
        assert png.read_bytes().startswith(b"\x89PNG")
