"""`second_look`: what a coarse look missed is found between its frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.invariants import check_grounded, check_memory, check_search
from support.model_doubles import Counting
from support.searches import search

from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import SUB_SECOND, Grid
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.protocol import Request
from atlaskit.runs import replay
from atlaskit.runs.result import Result
from atlaskit.viz.walk.regions import regions
from atlaskit.viz.walk.source import open_run

AGAIN: Mapping[str, Any] = {"second_look": True, "k": 4}


class Nearsighted(Oracle):
    """Sees a wanted event only in a grid that is shifted, or in none."""

    sees_between = True

    def complete(self, request: Request, **control: Any) -> Any:
        observation = getattr(request.facts, "observation", None)
        is_shifted = observation is not None and observation.state.grid.shift
        blind = Oracle(self.world, 1.0, seed=self.seed)
        sees = request.step != "step" or (is_shifted and self.sees_between)
        return (Oracle(self.world) if sees and request.step != "probe" else blind).complete(request)


@pytest.fixture(scope="module")
def question(small_world: World) -> Question:
    return next(question for question in small_world.questions if question.category == "T2O")


@pytest.fixture(scope="module")
def found(small_world: World, question: Question) -> Result:
    return search(small_world, question, Cache(None), Nearsighted(small_world), **AGAIN)


def test_it_finds_what_lies_between_the_frames(small_world: World, question: Question, found: Result) -> None:
    once = search(small_world, question, Cache(None), Nearsighted(small_world), k=4)
    assert (once.stop, once.is_right) == ("explored", False)
    assert (found.stop, found.is_right) == ("sufficient", True)
    (reopened,) = found.trace.of("reopen")
    assert len(reopened.paths) == 16 and len(reopened.dead_zones_s) == 1, "one grid was opened to the end"
    shifted = [event for event in found.trace.of("step") if event.view.shift]
    assert shifted and all(event.interval_s[0] % 37.5 for event in shifted), "cells of the root last 37.5 s"
    check_grounded(found)
    check_memory(found)
    check_search(found)


@pytest.mark.parametrize("traversal", ["dfs", "bfs", "beam"])
def test_what_is_ruled_out_twice_stays_so(small_world: World, question: Question, traversal: str) -> None:
    class Blind(Nearsighted):
        sees_between = False

    result = search(small_world, question, Cache(None), Blind(small_world), traversal=traversal, **AGAIN)
    assert (result.stop, result.dead_zones.intervals) == ("explored", ((0.0, 600.0),))
    assert len(result.trace.of("reopen")) == 1
    visits = [(s.path, s.shift) for e in result.trace.of("assign") for s in e.sorties]
    assert all(visits.count(visit) == 1 for visit in visits) and len(visits) >= 32
    check_memory(result)


def test_it_replays_and_draws_the_same(small_world: World, question: Question, found: Result) -> None:
    cache = Cache(None)
    first = search(small_world, question, cache, Nearsighted(small_world), **AGAIN)
    model = Counting(Nearsighted(small_world))
    again = search(small_world, question, cache, model, replay=True, **AGAIN)
    assert (again.to_json(), first.to_json(), model.calls) == (found.to_json(), found.to_json(), [])
    assert replay.memory(found.trace).dead_zones == found.dead_zones
    shown = [image for image in replay.pictures(found.trace, small_world.drawn, cache) if image.what == "view"]
    assert any(image.picture.grid.shift for image in shown)
    told = [region["told"] for region in regions(open_run(found))]
    assert any("between" in each for each in told)


def test_it_can_show_other_frames_than_the_first_look(small_world: World, question: Question) -> None:
    cache = Cache(None)
    result = search(small_world, question, cache, Nearsighted(small_world), second_look="salient", k=4)
    assert result.settings["second_look"] == "salient" and result.trace.of("reopen")
    atlas = Atlas(small_world.drawn, k=4, cell=64, cache=cache)
    first, second = Grid(0.0, 600.0, 4, (5,)), Grid(0.0, 600.0, 4, (5,)).between()
    salient = replace(atlas, between="salient")
    assert salient.observe(salient.start(first)).view.key == atlas.observe(atlas.start(first)).view.key
    moments_s = salient.observe(salient.start(second)).view.moments
    assert moments_s == tuple(small_world.drawn.moments([(c.start_s, c.end_s) for c in second.cells], "salient"))
    assert moments_s != atlas.observe(atlas.start(second)).view.moments
    shown = [image for image in replay.pictures(result.trace, small_world.drawn, cache) if image.what == "view"]
    rules = {image.picture.look.sampling for image in shown if image.picture.grid.shift}
    assert rules == {"salient"}, "each is drawn with the key that the trace records"
    with pytest.raises(InputError, match=r"second_look is True, False or one of .*salient.*; got 'best'"):
        search(small_world, question, cache, Nearsighted(small_world), second_look="best", k=4)


def test_what_was_seen_as_finely_as_can_be_stays_ruled_out(small_world: World, question: Question) -> None:
    """Nothing lies between frames that are less than a second apart, or at the greatest depth."""
    blind = Oracle(small_world, 1.0)
    finest = search(small_world, question, Cache(None), blind, second_look=True, k=8)
    assert Grid(0.0, 600.0, 8, (0,)).resolution_s < SUB_SECOND
    assert finest.stop == "explored" and not finest.trace.of("reopen")
    shallow = search(small_world, question, Cache(None), blind, max_depth=1, **AGAIN)
    assert shallow.stop == "explored" and not shallow.trace.of("reopen")
