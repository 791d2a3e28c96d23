"""What refusals of services are about, and what helps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atlaskit.models.refusals import cure, explain


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


REFUSALS: list[tuple[int, Any, str]] = [
    # busy in odd clothes
    (400, {"message": "Rate exceeded"}, "busy"),
    (420, error("Enhance Your Calm"), "busy"),
    (409, error("Model is being loaded"), "busy"),
    (498, error("Flex tier capacity exceeded"), "busy"),
    (429, error("Free usage exceeded, add credits"), "used up"),
    (403, error("Key limit exceeded (total limit)."), "used up"),
    (400, error("You set image=16 (or defaulted to 1) in limit_mm_per_prompt but passed 20"), "few images"),
    (403, error("You have exceeded a secondary rate limit. Please wait a few minutes before you try again."), "busy"),
    (402, error("Rate limit reached for requests per min"), "busy"),
    (400, error("Rate limit reached for requests"), "busy"),
    (0, error("slow", code="rate_limit_exceeded"), "busy"),
    (0, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, "busy"),
    (403, error("Rate Limit Exceeded", errors=[{"reason": "rateLimitExceeded"}]), "busy"),
    (
        403,
        error("User rate limit exceeded", status="PERMISSION_DENIED", errors=[{"reason": "userRateLimitExceeded"}]),
        "busy",
    ),
    (400, {"__type": "ThrottlingException", "message": "Too many tokens, please wait before trying again."}, "busy"),
    (400, {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded, please try again later."}, "busy"),
    (
        429,
        {
            "code": "Throttling.AllocationQuota",
            "message": "Allocated quota exceeded, please increase your quota limit.",
        },
        "busy",
    ),
    (400, {"message": "Your request was denied due to too many concurrent requests"}, "busy"),
    (500, {"error": {"code": "1302", "message": "您的账户已达到速率限制,请您控制请求频率"}}, "busy"),
    (0, {"base_resp": {"status_code": 1002, "status_msg": "rate limit, please retry later"}, "choices": None}, "busy"),
    (0, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None}, "used up"),
    (403, "<html><title>Access denied | you are being rate limited (1015)</title></html>", "busy"),
    (503, error("The engine is currently overloaded, please try again later"), "busy"),
    (
        503,
        {
            "error": {
                "code": 503,
                "message": "The model is overloaded. Please try again later.",
                "status": "UNAVAILABLE",
            }
        },
        "busy",
    ),
    (
        429,
        {
            "error": {
                "code": 429,
                "message": "Resource has been exhausted (e.g. check quota).",
                "status": "RESOURCE_EXHAUSTED",
            }
        },
        "busy",
    ),
    (
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 429,
                "metadata": {"raw": "x is temporarily rate-limited upstream. Please retry shortly"},
            }
        },
        "busy",
    ),
    (502, {"error": {"message": "Provider returned error", "code": 429}}, "busy"),
    (403, {"message": "Limit Exceeded"}, "key"),
    (403, {"message": "API rate limit exceeded for 1.2.3.4"}, "busy"),
    (400, {"detail": "Request was throttled. Expected available in 20 seconds."}, "busy"),
    (409, {"detail": "Too many requests in progress: max concurrency reached"}, "busy"),
    (429, {"message": "API rate limit exceeded"}, "busy"),
    (429, {"error": "Too Many Requests"}, "busy"),
    (429, {}, "busy"),
    (0, {"error": {"code": "TooManyRequests", "message": "no"}}, "busy"),
    (400, {"error": {"code": "RequestLimitExceeded", "message": "no"}}, "busy"),
    (403, {"error": {"type": "rate_limited", "message": "no"}}, "busy"),
    (400, {"error": {"type": "concurrency_limit_exceeded", "message": "no"}}, "busy"),
    (403, {"error": {"code": "QuotaExceeded", "message": "Per-minute quota exceeded"}}, "busy"),
    # used up
    (
        429,
        error(
            "You exceeded your current quota, please check your plan and billing details.", type="insufficient_quota"
        ),
        "used up",
    ),
    (403, error("This request would exceed your monthly spend limit"), "used up"),
    (400, error("You have run out of credits. Please top up"), "used up"),
    (
        402,
        {"error": {"message": "This request requires more credits, or fewer max_tokens. You can only afford 9000"}},
        "used up",
    ),
    (
        400,
        {"error": {"message": "ExceededBudget: User has exceeded their budget", "type": "budget_exceeded"}},
        "used up",
    ),
    (403, error("Your account balance is insufficient"), "used up"),
    (429, error("Daily request limit reached"), "used up"),
    (429, error("Limit 200 requests per day (RPD) reached. Please try again in 7m12s."), "used up"),
    # key
    (400, error("Incorrect API key provided: sk-x"), "key"),
    (403, error("Missing Authentication Token"), "key"),
    (401, {"detail": "Not authenticated"}, "key"),
    (403, {"message": "Forbidden"}, "key"),
    (0, {"error": {"message": "invalid x-api-key", "type": "authentication_error"}}, "key"),
    # image size
    (400, error("image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"), "image size"),
    (
        400,
        error("image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"),
        "image size",
    ),
    (
        400,
        error("At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"),
        "image size",
    ),
    (400, error("Image too large: 2560x2560, the limit is 2048x2048"), "image size"),
    (400, error("Invalid image: width must be at most 2048 px"), "image size"),
    (413, error("image file is too large; the maximum is 20MB"), "image size"),
    (422, {"detail": [{"loc": ["body", "image"], "msg": "Image resolution exceeds 4 megapixels"}]}, "image size"),
    (400, error("image item with length 6400, which exceeds the pre-allocated encoder cache size 2048."), "image size"),
    (400, error("Image size 6.2MB exceeds the 5MB limit"), "image size"),
    (400, error("Exceeded limit on max bytes per data-uri item : 10485760"), "image size"),
    (400, error("image length and width: [height:5400 or width:1200 must be smaller than 2000]"), "image size"),
    (400, error("image dimensions must not exceed 2000 pixels on the longest side"), "image size"),
    (400, error("maximum image size is 10 MB"), "image size"),
    # number
    (400, error("At most 5 image(s) may be provided in one prompt."), "few images"),
    (400, error("Too many images in request: 12 > 10"), "few images"),
    (400, error("Too many images provided. This model supports up to 5 images"), "few images"),
    (400, error("Image count exceeds the limit of 8 images per request"), "few images"),
    (400, error("Only one image is supported per message"), "one image"),
    (400, error("This model supports only 1 image per prompt"), "one image"),
    (400, error("You can provide a maximum of 10 images"), "few images"),
    (400, error("Invalid request: the number of images exceeds the maximum allowed (10)"), "few images"),
    # no images
    (0, {"error": "Vision add-on is not loaded, but images were provided for processing"}, "no images"),
    (400, error("Invalid content type. image_url is only supported by certain models."), "no images"),
    (404, error("No endpoints found that support image input"), "no images"),
    (400, error("This model does not support image inputs"), "no images"),
    (422, error("messages[0]: unknown variant `image_url`, expected `text`"), "no images"),
    (500, error("this model is missing data required for image input"), "no images"),
    (400, error("x is not a multimodal model"), "no images"),
    (400, error("Model does not support images"), "no images"),
    (400, error("Cannot process images: vision encoder not loaded"), "no images"),
    (400, error("image_url content type is not supported by this model"), "no images"),
    # too long
    (400, error("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"), "too long"),
    (400, error("prompt is too long: 210000 tokens > 200000 maximum"), "too long"),
    (
        400,
        error(
            "This model's maximum context length is 128000 tokens. You sent 130000 tokens.",
            code="context_length_exceeded",
        ),
        "too long",
    ),
    (400, error("no", code="context_length_exceeded"), "too long"),
    (400, error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."), "too long"),
    (400, error("Input is too long for requested model."), "too long"),
    (400, error("Prompt contains 131100 tokens, too large for model with 131072 maximum context length"), "too long"),
    (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9000,
                "n_ctx": 8192,
            }
        },
        "too long",
    ),
    (
        400,
        {"error": "Trying to keep 9000 tokens, but the model is loaded with context length of only 4096 tokens"},
        "too long",
    ),
    (400, error("The decoder prompt (length 40000) is longer than the maximum model length of 32768."), "too long"),
    (400, error("Range of input length should be [1, 129024]"), "too long"),
    (400, error("Requested token count exceeds the model's maximum context length of 32768 tokens"), "too long"),
    # too large
    (413, {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}, "too large"),
    (400, error("Request payload size exceeds the limit: 20971520 bytes."), "too large"),
    (413, "<html><title>413 Payload Too Large</title>", "too large"),
    (400, {"message": "request entity too large"}, "too large"),
    # model
    (404, error("The model `x` does not exist or you do not have access to it.", code="model_not_found"), "model"),
    (
        404,
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}},
        "model",
    ),
    (404, {"error": 'model "x" not found, try pulling it first'}, "model"),
    (400, error("Model not loaded: x"), "model"),
    (
        400,
        {"error": {"message": "models/x is not found for API version v1beta", "code": 404, "status": "NOT_FOUND"}},
        "model",
    ),
    # flagged
    (400, error("The response was filtered due to the content management policy.", code="content_filter"), "flagged"),
    (400, {"code": "data_inspection_failed", "message": "Input data may contain inappropriate content."}, "flagged"),
    # not there yet
    (404, error("The deployment is scaling up from zero. Retry later."), "busy"),
    (404, error("Not Found"), "place"),
    # other
    (500, error("Internal server error"), ""),
    (503, error("Service Unavailable"), ""),
    (400, error("number of repetitions exceeds sane defaults, please reduce the number of repetitions"), ""),
    (400, error("Unknown parameter: 'seed'."), ""),
    (400, error("max_tokens is too large: 17408. This model supports at most 4096 completion tokens."), ""),
    (400, error("'max_tokens' must be less than or equal to 8192"), ""),
    (400, error("`temperature` and `top_p` cannot both be specified for this model"), ""),
    (400, error("Unsupported value: 'reasoning_effort' does not support 'minimal' with this model"), ""),
    (502, "<html><title>502 Bad Gateway</title>", ""),
    (504, error("upstream request timeout"), "gateway"),
    (400, {"error": {"message": "Could not process image", "type": "invalid_request_error"}}, ""),
]
"""Status (0: an error in a success), body and kind."""


@pytest.mark.parametrize(("status", "body", "kind"), REFUSALS)
def test_code_type_and_words_tell_what_a_refusal_is_about(status: int, body: Any, kind: str) -> None:
    page = (body if isinstance(body, str) else json.dumps(body)).encode()
    assert explain(status, {}, page).kind == kind


def test_a_header_may_tell_the_type() -> None:
    assert explain(400, {"x-amzn-errortype": "ThrottlingException"}, b"{}").kind == "busy"


@pytest.mark.parametrize(
    ("words", "cell"),
    [
        ("image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", "no image exceeds 5 MB"),
        ("At least one of the image dimensions exceed max allowed size: 2000 pixels", "one of 250, as no side"),
        ("Image too large: 2560x2560, the limit is 2048x2048 px", "one of 256, as no side may exceed 2,048 pixels"),
        ("image resolution exceeds 4 megapixels", "so that each image is smaller"),
        ("image item with length 6042, which exceeds the encoder cache size 4800", "so that each image is smaller"),
    ],
)
def test_an_image_that_is_too_large_asks_for_a_smaller_cell(words: str, cell: str) -> None:
    explanation = explain(400, {}, json.dumps(error(words)).encode())
    assert "use a smaller cell" in cure(explanation, "hosted") and cell in cure(explanation, "hosted")
