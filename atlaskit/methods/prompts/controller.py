"""A controller's turn: it thinks, then takes one action; tools tell it what they found.

A method defines its tools (`Tool`). The schema of a turn is the union of their arguments, so a
controller cannot name a tool or a clip that there is not. It speaks of clips by index, never of
times: a model that writes times makes them up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Union

from pydantic import BaseModel

from atlaskit.agents.schemas import Text, reply_model
from atlaskit.agents.verbalize import brief, grid_intro, question_text
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.models.protocol import Image, Message, Request

FINISH = "finish"
"""The action that ends a conversation. It is always legal."""


@dataclass(frozen=True)
class Tool:
    """An action that a controller may take."""

    name: str
    purpose: str
    """What it does and when to use it, in a sentence of the prompt."""
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Type of each argument, as a field of a pydantic model."""


@dataclass(frozen=True)
class Turn:
    """A turn that was taken, and what came of it."""

    action: Mapping[str, Any]
    """The answer as JSON: `thought`, and `action` with its name and arguments."""
    told: str
    """What the tool found, or why the action was not possible."""
    views: tuple[View, ...] = ()
    """The sheets that the tool showed."""


@dataclass(frozen=True)
class ControllerCall:
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
    def visible(self) -> frozenset[int]:
        """Numbers of the turns whose sheets the controller sees."""
        showing = [number for number, turn in enumerate(self.turns) if turn.views]
        return frozenset(showing if self.keep_views is None else showing[max(0, len(showing) - self.keep_views) :])

    def request(self) -> Request:
        """Return the request to the model."""
        first = "\n".join([self._video(), question_text(self.question), self._tools()])
        messages = list(brief(self.role, first))
        for number, turn in enumerate(self.turns):
            messages.append(Message("assistant", (json.dumps(turn.action, ensure_ascii=False),)))
            messages.append(Message("user", tuple(self._told(number, turn))))
        return Request("master", self.method, tuple(messages), turn_schema(self.tools), self)

    def _told(self, number: int, turn: Turn) -> list[str | Image]:
        parts: list[str | Image] = []
        for view in turn.views if number in self.visible else ():
            parts += [grid_intro(view.grid), view]
        return [*parts, turn.told]

    def _video(self) -> str:
        return f"The video lasts {self.duration_s:.1f} s and has {self.clips} clips, numbered from 0 in order of time."

    def _tools(self) -> str:
        rows = [f"  {tool.name}: {tool.purpose}" for tool in self.tools]
        return "\n".join(
            ["Your actions:", *rows, f"  {FINISH}: You know enough to answer, or nothing more can be found."]
        )


def turn_schema(tools: tuple[Tool, ...]) -> type[BaseModel]:
    """Return the schema of a turn in which these tools, and `finish`, are legal."""
    return _turn_schema(tuple((tool.name, tuple(tool.arguments.items())) for tool in tools))


@lru_cache(maxsize=256)
def _turn_schema(tools: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]) -> type[BaseModel]:
    variants = [
        reply_model("".join(map(str.title, name.split("_"))), action=Literal[name], **dict(arguments))
        for name, arguments in tools
    ]
    variants.append(reply_model("Finish", action=Literal["finish"]))
    return reply_model("TurnAnswer", thought=Text, action=Union[tuple(variants)])
