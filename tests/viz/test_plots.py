"""Figures are drawn from results and tables alone, and show any text as text."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image
from support.asking import ask
from support.figures import assert_legible
from support.model_doubles import ATTACK, Babbler, Spiteful
from support.stand_ins import FORTY_CALLS, Flat, ScriptedAttackVideo, run

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


@pytest.fixture(autouse=True)
def closed() -> None:
    plt.close("all")


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


def test_a_long_run_has_a_row_per_round(world: World, shared_cache: Cache) -> None:
    question = next(question for question in world.questions if question.category == "SSS")
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=1), workers=2, cache=shared_cache, cell=48)
    ax = plots.path(blind)
    assert len(blind.trace.of("report")) > runs.MAX_LABELLED_ROWS
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert rows == ["evidence", *(f"round {n + 1}" for n in range(blind.rounds)), "dead zones"]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["ground truth", "worker 0", "worker 1"]


@pytest.mark.family
@pytest.mark.parametrize("name", ["path", "rounds", "before_after", "trace_log", "scratchpad"])
def test_figures_of_a_run_are_legible_on_a_page(name: str, result: Result, world: World, shared_cache: Cache) -> None:
    """No text is smaller than 7 points, and none stands outside the figure."""
    question = next(question for question in world.questions if question.category == "SSS")
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=0.5), workers=3, cache=shared_cache, cell=48)
    for shown in (result, blind):
        figure = getattr(plots, name)(shown).figure
        assert figure.get_size_inches()[0] == runs.WIDTH_IN
        assert_legible(figure)


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
    assert bars[runs.FOUND.lower()] == sum(bool(report.kept) for report in reports) > 0
    assert bars[runs.DEAD] == sum(bool(report.dead_s) for report in reports)
    used = [probe for number in range(1, result.rounds + 1) for probe in runs.probes_for(number, result)]
    assert bars[runs.SCORED] == sum(len(probe.scores) for probe in used) > 0
    assert world.drawn.frames_decoded == decoded


@pytest.mark.long
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


@pytest.mark.long
def test_a_figure_is_dark_ink_on_opaque_paper_whatever_the_style_of_the_notebook(
    result: Result, tmp_path: Path
) -> None:
    with plt.style.context(["dark_background", {"savefig.transparent": True}]):
        ax = plots.path(result)
        png, svg = plots.save(ax, tmp_path, "path")
        shown = io.BytesIO()
        ax.figure.savefig(shown, transparent=False, facecolor=ax.figure.get_facecolor())  # as notebooks do
    for source in (png, shown):
        picture = Image.open(source).convert("RGBA")
        assert picture.getpixel((0, 0)) == (255,) * 4 and picture.getextrema()[3] == (255, 255)
    inks = {text.get_color() for text in (*ax.get_xticklabels(), ax.xaxis.label, ax.title)}
    assert inks <= {"black", "#000000", "k", plots.style.INK, plots.style.MUTED}, inks
    assert "fill: #ffffff" in svg.read_text()


@pytest.mark.long
def test_any_question_is_a_valid_title(result: Result, tmp_path: Path) -> None:
    text = "Does it cost $5 or $x^{?"
    odd = replace(result, question=replace(result.question, text=text))
    png, svg = plots.save(plots.path(odd), tmp_path, "odd")
    assert png.read_bytes().startswith(b"\x89PNG") and "</svg>" in svg.read_text()
    hostile = replace(result, question=replace(result.question, text="<script>alert(1)</script>"))
    _, svg = plots.save(plots.path(hostile), tmp_path, "hostile")
    assert "<script>" not in svg.read_text()


def test_resolutions_has_a_line_per_depth_down_to_and_below_one_frame() -> None:
    marked_s = [10, 60, 600, 3600, 36_000]
    ax = plots.resolutions(marked_s, fps=25)
    assert ax.get_xscale() == ax.get_yscale() == "log" and "(s)" in ax.get_ylabel() and "T" in ax.get_xlabel()
    ticks = ["10 s\n2", "1 min\n2", "10 min\n3", "1 h\n3", "10 h\n4"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ticks, "with D_max of each duration"
    depths = ["depth 0, the root", "depth 1", "depth 2", "depth 3"]
    assert [text.get_text() for text in ax.get_legend().get_texts()][:4] == depths
    lines = [line for line in ax.lines if len(line.get_xdata()) and line.get_marker() == "None"]
    parts = {(to_hex(line.get_color()), line.get_linestyle()): line for line in lines if line.get_linewidth() == 1.8}
    colours = [to_hex(handle.get_color()) for handle in ax.get_legend().legend_handles[:4]]
    for depth, colour in enumerate(colours):
        for (of, stroke), line in parts.items():
            if of == colour:
                assert line.get_ydata().tolist() == [resolution_s(time_s, 8, depth) for time_s in line.get_xdata()]
                assert (stroke == "--") == (max(line.get_ydata()) <= 1 / 25 * (1 + 1e-9)), "dotted below one frame"
    assert [of for of, stroke in parts if stroke == "--"] == colours[1:] and len(parts) == 6
    assert parts[colours[0], "-"].get_xdata().tolist() == marked_s
    (marks,) = ax.collections
    assert len(marks.get_offsets()) == 5 + 5 + 3 + 1, "a marker at each duration that uses a depth"
    rings = next(line for line in ax.lines if "auto" in str(line.get_label()))
    assert rings.get_ydata().tolist() == [resolution_s(t, 8, sub_second_depth(t, 8)) for t in marked_s]
    assert max(rings.get_ydata()) < 1 and min(ax.get_ylim()) < min(min(line.get_ydata()) for line in lines) * 1.001
    (second,) = (line for line in ax.lines if line.get_label() == "1 s")
    assert list(second.get_ydata()) == [1, 1]


@pytest.mark.long
@pytest.mark.parametrize("k, fps, marked_s", [(2, 30.0, [1, 36_000]), (8, 0.5, [0.5, 100]), (16, 25.0, [0.01, 2])])
def test_resolutions_of_any_grid_and_duration(k: int, fps: float, marked_s: list[float], tmp_path: Path) -> None:
    _, own = plt.subplots()
    ax = plots.resolutions(marked_s[::-1], k=k, fps=fps, ax=own)
    assert ax is own and " s\n" in next(tick.get_text() for tick in ax.get_xticklabels())
    drawn = {text.get_text() for text in ax.get_legend().get_texts()}
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


def strings_in(svg: Path) -> str:
    """Return the text of an SVG, with plain spaces; raise for one that is not well-formed."""
    from xml.etree import ElementTree

    return " ".join(ElementTree.parse(svg).getroot().itertext()).replace("\u00a0", " ")


@pytest.mark.long
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


@pytest.mark.family
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
    assert (
        all(f"[{item.label}]" in text for item in result.evidence) and f"answer      {result.answer_in_words}" in text
    )
    assert f"{result.total.calls:,} calls" in text


def test_a_long_log_omits_its_middle(world: World, shared_cache: Cache) -> None:
    question = next(question for question in world.questions if question.category == "SSS")
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=1), workers=2, cache=shared_cache, cell=48)
    ax = plots.trace_log(blind)
    lines = [text.get_text().replace("\u00a0", " ") for text in ax.texts]
    shown = [int(line.split()[1]) for line in lines if line.startswith("round")]
    assert shown == [*range(1, len(shown)), blind.rounds] and len(shown) < blind.rounds
    visits = sum(len(shown) <= report.round < blind.rounds for report in blind.trace.of("report"))
    note = f"… {blind.rounds - len(shown)} more rounds: {visits} visits, 0 of which added evidence"
    assert lines[lines.index(f"round {blind.rounds}") - 1] == note
    assert len(lines) <= appendix.MAX_LINES and max(map(len, lines)) <= appendix.LINE_CHARS and "cost" in lines[-1]
    assert ax.figure.get_size_inches()[1] <= 9, "fits on a page"
    assert "no evidence" in plots.scratchpad(blind).texts[0].get_text()


@pytest.mark.long
def test_scratchpad_shows_each_evidence_frame(result: Result, world: World, tmp_path: Path) -> None:
    ax = plots.scratchpad(result)
    assert len(ax.images) == len(result.evidence) > 0
    _, svg = plots.save(ax, tmp_path, "pad")
    text = strings_in(svg)
    assert all(f"[{item.label}]" in text and item.description[:12] in text for item in result.evidence)
    many = Scratchpad().add(Evidence(n + 0.5, n + 0.0, n + 1.0, "a thing", n / 100, "said") for n in range(70))
    ax = plots.scratchpad(replace(result, evidence=many))
    assert f"{70 - len(ax.images)} more frames, of lower confidence" in ax.texts[-1].get_text()
    assert ax.figure.get_size_inches()[1] <= 9.2, "fits on a page"
    _, svg = plots.save(ax, tmp_path, "many")
    assert svg.stat().st_size < 5_000_000


@pytest.mark.long
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
