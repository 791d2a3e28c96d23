"""Replies that are kept: a request that was answered before costs nothing. Failures are never kept."""

from __future__ import annotations

from dataclasses import replace

from atlaskit.cache import Cache, recipe_key
from atlaskit.model import MAX_ATTEMPTS, Model, Reply, Request, json_schema
from atlaskit.usage import Usage

REPLY_VERSION = 2


class Cached:
    """A model whose replies are kept in a cache."""

    def __init__(self, model: Model, cache: Cache) -> None:
        self.model, self.name, self.parameters = model, model.name, model.parameters
        self.cache = cache

    def complete(self, request: Request, *, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Answer out of the cache, or ask the model and keep what it says."""
        key = reply_key(self.model, request)
        with self.cache.alone(key, lambda: request.is_pointless):
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
            usage = Usage.from_json(entry["usage"])
            return Reply(
                request.schema.model_validate_json(entry["text"]),
                entry["text"],
                replace(usage, calls=min(usage.calls, max_attempts)),  # what it took then cannot exceed what is left
                str(entry["reasoning"]),
                live=False,
            )
        except (KeyError, TypeError, ValueError):
            return None


def reply_key(model: Model, request: Request) -> str:
    """Return the key of a model's reply: the hash of all that the reply depends on, images by their own keys.

    Left out: the endpoint's address, credentials, time-outs, numbers of attempts and the way images travel, which only
    carry the request; role and step, which the model never sees; the facts, which the messages already say.
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
