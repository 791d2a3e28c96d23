"""The interface of a model: requests, replies, errors, and the costs of calls.

Contents:
    Schemas of answers: `ParametricSchema`, `among`, `json_schema`.
    What calls cost: `Usage`, `Transit`.
    A call: `Request`, `Reply`, `CallControl`, and the `Model` protocol between them.
    Errors of models and of their servers: `ModelError` and its kinds, `ServerError`.
    Models around models: `ModelWrapper`, `StoppableModel`.
    The clock that measures deadlines: `now_s`, `stopped`.

A `Model` has a `name`, `parameters` and `complete(request) -> Reply`. `ak.VLM`, the oracles of a
benchmark, the test doubles and every wrapper around a model implement it. This module knows nothing
of prompts, grids, agents or networks.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Annotated, Any, Literal, Protocol, TypedDict, Unpack, runtime_checkable

from pydantic import BaseModel, PlainValidator, ValidationError, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticKnownError

from atlaskit.errors import AtlasError

Values = tuple[int, ...] | tuple[str, ...]
"""The values that one call allows in a field."""
PLACEHOLDER = "x-atlaskit-among"
"""The keyword that marks, in a JSON Schema, a field whose values each call supplies."""


@dataclass(frozen=True)
class ParametricSchema:
    """A pydantic model with placeholders, and the values that one call allows in their place.

    It accepts the same answers, raises the same errors and has the same JSON Schema as a pydantic
    model that has Literals of these values in place of the placeholders.
    """

    shape: type[BaseModel]
    """The pydantic model. `among` makes the types of its placeholder fields."""
    values: tuple[tuple[str, Values], ...]
    """(placeholder name, allowed values) pairs, one for each placeholder of the shape."""

    def model_validate(self, value: Any) -> Any:
        """Return the answer as an instance of the shape.

        Raises:
            pydantic.ValidationError: If the answer does not fit.
        """
        return self.shape.model_validate(value, context=dict(self.values))

    def model_validate_json(self, text: str) -> Any:
        """Parse an answer from JSON and return it as an instance of the shape.

        Raises:
            pydantic.ValidationError: If the text is not JSON, or the answer does not fit.
        """
        return self.shape.model_validate_json(text, context=dict(self.values))

    def model_json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema, with the values in place of the placeholders."""
        filled: dict[str, Any] = _fill_placeholders(shape_schema(self.shape), dict(self.values))
        return filled


def among(name: str) -> Any:
    """Return a field type that accepts only the values that a call supplies under `name`.

    If a call supplies none, the field accepts nothing.
    """

    def validate(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool):
            raise ValueError("not a number")  # True equals 1, and so would be among the values
        values: Values = (info.context or {}).get(name, ())
        if value not in values:
            allowed = [repr(each) for each in values or ("nothing",)]
            expected = allowed[-1]
            if len(allowed) > 1:
                expected = f"{', '.join(allowed[:-1])} or {expected}"
            raise PydanticKnownError("literal_error", {"expected": expected})
        return values[values.index(value)]  # our own 1, not the answer's 1.0, which equals it

    return Annotated[Any, PlainValidator(validate), WithJsonSchema({PLACEHOLDER: name})]


@lru_cache(maxsize=1024)
def shape_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """Return a shape's JSON Schema, placeholders included."""
    return shape.model_json_schema()


@lru_cache(maxsize=1024)
def json_schema(schema: type[BaseModel] | ParametricSchema) -> dict[str, Any]:
    """Return a schema as JSON Schema, in the form that is sent to a model."""
    return schema.model_json_schema()


BOUND_FAULTS = frozenset(
    {
        "string_too_long",
        "string_too_short",
        "too_long",
        "too_short",
        "value_error",
        "greater_than",
        "greater_than_equal",
        "less_than",
        "less_than_equal",
    }
)
"""Types of validation errors that occur in spite of strict decoding, which ignores bounds."""


def is_out_of_bounds(text: str, schema: type[BaseModel] | ParametricSchema) -> bool:
    """Return whether a text breaks no rule of a schema but its bounds on lengths and numbers."""
    try:
        schema.model_validate_json(text)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        return all(fault["type"] in BOUND_FAULTS for fault in faults)
    return True


def _fill_placeholders(schema: Any, values: Mapping[str, Values]) -> Any:
    """Replace each placeholder by its values, written as pydantic writes a Literal."""
    match schema:
        case {"x-atlaskit-among": name, **rest}:  # PLACEHOLDER: a pattern takes no bare name
            allowed = values[name]
            type_name = "string" if isinstance(allowed[0], str) else "integer"
            literal = {"const": allowed[0]} if len(allowed) == 1 else {"enum": list(allowed)}
            return {**literal, **rest, "type": type_name}
        case dict():
            return {key: _fill_placeholders(part, values) for key, part in schema.items()}
        case list():
            return [_fill_placeholders(part, values) for part in schema]
        case _:
            return schema


