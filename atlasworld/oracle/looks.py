"""The oracle's replies to a search by looks: plan, look, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    decision_reply,
    describe,
    others,
    picked_cells,
    shows_any,
)
from atlasworld.timeline import WorldEvent, by_id, names_of

LASTS_S = 2.0
"""Seconds that the shortest wanted event lasts, as plans assume: questions do not tell it."""
FINE_S = 0.5
"""Length of the longest cell in which no event can be hidden, in seconds."""


def plan_reply(perception: Perception, call: PlanCall) -> dict[str, Any]:
    """Return a plan: what to search for, the cells that show it, and the stretches to look at."""
    question = call.question
    targets = perception.targets(question)
    names = sorted(set(names_of(targets)))
    frames, look = _sightings(
        perception, question, [call.root], targets, Scratchpad(), frozenset(call.cells)
    )
    if not look:  # no cell promises an event, so the oracle follows the scouts' hints
        look = [_stretch(call.root.view.cells[hint.cell]) for hint in call.hints]
    return {
        "reasoning": f"{len(targets)} events are wanted.",
        "search_task": f"Find every moment that shows: {', '.join(names) or question.text}.",
        "settled_by": "one",  # the oracle knows how many events are wanted, and so when to stop
        "lasts_s": min(LASTS_S, call.root.state.rules.duration_s),
        "keep": frames[:MOST_KEPT],
        "look": look[:MOST_STRETCHES],
    }


def look_reply(perception: Perception, call: LookCall) -> dict[str, Any]:
    """Return the frames that show missing events, and the stretches that may hold others."""
    pad = call.known.scratchpad
    missing = perception.missing(call.question, pad)
    cells = frozenset(call.cells)
    frames, look = _sightings(perception, call.question, call.sheets, missing, pad, cells)
    note = f"{len(frames)} frames show what is wanted." if frames else "Nothing of what is wanted."
    return {"note": note, "keep": frames[:MOST_KEPT], "look": look[:MOST_STRETCHES]}


def _sightings(
    perception: Perception,
    question: Question,
    sheets: Sequence[Observation],
    missing: list[WorldEvent],
    pad: Scratchpad,
    cells: frozenset[int],
) -> tuple[list[dict[str, Any]], list[dict[str, float]]]:
    """Return the frames to keep, and the stretches of cells that may hold further events.

    `cells` are the numbers of the cells that may be kept, as the labels on the sheets give them.
    The stretches of the most promising cells come first.
    """
    frames = list[dict[str, Any]]()
    promises = list[tuple[float, dict[str, float]]]()
    targets = by_id(perception.targets(question))
    for sheet in sheets:
        view = sheet.view
        recognised = set[str]()
        shown = [cell.index for cell in view.cells if view.first + cell.index in cells]
        for id, found in perception.recognised(question, view, shown, missing, pad).items():
            recognised.add(id)
            # An event that is no target was mistaken for a wanted one, and is described as such.
            event = targets.get(id, missing[0] if missing else None)
            description = "what is wanted" if event is None else describe(event)
            for index in picked_cells(question, found):
                claim = {
                    "cell": view.first + index,
                    "description": description,
                    "confidence": 0.9,
                }
                frames.append(claim)
        hidden = others(missing, recognised)
        for cell in view.cells:
            promise = perception.promise(question, cell, hidden) if cell.span_s > FINE_S else 0.0
            if promise:
                promises.append((promise, _stretch(cell)))
    promises.sort(key=lambda each: -each[0])
    return frames, [stretch for _, stretch in promises]


def _stretch(cell: Cell) -> dict[str, float]:
    return {"start_s": cell.start_s, "end_s": cell.end_s}


def verdict_reply(perception: Perception, call: VerdictCall) -> dict[str, Any]:
    """Return where to look next, or the answer once the search is over.

    It is over if the evidence settles the question, if nothing is left to see, or if the call says
    so. The answer may be that nothing is there.
    """
    question = call.question
    pad = call.known.scratchpad
    targets = perception.targets(question)
    missing = perception.missing(question, pad)
    chances = perception.chances
    is_settled = perception.is_content(question, missing)
    if perception.is_absent(question):  # a confused oracle believes in what it kept by mistake
        is_settled = bool(len(pad)) and chances.confuses(question, "review", "absent")
    is_all_seen = not call.known.seen.unseen(*call.known.root, call.known.grain_s)
    reply: dict[str, Any] = {
        "reasoning": f"{len(missing)} of {len(targets)} wanted events are still to be found."
    }
    if len(call.sheet.scratchpad):
        pad_shown = call.sheet.scratchpad
        wrong = [item.label for item in pad_shown if not shows_any(targets, item.timestamp_s)]
        # An oracle that can be confused does not notice its mistakes.
        reply["erase"] = [] if chances.confuse else wrong[:MOST_ITEMS]
    if not (is_settled or is_all_seen or call.over):
        look = list[dict[str, float]]()
        for cell in call.root.view.cells:
            if perception.promise(question, cell, missing):
                look.append(_stretch(cell))
        return {**reply, "conclusion": {"action": "look", "look": look[:MOST_STRETCHES]}}
    found: Mapping[str, list[Any]]
    if len(call.sheet.scratchpad):
        found = perception.evidence(question, call.sheet.scratchpad)
    else:
        cells = [frame for frame in call.frames if isinstance(frame, int)]
        found = perception.recognised(question, call.root.view, cells, targets)
    if question.can_be_absent and not found and not is_settled:
        return {**reply, "conclusion": {"action": "not_there", "sure": 0.9 if is_all_seen else 0.3}}
    answer = decision_reply(perception, question, found, can_cite=bool(call.frames))
    del answer["reasoning"]
    # A verdict may cite fewer frames than other decisions.
    for part in (answer, *answer.get("weighed", ())):
        for side in ("supporting", "contradicting"):
            if side in part:
                part[side] = part[side][:MOST_IN_A_VERDICT]
    sure = 0.9 if is_settled else 0.3
    return {**reply, "conclusion": {"action": "answer", **answer, "sure": sure}}


REPLIES: Replies = {PlanCall: plan_reply, LookCall: look_reply, VerdictCall: verdict_reply}
