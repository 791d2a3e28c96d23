"""Master and Worker (paper §3.2): show, ask, read the answer. No loops over rounds; those are `search`'s.

What goes wrong in a call costs a step: the evidence found before it is kept, and a region that failed stays open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from atlaskit.budget import Allotment, Bill
from atlaskit.environment import Action, AddToScratchpad, Atlas, Claim, Observation, State
from atlaskit.errors import BadReply, IllegalAction, ModelError, Refused
from atlaskit.grid import Grid
from atlaskit.memory import DeadZones, Evidence, Scratchpad
from atlaskit.model import MAX_ATTEMPTS, MOST_IMAGES, Message, Model, Reply
from atlaskit.prompts import (
    DecisionCall,
    GlanceCall,
    ProbeCall,
    ReviewCall,
    StepCall,
    TaskCall,
    after_action,
    note_of,
)
from atlaskit.question import Question, Span
from atlaskit.render import Sheet
from atlaskit.schemas import to_action
from atlaskit.trace import Event

WorkerStop = Literal["finished", "steps", "budget", "failed"]
"""Why a worker came back: it declared its region explored, used up its own steps, was cut short by the budget of the
whole run, or could not get answers."""

FAILURES_IN_A_ROW = 2
"""A worker whose calls fail this often in a row gives up; its region stays open."""


@dataclass(frozen=True)
class Errand:
    """What a worker is sent to do: all it may know, fixed before it starts."""

    search_task: str
    region: Grid
    dead_zones: DeadZones
    allotment: Allotment
    round: int
    worker: int
    """Its number among the workers of the round."""


@dataclass(frozen=True)
class Report:
    """What a worker brings back from a region."""

    region: Grid
    evidence: tuple[Evidence, ...]
    stop: WorkerStop
    bill: Bill
    events: tuple[Event, ...]
    longest_s: float = 0.0
    """Seconds of the longest call."""

    @property
    def is_cut_short(self) -> bool:
        """Whether the region was not searched as far as meant: it stays open."""
        failed = any(event.kind == "failure" for event in self.events)
        return self.stop in ("failed", "budget") or (self.stop == "steps" and failed)

    @property
    def is_dead(self) -> bool:
        """Whether the region was searched as far as meant and holds nothing."""
        return not self.evidence and not self.is_cut_short

    @property
    def got_no_answer(self) -> bool:
        """Whether every call of the visit failed."""
        return bool(self.events) and all(event.kind == "failure" for event in self.events)

    @property
    def largest(self) -> int:
        """Tokens of the largest call."""
        costs = (event["usage"] for event in self.events)
        return max((cost["prompt_tokens"] + cost["completion_tokens"] for cost in costs), default=0)


@dataclass
class Worker:
    """Explores one region and reports. Depth-first: it opens cells until it sees what it was sent for."""

    atlas: Atlas
    model: Model
    question: Question
    emit: Callable[[Event], None] = lambda event: None

    def explore(self, errand: Errand) -> Report:
        """Search a region within its allotment of calls, tokens and time."""
        region, allotment, round, number = errand.region, errand.allotment, errand.round, errand.worker
        visit = _Visit(self.atlas, self.atlas.start(region, errand.dead_zones))
        bill, events, failures, largest, longest_s = Bill(), [], 0, 0, 0.0
        stop: WorkerStop = "steps" if allotment.is_whole else "budget"
        while bill.usage.calls < allotment.calls:
            if allotment.is_spent(bill.usage, largest, longest_s):
                stop = "budget"
                break
            left, began = allotment.calls - bill.usage.calls, time.monotonic()
            call = visit.call(self.question, errand.search_task, left)
            request = replace(call.request(), deadline_s=allotment.deadline_s, is_over=allotment.is_over)
            try:
                reply = self.model.complete(request, max_attempts=min(left, MAX_ATTEMPTS))
            except ModelError as error:
                cost = Bill.of(error)
                bill += cost
                failures += 1
                if isinstance(error, Refused | BadReply):  # the same again would fail again
                    visit.begin_anew()
                data = {"step": "step", "reason": str(error), "usage": cost.usage.to_json()}
                events.append(Event("failure", round, number, data))
                self.emit(events[-1])
                if failures == FAILURES_IN_A_ROW:
                    stop = "failed"
                    break
                continue
            bill, failures = bill + Bill.of(reply), 0
            largest, longest_s = max(largest, reply.usage.tokens), max(longest_s, time.monotonic() - began)
            events.append(visit.act(reply, call, left - reply.usage.calls, round, number))
            self.emit(events[-1])
            if visit.state.finished:
                stop = "finished"
                break
        return Report(region, visit.state.scratchpad.items, stop, bill, tuple(events), longest_s)


@dataclass
class _Visit:
    """A worker's stay in its region: the state, the conversation about the current view, and what was done."""

    atlas: Atlas
    state: State
    conversation: tuple[Message, ...] = ()
    done: tuple[Action, ...] = ()
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen = self.atlas.observe(self.state)

    def call(self, question: Question, search_task: str, steps_left: int) -> StepCall:
        """Return the next question to the model. It is appended to what was said before about the same view."""
        call = StepCall(question, search_task, self.seen, (), self.done, steps_left)
        if not self.conversation:
            self.conversation = call.opening(self.notes)
        return replace(call, earlier=self.conversation)

    def begin_anew(self) -> None:
        """Drop the conversation, which may be too long; the notes tell what was done."""
        self.conversation = ()

    def act(self, reply: Reply, call: StepCall, steps_left: int, round: int, number: int) -> Event:
        """Do what the model chose; what cannot be done costs the step and is told."""
        before, action, problem = self.seen, to_action(reply.answer), ""
        try:
            self.state = self.atlas.act(self.state, action)
        except IllegalAction as error:
            problem = str(error)
        after = self.seen = self.atlas.observe(self.state)
        if after.view.grid == before.view.grid:
            told = after_action(action, after, steps_left, problem)
            earlier = call.opening(self.notes) if _is_full(self.conversation) else self.conversation
            self.conversation = (*earlier, Message("assistant", (reply.text,)), told)
        else:
            self.conversation = ()
        if not problem:
            self.done = (*self.done, action)
            self.notes.append(note_of(action, before))
        return Event("step", round, number, self._record(before, after, action, problem, reply))

    def _record(
        self, before: Observation, after: Observation, action: Action, problem: str, reply: Reply
    ) -> dict[str, Any]:
        new = len(self.state.scratchpad) - len(before.state.scratchpad)
        return {
            "view": before.view.key,
            "interval_s": [before.view.grid.start_s, before.view.grid.end_s],
            "depth": before.state.depth,
            "action": describe(action),
            "problem": problem,
            "shown": after.looking_at.key if after.looking_at else None,
            "found": [item.to_json() for item in self.state.scratchpad.items[-new:]] if new else [],
            "thought": reply.answer.thought,
            "reasoning_text": reply.reasoning,
            "usage": reply.usage.to_json(),
        }


