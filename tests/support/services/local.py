"""What people run themselves: Ollama, LM Studio, llama.cpp, SGLang and vLLM."""

from __future__ import annotations

from typing import Any

from support.services.declare import Answer, Facts, Service


def ollama_error(status: int, words: str, name: str) -> dict[str, Any]:
    kind = {400: "invalid_request_error", 404: "not_found_error"}.get(status, "api_error")
    return {"error": {"message": words, "type": kind, "param": None, "code": None}}


def lmstudio_error(status: int, words: str, name: str) -> dict[str, Any]:
    """Return LM Studio's error: a bare text."""
    return {"error": words}


def llamacpp_error(status: int, words: str, name: str) -> dict[str, Any]:
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
    kind = kinds.get(status, "unavailable_error" if status == 503 else "server_error")
    return {"error": {"code": status, "message": words, "type": kind}}


def sglang_error(status: int, words: str, name: str) -> dict[str, Any]:
    """Return SGLang's error, which vLLM wrote too until 2025: its fields are at the top."""
    return {"object": "error", "message": words, "type": "BadRequestError", "param": name or None, "code": status}


def vllm_error(status: int, words: str, name: str) -> dict[str, Any]:
    kind = {401: "Unauthorized", 404: "NotFoundError"}.get(status, "BadRequestError")
    return {"error": {"message": words, "type": kind, "param": name or None, "code": status}}


OLLAMA = Service(
    name="ollama",
    title="Ollama",
    dialect="ollama",
    model="qwen3-vl:8b",
    answered_as="qwen3-vl:8b",
    models={
        "object": "list",
        "data": [
            {"id": name, "object": "model", "created": 1, "owned_by": "library"}
            for name in ("qwen3-vl:8b", "gemma3:4b")
        ],
    },
    error=ollama_error,
    aliases={"gemma3": "gemma3:latest"},
    unsourced=("how it would refuse a field: it ignores those it does not know", "the status of `llm server loading`"),
    refusal='json: unknown field "{field}"',
    thought_field="reasoning",
    extra={"system_fingerprint": "fp_ollama"},
    words={
        "model": Answer(404, ollama_error(404, 'model "{model}" not found, try pulling it first', "")),
        "path": Answer(404, "404 page not found"),
        "loading": Answer(503, ollama_error(503, "llm server loading model", "")),
        "rate": Answer(503, ollama_error(503, "server busy, please try again.  maximum pending requests exceeded", "")),
    },
    facts=Facts(
        schema="yes",
        temperature="yes",
        seed="yes",
        length="`max_tokens`; `max_completion_tokens` is ignored, and so is `num_ctx`",
        images="several in one request, as data URLs only",
        thinking="`reasoning_effort` (`none` ends it); the thought is in `reasoning`",
        said_by="owner `library`; `system_fingerprint: fp_ollama`",
    ),
    sources=(
        "https://docs.ollama.com/api/openai-compatibility",
        "https://github.com/ollama/ollama/blob/main/openai/openai.go",
        "https://github.com/ollama/ollama/blob/main/docs/context-length.mdx",
        "https://github.com/netease-youdao/QAnything/issues/555",
        "https://github.com/valentinfrlch/ha-llmvision/issues/648",
    ),
)

