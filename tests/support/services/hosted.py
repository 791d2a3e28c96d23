"""The hosted services: OpenAI (two classes of models), Anthropic, Gemini, Mistral, OpenRouter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from support.services.declare import Answer, Facts, Service

KINDS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


def openai_error(status: int, words: str, name: str) -> dict[str, Any]:
    code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(status)
    kind = "invalid_request_error" if status < 429 else "tokens"
    return {"error": {"message": words, "type": kind, "param": name or None, "code": code}}


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


def openrouter_error(status: int, words: str, name: str) -> dict[str, Any]:
    return {"error": {"message": words, "code": status}, "user_id": "user_2x"}


def parts_of(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield each schema within a JSON Schema, itself included."""
    if isinstance(schema, list):
        for part in schema:
            yield from parts_of(part)
    elif isinstance(schema, dict):
        yield schema
        for name, part in schema.items():
            yield from parts_of(list(part.values()) if name in ("properties", "$defs") else part)


def not_strict(schema: Mapping[str, Any], is_strict: bool) -> str:
    """Return what OpenAI's strict decoding finds wrong with a schema, or ""."""
    for part in parts_of(schema) if is_strict else ():
        if {"maxLength", "minLength"} & part.keys():
            return "Invalid schema for response_format 'decision': In context=(), 'maxLength' is not permitted."
        fields = part.get("properties", {}).keys()
        if part.get("type") == "object" and (
            part.get("additionalProperties") is not False or fields != set(part.get("required", ()))
        ):
            return "Invalid schema for response_format 'decision': 'additionalProperties' must be false."
    return ""


def too_many_states(schema: Mapping[str, Any], is_strict: bool) -> str:
    """Return what Gemini finds wrong with a schema, or ""."""
    if any({"maxItems", "minimum", "maximum", "maxLength"} & part.keys() for part in parts_of(schema)):
        return "The specified schema produces a constraint that has too many states for serving."
    return ""


def thinking_usage(tokens: int) -> Mapping[str, Any]:
    """Return a usage that counts a thought's tokens apart, which are completion tokens too."""
    return {
        "prompt_tokens": 900,
        "completion_tokens": tokens + 64,
        "total_tokens": 964 + tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 64, "audio_tokens": 0},
    }


def openai_list(*names: str) -> dict[str, Any]:
    data = [{"id": name, "object": "model", "created": 1715367049, "owned_by": "system"} for name in names]
    return {"object": "list", "data": data}


