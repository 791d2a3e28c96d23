"""What the walkthrough tells of a run beside its steps: outlines, truth, times, settings, words."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.asking import ask

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid, listed
from atlaskit.environment.mdp import dead_cells
from atlaskit.environment.render import Sheet, View, with_look
from atlaskit.evaluation import baselines
from atlaskit.runs import replay
from atlaskit.runs.events import Report, Step
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.viz.walk.findings import FindingSteps
from atlaskit.viz.walk.marks import ACTED, CITED, TRUE, Mark
from atlaskit.viz.walk.pictures import pictures
from atlaskit.viz.walk.schedule import schedule
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.walk.steps import steps
from atlaskit.viz.walk.summary import summarize
from atlaskit.viz.walk.truth import truth_rows


@pytest.fixture(scope="module")
def wrong(world: World, shared_cache: Cache) -> Result:
    """A run that counts wrongly, because its workers overlook events."""
    question = next(question for question in world.questions if question.category == "COUNT")
    limits: dict[str, Any] = {"k": 4, "cell": 96, "workers": 3, "budget": Budget(calls=60), "cache": shared_cache}
    result = ask(world.drawn, question, vlm=Oracle(world, miss=0.3, seed=2), **limits)
    assert result.is_right is False
    return result


def cropped(image: Any, mark: Mark) -> np.ndarray:
    """Return the inner pixels that an outline frames."""
    left, top, width, height = (
        share * side for share, side in zip(mark[:4], (image.width, image.height) * 2, strict=True)
    )
    box = (left + 0.2 * width, top + 0.3 * height, left + 0.8 * width, top + 0.7 * height)
    return np.asarray(image.crop(tuple(map(round, box))).resize((32, 16)).convert("RGB"), float)


@pytest.mark.long
def test_the_cell_that_is_acted_on_is_outlined(eventful: Result, wrong: Result) -> None:
    outlined = 0
    for result in (wrong, eventful):
        found = pictures(open_run(result))
        for shown in replay.pictures(result.trace, result.sheet.video, result.sheet.cache):
            event, view = shown.event, shown.picture
            if shown.what != "view" or not isinstance(event, Step) or not isinstance(view, View):
                continue
            cells = event.action.all_cells
            acted = [mark for mark in found.marks[shown.place][0] if mark[5] == ACTED]
            assert len(acted) == len(cells)
            whole = with_look(replace(view, dead=frozenset()), labels="none").image
            bare = with_look(view, labels="none").image
            for cell, mark in zip(cells, acted, strict=True):
                row, column = divmod(cell, view.grid.k)
                own: Mark = (column / view.grid.k, row / view.grid.k, 1 / view.grid.k, 1 / view.grid.k, "", ACTED)
                assert np.abs(cropped(bare, mark) - cropped(whole, own)).mean() < 12, "it frames the cell's own frame"
                outlined += 1
    assert outlined > 10


def test_every_scored_cell_is_listed_and_framed(wrong: Result) -> None:
    place, probe = next((place, event) for place, event in enumerate(wrong.trace) if event.kind == "probe")
    for count, told in ((8, "7 (0.1)"), (14, "11 (0.1), and 2 more")):
        event = replace(probe, scores=dict.fromkeys(range(count), 0.1))
        result = replace(wrong, trace=Trace((*wrong.trace.events[:place], event)))
        framed = [mark[:2] for mark in pictures(open_run(result)).marks[place][0] if mark[5] == ACTED]
        assert sorted(framed) == sorted((cell % 4 / 4, cell // 4 / 4) for cell in range(count))
        summary = next(text for name, text, _ in list(steps(open_run(result)))[place]["said"] if name == "summary")
        assert summary.startswith(f"scored {count} cells: 0 (0.1), ") and summary.endswith(told)


def test_a_picture_that_is_older_than_its_step_says_what_it_does_not_show(wrong: Result, eventful: Result) -> None:
    root, older = replay.atlas_of(wrong.trace, wrong.sheet.video, wrong.sheet.cache).root, 0
    for run in (open_run(wrong), open_run(wrong.trace)):
        for place, (event, step) in enumerate(zip(wrong.trace, steps(run), strict=True)):
            if event.worker is not None or not getattr(event, "view", None):
                assert step["older"] == ""
                continue
            late = dead_cells(root, replay.memory(wrong.trace, upto=place).dead_zones) - set(event.view.dead)
            assert bool(step["older"]) == bool(late), (place, late)
            if late:
                since = [at for at in range(place) if set(late) & ruled_out(wrong, at, root)]
                assert (
                    f"ruled out {'cell' if len(late) == 1 else 'cells'} {listed(sorted(late))}, which" in step["older"]
                )
                assert [int(number) for number in re.findall(r"\d+", step["older"].split(" ruled")[0])] == since
                assert event.ahead, "it was scored while workers explored"
                older += 1
    assert older > 2
    odd = replace(eventful.trace.of(Report)[-1], dead_s=((5.0, 5.0),))
    assert all(step["older"] == "" for step in steps(open_run(Trace((odd, *wrong.trace.events[1:])))))


def ruled_out(result: Result, place: int, root: Grid) -> set[int]:
    """Return the cells of the root grid that an event rules out."""
    before, after = (dead_cells(root, replay.memory(result.trace, upto=place + more).dead_zones) for more in (0, 1))
    return set(after - before)


def test_cited_and_right_frames_of_a_sheet_are_outlined(wrong: Result) -> None:
    found, trace = pictures(open_run(wrong)), wrong.trace
    (decision,) = (place for place, event in enumerate(trace) if event.kind == "decision")
    (marks,) = found.marks[decision]
    right = [item for item in wrong.evidence if any(a <= item.timestamp_s < b for a, b in wrong.question.positions_s)]
    assert len([mark for mark in marks if mark[5] == TRUE]) == len(right) > 0
    assert {mark[4] for mark in marks if mark[5] == CITED} == {"cited"}
    assert all(edge >= 0 and edge + side <= 1 for mark in marks for edge, side in (mark[0::2][:2], mark[1:4:2]))


def test_each_moment_that_holds_the_answer_is_found_or_missed_where_it_was_shown(
    world: World, shared_cache: Cache, wrong: Result
) -> None:
    run = open_run(wrong)
    rows = truth_rows(run, FindingSteps(run.trace))
    assert [text.split(" was ")[0] for text, _ in rows] and len(rows) == len(wrong.question.positions_s)
    missed = 0
    for moment, (text, step) in zip(sorted(wrong.question.positions_s), rows, strict=True):
        kept = [item.label for item in wrong.evidence if moment[0] <= item.timestamp_s < moment[1]]
        if kept:
            assert f"was found: {', '.join(f'[{label}]' for label in kept)}" in text and step is not None
            continue
        seen = [
            (shown.picture.grid.depth, -shown.place, index)
            for shown in replay.pictures(wrong.trace, wrong.sheet.video, wrong.sheet.cache)
            if shown.what == "view" and isinstance(shown.picture, View)
            for index, time_s in enumerate(shown.picture.moments)
            if moment[0] <= time_s < moment[1] and index not in shown.picture.dead
        ]
        depth, place = max(seen)[:2]
        first = min(index for deep, at, index in seen if (deep, at) == (depth, place))
        assert f"at depth {depth} in cell {first} at step {-place}, and not reported" in text and step == -place
        missed += 1
    assert missed
    brief = replace(wrong, question=replace(wrong.question, positions_s=((410.0, 410.001),)))
    ((text, step),) = truth_rows(open_run(brief), FindingSteps(brief.trace))
    deepest = max(event.depth for event in wrong.trace.of("step") if event.interval_s[0] <= 410 < event.interval_s[1])
    assert f"no frame of it was shown; the deepest grid over it is at depth {deepest} " in text and step is not None
    assert wrong.trace.events[step].depth == deepest
    uniform = baselines.uniform(world.drawn, wrong.question, vlm=Oracle(world), cache=shared_cache)
    assert summarize(open_run(uniform))["found"] == [], "a method without evidence and grids misses no moment"
    unknown = replace(wrong, question=replace(wrong.question, positions_s=()))
    assert summarize(open_run(unknown))["found"] == []


def test_a_run_ends_on_answer_truth_and_evidence(wrong: Result, answered: Result) -> None:
    for result in (wrong, answered):
        run = open_run(result)
        first, *_, last = list(steps(run))
        said = {name: text for name, text, _ in last["said"]}
        verdict = "right" if result.is_right else "wrong"
        assert said["answer"] == f"{result.answer_in_words}, which is {verdict}"
        assert said["truth"] == result.truth_in_words
        assert all(f"[{item.label}]" in said["evidence"] for item in result.evidence)
        summary, found = summarize(run), pictures(run)
        assert (f"(truth: {result.truth_in_words})" in summary["answer"]) == (not result.is_right)
        assert first["spans"] == []
        assert found.map is not None and found.sheet is not None
        root = View(result.sheet.video, replay.atlas_of(result.trace, result.sheet.video, result.sheet.cache).root)
        sheet = Sheet(result.sheet.video, result.evidence, result.sheet.look, result.sheet.cache)
        assert found.images[found.map].size and root.grid.depth == 0
        assert found.images[found.sheet].draw() == sheet.jpeg()
    none = replace(answered, evidence=type(answered.evidence)(), prediction=0)
    said = {name: text for name, text, _ in list(steps(open_run(none)))[-1]["said"]}
    assert said["evidence"] == "none: the answer names no frame that supports it"


def test_changes_give_the_memory_after_each_step(eventful: Result) -> None:
    labels, dead = set[str](), list[tuple[float, float]]()
    for index, step in enumerate(steps(open_run(eventful))):
        change = step["change"]
        labels |= {label for label, _ in change.get("add", [])}
        labels -= set(change.get("erase", []))
        dead = [*change.get("stays", dead), *change.get("dead", [])]
        memory = replay.memory(eventful.trace, upto=index + 1)
        assert labels == set(memory.scratchpad.labels)
        zones = type(memory.dead_zones)().add_all(dead)
        root = replay.atlas_of(eventful.trace, eventful.sheet.video, eventful.sheet.cache).root
        assert abs(zones.coverage(0, root.end_s) - memory.dead_zones.coverage(0, root.end_s)) < 1e-4
        assert len(dead_cells(root, memory.dead_zones)) <= root.size
    assert dead


def timed(result: Result, seed: int = 0) -> Result:
    """Return a result whose calls took random times, as those of a model do."""
    rng = random.Random(seed)
    calls = [replace(call, wall_s=round(rng.uniform(0.5, 4), 3)) for call in result.calls]
    return replace(result, calls=tuple(calls))


def test_workers_stand_side_by_side(wrong: Result) -> None:
    for result, is_in_seconds in ((wrong, False), (timed(wrong), True)):
        times = schedule(open_run(result))
        assert times.is_in_seconds == is_in_seconds and len(times.times) == len(result.trace)
        ends: dict[tuple[int, int | None], float] = {}
        assigned = 0.0
        for event, (start, end) in zip(result.trace, times.times, strict=True):
            assert 0 <= start <= end <= times.end_of(len(result.trace))
            if event.kind == "assign":
                assigned = end
            if event.worker is not None:
                agent = event.round, event.worker
                assert start == pytest.approx(ends.get(agent, assigned)), "one call of a worker follows the other"
                ends[agent] = end
            elif event.kind in ("review", "decision", "assign"):
                assert start >= max(ends.values(), default=0.0) - 1e-9, "the Master waits for all workers"
        starts = [
            time[0]
            for event, time in zip(result.trace, times.times, strict=True)
            if event.kind == "step" and event.round == 1
        ]
        assert len(set(starts)) < len(starts), "the first steps of workers start together"
    seconds = schedule(open_run(timed(wrong))).times
    total = sum(call.wall_s for call in timed(wrong).calls)
    assert sum(end - start for start, end in seconds) == pytest.approx(total)
    assert times.end_of(len(wrong.trace)) < total, "parallel calls overlap"
    for other in (replace(timed(wrong), calls=wrong.calls[1:]), timed(wrong).trace):
        assert not schedule(open_run(other)).is_in_seconds, "unless all calls are known, steps stand in order"


def test_a_trace_from_elsewhere_cannot_ask_for_endless_outlines(answered: Result) -> None:
    place, event = next((place, event) for place, event in enumerate(answered.trace) if event.kind == "step")
    for view in ({"dead": (10**9, 5)}, {"path": (10**9,)}, {"path": (0,) * 900}, {"shift": 40}):
        start = answered.trace.events[0]
        trace = Trace((start, replace(event, view=replace(event.view, **view))))
        marks = pictures(open_run(trace)).marks[1][0]
        assert all(0 <= number <= 1 for mark in marks for number in mark[:4])
        assert len(list(steps(open_run(trace)))) == 2 and summarize(open_run(trace))["count"] == 2
    assert place
