"""What an OpenAI-compatible endpoint accepts, declared as data.

Endpoints that call themselves OpenAI-compatible differ in what they accept. A `Dialect` declares
what may be sent to one; whatever it does not declare is left out. `payload` turns a request into a
body by these declarations, `completion` reads what comes back. What an endpoint turns out not to
accept makes another dialect, which lasts as long as the client: see `adapting`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from pydantic import TypeAdapter

from atlaskit.errors import InputError, printable
from atlaskit.models.identity import entries
from atlaskit.models.presets import NO_THINKING, Family

THOUGHT_TOKENS = 16_384
"""Room for a thought beside the answer, where a model thinks and no limit was set."""


@dataclass(frozen=True)
class Dialect:
    """What may be sent to an endpoint.

    A new quirk of a server becomes a field here, whose default leaves the endpoints that lack the
    quirk as they are.

    Examples:
        >>> strict = ak.Dialect("my-proxy", schema="strict", image_names=False)
        >>> ak.VLM("http://127.0.0.1:8000/v1", "some-model", dialect=strict).name
        'some-model'
    """

    name: str
    schema: Literal["grammar", "strict", "words"] = "grammar"
    """How the endpoint is told the answer's schema: "grammar" as `response_format` of type
    json_schema, which constrains decoding; "strict" the same with `strict: true` and without bounds
    on lengths and numbers, which only the client then checks; "words" as text at the end of the
    prompt."""
    seed: bool = False
    """Whether the endpoint accepts a seed."""
    seed_name: str = "seed"
    """Name of the parameter that holds the seed."""
    length: str = "max_tokens"
    """Name of the parameter that limits the length of an answer."""
    most_tokens: int | None = None
    """Most tokens of an answer that it accepts. None: as many as the context holds."""
    thinks: bool = False
    """Whether every model behind it thinks before it answers."""
    words_too: bool = False
    """Whether the schema is told in words too, since the endpoint may ignore it otherwise."""
    repeats: int | None = 1_999
    """Largest bound on a length that its grammars take; None: any. llama.cpp refuses longer ones
    since November 2025, and what is behind a gateway is unknown."""
    omits: tuple[str, ...] = ()
    """Fields that are left out of every request. Without `response_format`, the schema is told in
    words; without `uuid`, images have no names."""
    stream: bool = False
    """Whether the endpoint answers in a stream of events alone."""
    no_thinking: Mapping[str, Any] | None = None
    """Fields of a request that turn thinking off; {} where nothing thinks unless it is asked to.
    None: those of the model's family."""
    image_names: bool = False
    """Whether an image may carry a `uuid` and later be sent as that uuid alone (vLLM)."""
    counters: bool = False
    """Whether the server publishes its cache counters at /metrics (vLLM)."""
    ranks: int = 1
    """Data-parallel engines behind the endpoint. A conversation stays on the one that cached it."""

    @property
    def option(self) -> str:
        """The option of a command line that declares this dialect: "--dialect vllm,seed=false"."""
        usual = DIALECTS.get(self.name, HOSTED)
        changed = [each for each in fields(self) if each.name in OPTIONAL]
        words = [
            f"{each.name}={'+'.join(value) if isinstance(value, tuple) else json.dumps(value).strip(chr(34))}"
            for each in changed
            if (value := getattr(self, each.name)) != getattr(usual, each.name)
        ]
        return f"--dialect {','.join([usual.name, *words])}"

    def room(self, thinking: bool | None, family: Family) -> int:
        """Return the tokens to allow for a thought, beside those of the answer.

        Args:
            thinking: What the caller wants; None for what the model does by itself.
            family: The model's family.
        """
        return THOUGHT_TOKENS if self.thinks or (family.thinks if thinking is None else thinking) else 0

    def thinking_fields(self, thinking: bool | None, family: Family) -> Mapping[str, Any]:
        """Return the fields of a request that turn thinking on or off; {} to leave it as it is."""
        if thinking is None:
            return {}
        if thinking:
            return {"chat_template_kwargs": {"enable_thinking": True}} if family.no_thinking == NO_THINKING else {}
        if self.no_thinking is not None:
            return self.no_thinking if family.thinks or family.name == "other" else {}
        return family.no_thinking or (NO_THINKING if family.name == "other" else {})