@dataclass
class Master:
    """Holds the global view: extracts the task, probes, judges the evidence, decides."""

    atlas: Atlas
    model: Model
    question: Question
    deadline_s: float | None = None
    """When retries must end, on the clock of `time.monotonic`."""

    def extract_task(self, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Turn the question into a search task, before any frame is decoded."""
        return self._ask(TaskCall(self.question), max_attempts)

    def probe(
        self,
        search_task: str,
        dead_zones: DeadZones,
        open_cells: Sequence[int],
        top: int,
        scratchpad: Scratchpad,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> Reply:
        """Rank the open cells of the masked root grid."""
        seen = self.look(dead_zones)
        call = ProbeCall(self.question, search_task, seen, tuple(open_cells), top, scratchpad)
        return self._ask(call, max_attempts)

    def review(
        self,
        search_task: str,
        dead_zones: DeadZones,
        open_cells: Sequence[int],
        scratchpad: Scratchpad,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> Reply:
        """Judge the evidence: sufficient or not, where to look next, what to erase."""
        sheet, seen = self.sheet(scratchpad), self.look(dead_zones)
        call = ReviewCall(self.question, search_task, sheet, seen, tuple(open_cells))
        return self._ask(call, max_attempts)

    def decide(self, scratchpad: Scratchpad, dead_zones: DeadZones, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Answer from the evidence frames; where there are none, from what of the root grid is not ruled out."""
        call = (
            DecisionCall(self.question, self.atlas.rules.duration_s, self.sheet(scratchpad))
            if len(scratchpad)
            else GlanceCall(self.question, self.look(dead_zones))
        )
        return self._ask(call, max_attempts)

    def cite(self, cells: Sequence[int], dead_zones: DeadZones) -> Scratchpad:
        """Ground the cells that a glance at the root cites, leaving out any whose frame cannot be decoded."""
        state = self.atlas.start(dead_zones=dead_zones)
        for cell in dict.fromkeys(cells):
            try:
                state = self.atlas.act(state, AddToScratchpad((Claim(cell, "cited from the root grid"),)))
            except IllegalAction:
                continue  # said in the grid itself: the cell is marked unreadable
        return state.scratchpad

    def _ask(self, call: TaskCall | ProbeCall | ReviewCall | DecisionCall | GlanceCall, max_attempts: int) -> Reply:
        return self.model.complete(replace(call.request(), deadline_s=self.deadline_s), max_attempts=max_attempts)

    def look(self, dead_zones: DeadZones) -> Observation:
        """Return the masked root."""
        return self.atlas.observe(self.atlas.start(dead_zones=dead_zones))

    def sheet(self, scratchpad: Scratchpad) -> Sheet:
        """Return the scratchpad as an image."""
        return Sheet(self.atlas.video, scratchpad, self.atlas.cell, self.atlas.fit, self.atlas.cache)


def _is_full(conversation: Sequence[Message]) -> bool:
    """Tell whether a conversation has no room for another image."""
    return sum(not isinstance(part, str) for message in conversation for part in message.parts) >= MOST_IMAGES


def prediction(question: Question, answer: Any) -> int | Span:
    """Return what a validated decision predicts: the index of a choice, or an interval.

    An interval told backwards is that interval: no grammar can keep a model from it.
    """
    if question.kind == "when":
        return min(answer.start_s, answer.end_s), max(answer.start_s, answer.end_s)
    return int(answer.answer)


def describe(action: Action) -> dict[str, Any]:
    """Return an action as plain JSON values."""
    match action:
        case AddToScratchpad(items):
            return {"name": "AddToScratchpad", "cells": [item.cell for item in items]}
        case _:
            return {"name": type(action).__name__, **vars(action)}
