"""Figures are drawn from results and tables alone, and show any text as text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex
from support.asking import ask
from support.figures import assert_legible
from support.model_doubles import ATTACK, Babbler, Spiteful
from support.stand_ins import FORTY_CALLS, Flat, ScriptedAttackVideo, run

from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import resolution_s, sub_second_depth
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.runs.result import Result
from atlaskit.viz import plots
from atlaskit.viz.plots import runs

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


def strings_in(svg: Path) -> str:
    """Return the text of an SVG, with plain spaces; raise for one that is not well-formed."""
    from xml.etree import ElementTree

    return " ".join(ElementTree.parse(svg).getroot().itertext()).replace("\u00a0", " ")


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
