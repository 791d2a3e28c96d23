"""An endpoint that refuses a field is asked without it from then on; the user is told once."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from support.faults import completion, saying, sending
from support.loopback import Loop
from support.stand_ins import request

from atlaskit.caching.cache import Cache
from atlaskit.errors import ModelWarning
from atlaskit.models.cached import Cached
from atlaskit.models.client import VLM
from atlaskit.models.dialect import HOSTED, Payload, adapted, dialect_named, room_left
from atlaskit.models.http import failure_of
from atlaskit.models.protocol import ModelError, Refused
from atlaskit.models.refusals import words_of

FIELDS = ("temperature", "seed", "response_format", "reasoning_effort")


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


SENT = Payload(b"", {}, frozenset(), frozenset(), optional=FIELDS, limit=17408)

ADAPTED: list[tuple[int, Any, dict[str, Any]]] = [
    (400, error("Unknown name \"seed\": Cannot find field."), {"omits": ("seed",)}),
    (422, {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs"}]}, {"omits": ("temperature",)}),
    (400, error("Unrecognized request arguments supplied: reasoning_effort, seed"),
     {"omits": ("seed", "reasoning_effort")}),
    (400, error("Failed to initialize samplers: failed to parse grammar"), {"omits": ("response_format",)}),
    (400, error("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
     {"length": "max_completion_tokens"}),
    (400, error("max_tokens is too large: 17408. This model supports at most 4096 completion tokens."),
     {"most_tokens": 4096}),
    (400, error("max_tokens must be at least 1, got -5000."), {}),
    (400, error("Invalid value at 'generation_config.response_schema': unknown type"), {"omits": ("response_format",)}),
    (400, error("stream is required to be true for this model"), {"stream": True}),
    (400, error("The model `x` does not exist; seed and temperature are unknown to it"), {}),
    (503, error("Unknown name seed"), {}),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "changes"), ADAPTED)
def test_an_error_that_names_what_it_refuses_changes_the_request(
    status: int, body: Any, changes: dict[str, Any]
) -> None:
    failure = failure_of(status, {}, json.dumps(body).encode())
    after = adapted(failure, HOSTED, SENT)
    assert after == (replace(HOSTED, **changes) if changes else None)
    if after is not None:
        name, _, words = after.option.partition(" ")
        assert name == "--dialect" and dialect_named(words) == after, "the warning's option declares it"


def test_a_context_that_one_prompt_fills_is_not_the_models_limit() -> None:
    def left(words: str) -> int | None:
        return room_left(failure_of(400, {}, json.dumps(error(words)).encode()), 17408)

    words = "This model's maximum context length is 8192 tokens and your request has {} input tokens"
    assert [left(words.format(prompt)) for prompt in (5000, 8200)] == [3192, None]
    assert left("Input length (5000) + max_tokens (17408) exceeds context length 20000") == 15000
    words = (
        "`inputs` tokens + `max_new_tokens` must be <= 20000. Given: 5000 `inputs` tokens and 17408 `max_new_tokens`"
    )
    assert left(words) == 15000
    assert left("max_tokens is too large: 17408. This model supports at most 4096 completion tokens.") is None


NO_SEED = sending(error("Unknown parameter: 'seed'."), 400)


def test_a_refused_field_is_dropped_once_told_and_remembered_by_the_client(loop: Loop, cache: Cache) -> None:
    loop.faults = [NO_SEED]
    vlm = VLM(loop.url, "loop")
    with pytest.warns(ModelWarning, match="omits=seed is spoken from now on"):
        reply = Cached(vlm, cache).complete(request())
    assert reply.usage.calls == 1 and ["seed" in body for body in loop.bodies] == [True, False]
    Cached(vlm, cache, sample=1).complete(request())
    assert len(loop.bodies) == 3 and "seed" not in loop.bodies[2]
    assert {kind for kind, stored in cache.stats().items() if stored["entries"]} == {"reply"}
    Cached(VLM(loop.url, "loop"), cache, sample=2).complete(request())
    assert "seed" in loop.bodies[3], "a server that was mended gets what the dialect declares again"


def test_a_call_whose_schema_is_ignored_is_told_it_in_words_and_no_later_one(loop: Loop) -> None:
    """A prompt does not depend on the calls before it."""
    vlm = VLM(loop.url, "loop")
    for number in range(3):
        loop.faults = [saying("Cell three, I would say.")]
        with pytest.warns(ModelWarning, match="words_too=true tells it in words") if number == 2 else nullcontext():
            assert vlm.complete(request()).usage.calls == 2
    said = [str(body["messages"][-1]["content"]) for body in loop.bodies]
    assert ["fits this JSON Schema, and nothing else: {" in words for words in said] == [False, True] * 3


@pytest.mark.family
@pytest.mark.parametrize(
    ("status", "body", "message", "is_final"),
    [
        (400, error("At most 1 image(s) may be provided in one prompt."), "--limit-mm-per-prompt", True),
        (400, error("At most 8 images may be provided in one prompt."), "--limit-mm-per-prompt", False),
        (401, error("Unauthorized"), "it wants a key: pass api_key", True),
        (404, error("The model `loop2` does not exist."), "name one of its models: loop", True),
        (400, error("I do not like it"), "--dialect plain", False),
        (200, error("upstream says no", code=404), "returned an error: upstream says no.*name one of its", True),
        (402, error("Insufficient credits"), "waiting does not help", True),
    ],
)
def test_an_error_carries_the_servers_words_and_a_remedy(
    loop: Loop, status: int, body: Any, message: str, is_final: bool
) -> None:
    loop.faults = [sending(body, status)]
    with pytest.raises(Refused, match=message) as caught:
        VLM(loop.url, "loop2").complete(request())
    assert caught.value.is_final == is_final and caught.value.usage.calls == 1
    assert words_of(body).rstrip(".") in str(caught.value)


def test_a_missing_v1_is_named(loop: Loop) -> None:
    loop.list_faults = [sending({}, 404)] * 2  # at the wrong address only
    loop.faults = [sending({"detail": "Not Found"}, 404)]
    with pytest.raises(ModelError, match=rf"its API is at {loop.url}: pass that address"):
        VLM(loop.url.removesuffix("/v1"), "loop").complete(request())


class Dot:
    """An image of a few bytes."""

    size = (8, 8)

    def __init__(self, number: int) -> None:
        self.key = f"dot-{number}"

    def jpeg(self) -> bytes:
        return self.key.encode()


def test_images_that_were_not_counted_are_told_once(loop: Loop) -> None:
    vlm = VLM(loop.url, "loop")
    asked = request("Pick a cell.", *map(Dot, range(6)))
    page = completion('{"thought":"","cell":3}')
    enough, few = (sending({**page, "usage": {"prompt_tokens": count}}) for count in (700, 30))
    loop.faults = [enough, few, few]
    with pytest.warns(ModelWarning, match="counted 30 prompt tokens for 6 images") as warned:
        for _ in range(3):
            vlm.complete(asked)
    assert sum("counted 30" in str(each.message) for each in warned) == 1


def test_tokens_are_estimated_where_none_are_counted(loop: Loop) -> None:
    loop.faults = [sending({**completion('{"thought":"","cell":3}'), "usage": None})]
    usage = VLM(loop.url, "loop").complete(request()).usage
    assert usage.estimated and usage.prompt_tokens > 0 and usage.completion_tokens == 6
