"""Services and servers that people use: each is recognized, and answers by what it takes.

No hosted service can be reached here. What each sends follows its documentation and its users'
reports (docs/models.md). Its errors are in `test_adapting`, forms of thoughts in
`test_completion`, pauses in `test_http_faults`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from support.faults import Fault, completion, fitting_answer, sending
from support.loopback import Loop
from support.stand_ins import request

from atlaskit.models.client import VLM
from atlaskit.models.dialect import dialect_named

THOUGHT = "It may be cell 5."
OPENAI_HEADERS = {"openai_processing_ms": "412", "server": "cloudflare"}


@dataclass(frozen=True)
class Service:
    """What one service lists, refuses and answers."""

    entry: dict[str, Any]
    """The entry of its model in the list of models."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers of its list, with underscores for hyphens."""
    host: str = ""
    answers_as: str = ""
    """The name of the model in its replies; "" for the name that was asked for."""
    refuses: tuple[str, int, Any] | None = None
    """A field that it refuses, the status and the body of the refusal."""
    message: Any = None
    """The message around an answer, from its text."""


def error(words: str) -> dict[str, Any]:
    return {"error": {"message": words}}


SERVICES = {
    "openai": Service(
        {"id": "gpt-5-mini", "owned_by": "system"},
        OPENAI_HEADERS,
        "api.openai.com",
        "gpt-5-mini-2025-08-07",
        ("temperature", 400, error("Unsupported value: 'temperature' does not support 0 with this model.")),
    ),
    "anthropic": Service(
        {"id": "claude-opus-4-7", "type": "model", "display_name": "Claude Opus 4.7"},
        host="api.anthropic.com",
        refuses=("temperature", 400, error("`temperature` is deprecated for this model.")),
    ),
    "gemini": Service(
        {"id": "models/gemini-2.5-flash", "owned_by": "google"},
        host="generativelanguage.googleapis.com",
        answers_as="gemini-2.5-flash",
        refuses=(
            "response_format",
            400,
            [error("The specified schema produces a constraint that has too many states for serving.")],
        ),
        message=lambda text: {"content": f"<thought>{THOUGHT}</thought>{text}"},
    ),
    "mistral": Service(
        {"id": "mistral-medium-latest", "owned_by": "mistralai", "capabilities": {"vision": True}},
        host="api.mistral.ai",
        answers_as="mistral-medium-2508",
        refuses=("temperature", 422, {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs"}]}),
        message=lambda text: {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
                {"type": "text", "text": text},
            ]
        },
    ),
    "openrouter": Service(
        {"id": "qwen/qwen3-vl", "canonical_slug": "qwen/qwen3-vl-2507", "architecture": {}},
        host="openrouter.ai",
        message=lambda text: {"content": text, "reasoning": THOUGHT},
    ),
    "litellm": Service(
        {"id": "team-vision", "owned_by": "openai"},
        {"x_litellm_version": "1.82.1"},
        refuses=("seed", 400, error("litellm.UnsupportedParamsError: anthropic does not support parameters: ['seed']")),
        message=lambda text: {"content": text, "reasoning_content": THOUGHT},
    ),
    "ollama": Service({"id": "qwen3-vl:8b", "owned_by": "library"}),
    "lmstudio": Service({"id": "qwen/qwen3-vl-8b", "owned_by": "organization_owner"}),
    "llamacpp": Service({"id": "qwen3-vl"}, {"server": "llama.cpp"}),
    "sglang": Service({"id": "Qwen/Qwen3-VL-8B-Instruct", "owned_by": "sglang"}),
    "vllm": Service({"id": "Qwen/Qwen3-VL-8B-Instruct", "owned_by": "vllm"}),
}
"""By the name of the dialect. The first six refuse or answer as no other does; of those that people
run themselves only the sign by which each is known differs."""


@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_recognized_and_learned_in_one_call(loop: Loop, name: str) -> None:
    """On the loopback address no host name helps: the list of models and the headers decide."""
    service = SERVICES[name]
    page = {"object": "list", "data": [service.entry]}
    loop.list_faults = [sending(page, **service.headers)] * 2
    vlm = VLM(loop.url, service.entry["id"])

    def answer(body: dict[str, Any]) -> Fault:
        if service.refuses and service.refuses[0] in body:
            return sending(service.refuses[2], service.refuses[1])
        text = fitting_answer(body) if "response_format" in body else '{"thought":"","cell":3}'
        page = completion(text, **(service.message(text) if service.message else {}))
        return sending({**page, "model": service.answers_as or body["model"]})

    loop.answer = answer
    first = vlm.complete(request())
    assert vlm.dialect.name.partition(",")[0] == name
    is_refusing = service.refuses is not None and service.refuses[0] in loop.bodies[0]
    assert len(loop.bodies) == 1 + is_refusing
    second = vlm.complete(request("Another?"))
    assert len(loop.bodies) == 2 + is_refusing, "what a call has learned, the next one knows"
    for reply in (first, second):
        assert reply.usage.calls == 1 and not reply.is_substitute and reply.answer.cell in (3, 5)
        assert reply.reasoning == (THOUGHT if service.message else "")


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if service.host])
def test_a_hosted_service_is_recognized_by_its_host(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a request: LiteLLM's list, for one, claims to be OpenAI's."""
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("the host name suffices"))
    vlm = VLM(f"https://{SERVICES[name].host}/v1", "m", api_key="sk-none")
    assert vlm.dialect == dialect_named(name)