OPTIONAL = frozenset({
    "schema", "seed", "length", "most_tokens", "thinks", "words_too", "omits", "stream", "image_names",
})  # fmt: skip
"""The fields that words may set."""
_DIALECT = TypeAdapter(Dialect)
VLLM = Dialect("vllm", seed=True, image_names=True, counters=True, repeats=None)
OPENAI = Dialect(
    "openai", schema="strict", seed=True, length="max_completion_tokens", no_thinking={"reasoning_effort": "minimal"}
)
HOSTED = Dialect("hosted")
PLAIN = Dialect("plain", schema="words")
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        VLLM,
        Dialect("sglang", seed=True, repeats=None),
        Dialect("llamacpp", seed=True),
        Dialect("lmstudio", seed=True),
        Dialect("ollama", seed=True, no_thinking={"reasoning_effort": "none"}),
        Dialect("litellm", schema="strict", seed=True, no_thinking={"reasoning_effort": "none"}),
        Dialect("openrouter", schema="strict", seed=True, no_thinking={"reasoning": {"enabled": False}}),
        OPENAI,
        Dialect("anthropic", schema="words", no_thinking={}),
        Dialect("gemini", schema="strict", no_thinking={"reasoning_effort": "none"}),
        Dialect("mistral", schema="strict", seed=True, seed_name="random_seed", no_thinking={}),
        HOSTED,
        PLAIN,
    )
}
"""The dialects by name: of local servers, of gateways, of services, and two for all others."""

HOSTS = {
    "api.openai.com": "openai",
    "openai.azure.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
    "aiplatform.googleapis.com": "gemini",
    "api.mistral.ai": "mistral",
    "openrouter.ai": "openrouter",
}
"""Dialects of services, by the end of their host's name."""
OWNERS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llamacpp",
    "library": "ollama",
    "organization_owner": "lmstudio",
}
"""Dialects of local servers, by the owner that their list of models names. "openai" is none:
LiteLLM and other gateways say so of every model."""
ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "anthropic": {"type": "model", "display_name": str},
    "gemini": {"id": "models/", "owned_by": "google"},
    "mistral": {"capabilities": dict, "owned_by": "mistralai"},
    "openrouter": {"canonical_slug": str, "architecture": dict},
}
"""Dialects of services, by what an entry of their list holds: values, starts of values, types."""
HEADERS = {
    "x-litellm-version": "litellm",
    "x-litellm-call-id": "litellm",
    "openai-processing-ms": "openai",
    "anthropic-organization-id": "anthropic",
}
"""Dialects by the header that only one server sends."""


def dialect_named(words: str) -> Dialect:
    """Return a dialect by its name, with changes of fields: "vllm,seed=false,omits=top_k+top_p".

    Raises:
        InputError: If there is no dialect of that name, or no such field or value.
    """
    name, *changes = words.split(",")
    if name not in DIALECTS:
        raise InputError(
            f"dialect must be one of {', '.join(DIALECTS)}, or an ak.Dialect; got {printable(name, 80)!r}."
        )
    values: dict[str, Any] = dict(change.partition("=")[::2] for change in changes)
    if "omits" in values:
        values["omits"] = tuple(values["omits"].split("+"))
    try:
        if unknown := values.keys() - OPTIONAL:
            raise ValueError(f"no field {', '.join(unknown)}")
        return _DIALECT.validate_python(vars(DIALECTS[name]) | values)
    except ValueError as error:
        raise InputError(
            f"No field of a dialect, or no value that it takes: {printable(','.join(changes), 80)!r}; the fields "
            f"are {', '.join(sorted(OPTIONAL))}."
        ) from error


def check_thinking(thinking: bool | None, family: Family, name: str) -> None:
    """Raise InputError if thinking is to be turned off and the model's family always thinks."""
    if thinking is False and family.thinks and family.reasoning_parser and not family.no_thinking:
        raise InputError(
            f"thinking=False cannot turn thinking off for {name}: models of its family ({family.name}) always think. "
            f"Leave it out, or use another model."
        )


def dialect_of_host(host: str) -> Dialect | None:
    """Return the dialect of a service by its host, None for any other host."""
    host = host.lower().rstrip(".")
    # A service in one region may stand before a hyphen: "us-east5-aiplatform.googleapis.com".
    names = (name for end, name in HOSTS.items() if host == end or host.endswith((f".{end}", f"-{end}")))
    return next((DIALECTS[name] for name in names), None)


def dialect_of(models: Any, headers: Mapping[str, str] = {}, model: str = "") -> Dialect:
    """Return the dialect of a server by what it says with its list of models (GET /models).

    Args:
        models: The parsed list; anything else counts as no list.
        headers: The headers of the answer, with lower-case names.
        model: The model that is asked for: its entry counts, or else the first one.
    """
    for name, dialect in HEADERS.items():
        if name in headers:
            return DIALECTS[dialect]
    if headers.get("server", "").lower() == "llama.cpp":
        return DIALECTS["llamacpp"]
    listed = list(entries(models))
    entry = next((each for name, each in listed if name == model), listed[0][1] if listed else {})
    owner = entry.get("owned_by")
    if isinstance(owner, str) and owner in OWNERS:
        return DIALECTS[OWNERS[owner]]
    names = (name for name, signs in ENTRIES.items() if all(_is(entry.get(key), sign) for key, sign in signs.items()))
    return DIALECTS[next(names, HOSTED.name)]


def _is(value: Any, sign: Any) -> bool:
    """Return whether a value of an entry is of a type, or begins with a text."""
    return isinstance(value, sign) if isinstance(sign, type) else isinstance(value, str) and value.startswith(sign)
