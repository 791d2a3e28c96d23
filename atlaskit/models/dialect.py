"""What an endpoint can do, declared; and a conversation in its words.

Endpoints that call themselves OpenAI-compatible differ in what they take. Nothing is tried out here: a `Dialect` says
what may be sent, and what it does not say is left out. Knows nothing of connections and retries.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from atlaskit.errors import InputError
from atlaskit.models.presets import is_nano
from atlaskit.models.protocol import Image, Message, Request, json_schema
from atlaskit.models.usage import Usage


@dataclass(frozen=True)
class Dialect:
    """What may be sent to an endpoint."""

    name: str
    schema: Literal["grammar", "strict", "words"] = "grammar"
    """How the form of the answer is told: as `response_format` of type json_schema, by which the endpoint decodes; the
    same marked strict, without the bounds of lengths and numbers, which are then only checked; or in words, at the end
    of the prompt."""
    temperature: bool = True
    seed: bool = False
    length: str = "max_tokens"
    """The name of the limit on an answer's length."""
    image_names: bool = False
    """Whether an image may carry a `uuid`, and be named by it alone once the endpoint has it (vLLM)."""
    counters: bool = False
    """Whether the server counts its cache hits at /metrics (vLLM)."""
    media: Path | None = field(default=None, compare=False)
    """A folder that the server reads images from: they then travel as `file://` addresses."""
    ranks: int = 1
    """Data-parallel engines behind the endpoint. A conversation is pinned to one, where its prefix is cached."""


VLLM = Dialect("vllm", seed=True, image_names=True, counters=True)
OPENAI = Dialect("openai", schema="strict", seed=True, length="max_completion_tokens")
HOSTED = Dialect("hosted")
PLAIN = Dialect("plain", schema="words")
DIALECTS = {dialect.name: dialect for dialect in (VLLM, OPENAI, HOSTED, PLAIN)}


def dialect_named(name: str) -> Dialect:
    """Return a dialect by its name; raise InputError for one that there is not."""
    if name not in DIALECTS:
        raise InputError(f"A dialect is one of {', '.join(DIALECTS)}, or a Dialect; got {name!r}.")
    return DIALECTS[name]


def dialect_of(models: Any) -> Dialect:
    """Return the dialect that a server's own list of models declares: who owns them."""
    match models:
        case {"data": [{"owned_by": "vllm"}, *_]}:
            return VLLM
        case {"data": [{"owned_by": "openai" | "system" | "openai-internal"}, *_]}:
            return OPENAI
        case _:
            return HOSTED


@dataclass(frozen=True)
class Payload:
    """A request as it is sent."""

    body: bytes
    headers: Mapping[str, str]
    carried: frozenset[str]
    """Keys of the images that are in it, or that it says where to find."""
    named: frozenset[str]
    """Keys of the images that it only names, since the endpoint has them."""
    files: tuple[Path, ...] = ()
    """What it says where to find: to be deleted when it is answered."""


def letter(
    request: Request, model: str, dialect: Dialect, parameters: Mapping[str, Any], known: Collection[str]
) -> Payload:
    """Put a request into an endpoint's words. Images in `known` are not sent again, where they can be named."""
    keys = {image.key for image in request.images}
    named = {key for key in keys if key in known} if dialect.image_names else set()
    *earlier, last = request.messages
    schema = json_schema(request.schema)
    body: dict[str, Any] = {"model": model, dialect.length: request.max_tokens, **parameters}
    if dialect.schema == "grammar" and dialect.counters and is_nano(model):
        body["structured_outputs"] = {"grammar": _unforced(schema)}
    elif dialect.schema == "grammar":
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": request.step, "schema": schema}}
    elif dialect.schema == "strict":
        form = {"name": request.step, "strict": True, "schema": _unbounded(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    else:
        words = f"Answer with one JSON object that fits this JSON Schema, and nothing else: {json.dumps(schema)}"
        last = replace(last, parts=(*last.parts, words))
    files = _Files(dialect.media)
    try:
        body["messages"] = [_message(message, dialect, named, files) for message in (*earlier, last)]
    except BaseException:  # an image that cannot be made, for one
        discard(files.written)
        raise
    headers = {"Content-Type": "application/json"}
    if dialect.ranks > 1:
        headers["X-data-parallel-rank"] = str(_rank(request, dialect.ranks))
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return Payload(data, headers, frozenset(keys - named), frozenset(named), tuple(files.written))


def _unforced(schema: dict[str, Any]) -> str:
    """Return a schema as a grammar of vLLM's guidance that leaves the choice of tokens to the model.

    What a form prescribes letter by letter is otherwise cut into tokens by the server, up to where the model is free
    again; a model one of whose tokens goes on from there ('{"search_task":"Find') may then not say it.
    """
    compact = {**schema, "x-guidance": {"whitespace_flexible": False}}
    return '%llguidance {"no_forcing": true}\nstart: %json ' + json.dumps(compact, ensure_ascii=False)


def discard(files: Iterable[Path]) -> None:
    """Delete a letter's files, once it is answered."""
    for path in files:
        with contextlib.suppress(OSError):
            path.unlink()


def sampling(dialect: Dialect, temperature: float, seed: int) -> dict[str, Any]:
    """Return the parameters of sampling that an endpoint takes."""
    taken = {"temperature": (dialect.temperature, temperature), "seed": (dialect.seed, seed)}
    return {name: value for name, (takes, value) in taken.items() if takes}


@dataclass(frozen=True)
class Completion:
    """What an endpoint said."""

    text: str
    reasoning: str
    usage: Usage
    is_cut_off: bool = False
    """Whether the limit on its length ended it."""
    is_withheld: bool = False
    """Whether the endpoint filtered it, or the model refused to give it: whatever stands there is no answer."""


def read_answer(completion: Any) -> Completion:
    """Read a chat completion, of which nothing is sure; raise ValueError for what is none."""
    if not isinstance(completion, dict) or not isinstance(completion.get("choices"), list):
        raise ValueError("no chat completion (does the address end in /v1?)")
    choice = completion["choices"][0] if completion["choices"] else None
    choice = choice if isinstance(choice, dict) else {}
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text, thinking = _split(_clean(message.get("content")))
    # vLLM has renamed the field; other servers have not.
    apart = _clean(message.get("reasoning")) or _clean(message.get("reasoning_content"))
    ended, is_refused = choice.get("finish_reason"), bool(message.get("refusal"))
    return Completion(
        _strict(_unfenced(text)),
        thinking + apart,
        _usage(completion.get("usage")),
        is_cut_off=ended == "length",
        is_withheld=ended == "content_filter" or is_refused,
    )


def _message(message: Message, dialect: Dialect, named: Collection[str], files: _Files) -> dict[str, Any]:
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.speaker, "content": "\n".join(str(part) for part in message.parts)}
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else _image(part, dialect, named, files)
        for part in message.parts
    ]
    return {"role": message.speaker, "content": content}


