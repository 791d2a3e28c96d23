"""`Visit`: one worker's exploration of its region: state, actions taken, conversation with the
model.

A conversation is about one view. It only grows while the view stays the same, so that the server's
prefix cache can reuse it; on another view a new conversation begins, and notes say what happened
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from atlaskit.agents.prompts import StepCall, action_note, action_result
from atlaskit.agents.schemas import ends_visit, to_action
from atlaskit.agents.scouts.survey import Survey, hint_data
from atlaskit.agents.task import Task
from atlaskit.agents.thrift import Thrift
from atlaskit.environment.actions import Action, Expand, Finished
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import Evidence
from atlaskit.environment.observation import Observation
from atlaskit.environment.question import Question
from atlaskit.errors import IllegalAction, printable
from atlaskit.models.protocol import MOST_IMAGES, Message, Reply
from atlaskit.runs.events import Event, action_data, call_data, interval_s, shown_data, view_data

MAX_NOTE_LENGTH = 200
"""Characters of the model's thought about a frame or scan that a note keeps."""


@dataclass
class Visit:
    """A worker's stay in its region; `act` changes it, one step at a time."""

    atlas: Atlas
    task: Task
    question: Question
    thrift: Thrift = frozenset()
    survey: Survey = Survey()
    conversation: tuple[Message, ...] = ()
    """The messages about the current view; empty before the first call about it."""
    actions: tuple[Action, ...] = ()
    """The actions taken so far, without those that were illegal."""
    notes: list[str] = field(default_factory=list)
    """One line for each of these actions."""
    opened: set[tuple[int, ...]] = field(default_factory=set)
    """The paths of the cells that were opened."""
    steps_without_gain: int = 0
    """Steps since the last new evidence or marked cell."""

    def __post_init__(self) -> None:
        task = self.task
        self.state = self.atlas.start(task.region, task.dead_zones, task.known_evidence, task.traversal)
        self.observation = self.atlas.observe(self.state)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The evidence that this visit found."""
        return self.state.scratchpad.items[len(self.task.known_evidence) :]

    @property
    def has_plateaued(self) -> bool:
        """Whether too many steps in a row brought nothing new."""
        return self.steps_without_gain == self.task.plateau > 0

    def next_call(self, steps_left: int) -> StepCall:
        """Return the next call: the conversation about this view, with the current legal set."""
        opened = tuple(sorted(path[-1] for path in self.opened if path[:-1] == self.state.grid.path))
        task, seen = self.task.search_task, self.observation
        open_cells = [cell.index for cell in seen.view.cells if cell.index not in seen.view.dead]
        hints = self.survey.told(task, self.state.grid, open_cells)
        call = StepCall(self.question, task, seen, (), self.actions, steps_left, opened, self.thrift, hints)
        if not self.conversation:
            self.conversation = call.opening(self.notes)
        # A failed call costs a step too, so the last message gets the current number of steps.
        *before, last = self.conversation
        self.conversation = (*before, call.with_next_move(last))
        return replace(call, conversation=self.conversation)

    def restart_conversation(self) -> None:
        """Drop the conversation, which may be too long; the next call begins a new one."""
        self.conversation = ()

    def act(self, reply: Reply, call: StepCall, steps_left: int) -> Event:
        """Take the action that the model chose; return the event of this step.

        An illegal action changes nothing: it costs the step, and the model is told why.

        Args:
            reply: The model's reply to `call`.
            call: The call, as `next_call` returned it.
            steps_left: Steps that remain after this one.
        """
        before, action, problem = self.observation, to_action(reply.answer), ""
        if before.looking_at and self.notes and reply.answer.thought:  # about what the last action showed
            self.notes[-1] += f": {printable(reply.answer.thought, MAX_NOTE_LENGTH)}"
        try:
            self.state = self.atlas.act(self.state, action)
            if ends_visit(reply.answer):
                self.state = self.atlas.act(self.state, Finished())
        except IllegalAction as error:
            problem = str(error)
        after = self.observation = self.atlas.observe(self.state)
        self._converse(reply, call, action_result(action, after, steps_left, problem), before)
        if not problem:
            self._record(action, before)
        found = self.state.scratchpad.items[len(before.state.scratchpad) :]
        marked = self.state.marked[len(before.state.marked) :]
        self.steps_without_gain = 0 if found or marked else self.steps_without_gain + 1
        data = {
            "view": view_data(before),
            "interval_s": interval_s(before.view.grid),
            "depth": before.state.depth,
            "action": action_data(action),
            **({"then": "finished"} if ends_visit(reply.answer) and not problem else {}),
            "problem": problem,
            "shown": None if problem else shown_data(after),
            "found": [item.to_json() for item in found],
            "marked": [list(grid.path) for grid in marked],
            "thought": reply.answer.thought,
            **({"hints": hint_data(call.hints)} if call.hints and _is_opening(call.conversation) else {}),
            **call_data(reply),
        }
        return self.event("step", data)

    def event(self, kind: str, data: dict[str, Any]) -> Event:
        """Return an event of this visit."""
        return Event(kind, self.task.round, self.task.worker, data)

    def _converse(self, reply: Reply, call: StepCall, result: Message, before: Observation) -> None:
        """Add a reply and its result to the conversation, or end it if the view has changed."""
        if self.observation.view.grid != before.view.grid:
            self.conversation = ()
            return
        earlier = call.opening(self.notes) if _is_full(self.conversation) else self.conversation
        self.conversation = (*earlier, Message("assistant", (reply.text,)), result)

    def _record(self, action: Action, before: Observation) -> None:
        self.actions = (*self.actions, action)
        if isinstance(action, Expand):
            self.opened.add(self.state.grid.path)
        self.notes.append(action_note(action, before))


def _is_opening(conversation: Sequence[Message]) -> bool:
    """Return whether a conversation has no reply of the model yet."""
    return all(message.speaker != "assistant" for message in conversation)


def _is_full(conversation: Sequence[Message]) -> bool:
    """Return whether a conversation has no room for another image."""
    return sum(not isinstance(part, str) for message in conversation for part in message.parts) >= MOST_IMAGES
