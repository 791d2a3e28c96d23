"""A model that takes a controller's turns from a script, and what its tests share."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from support.model_doubles import Around

from atlaskit.methods.controller import ControllerCall
from atlaskit.models.protocol import CallControl, Model, Refused, Reply, Request, Usage

FINISH = {"action": "finish"}
CLIPS = 12
"""Clips of 10 s in the world of two minutes."""


class Scripted(Around):
    """A model whose controller takes the actions of a script, then finishes."""

    def __init__(self, model: Model, actions: Sequence[Mapping[str, Any]], fails: Sequence[str] = ()) -> None:
        """Take other calls' answers from `model`; calls of the steps in `fails` fail."""
        super().__init__(model)
        self.name = f"scripted {model.name}"
        self.actions, self.fails = actions, fails
        self.requests: list[Request] = []

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.requests.append(request)
        if request.step in self.fails:
            raise Refused("the call failed", usage=Usage(calls=1))
        if not isinstance(request.facts, ControllerCall):
            return super().complete(request, **control)
        number = len(request.facts.turns)
        action = self.actions[number] if number < len(self.actions) else FINISH
        answer = request.schema.model_validate({"thought": f"Turn {number}.", "action": dict(action)})
        return Reply(answer, answer.model_dump_json(), Usage(calls=1, prompt_tokens=10, completion_tokens=1))

    def of(self, step: str) -> list[Request]:
        """Return the requests of a step, in order."""
        return [request for request in self.requests if request.step == step]


def told(model: Scripted, step: str) -> list[str]:
    """Return what the controller was told after each of its turns, as its last request has it."""
    return [turn.outcome.text for turn in model.of(step)[-1].facts.turns]  # type: ignore[attr-defined]


def ranges(*pairs: tuple[int, int]) -> list[dict[str, int]]:
    """Return ranges of clips as an action names them."""
    return [{"first": first, "last": last} for first, last in pairs]
