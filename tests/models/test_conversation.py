"""What calls say, and in which order: so that a server need not read it twice, nor a model what it can see."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_doubles import Babbler

from atlaskit.agents.budget import Allotment, Budget
from atlaskit.agents.prompts import GlanceCall, ProbeCall, ReviewCall, StepCall
from atlaskit.agents.search import ask
from atlaskit.agents.task import Task
from atlaskit.agents.worker import Worker
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.observation import Observation
from atlaskit.environment.question import Question
from atlaskit.environment.render import Sheet, View
from atlaskit.errors import InputError
from atlaskit.models.errors import BadReply, ModelError, Refused
from atlaskit.models.protocol import MOST_IMAGES, CallControl, Message, Reply, Request
from atlaskit.video.subtitles import Line

QUESTION = Question("What is it?", ("a circle", "a square"))


class Listening:
    """Remembers what it is asked, and answers like another model; fails on the calls it is told to."""

    def __init__(self, model: Babbler, failing: Mapping[int, ModelError] = MappingProxyType({})) -> None:
        self.model, self.name, self.parameters = model, model.name, model.parameters
        self.failing, self.asked = failing, list[Request]()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.asked.append(request)
        if len(self.asked) in self.failing:
            raise self.failing[len(self.asked)]
        return self.model.complete(request, **control)


class LookingAround(Babbler):
    """Zooms, again and again."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        reply = super().complete(request, **control)
        cell = random.Random(len(request.messages)).choice(request.facts.observation.legal.zoom)  # type: ignore[attr-defined]
        answer = request.schema.model_validate({"thought": "", "action": {"action": "zoom", "cell": cell}})
        return replace(reply, answer=answer, text=answer.model_dump_json())


def explore(world: World, cache: Cache, model: Listening, steps: int) -> list[Request]:
    atlas = Atlas(world.drawn, k=4, cell=32, max_depth=3, cache=cache)
    errand = Task("Find it.", atlas.root.expand(3), DeadZones(), Allotment(steps), 1, 0)
    Worker(atlas, model, QUESTION).explore(errand)
    return model.asked


def grid_of(request: Request) -> Grid:
    (view,) = [part for part in request.messages[1].parts if isinstance(part, View)]
    return view.grid


def texts(messages: tuple[Message, ...]) -> str:
    return "\n".join(part for message in messages for part in message.parts if isinstance(part, str))


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_a_conversation_only_grows_while_the_view_is_the_same(world: World, shared_cache: Cache, seed: int) -> None:
    asked = explore(world, shared_cache, Listening(Babbler(seed)), 12)
    for before, now in zip(asked, asked[1:], strict=False):
        if grid_of(before) == grid_of(now):
            assert now.messages[: len(before.messages)] == before.messages
            assert len(now.messages) == len(before.messages) + 2
        else:
            assert len(now.messages) == 2 and "So far in this region" in texts(now.messages)


def test_what_was_looked_at_is_in_the_conversation(world: World, shared_cache: Cache) -> None:
    asked = explore(world, shared_cache, Listening(LookingAround()), 6)
    assert [len(request.images) for request in asked] == [1, 2, 3, 4, 5, 6]
    assert "at full size" in texts(asked[-1].messages)


def test_a_conversation_never_holds_too_many_images(world: World, shared_cache: Cache) -> None:
    """Servers are started with room for so many; what was just looked at is in the new one all the same."""
    asked = explore(world, shared_cache, Listening(LookingAround()), MOST_IMAGES + 4)
    assert max(len(request.images) for request in asked) == MOST_IMAGES
    anew = asked[MOST_IMAGES]
    assert len(anew.images) == 3 and grid_of(anew) == grid_of(asked[0])
    assert texts(anew.messages).count("looked closely at") == MOST_IMAGES - 1
    assert "at full size" in texts(anew.messages)


@pytest.mark.parametrize("error", [Refused, BadReply])
def test_a_conversation_that_is_refused_begins_anew(world: World, shared_cache: Cache, error: type[ModelError]) -> None:
    """A prompt may be too long: the same again would fail again. What was looked at last is not lost."""
    asked = explore(world, shared_cache, Listening(LookingAround(), {4: error("no")}), 8)
    assert [len(request.images) for request in asked] == [1, 2, 3, 4, 2, 3, 4, 5]
    assert texts(asked[4].messages).count("looked closely at") == 3
    assert asked[4].images[1] == asked[3].images[3]


def test_a_conversation_that_broke_off_goes_on(world: World, shared_cache: Cache) -> None:
    asked = explore(world, shared_cache, Listening(LookingAround(), {4: ModelError("the network is down")}), 6)
    before, again = asked[3].messages, asked[4].messages
    assert again[:-1] == before[:-1] and again[-1].parts[:-1] == before[-1].parts[:-1]
    assert "3 steps left" in str(before[-1].parts[-1]) and "2 steps left" in str(again[-1].parts[-1]), "it cost one"


def observed(world: World, cache: Cache, zones: DeadZones | None = None, **options: object) -> Observation:
    atlas = Atlas(world.drawn, k=4, cell=32, cache=cache, **options)  # type: ignore[arg-type]
    return atlas.observe(atlas.start(dead_zones=zones or DeadZones()))


def told(observation: Observation) -> list[str]:
    """What is told of the cells: the part right behind the picture."""
    parts = GlanceCall(QUESTION, observation).request().messages[1].parts
    place = next(index for index, part in enumerate(parts) if isinstance(part, View))
    assert isinstance(parts[place + 1], str)
    return parts[place + 1].split("\n")  # type: ignore[union-attr]


def said(observation: Observation, *lines: Line) -> Observation:
    return replace(observation, subtitles=lines)