OPENAI_HEADERS = {
    "openai-processing-ms": "412",
    "openai-version": "2020-10-01",
    "x-request-id": "req_1",
    "server": "cloudflare",
}
OPENAI_WORDS = {
    "key": Answer(401, openai_error(401, "Incorrect API key provided: sk-none. You can find your API key …", "")),
    "model": Answer(404, openai_error(404, "The model `{model}` does not exist or you do not have access to it.", "")),
    "path": Answer(404, openai_error(404, "Invalid URL (POST /chat/completions)", "")),
    "rate": Answer(
        429,
        openai_error(
            429,
            "Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): "
            "Limit 30000, Used 14567, Requested 24754. Please try again in 18.642s.",
            "",
        ),
    ),
    "quota": Answer(
        429,
        {
            "error": {
                "message": "You exceeded your current quota, please check your plan and billing details.",
                "type": "insufficient_quota",
                "param": None,
                "code": "insufficient_quota",
            }
        },
    ),
    "context": Answer(
        400,
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens. However, your messages "
                "resulted in 9000 tokens. Please reduce the length of the messages.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    ),
}
OPENAI_SOURCES = (
    "https://github.com/ITSpecialist111/ai_automation_suggester/issues/38",
    "https://github.com/johny-b/llmcomp/issues/69",
    "https://github.com/semanser/codel/issues/72",
    "https://github.com/ChatGPTNextWeb/NextChat/issues/3123",
    "https://developers.openai.com/api/docs/guides/structured-outputs",
)

OPENAI_GPT4 = Service(
    name="openai-gpt4",
    title="OpenAI, GPT-4 class",
    dialect="openai",
    model="gpt-4o",
    answered_as="gpt-4o-2024-11-20",
    models=openai_list("gpt-4o", "gpt-4o-mini", "text-embedding-3-small"),
    error=openai_error,
    host="api.openai.com",
    headers=OPENAI_HEADERS,
    schema_fault=not_strict,
    words=OPENAI_WORDS,
    extra={"system_fingerprint": "fp_1", "service_tier": "default"},
    facts=Facts(
        schema="strict: every field required, no bounds on lengths and numbers",
        temperature="0 to 2",
        seed="yes",
        length="`max_tokens` or `max_completion_tokens`",
        images="many",
        thinking="–",
        said_by="headers `openai-…`; owner `system` or `openai`, which LiteLLM claims too",
    ),
    sources=OPENAI_SOURCES,
)

OPENAI_THINKING = Service(
    name="openai-thinking",
    title="OpenAI, thinking",
    dialect="openai",
    model="gpt-5-mini",
    answered_as="gpt-5-mini-2025-08-07",
    models=openai_list("gpt-5-mini", "gpt-5", "o4-mini"),
    error=openai_error,
    host="api.openai.com",
    headers=OPENAI_HEADERS,
    schema_fault=not_strict,
    learns=1,
    refuses={
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        "temperature": "Unsupported value: 'temperature' does not support 0 with this model. "
        "Only the default (1) value is supported.",
    },
    refused_values={"temperature": 1},
    words=OPENAI_WORDS,
    usage=thinking_usage,
    facts=Facts(
        schema="strict, as above",
        temperature="only 1, the default; 400 names the field",
        seed="yes",
        length="only `max_completion_tokens`, thought included",
        images="many",
        thinking="`reasoning_effort`; the thought is not shown, its tokens are counted",
        said_by="as above",
    ),
    sources=OPENAI_SOURCES,
)

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
        "overloaded": Answer(503, gemini_error(503, "The model is overloaded. Please try again later.", "")),
    },
    facts=Facts(
        schema="yes; no `minimum`, `maximum`, `maxItems`; large ones have “too many states for serving”",
        temperature="0 to 2",
        seed="refused by name",
        length="`max_tokens`, thought included",
        images="many",
        thinking="`reasoning_effort`; thoughts, if asked for, in `<thought>` in the content",
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

OPENROUTER = Service(
    name="openrouter",
    title="OpenRouter",
    dialect="openrouter",
    model="qwen/qwen3-vl-30b-a3b-thinking",
    answered_as="qwen/qwen3-vl-30b-a3b-thinking",
    models={
        "data": [
            {
                "id": name,
                "canonical_slug": f"{name}-2507",
                "name": name,
                "context_length": 131072,
                "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
                "pricing": {"prompt": "0.0000002", "completion": "0.000001"},
                "supported_parameters": ["max_tokens", "reasoning", "response_format", "seed", "temperature"],
            }
            for name in ("qwen/qwen3-vl-30b-a3b-thinking", "openai/gpt-4o")
        ]
    },
    error=openrouter_error,
    base="/api/v1",
    host="openrouter.ai",
    headers={"server": "cloudflare", "x-clerk-auth-status": "signed-out"},
    thought_field="reasoning",
    usage=thinking_usage,
    extra={"provider": "Alibaba"},
    words={
        "key": Answer(401, openrouter_error(401, "No auth credentials found", "")),
        "model": Answer(400, openrouter_error(400, "{model} is not a valid model ID", "")),
        "path": Answer(404, "<!DOCTYPE html><html><head><title>Not Found | OpenRouter</title></head></html>"),
        "rate": Answer(429, openrouter_error(429, "Rate limit exceeded: free-models-per-min.", "")),
        "quota": Answer(402, openrouter_error(402, "Insufficient credits. Add more using openrouter.ai/credits", "")),
        "no-images": Answer(404, openrouter_error(404, "No endpoints found that support image input", "")),
        "in-200": Answer(
            200,
            {
                "error": {
                    "code": 502,
                    "message": "Provider returned error",
                    "metadata": {"raw": "upstream connect error", "provider_name": "Alibaba"},
                },
                "user_id": "user_2x",
            },
        ),
    },
    facts=Facts(
        schema="by model and provider; where a provider lacks it, it is ignored",
        temperature="0 to 2; dropped where a provider lacks it",
        seed="passed on or dropped",
        length="`max_tokens`",
        images="by model; a model without them answers 404",
        thinking="`reasoning: {effort, max_tokens, exclude}`; the thought is in `reasoning`",
        said_by="list of models: `canonical_slug`, `pricing`; `provider` in the reply",
    ),
    sources=(
        "https://openrouter.ai/docs/api/reference/errors-and-debugging",
        "https://openrouter.ai/docs/models",
        "https://openrouter.ai/docs/client-sdks/python/errors/paymentrequiredresponseerror.md",
        "https://github.com/openclaw/openclaw/issues/99078",
        "https://github.com/maxnowack/anthropic-proxy/issues/4",
    ),
)

HOSTED = (OPENAI_GPT4, OPENAI_THINKING, ANTHROPIC, GEMINI, MISTRAL, OPENROUTER)
