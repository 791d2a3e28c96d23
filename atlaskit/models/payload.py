"""Builds the JSON body of a request in a dialect: messages, images (bytes, `uuid`, `file://`),
schema, grammar.

Knows nothing of connections and retries.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import sys
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atlaskit.errors import InputError, reason
from atlaskit.models.dialect import Dialect
from atlaskit.models.learning import Habits
from atlaskit.models.presets import preset_for
from atlaskit.models.protocol import Image, Message, Request, json_schema

BOUNDS = frozenset({"maxLength", "minLength", "maximum", "minimum", "maxItems", "minItems"})
"""Keywords of JSON Schema that strict decoding does not accept."""


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


@dataclass(frozen=True)
class Payload:
    """What is sent for one attempt."""

    body: bytes
    headers: Mapping[str, str]
    carried: frozenset[str]
    """Keys of the images whose bytes are in the body, or in a file that it refers to."""
    named: frozenset[str]
    """Keys of the images that are sent as a uuid alone, since the endpoint has them."""
    files: tuple[Path, ...] = ()
    """Files that the body refers to. The sender deletes them after the answer has arrived."""
    optional: tuple[str, ...] = ()
    """Names of the fields that an endpoint may refuse, and that can be left out."""
    length: str = "max_tokens"
    """Name of the field that limits the length of the answer."""
    limit: int = 0
    """That limit, in tokens."""


def build_payload(
    request: Request,
    model: str,
    dialect: Dialect,
    parameters: Mapping[str, Any],
    known: Collection[str],
    habits: Habits = Habits(),
    max_tokens: int | None = None,
) -> Payload:
    """Build the payload of a request.

    Args:
        request: The request.
        model: Name of the model at the endpoint.
        dialect: What the endpoint accepts.
        parameters: Sampling parameters (`sampling_parameters`) and further fields of the body.
        known: Keys of images that the endpoint has. They are sent as a uuid where the dialect has
            `image_names`.
        habits: What the endpoint turned out to refuse or to need.
        max_tokens: Most tokens of the answer. None: those of the request.
    """
    if IMAGE_NAMES in habits.refused:
        dialect = replace(dialect, image_names=False)
    keys = {image.key for image in request.images}
    named = {key for key in keys if key in known} if dialect.image_names else set()
    optional = {**parameters, **_schema_fields(request, model, dialect)}
    sent = {name: value for name, value in optional.items() if name not in habits.refused}
    in_words = habits.needs_words or not SCHEMA_FIELDS & sent.keys()
    messages = _with_schema_in_words(request) if in_words else request.messages
    length = habits.length or dialect.length
    limit = min(max_tokens or request.max_tokens, habits.most_tokens or sys.maxsize)
    body: dict[str, Any] = {"model": model, length: limit, **sent}
    files = _ImageFiles(dialect.media)
    try:
        body["messages"] = [_message(message, dialect, named, files) for message in messages]
    except BaseException:  # for one, an image that cannot be rendered
        delete_files(files.written)
        raise
    headers = {"Content-Type": "application/json"}
    if dialect.ranks > 1:
        headers["X-data-parallel-rank"] = str(_rank(request, dialect.ranks))
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    refusable = (*sent, *((IMAGE_NAMES,) if dialect.image_names and keys else ()))
    return Payload(
        data, headers, frozenset(keys - named), frozenset(named), tuple(files.written), refusable, length, limit
    )


def sampling_parameters(dialect: Dialect, temperature: float, seed: int) -> dict[str, Any]:
    """Return those sampling parameters that the endpoint accepts."""
    offered = {"temperature": (dialect.temperature, temperature), dialect.seed_name: (dialect.seed, seed)}
    return {name: value for name, (is_accepted, value) in offered.items() if is_accepted}


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


def delete_files(files: Iterable[Path]) -> None:
    """Delete a payload's files. Files that are gone already are ignored."""
    for path in files:
        with contextlib.suppress(OSError):
            path.unlink()


def _schema_fields(request: Request, model: str, dialect: Dialect) -> dict[str, Any]:
    """Return the fields of the body that hold the answer's schema."""
    schema = json_schema(request.schema)
    if dialect.schema == "words":
        return {}
    if dialect.schema == "strict":
        schema_format = {"name": request.step, "strict": True, "schema": _without_bounds(schema)}
    elif dialect.accepts_llguidance and preset_for(model).no_forcing:
        return {"structured_outputs": {"grammar": _unforced_grammar(schema)}}
    else:
        schema_format = {"name": request.step, "schema": schema}
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


def _without_bounds(schema: Any) -> Any:
    """Return a schema without the keywords that strict decoding does not accept."""
    match schema:
        case dict():
            # The keys below "properties" and "$defs" are names of ours, which may equal a keyword.
            return {
                name: {each: _without_bounds(part) for each, part in value.items()}
                if name in ("properties", "$defs")
                else _without_bounds(value)
                for name, value in schema.items()
                if name not in BOUNDS
            }
        case list():
            return [_without_bounds(part) for part in schema]
        case _:
            return schema


def _message(message: Message, dialect: Dialect, named: Collection[str], files: _ImageFiles) -> dict[str, Any]:
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.speaker, "content": "\n".join(str(part) for part in message.parts)}
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else _image(part, dialect, named, files)
        for part in message.parts
    ]
    return {"role": message.speaker, "content": content}


def _image(image: Image, dialect: Dialect, named: Collection[str], files: _ImageFiles) -> dict[str, Any]:
    key = image.key
    if key in named:
        return {"type": "image_url", "image_url": None, "uuid": key}
    part: dict[str, Any] = {"type": "image_url", "image_url": {"url": files.url(image)}}
    return {**part, "uuid": key} if dialect.image_names else part


class _ImageFiles:
    """The URLs of a payload's images: files in the server's folder if there is one, else data."""

    def __init__(self, media: Path | None) -> None:
        self.media, self.written = media, list[Path]()

    def url(self, image: Image) -> str:
        data = image.jpeg()
        if self.media is not None:
            path = self.media / f"{uuid.uuid4().hex}.jpg"
            self.written.append(path)
            with contextlib.suppress(OSError):  # the server may have stopped, and its folder with it
                path.write_bytes(data)
                return path.as_uri()
        return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"


def _rank(request: Request, ranks: int) -> int:
    """Return the engine for a request: conversations that start with the same image share one.

    One without images is known by its first two messages, the system's and the user's.
    """
    start = request.images[0].key if request.images else repr([message.parts for message in request.messages[:2]])
    return int(hashlib.sha256(start.encode()).hexdigest()[:8], 16) % ranks
