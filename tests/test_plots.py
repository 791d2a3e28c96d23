"""Figures: drawn from a result alone, and from any text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest

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


def test_labels_that_would_cover_each_other_are_written_together(result: Result) -> None:
    groups = plots._neighbours(result, closer_s=600.0)
    assert groups == [(sorted(e.timestamp_s for e in result.evidence), groups[0][1])]
    assert sorted(groups[0][1].split()) == sorted(result.evidence.labels)
    assert len(plots._neighbours(result, closer_s=0.0)) == len(result.evidence)


def test_any_question_can_be_a_title(result: Result, tmp_path: Path) -> None:
    text = "Does it cost $5 or $x^{?"
    odd = replace(result, question=replace(result.question, text=text))
    png, svg = plots.save(plots.path(odd), tmp_path, "odd")
    assert png.read_bytes().startswith(b"\x89PNG") and "</svg>" in svg.read_text()
    hostile = replace(result, question=replace(result.question, text="<script>alert(1)</script>"))
    _, svg = plots.save(plots.path(hostile), tmp_path, "hostile")
    assert "<script>" not in svg.read_text()
