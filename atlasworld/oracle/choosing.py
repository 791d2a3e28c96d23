"""The oracle's replies to the methods that choose frames: `videotree`, `videoagent`, and the
queries of `retrieval`, made of nothing but the words of the question.
"""

from __future__ import annotations

import re
from typing import Any

from atlaskit.environment.question import Question
from atlaskit.methods.retrieval import MOST_QUERIES, QueriesCall
from atlaskit.methods.videoagent import JudgeCall, PickCall
from atlaskit.methods.videotree import RelevanceCall
from atlasworld.oracle.baselines import words_found
from atlasworld.oracle.perception import Perception, Replies, describe

QUOTED = re.compile(r"“([^”]+)”")
"""A line that somebody says, in a question."""


def queries_reply(perception: Perception, call: QueriesCall) -> dict[str, Any]:
    """Return what is said, if the question quotes it, or else each choice that is not a number.

    A query that is overlooked is left out; without any, it is the question itself.
    """
    question = call.question
    quoted = QUOTED.findall(question.text)
    named = [choice for choice in question.choices if not choice.isdecimal()]
    wanted = (quoted or named)[:MOST_QUERIES]
    queries = [query for query in wanted if not perception.chances.misses(question, "query", query)]
    return {"queries": queries or [question.text]}


def relevance_reply(perception: Perception, call: RelevanceCall) -> dict[str, Any]:
    """Return 3 for a row that tells of a wanted event, 2 for one that shares words with the text.

    It knows of each frame only what its row says. A confused oracle takes the one for the other.
    """
    relevance = []
    for frame, row in enumerate(call.rows):
        if words_found(perception, call.question, row):
            rating = 3
        else:
            rating = _shared(perception, call.question, row)
        if perception.chances.confuses(call.question, "relevance", row):
            rating = 4 - rating
        relevance.append({"frame": frame, "relevance": rating})
    found = words_found(perception, call.question, "\n".join(call.rows))
    is_known = len(found) == len(perception.targets(call.question))
    prediction = f"{len(found)} wanted events are in these frames."
    return {"prediction": prediction, "confidence": 3 if is_known else 1, "relevance": relevance}


def _shared(perception: Perception, question: Question, row: str) -> int:
    """Return 2 if a row tells of the place, or of the shape of an object, in the question."""
    script = perception.world.script
    asked = question.text
    is_place = any(s.name in row and s.place in asked and s.light in asked for s in script.scenes)
    is_shape = any(describe(event) in row and event.shape in asked for event in script.events)
    return 2 if is_place or is_shape else 1


def judge_reply(perception: Perception, call: JudgeCall) -> dict[str, Any]:
    """Return that it is certain if all wanted events are told of, or the widest segments.

    It does not know where the others are, so it looks where it has seen least. A confused oracle
    believes a missing event found.
    """
    question = call.question
    targets = perception.targets(call.question)
    found = words_found(perception, question, call.rows)
    missing = [event for event in targets if event.id not in found]
    missing = [
        e
        for e in missing
        if not perception.chances.confuses(question, "certain", e.id, len(call.frames))
    ]
    said = {
        "reasoning": f"{len(missing)} of {len(targets)} wanted events are still to be found.",
        "answer": "",
    }
    if not missing:
        return {**said, "judgement": {"sure": 3}}
    spans = list(enumerate(call.segments))
    widest = sorted(spans, key=lambda each: (each[1][0] - each[1][1], each[0]))[: call.most]
    look = [{"segment": number, "look_for": question.text[:200]} for number, _ in sorted(widest)]
    return {**said, "judgement": {"sure": 2 if found else 1, "look": look}}


def pick_reply(perception: Perception, call: PickCall) -> dict[str, Any]:
    """Return a cell that shows an event taken for a wanted one; the middle cell if none does."""
    recognised = perception.recognised(
        call.question, call.view, call.cells, perception.targets(call.question)
    )
    if not recognised:
        return {"seen": "Nothing of it.", "cell": call.cells[len(call.cells) // 2]}
    cells = next(iter(recognised.values()))
    return {"seen": "It is in this cell.", "cell": cells[len(cells) // 2]}


REPLIES: Replies = {
    QueriesCall: queries_reply,
    RelevanceCall: relevance_reply,
    JudgeCall: judge_reply,
    PickCall: pick_reply,
}
