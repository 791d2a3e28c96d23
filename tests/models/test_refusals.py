"""Promise 18: a refusal is read by its code, type and words, and what helps is said.

A kind of refusal has one row for each way in which services say it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlaskit.models.completion import read_completion
from atlaskit.models.http import HttpFailure
from atlaskit.models.refusals import cure, explain, words_of


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


REFUSALS: dict[str, list[tuple[int, Any]]] = {
    "busy": [
        (400, {"message": "Rate exceeded"}),
        (403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."),
        (403, b"<html><title>Access denied | you are being rate limited (1015)</title></html>"),
        (404, "The deployment is scaling up from zero. Retry later."),
        (429, {}),
        (502, error("Provider returned error", code=429)),
        (503, "Service unavailable: the request queue is full"),
        (0, error("slow", code="rate_limit_exceeded")),
        (0, error("Overloaded", type="overloaded_error")),
        (400, error("no", code="RequestLimitExceeded")),
        (403, error("Per-minute quota exceeded", code="QuotaExceeded")),
    ],
    "used up": [
        (400, "You have reached your specified API usage limits. You will regain access on 2026-12-01."),
        (402, "This request requires more credits, or fewer max_tokens. You can only afford 9000"),
        (403, "Key limit exceeded (total limit)."),
        (429, "Rate limit of 50 per 86400s exceeded for UserByModelByDay."),
        (429, "You have used all requests for today"),
        (429, error("You exceeded your current quota", code="insufficient_quota")),
        (429, error("余额不足或无可用资源包,请充值。", code="1113")),
        (0, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None}),
    ],
    "key": [
        (400, "Incorrect API key provided: sk-x"),
        (403, {"message": "Limit Exceeded"}),
        (0, error("invalid x-api-key", type="authentication_error")),
    ],
    "model": [
        (400, "x is not a valid model ID"),
        (400, error("models/x is not found for API version v1beta", code=404, status="NOT_FOUND")),
        (404, error("The API deployment for this resource does not exist.", code="DeploymentNotFound")),
    ],
    "place": [(404, {"detail": "Not Found"})],
    "flagged": [(400, error("The response was filtered due to the content policy.", code="content_filter"))],
    "image size": [
        (400, "image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"),
        (400, "At least one of the image dimensions exceed max allowed size for many images: 2000 pixels"),
        (422, {"detail": [{"loc": ["body", "image"], "msg": "Image resolution exceeds 4 megapixels"}]}),
    ],
    "one image": [
        (400, "Image count 2 exceeds limit 1 per request"),
        (400, "too many images and documents: 2 + 0 > 1"),
        (400, "This model supports only 1 image per prompt"),
    ],
    "few images": [
        (400, "You set image=16 (or defaulted to 1) in limit_mm_per_prompt but passed 20"),
        (400, "At most 5 image(s) may be provided in one prompt."),
        (400, "Invalid request: the number of images exceeds the maximum allowed (10)"),
    ],
    "no images": [
        (0, {"error": "Vision add-on is not loaded, but images were provided for processing"}),
        (400, "Model does not support images"),
        (404, "No endpoints found that support image input"),
        (422, "messages[0]: unknown variant `image_url`, expected `text`"),
    ],
    "too long": [
        (400, error("no", code="context_length_exceeded")),
        (400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (400, error("the request exceeds the available context size", type="exceed_context_size_error", n_ctx=8192)),
        (400, "The decoder prompt (length 40000) is longer than the maximum model length of 32768."),
    ],
    "too large": [
        (400, {"message": "request entity too large"}),
        (413, b"<html><title>413 Request Entity Too Large</title>"),
        (429, "Request too large for x on tokens per min (TPM): Limit 30000, Requested 35012."),
    ],
    "gateway": [
        (504, "upstream request timeout"),
    ],
    "": [
        (400, "Unknown parameter: 'seed'."),
        (503, "Service Unavailable"),
    ],
}
"""Status (0: an error in a success) and body, by kind; a text is the message of an error."""


@pytest.mark.parametrize(
    ("status", "body", "kind"), [(*refusal, kind) for kind, refusals in REFUSALS.items() for refusal in refusals]
)
def test_code_type_and_words_tell_what_a_refusal_is_about(status: int, body: Any, kind: str) -> None:
    body = error(body) if isinstance(body, str) else body
    explanation = explain(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode())
    assert explanation.kind == kind and "{" not in explanation.words
    assert bool(explanation.words) == (body != {})


@pytest.mark.parametrize(("details", "kind"), [([], "busy"), ([{"quotaId": "RequestsPerDayPerModel"}], "used up")])
def test_a_quota_with_a_delay_is_a_rate_unless_it_is_of_a_day(details: list[Any], kind: str) -> None:
    body = [error("You exceeded your current quota", details=[*details, {"retryDelay": "34s"}])]
    explanation = explain(429, {}, json.dumps(body).encode())
    assert (explanation.kind, explanation.wait_s) == (kind, 34.0)
    assert explain(400, {"x-amzn-errortype": "ThrottlingException"}, b"{}").kind == "busy", "by a header"


@pytest.mark.parametrize(
    ("words", "cell"),
    [
        ("image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", "no image exceeds 5 MB"),
        ("Image too large: 2560x2560, the limit is 2048x2048 px", "one of 256, as no side may exceed 2,048 pixels"),
        ("image resolution exceeds 4 megapixels", "so that each image is smaller"),
    ],
)
def test_an_image_that_is_too_large_asks_for_a_smaller_cell(words: str, cell: str) -> None:
    explanation = explain(400, {}, json.dumps(error(words)).encode())
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
