"""`Case`: one question, what opens its video, and the dataset's own columns."""

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
    """One question and a function that opens its video."""

    question: Question
    video: str
    """Name of the video. A bootstrap resamples videos, since questions about one are dependent."""
    opened: Callable[[], Video] = field(repr=False, compare=False)
    """Opens the video; picklable, because evaluations may run in other processes."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The dataset's own columns, such as duration group, level or topic."""
    world: Any = field(default=None, repr=False, compare=False)
    """The script's `World` that an oracle answers from; None if the dataset has no script.

    Its type is `Any` because a case carries the object without using it, and because `World`
    creates cases: importing `World` here would close an import cycle.
    """


def model_for(vlm: Model | Callable[[Any], Model], case: Case) -> Model:
    """Return the model that answers a case.

    Args:
        vlm: A model, or a function (such as the class `Oracle`) that makes one from `case.world`.
        case: The case to answer.

    Raises:
        InputError: `vlm` is a function and the case has no world.
    """
    if not isinstance(vlm, type) and hasattr(vlm, "complete"):
        return cast(Model, vlm)
    if case.world is None:
        raise InputError(f"The oracle works only on AtlasWorld, and {case.question.id!r} has no world; pass a model.")
    return cast("Callable[[Any], Model]", vlm)(case.world)
