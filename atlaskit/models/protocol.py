"""The one boundary to a model: what is asked, what is answered.

`Model` is anything with a `name`, `parameters` and `complete(request) -> Reply`: an endpoint (`vlm`), an oracle, a test
double, or a wrapper around one. Knows nothing of prompts, grids, agents or networks.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol, TypedDict, Unpack, runtime_checkable

from pydantic import BaseModel

from atlaskit.models.schema import ParametricSchema
from atlaskit.models.usage import Transit, Usage

Role = Literal["master", "worker"]

MAX_ATTEMPTS = 4
MOST_IMAGES = 16
"""Images in one conversation: servers must be started with room for that many."""


@runtime_checkable
class Image(Protocol):
    """A picture as a model sees it: named by its recipe, encoded only when it must be sent."""

    @property
    def key(self) -> str:
        """The hash of what the image is made of; stands for it in the key of a reply."""

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""

    def jpeg(self) -> bytes:
        """Return the image's bytes."""


@dataclass(frozen=True)
class Message:
    """One turn of a conversation: texts and images in order."""

    speaker: Literal["system", "user", "assistant"]
    parts: tuple[str | Image, ...]


@dataclass(frozen=True)
class Request:
    """What is asked of a model, and the schema its answer must fit."""

    role: Role
    step: str
    """Which of the role's calls this is: task, probe, step, review, decision."""
    messages: tuple[Message, ...]
    schema: type[BaseModel] | ParametricSchema
    facts: object = field(default=None, compare=False)
    """What the messages say, as data. Never sent; a reference policy reads it instead of the words."""
    max_tokens: int = 1024
    sample: int = 0
    """Which of several replies to the same request is wanted: each has a random seed of its own."""

    @property
    def images(self) -> tuple[Image, ...]:
        """The images of all messages, in order."""
        return tuple(part for message in self.messages for part in message.parts if not isinstance(part, str))


@dataclass(frozen=True)
class Reply:
    """A model's answer, validated against the request's schema."""

    answer: Any
    """An instance of the request's schema."""
    text: str
    usage: Usage
    """What the answer cost when it was made, also when it now comes out of the cache."""
    reasoning: str = ""
    live: bool = True
    """Whether the model was called for it just now."""
    transit: Transit = field(default=Transit(), compare=False)


class CallControl(TypedDict, total=False):
    """How a call is controlled. Arguments of `complete`, never part of a request, whose hash is a cache key."""

    max_attempts: int
    """HTTP exchanges at most, the first included."""
    deadline_s: float | None
    """When the last attempt must end, on the clock of `time.monotonic`."""
    cancel: threading.Event | None
    """Set when the caller no longer waits for the reply."""


class Model(Protocol):
    """Anything that answers requests."""

    @property
    def name(self) -> str:
        """Which model it is: part of the key of its replies."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What else its replies depend on, such as the temperature: part of the key too."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request in at most `max_attempts` attempts; raise ModelError when that fails."""


@dataclass
class ModelWrapper(ABC):
    """A model between which and the search something stands; to the search it is the same."""

    model: Model

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's own."""
        return self.model.parameters

    @abstractmethod
    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request, by the model or not."""


@lru_cache(maxsize=1024)
def json_schema(schema: type[BaseModel] | ParametricSchema) -> dict[str, Any]:
    """Return a schema as JSON Schema."""
    return schema.model_json_schema()
