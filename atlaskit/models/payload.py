"""Builds the JSON body of a request in a dialect: messages, images (bytes, `uuid`),
schema, grammar.

Knows nothing of connections and retries.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from atlaskit.errors import InputError, reason
from atlaskit.models.dialect import Dialect
from atlaskit.models.protocol import Image, Message, Request, json_schema

REPEATED = frozenset({"maxLength", "minLength", "maxItems", "minItems"})
"""Keywords of JSON Schema that grammars turn into repetitions."""
BOUNDS = REPEATED | {"maximum", "minimum"}
"""Keywords that strict decoding does not accept."""


SCHEMA_FIELDS = frozenset({"response_format", "structured_outputs"})
"""Fields of a body that tell the schema. Without one of them, it is told in words."""
OWN_FIELDS = {
    **dict.fromkeys(("messages", "response_format", "structured_outputs", "stream", "n"), "atlaskit sets it"),
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
        known: Keys of images that the endpoint has. They are sent as a uuid where the dialect has
            `image_names`.
        max_tokens: Most tokens of the answer. None: those of the request.
        is_forced: Whether a grammar of llguidance may write what the schema fixes (`Preset`).
    """
    if IMAGE_NAMES in dialect.omits:
        dialect = replace(dialect, image_names=False)
    keys = {image.key for image in request.images}
    named = {key for key in keys if key in known} if dialect.image_names else set()
    optional = {**parameters, **_schema_fields(request, dialect, is_forced)}
    sent = {name: value for name, value in optional.items() if name not in dialect.omits}
    in_words = dialect.words_too or not SCHEMA_FIELDS & sent.keys()
    messages = _with_schema_in_words(request) if in_words else request.messages
    limit = min(max_tokens or request.max_tokens, dialect.most_tokens or math.inf)
    body: dict[str, Any] = {"model": model, dialect.length: limit, **sent}
    body |= {"stream": True, "stream_options": {"include_usage": True}} if dialect.stream else {}
    body["messages"] = [_message(message, dialect, named) for message in messages]
    headers = {"Content-Type": "application/json"}
    if dialect.ranks > 1 or dialect.counters:
        start = conversation(request)
        headers[SESSION] = start
        if dialect.ranks > 1:
            headers["X-data-parallel-rank"] = str(int(start[:8], 16) % dialect.ranks)
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    refusable = (*sent, *((IMAGE_NAMES,) if dialect.image_names and keys else ()))
    return Payload(data, headers, frozenset(keys - named), frozenset(named), refusable, int(limit))


def conversation(request: Request) -> str:
    """Return what names a request's conversation: those that start with the same image share it.

    One without images is known by its first two messages, the system's and the user's.
    """
    start = request.images[0].key if request.images else repr([message.parts for message in request.messages[:2]])
    return hashlib.sha256(start.encode()).hexdigest()


def merged(*bodies: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of all bodies; of two, the later counts, and objects are merged."""
    fields: dict[str, Any] = {}
    for body in bodies:
        for name, value in body.items():
            before = fields.get(name)
            both = isinstance(before, Mapping) and isinstance(value, Mapping)
            fields[name] = merged(before, value) if both else value  # type: ignore[arg-type]
    return fields


def sampling_parameters(dialect: Dialect, temperature: float, seed: int) -> dict[str, Any]:
    """Return those sampling parameters that the endpoint accepts."""
    return {"temperature": temperature, **({dialect.seed_name: seed} if dialect.seed else {})}


def checked_extra_body(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the caller's further fields of a body.

    Raises:
        InputError: If they are not an object of JSON, or name a field with a setting of its own.
    """
    try:
        checked = json.loads(json.dumps({} if fields is None else dict(fields), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"extra_body must be an object of JSON values ({reason(error)}); got {fields!r:.80}."
        ) from error
    if own := next((name for name in checked if name in OWN_FIELDS), None):
        raise InputError(f"extra_body must not hold {own!r}: {OWN_FIELDS[own]}.")
    return dict(checked)


def _schema_fields(request: Request, dialect: Dialect, is_forced: bool) -> dict[str, Any]:
    """Return the fields of the body that hold the answer's schema."""
    schema = json_schema(request.schema)
    if dialect.schema == "words":
        return {}
    if dialect.schema == "strict":
        schema_format = {"name": request.step, "strict": True, "schema": _without(BOUNDS, schema)}
    elif dialect.counters and not is_forced:  # vLLM, which alone has counters, knows llguidance
        return {"structured_outputs": {"grammar": _unforced_grammar(schema)}}
    else:
        most = dialect.repeats
        taken = schema if most is None else _without(REPEATED, schema, most)
        schema_format = {"name": request.step, "schema": taken}
    return {"response_format": {"type": "json_schema", "json_schema": schema_format}}


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
    return '%llguidance {"no_forcing": true}\nstart: %json ' + json.dumps(compact, ensure_ascii=False)


def _without(keywords: Collection[str], schema: Any, above: float = -math.inf) -> Any:
    """Return a schema without keywords that an endpoint refuses, where their value is larger."""
    if isinstance(schema, list):
        return [_without(keywords, part, above) for part in schema]
    if not isinstance(schema, dict):
        return schema
    # The keys below "properties" and "$defs" are names of ours, which may equal a keyword.
    return {
        name: {each: _without(keywords, part, above) for each, part in value.items()}
        if name in ("properties", "$defs")
        else _without(keywords, value, above)
        for name, value in schema.items()
        if name not in keywords or value <= above
    }


def _message(message: Message, dialect: Dialect, named: Collection[str]) -> dict[str, Any]:
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.speaker, "content": "\n".join(str(part) for part in message.parts)}
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else _image(part, dialect, named)
        for part in message.parts
    ]
    return {"role": message.speaker, "content": content}


def _image(image: Image, dialect: Dialect, named: Collection[str]) -> dict[str, Any]:
    key = image.key
    if key in named:
        return {"type": "image_url", "image_url": None, "uuid": key}
    url = f"data:image/jpeg;base64,{base64.b64encode(image.jpeg()).decode()}"
    part: dict[str, Any] = {"type": "image_url", "image_url": {"url": url}}
    return {**part, "uuid": key} if dialect.image_names else part
