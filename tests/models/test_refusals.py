"""Promise 18: a refusal is read by its code, type and words; what helps is said, or done.

A kind of refusal has one row for each way in which services say it. An endpoint that refuses a
field is asked without it from then on, and the user is told once.
"""

import json
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import completion, saying, sending
from support.loopback import Loop
from support.stand_ins import Flat, request

from atlaskit.caching.cache import Cache
from atlaskit.environment.render import view
from atlaskit.errors import ModelWarning
from atlaskit.models.cached import Cached
from atlaskit.models.client import VLM
from atlaskit.models.completion import read_completion
from atlaskit.models.dialect import HOSTED, Payload, adapted, dialect_named, room_left
from atlaskit.models.http import HttpFailure
from atlaskit.models.protocol import ModelError, Refused
from atlaskit.models.refusals import Explanation, cure, explain, words_of


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


DAILY = {"quotaId": "RequestsPerDayPerModel"}
DELAY = {"retryDelay": "34s"}
REFUSALS: dict[str, list[tuple[int, Any]]] = {
    "busy": [
        (402, "Rate limit reached for requests per min"),
        (403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."),
        (403, b"<html><title>Access denied | you are being rate limited (1015)</title></html>"),
        (429, {}),
        (0, error("slow", code="rate_limit_exceeded")),
    ],
    "used up": [
        (429, error("You exceeded your current quota", code="insufficient_quota")),
        (429, [error("You exceeded your current quota", details=[DAILY, DELAY])]),
    ],
    "key": [(400, "Incorrect API key provided: sk-x"), (0, error("invalid x-api-key", type="authentication_error"))],
    "model": [(400, error("models/x is not found for API version v1beta", code=404, status="NOT_FOUND"))],
    "place": [(404, {"detail": "Not Found"})],
    "flagged": [(400, error("The response was filtered due to the content policy.", code="content_filter"))],
    "one image": [(400, "Image count 2 exceeds limit 1 per request")],
    "few images": [(400, "You set image=16 (or defaulted to 1) in limit_mm_per_prompt but passed 20")],
    "no images": [(0, {"error": "Vision add-on is not loaded, but images were provided for processing"})],
    "too long": [
        (400, error("the request exceeds the available context size", type="exceed_context_size_error", n_ctx=8192))
    ],
    "too large": [
        (413, b"<html><title>413 Request Entity Too Large</title>"),
        (429, "Request too large for x on tokens per min (TPM): Limit 30000, Requested 35012."),
    ],
    "gateway": [(504, "upstream request timeout")],
    "": [(400, "Unknown parameter: 'seed'."), (503, "Service Unavailable")],
}
"""Status (0: an error in a success) and body, by kind; a text is the message of an error."""


def explained(status: int, body: Any) -> Explanation:
    body = error(body) if isinstance(body, str) else body
    return explain(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode())


@pytest.mark.parametrize(
    ("status", "body", "kind"), [(*refusal, kind) for kind, refusals in REFUSALS.items() for refusal in refusals]
)
def test_code_type_and_words_tell_what_a_refusal_is_about(status: int, body: Any, kind: str) -> None:
    explanation = explained(status, body)
    assert explanation.kind == kind and "{" not in explanation.words
    assert bool(explanation.words) == (body != {})


@pytest.mark.parametrize(
    ("words", "cell"),
    [
        ("image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", "no image exceeds 5 MB"),
        ("At least one of the image dimensions exceed max allowed size: 2000 pixels", "one of 250, as no side"),
        ("image resolution exceeds 4 megapixels", "so that each image is smaller"),
    ],
)
def test_an_image_that_is_too_large_asks_for_a_smaller_cell(words: str, cell: str) -> None:
    explanation = explained(400, words)
    assert explanation.kind == "image size"
    assert "use a smaller cell" in cure(explanation, "hosted") and cell in cure(explanation, "hosted")


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


FIELDS = ("temperature", "seed", "response_format", "reasoning_effort", "top(k)")
SENT = Payload(b"", {}, frozenset(), frozenset(), optional=FIELDS, limit=17408)
TOO_MANY = "max_tokens is too large: 17408. This model supports at most 4096 completion tokens."
ADAPTED: list[tuple[int, Any, dict[str, Any]]] = [
    (400, 'Unknown name "seed": Cannot find field.', {"omits": ("seed",)}),
    (400, "Unrecognized request arguments: reasoning_effort, seed", {"omits": ("seed", "reasoning_effort")}),
    (400, "Unknown field top(k) here", {"omits": ("top(k)",)}),
    (400, "Failed to initialize samplers: failed to parse grammar", {"omits": ("response_format",)}),
    (400, "'max_tokens' is not supported. Use 'max_completion_tokens'.", {"length": "max_completion_tokens"}),
    (400, TOO_MANY, {"most_tokens": 4096}),
    (400, "This model only support stream mode, please enable the stream parameter", {"stream": True}),
    (400, "The model `x` does not exist; seed and temperature are unknown to it", {}),
    (503, "Unknown name seed", {}),
]


@pytest.mark.parametrize(("status", "body", "changes"), ADAPTED)
def test_an_error_that_names_what_it_refuses_changes_the_request(
    status: int, body: Any, changes: dict[str, Any]
) -> None:
    after = adapted(HttpFailure("", status=status, explanation=explained(status, body)), HOSTED, SENT)
    assert after == (replace(HOSTED, **changes) if changes else None)
    if after is not None:
        name, _, words = after.option.partition(" ")
        assert name == "--dialect" and dialect_named(words) == after, "the warning's option declares it"


@pytest.mark.parametrize(("used", "left"), [(5000, 3192), (8200, None)])
def test_a_context_that_one_prompt_fills_is_not_the_models_limit(used: int, left: int | None) -> None:
    words = f"This model's maximum context length is 8192 tokens and your request has {used} input tokens"
    assert room_left(HttpFailure("", status=400, explanation=explained(400, words)), 17408) == left


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
    ("status", "words", "message", "is_final"),
    [
        (400, "At most 1 image(s) may be provided in one prompt", "--limit-mm-per-prompt", True),
        (404, "The model `loop2` does not exist", "name one of its models: loop", True),
        (400, "I do not like it", "--dialect plain", False),
    ],
)
def test_an_error_carries_the_servers_words_and_a_remedy(
    loop: Loop, status: int, words: str, message: str, is_final: bool
) -> None:
    loop.faults = [sending(error(words), status)]
    with pytest.raises(Refused, match=message) as caught:
        VLM(loop.url, "loop2").complete(request())
    assert caught.value.is_final == is_final and caught.value.usage.calls == 1
    assert words in str(caught.value)


