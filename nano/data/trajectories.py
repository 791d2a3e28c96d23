"""`TrajectoryRecorder`: records the teacher's searches call by call, with random slips.

Prompts are recorded as a server shows them to nano. At random steps, the recorder executes a random
legal action instead of the teacher's action (a *slip*), but still records the teacher's reply. From
these records nano also learns what to do in states that only a mistake leads to.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

from atlaskit.agents.budget import Budget
from atlaskit.agents.prompts import DecisionCall, GlanceCall, ProbeCall, ReviewCall, StepCall
from atlaskit.agents.search import ask
from atlaskit.agents.settings import Search
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import View
from atlaskit.models.names import Preset
from atlaskit.models.protocol import CallControl, Image, Reply, Request
from atlasworld import World
from atlasworld.nano.model import PRESET
from atlasworld.oracle.perception import estimated_usage
from nano.data.examples import (
    IMAGE,
    UNLABELLED,
    Group,
    RecordedExample,
    group_by_prefix,
    render_chat,
)
from nano.teacher.goal import describe
from nano.teacher.labels import CELL_PX, CellContent, encode
from nano.teacher.teacher import SETTINGS, Expert

BLACK = CellContent()
"""Content of a black cell."""
_SHEET_COLUMNS = 4
"""Tiles per row when nano's image processor splits the image of a scratchpad."""


@dataclass
class TrajectoryRecorder:
    """The teacher as a model that records every call it answers.

    Attributes:
        teacher: Gives the replies.
        slip: Probability that a step executes a random legal action instead of the teacher's.
        rng: Draws the slips.
        examples: The calls so far, with the teacher's replies.
        name: Name of this model in traces.
        preset: The preset of nano, so that the calls have nano's own prompts.
        parameters: Parameters of this model in cache keys.
    """

    teacher: Expert
    slip: float
    rng: random.Random
    examples: list[RecordedExample] = field(default_factory=list)
    name: str = "nano"
    preset: Preset = PRESET
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Record the teacher's reply; return the same reply, or one with a random action."""
        call: Any = request.facts
        reply = self.teacher.complete(request)
        self.examples.append(self.example(request, reply))
        if isinstance(call, StepCall) and self.rng.random() < self.slip:
            action = self._random_action(call)
            answer = request.schema.model_validate({**reply.answer.model_dump(), "action": action})
            text = answer.model_dump_json()
            return Reply(answer, text, estimated_usage(request, text))
        return reply

    def example(self, request: Request, reply: Reply) -> RecordedExample:
        """Return the record of a call and its reply."""
        call: Any = request.facts
        text = render_chat(request.messages)
        return {
            "step": request.step,
            "kind": call.question.category,
            "prefix": _prefix_length(call, text),
            "text": text,
            "images": [self._label_image(call, image) for image in request.images],
            "reply": reply.text,
        }

    def _random_action(self, call: StepCall) -> dict[str, Any]:
        """Draw a legal action; expansions are three times as likely as the other actions."""
        legal = call.observation.legal
        rng = self.rng
        actions: list[dict[str, Any]] = [{"action": "finished"}]
        if legal["expand"]:
            actions += [{"action": "expand", "cell": rng.choice(legal["expand"])}] * 3
        if "backtrack" in legal:
            actions.append({"action": "backtrack"})
        if legal["add_to_scratchpad"]:
            cell = rng.choice(legal["add_to_scratchpad"])
            content = self.teacher.contents(call.observation)[cell] or BLACK
            item = {"cell": cell, "description": describe(content), "confidence": 0.9}
            actions.append({"action": "add_to_scratchpad", "items": [item]})
        return rng.choice(actions)

    def _label_image(self, call: Any, image: Image) -> dict[str, Any]:
        """Return the tiles of an image; only those of the observation's view have labels."""
        if isinstance(image, View) and image is call.observation.view:
            contents = self.teacher.contents(call.observation)
            tiles = [encode(content or BLACK) for content in contents]
            return {"columns": call.observation.view.grid.k, "tiles": tiles}
        # The processor scales any other image to `_SHEET_COLUMNS` tiles per row.
        columns = image.size[0] // CELL_PX
        rows = image.size[1] // CELL_PX
        tile_rows = math.ceil(_SHEET_COLUMNS * rows / columns)
        return {"columns": _SHEET_COLUMNS, "tiles": [UNLABELLED] * (_SHEET_COLUMNS * tile_rows)}


_AFTER_PREFIX = ("\nThe question: ", "\nChoose the cells", "\nAnd this is", "\nDecide.")
"""Beginnings of the parts of a prompt that may follow the view and its subtitles."""


def _prefix_length(call: Any, text: str) -> int:
    """Return how many characters of a prompt other questions about the same view share."""
    match call:
        case StepCall() | ProbeCall() | ReviewCall() | GlanceCall():
            image = text.index(IMAGE)
            ends = [text.find(beginning, image) for beginning in _AFTER_PREFIX]
            return min(end for end in ends if end > 0)
        case DecisionCall():
            return text.index(f"\n{IMAGE}")
    return text.index("\nThe question: ")


SEARCH = Search(**SETTINGS)
"""Settings of the search that the teacher expects."""


def record_searches(
    recorder: TrajectoryRecorder,
    world: World,
    *,
    search: Search = SEARCH,
    share: float = 1.0,
    calls: int = 121,
    **settings: Any,
) -> None:
    """Ask a random share of a world's questions, with a recorder as the model.

    Args:
        recorder: Answers the calls and records them.
        world: The world whose questions to ask.
        search: Settings of the search, but for the traversal, which is drawn for each question.
        share: Probability that a question is asked.
        calls: Limit on the calls per question. The default reserves one call for a second attempt
            at the decision and leaves 120 for the rest, as when the shipped weights were trained.
        settings: Other keyword arguments of `ask`.
    """
    rng = recorder.rng
    cache = Cache(None)
    for question in world.questions:
        if rng.random() >= share:
            continue
        # One call after another, so that equal seeds slip at equal steps.
        search_in_order = replace(
            search, traversal=rng.choice(("dfs", "auto")), threads=1, look_ahead=False
        )
        ask(
            world.drawn,
            question,
            vlm=recorder,
            search=search_in_order,
            cache=cache,
            budget=Budget(calls=calls),
            **settings,
        )


def lessons(
    world: World, *, slip: float, seed: int, subtitles: bool, workers: int = 4, share: float = 1.0
) -> Iterator[Group]:
    """Yield the trajectories of one world as groups of examples that share a prefix.

    Args:
        world: The world whose questions the teacher searches.
        slip: Probability that a step executes a random legal action instead of the teacher's.
        seed: Seed of the slips and of all other random choices.
        subtitles: Whether the searches see subtitles.
        workers: Workers per round of a search.
        share: Probability that a question is asked.
    """
    recorder = TrajectoryRecorder(Expert(world.script), slip, random.Random(seed))
    record_searches(recorder, world, share=share, workers=workers, subtitles=subtitles)
    yield from group_by_prefix(recorder.examples)
