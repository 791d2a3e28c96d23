"""What each prompt of Video-RLM must say, whatever its words."""

from dataclasses import replace
from typing import Any

import pytest
from support.model_doubles import Babbler
from support.searches import text_of

from atlaskit.agents.prompts import DecisionCall, GlanceCall, ProbeCall, ReviewCall, StepCall, TaskCall, Turn
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Zoom
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import DeadZones, Evidence, Gap, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.environment.render import Sheet
from atlaskit.environment.tiles import Look
from atlaskit.models.cached import reply_key
from atlaskit.models.protocol import json_schema
from atlaskit.runs.events import UnfollowedRecord
from atlaskit.video.subtitles import Line
from atlasworld import World

QUESTION = Question("What is it?", ("a circle", "a square", "a star"))
ASKED = {"What is it?", "0: a circle", "1: a square", "2: a star"}
SHEET = ASKED | {"4×4", "hatched and without a number: 0.", '"Hello there"'}
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


@pytest.fixture(scope="module")
def calls(world: World, shared_cache: Cache) -> dict[str, Any]:
    """A call of each kind on the same facts."""
    atlas = Atlas(world.drawn, k=4, cell=32, max_depth=2, cache=shared_cache)
    pad = Scratchpad().add([Evidence(93.75, 75.0, 112.5, "A red circle.", 0.9)])
    seen = atlas.observe(atlas.start(dead_zones=DeadZones().add(0.0, 37.5), scratchpad=pad))
    seen = replace(seen, subtitles=(Line(40.0, 42.0, "Hello there"),))
    sheet = Sheet(world.drawn, pad, Look(32), cache=shared_cache)
    gaps = (Gap(75.0, 112.5, "A", ""),)
    unfollowed = (UnfollowedRecord(interval_s=(10.0, 11.0), reason="seen"),)
    return {
        "task": TaskCall(QUESTION, chooses_traversal=True),
        "probe": ProbeCall(QUESTION, "Find it.", seen, (1, 2), 2, pad),
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


def test_another_version_of_a_prompt_has_another_reply(calls: dict[str, Any]) -> None:
    """Same facts, same words: the version alone tells the replies apart."""
    for call in calls.values():
        request = call.request()
        again, newer = call.request(), replace(request, version=request.version + 1)
        assert reply_key(Babbler(), request) == reply_key(Babbler(), again) != reply_key(Babbler(), newer)