def test_a_missing_v1_is_named(loop: Loop) -> None:
    loop.list_faults = [sending({}, 404)] * 2  # at the wrong address only
    loop.faults = [sending({"detail": "Not Found"}, 404)]
    with pytest.raises(ModelError, match=rf"its API is at {loop.url}: pass that address"):
        VLM(loop.url.removesuffix("/v1"), "loop").complete(request())


def test_images_that_were_not_counted_are_told_once(loop: Loop) -> None:
    page = completion('{"thought":"","cell":3}')
    enough, few = (sending({**page, "usage": {"prompt_tokens": count}}) for count in (700, 30))
    loop.faults = [enough, few, few]
    with pytest.warns(ModelWarning, match="counted 30 prompt tokens for 6 images") as warned:
        vlm = VLM(loop.url, "loop")
        sheets = [view(Flat(), k=k, cell=16, cache=Cache(None)) for k in range(2, 8)]
        for _ in range(3):
            vlm.complete(request("Pick a cell.", *sheets))
    assert sum("counted 30" in str(each.message) for each in warned) == 1


def test_tokens_are_estimated_where_none_are_counted(loop: Loop) -> None:
    loop.faults = [sending({**completion('{"thought":"","cell":3}'), "usage": None})]
    usage = VLM(loop.url, "loop").complete(request()).usage
    assert usage.estimated and usage.prompt_tokens > 0 and usage.completion_tokens == 6
