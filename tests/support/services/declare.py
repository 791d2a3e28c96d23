"""What a service, a condition and an expectation are: frozen dataclasses, filled in elsewhere.

A `Service` says how one OpenAI-compatible server answers when all is well, what it refuses and in
which words. A `Condition` says what happens to a service, and what the client must make of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import Reply

Body = Mapping[str, Any]
"""The parsed body of a request."""


@dataclass(frozen=True)
class Answer:
    """One HTTP answer: JSON, or text (a web page) if the body is a string of HTML."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """What a service takes, for the docs. Each is a short phrase."""

    schema: str
    temperature: str
    seed: str
    length: str
    images: str
    thinking: str
    said_by: str
    """By what it can be recognized at any address."""


@dataclass(frozen=True)
class Service:
    """One service, as far as a client of its chat completions can tell it from another."""

    name: str
    title: str
    dialect: str
    """Name of the dialect that suits it."""
    model: str
    """Name of the model to ask for."""
    answered_as: str
    """How the replies name that model."""
    models: Any
    """Body of its list of models."""
    error: Callable[[int, str, str], Any]
    """Body of an error, from its status, its words and the field that it is about ("" for none)."""
    facts: Facts
    sources: tuple[str, ...]
    """Where the facts come from."""
    unsourced: tuple[str, ...] = ()
    """What is imitated from experience: no source for it was found."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of models, and how the replies name those models."""
    base: str = "/v1"
    """Path of its endpoint."""
    also_at: tuple[str, ...] = ()
    """Other paths at which it answers as well."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of every answer."""
    host: str = ""
    """Its public host name; "" for a server that people run themselves."""
    schema: bool = True
    """Whether it decodes by the schema in `response_format`. False: it ignores the field."""
    schema_fault: Callable[[Mapping[str, Any], bool], str] = lambda schema, is_strict: ""
    """What it finds wrong with a schema, sent as strict or not; "" for nothing."""
    learns: int = 0
    """Exchanges of a first call that go to fields which only this model refuses."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Fields that it refuses with an error, and its words for each."""
    refused_values: Mapping[str, Any] = field(default_factory=dict)
    """The only value of a refused field that it takes after all."""
    refusal_status: int = 400
    refusal: str = "Unsupported parameter: '{field}' is not supported with this model."
    """Its words for a field that this model does not take."""
    thought_field: str = ""
    """Field of the message that holds the thought; "" if it writes none."""
    thought_tag: str = ""
    """Tag around a thought that is written into the content."""
    content_parts: bool = False
    """Whether a message's content may be a list of parts, as Mistral's thinking models write it."""
    usage: Callable[[int], Mapping[str, Any]] = lambda tokens: {
        "prompt_tokens": 900,
        "completion_tokens": tokens,
        "total_tokens": 900 + tokens,
    }
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of its completions."""
    words: Mapping[str, Answer] = field(default_factory=dict)
    """Its answers to failures, by what failed: key, model, path, rate, quota, loading, overloaded,
    images, no-images, context, schema, in-200."""
    remedies: Mapping[str, str] = field(default_factory=dict)
    """What a message must advise, as a regular expression, for such a failure."""

    def refusing(self, name: str, words: str | None = None) -> Answer:
        """Return its answer to a request that has a field it does not take."""
        text = words or self.refuses.get(name) or self.refusal.format(field=name)
        return Answer(self.refusal_status, self.error(self.refusal_status, text, name))

    def failing(self, status: int, words: str, **headers: str) -> Answer:
        """Return an error in its shape."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Answer(status, self.error(status, words, ""), named)


@dataclass(frozen=True)
class Turn:
    """One request to a service under a condition."""

    service: Service
    body: Body
    number: int
    """How many requests for a completion came before it, in both calls."""
    now_s: float
    """Seconds since the cell began, the client's pauses included."""


@dataclass(frozen=True)
class Expected:
    """What the client must make of a condition."""

    error: type[ModelError] | None = None
    """The class of the error; None for an answer."""
    status: int = 0
    """HTTP status that the error must give; 0 for any."""
    says: tuple[str, ...] = ()
    """Regular expressions that the error's message must match, or the warnings of an answer."""
    never: tuple[str, ...] = ()
    """Regular expressions that neither may match."""
    first: int = 1
    """Most exchanges of the first call."""
    second: int = 1
    """Most exchanges of the second call."""
    pause_s: tuple[float, float] = (0.0, 10.0)
    """Least and most seconds of pauses in the first call."""
    is_final: bool = True
    """Whether an error that ends at once must say that every other call would fail too."""
    answered_as: str | None = None
    """What the reply must say answered; None for the service's own name of the model."""
    may_warn: bool = False
    """Whether warnings other than those of refused fields are allowed."""
    check: Callable[[Reply], bool] = lambda reply: True
    """What else must hold for the reply."""

    @property
    def mark(self) -> str:
        """Return the expectation in a few characters, for the table."""
        if self.error is not None:
            return f"error {self.first}" if self.first > 1 else "error"
        return f"{self.first}+{self.second}"


@dataclass(frozen=True)
class Condition:
    """Something that happens to a service, and what must come of it."""

    name: str
    title: str
    answer: Callable[[Turn], Answer]
    expected: Callable[[Service], Expected]
    applies: Callable[[Service], bool] = lambda service: True
    address: Callable[[Service], str] = lambda service: service.base
    """Path of the address that the user gives."""
    settings: Callable[[Service], Mapping[str, Any]] = lambda service: {
        "model": service.model,
        "dialect": service.dialect,
    }
    """Arguments of the `VLM` beside the address."""


@dataclass(frozen=True)
class Cell:
    """One service under one condition."""

    service: Service
    condition: Condition

    @property
    def name(self) -> str:
        return f"{self.service.name}-{self.condition.name}"

    @property
    def expected(self) -> Expected:
        return self.condition.expected(self.service)
