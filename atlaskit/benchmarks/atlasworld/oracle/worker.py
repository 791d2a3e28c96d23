"""The oracle as worker (paper §3.2): the next action in a region, which cell to expand, mark
or add.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from atlaskit.agents.prompts import StepCall, Turn
from atlaskit.agents.schemas import MOST_ITEMS
from atlaskit.benchmarks.atlasworld.oracle.perception import Perception, Replies, describe, overlaps, share
from atlaskit.benchmarks.atlasworld.timeline import WorldEvent
from atlaskit.environment.actions import Action, AddToScratchpad, Claim, Expand, MarkPromising
from atlaskit.environment.mdp import State, transition
from atlaskit.environment.question import Question


def step_reply(perception: Perception, call: StepCall) -> dict[str, Any]:
    """Return the next action, and whether it ends the visit where the call lets it say so.

    It ends the visit if the next reply would do nothing else.
    """
    reply = _next_action(perception, call)
    if call.may_finish and reply["action"]["action"] in ("add_to_scratchpad", "mark_promising"):
        action: dict[str, Any] = _next_action(perception, _after(call, reply["action"]))["action"]
        reply["action"]["finished"] = action["action"] == "finished"
    return reply


def _after(call: StepCall, action: dict[str, Any]) -> StepCall:
    """Return the call that follows an action which adds evidence or marks cells."""
    view = call.observation.view
    if action["action"] == "mark_promising":
        taken: Action = MarkPromising(tuple(action["cells"]))
    else:
        cells = [item["cell"] for item in action["items"]]
        taken = AddToScratchpad(tuple(Claim(cell, "", timestamp_s=view.moments[cell]) for cell in cells))
    state = transition(call.observation.state, taken)
    seen = replace(call.observation, state=state, legal=state.legal)
    return replace(call, observation=seen, turns=(*call.turns, Turn(call.observation, 0, "", "", taken)))


def _next_action(perception: Perception, call: StepCall) -> dict[str, Any]:
    """Return the next action: mark, then look closer or add, then expand, then leave."""
    state, legal = call.observation.state, call.observation.legal
    missing = perception.missing(call.question, state.scratchpad)
    view, new = call.observation.view, legal["add_to_scratchpad"]
    recognised = perception.recognised(call.question, view, new, missing, state.scratchpad)
    hidden = [event for event in missing if event.id not in recognised]
    to_mark = _cells_to_mark(state, legal["mark_promising"], hidden)
    if to_mark:  # marking comes first, because a breadth-first visit has few steps
        action: dict[str, Any] = {"action": "mark_promising", "cells": to_mark}
        return {"thought": "It must lie within these cells.", "action": action}
    if recognised:
        closer_look = _closer_look(call, next(iter(recognised.values())))
        action = _add_evidence(perception, call.question, recognised, missing[0])
        return closer_look or {"thought": "This is what I was sent for.", "action": action}
    closed = [cell for cell in legal["expand"] if Expand(cell) not in call.actions]
    shares = {cell: max((share(event, state.grid.cells[cell]) for event in hidden), default=0.0) for cell in closed}
    if any(shares.values()):
        best = max(shares, key=lambda index: (shares[index], -index))
        return {"thought": "It must lie within this cell.", "action": {"action": "expand", "cell": best}}
    if "backtrack" in legal and any(overlaps(event, state.region) for event in missing):
        return {"thought": "Not here.", "action": {"action": "backtrack"}}
    return {"thought": "Nothing more to find here.", "action": {"action": "finished"}}


def _cells_to_mark(state: State, legal: Iterable[int], hidden: Iterable[WorldEvent]) -> list[int]:
    """Return, for each hidden event that no marked cell covers, the cell with most of it."""
    cells = [state.grid.cells[index] for index in legal]
    unmarked = [event for event in hidden if not any(overlaps(event, grid) for grid in state.marked)]
    best = [
        max(cells, key=lambda cell: (share(event, cell), -cell.index))
        for event in unmarked
        if any(share(event, cell) for cell in cells)
    ]
    return list(dict.fromkeys(cell.index for cell in best))[:MOST_ITEMS]


def _add_evidence(
    perception: Perception, question: Question, recognised: dict[str, list[int]], wanted: WorldEvent
) -> dict[str, Any]:
    """Return an action that adds one frame per event, or its first and last for a "when" question.

    The frame of an event that was mistaken for a wanted one is described as `wanted`.
    """
    picked = {
        id: [cells[0], cells[-1]] if question.kind == "when" else [cells[len(cells) // 2]]
        for id, cells in recognised.items()
    }
    targets = {event.id: event for event in perception.targets(question)}
    items = [
        {"cell": cell, "description": describe(targets.get(id, wanted)), "confidence": 0.9}
        for id, cells in picked.items()
        for cell in dict.fromkeys(cells)
    ]
    return {"action": "add_to_scratchpad", "items": items[:MOST_ITEMS]}


def _closer_look(call: StepCall, cells: list[int]) -> dict[str, Any] | None:
    """Return a step that zooms in on text or investigates beside an anchor, once per visit."""
    done = {type(action).__name__ for action in call.actions}
    middle, legal = cells[len(cells) // 2], call.observation.legal
    if call.question.category == "OCR" and "Zoom" not in done:
        return {"thought": "I need to read this.", "action": {"action": "zoom", "cell": middle}}
    side = "before" if "right before" in call.question.text else "after"
    beside = legal["investigate_before"] if side == "before" else legal["investigate_after"]
    if call.question.category == "O3O" and "Investigate" not in done and middle in beside:
        action = {"action": "investigate", "direction": side, "cell": middle}
        return {"thought": f"What comes {side} this?", "action": action}
    return None


REPLIES: Replies = {StepCall: step_reply}