def test_only_cells_with_something_to_tell_are_listed(world: World, shared_cache: Cache) -> None:
    quiet = said(observed(world, shared_cache))
    assert told(quiet) == ["Nothing is said, or there are no subtitles."]
    dead = said(observed(world, shared_cache, DeadZones().add(0, 75).add(150, 187.5)))
    assert told(dead)[0] == "Ruled out, and black: 0–1, 4."
    long = said(quiet, Line(30.0, 80.0, "Long."), Line(599.0, 599.5, "Late."))
    assert told(long) == [
        "Said in this time, each line after the number of its cell:",
        '0: "Long." [30.0–80.0 s]',
        '15: "Late." [599.0–599.5 s]',
    ]
    assert told(said(dead, Line(30.0, 80.0, "Long.")))[2] == '2: "Long." [30.0–80.0 s]', "the first that is open"
    assert "Short" not in "\n".join(told(said(dead, Line(1.0, 2.0, "Short.")))), "all of it lies in what is ruled out"


def test_the_papers_form_lists_every_cell(world: World, shared_cache: Cache) -> None:
    seen = observed(world, shared_cache, DeadZones().add(0, 37.5), cells="full")
    lines = told(said(seen, Line(30.0, 80.0, "Long.")))
    assert len(lines) == 17
    assert lines[1:4] == [
        "Cell 0, 0.000–37.500 s: ruled out",
        'Cell 1, 37.500–75.000 s: frame at 56.250 s "Long." [30.0–80.0 s]',
        'Cell 2, 75.000–112.500 s: frame at 93.750 s "Long." [30.0–80.0 s]',
    ]
    with pytest.raises(InputError, match="'sparse'"):
        observed(world, shared_cache, cells="sparse")


@given(times=st.lists(st.tuples(st.floats(0, 599.9), st.floats(0, 90)), max_size=12), dead=st.sets(st.integers(0, 15)))
def test_no_line_is_lost(world: World, shared_cache: Cache, times: list[tuple[float, float]], dead: set[int]) -> None:
    """Each line that is heard in an open cell is told once, and in the paper's form in every such cell."""
    grid = Grid(0.0, 600.0, 4)
    zones = DeadZones()
    for cell in dead:
        zones = zones.add(grid.cells[cell].start_s, grid.cells[cell].end_s)
    lines = [Line(start_s, min(600.0, start_s + span_s), f"line {i}.") for i, (start_s, span_s) in enumerate(times)]
    for cells in ("compact", "full"):
        text = "\n".join(told(said(observed(world, shared_cache, zones, cells=cells), *lines)))
        for line in lines:
            heard = [
                cell.index
                for cell in grid.cells
                if cell.index not in dead
                and (cell.start_s <= line.start_s < cell.end_s or line.start_s < cell.start_s < line.end_s)
            ]
            assert text.count(f'"{line.text}"') == (len(heard) if cells == "full" else min(1, len(heard)))


def test_too_many_subtitles_are_not_listed(world: World, shared_cache: Cache) -> None:
    lines = [Line(float(second), second + 1.0, "blah " * 20) for second in range(500)]
    assert told(said(observed(world, shared_cache), *lines)) == ["500 lines are said in this time, too many to list."]


def test_calls_about_one_picture_have_their_start_in_common(world: World, shared_cache: Cache) -> None:
    seen = observed(world, shared_cache)
    kept = Scratchpad().add([Evidence(93.75, 75.0, 112.5, "A red circle.", 0.9)])
    sheet = Sheet(world.drawn, kept, 32, cache=shared_cache)
    probe = ProbeCall(QUESTION, "Find it.", seen, (1, 2), 2, Scratchpad()).request()
    other = ProbeCall(replace(QUESTION, text="Who is it?"), "Find her.", seen, (1, 2), 2, Scratchpad()).request()
    glance = GlanceCall(QUESTION, seen).request()
    review = ReviewCall(QUESTION, "Find it.", sheet, seen, (1, 2)).request()
    assert probe.messages[0] == glance.messages[0]
    assert probe.messages[1].parts[:3] == glance.messages[1].parts[:3] == other.messages[1].parts[:3]
    assert probe.messages[1].parts[3] == other.messages[1].parts[3], "fixed words come before what varies"
    assert review.messages[0] == probe.messages[0] and review.messages[1].parts[:3] == probe.messages[1].parts[:3]
    opening = StepCall(QUESTION, "Find it.", seen, (), (), 5).opening(())
    later = StepCall(QUESTION, "Find it.", seen, (), (), 4).opening(["- opened 0:01.0–0:02.0"])
    assert opening[1].parts[:6] == later[1].parts[:6]


def test_a_worker_is_told_of_the_actions_it_has(world: World, shared_cache: Cache) -> None:
    for traversal, its_own, others in (("dfs", "expand:", "mark_promising"), ("bfs", "mark_promising:", "expand")):
        atlas = Atlas(world.drawn, k=4, cell=32, max_depth=3, cache=shared_cache)
        state = atlas.start(atlas.root.expand(3), traversal=traversal)  # type: ignore[arg-type]
        opening = StepCall(QUESTION, "Find it.", atlas.observe(state), (), (), 5).opening(())
        assert its_own in texts(opening) and others not in texts(opening)


def test_the_form_of_the_cells_is_a_setting_of_the_run(world: World, shared_cache: Cache) -> None:
    small = {"vlm": Babbler(1), "k": 4, "cell": 32, "cache": shared_cache, "budget": Budget(calls=5)}
    runs = [ask(world.drawn, QUESTION, cells=cells, **small) for cells in ("compact", "full")]  # type: ignore[arg-type]
    assert [run.settings["cells"] for run in runs] == ["compact", "full"]
    assert runs[0].to_json() != runs[1].to_json()
