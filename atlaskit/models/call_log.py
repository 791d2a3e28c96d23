"""`CallLog`: one `Call` for each call of a run: role, step, tokens, times, attempts, failure
(`result.calls`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Unpack

from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import CallControl, Model, Reply, Request, Role
from atlaskit.models.usage import COUNT_TYPES, Transit, Usage

PER_VIDEO_STEPS = frozenset(
    {"caption", "clip", "frame", "continues", "scene", "characters", "summary", "facts", "consolidate"}
)
"""Steps whose calls depend on the video alone, in all methods: the cache has them for the next
question, and they are paid once a video. A method that makes such calls adds their steps here."""


@dataclass(frozen=True)
class Call:
    """One call, answered or failed.

    Its fields are flat, because pandas makes the columns of a table from them. The counts are those
    of `Usage`, what the call cost when it was made; the times are those of `Transit`, how long it
    took now.
    """

    role: Role
    step: str
    """Which call of the role it is: task, probe, step, review or decision; or that of a method."""
    calls: int
    prompt_tokens: int
    cached_tokens: int
    image_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    effective_tokens: int = field(init=False)
    estimated: bool
    retries: int = field(init=False)
    """Attempts after the first one."""
    queue_s: float
    wall_s: float
    sent_bytes: int
    live: bool
    """Whether the model was called now."""
    failure: str
    """Message of the error; "" for a call that yielded a reply."""
    views: tuple[str, ...]
    """Keys of the request's images, in order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "effective_tokens", self.usage.effective_tokens)
        object.__setattr__(self, "retries", max(0, self.calls - 1))

    @classmethod
    def of(cls, request: Request, usage: Usage, transit: Transit, *, live: bool, failure: str = "") -> Call:
        """Return the call of a request, from what it cost and how long it took."""
        views = tuple(image.key for image in request.images)
        return cls(request.role, request.step, **vars(usage), **vars(transit), live=live, failure=failure, views=views)

    @property
    def usage(self) -> Usage:
        """What the call cost when it was made."""
        return Usage(**{name: getattr(self, name) for name in COUNT_TYPES})

    @property
    def transit(self) -> Transit:
        """How long the call took now. Zero for a reply from the cache."""
        return Transit(queue_s=self.queue_s, wall_s=self.wall_s, sent_bytes=self.sent_bytes)

    @property
    def is_per_video(self) -> bool:
        """Whether the call depends on the video alone, so that all questions about it share it."""
        return self.step in PER_VIDEO_STEPS

    def row(self) -> dict[str, Any]:
        """Return the call as a row of a table."""
        return asdict(self)


class CallLog:
    """A wrapper around a model that records every call.

    Attributes:
        calls: The calls so far, in the order in which they ended.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.name, self.parameters = model, model.name, model.parameters
        self.calls: list[Call] = []

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Pass the call to the model and record its reply or failure. See `Model.complete`."""
        try:
            reply = self.model.complete(request, **control)
        except ModelError as error:
            self.calls.append(Call.of(request, error.usage, error.transit, live=error.live, failure=str(error)))
            raise
        self.calls.append(Call.of(request, reply.usage, reply.transit, live=reply.live))
        return reply
