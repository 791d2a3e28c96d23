"""The oracle's replies to a search by looks: plan, look, verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from atlaskit.agents.prompts import LookCall, PlanCall, VerdictCall
from atlaskit.agents.schemas import MOST_IN_A_VERDICT, MOST_ITEMS, MOST_KEPT, MOST_STRETCHES
from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import Cell
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Question
from atlasworld.oracle.perception import (
    Perception,
    Replies,
    contains,
    decision_reply,
    describe,
)
from atlasworld.timeline import WorldEvent

LASTS_S = 2.0
"""Seconds that it thinks events last at least, as its questions do not say."""
FINE_S = 0.5
"""Cells as short as this hide no event from it."""


def plan_reply(perception: Perception, call: PlanCall) -> dict[str, Any]:
    """Return a plan: the wanted objects, the cells that show them, and hints of scouts."""
    question = call.question
    targets = perception.targets(question)
    names = sorted({event.name for event in targets})
    kept, look = _seen(
        perception, question, [call.root], targets, Scratchpad(), frozenset(call.cells)
    )
    if not look:  # it has no clue but what scouts say
        look = [_stretch(call.root.view.cells[hint.cell]) for hint in call.hints]
    return {
        "reasoning": f"{len(targets)} events are wanted.",
        "search_task": f"Find every moment that shows: {', '.join(names) or question.text}.",
        "settled_by": "one",  # it knows how many events are wanted, and so when it has them
        "lasts_s": min(LASTS_S, call.root.state.rules.duration_s),
        "keep": kept[:MOST_KEPT],
        "look": look[:MOST_STRETCHES],
    }


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
    """Return the frames to keep, and the cells in which it suspects an event unseen."""
    kept = list[dict[str, Any]]()
    promises = list[tuple[float, dict[str, float]]]()
    targets = {event.id: event for event in perception.targets(question)}
    for sheet in sheets:
        view = sheet.view
        recognised = set[str]()
        shown = [cell.index for cell in view.cells if view.first + cell.index in cells]
        for id, found in perception.recognised(question, view, shown, missing, pad).items():
            picked = (found[0], found[-1]) if question.kind == "when" else (found[len(found) // 2],)
            event = targets.get(id, missing[0] if missing else None)
            recognised.add(id)
            kept += [
                {
                    "cell": view.first + cell,
                    "description": "what is wanted" if event is None else describe(event),
                    "confidence": 0.9,
                }
                for cell in dict.fromkeys(picked)
            ]
        hidden = [event for event in missing if event.id not in recognised]
        for cell in view.cells:
            if cell.span_s > FINE_S and (promise := perception.promise(question, cell, hidden)):
                promises.append((promise, _stretch(cell)))
    promises.sort(key=lambda each: -each[0])
    return kept, [stretch for _, stretch in promises]


def _stretch(cell: Cell) -> dict[str, float]:
    return {"start_s": cell.start_s, "end_s": cell.end_s}


def verdict_reply(perception: Perception, call: VerdictCall) -> dict[str, Any]:
    """Return the answer if no event is missing or all is seen; where to look on otherwise."""
    question = call.question
    pad = call.known.scratchpad
    targets = perception.targets(question)
    missing = perception.missing(question, pad)
    chances = perception.chances
    suffices = all(chances.confuses(question, "review", event.id) for event in missing)
    if perception.is_absent(question):  # what it took for the thing may convince it
        suffices = bool(len(pad)) and chances.confuses(question, "review", "absent")
    is_all_seen = not call.known.seen.unseen(*call.known.root, call.known.grain_s)
    reply: dict[str, Any] = {
        "reasoning": f"{len(missing)} of {len(targets)} wanted events are still to be found."
    }
    if len(call.sheet.scratchpad):
        wrong = [
            item.label
            for item in call.sheet.scratchpad
            if not _shows_any(targets, item.timestamp_s)
        ]
        reply["erase"] = [] if chances.confuse else wrong[:MOST_ITEMS]
    if not (suffices or is_all_seen or call.over):
        cells = [
            cell for cell in call.root.view.cells if perception.promise(question, cell, missing)
        ]
        return {
            **reply,
            "conclusion": {"action": "look", "look": list(map(_stretch, cells))[:MOST_STRETCHES]},
        }
    found: dict[str, list[Any]] = dict(perception.evidence(question, call.sheet.scratchpad))
    if not len(call.sheet.scratchpad):
        found = dict(perception.recognised(question, call.root.view, call.frames, targets))  # type: ignore[arg-type]
    if question.can_be_absent and not found and not suffices:
        return {**reply, "conclusion": {"action": "not_there", "sure": 0.9 if is_all_seen else 0.3}}
    answer = decision_reply(perception, question, found, can_cite=bool(call.frames))
    del answer["reasoning"]
    for weighed in (answer, *answer.get("weighed", ())):
        for side in ("supporting", "contradicting"):
            if side in weighed:
                weighed[side] = weighed[side][:MOST_IN_A_VERDICT]
    return {**reply, "conclusion": {"action": "answer", **answer, "sure": 0.9 if suffices else 0.3}}


def _shows_any(events: Iterable[WorldEvent], time_s: float) -> bool:
    return any(contains(event, time_s) for event in events)


REPLIES: Replies = {PlanCall: plan_reply, LookCall: look_reply, VerdictCall: verdict_reply}
