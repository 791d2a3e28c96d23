"""What an OpenAI-compatible endpoint accepts, declared as data, and the requests that follow.

Contents:
    `Dialect`, `DIALECTS`: what may be sent to an endpoint; whatever is not declared is left out.
    `dialect_named`, `dialect_of`, `dialect_of_host`: which one an endpoint speaks.
    `build_payload`: the JSON body of a request in a dialect: messages, images, schema, grammar.
    `adapted`, `room_left`: what to change after an error that says what the endpoint refuses.
        `adapted` returns another dialect, which the client keeps as long as it lives. `room_left`
        returns a shorter limit on the answer beside a long prompt, for that call alone. No request
        is sent to try something out, and no change outlives the run: a warning prints the option
        that declares the change for later runs.

`completion` reads what comes back. This module knows nothing of connections and retries.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from pydantic import TypeAdapter

from atlaskit.errors import InputError, check_flags, printable, reason
from atlaskit.models.http import HttpFailure
from atlaskit.models.names import NO_THINKING, Family, entries
from atlaskit.models.protocol import Clip, Image, Message, Request, json_schema
from atlaskit.models.refusals import CONTENT, GROUPED, plain

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
    """How the answer's schema is sent: "grammar" as `response_format` of type json_schema, which
    constrains decoding; "strict" the same with `strict: true` and without bounds on lengths and
    numbers, which only the client then checks; "words" as text at the end of the prompt."""
    seed: bool = False
    """Whether the endpoint accepts a seed."""
    seed_name: str = "seed"
    """Name of the parameter that holds the seed."""
    length: str = "max_tokens"
    """Name of the parameter that limits the length of an answer."""
    most_tokens: int | None = None
    """Most tokens of an answer that the endpoint accepts. None: as many as the context holds."""
    thinks: bool = False
    """Whether every model behind the endpoint thinks before it answers."""
    words_too: bool = False
    """Whether the prompt also describes the schema, since the endpoint may ignore the field."""
    repeats: int | None = 1_999
    """Largest bound on a length that the endpoint's grammars take; None: any. llama.cpp has refused
    larger ones since November 2025, and a gateway may forward requests to it."""
    omits: tuple[str, ...] = ()
    """Fields that are left out of every request. Without `response_format`, the prompt describes
    the schema; without `uuid`, images have no names."""
    stream: bool = False
    """Whether the endpoint answers only in a stream of events."""
    no_thinking: Mapping[str, Any] | None = None
    """Fields of a request that turn thinking off; {} if no model thinks unless the request asks for
    it. None: those of the model's family."""
    image_names: bool = False
    """Whether an image may carry a `uuid` and later be sent as that uuid alone (vLLM)."""
    counters: bool = False
    """Whether the server publishes its cache counters at /metrics (vLLM)."""
    ranks: int = 1
    """Data-parallel engines behind the endpoint. A conversation stays on the one that cached it."""

    def __post_init__(self) -> None:
        check_flags(
            seed=self.seed,
            thinks=self.thinks,
            words_too=self.words_too,
            stream=self.stream,
            image_names=self.image_names,
            counters=self.counters,
        )

    @property
    def option(self) -> str:
        """The option of a command line that declares this dialect: "--dialect vllm,seed=false"."""
        usual = DIALECTS.get(self.name, HOSTED)  # an option has no name of the user's own
        words = [usual.name]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in OPTIONAL and value != getattr(usual, field.name):
                words.append(f"{field.name}={_word(value)}")
        return f"--dialect {','.join(words)}"

    def room(self, thinking: bool | None, family: Family) -> int:
        """Return the tokens to allow for a thought, beside those of the answer.

        Args:
            thinking: Whether the caller wants a thought; None for the model's own default.
            family: The model's family.
        """
        is_thinking = family.thinks if thinking is None else thinking
        return THOUGHT_TOKENS if self.thinks or is_thinking else 0

    def thinking_fields(self, thinking: bool | None, family: Family) -> Mapping[str, Any]:
        """Return the fields of a request that turn thinking on or off; {} to leave it as it is."""
        if thinking is None:
            return {}
        if thinking and family.no_thinking == NO_THINKING:  # its template has this switch
            return {"chat_template_kwargs": {"enable_thinking": True}}
        if thinking:
            return {}
        if self.no_thinking is not None:  # not sent for a model that never thinks
            may_think = family.thinks or family.name == "other"
            return self.no_thinking if may_think else {}
        if family.no_thinking:
            return family.no_thinking
        return NO_THINKING if family.name == "other" else {}


