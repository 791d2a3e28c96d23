"""`CallLog`: one `Call` for each call of a run: role, step, tokens, times, attempts, failure
(`result.calls`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Unpack

from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import CallControl, Model, Reply, Request, Role
from atlaskit.models.usage import Transit, Usage

PER_VIDEO_STEPS = frozenset(
    {"caption", "clip", "frame", "continues", "scene", "characters", "summary", "facts", "consolidate"}
)
"""Steps whose calls depend on the video alone, in all methods: the cache has them for the next
question, and they are paid once a video. A method that makes such calls adds their steps here."""


@dataclass(frozen=True)
class Call:
    """One call, answered or failed."""

    role: Role
    step: str
    """Which call of the role it is: task, probe, step, review or decision; or that of a method."""
    usage: Usage
    """What the call cost when it was made."""
    transit: Transit
    """How long the call took now. Zero for a reply from the cache."""
    views: tuple[str, ...]
    """Keys of the request's images, in order."""
    live: bool
    """Whether the model was called now."""
    failure: str = ""
    """Message of the error; "" for a call that yielded a reply."""

    @property
    def is_per_video(self) -> bool:
        """Whether the call depends on the video alone, so that all questions about it share it."""
        return self.step in PER_VIDEO_STEPS

    @property
    def retries(self) -> int:
        """Attempts after the first one."""
        return max(0, self.usage.calls - 1)

    def row(self) -> dict[str, Any]:
        """Return the call as a row of a table."""
        tokens = {name: count for name, count in vars(self.usage).items() if name.endswith("_tokens")}
        return {
            "role": self.role,
            "step": self.step,
            **tokens,
            "effective_tokens": self.usage.effective_tokens,
            "estimated": self.usage.estimated,
            "retries": self.retries,
            **asdict(self.transit),
            "live": self.live,
            "failure": self.failure,
            "views": self.views,
        }


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
        views = tuple(image.key for image in request.images)
        try:
            reply = self.model.complete(request, **control)
        except ModelError as error:
            costs = (error.usage, error.transit)
            call = Call(request.role, request.step, *costs, views, live=error.live, failure=str(error))
            self.calls.append(call)
            raise
        self.calls.append(Call(request.role, request.step, reply.usage, reply.transit, views, reply.live))
        return reply
