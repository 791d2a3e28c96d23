"""The oracle's replies to the calls of `mapreduce`: about scenes, and about a question."""

from __future__ import annotations

from typing import Any

from atlaskit.agents.schemas import LONGEST_TEXT
from atlaskit.methods.mapreduce import (
    MOST_SEGMENTS,
    SUREST,
    GoalCall,
    MapCall,
    OverviewCall,
    ReduceCall,
    SceneLookCall,
)
from atlaskit.methods.scenes import (
    MOST_CHARACTERS,
    MOST_PAIRS,
    CharactersCall,
    ContinuesCall,
    SceneCall,
)
from atlasworld.oracle.baselines import noticed_events, scenes_shown, words_found
from atlasworld.oracle.inquiry import (
    bearing_rows,
    described_in,
    in_order,
    is_about_many,
    seen_in,
    seen_on,
    sentences,
)
from atlasworld.oracle.perception import Perception, Replies
from atlasworld.timeline import by_id

NOT_HERE = "Nothing here bears on the question."


def continues_reply(perception: Perception, call: ContinuesCall) -> dict[str, Any]:
    """Return whether the frames on both sides of a cut are of one scene."""
    script = perception.world.script
    moments = call.view.moments
    half = len(moments) // 2
    before = script.scene_at(moments[half - 1])
    after = script.scene_at(moments[half])
    is_one = before == after
    chances = perception.chances
    if chances.draw(None, "continues", call.view.grid.start_s) < chances.confuse:
        is_one = not is_one
    return {"reasoning": f"It is {before.name}, then {after.name}.", "continues": is_one}


def scene_reply(perception: Perception, call: SceneCall) -> dict[str, Any]:
    """Return the description of a scene, from its clips' records and its frames."""
    text = "\n".join(call.rows)
    known = by_id([*described_in(perception, text), *noticed_events(perception, call.view)])
    caption = f"{scenes_shown(perception, call.view)} {sentences(perception, known)}"
    characters = list[dict[str, str]]()
    for event in in_order(perception, known):
        character = {"name": event.shape, "appearance": event.colour}
        if character not in characters:
            characters.append(character)
    return {"caption": caption[:LONGEST_TEXT], "characters": characters[:MOST_CHARACTERS]}


def characters_reply(perception: Perception, call: CharactersCall) -> dict[str, Any]:
    """Return the pairs with the same shape and colour.

    A confused oracle errs on pairs with the same shape.
    """
    chances = perception.chances
    pairs = list[dict[str, int]]()
    for first, one in enumerate(call.first):
        for second, other in enumerate(call.second):
            is_same = one == other
            if one[0] == other[0] and chances.draw(None, "same", one, other) < chances.confuse:
                is_same = not is_same
            if is_same:
                pairs.append({"first": first, "second": len(call.first) + second})
    return {"same": pairs[:MOST_PAIRS]}


def map_reply(perception: Perception, call: MapCall) -> dict[str, Any]:
    """Return the scenes whose text or middle frame bears on the question."""
    question = call.question
    found = dict[str, Any]()
    named = set[int]()
    for sheet in call.sheets:
        for id, labels in seen_on(perception, question, sheet).items():
            found[id] = labels
            named |= set(map(int, labels))
    for number, row in bearing_rows(perception, question, call.scenes).items():
        if not perception.chances.misses(question, "miss map", row):
            found |= words_found(perception, question, row)
            named.add(number)
    confidence = 2 if named else 1
    if found:
        confidence = SUREST
    reasoning = sentences(perception, found) or NOT_HERE
    return {
        "reasoning": reasoning[:LONGEST_TEXT],
        "segments": sorted(named)[:MOST_SEGMENTS],
        "confidence": confidence,
    }


def reduce_reply(perception: Perception, call: ReduceCall) -> dict[str, Any]:
    """Return the scenes whose text describes wanted events, then others, and the scope."""
    rows = call.scenes
    with_events = list[int]()
    others = list[int]()
    for number, row in rows.items():
        if words_found(perception, call.question, row):
            with_events.append(number)
        else:
            others.append(number)
    is_global = is_about_many(call.question) != perception.chances.confuses(call.question, "scope")
    return {
        "reasoning": (
            f"{len(with_events)} of {len(rows)} scenes are described with what is asked about."
        ),
        "segments": sorted([*with_events, *others][:MOST_SEGMENTS]),
        "scope": "global" if is_global else "local",
    }


def goal_reply(perception: Perception, call: GoalCall) -> dict[str, Any]:
    """Return the goals for one scene and for all scenes, both worded with the question itself."""
    in_one = f"What in this scene bears on: {call.question.text}"
    in_all = f"What of all these scenes bears on: {call.question.text}"
    return {"local_question": in_one[:LONGEST_TEXT], "global_question": in_all[:LONGEST_TEXT]}


def look_reply(perception: Perception, call: SceneLookCall) -> dict[str, Any]:
    """Return what the frames of a scene show for the question."""
    found = seen_in(perception, call.question, call.views)
    return {"seen": sentences(perception, found)[:LONGEST_TEXT] or NOT_HERE}


def overview_reply(perception: Perception, call: OverviewCall) -> dict[str, Any]:
    """Return what single frames of several scenes show for the question."""
    found = seen_on(perception, call.question, call.sheet)
    return {"seen": sentences(perception, found)[:LONGEST_TEXT] or NOT_HERE}


REPLIES: Replies = {
    ContinuesCall: continues_reply,
    SceneCall: scene_reply,
    CharactersCall: characters_reply,
    MapCall: map_reply,
    ReduceCall: reduce_reply,
    GoalCall: goal_reply,
    SceneLookCall: look_reply,
    OverviewCall: overview_reply,
}
