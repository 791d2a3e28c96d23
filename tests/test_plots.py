"""Figures: drawn from a result alone, and from any text."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest
from matplotlib.colors import to_hex

from atlaskit import plots
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.cache import Cache
from atlaskit.result import Result
from atlaskit.search import ask

matplotlib.use("Agg")


@pytest.fixture
def result(world: World, shared_cache: Cache) -> Result:
    question = next(question for question in world.questions if question.category == "SSS")
    return ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, cell=48)


def test_a_path_shows_each_visit_and_each_piece_of_evidence(result: Result, world: World) -> None:
    decoded = world.drawn.frames_decoded
    ax = plots.path(result)
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert len(rows) == len(result.trace.of("report")) + 2 and rows[0] == "evidence" and rows[-1] == "ruled out"
    written = " ".join(text.get_text() for text in ax.texts).split()
    assert set(result.evidence.labels) <= set(written)
    assert ax.get_xlim() == (0, 600) and ax.get_xlabel()
    assert world.drawn.frames_decoded == decoded


def test_rounds_show_scores_visits_and_what_the_reviews_said(result: Result, world: World) -> None:
    decoded = world.drawn.frames_decoded
    ax = plots.rounds(result)
    assert [label.get_text() for label in ax.get_yticklabels()] == [str(n + 1) for n in range(result.rounds)]
    (right,) = ax.child_axes
    said = [label.get_text() for label in right.get_yticklabels()]
    assert len(said) == result.rounds and said[-1] == f"{len(result.evidence)} · sufficient"
    written = " ".join(text.get_text() for text in ax.texts).split()
    assert set(result.evidence.labels) <= set(written)
    assert ax.get_xlim() == (0, 600) and "min:s" in ax.get_xlabel() and ax.get_ylabel() == "round"
    bars = Counter(to_hex(patch.get_facecolor()) for patch in ax.patches)
    reports = result.trace.of("report")
    assert bars[plots.FOUND.lower()] == sum(bool(report["kept"]) for report in reports) > 0
    assert bars[plots.DEAD] == sum(bool(report["dead_s"]) for report in reports)
    used = [probe for number in range(1, result.rounds + 1) for probe in plots.probes_for(number, result)]
    assert bars[plots.SCORED] == sum(len(probe["scores"]) for probe in used) > 0
    assert world.drawn.frames_decoded == decoded


def test_rounds_without_any_and_rounds_without_end(world: World, shared_cache: Cache) -> None:
    question = next(question for question in world.questions if question.category == "SSS")
    glance = ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, cell=48, max_depth=0)
    assert not glance.rounds and not plots.rounds(glance).get_yticklabels()
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=1), workers=2, cache=shared_cache, cell=48)
    ax = plots.rounds(blind)
    assert blind.rounds > plots.WORDY_ROWS and len(ax.get_yticklabels()) == blind.rounds
    assert ax.child_axes[0].get_yticklabels()[-1].get_text() == "0 · nothing new"


def test_labels_that_would_cover_each_other_are_written_together(result: Result) -> None:
    kept = [(item.timestamp_s, item.label) for item in result.evidence]
    groups = plots._neighbours(kept, closer_s=600.0)
    assert groups == [(sorted(e.timestamp_s for e in result.evidence), groups[0][1])]
    assert sorted(groups[0][1].split()) == sorted(result.evidence.labels)
    assert len(plots._neighbours(kept, closer_s=0.0)) == len(result.evidence)


def test_any_question_can_be_a_title(result: Result, tmp_path: Path) -> None:
    text = "Does it cost $5 or $x^{?"
    odd = replace(result, question=replace(result.question, text=text))
    png, svg = plots.save(plots.path(odd), tmp_path, "odd")
    assert png.read_bytes().startswith(b"\x89PNG") and "</svg>" in svg.read_text()
    hostile = replace(result, question=replace(result.question, text="<script>alert(1)</script>"))
    _, svg = plots.save(plots.path(hostile), tmp_path, "hostile")
    assert "<script>" not in svg.read_text()
