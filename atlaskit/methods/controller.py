"""A controller takes turns: it thinks, then takes one action, and is told what came of it.

A method defines its actions (`Tool`). The schema of a turn is the union of their arguments, so a
controller cannot name a tool or a clip that there is not. It speaks of clips by index, never of
times: a model that writes times makes them up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Union

from pydantic import BaseModel

from atlaskit.agents.schemas import Text, reply_model
from atlaskit.agents.verbalize import brief, form_text, question_text
from atlaskit.environment.question import Question, Span
from atlaskit.environment.render import View
from atlaskit.methods.calls import Call, sheets
from atlaskit.methods.run import MethodRun
from atlaskit.models.protocol import Message, Request

FINISH = "finish"
"""The action that ends a conversation. It is always legal."""


@dataclass(frozen=True)
class Outcome:
    """What a tool found, or why it could not be used."""

    text: str
    views: tuple[View, ...] = ()
    """The sheets that it shows."""
    intervals_s: tuple[Span, ...] = ()
    """The parts of the video that it is about."""


@dataclass(frozen=True)
class Tool:
    """An action that a controller may take."""

    name: str
    purpose: str
    """What it does and when to use it, in a sentence of the prompt."""
    arguments: Mapping[str, Any]
    """Type of each argument, as a field of a pydantic model."""
    use: Callable[[Any], Outcome]
    """Takes the action, of which the arguments are attributes."""


@dataclass(frozen=True)
class Turn:
    """A turn that was taken, and what came of it."""

    action: Mapping[str, Any]
    """The answer as JSON: `thought`, and `action` with its name and arguments."""
    outcome: Outcome


@dataclass(frozen=True)
class ControllerCall(Call):
    """The next turn of a controller, after the turns so far."""

    method: str
    role: str
    """What the controller is and what it is for: the system message."""
    question: Question
    duration_s: float
    clips: int
    """Number of clips of the video; their indices run from 0."""
    tools: tuple[Tool, ...]
    """The tools that are legal in this turn, beside `finish`."""
    turns: tuple[Turn, ...] = ()
    keep_views: int | None = None
    """How many of the latest turns that showed sheets still show them; None for all."""

    @property
    def visible(self) -> tuple[View, ...]:
        """The sheets that the controller sees, in the order in which they were shown."""
        return tuple(view for number in self._showing for view in self.turns[number].outcome.views)

    @property
    def _showing(self) -> list[int]:
        """Numbers of the turns whose sheets the controller sees."""
        showing = [number for number, turn in enumerate(self.turns) if turn.outcome.views]
        return showing if self.keep_views is None else showing[max(0, len(showing) - self.keep_views) :]

    def request(self) -> Request:
        """Return the request to the model."""
        clips = f"{self.clips} clips, numbered from 0 in order of time."
        tools = [f"  {tool.name}: {tool.purpose}" for tool in self.tools]
        first = [f"The video lasts {self.duration_s:.1f} s and has {clips}", question_text(self.question)]
        last = f"  {FINISH}: You know enough to answer, or nothing more can be found."
        schema = _turn_schema(tuple((tool.name, tuple(tool.arguments.items())) for tool in self.tools))
        messages = list(brief(self.role, "\n".join([*first, "Your actions:", *tools, last]), form_text(schema)))
        for number, turn in enumerate(self.turns):
            shown = sheets(turn.outcome.views if number in self._showing else ())
            messages.append(Message("assistant", (json.dumps(turn.action, ensure_ascii=False),)))
            messages.append(Message("user", (*shown, turn.outcome.text)))
        return Request("master", self.method, tuple(messages), schema, self)


@lru_cache(maxsize=256)
def _turn_schema(tools: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]) -> type[BaseModel]:
    variants = [
        reply_model("".join(map(str.title, name.split("_"))), action=Literal[name], **dict(arguments))
        for name, arguments in tools
    ]
    variants.append(reply_model("Finish", action=Literal["finish"]))
    return reply_model("TurnAnswer", thought=Text, action=Union[tuple(variants)])


def converse(
    run: MethodRun, role: str, clips: int, tools: tuple[Tool, ...], *, turns: int, keep_views: int | None = None
) -> tuple[Turn, ...]:
    """Let a controller take turns; return them, without the one that finishes.

    In the last turn only `finish` is legal, so that turn is not asked for. The conversation also
    ends when the budget is spent, or a call fails.

    Args:
        run: The run that makes the calls; the method's name is the step of each turn.
        role: What the controller is and what it is for.
        clips: Number of clips of the video.
        tools: The actions.
        turns: The most turns, the finishing one included.
        keep_views: How many of the latest turns that showed sheets still show them; None for all.
    """
    name, uses = run.settings["method"], {tool.name: tool.use for tool in tools}
    taken, outcome = list[Turn](), Outcome("")
    for _ in range(turns - 1):
        call = ControllerCall(name, role, run.question, run.video.duration_s, clips, tools, tuple(taken), keep_views)
        answer = run.call(call, outcome.intervals_s, outcome.text)
        if answer is None or answer.action.action == FINISH:
            break
        outcome = uses[answer.action.action](answer.action)
        taken.append(Turn(answer.model_dump(mode="json"), outcome))
    return tuple(taken)


def notes_of(turns: tuple[Turn, ...], thoughts: bool = False) -> str:
    """Return what the tools of a conversation found, in the order in which they were used.

    Args:
        turns: The turns of the conversation.
        thoughts: Whether to include what the controller thought before each action.
    """
    notes = []
    for turn in turns:
        thought, name = str(turn.action["thought"]).strip(), turn.action["action"]["action"]
        notes += [*([f"thought: {thought}"] if thoughts and thought else []), f"{name}: {turn.outcome.text}"]
    return "\n\n".join(notes)