def _word(value: Any) -> str:
    """Return the value of a field as it stands on a command line."""
    if isinstance(value, tuple):
        return "+".join(value)
    return json.dumps(value).strip('"')


OPTIONAL = frozenset(
    {
        "schema",
        "seed",
        "length",
        "most_tokens",
        "thinks",
        "words_too",
        "omits",
        "stream",
        "image_names",
    }
)
"""The fields that `dialect_named` and the option --dialect may set."""
_DIALECT_ADAPTER = TypeAdapter(Dialect)
VLLM = Dialect("vllm", seed=True, image_names=True, counters=True, repeats=None)
OPENAI = Dialect(
    "openai",
    schema="strict",
    seed=True,
    length="max_completion_tokens",
    no_thinking={"reasoning_effort": "minimal"},
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
        Dialect(
            "openrouter", schema="strict", seed=True, no_thinking={"reasoning": {"enabled": False}}
        ),
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
"""Dialects of local servers, by the owner that their list of models names. "openai" is missing,
since LiteLLM and other gateways name it as the owner of every model."""
ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "anthropic": {"type": "model", "display_name": str},
    "gemini": {"id": "models/", "owned_by": "google"},
    "mistral": {"capabilities": dict, "owned_by": "mistralai"},
    "openrouter": {"canonical_slug": str, "architecture": dict},
}
"""Dialects of services, by fields of an entry in their list of models. With each field stands the
type of its value, or the beginning of it."""
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
            f"dialect must be one of {', '.join(DIALECTS)}, or an ak.Dialect; got "
            f"{printable(name, 80)!r}."
        )
    values: dict[str, Any] = {}
    for change in changes:
        field, _, value = change.partition("=")
        values[field] = value
    if "omits" in values:
        values["omits"] = tuple(values["omits"].split("+"))
    try:
        if not values.keys() <= OPTIONAL:
            raise ValueError("no such field")
        return _DIALECT_ADAPTER.validate_python(vars(DIALECTS[name]) | values)
    except ValueError as error:
        raise InputError(
            f"A dialect has no such field, or the field no such value: "
            f"{printable(','.join(changes), 80)!r}; the fields are {', '.join(sorted(OPTIONAL))}."
        ) from error


def check_thinking(thinking: bool | None, family: Family, name: str) -> None:
    """Raise InputError if thinking is no bool, or turned off where the family always thinks.

    That is known of open weights alone, which have a reasoning parser. For the models of a
    service, the dialect says how to turn thinking off.
    """
    if thinking is not None:
        check_flags(thinking=thinking)
    if thinking is False and family.thinks and family.reasoning_parser and not family.no_thinking:
        raise InputError(
            f"thinking=False cannot turn thinking off for {name}: models of its family "
            f"({family.name}) always think. Leave it out, or use another model."
        )


def dialect_of_host(host: str) -> Dialect | None:
    """Return the dialect of a service by its host, None for any other host."""
    host = host.lower().rstrip(".")
    for end, name in HOSTS.items():
        # A region may stand before a hyphen: "us-east5-aiplatform.googleapis.com".
        if host == end or host.endswith((f".{end}", f"-{end}")):
            return DIALECTS[name]
    return None


