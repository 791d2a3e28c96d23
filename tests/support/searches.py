"""Searches of AtlasWorlds."""

from collections import Counter
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.models.protocol import Request
from atlaskit.runs.result import Result
from atlasworld import Oracle, World
from support.asking import ask


def search(world: World, question: Question, cache: Cache, vlm: Any = None, **options: Any) -> Result:
    """Ask a question about a world, with small cells, by default with a perfect oracle."""
    return ask(world.drawn, question, vlm=vlm or Oracle(world), cache=cache, **{"cell": 32, **options})


def of_category(world: World, category: str) -> Question:
    """Return the first question of a category."""
    return next(question for question in world.questions if question.category == category)


def search_small(world: World, question: Question, vlm: Any, cache: Cache, **options: Any) -> Result:
    """Ask a question about a world, with grids of 4×4 cells."""
    return ask(world.drawn, question, vlm=vlm, cache=cache, **{"cell": 48, "k": 4, **options})


def text_of(request: Request) -> str:
    """Return all text of a request."""
    return "\n".join(part for message in request.messages for part in message.parts if isinstance(part, str))


def taken_steps(result: Result) -> Counter[str]:
    """Return how many turns of each step a result's trace has."""
    return Counter(event.step for event in result.trace.of("turn"))


def paid_steps(result: Result) -> Counter[str]:
    """Return how many calls of each step were paid now."""
    return Counter(call.step for call in result.calls if call.live)
