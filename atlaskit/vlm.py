"""One call to a model: what is asked, the schema the answer must fit, retries, and what it cost.

`Model` is the one boundary to the outside: anything with a `name`, `parameters` and `complete(request) -> Reply`.
`VLM` is a model behind an OpenAI-compatible endpoint (vLLM's included), `Cached` any model with its replies kept.
Knows nothing of prompts, grids or agents.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import random
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ValidationError

from atlaskit.cache import Cache, recipe_key
from atlaskit.errors import BadReply, ModelError, Unreachable

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

Role = Literal["master", "worker"]

REPLY_VERSION = 1
MAX_ATTEMPTS = 4
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0


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
    schema: type[BaseModel]
    facts: object = field(default=None, compare=False)
    """What the messages say, as data. Never sent; a reference policy reads it instead of the words."""
    max_tokens: int = 1024
    deadline_s: float | None = field(default=None, compare=False)
    """When the last attempt must end, on the clock of `time.monotonic`. Only carries the request."""


@dataclass(frozen=True)
class Usage:
    """What calls cost. `calls` counts every attempt, the failed ones too."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the server had computed before."""
    completion_tokens: int = 0
    estimated: bool = False
    """Whether a token count in here is an estimate: an oracle reads no tokens."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def effective_tokens(self) -> int:
        """Tokens the server had to compute: prompt − cached + completion."""
        return self.tokens - self.cached_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
            self.estimated or other.estimated,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON values."""
        return asdict(self)


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


class Model(Protocol):
    """Anything that answers requests."""

    @property
    def name(self) -> str:
        """Which model it is: part of the key of its replies."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What else its replies depend on, such as the temperature: part of the key too."""

    def complete(self, request: Request, *, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Answer a request in at most `max_attempts` attempts; raise ModelError when that fails."""


class VLM:
    """A model behind an OpenAI-compatible endpoint.

    Transient failures (no connection, time-outs, 429, 5xx) are tried again after a growing wait; a reply that does
    not fit the schema is answered once with what is wrong. Every attempt counts as a call.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000/v1",
        model: str | None = None,
        *,
        api_key: str | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        timeout_s: float = 120.0,
    ) -> None:
        """Name an endpoint and one of its models (its first, if none is named; that asks the endpoint).

        The key is taken from the environment's OPENAI_API_KEY where none is given. Raises Unreachable if the
        endpoint must be asked and does not answer.
        """
        from openai import OpenAI  # here, so that `import atlaskit` stays light

        self.base_url, self._timeout_s = base_url, timeout_s
        self._client = OpenAI(
            base_url=base_url,
            api_key=api_key or os.environ.get("OPENAI_API_KEY") or "none",
            timeout=timeout_s,
            max_retries=0,  # retries are counted here, so they are made here
        )
        self.parameters = {"temperature": temperature, "seed": seed}
        self.name = model or self._first_model()

    def complete(self, request: Request, *, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Answer a request; raise Unreachable, BadReply or ModelError, which say what the attempts cost."""
        messages = [_wire(message) for message in request.messages]
        spent, wait_s, corrected = Usage(), FIRST_WAIT_S, False
        while True:
            try:
                completion = self._send(request, messages)
            except _Transient as failure:
                spent += Usage(calls=1)
                pause_s = failure.wait_s or wait_s * random.uniform(0.5, 1.5)
                if spent.calls >= max_attempts or _time_left(request) <= pause_s:
                    raise failure.final(self, spent) from failure.__cause__
                time.sleep(pause_s)
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
                continue
            except ModelError as error:
                raise type(error)(str(error), **_cost(spent + Usage(calls=1))) from error
            spent += _usage(completion)
            text, reasoning = _text(completion)
            text = _strict(text)
            try:
                return Reply(request.schema.model_validate_json(text), text, spent, reasoning)
            except ValidationError as error:
                complaint = _complaint(error)
            if corrected or spent.calls >= max_attempts:
                raise BadReply(
                    f"{self.name} does not answer in the asked-for form: {complaint}. It said: {text[:200]!r}.",
                    **_cost(spent),
                )
            corrected = True
            messages = [
                *messages,
                {"role": "assistant", "content": text},
                {"role": "user", "content": f"That does not fit the schema: {complaint}. Answer again, in JSON only."},
            ]

    def _send(self, request: Request, messages: list[dict[str, Any]]) -> ChatCompletion:
        import openai
        from openai.types.chat import ChatCompletion

        try:
            completion = self._client.chat.completions.create(  # type: ignore[call-overload]  # plain dictionaries, as documented
                model=self.name,
                messages=messages,
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": request.step, "schema": json_schema(request.schema)},
                },
                max_tokens=request.max_tokens,
                timeout=max(0.1, min(self._timeout_s, _time_left(request))),
                **self.parameters,
            )
        except openai.APIConnectionError as error:
            raise _Transient("gives no answer", reached=False) from error
        except openai.APIStatusError as error:
            what = f"answers {error.status_code}: {_server_words(error)}"
            if error.status_code == 429 or error.status_code >= 500:
                raise _Transient(what, _retry_after(error)) from error
            raise ModelError(f"{self.name} at {self.base_url} {what}.") from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise _Transient(f"answers what no client can read ({error})") from error
        if not isinstance(completion, ChatCompletion) or not isinstance(completion.choices, list | None):
            raise _Transient("answers what is no chat completion (does the address end in /v1?)")
        return completion

    def _first_model(self) -> str:
        import openai

        try:
            for model in self._client.models.list():
                if isinstance(model.id, str):
                    return model.id
        except openai.APIConnectionError as error:
            raise Unreachable(how_to_reach(self.base_url)) from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise ModelError(f"{self.base_url} does not list its models ({error}): name one.") from error
        raise ModelError(f"{self.base_url} serves no model: name one that it should load.")

    def __repr__(self) -> str:
        return f"VLM({self.base_url!r}, {self.name!r})"


class Cached:
    """A model whose replies are kept: a request that was answered before costs nothing. Failures are never kept."""

    def __init__(self, model: Model, cache: Cache) -> None:
        self.model, self.cache = model, cache

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's parameters."""
        return self.model.parameters

    def complete(self, request: Request, *, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Answer out of the cache, or ask the model and keep what it says."""
        key = reply_key(self.model, request)
        with self.cache.alone(key):
            kept = self._recall(key, request, max_attempts)
            if kept is not None:
                return kept
            reply = self.model.complete(request, max_attempts=max_attempts)
            entry = {"text": reply.text, "usage": reply.usage.to_json(), "reasoning": reply.reasoning}
            self.cache.put_json(key, entry)
            return reply

    def _recall(self, key: str, request: Request, max_attempts: int) -> Reply | None:
        """Return a kept reply; None where there is none, or where a stranger's cache holds something else."""
        try:
            entry = self.cache.get_json(key)
            if entry is None:
                return None
            usage = Usage(**entry["usage"])
            return Reply(
                request.schema.model_validate_json(entry["text"]),
                entry["text"],
                replace(usage, calls=min(usage.calls, max_attempts)),  # what it took then cannot exceed what is left
                entry["reasoning"],
                live=False,
            )
        except (KeyError, TypeError, ValueError):
            return None


def reply_key(model: Model, request: Request) -> str:
    """Return the key of a model's reply: the hash of all that the reply depends on, images by their own keys.

    Left out: the endpoint's address, credentials, time-outs and numbers of attempts, which only carry the request;
    role and step, which the model never sees; the facts, which the messages already say.
    """
    return recipe_key(
        "reply",
        REPLY_VERSION,
        model=model.name,
        parameters=dict(model.parameters),
        max_tokens=request.max_tokens,
        schema=json_schema(request.schema),
        messages=[
            [message.speaker, [part if isinstance(part, str) else {"image": part.key} for part in message.parts]]
            for message in request.messages
        ],
    )


@lru_cache(maxsize=1024)
def json_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """Return a schema as JSON Schema."""
    return schema.model_json_schema()


def how_to_reach(base_url: str) -> str:
    """Say in one sentence how to get a model."""
    return (
        f"No model answers at {base_url}: start one with `make serve MODEL=…`, "
        "or name any OpenAI-compatible endpoint with `--model URL NAME`."
    )


class _Transient(Exception):
    """An attempt that may go better the next time."""

    def __init__(self, what: str, wait_s: float | None = None, reached: bool = True) -> None:
        super().__init__(what)
        self.wait_s, self.reached = wait_s, reached

    def final(self, vlm: VLM, spent: Usage) -> ModelError:
        if not self.reached:
            return Unreachable(how_to_reach(vlm.base_url), **_cost(spent))
        return ModelError(f"{vlm.name} at {vlm.base_url} {self} ({spent.calls} attempts).", **_cost(spent))


def _cost(spent: Usage) -> dict[str, int]:
    return {
        "attempts": spent.calls,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
    }


def _wire(message: Message) -> dict[str, Any]:
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.speaker, "content": "\n".join(str(part) for part in message.parts)}
    content = [{"type": "text", "text": p} if isinstance(p, str) else _image_part(p) for p in message.parts]
    return {"role": message.speaker, "content": content}


def _image_part(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.jpeg()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}}


