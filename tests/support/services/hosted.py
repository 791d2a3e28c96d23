"""The hosted services beside OpenAI: Anthropic, Gemini and Mistral."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.services.declare import Answer, Facts, Service
from support.services.openai import parts_of

KINDS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


def anthropic_error(status: int, words: str, name: str) -> dict[str, Any]:
    kind = KINDS.get(status, "api_error")
    return {"error": {"code": kind, "message": words, "type": kind, "param": None}}


def gemini_error(status: int, words: str, name: str) -> list[Any]:
    """Return a list with one error object, as Gemini's compatible endpoint does."""
    kind = {401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
    return [{"error": {"code": status, "message": words, "status": kind.get(status, "INVALID_ARGUMENT")}}]


def gemini_quota(words: str, quota: str, retry_s: float) -> list[Any]:
    """Return Gemini's error for a used-up quota: its window is named only in the details."""
    (page,) = gemini_error(429, words, "")
    page["error"]["details"] = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{retry_s:.0f}s"},
    ]
    return [page]


def mistral_error(status: int, words: str, name: str) -> dict[str, Any]:
    """Return Mistral's error: a list of faults for a field, else its words."""
    if name:
        faults = [{"type": "extra_forbidden", "loc": ["body", name], "msg": words, "input": 0}]
        return {"object": "error", "message": {"detail": faults}, "type": "invalid_request_error", "code": None}
    kind = {400: "invalid_model", 429: "rate_limited"}.get(status, "invalid_request_error")
    return {"object": "error", "message": words, "type": kind, "param": None, "code": "1500"}


def too_many_states(schema: Mapping[str, Any], is_strict: bool) -> str:
    """Return what Gemini finds wrong with a schema, or ""."""
    if any({"maxItems", "minimum", "maximum", "maxLength"} & part.keys() for part in parts_of(schema)):
        return "The specified schema produces a constraint that has too many states for serving."
    return ""


ANTHROPIC = Service(
    name="anthropic",
    title="Anthropic, compatible",
    dialect="anthropic",
    model="claude-opus-4-7",
    answered_as="claude-opus-4-7",
    models={
        "data": [
            {
                "type": "model",
                "id": name,
                "display_name": name.title(),
                "created_at": "2026-02-04T00:00:00Z",
                "max_input_tokens": 200_000,
                "max_tokens": 64_000,
            }
            for name in ("claude-opus-4-7", "claude-sonnet-4-6")
        ],
        "first_id": "claude-opus-4-7",
        "last_id": "claude-sonnet-4-6",
        "has_more": False,
    },
    error=anthropic_error,
    host="api.anthropic.com",
    unsourced=("its headers, its words for a refused key, an unknown model, a rate limit and overload",),
    headers={"request-id": "req_1", "anthropic-organization-id": "org-1"},
    schema=False,
    learns=1,
    refuses={"temperature": "`temperature` is deprecated for this model."},
    refusal="{field}: Extra inputs are not permitted",
    words={
        "key": Answer(401, anthropic_error(401, "invalid x-api-key", "")),
        "model": Answer(404, anthropic_error(404, "model: {model}", "")),
        "path": Answer(404, anthropic_error(404, "Not found", "")),
        "rate": Answer(
            429,
            anthropic_error(429, "This request would exceed your organization's rate limit.", ""),
            {"retry-after": "23"},
        ),
        "quota": Answer(
            400,
            anthropic_error(
                400,
                "Your credit balance is too low to access the Anthropic API. "
                "Please go to Plans & Billing to upgrade or purchase credits.",
                "",
            ),
        ),
        "overloaded": Answer(529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}),
        "images": Answer(400, anthropic_error(400, "too many images and documents: 2 + 0 > 1", "")),
    },
    facts=Facts(
        schema="`response_format` is documented as ignored: words in the prompt",
        temperature="0 to 1; refused by name from Opus 4.7 on",
        seed="ignored",
        length="`max_tokens` or `max_completion_tokens`",
        images="100 a request",
        thinking="`thinking`; the thought is not shown. `reasoning_effort` is ignored",
        said_by="list of models: `type: model`, `display_name`, `has_more`; header `anthropic-…`",
    ),
    sources=(
        "https://platform.claude.com/docs/en/api/openai-sdk",
        "https://docs.anthropic.com/de/api/openai-sdk (table of fields)",
        "https://github.com/altic-dev/FluidVoice/issues/285",
        "https://github.com/ccbogel/QualCoder/issues/1208",
        "https://github.com/anthropics/claude-code/issues/66314",
        "https://github.com/anthropics/claude-code/issues/24541",
        "https://platform.claude.com/docs/en/api/go/models/list",
    ),
)