def dialect_of(models: Any, headers: Mapping[str, str] = {}, model: str = "") -> Dialect:
    """Return the dialect of a server by its list of models (GET /models).

    Args:
        models: The parsed list; anything else counts as no list.
        headers: The headers of the answer, with lower-case names.
        model: The model that is asked for. The dialect follows from its entry in the list, or from
            the first entry if it has none.
    """
    for name, dialect in HEADERS.items():
        if name in headers:
            return DIALECTS[dialect]
    if headers.get("server", "").lower() == "llama.cpp":
        return DIALECTS["llamacpp"]
    rows = list(entries(models))
    first: Mapping[str, Any] = rows[0][1] if rows else {}
    entry = next((each for name, each in rows if name == model), first)
    owner = entry.get("owned_by")
    if isinstance(owner, str) and owner in OWNERS:
        return DIALECTS[OWNERS[owner]]
    for name, signs in ENTRIES.items():
        if all(_matches(entry.get(field), sign) for field, sign in signs.items()):
            return DIALECTS[name]
    return HOSTED


def _matches(value: Any, sign: Any) -> bool:
    """Return whether a value is of the type `sign`, or begins with the text `sign`."""
    if isinstance(sign, type):
        return isinstance(value, sign)
    return isinstance(value, str) and value.startswith(sign)


REPEATED = frozenset({"maxLength", "minLength", "maxItems", "minItems"})
"""Keywords of JSON Schema that grammars turn into repetitions."""
BOUNDS = REPEATED | {"maximum", "minimum"}
"""Keywords that strict decoding does not accept."""


SCHEMA_FIELDS = frozenset({"response_format", "structured_outputs"})
"""Fields of a body that hold the schema. Without any of them, the prompt describes it."""
OWN_FIELDS = {
    **dict.fromkeys(
        ("messages", "response_format", "structured_outputs", "stream", "n"), "atlaskit sets it"
    ),
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "pass max_tokens=… (--max-tokens)"),
    **{name: f"pass {name}=… to ak.VLM" for name in ("model", "temperature", "seed")},
}
"""Fields that a caller's `extra_body` must not hold, and what to do instead."""
IMAGE_NAMES = "uuid"
"""The field of an image that names it."""
SESSION = "X-Session-ID"
"""The header by which routers keep a conversation on one server."""


@dataclass(frozen=True)
class Payload:
    """What is sent for one attempt."""

    body: bytes
    headers: Mapping[str, str]
    carried: frozenset[str]
    """Keys of the images whose bytes are in the body."""
    named: frozenset[str]
    """Keys of the images that are sent as a uuid alone, since the endpoint has them."""
    optional: tuple[str, ...] = ()
    """Names of the fields that an endpoint may refuse, and that can be left out."""
    limit: int = 0
    """Most tokens of the answer."""


def build_payload(
    request: Request,
    model: str,
    dialect: Dialect,
    parameters: Mapping[str, Any],
    known: Collection[str],
    max_tokens: int | None = None,
    *,
    is_forced: bool = True,
) -> Payload:
    """Build the payload of a request.

    Args:
        request: The request.
        model: Name of the model at the endpoint.
        dialect: What the endpoint accepts.
        parameters: Sampling parameters (`sampling_parameters`) and further fields of the body.
        known: Keys of the images that the endpoint has. They are sent as a uuid if the dialect has
            `image_names`.
        max_tokens: Most tokens of the answer. None: those of the request.
        is_forced: Whether llguidance may choose the tokens of what the schema fixes; see
            `Preset.no_forcing`.
    """
    if IMAGE_NAMES in dialect.omits:
        dialect = replace(dialect, image_names=False)
    clips = [image for image in request.images if isinstance(image, Clip)]
    keys = {image.key for image in request.images if not isinstance(image, Clip)}
    named = keys.intersection(known) if dialect.image_names else set[str]()
    wanted = {**parameters, **_schema_fields(request, dialect, is_forced)}
    sent = {name: value for name, value in wanted.items() if name not in dialect.omits}
    messages = request.messages
    if dialect.words_too or not SCHEMA_FIELDS & sent.keys():
        messages = _with_schema_in_words(request)
    limit = min(max_tokens or request.max_tokens, dialect.most_tokens or math.inf)
    body: dict[str, Any] = {"model": model, dialect.length: limit, **sent}
    if dialect.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if clips and dialect.counters:  # vLLM: no other server has counters
        # The processor's "edges" are the least and the most pixels of all frames together.
        pixels = max(4096, clips[0].pixels)
        body["media_io_kwargs"] = {"video": _video_facts(clips[0])}
        body["mm_processor_kwargs"] = {"size": {"shortest_edge": 1024, "longest_edge": pixels}}
    body["messages"] = [_message(message, dialect, named) for message in messages]
    headers = {"Content-Type": "application/json"}
    if dialect.ranks > 1 or dialect.counters:
        headers[SESSION] = conversation(request)
    if dialect.ranks > 1:
        number = int(headers[SESSION][:8], 16)
        headers["X-data-parallel-rank"] = str(number % dialect.ranks)
    refusable = list(sent)
    if dialect.image_names and keys:
        refusable.append(IMAGE_NAMES)
    return Payload(
        json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
        headers,
        carried=frozenset(keys - named),
        named=frozenset(named),
        optional=tuple(refusable),
        limit=int(limit),
    )


