"""OpenAI itself: models of the GPT-4 class, and those that think."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from support.services.declare import Answer, Facts, Service


def openai_error(status: int, words: str, name: str) -> dict[str, Any]:
    code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(status)
    kind = "invalid_request_error" if status < 429 else "tokens"
    return {"error": {"message": words, "type": kind, "param": name or None, "code": code}}


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
    "schema": Answer(
        400,
        openai_error(
            400,
            "Invalid schema for response_format 'decision': In context=(), 'oneOf' is not permitted.",
            "response_format",
        ),
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
    unsourced=("its headers, the owner `system`, the range of the temperature",),
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


OPENAI = (OPENAI_GPT4, OPENAI_THINKING)
