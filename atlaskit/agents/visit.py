"""`Visit`: one worker's exploration of its region: its state, and its turns.

A conversation is about one view. It only grows while the view stays the same, so that the server's
prefix cache can reuse it; on another view a new conversation begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from atlaskit.agents.prompts import StepCall, Turn
from atlaskit.agents.prompts.worker import opened_paths
from atlaskit.agents.schemas import ends_visit, to_action
from atlaskit.agents.scouts.survey import Survey, hint_data
from atlaskit.agents.task import Task
from atlaskit.agents.thrift import Thrift
from atlaskit.environment.actions import Finished
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question
from atlaskit.errors import IllegalAction
from atlaskit.models.protocol import Reply
from atlaskit.runs.events import Event, action_data, call_data, interval_s, shown_data, view_data


@dataclass
class Visit:
    """A worker's stay in its region; `act` changes it, one step at a time."""

    atlas: Atlas
    task: Task
    question: Question
    thrift: Thrift = frozenset()
    survey: Survey = Survey()
    turns: tuple[Turn, ...] = ()
    """The turns so far."""
    begin: int = 0
    """How many turns came before the current conversation."""
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
    def opened(self) -> set[tuple[int, ...]]:
        """The paths of the cells that were opened."""
        return opened_paths(self.turns)

    @property
    def has_plateaued(self) -> bool:
        """Whether too many steps in a row brought nothing new."""
        return self.steps_without_gain == self.task.plateau > 0

    def next_call(self, steps_left: int) -> StepCall:
        """Return the next call: the turns so far, and what the worker sees now."""
        task, seen = self.task.search_task, self.observation
        open_cells = [cell.index for cell in seen.view.cells if cell.index not in seen.view.dead]
        hints = self.survey.told(task, self.state.grid, open_cells)
        return StepCall(self.question, task, seen, self.turns, steps_left, self.begin, self.thrift, hints)

    def restart_conversation(self) -> None:
        """Drop the conversation, which may be too long; the next call begins a new one."""
        self.begin = len(self.turns)

    def act(self, reply: Reply, call: StepCall) -> Event:
        """Take the action that the model chose; return the event of this step.

        An illegal action changes nothing: it costs the step, and the model is told why.

        Args:
            reply: The model's reply to `call`.
            call: The call, as `next_call` returned it.
        """
        before, action, problem = self.observation, to_action(reply.answer), ""
        try:
            self.state = self.atlas.act(self.state, action)
            if ends_visit(reply.answer):
                self.state = self.atlas.act(self.state, Finished())
        except IllegalAction as error:
            problem = str(error)
        after = self.observation = self.atlas.observe(self.state)
        self.turns += (Turn(before, call.steps_left, reply.text, reply.answer.thought, action, problem),)
        if after.view.grid != before.view.grid:
            self.begin = len(self.turns)
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
            **({"hints": hint_data(call.hints)} if call.hints and call.begins else {}),
            **call_data(reply),
        }
        return self.event("step", data)

    def event(self, kind: str, data: dict[str, Any]) -> Event:
        """Return an event of this visit."""
        return Event(kind, self.task.round, self.task.worker, data)
