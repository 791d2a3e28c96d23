"""Gateways to other people's models: OpenRouter and the LiteLLM proxy."""

from __future__ import annotations

from typing import Any

from support.services.declare import Answer, Facts, Service
from support.services.openai import thinking_usage


def openrouter_error(status: int, words: str, name: str) -> dict[str, Any]:
    return {"error": {"message": words, "code": status}, "user_id": "user_2x"}


def litellm_error(status: int, words: str, name: str) -> dict[str, Any]:
    """Return the proxy's error: the code is the status, as text."""
    return {"error": {"message": words, "type": None, "param": None, "code": str(status)}}


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
    unsourced=("its headers, its words for a rate limit, the page of an unknown path",),
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

LITELLM = Service(
    name="litellm",
    title="LiteLLM proxy",
    dialect="litellm",
    model="team-vision",
    answered_as="team-vision",
    models={
        "object": "list",
        "data": [
            {"id": name, "object": "model", "created": 1677610602, "owned_by": "openai"}
            for name in ("team-vision", "team-small")
        ],
    },
    error=litellm_error,
    also_at=("",),
    learns=1,
    headers={
        "server": "uvicorn",
        "x-litellm-version": "1.82.1",
        "x-litellm-call-id": "1",
        "x-litellm-model-id": "1",
    },
    unsourced=("how it passes on Hugging Face's words for a loading model",),
    refuses={"seed": "litellm.UnsupportedParamsError: anthropic does not support parameters: ['seed'], for model=x."},
    refusal="litellm.UnsupportedParamsError: anthropic does not support parameters: ['{field}'], for model=x. "
    "To drop these, set `litellm.drop_params=True`.",
    thought_field="reasoning_content",
    words={
        "key": Answer(
            401,
            {
                "error": {
                    "message": "Authentication Error, Invalid proxy server token passed. Unable to find token in cache",
                    "type": "token_not_found_in_db",
                    "param": "key",
                    "code": "401",
                }
            },
        ),
        "model": Answer(
            400,
            litellm_error(
                400,
                "/chat/completions: Invalid model name passed in model={model}. "
                "Call `/v1/models` to view available models for your key.",
                "",
            ),
        ),
        "rate": Answer(
            429, litellm_error(429, "litellm.RateLimitError: RateLimitError: OpenAIException - slow down", "")
        ),
        "quota": Answer(
            400,
            {
                "error": {
                    "message": "Budget has been exceeded! Current cost: 26.075, Max budget: 0.25",
                    "type": "budget_exceeded",
                    "param": None,
                    "code": "400",
                }
            },
        ),
        "loading": Answer(
            503,
            {"error": "Model team-vision is currently loading", "estimated_time": 20.0},
        ),
    },
    facts=Facts(
        schema="by the model behind it",
        temperature="by the model behind it; refused by name unless `drop_params: true`",
        seed="by the model behind it; refused by name unless `drop_params: true`",
        length="`max_tokens`",
        images="by the model behind it",
        thinking="`reasoning_effort`; the thought is in `reasoning_content`",
        said_by="headers `x-litellm-…`, and nothing else: its list says `owned_by: openai` of every model",
    ),
    sources=(
        "https://docs.litellm.ai/docs/proxy/response_headers",
        "https://github.com/BerriAI/litellm/issues/14257",
        "https://github.com/mcdonc/klangk/pull/2067",
        "https://github.com/BerriAI/litellm/issues/9663",
        "https://github.com/BerriAI/litellm/issues/14144",
        "https://github.com/huggingface/transformers/issues/32665",
    ),
)


GATEWAYS = (OPENROUTER, LITELLM)
