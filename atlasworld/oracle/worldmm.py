"""The oracle's replies to the calls of `worldmm`: summaries, facts, and what to recall next."""

from __future__ import annotations

from typing import Any

from atlaskit.agents.schemas import LONGEST_TEXT
from atlaskit.methods.controller import FINISH, ControllerCall
from atlaskit.methods.worldmm import (
    MOST_FACTS,
    MOST_REPLACED,
    ConsolidateCall,
    FactsCall,
    SummaryCall,
)
from atlasworld.oracle.baselines import words_found
from atlasworld.oracle.inquiry import (
    described_in,
    is_about_many,
    notes_of,
    seen_in,
    sentences,
)
from atlasworld.oracle.perception import Perception, Replies, describe
from atlasworld.timeline import by_id

ABOUT_ONE = ("episodic 10 s", "visual_by_words", "semantic", "episodic 30 s", "episodic 3 min")
"""The searches of a question that one moment answers, in order: a tool, and the level if any."""
ABOUT_ALL = ("episodic 10 min", "episodic 3 min", "episodic 30 s", "episodic 10 s", "semantic")
"""The searches of a question that asks to count, order or summarise: the longest summaries first.
"""


def summary_reply(perception: Perception, call: SummaryCall) -> dict[str, Any]:
    """Return the events that the parts describe, in order of time, without those overlooked."""
    text = "\n".join(call.rows)
    known = set[str]()
    for event in described_in(perception, text):
        if not perception.chances.misses(None, "miss summary", event.id, *call.span):
            known.add(event.id)
    summary = sentences(perception, known)
    script = perception.world.script
    places = [scene.name for scene in script.scenes if scene.name in text]
    if places:
        summary = f"{summary} Scenes: {', '.join(dict.fromkeys(places))}."
    return {"summary": summary.strip()[:LONGEST_TEXT] or "Nothing but scenery."}


def facts_reply(perception: Perception, call: FactsCall) -> dict[str, Any]:
    """Return a fact about each object that the clips' records describe."""
    by_name: dict[str, list[str]] = {}
    for event in described_in(perception, "\n".join(call.rows)):
        by_name.setdefault(event.name, []).append(describe(event))
    facts = list[str]()
    for name, seen in by_name.items():
        facts.append(f"The {name} is part of the video: {', '.join(seen)}."[:LONGEST_TEXT])
    return {"facts": facts[:MOST_FACTS]}


def consolidate_reply(perception: Perception, call: ConsolidateCall) -> dict[str, Any]:
    """Return the earlier facts that say nothing beyond a newer one.

    A confused oracle takes another fact about the same object for such a newer one.
    """
    replaced = list[dict[str, int]]()
    for number, earlier in enumerate(call.earlier):
        said = by_id(described_in(perception, earlier)).keys()
        for place, newer in enumerate(call.newer):
            is_same = bool(said) and said <= by_id(described_in(perception, newer)).keys()
            if not is_same and earlier.partition(":")[0] == newer.partition(":")[0]:
                draw = perception.chances.draw(None, "consolidate", earlier, newer)
                is_same = draw < perception.chances.confuse
            if is_same:
                replaced.append({"earlier": number, "by": len(call.earlier) + place})
                break
    return {"replaced": replaced[:MOST_REPLACED]}


def turn_reply(perception: Perception, call: ControllerCall) -> dict[str, Any]:
    """Return the next search, or the end after the last one.

    A question that one moment answers ends earlier, once all its wanted events are found.
    """
    question = call.question
    found = words_found(perception, question, notes_of(call))
    for turn in call.turns:
        found |= seen_in(perception, question, turn.outcome.views)
    plan = ABOUT_ALL if is_about_many(question) else ABOUT_ONE
    wanted = by_id(perception.targets(question))
    has_all = not is_about_many(question) and wanted.keys() <= found.keys()
    if has_all or len(call.turns) >= len(plan):
        return {"thought": "The notes hold what is asked.", "action": {"action": FINISH}}
    tool, _, level = plan[len(call.turns)].partition(" ")
    query = " ".join([question.text, *question.choices])[:LONGEST_TEXT]
    arguments = {"query": query}
    if level:
        arguments = {"level": level, "query": query}
    return {"thought": f"The {tool} memory may hold it.", "action": {"action": tool, **arguments}}


REPLIES: Replies = {
    SummaryCall: summary_reply,
    FactsCall: facts_reply,
    ConsolidateCall: consolidate_reply,
}
