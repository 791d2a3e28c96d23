"""`Oracle`: the simulated model; it passes each call to the function that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from atlaskit.benchmarks.atlasworld.oracle import (
    baselines,
    controllers,
    inquiry,
    mapreduce,
    search,
    videoagent,
    videorlm,
    videotree,
    worldmm,
)
from atlaskit.benchmarks.atlasworld.oracle.perception import Chances, Perception, Replies, estimated_usage
from atlaskit.benchmarks.atlasworld.world import World
from atlaskit.errors import InputError
from atlaskit.models.protocol import CallControl, Reply, Request

MODULES = (videorlm, baselines, inquiry, controllers, search, videotree, videoagent, mapreduce, worldmm)
REPLIES: Replies = {call: reply for module in MODULES for call, reply in module.REPLIES.items()}
"""The function that answers each call."""


class Oracle:
    """A simulated model that answers every call of a search about one world.

    Its token counts are estimates, and its usage says so.

    Args:
        world: The world whose questions it can answer.
        miss: Probability, in [0, 1], of overlooking a wanted event in a view that shows it or in a
            region that holds it.
        confuse: Probability, in [0, 1], of taking another event for a wanted one, of believing that
            a missing event was found, of choosing the other traversal, and of deciding wrongly.
        seed: Seed of these mistakes. They depend on the seed and on what is looked at, never on the
            order of calls, so the same run gives the same answers.

    Raises:
        InputError: `miss` or `confuse` lies outside [0, 1].

    Examples:
        >>> oracle = ak.Oracle(world, miss=0.2, seed=1)
        >>> oracle.name
        'oracle:602d47f6172903a9'
        >>> ak.ask(video, question, vlm=ak.Oracle(world)).is_right
        True
    """

    def __init__(self, world: World, miss: float = 0.0, confuse: float = 0.0, seed: int = 0) -> None:
        for name, rate in (("miss", miss), ("confuse", confuse)):
            if not 0.0 <= rate <= 1.0:
                raise InputError(f"{name} must be a rate in [0, 1]; got {rate}.")
        self.world, self.miss, self.confuse, self.seed = world, miss, confuse, seed
        self.name = f"oracle:{world.name}"
        self.parameters: Mapping[str, Any] = {"miss": miss, "confuse": confuse, "seed": seed}

    def __repr__(self) -> str:
        return f"Oracle({self.world!r}, miss={self.miss:g}, confuse={self.confuse:g}, seed={self.seed})"

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the reply to a request; `control` has no effect, because the oracle never waits.

        Raises:
            InputError: The request is of an unknown kind, or its question is not the world's.
        """
        # Each sample has a seed of its own, as at an endpoint.
        chances = Chances(self.world.name, self.miss, self.confuse, self.seed + request.sample)
        answer = _answer(Perception(self.world, chances), request.facts)
        valid = request.schema.model_validate(answer)
        text = valid.model_dump_json()  # in the schema's order, as a model would write it
        return Reply(valid, text, estimated_usage(request, text))


def _answer(perception: Perception, call: Any) -> dict[str, Any]:
    reply = REPLIES.get(type(call))
    if reply is None:
        raise InputError(f"The oracle answers only the calls of atlaskit's agents; got {type(call).__name__}.")
    return reply(perception, call)
