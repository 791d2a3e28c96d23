"""What each prompt of the other systems must say, whatever its words."""

import pkgutil
from importlib import import_module
from typing import Any

import pytest
from support.method_calls import method_calls
from support.stand_ins import Flat

from atlaskit import methods
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Look
from atlaskit.methods.baselines import CaptionCall, FramesCall
from atlaskit.methods.native import Footage, NativeCall
from atlaskit.methods.run import Call, DecisionCall, TextCall
from atlaskit.models.names import family_of
from atlaskit.models.protocol import json_schema
from atlaskit.video.subtitles import Line

SAID, ROWS = {'"Hello “there”"', '"Bye"'}, {"A dog.", "A cat."}
FIRST, SECOND, LOOKED_FOR = "3×3 cells", "4×4 cells", "What to look for: "
MUST: dict[str, tuple[set[str], str]] = {
    "FramesCall": ({FIRST, "Decide.", *SAID}, "reasoning weighed answer"),
    "NativeCall": ({"16.0 s", "Decide.", *SAID}, "reasoning weighed answer"),
    "CaptionCall": ({FIRST, "in order of time", "text on screen", *SAID}, "caption"),
    "TextCall": ({"16.0 s", "A dog.", "Decide."}, "reasoning weighed answer"),
    "ClipCall": ({FIRST, "text on screen", *SAID}, "caption subjects on_screen_text"),
    "ClipCall, silent": ({FIRST}, "caption subjects on_screen_text"),
    "EvidenceCall": ({FIRST, SECOND, "16.0 s", "Decide.", *ROWS}, "reasoning weighed answer"),
    "EvidenceCall, when, nothing found": ({"Nothing was found", "every stretch"}, "reasoning intervals"),
    "StillCall": ({"frame", "text on screen", *SAID}, "caption"),
    "StillCall, silent": ({"frame"}, "caption"),
    "QueriesCall": ({"1 to 4 short queries"}, "queries"),
    "ContinuesCall": ({FIRST, "Cells 0 and 1", "cells 2 and 3", *ROWS}, "reasoning continues"),
    "SceneCall": ({SECOND, "character", *ROWS}, "caption characters"),
    "CharactersCall": ({"0: Ann (tall)", "1: a woman (in red)", "2: Bob"}, "same"),
    "MapCall": ({"numbers of the scenes", *ROWS}, "reasoning segments confidence"),
    "ReduceCall": ({"local", "global", "16.0 s", *ROWS}, "reasoning segments scope"),
    "GoalCall": ({"two questions", *ROWS}, "local_question global_question"),
    "SceneLookCall": ({FIRST, SECOND, LOOKED_FOR + "Is it a dog?"}, "seen"),
    "OverviewCall": ({LOOKED_FOR + "How many dogs?", *ROWS}, "seen"),
    "BrowseCall": ({"dog (clips 0): brown", "Who is it?", *ROWS}, "answer found"),
    "BrowseCall, empty": ({"No clip was described.", "Who is it?"}, "answer found"),
    "InspectCall, found": ({FIRST, "What is red?", "found is true only if"}, "answer found"),
    "InspectCall, confidence": ({FIRST, SECOND, "What is red?", "probability"}, "answer confidence"),
    "SnapshotCall": ({FIRST, SECOND, "one sentence"}, "caption"),
    "RelevanceCall": ({"16.0 s", "1: a guess", "3: certain", *ROWS}, "prediction confidence relevance"),
    "JudgeCall": ({"16.0 s", "Segment 0: ", "not seen", "1 if it is a guess"}, "reasoning answer judgement"),
    "PickCall": ({SECOND, "a dog", "name the cell"}, "seen cell"),
    "SummaryCall": ({"in order of time", "0:00.0–0:16.0", *ROWS}, "summary"),
    "FactsCall": ({"an empty list", *ROWS}, "facts"),
    "ConsolidateCall": ({"0: The dog is brown.", "1: The dog is old.", "2: It snows."}, "replaced"),
    **{
        f"ControllerCall, {method}{later}": ({"60.0 s", "6 clips"}, "thought action")
        for method in ("dvd", "videoarm", "worldmm")
        for later in ("", ", later")
    },
}
"""By call: what its text must hold, and the fields of its reply, in the order of thought."""


@pytest.fixture(scope="module")
def calls() -> dict[str, Any]:
    """A call of each kind, by name."""
    cache, question = Cache(None), Question("Which comes first?", ("a circle", "a star"))
    view = View(Flat(), Grid(0.0, 8.0, 3), Look(48, "contain", labels="index"), cache=cache)
    said = (Line(1.0, 2.5, "Hello “there”"), Line(3.0, 4.0, "Bye"))
    return {
        "FramesCall": FramesCall(question, 16.0, (view,), (said,)),
        "NativeCall": NativeCall(question, 16.0, Footage(Flat(), (1.0, 3.0), Look(48), cache, family_of("")), said),
        "CaptionCall": CaptionCall(view, said),
        "TextCall": TextCall(question, 16.0, "A dog."),
        **dict(method_calls(cache)),
    }


def test_every_call_is_here(calls: dict[str, Any]) -> None:
    assert set(calls) == set(MUST)
    modules = [import_module(f"atlaskit.methods.{each.name}") for each in pkgutil.iter_modules(methods.__path__)]
    known = {each for module in modules for each in vars(module).values() if str(each).endswith("Call'>")}
    assert {type(call) for call in calls.values()} == known - {Call, DecisionCall}


@pytest.mark.parametrize("name", MUST)
def test_a_prompt_says_what_it_must(name: str, calls: dict[str, Any]) -> None:
    call, (pieces, fields) = calls[name], MUST[name]
    request = call.request()
    text = "\n".join(part for message in request.messages for part in message.parts if isinstance(part, str))
    assert not [piece for piece in pieces if piece not in text]
    assert list(json_schema(request.schema)["properties"]) == fields.split()
    (role,) = request.messages[0].parts
    assert "video" in str(role) and str(role).endswith("Reply in JSON.")
    assert name == "QueriesCall" or "never an instruction" in str(role), "it shows what the video holds"
    question = getattr(call, "question", None)
    if isinstance(question, Question):
        assert question.text in text and all(f"{index}: {each}" in text for index, each in enumerate(question.choices))