CHARACTERS_A_TOKEN = 4
"""Rough number of characters in a token, for estimates where no server counts tokens."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What model calls cost. Usages can be added.

    Counts that an endpoint does not report are 0.
    """

    calls: int = 0
    """Attempts (HTTP exchanges), the failed ones included."""
    prompt_tokens: int = 0
    """Tokens of the prompts, images included."""
    cached_tokens: int = 0
    """Prompt tokens that the server found in its prefix cache."""
    image_tokens: int = 0
    """Prompt tokens that encode images."""
    completion_tokens: int = 0
    """Tokens that the model generated."""
    reasoning_tokens: int = 0
    """Completion tokens that the model spent on its reasoning."""
    estimated: bool = False
    """Whether a token count is an estimate, as an oracle's are."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def effective_tokens(self) -> int:
        """Tokens the server had to compute: prompt − cached + completion."""
        return self.tokens - self.cached_tokens

    def __add__(self, other: Usage) -> Usage:
        sums = dict[str, Any]()
        for name, kind in COUNT_TYPES.items():
            sums[name] = kind(getattr(self, name) + getattr(other, name))  # of booleans: either
        return Usage(**sums)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON values.

        Reasoning tokens are left out if there are none: earlier versions had no such field.
        """
        return {
            name: count for name, count in vars(self).items() if count or name != "reasoning_tokens"
        }

    @classmethod
    def from_json(cls, counts: Any) -> Usage:
        """Read what `to_json` wrote.

        Raises:
            ValueError: For anything else; an imported cache may hold any JSON value.
        """
        names = set(counts) if isinstance(counts, dict) else set[str]()
        if names | {"reasoning_tokens"} != set(COUNT_TYPES):
            raise ValueError("the fields are not those of a usage")
        if not all(
            type(count) is COUNT_TYPES[name] and 0 <= count < 2**53
            for name, count in counts.items()
        ):
            raise ValueError("a count of a usage must be an integer from 0 to 2^53 − 1")
        return cls(**counts)


COUNT_TYPES: Mapping[str, type[Any]] = {
    each.name: bool if each.name == "estimated" else int for each in fields(Usage)
}
"""The type of each field of `Usage`."""


@dataclass(frozen=True, kw_only=True)
class Transit:
    """How long a call took and what it sent. All zero for a reply from the cache."""

    queue_s: float = 0.0
    """Seconds that the call's requests waited because of the limits on requests to an address."""
    wall_s: float = 0.0
    """Seconds from the start of the call to its reply, with queueing, retries and their pauses."""
    sent_bytes: int = 0
    """Bytes of all request bodies."""


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


@runtime_checkable
class Clip(Image, Protocol):
    """Frames of a video, in order of time. A server that takes videos receives them as one video.

    As an `Image`, a clip is its first frame, but its key identifies all frames.
    """

    @property
    def times_s(self) -> Sequence[float]:
        """The second of the video that each frame shows."""

    @property
    def duration_s(self) -> float:
        """Seconds that the video lasts."""

    @property
    def url(self) -> str:
        """Address of the video file, for a server that reads it itself; "" to send the frames."""

    @property
    def pixels(self) -> int:
        """Pixels of all frames together. The server must not scale the frames below this sum."""

    def jpegs(self) -> Sequence[bytes]:
        """Return the frames as JPEG files."""


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
    """What the call is for: task, plan, probe, look, step, review or decision, or a step of
    another method."""
    messages: tuple[Message, ...]
    schema: type[BaseModel] | ParametricSchema
    facts: object = field(default=None, compare=False)
    """The content of the messages as data. Never sent; an oracle reads it instead of the text."""
    max_tokens: int = 1024
    sample: int = 0
    """Number of the reply among several to the same request. Each number has its own seed."""
    version: int = 1
    """Version of the prompt. Raise it to make replies anew although messages and schema stay the
    same. A prompt with other words is another request in any case."""

    @property
    def images(self) -> tuple[Image, ...]:
        """The images of all messages, in order."""
        parts = [part for message in self.messages for part in message.parts]
        return tuple(part for part in parts if not isinstance(part, str))

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of all messages, in order."""
        parts = [part for message in self.messages for part in message.parts]
        return tuple(part for part in parts if isinstance(part, str))

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts of the choices that the facts' question offers; () for other calls."""
        question = getattr(self.facts, "question", None)
        choices = getattr(question, "choices", None)
        return tuple(choices or ())


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
    """Whether `model` is another model than the one that was asked."""
    transit: Transit = field(default=Transit(), compare=False)


