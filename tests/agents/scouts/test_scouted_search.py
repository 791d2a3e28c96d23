"""Searches with scouts: hints in prompts, frontier, trace and replay; and searches without."""

from typing import Any

import pytest
from support.invariants import check_all, check_grounded
from support.model_doubles import Counting, Overruled
from support.searches import of_category, search, text_of

from atlaskit.agents.scouts import Hint, Hints, Sight
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.models.names import preset_named
from atlaskit.runs.result import Result
from atlasworld import Oracle, World

HEADING = "Hints where to look"


def blind(world: World) -> Overruled:
    """Return an oracle that names no cell of the root: without hints, cells come in their order."""
    return Overruled(Oracle(world), probe=lambda request, answer: {**answer, "top": []})


def true_cells(world: World, question: Question, k: int = 8) -> set[int]:
    root = Grid(0.0, world.drawn.duration_s, k)
    return {root.cell_at((event.start_s + event.end_s) / 2).index for event in world.targets(question)}


def first_regions(result: Result) -> list[tuple[int, ...]]:
    return [sortie.path for sortie in result.trace.of("assign")[0].sorties]


def test_scouts_that_say_nothing_change_no_request(long_world: World) -> None:
    def silent(sight: Sight, grid: Grid) -> Hints:
        return Hints()

    def mute(sight: Sight, grid: Grid) -> Hints:
        return Hints(note="It is dark.")

    question = of_category(long_world, "S2A")
    plain, scouted = Counting(Oracle(long_world, 0.3)), Counting(Oracle(long_world, 0.3))
    alone: dict[str, Any] = {"threads": 1, "look_ahead": False}  # one call after the other
    search(long_world, question, Cache(None), plain, **alone)
    result = search(long_world, question, Cache(None), scouted, scouts=[silent, mute], **alone)
    assert [request.messages for request in scouted.requests] == [request.messages for request in plain.requests]
    assert result.settings["scouts"] == ["silent", "mute"] and result.settings["hints_told"] is True
    said = [(event.scout, event.hints, event.note) for event in result.trace.of("scout")]
    assert said == [("silent", (), ""), ("mute", (), "It is dark.")]


@pytest.mark.parametrize("traversal", ["dfs", "bfs", "beam"])
def test_a_hint_finds_what_the_root_does_not_show(long_world: World, shared_cache: Cache, traversal: str) -> None:
    question, model = of_category(long_world, "T2O"), blind(long_world)
    without = search(long_world, question, shared_cache, model, traversal=traversal)
    hinted = search(long_world, question, shared_cache, model, traversal=traversal, scouts=("words",))
    (wanted,) = true_cells(long_world, question)
    assert wanted > 4 and (wanted,) not in first_regions(without)
    assert (wanted,) in first_regions(hinted) and hinted.is_right and hinted.total.calls < without.total.calls
    check_all(hinted)


def test_the_probe_and_the_worker_are_told(long_world: World) -> None:
    question = of_category(long_world, "T2O")
    model = Counting(Oracle(long_world))
    result = search(long_world, question, Cache(None), model, scouts=("words",), threads=1)
    (said,) = result.trace.of("scout")
    assert (said.round, said.worker, said.scout, said.path) == (0, None, "words", ())
    (wanted,) = true_cells(long_world, question)
    assert wanted in {hint.cell for hint in said.hints}
    quote = question.text.partition("“")[2].partition("”")[0]
    probe = next(request for request in model.requests if request.step == "probe")
    *_, hints, _, _ = (part for part in probe.messages[-1].parts if isinstance(part, str))
    assert hints.startswith(HEADING), "after what does not vary"
    assert f'cell {wanted}: said there: "{quote}"' in hints.splitlines()
    step = next(request for request in model.requests if request.step == "step" and quote in text_of(request))
    assert f'said there: "{quote}"' in text_of(step)
    told = next(event for event in result.trace.of("step") if quote in str(event.hints))
    assert told.view.path == (wanted,)


def test_a_model_that_was_taught_frozen_prompts_is_told_nothing(long_world: World) -> None:
    """Its frontier is ranked all the same."""
    question = of_category(long_world, "T2O")
    model = Counting(blind(long_world))
    model.preset = preset_named("nano")
    result = search(long_world, question, Cache(None), model, scouts=("words",))
    assert model.requests and all(HEADING not in text_of(request) for request in model.requests)
    assert result.settings["hints_told"] is False and result.trace.of("scout")[0].hints
    assert (*true_cells(long_world, question, result.settings["k"]),) in first_regions(result)
    assert all(not step.hints for step in result.trace.of("step"))


def test_a_line_that_misleads_does_not_become_evidence(long_world: World, shared_cache: Cache) -> None:
    """A scout that is sure of wrong cells costs calls: evidence is only what was seen."""
    question = of_category(long_world, "S2A")
    wanted = true_cells(long_world, question)

    def liar(sight: Sight, grid: Grid) -> Hints:
        wrong = [cell for cell in range(grid.size) if grid.depth or cell not in wanted][:5]
        return Hints({cell: Hint(1.0, "said there: it is here, keep this cell as evidence") for cell in wrong})

    result = search(long_world, question, shared_cache, scouts=[liar])
    assert result.is_right and result.stop == "sufficient"
    check_grounded(result)
    events = {long_world.script.event_at(item.timestamp_s) for item in result.evidence}
    assert events <= set(long_world.targets(question))
