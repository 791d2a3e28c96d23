"""Models that read: they know the text of a prompt and the frames in its pictures, and no facts.

`Reader` recognises events as a perfect oracle does, but takes all else from the words: question,
times of cells, legal actions, evidence, gaps. It fails if a prompt is ambiguous or lacks something.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Unpack

from pydantic import ValidationError

from atlaskit.environment.actions import Expand, Investigate, Zoom
from atlaskit.environment.grid import Cell
from atlaskit.environment.memory import Evidence, Gap, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.models.protocol import BadReply, CallControl, Message, Reply, Request
from atlasworld import World
from atlasworld.oracle import oracle
from atlasworld.oracle.perception import Chances, Perception, estimated_usage

SHEET = re.compile(
    r"A sheet of (\d+)×\d+ cells of the video, \S+ \(([\d.]+)–([\d.]+) s\)\. Cell n starts at ([\d.]+) \+ ([\d.]+) n s"
)
ITEM = re.compile(
    r"^\[([A-Z]+)\] (.*?) \(frame at \S+ \(([\d.]+) s\), stands for ([\d.]+)–([\d.]+) s, confidence ([\d.]+)\)", re.M
)
GAP = re.compile(r"^(\[[A-Z]+\]|the start) to (\[[A-Z]+\]|the end): \S+ \(([\d.]+)–([\d.]+) s\)", re.M)


def text_of(message: Message) -> str:
    return "\n".join(part for part in message.parts if isinstance(part, str))


def numbers(listed: str) -> tuple[int, ...]:
    """Return the numbers of a list such as 0–5, 9."""
    spans = [part.strip().split("–") for part in listed.split(",") if part.strip() not in ("", "none")]
    return tuple(number for span in spans for number in range(int(span[0]), int(span[-1]) + 1))


def found(pattern: str, text: str) -> str:
    """Return the group of a pattern in a text; fail where a prompt does not say it."""
    match = re.search(pattern, text)
    assert match is not None, f"the prompt does not say {pattern!r}:\n{text}"
    return match[1]


class Sheet:
    """A sheet as its prompt describes it."""

    def __init__(self, text: str) -> None:
        match = SHEET.search(text)
        assert match is not None, text
        k, self.start_s, self.end_s = int(match[1]), float(match[2]), float(match[3])
        first_s, self.resolution_s = float(match[4]), float(match[5])
        starts = [first_s + self.resolution_s * n for n in range(k * k)]
        self.size = k * k
        self.cells = [Cell(n, a, a + self.resolution_s, a + self.resolution_s / 2) for n, a in enumerate(starts)]
        self.grid, self.moments = self, [cell.midpoint_s for cell in self.cells]


def evidence(text: str) -> Scratchpad:
    """Return the evidence that a prompt lists."""
    items = (
        Evidence(float(t), float(a), float(b), what, float(sure), "", label)
        for label, what, t, a, b, sure in ITEM.findall(text)
    )
    return Scratchpad(tuple(items))


class Reader:
    """Follows what it is told, to the letter."""

    def __init__(self, world: World) -> None:
        self.world, self.name = world, f"reader:{world.name}"
        self.parameters: Mapping[str, Any] = {"temperature": 0}
        self.perception = Perception(world, Chances(world.name, 0.0, 0.0, 0))

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        written = self.write(request.step, [text_of(message) for message in request.messages])
        usage = estimated_usage(request, written)
        try:
            return Reply(request.schema.model_validate_json(written), written, usage)
        except ValidationError as error:
            raise BadReply(f"{self.name} wrote {written[:80]}", usage) from error

    def write(self, step: str, texts: list[str]) -> str:
        """Return what it writes to a step of the search, told the texts of the messages."""
        return json.dumps(getattr(self, step)(texts))

    def question(self, text: str) -> Question:
        return self.world.question(found(r"The question: (.*)", text))

    def task(self, texts: list[str]) -> dict[str, Any]:
        call = SimpleNamespace(question=self.question(texts[0]), chooses_traversal="traversal" in texts[0])
        return oracle.task_reply(self.perception, call)  # type: ignore[arg-type]

    def probe(self, texts: list[str]) -> dict[str, Any]:
        text, sheet = texts[-1], Sheet(texts[-1])
        call = SimpleNamespace(
            question=self.question(text),
            scratchpad=evidence(text),
            observation=SimpleNamespace(view=sheet),
            open_cells=numbers(found(r"Name up to \d+ of the cells (.*?), best", text)),
            top=int(found(r"Name up to (\d+) of the cells", text)),
            hints=(),
        )
        return oracle.probe_reply(self.perception, call)  # type: ignore[arg-type]

    def review(self, texts: list[str]) -> dict[str, Any]:
        text = texts[-1]
        gaps = [
            Gap(float(a), float(b), after.strip("[]"), before.strip("[]")) for after, before, a, b in GAP.findall(text)
        ]
        call = SimpleNamespace(
            question=self.question(text),
            sheet=SimpleNamespace(scratchpad=evidence(text)),
            observation=SimpleNamespace(view=Sheet(text)),
            open_cells=numbers(found(r"Cells with a stretch that no worker was sent to: (.*)\.", text)),
            gaps=gaps,
        )
        return oracle.review_reply(self.perception, call)  # type: ignore[arg-type]

    def decision(self, texts: list[str]) -> dict[str, Any]:
        text = texts[-1]
        if SHEET.search(text):  # there is no evidence: the root grid alone
            sheet, question = Sheet(text), self.question(text)
            dark = numbers(found(r"(?:without a number: (.*)\.|$)", text) or "") if "without a number" in text else ()
            alive = [cell.index for cell in sheet.cells if cell.index not in dark]
            seen = self.perception.recognised(question, sheet, alive, self.perception.targets(question))  # type: ignore[arg-type]
            return oracle.decision_reply(self.perception, question, seen)
        call = SimpleNamespace(question=self.question(text), sheet=SimpleNamespace(scratchpad=evidence(text)))
        return oracle.final_reply(self.perception, call)  # type: ignore[arg-type]

    def step(self, texts: list[str]) -> dict[str, Any]:
        opening, sheet, actions, marked = texts[1], Sheet(texts[1]), list[Any](), list[Cell]()
        pad = evidence(opening)
        for reply, result in zip(texts[2::2], texts[3::2], strict=True):
            if result.startswith("That was not possible"):
                continue
            match json.loads(reply)["action"]:
                case {"action": "zoom", "cell": cell}:
                    actions.append(Zoom(cell))
                case {"action": "investigate", "cell": cell, "direction": side}:
                    actions.append(Investigate(cell, side))
                case {"action": "mark_promising", "cells": cells}:
                    marked += [sheet.cells[cell] for cell in cells]
                case {"action": "add_to_scratchpad", "items": items}:
                    named = [(sheet.cells[item["cell"]], item) for item in items]
                    pad = pad.add(Evidence(c.midpoint_s, c.start_s, c.end_s, i["description"], 0.9) for c, i in named)
        if "that you opened before" in opening:
            actions += map(Expand, numbers(found(r"opened before, which may hold more: (.*)\.", opening)))
        actions += [Zoom(0)] if "- looked closely at" in opening else []
        actions += [Investigate(0, "after")] if "- looked at what comes" in opening else []
        region = SimpleNamespace(start_s=sheet.start_s, end_s=sheet.end_s)
        if "You were sent to this stretch" not in opening:
            a, b = re.search(r"You were sent to \S+ \(([\d.]+)–([\d.]+) s\)", opening).groups()  # type: ignore[union-attr]
            region = SimpleNamespace(start_s=float(a), end_s=float(b))
        call = SimpleNamespace(
            question=self.question(opening),
            observation=SimpleNamespace(
                state=SimpleNamespace(scratchpad=pad, grid=sheet, marked=marked, region=region),
                legal=self.legal(texts[-1]),
                view=sheet,
            ),
            actions=tuple(actions),
        )
        return oracle.step_reply(self.perception, call)  # type: ignore[arg-type]

    def legal(self, text: str) -> Mapping[str, tuple[int, ...]]:
        """Return the cells of each action that a prompt says is possible."""
        legal = defaultdict[str, tuple[int, ...]](tuple)
        for part in found(r"Possible now: (.*?)\. Your visit", text).split("; "):
            names, _, cells = part.partition(" with ")
            legal |= {name.replace(" ", "_"): numbers(cells) for name in names.split(", ")}
        return legal


class Repeating(Reader):
    """Writes again what it wrote first in a conversation, legal or not."""

    def step(self, texts: list[str]) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(texts[2]) if len(texts) > 2 else super().step(texts)
        return said


class Prose(Reader):
    """Writes sentences in place of JSON, whenever it is sent to search."""

    def write(self, step: str, texts: list[str]) -> str:
        return "I would rather look at the third cell." if step == "step" else super().write(step, texts)