def _usage(completion: ChatCompletion) -> Usage:
    usage = completion.usage
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        1, _count(usage, "prompt_tokens"), _count(details, "cached_tokens"), _count(usage, "completion_tokens")
    )


def _count(counts: object, name: str) -> int:
    """Return a number that an endpoint may give, leave out, or get wrong."""
    count = getattr(counts, name, None)
    return count if isinstance(count, int) and count > 0 else 0


def _time_left(request: Request) -> float:
    return math.inf if request.deadline_s is None else request.deadline_s - time.monotonic()


def _text(completion: ChatCompletion) -> tuple[str, str]:
    """Return the answer and, apart from it, the reasoning that led there."""
    message = completion.choices[0].message if completion.choices else None
    text, reasoning = _clean(getattr(message, "content", "")), _clean(getattr(message, "reasoning_content", ""))
    thought = re.match(r"\s*<think>(.*?)</think>(.*)", text, re.DOTALL)
    return (thought[2], thought[1] + reasoning) if thought else (text, reasoning)


def _clean(text: object) -> str:
    """Return a text that can be stored: no lone surrogates, and nothing where an endpoint gives no text."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else ""


def _strict(text: str) -> str:
    """Return JSON that has raw control characters in its strings with them escaped; anything else as it is.

    A grammar with `maxLength` lets a model write them (mlc-ai/xgrammar#800), and strict JSON does not allow them.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        with contextlib.suppress(ValueError, RecursionError):
            return json.dumps(json.loads(text, strict=False), ensure_ascii=False)
    return text


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{first['msg']} at {where}" if where else str(first["msg"])


def _server_words(error: Any) -> str:
    body = error.body
    words = body.get("message") if isinstance(body, dict) else None
    return str(words or error.message)[:300].rstrip(". ") if not isinstance(body, str) else json.dumps(body)[:300]


def _retry_after(error: Any) -> float | None:
    try:
        return min(float(error.response.headers["retry-after"]), LONGEST_WAIT_S)
    except (KeyError, ValueError):
        return None
