"""`Case`: one question, what opens its video, and the dataset's own columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.protocol import Model
from atlaskit.video.video import Video

MakesModel: TypeAlias = Callable[[Any], Model]
"""Makes the model that answers the questions about one world, such as a class of oracles."""


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
    """What an oracle answers from, such as the script of a synthetic video; None if there is none.

    A case carries it without using it, so it may be anything.
    """


def model_for(vlm: Model | MakesModel, case: Case) -> Model:
    """Return the model that answers a case.

    Args:
        vlm: A model, or a function that makes one from `case.world`.
        case: The case to answer.

    Raises:
        InputError: `vlm` is a function and the case has no world.
    """
    if not isinstance(vlm, type) and hasattr(vlm, "complete"):
        return cast(Model, vlm)
    if case.world is None:
        raise InputError(
            f"An oracle answers only questions about a world of its own, and {case.question.id!r} has no world; "
            f"pass a model."
        )
    return cast(MakesModel, vlm)(case.world)
