"""Figures: drawn from a result alone, and from any text."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from atlaskit import plots
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.cache import Cache
from atlaskit.errors import InputError
from atlaskit.plots import runs
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
    assert bars[runs.FOUND.lower()] == sum(bool(report["kept"]) for report in reports) > 0
    assert bars[runs.DEAD] == sum(bool(report["dead_s"]) for report in reports)
    used = [probe for number in range(1, result.rounds + 1) for probe in runs.probes_for(number, result)]
    assert bars[runs.SCORED] == sum(len(probe["scores"]) for probe in used) > 0
    assert world.drawn.frames_decoded == decoded


def test_rounds_without_any_and_rounds_without_end(world: World, shared_cache: Cache) -> None:
    question = next(question for question in world.questions if question.category == "SSS")
    glance = ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, cell=48, max_depth=0)
    assert not glance.rounds and not plots.rounds(glance).get_yticklabels()
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=1), workers=2, cache=shared_cache, cell=48)
    ax = plots.rounds(blind)
    assert blind.rounds > runs.WORDY_ROWS and len(ax.get_yticklabels()) == blind.rounds
    assert ax.child_axes[0].get_yticklabels()[-1].get_text() == "0 · nothing new"


def test_labels_that_would_cover_each_other_are_written_together(result: Result) -> None:
    kept = [(item.timestamp_s, item.label) for item in result.evidence]
    groups = runs._neighbours(kept, closer_s=600.0)
    assert groups == [(sorted(e.timestamp_s for e in result.evidence), groups[0][1])]
    assert sorted(groups[0][1].split()) == sorted(result.evidence.labels)
    assert len(runs._neighbours(kept, closer_s=0.0)) == len(result.evidence)


def test_any_question_can_be_a_title(result: Result, tmp_path: Path) -> None:
    text = "Does it cost $5 or $x^{?"
    odd = replace(result, question=replace(result.question, text=text))
    png, svg = plots.save(plots.path(odd), tmp_path, "odd")
    assert png.read_bytes().startswith(b"\x89PNG") and "</svg>" in svg.read_text()
    hostile = replace(result, question=replace(result.question, text="<script>alert(1)</script>"))
    _, svg = plots.save(plots.path(hostile), tmp_path, "hostile")
    assert "<script>" not in svg.read_text()


def test_a_line_a_method_against_duration() -> None:
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


def test_score_and_tokens_against_depth() -> None:
    depths = pd.DataFrame({"max_depth": [0, 1, 2] * 4, "video": list("aaabbbcccddd"), "tokens": 5000.0})
    ax = plots.depth_budget(depths.assign(score=depths["max_depth"] / 2), 36_000)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0\n9.38 min", "1\n8.79 s", "2\n0.137 s"]
    assert ax.containers[0].lines[0].get_ydata().tolist() == [0, 0.5, 1]
    (line,) = (line for line in ax.lines if line.get_linestyle() == ":")
    assert line.get_xdata()[0] == 1.5, "depth 2 is the first below a second"
    assert not [line for line in plots.depth_budget(depths.assign(score=0), 1e6).lines if line.get_linestyle() == ":"]


def test_tokens_against_the_places_of_an_answer() -> None:
    rows = pd.DataFrame({"positions": [0, 1, 1, 2, 3, 5], "video": list("abcdef"), "tokens": [9.0, 10, 20, 30, 40, 60]})
    ax = plots.against_spread(rows)
    assert [bar.get_height() for bar in ax.patches] == [15, 30, 50]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1\nn = 2", "2\nn = 1", "3 or more\nn = 2"]
    with pytest.raises(InputError, match="at how many positions"):
        plots.against_spread(rows.assign(positions=0))
