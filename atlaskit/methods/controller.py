"""`converse`: a controller takes turns with the tools of a method until it finishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from atlaskit.environment.question import Span
from atlaskit.environment.render import View
from atlaskit.methods.prompts.controller import FINISH, ControllerCall, Tool, Turn
from atlaskit.methods.run import MethodRun


@dataclass(frozen=True)
class Outcome:
    """What a tool found, or why it could not be used."""

    told: str
    views: tuple[View, ...] = ()
    intervals_s: tuple[Span, ...] = ()
    """The parts of the video that it is about."""


Handler = Callable[[Any], Outcome]
"""Runs a tool with the validated arguments of an action."""


def converse(
    run: MethodRun,
    method: str,
    role: str,
    clips: int,
    tools: Mapping[Tool, Handler],
    *,
    turns: int,
    keep_views: int | None = None,
) -> tuple[Turn, ...]:
    """Let a controller take turns; return them, without the one that finishes.

    In the last turn only `finish` is legal, so that turn is not asked for. The conversation also
    ends when the budget is spent, or a call fails.

    Args:
        run: The run that makes the calls.
        method: Name of the method; it is the step of each turn.
        role: What the controller is and what it is for.
        clips: Number of clips of the video.
        tools: The tools, each with what runs it.
        turns: The most turns, the finishing one included.
        keep_views: How many of the latest turns that showed sheets still show them; None for all.
    """
    by_name = {tool.name: handle for tool, handle in tools.items()}
    taken, outcome = list[Turn](), Outcome("")
    for _ in range(turns - 1):
        call = ControllerCall(
            method, role, run.question, run.video.duration_s, clips, tuple(tools), tuple(taken), keep_views
        )
        answer = run.call(call.request(), outcome.intervals_s, outcome.told)
        if answer is None or answer.action.action == FINISH:
            break
        outcome = by_name[answer.action.action](answer.action)
        taken.append(Turn(answer.model_dump(mode="json"), outcome.told, outcome.views))
    return tuple(taken)


def notes_of(turns: tuple[Turn, ...], thoughts: bool = False) -> str:
    """Return what the tools of a conversation found, in the order in which they were used.

    Args:
        turns: The turns of the conversation.
        thoughts: Whether to include what the controller thought before each action.
    """
    notes = []
    for turn in turns:
        thought = str(turn.action["thought"]).strip() if thoughts else ""
        notes += [*([f"thought: {thought}"] if thought else []), f"{turn.action['action']['action']}: {turn.told}"]
    return "\n\n".join(notes)
