"""What errors of endpoints say, and what a client changes after them."""

from __future__ import annotations

import json
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import completion, saying, sending
from support.loopback import Loop
from support.stand_ins import request

from atlaskit.caching.cache import Cache
from atlaskit.errors import ModelWarning
from atlaskit.models.cached import Cached
from atlaskit.models.client import VLM
from atlaskit.models.completion import read_completion
from atlaskit.models.dialect import HOSTED, Payload, adapted, dialect_named, room_left
from atlaskit.models.http import HttpFailure, failure_of
from atlaskit.models.protocol import ModelError, Refused
from atlaskit.models.refusals import explain, words_of

FIELDS = ("temperature", "seed", "response_format", "reasoning_effort")


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


SENT = Payload(b"", {}, frozenset(), frozenset(), optional=FIELDS, limit=17408)

ADAPTED: list[tuple[int, Any, dict[str, Any]]] = [
    (400, error("Unknown name \"seed\": Cannot find field."), {"omits": ("seed",)}),
    (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]},
     {"omits": ("seed",)}),
    (400, error("Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value."),
     {"omits": ("temperature",)}),
    (400, error("`temperature` is deprecated for this model."), {"omits": ("temperature",)}),
    (422, {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs"}]}, {"omits": ("temperature",)}),
    (400, error("litellm.UnsupportedParamsError: anthropic does not support parameters: ['seed']"),
     {"omits": ("seed",)}),
    (400, [error("The specified schema produces a constraint that has too many states for serving.")],
     {"omits": ("response_format",)}),
    (400, error("Unrecognized request arguments supplied: reasoning_effort, seed"),
     {"omits": ("seed", "reasoning_effort")}),
    (400, error("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
     {"omits": ("response_format",)}),
    (400, error("Failed to initialize samplers: failed to parse grammar"), {"omits": ("response_format",)}),
    (400, error("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
     {"length": "max_completion_tokens"}),
    (400, error("max_tokens is too large: 17408. This model supports at most 4096 completion tokens."),
     {"most_tokens": 4096}),
    (400, error("max_tokens: 17408 > 8192, which is the maximum allowed number of output tokens"),
     {"most_tokens": 8192}),
    (400, error("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"), {"most_tokens": 8192}),
    (400, error("x-4-0613: `max_tokens` must be less than or equal to `2048`, below its `context_window`"),
     {"most_tokens": 2048}),
    (400, error("Requested maxOutputTokens 17408 is out of range from 1 (inclusive) to 8193 (exclusive)."),
     {"most_tokens": 8192}),
    (400, error("max_tokens must be at least 1, got -5000."), {}),
    (400, error("Constrained decoding disabled on this deployment"), {"omits": ("response_format",)}),
    (400, error("Invalid value at 'generation_config.response_schema': unknown type"), {"omits": ("response_format",)}),
    (400, error("temperature may only be set to 1 when thinking is enabled"), {"omits": ("temperature",)}),
    (400, error("responseFormat is not permitted"), {"omits": ("response_format",)}),
    (400, error("stream is required to be true for this model"), {"stream": True}),
    (400, error("This model only support stream mode, please enable the stream parameter"), {"stream": True}),
    (400, error("This model's maximum context length is 8192 tokens and your request has 5000 input tokens"), {}),
    (400, error("The model `x` does not exist; seed and temperature are unknown to it"), {}),
    (400, error("no, not now"), {}),
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


KINDS: list[tuple[int, Any, str, float | None]] = [
    (429, error("Rate limit reached. Please try again in 1m20.5s."), "busy", 80.5),
    (429, error("You exceeded your current quota", code="insufficient_quota"), "used up", None),
    (429, [error("You exceeded your current quota", details=[{"retryDelay": "34s"}])], "busy", 34.0),
    (429, [error("Quota exceeded", details=[{"quotaId": "RequestsPerDayPerModel"}, {"retryDelay": "34s"}])], "used up",
     34.0),
    (429, [error("You exceeded your current quota, please check your plan and billing details. Please retry in 34.1s.",
                 quotaId="GenerateRequestsPerMinutePerProject")], "busy", 34.1),
    (429, error("Quota exceeded for x/requests_per_minute_per_project. Ask for more quota."), "busy", None),
    (429, error("Quota exceeded for x/requests_per_base_model. Please submit a quota increase request."), "busy", None),
    (429, error("Your account reached TPD rate limit, current:1505241, limit:1500000"), "used up", None),
    (429, error("Rate limit of 50 per 86400s exceeded for UserByModelByDay."), "used up", None),
    (429, error("You have used all requests for today"), "used up", None),
    (429, error("Rate limit exceeded: 50 requests per 24 hours"), "used up", None),
    (400, error("You have reached your specified API usage limits. You will regain access on 2026-12-01."), "used up",
     None),
    (400, error("ThrottlingException: Too many tokens, please wait before trying again."), "busy", None),
    (413, "<html><title>413 Request Entity Too Large</title>", "too large", None),
    (504, "<html><title>504 Gateway Time-out</title>", "gateway", None),
    (524, "<html><title>x | 524: A timeout occurred</title>", "gateway", None),
    (503, error("Service unavailable: the request queue is full"), "busy", None),
    (400, error("Your credit balance is too low to access the API."), "used up", None),
    (400, error("Budget has been exceeded! Current cost: 26.075, Max budget: 0.25"), "used up", None),
    (429, error("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 requests"), "used up", None),
    (429, error("Rate limit exceeded: free-models-per-min"), "busy", None),
    (429, error("You are using a Trial key, which is limited to 1000 API calls / month."), "used up", None),
    (429, error("Your account is not active, please check your billing details.", code="billing_not_active"), "used up",
     None),
    (403, error("Your team has used all available credits or reached its monthly spending limit."), "used up", None),
    (429, error("Your account is suspended", type="exceeded_current_quota_error"), "used up", None),
    (429, error("余额不足或无可用资源包,请充值。", code="1113"), "used up", None),
    (400, error("Make sure your account is in good standing.", code="Arrearage"), "used up", None),
    (429, error("Request too large for x on tokens per min (TPM): Limit 30000, Requested 35012."), "too large", None),
    (413, error("Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce "
                "your message size and try again."), "too large", None),
    (429, error("Rate limit reached on tokens per min (TPM): Limit 30000. Please try again in 1.2s."), "busy", 1.2),
    (503, error("Loading model"), "busy", None),
    (503, error("server busy, please try again.  maximum pending requests exceeded"), "busy", None),
    (503, {"error": "Model x is currently loading", "estimated_time": 20.5}, "busy", 20.5),
    (529, error("Overloaded"), "busy", None),
    (503, error("no, not now"), "", None),
    (401, error("No."), "key", None),
    (400, [error("API key not valid. Please pass a valid API key.")], "key", None),
    (403, error("Your input was flagged by moderation."), "flagged", None),
    (404, error("The model `x` does not exist."), "model", None),
    (400, error("Invalid model: x"), "model", None),
    (400, error("x is not a valid model ID"), "model", None),
    (400, error("/chat/completions: Invalid model name passed in model=x."), "model", None),
    (400, error("Invalid model identifier \"x\". Please specify a valid downloaded model."), "model", None),
    (404, {"detail": "Not Found"}, "place", None),
    (404, {"message": "no Route matched with those values"}, "place", None),
    (404, error("Invalid URL (POST /chat/completions)"), "place", None),
    (400, error("At most 1 image(s) may be provided in one prompt."), "one image", None),
    (400, error("Image count 2 exceeds limit 1 per request"), "one image", None),
    (400, error("too many images and documents: 2 + 0 > 1"), "one image", None),
    (400, error("At most 8 images may be provided in one request."), "few images", None),
    (500, error("image input is not supported - hint: you may need to provide the mmproj"), "no images", None),
    (400, error("the request exceeds the available context size, try increasing it"), "too long", None),
    (400, error("The input (40000 tokens) is longer than the context length (32768 tokens)."), "too long", None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind", "wait_s"), KINDS)
def test_an_error_is_sorted_by_what_it_is_about(status: int, body: Any, kind: str, wait_s: float | None) -> None:
    explanation = explain(status, {}, (body if isinstance(body, str) else json.dumps(body)).encode())
    assert (explanation.kind, explanation.wait_s) == (kind, wait_s)
    assert explanation.words and "{" not in explanation.words


NAMES = ["error", "message", "detail", "code", "retry_after", "metadata", "raw", "loc", "choices"]
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=12,
)


@given(json_values, st.integers(0, 599), st.text(max_size=20))
def test_any_error_is_explained_on_one_line(body: Any, status: int, retry_after: str) -> None:
    page = json.dumps(body).encode()
    explanation = explain(status, {"retry-after": retry_after}, page)
    assert explanation.words.isprintable() and len(explanation.words) <= 301
    assert explanation.wait_s is None or 0 <= explanation.wait_s < float("inf")
    assert isinstance(words_of(body), str)
    with suppress(ValueError, HttpFailure):
        read_completion(body)


NO_SEED = sending(error("Unknown parameter: 'seed'."), 400)


def test_a_refused_field_is_dropped_once_told_and_remembered(loop: Loop, cache: Cache) -> None:
    loop.faults = [NO_SEED]
    vlm = VLM(loop.url, "loop")
    with pytest.warns(ModelWarning, match="omits=seed is spoken from now on"):
        reply = Cached(vlm, cache).complete(request())
    assert reply.usage.calls == 1 and ["seed" in body for body in loop.bodies] == [True, False]
    Cached(vlm, cache, sample=1).complete(request())
    assert len(loop.bodies) == 3 and "seed" not in loop.bodies[2]


def test_nothing_that_was_learned_outlives_the_client(loop: Loop, cache: Cache) -> None:
    """Promise 18: a server that was mended gets what the dialect declares again."""
    loop.faults = [NO_SEED]
    with pytest.warns(ModelWarning, match="omits=seed"):
        Cached(VLM(loop.url, "loop"), cache).complete(request())
    assert {kind for kind, stored in cache.stats().items() if stored["entries"]} == {"reply"}
    Cached(VLM(loop.url, "loop"), cache, sample=1).complete(request())
    assert "seed" in loop.bodies[-1]


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


def test_a_redirect_names_its_target(loop: Loop) -> None:
    loop.faults = [sending({}, 301, Location="https://new.example/v1/chat/completions")]
    with pytest.raises(Refused, match=r"a redirect to https://new\.example/v1/chat/completions: pass the address") as e:
        VLM(loop.url, "loop").complete(request())
    assert e.value.is_final and e.value.status == 301


def test_a_missing_v1_is_named(loop: Loop) -> None:
    loop.list_faults = [sending({}, 404)] * 2  # at the wrong address only
    loop.faults = [sending({"detail": "Not Found"}, 404)]
    with pytest.raises(ModelError, match=rf"its API is at {loop.url}: pass that address"):
        VLM(loop.url.removesuffix("/v1"), "loop").complete(request())


def test_tokens_are_estimated_where_none_are_counted(loop: Loop) -> None:
    loop.faults = [sending({**completion('{"thought":"","cell":3}'), "usage": None})]
    usage = VLM(loop.url, "loop").complete(request()).usage
    assert usage.estimated and usage.prompt_tokens > 0 and usage.completion_tokens == 6