class CallControl(TypedDict, total=False):
    """Keyword arguments of `Model.complete` that control a call.

    They are not part of the `Request`: a reply does not depend on them, and the request's hash is
    the reply's cache key. A wrapper passes them on unchanged (`**control`).
    """

    max_attempts: int
    """Most attempts of the call, the first included. Default: `MAX_ATTEMPTS`."""
    deadline_s: float | None
    """When the last attempt must end, by `now_s`. None: no limit."""
    cancel: threading.Event | None
    """The caller sets it when it no longer needs the reply. The call then ends soon."""


class Model(Protocol):
    """Anything that answers requests.

    A model may have two more attributes: `preset`, its default settings (`names.Preset`), and
    `computes = True` if it is a program that waits for no server.
    """

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


def computes(model: Model) -> bool:
    """Return whether a model is a program that waits for no server: it has `computes = True`."""
    return getattr(model, "computes", False) is True


@dataclass
class ModelWrapper(ABC):
    """Base class of a model that wraps another one: same name, same parameters, same preset."""

    model: Model

    @property
    def preset(self) -> Any:
        """The preset of the wrapped model (`names.preset_of`)."""
        return getattr(self.model, "preset", None)

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


class ServerError(AtlasError):
    """A model server could not be installed, did not start, or died."""


class ModelError(AtlasError):
    """A model call failed, after all its attempts.

    Attributes:
        usage: What the failed call cost. Budgets count it.
        transit: How long the call took and what it sent.
        live: Whether the call was made now. False in a replay, which repeats a recorded failure.
        status: HTTP status of the endpoint's answer; 0 without one.
        is_final: Whether every other call of this run must fail too: the key is wrong, there is no
            such model or path, a quota is used up, or a request may not have so many images.
    """

    live = True

    def __init__(
        self,
        message: str,
        usage: Usage = Usage(calls=1),
        transit: Transit = Transit(),
        *,
        status: int = 0,
        is_final: bool = False,
    ) -> None:
        super().__init__(message)
        self.usage = usage
        self.transit = transit
        self.status = status
        self.is_final = is_final


class Unreachable(ModelError):
    """No server answers at the endpoint's address."""


class Refused(ModelError):
    """The endpoint rejected the request, and would reject it again."""


class BadReply(ModelError):
    """The model's reply did not fit the schema, even after one correction."""


class Stopped(Exception):
    """The caller no longer waits for the answer, so no further call is made."""


@dataclass
class StoppableModel(ModelWrapper):
    """A model that can be stopped: its calls in flight then end soon, and new calls fail."""

    flags: set[threading.Event] = field(default_factory=set)
    """The cancel events of its calls."""
    is_stopped: bool = False

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request.

        Raises:
            Stopped: `stop` was called.
        """
        flag = control.get("cancel")
        if flag is not None:
            self.flags.add(flag)
        if self.is_stopped:  # after the flag is known, so that `stop` cannot miss it
            raise Stopped
        return self.model.complete(request, **control)

    def stop(self) -> None:
        """Cancel the calls in flight, and reject new ones."""
        self.is_stopped = True
        for flag in [*self.flags]:
            flag.set()


_lock = threading.Lock()
_starts = 0
"""How many servers are being started now."""
_state = (0.0, 0.0)
"""The clock: when the first of these starts began (0 if there is none), and the seconds that
earlier starts took. The pair is replaced as a whole, so that reading the clock takes no lock."""


def now_s() -> float:
    """Return the seconds of `time.monotonic`, less those in which a server was being started.

    Budgets, deadlines and the seconds in results use this clock in all runs of a process, so the
    time to install or start a server on this machine does not count.
    """
    since_s, lost_s = _state
    return (since_s or time.monotonic()) - lost_s


def is_stopped() -> bool:
    """Return whether the clock is stopped, since a server is installed or started now."""
    return _starts > 0


@contextmanager
def stopped() -> Iterator[None]:
    """Stop the clock for the length of a block. Threads may stop it at the same time."""
    global _starts, _state
    with _lock:
        _starts += 1
        since_s, lost_s = _state
        _state = (since_s or time.monotonic(), lost_s)
    try:
        yield
    finally:
        with _lock:
            _starts -= 1
            since_s, lost_s = _state
            _state = (since_s, lost_s) if _starts else (0.0, lost_s + time.monotonic() - since_s)
