"""A question of a benchmark and the video it is about: what `evaluate` goes through, whatever the dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.protocol import Model
from atlaskit.video.video import Video


@dataclass(frozen=True)
class Case:
    """One question, and how to open its video."""

    question: Question
    video: str
    """Names the video: questions about one are not independent, and are drawn together in a bootstrap."""
    opened: Callable[[], Video] = field(repr=False, compare=False)
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The dataset's own columns: duration group, level, topic, …"""
    world: Any = field(default=None, repr=False, compare=False)
    """What an oracle has to know, where all is known."""


def model_for(vlm: Model | Callable[[Any], Model], case: Case) -> Model:
    """Return the model that answers a case: the one that is given, or the one that it makes of the case's world.

    Raises InputError where it has to make one, and the case is about no world.
    """
    if not isinstance(vlm, type) and hasattr(vlm, "complete"):
        return cast(Model, vlm)
    if case.world is None:
        raise InputError(f"{case.question.id!r} is about no world, so no oracle can know it: give a model.")
    return cast("Callable[[Any], Model]", vlm)(case.world)
