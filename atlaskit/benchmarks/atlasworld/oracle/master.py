"""The oracle as master (paper §3.2): search task, probe, review and decision."""

from __future__ import annotations

from typing import Any

from atlaskit.agents.prompts import DecisionCall, ProbeCall, ReviewCall, TaskCall
from atlaskit.agents.schemas import MOST_CITED, MOST_INTERVALS, MOST_ITEMS
from atlaskit.benchmarks.atlasworld.oracle.answers import answer_from, decision_reply
from atlaskit.benchmarks.atlasworld.oracle.perception import Perception, Replies, contains, overlaps
from atlaskit.benchmarks.atlasworld.timeline import WorldEvent

HINTED = 0.5
"""Score of a cell that it names only because of a hint of the highest score."""
ORDER_WORDS = ("first", "summarise")
"""Words of questions about the order of events, which are searched breadth-first."""


def task_reply(perception: Perception, call: TaskCall) -> dict[str, Any]:
    """Return a search task that names the wanted objects, and a traversal if the call wants one."""
    names = sorted({event.name for event in perception.targets(call.question)})
    task = {"search_task": f"Find every moment that shows: {', '.join(names)}."}
    if not call.chooses_traversal:
        return task
    is_about_order = any(word in call.question.text.lower() for word in ORDER_WORDS)
    is_confused = perception.chances.confuses(call.question, "traversal")
    return {**task, "traversal": "bfs" if is_about_order != is_confused else "dfs"}


def probe_reply(perception: Perception, call: ProbeCall) -> dict[str, Any]:
    """Return the open cells that hold most of a missing event, with scores from 0.5 to 1.

    If it suspects none, it follows the hints of scouts that the call tells, and without any it
    searches on in random cells.
    """
    missing = perception.missing(call.question, call.scratchpad)
    view = call.observation.view
    promises = {index: perception.promise(call.question, view.cells[index], missing) for index in call.open_cells}
    scores = {index: 0.5 + 0.5 * promise for index, promise in promises.items() if promise}
    if not scores:  # it has no clue but what scouts say
        hinted = [hint for hint in call.hints if hint.cell in call.open_cells]
        scores = {hint.cell: HINTED * hint.score for hint in reversed(hinted)}  # the best hint of a cell comes first
    if not scores:  # like a model without a clue, it searches on in random cells
        drawn = {i: perception.chances.draw(call.question, "blind", view.grid.end_s, i) for i in call.open_cells}
        scores = dict.fromkeys(sorted(drawn, key=drawn.__getitem__)[: call.top], 0.1)
    best = sorted(scores, key=lambda index: (-scores[index], index))[: call.top]
    return {
        "reasoning": f"{len(missing)} of the wanted events are not in the evidence yet.",
        "top": [{"cell": index, "score": round(scores[index], 3)} for index in best],
    }


def review_reply(perception: Perception, call: ReviewCall) -> dict[str, Any]:
    """Return whether the evidence suffices, what to erase, and where to search next.

    A missing event that the oracle wrongly believes to have found counts as found.
    """
    question, pad = call.question, call.sheet.scratchpad
    targets, missing = perception.targets(question), perception.missing(question, pad)
    supporting = [item.label for item in pad if any(contains(event, item.timestamp_s) for event in targets)]
    cited = (supporting or list(pad.labels))[:MOST_CITED]
    suffices = all(perception.chances.confuses(question, "review", event.id) for event in missing)
    unsupported = [label for label in pad.labels if label not in supporting][:MOST_ITEMS]
    reply: dict[str, Any] = {
        "reasoning": f"{len(missing)} of {len(targets)} wanted events are still to be found.",
        "erase": [] if perception.chances.confuse else unsupported,
    }
    if question.choices:
        choice = answer_from(perception, question, perception.evidence(question, pad))
        reply["choices"] = [
            {"choice": index, "supporting": cited, "contradicting": [], "sufficient": suffices}
            if index == choice
            else {"choice": index, "supporting": [], "contradicting": cited, "sufficient": False}
            for index in range(len(question.choices))
        ]
    conclusion = _finish(cited) if suffices else _continue(perception, call, missing)
    return {**reply, "conclusion": conclusion}


def _finish(supporting: list[str]) -> dict[str, Any]:
    looked_for = "A frame of another object at the time of one that is wanted."
    return {"action": "final_decision", "looked_for_to_contradict": looked_for, "supporting": supporting}


def _continue(perception: Perception, call: ReviewCall, missing: list[WorldEvent]) -> dict[str, Any]:
    conclusion: dict[str, Any] = {"action": "continue", "intervals": _gaps_to_search(call, missing)}
    if call.open_cells:
        cells = [call.observation.view.cells[index] for index in call.open_cells]
        promising = [cell.index for cell in cells if perception.promise(call.question, cell, missing)]
        conclusion["explore"] = promising[:MOST_ITEMS]
    return conclusion


def _gaps_to_search(call: ReviewCall, missing: list[WorldEvent]) -> list[dict[str, float]]:
    """Return the gaps in the evidence, at most a cell long, that hold part of a missing event."""
    cell_s = call.observation.view.grid.resolution_s
    return [
        {"start_s": gap.start_s, "end_s": gap.end_s}
        for gap in call.gaps
        if gap.end_s - gap.start_s <= cell_s and any(overlaps(event, gap) for event in missing)
    ][:MOST_INTERVALS]


def final_reply(perception: Perception, call: DecisionCall) -> dict[str, Any]:
    """Return the answer that the scratchpad gives."""
    found = perception.evidence(call.question, call.sheet.scratchpad)
    return decision_reply(perception, call.question, found)


REPLIES: Replies = {TaskCall: task_reply, ProbeCall: probe_reply, ReviewCall: review_reply, DecisionCall: final_reply}
