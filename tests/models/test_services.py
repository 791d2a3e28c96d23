"""Services and servers that people use: each is recognized, and answers by what it takes.

No hosted service can be reached here. What each sends follows its documentation and its users'
reports (docs/models.md). Its errors are in `test_refusals`, what it refuses to take in
`test_adapting`, forms of thoughts in `test_completion`, pauses in `test_delays`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from support.faults import Fault, completion, fitting_answer, sending
from support.loopback import Loop
from support.stand_ins import request

from atlaskit.models.client import VLM
from atlaskit.models.dialect import dialect_named


class Service(NamedTuple):
    """How a service shows itself, and a field that it refuses."""

    entry: dict[str, Any]
    """The entry of its model in the list of models."""
    host: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    """Headers of its list, with underscores for hyphens."""
    answers_as: str = ""
    """The name of the model in its replies; "" for the name that was asked for."""
    refuses: str = ""


OPENAI = {"openai_processing_ms": "412", "server": "cloudflare"}
SERVICES = {
    "openai": Service({"id": "gpt-5-mini"}, "api.openai.com", OPENAI, "gpt-5-mini-2025-08-07", "temperature"),
    "anthropic": Service({"id": "claude-opus-4-7", "type": "model", "display_name": "Claude"}, "api.anthropic.com"),
    "gemini": Service({"id": "models/gemini-2.5-flash", "owned_by": "google"}, "generativelanguage.googleapis.com"),
    "mistral": Service({"id": "mistral-medium-latest", "owned_by": "mistralai"}, "api.mistral.ai"),
    "openrouter": Service({"id": "qwen3-vl", "canonical_slug": "qwen3-vl-2507", "architecture": {}}, "openrouter.ai"),
    "litellm": Service({"id": "team", "owned_by": "openai"}, "", {"x_litellm_version": "1.82.1"}, refuses="seed"),
    "ollama": Service({"id": "qwen3-vl:8b", "owned_by": "library"}),
    "lmstudio": Service({"id": "qwen/qwen3-vl-8b", "owned_by": "organization_owner"}),
    "llamacpp": Service({"id": "qwen3-vl"}, "", {"server": "llama.cpp"}),
    "sglang": Service({"id": "Qwen/Qwen3-VL-8B-Instruct", "owned_by": "sglang"}),
    "vllm": Service({"id": "Qwen/Qwen3-VL-8B-Instruct", "owned_by": "vllm"}),
}
"""By the name of the dialect."""


@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_recognized_and_learned_in_one_call(loop: Loop, name: str) -> None:
    """On the loopback address no host name helps: the list of models and the headers decide."""
    service = SERVICES[name]
    page = {"object": "list", "data": [service.entry]}
    loop.list_faults = [sending(page, **service.headers)] * 2

    def answer(body: dict[str, Any]) -> Fault:
        if service.refuses in body:
            words = f"Unsupported value: '{service.refuses}' is not supported with this model."
            return sending({"error": {"message": words}}, 400)
        text = fitting_answer(body) if "response_format" in body else '{"thought":"","cell":3}'
        return sending({**completion(text), "model": service.answers_as or body["model"]})

    loop.answer = answer
    vlm = VLM(loop.url, service.entry["id"])
    for _ in range(2):
        reply = vlm.complete(request())
        assert reply.usage.calls == 1 and not reply.is_substitute
    assert vlm.dialect.name.partition(",")[0] == name
    assert len(loop.bodies) == 2 + bool(service.refuses), "what a call has learned, the next one knows"


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if service.host])
def test_a_hosted_service_is_recognized_by_its_host(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a request: LiteLLM's list, for one, claims to be OpenAI's."""
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("the host name suffices"))
    vlm = VLM(f"https://{SERVICES[name].host}/v1", "m", api_key="sk-none")
    assert vlm.dialect == dialect_named(name)
