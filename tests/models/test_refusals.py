"""Promise 18: a refusal is read by its code, type and words, and what helps is said.

Each row of `REFUSALS` holds a word, a code or a status that no other row holds.
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
        (402, "Rate limit reached for requests per min"),
        (403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."),
        (403, b"<html><title>Access denied | you are being rate limited (1015)</title></html>"),
        (404, "The deployment is scaling up from zero. Retry later."),
        (409, "Model is being loaded"),
        (420, "Enhance Your Calm"),
        (429, {}),
        (429, "Quota exceeded for x/requests_per_base_model. Please submit a quota increase request."),
        (498, "Flex tier capacity exceeded"),
        (502, error("Provider returned error", code=429)),
        (503, "Service unavailable: the request queue is full"),
        (0, error("slow", code="rate_limit_exceeded")),
        (0, error("Overloaded", type="overloaded_error")),
        (0, error("no", code="TooManyRequests")),
        (400, error("no", code="RequestLimitExceeded")),
        (400, error("no", type="concurrency_limit_exceeded")),
        (403, error("Per-minute quota exceeded", code="QuotaExceeded")),
    ],
    "used up": [
        (400, "You have reached your specified API usage limits. You will regain access on 2026-12-01."),
        (400, "You have run out of credits. Please top up"),
        (402, "This request requires more credits, or fewer max_tokens. You can only afford 9000"),
        (403, "Key limit exceeded (total limit)."),
        (403, "Your account balance is insufficient"),
        (429, "Free usage exceeded, add credits"),
        (429, "Daily request limit reached"),
        (429, "Your account reached TPD rate limit, current:1505241, limit:1500000"),
        (429, "Rate limit of 50 per 86400s exceeded for UserByModelByDay."),
        (429, "You have used all requests for today"),
        (429, "You are using a Trial key, which is limited to 1000 API calls / month."),
        (429, error("You exceeded your current quota", code="insufficient_quota")),
        (429, error("Your account is not active, please check your billing details.", code="billing_not_active")),
        (429, error("余额不足或无可用资源包,请充值。", code="1113")),
        (400, error("Make sure your account is in good standing.", code="Arrearage")),
        (400, error("ExceededBudget: User has exceeded their budget", type="budget_exceeded")),
        (0, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None}),
    ],
    "key": [
        (400, "Incorrect API key provided: sk-x"),
        (401, "No."),
        (403, {"message": "Limit Exceeded"}),
        (0, error("invalid x-api-key", type="authentication_error")),
    ],
    "model": [
        (400, "Model not loaded: x"),
        (400, "x is not a valid model ID"),
        (400, 'Invalid model identifier "x". Please specify a valid downloaded model.'),
        (400, error("models/x is not found for API version v1beta", code=404, status="NOT_FOUND")),
        (404, error("The API deployment for this resource does not exist.", code="DeploymentNotFound")),
    ],
    "place": [(404, {"detail": "Not Found"})],
    "flagged": [(400, error("The response was filtered due to the content policy.", code="content_filter"))],
    "image size": [
        (400, "image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"),
        (400, "At least one of the image dimensions exceed max allowed size for many images: 2000 pixels"),
        (400, "Exceeded limit on max bytes per data-uri item : 10485760"),
        (400, "image length and width: [height:5400 or width:1200 must be smaller than 2000]"),
        (400, "maximum image size is 10 MB"),
        (413, "image file is too large; the maximum is 20MB"),
        (422, {"detail": [{"loc": ["body", "image"], "msg": "Image resolution exceeds 4 megapixels"}]}),
    ],
    "one image": [
        (400, "Image count 2 exceeds limit 1 per request"),
        (400, "too many images and documents: 2 + 0 > 1"),
        (400, "Only one image is supported per message"),
        (400, "This model supports only 1 image per prompt"),
    ],
    "few images": [
        (400, "You set image=16 (or defaulted to 1) in limit_mm_per_prompt but passed 20"),
        (400, "At most 5 image(s) may be provided in one prompt."),
        (400, "You can provide a maximum of 10 images"),
        (400, "Invalid request: the number of images exceeds the maximum allowed (10)"),
    ],
    "no images": [
        (0, {"error": "Vision add-on is not loaded, but images were provided for processing"}),
        (400, "x is not a multimodal model"),
        (400, "Model does not support images"),
        (400, "image_url content type is not supported by this model"),
        (404, "No endpoints found that support image input"),
        (422, "messages[0]: unknown variant `image_url`, expected `text`"),
        (500, "this model is missing data required for image input"),
    ],
    "too long": [
        (400, error("no", code="context_length_exceeded")),
        (400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (400, "Input is too long for requested model."),
        (400, error("the request exceeds the available context size", type="exceed_context_size_error", n_ctx=8192)),
        (400, {"error": "Trying to keep 9000 tokens, but the model is loaded with context length of only 4096 tokens"}),
        (400, "The decoder prompt (length 40000) is longer than the maximum model length of 32768."),
        (400, "Range of input length should be [1, 129024]"),
    ],
    "too large": [
        (400, {"message": "request entity too large"}),
        (413, b"<html><title>413 Request Entity Too Large</title>"),
        (429, "Request too large for x on tokens per min (TPM): Limit 30000, Requested 35012."),
    ],
    "gateway": [
        (504, "upstream request timeout"),
        (524, b"<html><title>x | 524: A timeout occurred</title>"),
    ],
    "": [
        (400, "Unknown parameter: 'seed'."),
        (400, error("Could not process image", type="invalid_request_error")),
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


def test_a_header_may_tell_the_type() -> None:
    assert explain(400, {"x-amzn-errortype": "ThrottlingException"}, b"{}").kind == "busy"


@pytest.mark.parametrize(
    ("words", "cell"),
    [
        ("image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", "no image exceeds 5 MB"),
        ("At least one of the image dimensions exceed max allowed size: 2000 pixels", "one of 250, as no side"),
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
