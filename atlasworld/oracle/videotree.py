"""The oracle's replies to the calls of `videotree`."""

from __future__ import annotations

from typing import Any

from atlaskit.environment.question import Question
from atlaskit.methods.videotree import RelevanceCall
from atlasworld.oracle.baselines import words_found
from atlasworld.oracle.perception import Perception, Replies, describe


def relevance_reply(perception: Perception, call: RelevanceCall) -> dict[str, Any]:
    """Return 3 for a row that tells of a wanted event, 2 for one that shares words with the text.

    It knows of each frame only what its row says. A confused oracle takes the one for the other.
    """
    relevance = []
    for frame, row in enumerate(call.rows):
        rating = 3 if words_found(perception, call.question, row) else _shared(perception, call.question, row)
        if perception.chances.confuses(call.question, "relevance", row):
            rating = 4 - rating
        relevance.append({"frame": frame, "relevance": rating})
    found = words_found(perception, call.question, "\n".join(call.rows))
    is_known = len(found) == len(perception.targets(call.question))
    prediction = f"{len(found)} wanted events are in these frames."
    return {"prediction": prediction, "confidence": 3 if is_known else 1, "relevance": relevance}


def _shared(perception: Perception, question: Question, row: str) -> int:
    """Return 2 if a row tells of the place, or of the shape of an object, in the question."""
    script, asked = perception.world.script, question.text
    is_place = any(s.name in row and s.place in asked and s.light in asked for s in script.scenes)
    is_shape = any(describe(event) in row and event.shape in asked for event in script.events)
    return 2 if is_place or is_shape else 1


REPLIES: Replies = {RelevanceCall: relevance_reply}
