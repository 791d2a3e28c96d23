"""The oracle's replies to methods that choose frames: `videotree`, `videoagent` and `retrieval`."""

from __future__ import annotations

import re
from itertools import filterfalse
from typing import Any

from atlaskit.environment.question import Question
from atlaskit.methods.retrieval import MOST_QUERIES, QueriesCall
from atlaskit.methods.videoagent import JudgeCall, PickCall
from atlaskit.methods.videotree import RelevanceCall
from atlasworld.oracle.baselines import words_found
from atlasworld.oracle.perception import Perception, Replies, describe
from atlasworld.timeline import WorldEvent

QUOTED = re.compile(r"“([^”]+)”")
"""A spoken line that a question quotes."""


def queries_reply(perception: Perception, call: QueriesCall) -> dict[str, Any]:
    """Return the lines that the question quotes as queries, or else the choices in words.

    The queries use nothing but the words of the question. A query that the oracle overlooks is left
    out. If none is left, the question itself is the query.
    """
    question = call.question
    quoted = QUOTED.findall(question.text)
    named = list(filterfalse(str.isdecimal, question.choices))
    wanted = (quoted or named)[:MOST_QUERIES]
    queries = [query for query in wanted if not perception.chances.misses(question, "query", query)]
    return {"queries": queries or [question.text]}


def relevance_reply(perception: Perception, call: RelevanceCall) -> dict[str, Any]:
    """Rate each row: 3 if it describes a wanted event, 2 if it shares words with the question.

    The oracle knows of each frame only what its row says. A confused oracle swaps 1 and 3.
    """
    relevance = list[dict[str, int]]()
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
    """Return 2 if a row describes a scene or a shape that the question names, else 1."""
    text = question.text
    for scene in perception.world.script.scenes:
        if scene.name in row and scene.place in text and scene.light in text:
            return 2
    for event in perception.world.script.events:
        if describe(event) in row and event.shape in text:
            return 2
    return 1


def judge_reply(perception: Perception, call: JudgeCall) -> dict[str, Any]:
    """Return full certainty if the rows describe all wanted events, else the longest segments.

    The oracle does not know where the missing events are, so it looks where it has seen least. A
    confused oracle believes that it has found a missing event.
    """
    question = call.question
    targets = perception.targets(question)
    found = words_found(perception, question, call.rows)
    chances = perception.chances
    missing = list[WorldEvent]()
    for event in targets:
        is_known = event.id in found
        if not is_known and not chances.confuses(question, "certain", event.id, len(call.frames)):
            missing.append(event)
    reply = {
        "reasoning": f"{len(missing)} of {len(targets)} wanted events are still to be found.",
        "answer": "",
    }
    if not missing:
        return {**reply, "judgement": {"sure": 3}}
    by_length = list[tuple[float, int]]()
    for number, (start, end) in enumerate(call.segments):
        by_length.append((start - end, number))
    longest = [number for _, number in sorted(by_length)[: call.most]]
    look = [{"segment": number, "look_for": question.text[:200]} for number in sorted(longest)]
    return {**reply, "judgement": {"sure": 2 if found else 1, "look": look}}


def pick_reply(perception: Perception, call: PickCall) -> dict[str, Any]:
    """Return a cell whose event the oracle takes for a wanted one; the middle cell if none has."""
    targets = perception.targets(call.question)
    recognised = perception.recognised(call.question, call.view, call.cells, targets)
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
