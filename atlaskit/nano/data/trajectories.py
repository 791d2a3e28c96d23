"""What nano is taught: calls of real searches, in the words that a server shows a model, and the teacher's replies.

The teacher goes astray now and then, on purpose: what is learnt is what it would do in the state that it then is in.
A lesson names what each cell of an image shows; the features of such cells are put in by who learns.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from atlaskit.agents.budget import Budget
from atlaskit.agents.prompts import DecisionCall, GlanceCall, ProbeCall, ReviewCall, StepCall
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import World
from atlaskit.benchmarks.atlasworld.oracle import estimated_usage
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import View
from atlaskit.models.protocol import CallControl, Image, Message, Reply, Request
from atlaskit.nano.teacher.goal import told
from atlaskit.nano.teacher.labels import CELL, CellContent, codes
from atlaskit.nano.teacher.teacher import SETTINGS, Expert

IMAGE = "<image>"
BLACK = CellContent()
UNSEEN = None
"""Stands for a tile of which nothing is told: a part of a frame on a sheet of evidence."""


def written(messages: Sequence[Message]) -> str:
    """Write a conversation as nano's chat template does."""
    turns = (f"<|{m.speaker}|>" + "\n".join(p if isinstance(p, str) else IMAGE for p in m.parts) for m in messages)
    return "".join(f"{turn}<end>" for turn in turns) + "<|assistant|>"


@dataclass
class TrajectoryRecorder:
    """The teacher, with a notebook; with some chance, its pupil's hand slips, and it does something else."""

    expert: Expert
    slip: float
    rng: random.Random
    lessons: list[dict[str, Any]] = field(default_factory=list)
    name: str = "recorder"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request and write it down."""
        call: Any = request.facts
        reply = self.expert.complete(request)
        self.lessons.append(self.lesson(request, reply))
        if isinstance(call, StepCall) and self.rng.random() < self.slip:
            action = self._slipped(call)
            answer = request.schema.model_validate({**reply.answer.model_dump(), "action": action})
            text = answer.model_dump_json()
            return Reply(answer, text, estimated_usage(request, text))
        return reply

    def lesson(self, request: Request, reply: Reply) -> dict[str, Any]:
        """Return what is written down of a call: its words, and what its images show."""
        call: Any = request.facts
        text = written(request.messages)
        return {
            "step": request.step,
            "kind": call.question.category,
            "prefix": _shared(call, text),
            "text": text,
            "images": [self._tiles(call, image) for image in request.images],
            "reply": reply.text,
        }

    def _slipped(self, call: StepCall) -> dict[str, Any]:
        legal, rng = call.observation.legal, self.rng
        ways: list[dict[str, Any]] = [{"action": "finished"}]
        ways += [{"action": "expand", "cell": rng.choice(legal.expand)}] * 3 if legal.expand else []
        ways += [{"action": "backtrack"}] if legal.backtrack else []
        if legal.add:
            cell = rng.choice(legal.add)
            sight = self.expert.sights(call.observation)[cell] or BLACK
            item = {"cell": cell, "description": told(sight), "confidence": 0.9}
            ways.append({"action": "add_to_scratchpad", "items": [item]})
        return rng.choice(ways)

    def _tiles(self, call: Any, image: Image) -> dict[str, Any]:
        if isinstance(image, View) and image is call.observation.view:
            tiles = [codes(sight or BLACK) for sight in self.expert.sights(call.observation)]
            return {"columns": call.observation.view.grid.k, "tiles": tiles}
        columns, rows = image.size[0] // CELL, image.size[1] // CELL
        return {"columns": 4, "tiles": [UNSEEN] * (4 * -(-4 * rows // columns))}


def _shared(call: Any, text: str) -> int:
    """Return how many characters of a prompt are the same for other questions about the same picture."""
    match call:
        case StepCall() | ProbeCall() | ReviewCall() | GlanceCall():
            mark = text.index(IMAGE)
            ends = [
                text.find(stop, mark)
                for stop in ("\nThe question: ", "\nChoose the cells", "\nAnd this is", "\nDecide.")
            ]
            return min(end for end in ends if end > 0)
        case DecisionCall():
            return text.index(f"\n{IMAGE}")
    return text.index("\nThe question: ")


def write_down(
    recorder: TrajectoryRecorder, world: World, *, share: float = 1.0, calls: int = 120, **settings: Any
) -> None:
    """Let a recorder answer a share of a world's questions, by real searches."""
    rng, cache = recorder.rng, Cache(None)
    for question in world.questions:
        if rng.random() < share:
            ask(
                world.drawn,
                question,
                vlm=recorder,
                traversal=rng.choice(("dfs", "auto")),
                threads=1,
                look_ahead=False,  # one call after another, so that the same seed slips in the same places
                cache=cache,
                budget=Budget(calls=calls),
                **{**SETTINGS, **settings},
            )


def lessons(
    world: World, *, slip: float, seed: int, subtitles: bool, workers: int = 4, share: float = 1.0
) -> Iterator[dict[str, Any]]:
    """Yield the lessons of one world: groups of calls that begin with the same words and pictures."""
    recorder = TrajectoryRecorder(Expert(world.script), slip, random.Random(seed))
    write_down(recorder, world, share=share, workers=workers, subtitles=subtitles)
    yield from grouped(recorder.lessons)


def grouped(lessons: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield lessons in groups that begin with the same words and pictures."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for lesson in lessons:
        start = json.dumps([lesson["text"][: lesson["prefix"]], lesson["images"][:1]])
        groups.setdefault(start, []).append(lesson)
    for group in groups.values():
        first = group[0]
        cut = first["prefix"]
        shown = first["text"][:cut].count(IMAGE)
        rests: dict[str, dict[str, Any]] = {}
        for each in group:
            rest = each["text"][cut:]
            rests[rest + str(each["images"][shown:])] = {
                "rest": rest,
                "images": each["images"][shown:],
                "reply": each["reply"],
                "step": each["step"],
                "kind": each["kind"],
            }
        yield {"prefix": first["text"][:cut], "images": first["images"][:shown], "examples": list(rests.values())}
