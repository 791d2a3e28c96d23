"""Replies that are kept: a request that was answered before costs nothing. A failure is no reply: how a call failed is
kept beside them, for replays alone."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import canonical_json, entry_key
from atlaskit.errors import InputError, Unrecorded, check_whole
from atlaskit.models.errors import BadReply, ModelError, Refused, Unreachable
from atlaskit.models.protocol import MAX_ATTEMPTS, Model, Reply, Request
from atlaskit.models.schema import ParametricSchema, shape_schema
from atlaskit.models.usage import Usage


class Cached:
    """A model whose replies are kept in a cache.

    `sample` tells several replies to the same request apart: each number has its own. With `refresh` the model is asked
    whatever is kept, once for each request, and its new reply takes the old one's place. With `replay` it is never
    asked: where a reply is not kept, `complete` raises Unrecorded.
    """

    def __init__(
        self, model: Model, cache: Cache, *, sample: int = 0, refresh: bool = False, replay: bool = False
    ) -> None:
        check_whole("sample", sample, least=0)
        if refresh and replay:
            raise InputError("refresh asks everything again, and replay asks nothing: take one of them.")
        self.model, self.name, self.parameters = model, model.name, model.parameters
        self.cache, self.sample, self.replay = cache, sample, replay
        self._renewed = Cache(None) if refresh else None

    def complete(
        self,
        request: Request,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Reply:
        """Answer out of the cache, or ask the model and keep what it says."""
        request = replace(request, sample=self.sample)
        key, live, kept = reply_key(self.model, request), list[Reply](), list[Reply]()

        def ask() -> bytes:
            if self.replay:
                self._fail_again(key, max_attempts)
                raise Unrecorded(
                    f"{self.cache} holds no reply of {self.name} to a {request.step!r} of this run, so it cannot be "
                    f"replayed: another video, question, setting or version of atlaskit makes another run. Without "
                    f"replay, the model is asked."
                )
            try:
                reply = self.model.complete(request, max_attempts=max_attempts, deadline_s=deadline_s, cancel=cancel)
            except ModelError as error:  # no reply, so it is asked again the next time; a replay fails as it did
                told = {"kind": type(error).__name__, "told": str(error), "usage": error.usage.to_json()}
                self.cache.put_json(failure_key(key), told, paid=True)
                raise
            entry = {"text": reply.text, "usage": reply.usage.to_json(), "reasoning": reply.reasoning}
            written = canonical_json(entry).encode()
            if self._renewed is not None:
                self.cache.put(key, written, paid=True)
            live.append(reply)
            return written

        def fits(entry: bytes) -> bool:
            with suppress(ValueError):  # a stranger's cache may hold anything
                text, usage, reasoning = told_in(entry)
                answer = request.schema.model_validate_json(text)
                # What it took then cannot exceed what is left.
                usage = replace(usage, calls=min(usage.calls, max_attempts))
                kept.append(Reply(answer, text, usage, reasoning, live=False))
                return True
            return False

        def is_pointless() -> bool:
            is_late = deadline_s is not None and time.monotonic() >= deadline_s
            return is_late or (cancel is not None and cancel.is_set())

        (self._renewed or self.cache).remember(
            key,
            ask,
            fits=fits,
            go_on=is_pointless,
            paid=True,
        )
        return live[0] if live else kept[-1]

    def _fail_again(self, key: str, max_attempts: int) -> None:
        """Raise what a call failed with when it was last made, if it did."""
        kept = self.cache.get(failure_key(key))
        error = None if kept is None else failure_in(kept)
        if error is not None:
            error.usage, error.live = replace(error.usage, calls=min(error.usage.calls, max_attempts)), False
            raise error


def failure_in(entry: bytes) -> ModelError | None:
    """Return the error that a kept failure tells of, None where a stranger's cache holds something else."""
    kinds = {kind.__name__: kind for kind in (ModelError, Unreachable, Refused, BadReply)}
    try:
        match json.loads(entry):
            case {"kind": str(kind), "told": str(told), "usage": usage, **rest} if kind in kinds and not rest:
                return kinds[kind](told, Usage.from_json(usage))
    except (ValueError, RecursionError):
        pass
    return None


def told_in(entry: bytes) -> tuple[str, Usage, str]:
    """Return the text, the cost and the reasoning of a kept reply; raise ValueError for what is none."""
    try:
        match json.loads(entry):
            case {"text": str(text), "usage": usage, "reasoning": str(reasoning), **rest} if not rest:
                return text, Usage.from_json(usage), reasoning
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    raise ValueError("it has another form")


def reply_key(model: Model, request: Request) -> str:
    """Return the key of a model's reply: all that the reply depends on, images by their own keys.

    Left out: the endpoint's address, credentials, time-outs, numbers of attempts and the way images travel, which only
    carry the request; role and step, which the model never sees; the facts, which the messages already say.
    """
    return entry_key(
        "reply",
        model=model.name,
        parameters=dict(model.parameters),
        sample=request.sample,
        max_tokens=request.max_tokens,
        schema=_schema_parts(request.schema),
        messages=[
            [message.speaker, [part if isinstance(part, str) else {"image": part.key} for part in message.parts]]
            for message in request.messages
        ],
    )


def failure_key(reply: str) -> str:
    """Return the key of how a call failed, by the key of the reply that it did not get."""
    return entry_key("failure", reply=reply)


def _schema_parts(schema: type[BaseModel] | ParametricSchema) -> Any:
    """Return what stands for a schema in a key: the hash of its shape, and what may stand in that."""
    return [_schema_hash(schema.shape), schema.values] if isinstance(schema, ParametricSchema) else _schema_hash(schema)


@lru_cache(maxsize=1024)
def _schema_hash(schema: type[BaseModel]) -> str:
    return hashlib.sha256(canonical_json(shape_schema(schema)).encode()).hexdigest()