GEMINI_QUOTA = "You exceeded your current quota, please check your plan and billing details. "
GEMINI = Service(
    name="gemini",
    title="Gemini, compatible",
    dialect="gemini",
    model="gemini-2.5-flash",
    answered_as="gemini-2.5-flash",
    models={
        "object": "list",
        "data": [
            {"id": f"models/{name}", "object": "model", "owned_by": "google", "display_name": name}
            for name in ("gemini-2.5-flash", "gemini-2.5-pro")
        ],
    },
    error=gemini_error,
    base="/v1beta/openai",
    host="generativelanguage.googleapis.com",
    headers={"server": "scaffolding on HTTPServer2"},
    schema_fault=too_many_states,
    refuses={"seed": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'},
    refusal='Invalid JSON payload received. Unknown name "{field}": Cannot find field.',
    thought_tag="thought",
    aliases={"models/gemini-2.5-pro": "gemini-2.5-pro"},
    unsourced=(
        "a thought that was asked for stands in `<thought>` in the content",
        "`owned_by: google`, its headers, its words for an unknown model, the range of the temperature",
    ),
    words={
        "key": Answer(400, gemini_error(400, "API key not valid. Please pass a valid API key.", "")),
        "model": Answer(
            404,
            gemini_error(
                404, "models/{model} is not found for API version v1main, or is not supported for generateContent.", ""
            ),
        ),
        "rate": Answer(
            429,
            gemini_quota(
                f"{GEMINI_QUOTA}Please retry in 29.573010686s.",
                "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
                29,
            ),
        ),
        "quota": Answer(
            429,
            gemini_quota(
                f"{GEMINI_QUOTA}Please retry in 11.665902715s.",
                "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
                11,
            ),
        ),
        "schema": Answer(
            400,
            gemini_error(400, "The specified schema produces a constraint that has too many states for serving.", ""),
        ),
        "overloaded": Answer(503, gemini_error(503, "The model is overloaded. Please try again later.", "")),
    },
    facts=Facts(
        schema="yes; no `minimum`, `maximum`, `maxItems`; large ones have “too many states for serving”",
        temperature="0 to 2",
        seed="refused by name",
        length="`max_tokens`, thought included",
        images="many",
        thinking="`reasoning_effort`; thoughts are shown only if asked for",
        said_by="ids `models/…`, owner `google`; errors in a list",
    ),
    sources=(
        "https://ai.google.dev/gemini-api/docs/openai",
        "https://github.com/Vali-98/ChatterUI/issues/227",
        "https://github.com/docbrain-ai/docbrain/issues/22",
        "https://github.com/continuedev/continue/issues/12643",
        "https://github.com/googleapis/python-genai/issues/660",
        "https://github.com/linxule/openinterviewer/pull/23",
    ),
)

MISTRAL = Service(
    name="mistral",
    title="Mistral",
    dialect="mistral",
    model="mistral-medium-latest",
    answered_as="mistral-medium-latest",
    models={
        "object": "list",
        "data": [
            {
                "id": name,
                "object": "model",
                "created": 1,
                "owned_by": "mistralai",
                "capabilities": {"completion_chat": True, "vision": True},
                "max_context_length": 131072,
                "aliases": [],
                "default_model_temperature": 0.3,
                "type": "base",
            }
            for name in ("mistral-medium-latest", "pixtral-large-latest")
        ],
    },
    error=mistral_error,
    host="api.mistral.ai",
    headers={"mistral-correlation-id": "1"},
    refuses={"seed": "Extra inputs are not permitted"},
    unsourced=(
        "its words for too many images: those of DeepInfra are used",
        "its words for an unknown model and an unknown path, its headers, the range of the temperature",
    ),
    refusal_status=422,
    refusal="Extra inputs are not permitted",
    content_parts=True,
    words={
        "key": Answer(401, {"detail": "Unauthorized"}),
        "model": Answer(400, mistral_error(400, "Invalid model: {model}", "")),
        "path": Answer(404, {"message": "no Route matched with those values"}),
        "rate": Answer(429, {"message": "Requests rate limit exceeded"}),
        "images": Answer(400, mistral_error(400, "Too many images in request: 2 > 1", "")),
    },
    facts=Facts(
        schema="yes",
        temperature="0 to 1.5",
        seed="`random_seed`; `seed` is refused (422, a list of faults)",
        length="`max_tokens`",
        images="several, the number depends on the model",
        thinking="`reasoning_effort` or a thinking model; the content is then a list of parts",
        said_by="owner `mistralai`, `capabilities`, `default_model_temperature`",
    ),
    sources=(
        "https://github.com/langchain-ai/langchain-azure/issues/82",
        "https://github.com/partITech/php-mistral/issues/76",
        "https://github.com/langchain4j/langchain4j/pull/4474",
        "https://github.com/dnakov/anon-kode/issues/53",
        "https://github.com/agent0ai/agent-zero/issues/539",
        "https://docs.rs/crate/mistral-openapi-client/latest/source/docs/BaseModelCard.md",
    ),
)

HOSTED = (ANTHROPIC, GEMINI, MISTRAL)