def conversation(request: Request) -> str:
    """Return the name of a request's conversation.

    Requests with the same first image share a conversation. Requests without images share one if
    their first two messages are equal: the system's and the user's.
    """
    start = repr([message.parts for message in request.messages[:2]])
    if request.images:
        start = request.images[0].key
    return hashlib.sha256(start.encode()).hexdigest()


def merged(*bodies: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of all bodies. Later values replace earlier ones; objects are merged."""
    whole: dict[str, Any] = {}
    for body in bodies:
        for name, value in body.items():
            before = whole.get(name)
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                whole[name] = merged(before, value)
            else:
                whole[name] = value
    return whole


def sampling_parameters(dialect: Dialect, temperature: float, seed: int) -> dict[str, Any]:
    """Return the sampling parameters that the endpoint accepts."""
    parameters: dict[str, Any] = {"temperature": temperature}
    if dialect.seed:
        parameters[dialect.seed_name] = seed
    return parameters


def checked_extra_body(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the caller's further fields of a body.

    Raises:
        InputError: If they are not an object of JSON, or name a field with a setting of its own.
    """
    try:
        checked = json.loads(json.dumps(dict(fields or {}), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"extra_body must be an object of JSON values ({reason(error)}); got {fields!r:.80}."
        ) from error
    for name in checked:
        if name in OWN_FIELDS:
            raise InputError(f"extra_body must not hold {name!r}: {OWN_FIELDS[name]}.")
    return dict(checked)


def _schema_fields(request: Request, dialect: Dialect, is_forced: bool) -> dict[str, Any]:
    """Return the fields of the body that hold the answer's schema."""
    if dialect.schema == "words":
        return {}
    schema = json_schema(request.schema)
    form: dict[str, Any] = {"name": request.step}
    if dialect.schema == "strict":
        form |= {"strict": True, "schema": _without(BOUNDS, schema)}
    elif dialect.counters and not is_forced:  # vLLM, which knows llguidance
        return {"structured_outputs": {"grammar": _unforced_grammar(schema)}}
    elif dialect.repeats is None:
        form["schema"] = schema
    else:
        form["schema"] = _without(REPEATED, schema, above=dialect.repeats)
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def _with_schema_in_words(request: Request) -> tuple[Message, ...]:
    """Return the request's messages with the schema as text at the end of the last one."""
    schema = json.dumps(json_schema(request.schema))
    words = f"Answer with one JSON object that fits this JSON Schema, and nothing else: {schema}"
    *earlier, last = request.messages
    return (*earlier, replace(last, parts=(*last.parts, words)))


def _unforced_grammar(schema: dict[str, Any]) -> str:
    """Return a schema as a grammar of llguidance that leaves the choice of tokens to the model.

    By default llguidance itself tokenizes what the schema fixes, up to the next free choice. A
    model with a token that spans both ('{"search_task":"Find') could then never produce it.
    """
    compact = {**schema, "x-guidance": {"whitespace_flexible": False}}
    return '%llguidance {"no_forcing": true}\nstart: %json ' + json.dumps(
        compact, ensure_ascii=False
    )


def _without(keywords: Collection[str], schema: Any, above: float = -math.inf) -> Any:
    """Return a schema without the keywords whose value is larger than `above`."""
    if isinstance(schema, list):
        return [_without(keywords, part, above) for part in schema]
    if not isinstance(schema, dict):
        return schema
    rest = dict[str, Any]()
    for name, value in schema.items():
        if name in ("properties", "$defs"):  # their keys are our names, which may equal a keyword
            rest[name] = {each: _without(keywords, part, above) for each, part in value.items()}
        elif name not in keywords or value <= above:
            rest[name] = _without(keywords, value, above)
    return rest


def _message(message: Message, dialect: Dialect, named: Collection[str]) -> dict[str, Any]:
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.speaker, "content": "\n".join(map(str, message.parts))}
    content = list[dict[str, Any]]()
    for part in message.parts:
        content += _content(part, dialect, named)
    return {"role": message.speaker, "content": content}


def _content(part: str | Image, dialect: Dialect, named: Collection[str]) -> list[dict[str, Any]]:
    """Return a message's part as the endpoint takes it: a clip as a video, or as timed frames."""
    if isinstance(part, str):
        return [{"type": "text", "text": part}]
    if not isinstance(part, Clip):
        return [_image(part, dialect, named)]
    if dialect.counters and part.url:
        return [{"type": "video_url", "video_url": {"url": part.url}}]
    frames = [base64.b64encode(frame).decode() for frame in part.jpegs()]
    if dialect.counters:
        url = f"data:video/jpeg;base64,{','.join(frames)}"
        return [{"type": "video_url", "video_url": {"url": url}}]
    content = list[dict[str, Any]]()
    for time_s, frame in zip(part.times_s, frames, strict=True):
        content.append({"type": "text", "text": f"{time_s:.1f} s:"})
        content.append(
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{frame}"}}
        )
    return content


def _video_facts(clip: Clip) -> dict[str, Any]:
    """Return the times of a clip's frames as vLLM takes them: as numbers of frames at 1,000 fps.

    For a file that vLLM reads itself, return how many frames to take, at equal steps.
    """
    if clip.url:
        return {"num_frames": len(clip.times_s), "fps": -1}  # -1: no limit by the second
    return {
        "fps": 1000.0,
        "frames_indices": [round(1000 * time_s) for time_s in clip.times_s],
        "total_num_frames": max(len(clip.times_s), round(1000 * clip.duration_s)),
        "duration": clip.duration_s,
        "do_sample_frames": False,
    }


def _image(image: Image, dialect: Dialect, named: Collection[str]) -> dict[str, Any]:
    key = image.key
    if key in named:
        return {"type": "image_url", "image_url": None, "uuid": key}
    url = f"data:image/jpeg;base64,{base64.b64encode(image.jpeg()).decode()}"
    part: dict[str, Any] = {"type": "image_url", "image_url": {"url": url}}
    if dialect.image_names:
        part["uuid"] = key
    return part


SCHEMA_NAMES = re.compile(
    r"\b(response format|schema|structured outputs?|guided|guidance|grammar|constrain\w*"
    r"|repetitions"
    r"|json (object|mode))\b"
)
"""Words of errors that mean the fields of the schema without naming them."""
LENGTHS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The other name of the field that limits an answer."""
LENGTH = re.compile(r"max (\w{1,20} )?tokens|(output|completion|generated|new) tokens")
"""Names of the length of an answer in errors."""
NUMBER = re.compile(r"(?<![\w.-])(\d{3,12})(?![\w-])( \(exclusive\))?")
"""A number that stands alone, not as a part of a name such as gpt-4-0613."""
CONTEXT = re.compile(r"(?:context|max model len|inputs? tokens \+)[^.\d]{0,40}?(\d{1,12})")
"""The length of the context, as errors state it."""
PROMPT = re.compile(
    r"(\d{1,12}) (?:tokens? )?"
    r"(?:input|in the (?:messages|input)|of text input|prompt|from the input)"
    r"|(?:has|passed|contains|requested) (?:at least )?(\d{1,12}) (?:input|prompt)"
    r"|(?:prompt contains|input length) \(?(?:at least )?(\d{1,12})"
)
"""The length of the prompt, as errors state it: in one of the groups."""
SUM = re.compile(r"(\d{1,12}) \+ \d{1,12} > (\d{1,12})")
"""The lengths of prompt, answer and context, as Anthropic's errors state them: "exceed context
limit: 188240 + 21333 > 200000"."""
FEWEST_TOKENS = 256
"""Fewest tokens that leave room for an answer. No error lowers the limit further."""


def room_left(failure: HttpFailure, limit: int) -> int | None:
    """Return the tokens that the context leaves for an answer, by an error about a long prompt.

    The result is None if the error does not name the lengths of both the context and the prompt, or
    if the tokens left are fewer than `FEWEST_TOKENS` or no fewer than `limit`.
    """
    words = _words(failure)
    context = CONTEXT.search(words)
    prompt = PROMPT.search(words)
    added = SUM.search(words)
    if context and added:
        room = int(added[2]) - int(added[1])
    elif context and prompt:
        room = int(context[1]) - int(next(filter(None, prompt.groups())))
    else:
        return None
    return room if FEWEST_TOKENS <= room < limit else None


def adapted(failure: HttpFailure, dialect: Dialect, sent: Payload) -> Dialect | None:
    """Return the dialect to use after a failure that says what the endpoint refuses, or else None.

    Args:
        failure: The failure of a request.
        dialect: The dialect in which it was sent.
        sent: The request.
    """
    words = _words(failure)
    if failure.explanation.kind == "stream" and not dialect.stream:
        return replace(dialect, stream=True)
    if not words or CONTEXT.search(words):
        return None
    most_tokens = _most_tokens_in(failure, sent.limit)
    if LENGTH.search(words) and most_tokens:
        return replace(dialect, most_tokens=most_tokens)
    other = LENGTHS.get(dialect.length, "")
    if other and _is_named(words, dialect.length) and (_is_named(words, other) or "extra" in words):
        return replace(dialect, length=other)
    refused = [name for name in sent.optional if _is_named(words, name)]
    if not refused:
        return None
    return replace(dialect, omits=(*dialect.omits, *refused))


def _most_tokens_in(failure: HttpFailure, limit: int) -> int:
    """Return the limit on an answer that an error states; 0 if it states none below `limit`.

    Errors state it in many ways, so the largest number below the limit that was sent is taken.
    """
    most_tokens = 0
    for number, exclusive in NUMBER.findall(GROUPED.sub("", failure.explanation.words)):
        stated = int(number) - bool(exclusive)
        if FEWEST_TOKENS <= stated < limit and stated != failure.status:
            most_tokens = max(most_tokens, stated)
    return most_tokens


def _words(failure: HttpFailure) -> str:
    """Return the words of an error that may name what is wrong with a request, as plain text.

    The result is "" for any other error.
    """
    if failure.status not in CONTENT or failure.explanation.kind not in (
        "",
        "too long",
        "stream",
        "refused",
    ):
        return ""
    return plain(failure.explanation.words)


def _is_named(words: str, field: str) -> bool:
    """Return whether the plain words of an error name a field of a body."""
    is_schema = field in SCHEMA_FIELDS and SCHEMA_NAMES.search(words) is not None
    name = re.escape(plain(field))
    return is_schema or re.search(rf"(?<!\w){name}(?!\w)", words) is not None
