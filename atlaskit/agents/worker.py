"""Master and Worker (paper §3.2): show, ask, read the answer. No loops over rounds; those are `search`'s.

What goes wrong in a call costs a step: the evidence found before it is kept, and a region that failed stays open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from atlaskit.agents.budget import Allotment, Charge, PeakUsage
from atlaskit.agents.prompts import (
    StepCall,
    after_action,
    note_of,
)
from atlaskit.agents.schemas import to_action
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import Action, Expand, Traversal
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.question import Question, Span
from atlaskit.errors import IllegalAction, printable
from atlaskit.models.errors import BadReply, ModelError, Refused
from atlaskit.models.protocol import MAX_ATTEMPTS, MOST_IMAGES, Message, Model, Reply
from atlaskit.runs.events import Event, action_data, call_data, failure_data, interval_s, shown_data, view_data

WorkerStop = Literal["finished", "plateau", "steps", "budget", "failed"]
"""Why a worker came back: it declared its region explored, found nothing new for too long, used up its own steps, was
cut short by the budget of the whole run, or could not get answers."""

LONGEST_NOTE = 200
"""Characters of what a worker thought of a frame or scan, for when its conversation begins anew."""
FAILURES_IN_A_ROW = 2
"""A worker whose calls fail this often in a row gives up; its region stays open."""


@dataclass(frozen=True)
class Task:
    """What a worker is sent to do: all it may know, fixed before it starts."""

    search_task: str
    region: Grid
    dead_zones: DeadZones
    allotment: Allotment
    round: int
    worker: int
    """Its number among the workers of the round."""
    traversal: Traversal = "dfs"
    plateau: int = 0
    """It comes back after this many steps in a row without new evidence, or newly marked cells; 0 is never."""
    kept: Scratchpad = Scratchpad()
    """What was found in the region before."""


@dataclass(frozen=True)
class WorkerResult:
    """What a worker brings back from a region."""

    region: Grid
    evidence: tuple[Evidence, ...]
    """What it found, without what was known before."""
    stop: WorkerStop
    bill: Charge
    events: tuple[Event, ...]
    longest_s: float = 0.0
    """Seconds of the longest call."""
    marked: tuple[Grid, ...] = ()
    """The cells that it put into the queue, first in, first out."""
    largest: PeakUsage = PeakUsage()
    got_no_answer: bool = False
    """Whether nobody answered any call of the visit; to be refused is an answer."""

    @property
    def is_cut_short(self) -> bool:
        """Whether the region was not searched as far as meant: it stays open."""
        failed = any(event.kind == "failure" for event in self.events)
        return self.stop in ("failed", "budget") or (self.stop in ("steps", "plateau") and failed)

    @property
    def unmarked_s(self) -> tuple[Span, ...]:
        """The parts of the region that were not marked: where there is no evidence, they hold nothing."""
        marked = DeadZones().add_all((grid.start_s, grid.end_s) for grid in self.marked)
        return marked.outside(self.region.start_s, self.region.end_s)


@dataclass
class Worker:
    """Explores one region and reports: opens cells until it sees what it was sent for ("dfs"), or scans one level and
    marks what others should open ("bfs")."""

    atlas: Atlas
    model: Model
    question: Question
    emit: Callable[[Event], None] = lambda event: None

    def explore(self, errand: Task) -> WorkerResult:
        """Search a region within its allotment of calls, tokens and time."""
        visit, allotment = _Visit(self.atlas, errand), errand.allotment
        bill, events, failures, longest_s = Charge(), list[Event](), 0, 0.0
        largest, is_silent = PeakUsage(), True
        stop: WorkerStop = "steps" if allotment.is_whole else "budget"
        while bill.usage.calls < allotment.calls:
            if allotment.is_spent(bill.usage, largest, longest_s):
                stop = "budget"
                break
            left, began = allotment.calls - bill.usage.calls, time.monotonic()
            call = visit.call(self.question, left)
            try:
                reply = self.model.complete(
                    call.request(),
                    max_attempts=min(left, MAX_ATTEMPTS),
                    deadline_s=allotment.deadline_s,
                    cancel=allotment.cancel,
                )
            except ModelError as error:
                cost = Charge.of(error)
                bill, largest = bill + cost, largest | cost.usage
                failures += 1
                is_silent = is_silent and not isinstance(error, Refused)
                if isinstance(error, Refused | BadReply):  # the same again would fail again
                    visit.begin_anew()
                events.append(
                    visit.event("failure", failure_data("step", error, cost.usage, {"view": view_data(visit.seen)}))
                )
                self.emit(events[-1])
                if failures == FAILURES_IN_A_ROW:
                    stop = "failed"
                    break
                continue
            bill, failures, is_silent = bill + Charge.of(reply), 0, False
            largest, longest_s = largest | reply.usage, max(longest_s, time.monotonic() - began)
            events.append(visit.act(reply, call, left - reply.usage.calls))
            self.emit(events[-1])
            if visit.state.finished:
                stop = "finished"
                break
            if visit.without_gain == errand.plateau > 0:
                stop = "plateau"
                break
        found = visit.state.scratchpad.items[len(errand.kept) :]
        silent = is_silent and bool(events)
        marked = visit.state.marked
        return WorkerResult(errand.region, found, stop, bill, tuple(events), longest_s, marked, largest, silent)


@dataclass
class _Visit:
    """A worker's stay in its region: the state, the conversation about the current view, and what was done."""

    atlas: Atlas
    errand: Task
    conversation: tuple[Message, ...] = ()
    done: tuple[Action, ...] = ()
    notes: list[str] = field(default_factory=list)
    opened: set[tuple[int, ...]] = field(default_factory=set)
    """The paths of the cells that were opened."""
    without_gain: int = 0
    """Steps since something new was found or marked."""

    def __post_init__(self) -> None:
        errand = self.errand
        self.state = self.atlas.start(errand.region, errand.dead_zones, errand.kept, errand.traversal)
        self.seen = self.atlas.observe(self.state)

    def call(self, question: Question, steps_left: int) -> StepCall:
        """Return the next question to the model. It is appended to what was said before about the same view."""
        opened = tuple(sorted(path[-1] for path in self.opened if path[:-1] == self.state.grid.path))
        call = StepCall(question, self.errand.search_task, self.seen, (), self.done, steps_left, opened)
        if not self.conversation:
            self.conversation = call.opening(self.notes)
        *before, last = self.conversation  # which tells what is left of the steps, of which failures cost some too
        self.conversation = (*before, call.told_anew(last))
        return replace(call, earlier=self.conversation)

    def begin_anew(self) -> None:
        """Drop the conversation, which may be too long; the notes tell what was done."""
        self.conversation = ()

    def act(self, reply: Reply, call: StepCall, steps_left: int) -> Event:
        """Do what the model chose; what cannot be done costs the step and is told."""
        before, action, problem = self.seen, to_action(reply.answer), ""
        if before.looking_at and self.notes and reply.answer.thought:  # what it saw there, for a view that comes later
            self.notes[-1] += f": {printable(reply.answer.thought, LONGEST_NOTE)}"
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
            if isinstance(action, Expand):
                self.opened.add(after.view.grid.path)
            self.notes.append(note_of(action, before))
        found = self.state.scratchpad.items[len(before.state.scratchpad) :]
        marked = self.state.marked[len(before.state.marked) :]
        self.without_gain = 0 if found or marked else self.without_gain + 1
        data = {
            "view": view_data(before),
            "interval_s": interval_s(before.view.grid),
            "depth": before.state.depth,
            "action": action_data(action),
            "problem": problem,
            "shown": None if problem else shown_data(after),  # what could not be done shows nothing new
            "found": [item.to_json() for item in found],
            "marked": [list(grid.path) for grid in marked],
            "thought": reply.answer.thought,
            **call_data(reply),
        }
        return self.event("step", data)

    def event(self, kind: str, data: dict[str, Any]) -> Event:
        """Return an event of this visit."""
        return Event(kind, self.errand.round, self.errand.worker, data)


def _is_full(conversation: Sequence[Message]) -> bool:
    """Tell whether a conversation has no room for another image."""
    return sum(not isinstance(part, str) for message in conversation for part in message.parts) >= MOST_IMAGES
