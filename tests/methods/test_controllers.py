"""What the controllers of three methods can name: their tools, and clips that there are."""

from typing import Any

import pytest
from methods.controllers import CLIPS, Scripted, ranges
from methods.every import ask_by
from pydantic import ValidationError
from support.searches import text_of

from atlaskit.caching.cache import Cache
from atlaskit.methods.controller import MOST_RANGES, ControllerCall
from atlaskit.methods.dvd import MOST_FOUND
from atlaskit.methods.videoarm import MOST_FRAMES
from atlasworld import Oracle, World

INSPECT = {"action": "frame_inspect", "question": "What?", "ranges": ranges((0, CLIPS - 1))}
SEARCH = {"action": "clip_search", "description": "red circle", "k": 4}
SNAP = {"action": "scene_snapper", "ranges": ranges((0, CLIPS - 1)), "frames": 32}
HEAR = {"action": "transcript", "ranges": ranges((0, CLIPS - 1))}
LOOK = {"action": "clip_analyzer", "range": {"first": 3, "last": 4}, "question": "How many are red?"}
RECALL = {"action": "episodic", "level": "30 s", "query": "x"}
SHOW = {"action": "visual_by_range", "first": 0, "last": CLIPS - 1}
TOOLS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "dvd": (
        [INSPECT, SEARCH, {"action": "global_browse", "query": "Who?"}, {"action": "finish"}],
        [
            *({**INSPECT, "ranges": each} for each in (ranges((0, CLIPS)), ranges((-1, 2)), [])),
            {**INSPECT, "ranges": ranges(*[(1, 1)] * (MOST_RANGES + 1))},
            {**INSPECT, "ranges": [{"start_s": 0, "end_s": 10}]},
            *({**INSPECT, "start_s": 3}, {**INSPECT, "question": " "}, {**SEARCH, "k": MOST_FOUND + 1}),
            *({"action": "watch"}, {"action": "finish", "answer": "a circle"}),
        ],
    ),
    "videoarm": (
        [SNAP, HEAR, LOOK, {**SNAP, "frames": MOST_FRAMES}],
        [
            {**SNAP, "ranges": ranges((0, CLIPS))},
            *({**SNAP, "frames": each} for each in (MOST_FRAMES + 1, 31, 48.0)),
            *({**HEAR, "ranges": []}, {**HEAR, "start_s": 0}, SEARCH),
            *({**LOOK, "range": {"first": 0, "last": True}}, {**LOOK, "range": ranges((0, 1))}),
        ],
    ),
    "worldmm": (
        [RECALL, SHOW],
        [
            *({**RECALL, "level": "1 h"}, {**RECALL, "query": " "}, {"action": "listen"}),
            *({**SHOW, "last": CLIPS}, {**SHOW, "first": -1}),
            {"action": "visual_by_range", "start_s": 0.0, "end_s": 10.0},
        ],
    ),
}
"""By method: actions that its controller can take, and some that it cannot."""


@pytest.mark.parametrize("name", TOOLS)
def test_a_controller_can_name_only_its_tools_and_clips_of_the_video(name: str, tiny: World, cache: Cache) -> None:
    model, (legal, illegal) = Scripted(Oracle(tiny), []), TOOLS[name]
    ask_by(name, tiny, model, cache)
    (request,) = model.of(name)
    call = request.facts
    assert isinstance(call, ControllerCall) and call.clips == CLIPS
    assert {str(action["action"]) for action in legal} - {"finish"} <= {tool.name for tool in call.tools}
    assert all(tool.purpose in text_of(request) for tool in call.tools)
    for action in legal:
        request.schema.model_validate({"thought": "", "action": action})
    for action in illegal:
        with pytest.raises(ValidationError):
            request.schema.model_validate({"thought": "", "action": action})
