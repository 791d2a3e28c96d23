"""Promise: prompts say enough. A worker finds by the words alone what an oracle finds."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Unpack

from support.asking import ask

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Action, Expand, Investigate, Zoom
from atlaskit.environment.grid import Cell
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.models.protocol import CallControl, Reply, Request
from atlasworld import Oracle, World
from atlasworld.oracle.oracle import step_reply
from atlasworld.oracle.perception import Chances, Perception, estimated_usage

SHEET = re.compile(
    r"A sheet of (\d+)×\d+ cells of the video, \S+ \(([\d.]+)–([\d.]+) s\)\. Cell n starts at ([\d.]+) \+ ([\d.]+) n s"
)
ITEM = re.compile(
    r"^\[([A-Z]+)\] (.*?) \(frame at \S+ \(([\d.]+) s\), stands for ([\d.]+)–([\d.]+) s, confidence ([\d.]+)\)", re.M
)
SENT = re.compile(r"You were sent to (?:\S+ \(([\d.]+)–([\d.]+) s\)|this stretch)")


def found(pattern: str, text: str) -> str:
    """Return the group of a pattern in a text; fail where a prompt does not say it."""
    match = re.search(pattern, text)
    assert match is not None, f"the prompt does not say {pattern!r}:\n{text}"
    return match[1]


def numbers(listed: str) -> tuple[int, ...]:
    """Return the numbers of a list such as 0–5, 9."""
    spans = [part.strip().split("–") for part in listed.split(",") if part.strip() not in ("", "none")]
    return tuple(number for span in spans for number in range(int(span[0]), int(span[-1]) + 1))


def sheet_of(text: str) -> Any:
    """Return a sheet as its prompt describes it."""
    match = SHEET.search(text)
    assert match is not None, text
    size, (start_s, end_s, first_s, step_s) = int(match[1]) ** 2, map(float, match.groups()[1:])
    cells = []
    for number in range(size):
        a = first_s + step_s * number
        cells.append(Cell(number, a, a + step_s, a + step_s / 2))
    moments = [cell.midpoint_s for cell in cells]
    sheet = SimpleNamespace(start_s=start_s, end_s=end_s, size=size, cells=cells, moments=moments)
    sheet.grid = sheet
    return sheet


def legal_of(text: str) -> Mapping[str, tuple[int, ...]]:
    """Return the cells of each action that a prompt says is possible."""
    legal = defaultdict[str, tuple[int, ...]](tuple)
    for part in found(r"Possible now: (.*?)\. Your visit", text).split("; "):
        names, _, cells = part.partition(" with ")
        legal |= {name.replace(" ", "_"): numbers(cells) for name in names.split(", ")}
    return legal


class Reader(Oracle):
    """Recognises events as an oracle does; as a worker, it takes all else from the words."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        if request.step != "step":
            return super().complete(request, **control)
        texts = ["\n".join(part for part in m.parts if isinstance(part, str)) for m in request.messages]
        perception = Perception(self.world, Chances(self.world.name, 0.0, 0.0, 0))
        answer = request.schema.model_validate(step_reply(perception, self.read(texts)))
        text = answer.model_dump_json()
        return Reply(answer, text, estimated_usage(request, text))

    def read(self, texts: list[str]) -> Any:
        """Return the facts of a worker's call, as its conversation tells them."""
        opening = texts[1]
        sheet = sheet_of(opening)
        marked = list[Cell]()
        items = []
        for label, what, t, a, b, sure in ITEM.findall(opening):
            items.append(Evidence(float(t), float(a), float(b), what, float(sure), "", label))
        actions: list[Action] = []
        if "that you opened before" in opening:
            actions += map(Expand, numbers(found(r"opened before, which may hold more: (.*)\.", opening)))
        if "- looked closely at" in opening:
            actions.append(Zoom(0))
        if "- looked at what comes" in opening:
            actions.append(Investigate(0, "after"))
        for reply in texts[2::2]:
            match json.loads(reply)["action"]:
                case {"action": "zoom", "cell": cell}:
                    actions.append(Zoom(cell))
                case {"action": "investigate", "cell": cell, "direction": side}:
                    actions.append(Investigate(cell, side))
                case {"action": "mark_promising", "cells": cells}:
                    marked += [sheet.cells[cell] for cell in cells]
                case {"action": "add_to_scratchpad", "items": added}:
                    for item in added:
                        cell = sheet.cells[item["cell"]]
                        items.append(Evidence(cell.midpoint_s, cell.start_s, cell.end_s, item["description"], 0.9))
        sent = SENT.search(opening)
        assert sent is not None
        start_s, end_s = map(float, sent.groups(default="nan")) if sent[1] else (sheet.start_s, sheet.end_s)
        region = SimpleNamespace(start_s=start_s, end_s=end_s)
        state = SimpleNamespace(scratchpad=Scratchpad().add(items), grid=sheet, marked=marked, region=region)
        return SimpleNamespace(
            question=self.world.question(found(r"The question: (.*)", opening)),
            observation=SimpleNamespace(state=state, legal=legal_of(texts[-1]), view=sheet),
            actions=tuple(actions),
        )


def test_ten_hours_are_searched_by_the_words_of_the_prompts_alone(long_world: World) -> None:
    options: dict[str, Any] = {"cell": 64, "budget": Budget(calls=60)}
    results = [
        ask(long_world.drawn, each, vlm=Reader(long_world), cache=Cache(None), **options)
        for each in long_world.questions
    ]
    assert sum(result.is_right for result in results) >= 0.95 * len(results) > 30
    assert not [event.reason for result in results for event in result.trace.of("failure")]
    assert not [event.problem for result in results for event in result.trace.of("step") if event.problem]