def _image(image: Image, dialect: Dialect, named: Collection[str], files: _Files) -> dict[str, Any]:
    key = image.key  # a hash of the picture's whole recipe
    if key in named:
        return {"type": "image_url", "image_url": None, "uuid": key}
    part: dict[str, Any] = {"type": "image_url", "image_url": {"url": files.address(image)}}
    return {**part, "uuid": key} if dialect.image_names else part


class _Files:
    """Where the endpoint finds a letter's images: in the folder it reads from, if that can be written; else in it."""

    def __init__(self, media: Path | None) -> None:
        self.media, self.written = media, list[Path]()

    def address(self, image: Image) -> str:
        data = image.jpeg()
        if self.media is not None:
            path = self.media / f"{uuid.uuid4().hex}.jpg"
            self.written.append(path)
            with contextlib.suppress(OSError):  # the folder goes with the server
                path.write_bytes(data)
                return path.as_uri()
        return f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"


BOUNDS = frozenset({"maxLength", "minLength", "maximum", "minimum", "maxItems", "minItems"})


def _unbounded(schema: Any) -> Any:
    """Return a schema without the keywords that strict decoding does not know."""
    match schema:
        case dict():
            # Below "properties" and "$defs" stand names of ours, which may be any.
            return {
                name: {each: _unbounded(part) for each, part in value.items()}
                if name in ("properties", "$defs")
                else _unbounded(value)
                for name, value in schema.items()
                if name not in BOUNDS
            }
        case list():
            return [_unbounded(part) for part in schema]
        case _:
            return schema


def _rank(request: Request, ranks: int) -> int:
    """Return the engine to which all conversations about one picture go."""
    start = request.images[0].key if request.images else repr(request.messages[0].parts)
    return int(hashlib.sha256(start.encode()).hexdigest()[:8], 16) % ranks


def _usage(counts: Any) -> Usage:
    counts = counts if isinstance(counts, dict) else {}
    details = counts.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    modalities = details.get("multimodal_tokens")
    prompt = _count(counts, "prompt_tokens")
    images = modalities if isinstance(modalities, dict) else details
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        cached_tokens=min(prompt, _count(details, "cached_tokens")),
        image_tokens=min(prompt, _count(images, "image", "image_tokens")),
        completion_tokens=_count(counts, "completion_tokens"),
    )


def _count(counts: Mapping[str, Any], *names: str) -> int:
    """Return a number that an endpoint may give, leave out, or get wrong."""
    found = (counts.get(name) for name in names)
    return next((count for count in found if type(count) is int and 0 < count < 2**40), 0)


def _split(text: str) -> tuple[str, str]:
    """Return the answer and, apart from it, the thinking before it, whose opening tag may be in the prompt."""
    thinking, tag, answer = text.rpartition("</think>")
    if not tag or text.lstrip().startswith("{"):
        return text, ""
    return answer, thinking.strip().removeprefix("<think>").strip()


def _clean(text: object) -> str:
    """Return a text that can be stored: no lone surrogates, and nothing where an endpoint gives no text."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else ""


def _unfenced(text: str) -> str:
    """Return what stands inside a Markdown fence, which models that are asked in words like to put around JSON."""
    found = re.fullmatch(r"\s*```(?:json)?\s*(.*?)\s*```\s*", text, re.DOTALL)
    return found[1] if found else text


def _strict(text: str) -> str:
    """Return JSON that has raw control characters in its strings with them escaped; anything else as it is.

    A grammar with `maxLength` lets a model write them (mlc-ai/xgrammar#800), and strict JSON does not allow them.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        with contextlib.suppress(ValueError, RecursionError):
            return _clean(json.dumps(json.loads(text, strict=False), ensure_ascii=False))
    return text