LMSTUDIO = Service(
    name="lmstudio",
    title="LM Studio",
    dialect="lmstudio",
    model="qwen/qwen3-vl-8b",
    answered_as="qwen/qwen3-vl-8b",
    models={
        "object": "list",
        "data": [
            {"id": name, "object": "model", "owned_by": "organization_owner"}
            for name in ("qwen/qwen3-vl-8b", "text-embedding-nomic-embed-text-v1.5")
        ],
    },
    error=lmstudio_error,
    headers={"X-Powered-By": "Express"},
    unsourced=("how it would refuse a field", "that it takes a seed", "its words for a crash"),
    refusal="'{field}' is not supported",
    thought_field="reasoning_content",
    extra={"stats": {}, "system_fingerprint": "qwen/qwen3-vl-8b"},
    words={
        "model": Answer(
            400,
            {
                "error": {
                    "message": 'Invalid model identifier "{model}". Please specify a valid downloaded model '
                    "(e.g., qwen/qwen3-vl-8b).",
                    "type": "invalid_request_error",
                    "param": "model",
                    "code": "model_not_found",
                }
            },
        ),
        "path": Answer(200, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
        "in-200": Answer(200, {"error": "The model has crashed without additional information. (Exit code: null)"}),
    },
    facts=Facts(
        schema="yes, `json_schema` only",
        temperature="yes",
        seed="yes",
        length="`max_tokens`",
        images="several in one request, as data URLs",
        thinking="set in the app; the thought is in `reasoning_content`",
        said_by="owner `organization_owner`; header `X-Powered-By: Express`",
    ),
    sources=(
        "https://lmstudio.ai/docs/advanced/structured-output",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/618",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/619",
        "https://github.com/lmstudio-ai/lms/issues/416",
        "https://github.com/LoadShine/tada/issues/16",
        "https://github.com/assafelovic/gpt-researcher/issues/1556",
    ),
)

LLAMACPP = Service(
    name="llamacpp",
    title="llama.cpp server",
    dialect="llamacpp",
    model="qwen3-vl",
    answered_as="qwen3-vl",
    models={
        "object": "list",
        "data": [
            {
                "id": "qwen3-vl",
                "object": "model",
                "created": 1735142223,
                "owned_by": "llamacpp",
                "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
                "meta": {"n_ctx_train": 131072, "n_params": 8030261312},
            }
        ],
    },
    error=llamacpp_error,
    also_at=("",),
    headers={"Server": "llama.cpp"},
    unsourced=("how it would refuse a field",),
    refusal="Unsupported param: {field}",
    thought_field="reasoning_content",
    extra={"system_fingerprint": "b6000", "timings": {"cache_n": 0, "prompt_n": 900}},
    words={
        "key": Answer(401, llamacpp_error(401, "Invalid API Key", "")),
        "loading": Answer(503, llamacpp_error(503, "Loading model", "")),
        "schema": Answer(400, llamacpp_error(400, "Failed to initialize samplers: failed to parse grammar", "")),
        "no-images": Answer(
            500,
            llamacpp_error(
                500,
                "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
                "",
            ),
        ),
        "context": Answer(
            400,
            {
                "error": {
                    "code": 400,
                    "message": "the request exceeds the available context size, try increasing it",
                    "type": "exceed_context_size_error",
                    "n_prompt_tokens": 14429,
                    "n_ctx": 8192,
                }
            },
        ),
    },
    remedies={"no-images": "mmproj", "context": r"context|-c\b|n_ctx"},
    facts=Facts(
        schema="yes, as a grammar",
        temperature="yes",
        seed="yes",
        length="`max_tokens`",
        images="several, if started with `--mmproj`",
        thinking="`chat_template_kwargs: {enable_thinking}` or `reasoning_effort: none`; the thought is in "
        "`reasoning_content`",
        said_by="owner `llamacpp`; header `Server: llama.cpp`",
    ),
    sources=(
        "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        "https://github.com/ggml-org/llama.cpp/issues/15377",
        "https://github.com/ggml-org/llama.cpp/pull/15780",
        "https://github.com/oobabooga/textgen/issues/7257",
    ),
)

SGLANG = Service(
    name="sglang",
    title="SGLang",
    dialect="sglang",
    model="Qwen/Qwen3-VL-8B-Instruct",
    answered_as="Qwen/Qwen3-VL-8B-Instruct",
    models={
        "object": "list",
        "data": [
            {
                "id": "Qwen/Qwen3-VL-8B-Instruct",
                "object": "model",
                "created": 1,
                "owned_by": "sglang",
                "root": "Qwen/Qwen3-VL-8B-Instruct",
                "parent": None,
                "max_model_len": 32768,
            }
        ],
    },
    error=sglang_error,
    headers={"server": "uvicorn"},
    unsourced=("how it would refuse a field", "its words for a context that is too short"),
    refusal="{field} is not supported",
    thought_field="reasoning_content",
    usage=lambda tokens: {
        "prompt_tokens": 900,
        "total_tokens": 900 + tokens,
        "completion_tokens": tokens,
        "prompt_tokens_details": None,
        "reasoning_tokens": 12,
    },
    extra={"metadata": {"weight_version": "default"}},
    words={
        "key": Answer(401, {"error": "Unauthorized"}),
        "path": Answer(404, {"detail": "Not Found"}),
        "images": Answer(400, sglang_error(400, "Image count 2 exceeds limit 1 per request.", "")),
        "context": Answer(
            400,
            sglang_error(
                400,
                "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
                "",
            ),
        ),
    },
    remedies={"images": "limit-mm-data-per-request", "context": "context"},
    facts=Facts(
        schema="yes",
        temperature="yes",
        seed="yes",
        length="`max_tokens` or `max_completion_tokens`",
        images="several, up to `--limit-mm-data-per-request`",
        thinking="`chat_template_kwargs: {enable_thinking}`; the thought is in `reasoning_content` "
        "with `--reasoning-parser`",
        said_by="owner `sglang`",
    ),
    sources=(
        "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/entrypoints/openai/protocol.py",
        "https://github.com/sgl-project/sglang/pull/15418",
    ),
)

VLLM = Service(
    name="vllm",
    title="vLLM",
    dialect="vllm",
    model="Qwen/Qwen3-VL-8B-Instruct",
    answered_as="Qwen/Qwen3-VL-8B-Instruct",
    models={
        "object": "list",
        "data": [
            {
                "id": "Qwen/Qwen3-VL-8B-Instruct",
                "object": "model",
                "created": 1,
                "owned_by": "vllm",
                "root": "Qwen/Qwen3-VL-8B-Instruct",
                "parent": None,
                "max_model_len": 32768,
                "permission": [],
            }
        ],
    },
    error=vllm_error,
    headers={"server": "uvicorn"},
    unsourced=("how it would refuse a field",),
    refusal="{field} is not supported by this model",
    thought_field="reasoning",
    extra={"system_fingerprint": None, "prompt_logprobs": None, "kv_transfer_params": None},
    words={
        "key": Answer(401, {"error": "Unauthorized"}),
        "schema": Answer(400, vllm_error(400, "The JSON schema contains features not supported by xgrammar", "")),
        "model": Answer(404, vllm_error(404, "The model `{model}` does not exist.", "model")),
        "path": Answer(404, {"detail": "Not Found"}),
        "images": Answer(
            400,
            vllm_error(400, "At most 1 image(s) may be provided in one prompt. (parameter=image)", "image"),
        ),
        "context": Answer(
            400,
            vllm_error(
                400,
                "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
                "",
            ),
        ),
    },
    remedies={"images": "limit-mm-per-prompt", "context": "max-model-len|context"},
    facts=Facts(
        schema="yes, as a grammar",
        temperature="yes",
        seed="yes",
        length="`max_tokens` or `max_completion_tokens`",
        images="up to `--limit-mm-per-prompt`; an image is sent once and then named",
        thinking="`chat_template_kwargs: {enable_thinking}`; the thought is in `reasoning` with `--reasoning-parser`",
        said_by="owner `vllm`",
    ),
    sources=(
        "https://github.com/vllm-project/vllm/issues/13397",
        "https://github.com/vllm-project/vllm/issues/29408",
        "https://github.com/MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks/pull/129",
        "vLLM 0.32 itself, in every CI run",
    ),
)

LOCAL = (OLLAMA, LMSTUDIO, LLAMACPP, SGLANG, VLLM)
