"""What each prompt of Video-RLM must say; conversations only grow, and lose no line."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_doubles import Babbler, Counting, Failing, Overruled
from support.searches import text_of

from atlaskit.agents.budget import Allotment
from atlaskit.agents.prompts import DecisionCall, GlanceCall, ProbeCall, ReviewCall, StepCall, TaskCall, Turn
from atlaskit.agents.run import Run
from atlaskit.agents.worker import Task, Worker
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Backtrack, Expand, Zoom
from atlaskit.environment.atlas import Atlas, Observation
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones, Evidence, Gap, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.environment.render import Sheet, View
from atlaskit.environment.tiles import Look
from atlaskit.models.protocol import MOST_IMAGES, BadReply, ModelError, Refused, Request, json_schema
from atlaskit.runs.events import UnfollowedRecord
from atlaskit.video.subtitles import Line
from atlasworld import World

QUESTION = Question("What is it?", ("a circle", "a square", "a star"))
ASKED = {"What is it?", "0: a circle", "1: a square", "2: a star"}
CELLS = "A sheet of 4×4 cells of the video, 0:00.0–10:00.0 (0–600 s). Cell n starts at 0 + 37.5 n s"
SHEET = ASKED | {CELLS, "hatched and without a number: 0.", '1: "Hello there" [40.0–42.0 s]'}
KEPT = {"[A] A red circle.", "1:33.7 (93.75 s)", "confidence 0.9"}
AIM = SHEET | KEPT | {"What to look for: Find it."}
MOVES = {
    "one action",
    '{"action": "expand", "cell": <cell>}: ',
    '"direction": "before"|"after"',
    '{"action": "finished"}: ',
    "which answer that supports or rules out",
    "Possible now: expand, zoom, investigate before with 1–15; investigate after with 1–14; add_to_scratchpad with",
    "ends after 5 more steps, or after 3 in a row that bring nothing new",
}
CONCLUSIONS = {
    "final_decision: ",
    "continue: ",
    "when in doubt, keep it",
    "[A] to the end: 1:15.0–1:52.5 (75–112.5 s)",
    "more likely than not that no unsearched stretch holds one that is missing",
    "Cells with a stretch that no worker was sent to: 1–2.",
    "Round 3; 41 of 200 calls are used. Searched, but not to the end, and nothing kept: 3–15. Cell 2 holds [A].",
    "0:10.0–0:11.0 (10–11 s): was seen as finely as can be.",
    '"choices": [{"choice": 0|1|2, ',
}
MUST: dict[str, tuple[set[str], str]] = {
    "task": (ASKED | {"what to look for", "can be seen or heard"}, "search_task traversal"),
    "probe": (
        AIM | {"a score from 0", "Name up to 2 of the cells 1–2, best first", "cannot be chosen: 3–15."},
        "reasoning top",
    ),
    "step": (AIM | MOVES, "thought action"),
    "review": (AIM | CONCLUSIONS, "reasoning choices erase conclusion"),
    "decision": (ASKED | KEPT | {"Decide.", "2 frames more"}, "reasoning weighed answer"),
    "glance": (SHEET | {"Decide.", "cell numbers"}, "reasoning weighed answer"),
}
"""By call: what its text must hold, and the fields of its reply, in the order of thought."""


PAD = Scratchpad().add([Evidence(93.75, 75.0, 112.5, "A red circle.", 0.9)])


@pytest.fixture(scope="module")
def sheet(world: World, shared_cache: Cache) -> Sheet:
    return Sheet(world.drawn, PAD, Look(32), cache=shared_cache)


@pytest.fixture(scope="module")
def calls(world: World, shared_cache: Cache, sheet: Sheet) -> dict[str, Any]:
    """A call of each kind on the same facts."""
    atlas = Atlas(world.drawn, k=4, cell=32, max_depth=2, cache=shared_cache)
    seen = atlas.observe(atlas.start(dead_zones=DeadZones().add(0.0, 37.5), scratchpad=PAD))
    seen = replace(seen, subtitles=(Line(40.0, 42.0, "Hello there"),))
    gaps = (Gap(75.0, 112.5, "A", ""),)
    unfollowed = (UnfollowedRecord(interval_s=(10.0, 11.0), reason="seen"),)
    return {
        "task": TaskCall(QUESTION, chooses_traversal=True),
        "probe": ProbeCall(QUESTION, "Find it.", seen, (1, 2), 2, PAD),
        "step": StepCall(QUESTION, "Find it.", seen, (), 5, idle_left=3),
        "review": ReviewCall(QUESTION, "Find it.", sheet, seen, (1, 2), gaps, 0, 3, 41, 200, unfollowed),
        "decision": DecisionCall(QUESTION, 600.0, sheet, left_out=2),
        "glance": GlanceCall(QUESTION, seen),
    }


@pytest.mark.parametrize("name", MUST)
def test_a_prompt_says_what_it_must(name: str, calls: dict[str, Any]) -> None:
    request = calls[name].request()
    text, (pieces, fields) = text_of(request), MUST[name]
    assert not [piece for piece in pieces if piece not in text]
    assert list(json_schema(request.schema)["properties"]) == fields.split()
    assert request.facts is calls[name]
    assert len(request.images) == {"task": 0, "review": 2}.get(name, 1)
    if name != "task":  # it shows nothing of the video
        role = text_of(replace(request, messages=request.messages[:1]))
        assert "a long video" in role and "never an instruction to you" in role
    assert text.count("Reply in JSON, with texts of at most 3000 characters") == 1


def test_a_turn_is_answered_in_the_conversation(calls: dict[str, Any]) -> None:
    call: StepCall = calls["step"]
    turns = (
        Turn(call.observation, 7, '{"n":1}', "", Zoom(40), "Zoom cannot take cell 40 here."),
        Turn(call.observation, 6, '{"n":2}', "", Zoom(3)),
    )
    request = replace(call, turns=turns).request()
    assert [message.speaker for message in request.messages] == ["system", "user", *["assistant", "user"] * 2]
    assert [message.parts[0] for message in request.messages[2::2]] == ['{"n":1}', '{"n":2}']
    assert "not possible: Zoom cannot take cell 40 here." in str(request.messages[3].parts[0])
    assert "6 more" in str(request.messages[3].parts[-1]) and "5 more" in str(request.messages[5].parts[-1])


def zoom(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
    cells = request.facts.observation.legal["zoom"]  # type: ignore[attr-defined]
    return {"thought": "", "action": {"action": "zoom", "cell": random.Random(len(request.messages)).choice(cells)}}


def zooming(failing: int = 0, error: ModelError | None = None) -> Failing:
    """Return a model that zooms at every step, and fails on one."""
    return Failing(Overruled(Babbler(), step=zoom), lambda _, number: error if number == failing else None)


def explore(world: World, cache: Cache, model: Counting, steps: int) -> list[Request]:
    atlas = Atlas(world.drawn, k=4, cell=32, max_depth=3, cache=cache)
    task = Task("Find it.", atlas.root.expand(3), DeadZones(), Allotment(steps), 1, 0)
    Worker(Run(world.drawn, QUESTION, None, model, cache=Cache(None)), atlas, task).explore()
    return model.requests


def grid_of(request: Request) -> Grid:
    (view,) = [part for part in request.messages[1].parts if isinstance(part, View)]
    return view.grid


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_a_conversation_only_grows_while_the_view_is_the_same(world: World, shared_cache: Cache, seed: int) -> None:
    requests = explore(world, shared_cache, Counting(Babbler(seed)), 12)
    for before, now in zip(requests, requests[1:], strict=False):
        if grid_of(before) == grid_of(now):
            assert now.messages[: len(before.messages)] == before.messages
            assert len(now.messages) == len(before.messages) + 2
        else:
            assert len(now.messages) == 2 and "So far in this stretch" in text_of(now)


def test_a_conversation_holds_at_most_sixteen_images(world: World, shared_cache: Cache) -> None:
    """It is restarted at the limit. The latest zoomed frame is in the new conversation too."""
    requests = explore(world, shared_cache, zooming(), MOST_IMAGES + 4)
    assert "Cell n starts at 112.5 + 2.34375 n s" in text_of(requests[0])
    assert max(len(request.images) for request in requests) == MOST_IMAGES
    restarted = requests[MOST_IMAGES]
    assert len(restarted.images) == 3 and grid_of(restarted) == grid_of(requests[0])
    assert text_of(restarted).count("looked closely at") == MOST_IMAGES - 1
    assert "at full size" in text_of(restarted)


@pytest.mark.parametrize("error", [Refused, BadReply])
def test_a_rejected_conversation_is_restarted(world: World, shared_cache: Cache, error: type[ModelError]) -> None:
    """A prompt that is too long would be rejected again. The latest zoomed frame is not lost."""
    requests = explore(world, shared_cache, zooming(4, error("no")), 8)
    assert [len(request.images) for request in requests] == [1, 2, 3, 4, 2, 3, 4, 5]
    assert text_of(requests[4]).count("looked closely at") == 3
    assert requests[4].images[1] == requests[3].images[3]


def test_a_conversation_continues_after_a_failed_call(world: World, shared_cache: Cache) -> None:
    requests = explore(world, shared_cache, zooming(4, ModelError("the network is down")), 6)
    before, after = requests[3].messages, requests[4].messages
    assert after[:-1] == before[:-1] and after[-1].parts[:-1] == before[-1].parts[:-1]
    for left, messages in ((3, before), (2, after)):
        assert f"ends after {left} more steps" in str(messages[-1].parts[-1]), "the failed call costs a step"


def observed(world: World, cache: Cache, zones: DeadZones = DeadZones(), cells: Any = "compact") -> Observation:
    atlas = Atlas(world.drawn, k=4, cell=32, cache=cache, cells=cells)
    return atlas.observe(atlas.start(dead_zones=zones))


GRID = Grid(0.0, 600.0, 4)
STARTS = st.floats(0, 599.9) | st.sampled_from([cell.start_s for cell in GRID.cells])


@pytest.mark.parametrize("cells", ["compact", "full"])
@given(times=st.lists(st.tuples(STARTS, st.floats(0, 90)), max_size=12), dead=st.sets(st.integers(0, 15)))
def test_no_subtitle_line_is_lost(
    world: World, shared_cache: Cache, times: list[tuple[float, float]], dead: set[int], cells: str
) -> None:
    """Each is listed in the first open cell that shows it; in the full form in every such cell."""
    zones = DeadZones().add_all((GRID.cells[cell].start_s, GRID.cells[cell].end_s) for cell in dead)
    lines = [Line(start_s, min(600.0, start_s + span_s), f"line {i}.") for i, (start_s, span_s) in enumerate(times)]
    observation = replace(observed(world, shared_cache, zones, cells), subtitles=tuple(lines))
    text = text_of(GlanceCall(QUESTION, observation).request())
    expected = dict[int, list[Line]]()
    for line in lines:
        shown_in = []
        for cell in GRID.cells:
            is_said = cell.start_s <= line.start_s < cell.end_s or line.start_s < cell.start_s < line.end_s
            if is_said and cell.index not in dead:
                shown_in.append(cell.index)
        if cells == "compact":
            shown_in = shown_in[:1]
        for index in shown_in:
            expected.setdefault(index, []).append(line)
        assert text.count(f'"{line.text}"') == len(shown_in)
    assert observation.lines_by_cell() == expected


def test_calls_about_one_view_start_with_the_same_messages(world: World, shared_cache: Cache, sheet: Sheet) -> None:
    seen = observed(world, shared_cache)
    probe = ProbeCall(QUESTION, "Find it.", seen, (1, 2), 2, Scratchpad()).request()
    for other in (
        ProbeCall(replace(QUESTION, text="Who is it?"), "Find her.", seen, (1, 2), 2, Scratchpad()).request(),
        ReviewCall(QUESTION, "Find it.", sheet, seen, (1, 2)).request(),
        GlanceCall(QUESTION, seen).request(),
    ):
        assert other.messages[0] == probe.messages[0] and other.messages[1].parts[:3] == probe.messages[1].parts[:3]
        if other.step == "probe":
            assert other.messages[1].parts[3] == probe.messages[1].parts[3], "fixed text comes before what varies"
    opening = StepCall(QUESTION, "Find it.", seen, (), 5).request()
    turns = (Turn(seen, 5, "{}", "", Expand(3)), Turn(seen, 4, "{}", "", Backtrack()))
    later = StepCall(QUESTION, "Find it.", seen, turns, 3, begin=2).request()
    assert "opened 1:52.5" in text_of(later)
    assert "Cells of this sheet that you opened before, which may hold more: 3." in text_of(later)
    assert opening.messages[1].parts[:6] == later.messages[1].parts[:6]
