"""The oracle's replies to the calls of `videoagent`."""

from __future__ import annotations

from typing import Any

from atlaskit.methods.videoagent import JudgeCall, PickCall
from atlasworld.oracle.baselines import words_found
from atlasworld.oracle.perception import Perception, Replies


def judge_reply(perception: Perception, call: JudgeCall) -> dict[str, Any]:
    """Return that it is certain if all wanted events are told of, or the widest segments.

    It does not know where the others are, so it looks where it has seen least. A confused oracle
    believes a missing event found.
    """
    question, targets = call.question, perception.targets(call.question)
    found = words_found(perception, question, call.rows)
    missing = [event for event in targets if event.id not in found]
    missing = [e for e in missing if not perception.chances.confuses(question, "certain", e.id, len(call.frames))]
    said = {"reasoning": f"{len(missing)} of {len(targets)} wanted events are still to be found.", "answer": ""}
    if not missing:
        return {**said, "judgement": {"sure": 3}}
    spans = list(enumerate(call.segments))
    widest = sorted(spans, key=lambda each: (each[1][0] - each[1][1], each[0]))[: call.most]
    look = [{"segment": number, "look_for": question.text[:200]} for number, _ in sorted(widest)]
    return {**said, "judgement": {"sure": 2 if found else 1, "look": look}}


def pick_reply(perception: Perception, call: PickCall) -> dict[str, Any]:
    """Return a cell that shows an event taken for a wanted one; the middle cell if none does."""
    recognised = perception.recognised(call.question, call.view, call.cells, perception.targets(call.question))
    if not recognised:
        return {"seen": "Nothing of it.", "cell": call.cells[len(call.cells) // 2]}
    cells = next(iter(recognised.values()))
    return {"seen": "It is in this cell.", "cell": cells[len(cells) // 2]}


REPLIES: Replies = {JudgeCall: judge_reply, PickCall: pick_reply}
