"""What an OpenAI-compatible endpoint accepts, declared as data.

Endpoints that call themselves OpenAI-compatible differ in what they accept. A `Dialect` declares
what may be sent to one; whatever it does not declare is left out. Nothing is tried out by sending
requests. `payload` turns a request into a body by these declarations, `completion` reads what comes
back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from atlaskit.errors import InputError


@dataclass(frozen=True)
class Dialect:
    """What may be sent to an endpoint.

    A new quirk of a server becomes a field here, whose default leaves the endpoints that lack the
    quirk as they are.
    """

    name: str
    schema: Literal["grammar", "strict", "words"] = "grammar"
    """How the endpoint is told the answer's schema: "grammar" as `response_format` of type
    json_schema, which constrains decoding; "strict" the same with `strict: true` and without bounds
    on lengths and numbers, which only the client then checks; "words" as text at the end of the
    prompt."""
    temperature: bool = True
    """Whether the endpoint accepts `temperature`."""
    seed: bool = False
    """Whether the endpoint accepts `seed`."""
    length: str = "max_tokens"
    """Name of the parameter that limits the length of an answer."""
    image_names: bool = False
    """Whether an image may carry a `uuid` and later be sent as that uuid alone (vLLM)."""
    counters: bool = False
    """Whether the server publishes its cache counters at /metrics (vLLM)."""
    media: Path | None = field(default=None, compare=False)
    """Folder that the server may read. Images are then written there and sent as file:// URLs."""
    ranks: int = 1
    """Data-parallel engines behind the endpoint. A conversation stays on the one that cached it."""

    @property
    def accepts_llguidance(self) -> bool:
        """Whether the server decodes by a grammar of llguidance: vLLM, which alone has counters."""
        return self.schema == "grammar" and self.counters


VLLM = Dialect("vllm", seed=True, image_names=True, counters=True)
OPENAI = Dialect("openai", schema="strict", seed=True, length="max_completion_tokens")
HOSTED = Dialect("hosted")
PLAIN = Dialect("plain", schema="words")
DIALECTS = {dialect.name: dialect for dialect in (VLLM, OPENAI, HOSTED, PLAIN)}


def dialect_named(name: str) -> Dialect:
    """Return a dialect by its name.

    Raises:
        InputError: If there is no dialect of that name.
    """
    if name not in DIALECTS:
        raise InputError(f"dialect must be one of {', '.join(DIALECTS)}, or an ak.Dialect; got {name!r}.")
    return DIALECTS[name]


def dialect_of(models: Any) -> Dialect:
    """Return the dialect of a server, by the owner that its list of models (GET /models) names."""
    match models:
        case {"data": [{"owned_by": "vllm"}, *_]}:
            return VLLM
        case {"data": [{"owned_by": "openai" | "system" | "openai-internal"}, *_]}:
            return OPENAI
        case _:
            return HOSTED
