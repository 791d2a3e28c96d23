"""The oracle's replies to a search by looks: plan, look, verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from atlaskit.agents.prompts import LookCall, PlanCall, VerdictCall
from atlaskit.agents.schemas import MOST_ITEMS, MOST_KEPT, MOST_STRETCHES
from atlaskit.benchmarks.atlasworld.oracle.perception import (
    Perception,
    Replies,
    contains,
    decision_reply,
    describe,
)
from atlaskit.benchmarks.atlasworld.timeline import WorldEvent
from atlaskit.environment.atlas import Observation
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Question

LASTS_S = 2.0
"""Seconds that it thinks events last at least, as its questions do not say."""
ALL_WORDS = ("first", "summarise", "how many", "every", "order", "times")
"""Words of questions that depend on more than one moment."""
HINTED_S = 60.0
"""Seconds around a hint of a scout that it asks to see."""


def plan_reply(perception: Perception, call: PlanCall) -> dict[str, Any]:
    """Return a plan: the wanted objects, the cells that show them, and hints of scouts."""
    question = call.question
    targets = perception.targets(question)
    names = sorted({event.name for event in targets})
    kept, look = _seen(perception, question, [call.root], targets, Scratchpad(), frozenset(call.cells))
    cells = {cell.index: cell for cell in call.root.view.cells}
    for hint in call.hints:
        cell = cells[hint.cell]
        middle_s, half_s = cell.midpoint_s, min(cell.span_s, HINTED_S) / 2
        look.append({"start_s": middle_s - half_s, "end_s": middle_s + half_s})
    return {
        "reasoning": f"{len(targets)} events are wanted.",
        "search_task": f"Find every moment that shows: {', '.join(names)}.",
        "settled_by": "all" if len(targets) > 1 or _is_about_all(question) else "one",
        "lasts_s": min(LASTS_S, call.root.state.rules.duration_s),
        "keep": kept[:MOST_KEPT],
        "look": look[:MOST_STRETCHES],
    }


def _is_about_all(question: Question) -> bool:
    return question.kind in ("count", "summary") or any(word in question.text.lower() for word in ALL_WORDS)


def look_reply(perception: Perception, call: LookCall) -> dict[str, Any]:
    """Return the frames that show missing events, and the stretches around those just found."""
    pad = call.known.scratchpad
    missing = perception.missing(call.question, pad)
    kept, look = _seen(perception, call.question, call.sheets, missing, pad, frozenset(call.cells))
    note = f"{len(kept)} frames show what is wanted." if kept else "Nothing of what is wanted."
    return {"note": note, "keep": kept[:MOST_KEPT], "look": look[:MOST_STRETCHES]}


def _seen(
    perception: Perception,
    question: Question,
    sheets: Sequence[Observation],
    missing: list[WorldEvent],
    pad: Scratchpad,
    cells: frozenset[int],
) -> tuple[list[dict[str, Any]], list[dict[str, float]]]:
    """Return the frames to keep, and the ends of events that a when-question asks for."""
    kept, look = list[dict[str, Any]](), list[dict[str, float]]()
    targets = {event.id: event for event in perception.targets(question)}
    for sheet in sheets:
        view = sheet.view
        shown = [cell.index for cell in view.cells if view.first + cell.index in cells]
        for id, found in perception.recognised(question, view, shown, missing, pad).items():
            picked = (found[0], found[-1]) if question.kind == "when" else (found[len(found) // 2],)
            event = targets.get(id, missing[0])
            kept += [
                {"cell": view.first + cell, "description": describe(event), "confidence": 0.9}
                for cell in dict.fromkeys(picked)
            ]
    return kept, look


def verdict_reply(perception: Perception, call: VerdictCall) -> dict[str, Any]:
    """Return the answer if no event is missing or all is seen; where to look on otherwise."""
    question, pad = call.question, call.known.scratchpad
    targets, missing = perception.targets(question), perception.missing(question, pad)
    chances = perception.chances
    suffices = all(chances.confuses(question, "review", event.id) for event in missing)
    is_all_seen = not call.known.seen.unseen(*call.known.root, call.known.grain_s)
    reply: dict[str, Any] = {"reasoning": f"{len(missing)} of {len(targets)} wanted events are still to be found."}
    if len(call.sheet.scratchpad):
        wrong = [item.label for item in call.sheet.scratchpad if not _shows_any(targets, item.timestamp_s)]
        reply["erase"] = [] if chances.confuse else wrong[:MOST_ITEMS]
    if not (suffices or is_all_seen or call.over):
        return {**reply, "conclusion": {"action": "look", "look": []}}
    found: dict[str, list[Any]] = dict(perception.evidence(question, call.sheet.scratchpad))
    if not len(call.sheet.scratchpad):
        found = dict(perception.recognised(question, call.root.view, call.frames, targets))  # type: ignore[arg-type]
    answer = decision_reply(perception, question, found, can_cite=bool(call.frames))
    del answer["reasoning"]
    return {**reply, "conclusion": {"action": "answer", **answer, "sure": 0.9 if suffices else 0.3}}


def _shows_any(events: Iterable[WorldEvent], time_s: float) -> bool:
    return any(contains(event, time_s) for event in events)


REPLIES: Replies = {PlanCall: plan_reply, LookCall: look_reply, VerdictCall: verdict_reply}
