"""`Oracle`: a simulated model that knows the script of a world. It sees no pixels.

It passes each call to the function that answers it. The functions for the calls of Video-RLM (paper
§3.2) are here; those for the calls of other systems are in the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from atlaskit.agents.prompts import DecisionCall, ProbeCall, ReviewCall, StepCall, TaskCall
from atlaskit.agents.schemas import MOST_CITED, MOST_INTERVALS, MOST_ITEMS
from atlaskit.environment.actions import Expand, Investigate, Zoom
from atlaskit.environment.mdp import State
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.video.video import Video
from atlasworld.oracle import baselines, choosing, controllers, inquiry, looks, mapreduce, worldmm
from atlasworld.oracle.perception import (
    Chances,
    Perception,
    Replies,
    answer_from,
    decision_reply,
    describe,
    estimated_usage,
    others,
    overlaps,
    picked_cells,
    share,
    shows_any,
)
from atlasworld.timeline import WorldEvent, by_id, names_of
from atlasworld.worlds import World, world_of

HINTED = 0.5
"""A cell that is named only because of a scout's hint gets this times the hint's score."""
ORDER_WORDS = ("first", "summarise")
"""Words of questions about the order of events, which are searched breadth-first."""


def task_reply(perception: Perception, call: TaskCall) -> dict[str, Any]:
    """Return a search task that names the wanted objects, and a traversal if the call wants one."""
    names = sorted(set(names_of(perception.targets(call.question))))
    task = {"search_task": f"Find every moment that shows: {', '.join(names)}."}
    if not call.chooses_traversal:
        return task
    is_about_order = any(word in call.question.text.lower() for word in ORDER_WORDS)
    is_confused = perception.chances.confuses(call.question, "traversal")
    # A confused oracle chooses the other traversal.
    return {**task, "traversal": "bfs" if is_about_order != is_confused else "dfs"}


def probe_reply(perception: Perception, call: ProbeCall) -> dict[str, Any]:
    """Return the open cells that hold most of a missing event, with scores from 0.5 to 1.

    Without such a cell, the oracle follows the hints of scouts in the call. Without hints, it
    names random cells.
    """
    missing = perception.missing(call.question, call.scratchpad)
    view = call.observation.view
    scores = dict[int, float]()
    for index in call.open_cells:
        promise = perception.promise(call.question, view.cells[index], missing)
        if promise:
            scores[index] = 0.5 + 0.5 * promise
    if not scores:
        for hint in reversed(call.hints):  # best last, so that it overwrites a cell's other hints
            if hint.cell in call.open_cells:
                scores[hint.cell] = HINTED * hint.score
    if not scores:  # a model without a clue would search on in random cells

        def draw(index: int) -> float:
            return perception.chances.draw(call.question, "blind", view.grid.end_s, index)

        for index in sorted(call.open_cells, key=draw)[: call.top]:
            scores[index] = 0.1
    best = sorted(scores, key=lambda index: (-scores[index], index))[: call.top]
    return {
        "reasoning": f"{len(missing)} of the wanted events are not in the evidence yet.",
        "top": [{"cell": index, "score": round(scores[index], 3)} for index in best],
    }


def review_reply(perception: Perception, call: ReviewCall) -> dict[str, Any]:
    """Return whether the evidence suffices, what to erase, and where to search next.

    A missing event counts as found if the oracle wrongly believes that it has found it.
    """
    question = call.question
    pad = call.sheet.scratchpad
    targets = perception.targets(question)
    missing = perception.missing(question, pad)
    supporting = [item.label for item in pad if shows_any(targets, item.timestamp_s)]
    cited = (supporting or list(pad.labels))[:MOST_CITED]  # a final decision cites one at least
    suffices = perception.is_content(question, missing)
    unsupported = [label for label in pad.labels if label not in supporting][:MOST_ITEMS]
    reply: dict[str, Any] = {
        "reasoning": f"{len(missing)} of {len(targets)} wanted events are still to be found.",
        # An oracle that can be confused does not notice its mistakes.
        "erase": [] if perception.chances.confuse > 0 else unsupported,
    }
    if question.choices:
        choice = answer_from(perception, question, perception.evidence(question, pad))
        reply["choices"] = []
        for index in range(len(question.choices)):
            weighed: dict[str, Any] = {"choice": index}
            if index == choice:
                weighed |= {"supporting": cited, "contradicting": [], "sufficient": suffices}
            else:
                weighed |= {"supporting": [], "contradicting": cited, "sufficient": False}
            reply["choices"].append(weighed)
    conclusion = _final_decision(cited) if suffices else _further_search(perception, call, missing)
    return {**reply, "conclusion": conclusion}


def _final_decision(supporting: list[str]) -> dict[str, Any]:
    """Return the conclusion that the evidence suffices."""
    looked_for = "A frame of another object at the time of one that is wanted."
    return {
        "action": "final_decision",
        "looked_for_to_contradict": looked_for,
        "supporting": supporting,
    }


def _further_search(
    perception: Perception, call: ReviewCall, missing: list[WorldEvent]
) -> dict[str, Any]:
    """Return the conclusion to search on: in short gaps, and in cells that promise an event."""
    conclusion: dict[str, Any] = {"action": "continue", "intervals": _gaps_to_search(call, missing)}
    if call.open_cells:
        promising = list[int]()
        for index in call.open_cells:
            if perception.promise(call.question, call.observation.view.cells[index], missing):
                promising.append(index)
        conclusion["explore"] = promising[:MOST_ITEMS]
    return conclusion


def _gaps_to_search(call: ReviewCall, missing: list[WorldEvent]) -> list[dict[str, float]]:
    """Return the gaps in the evidence, at most a cell long, that hold part of a missing event."""
    cell_s = call.observation.view.grid.resolution_s
    intervals = list[dict[str, float]]()
    for gap in call.gaps:
        if gap.end_s - gap.start_s <= cell_s and any(overlaps(event, gap) for event in missing):
            intervals.append({"start_s": gap.start_s, "end_s": gap.end_s})
    return intervals[:MOST_INTERVALS]


def final_reply(perception: Perception, call: DecisionCall) -> dict[str, Any]:
    """Return the answer that the scratchpad gives."""
    found = perception.evidence(call.question, call.sheet.scratchpad)
    return decision_reply(perception, call.question, found)


def step_reply(perception: Perception, call: StepCall) -> dict[str, Any]:
    """Return the next action: mark, then look closer or add, then expand, then leave."""
    state = call.observation.state
    legal = call.observation.legal
    missing = perception.missing(call.question, state.scratchpad)
    view = call.observation.view
    # Higher numbers are the frames of a context scan, which are never added as evidence.
    of_grid = [cell for cell in legal["add_to_scratchpad"] if cell < view.grid.size]
    recognised = perception.recognised(call.question, view, of_grid, missing, state.scratchpad)
    hidden = others(missing, recognised)
    to_mark = _cells_to_mark(state, legal["mark_promising"], hidden)
    if to_mark:  # marking comes first, because a breadth-first visit has few steps
        action: dict[str, Any] = {"action": "mark_promising", "cells": to_mark}
        return {"thought": "It must lie within these cells.", "action": action}
    if recognised:
        closer_look = _closer_look(call, next(iter(recognised.values())))
        if closer_look is not None:
            return closer_look
        action = _add_evidence(perception, call.question, recognised, missing)
        return {"thought": "This is what I was sent for.", "action": action}
    shares = dict[int, float]()
    for cell in legal["expand"]:
        if Expand(cell) not in call.actions:
            of_cell = [share(event, state.grid.cells[cell]) for event in hidden]
            shares[cell] = max(of_cell, default=0.0)
    if any(shares.values()):
        best = max(shares, key=lambda index: (shares[index], -index))
        return {
            "thought": "It must lie within this cell.",
            "action": {"action": "expand", "cell": best},
        }
    if "backtrack" in legal and any(overlaps(event, state.region) for event in missing):
        return {"thought": "Not here.", "action": {"action": "backtrack"}}
    return {"thought": "Nothing more to find here.", "action": {"action": "finished"}}


def _cells_to_mark(state: State, legal: Sequence[int], hidden: Iterable[WorldEvent]) -> list[int]:
    """Return, for each hidden event that no marked cell covers, the cell with most of it."""
    best = dict[int, None]()
    for event in hidden:
        if any(overlaps(event, grid) for grid in state.marked):
            continue
        shares = {index: share(event, state.grid.cells[index]) for index in legal}
        if any(shares.values()):
            best[max(shares, key=lambda index: (shares[index], -index))] = None
    return list(best)[:MOST_ITEMS]


def _add_evidence(
    perception: Perception,
    question: Question,
    recognised: dict[str, list[int]],
    missing: list[WorldEvent],
) -> dict[str, Any]:
    """Return an action that adds frames of each recognised event.

    An event that was mistaken for a wanted one is described as the first missing one. Nothing is
    missing if the video does not show what is wanted.
    """
    targets = by_id(perception.targets(question))
    mistaken_for = describe(missing[0]) if missing else "what is wanted"
    items = list[dict[str, Any]]()
    for event_id, cells in recognised.items():
        description = mistaken_for
        if event_id in targets:
            description = describe(targets[event_id])
        for cell in picked_cells(question, cells):
            items.append({"cell": cell, "description": description, "confidence": 0.9})
    return {"action": "add_to_scratchpad", "items": items[:MOST_ITEMS]}


def _closer_look(call: StepCall, cells: list[int]) -> dict[str, Any] | None:
    """Return a step that zooms in on text or investigates beside an anchor, once per visit."""
    done = set(map(type, call.actions))
    middle = cells[len(cells) // 2]
    legal = call.observation.legal
    if call.question.category == "OCR" and Zoom not in done:
        return {"thought": "I need to read this.", "action": {"action": "zoom", "cell": middle}}
    side = "before" if "right before" in call.question.text else "after"
    beside = legal["investigate_before" if side == "before" else "investigate_after"]
    if call.question.category == "O3O" and Investigate not in done and middle in beside:
        action = {"action": "investigate", "direction": side, "cell": middle}
        return {"thought": f"What comes {side} this?", "action": action}
    return None


VIDEO_RLM: Replies = {
    TaskCall: task_reply,
    ProbeCall: probe_reply,
    StepCall: step_reply,
    ReviewCall: review_reply,
    DecisionCall: final_reply,
}


REPLIES: Replies = {
    **VIDEO_RLM,
    **looks.REPLIES,
    **baselines.REPLIES,
    **inquiry.REPLIES,
    **controllers.REPLIES,
    **choosing.REPLIES,
    **mapreduce.REPLIES,
    **worldmm.REPLIES,
}
"""The function that answers each call."""


class Oracle:
    """A simulated model that answers every call of a search about one world.

    Its token counts are estimates, and its usage says so.

    Args:
        world: The world whose questions it can answer.
        miss: Probability, in [0, 1], of overlooking a wanted event in a view that shows it or in a
            region that holds it.
        confuse: Probability, in [0, 1], of taking another event for a wanted one, of believing that
            a missing event was found, of choosing the other traversal, and of deciding wrongly.
        seed: Seed of these mistakes. They depend on the seed and on what is looked at, never on the
            order of calls, so the same run gives the same answers.

    Raises:
        InputError: `miss` or `confuse` lies outside [0, 1].

    Examples:
        >>> oracle = aw.Oracle(world, miss=0.2, seed=1)
        >>> oracle.name
        'oracle:602d47f6172903a9'
        >>> ak.ask(video, question, vlm=aw.Oracle(world)).is_right
        True
    """

    computes = True
    """The oracle computes and waits for no server, so more threads do not make it faster."""

    def __init__(
        self, world: World, miss: float = 0.0, confuse: float = 0.0, seed: int = 0
    ) -> None:
        for name, rate in (("miss", miss), ("confuse", confuse)):
            if not 0.0 <= rate <= 1.0:
                raise InputError(f"{name} must be a rate in [0, 1]; got {rate}.")
        self.world = world
        self.miss = miss
        self.confuse = confuse
        self.seed = seed
        self.name = f"oracle:{world.name}"
        self.parameters: Mapping[str, Any] = {"miss": miss, "confuse": confuse, "seed": seed}

    @classmethod
    def of_video(cls, video: Video) -> Oracle | None:
        """Return the oracle of the world that a video shows; None if it shows no world.

        Examples:
            >>> ak.ask(video, question, vlm=aw.Oracle.of_video(world.video)).is_right
            True
        """
        world = world_of(video)
        return None if world is None else cls(world)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of its world, which it can answer."""
        return self.world.questions

    def __repr__(self) -> str:
        return (
            f"Oracle({self.world!r}, miss={self.miss:g}, confuse={self.confuse:g}, "
            f"seed={self.seed})"
        )

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the reply to a request; `control` has no effect, because the oracle never waits.

        Raises:
            InputError: The request is of an unknown kind, or its question is not the world's.
        """
        # Each sample has a seed of its own, as at an endpoint.
        chances = Chances(self.world.name, self.miss, self.confuse, self.seed + request.sample)
        answer = _answer(Perception(self.world, chances), request.facts)
        valid = request.schema.model_validate(answer)
        text = valid.model_dump_json()  # in the schema's order, as a model would write it
        return Reply(valid, text, estimated_usage(request, text))


def _answer(perception: Perception, call: Any) -> dict[str, Any]:
    reply = REPLIES.get(type(call))
    if reply is None:
        raise InputError(
            f"The oracle answers only the calls of atlaskit's agents; got {type(call).__name__}."
        )
    return reply(perception, call)
