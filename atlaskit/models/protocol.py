"""The interface of a model: `Request`, `Reply`, and the `Model` protocol between them.

A `Model` has a `name`, `parameters` and `complete(request) -> Reply`. `ak.VLM`, `ak.Oracle`, the
test doubles and every wrapper around a model implement it. Knows nothing of prompts, grids, agents
or networks.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict, Unpack, runtime_checkable

from pydantic import BaseModel

from atlaskit.models.schema import ParametricSchema
from atlaskit.models.usage import Transit, Usage

Role = Literal["master", "worker"]

MAX_ATTEMPTS = 4
"""Attempts of a call, unless the caller sets another limit."""
MOST_IMAGES = 16
"""Most images in one conversation. A server must be started with room for this many."""


@runtime_checkable
class Image(Protocol):
    """An image in a message. It is encoded only when it is sent."""

    @property
    def key(self) -> str:
        """Hash of the image's recipe. It represents the image in the key of a reply."""

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""

    def jpeg(self) -> bytes:
        """Return the image as a JPEG file."""


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    speaker: Literal["system", "user", "assistant"]
    parts: tuple[str | Image, ...]
    """Texts and images, in order."""


@dataclass(frozen=True)
class Request:
    """What one call sends to a model, and the schema that the answer must fit.

    A request holds only what the reply depends on; its hash is the reply's cache key. Deadlines and
    cancellation are arguments of `Model.complete` instead (`CallControl`).
    """

    role: Role
    step: str
    """Which call of the role it is: task, probe, step, review or decision."""
    messages: tuple[Message, ...]
    schema: type[BaseModel] | ParametricSchema
    facts: object = field(default=None, compare=False)
    """The content of the messages as data. Never sent; an oracle reads it instead of the text."""
    max_tokens: int = 1024
    sample: int = 0
    """Number of the reply among several to the same request. Each number has its own seed."""
    version: int = 1
    """Version of the prompt, which its call names. Raise it where replies shall be made anew though
    the messages and the schema stay the same; changed words are another request by themselves."""

    @property
    def images(self) -> tuple[Image, ...]:
        """The images of all messages, in order."""
        return tuple(part for message in self.messages for part in message.parts if not isinstance(part, str))


@dataclass(frozen=True)
class Reply:
    """A model's answer, validated against the schema of the request."""

    answer: Any
    """An instance of the request's schema."""
    text: str
    """The answer as the model wrote it: JSON."""
    usage: Usage
    """What the call cost when it was made, also for a reply from the cache."""
    reasoning: str = ""
    """What the model wrote before its answer, where the endpoint reports it."""
    live: bool = True
    """Whether the model was called now. False for a reply from the cache."""
    model: str = ""
    """The model that the reply itself names; "" if it names none."""
    is_substitute: bool = False
    """Whether that is another model than the one that was asked."""
    transit: Transit = field(default=Transit(), compare=False)


class CallControl(TypedDict, total=False):
    """Keyword arguments of `Model.complete` that control a call.

    They are not part of the `Request`: a reply does not depend on them, and the request's hash is
    the reply's cache key. A wrapper passes them on unchanged (`**control`).
    """

    max_attempts: int
    """Most HTTP exchanges of the call, the first included. Default: `MAX_ATTEMPTS`."""
    deadline_s: float | None
    """When the last attempt must end, by `clock.now_s`. None: no limit."""
    cancel: threading.Event | None
    """The caller sets it when it no longer needs the reply. The call then ends soon."""


class Model(Protocol):
    """Anything that answers requests."""

    @property
    def name(self) -> str:
        """Name of the model. Part of the cache key of its replies."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What else the replies depend on, such as the temperature. Part of the cache key too."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Make one call: send the request, retry if needed, return one validated reply.

        Args:
            request: What to send. Alone it determines the reply, together with `name` and
                `parameters`.
            **control: `max_attempts`, `deadline_s` and `cancel`, all optional; see `CallControl`.
                They limit the call and do not change the reply. A model that does no I/O may
                ignore them.

        Raises:
            ModelError: If no attempt yielded a reply that fits the schema, the deadline passed, or
                `cancel` was set. Its `usage` says what the attempts cost.
        """


@dataclass
class ModelWrapper(ABC):
    """Base class of a model that wraps another one and has the same name and parameters."""

    model: Model

    @property
    def name(self) -> str:
        """Name of the wrapped model."""
        return self.model.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the wrapped model."""
        return self.model.parameters

    @abstractmethod
    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request, with the wrapped model or without it. See `Model.complete`."""
