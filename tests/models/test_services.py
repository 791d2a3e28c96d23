"""Services and servers that people use: by what each is recognized.

No hosted service can be reached here. What each sends follows its documentation and its users'
reports (docs/models.md). Its errors are in `test_adapting`, its names in `test_listing`, forms of
answers and thoughts in `test_completion`, pauses in `test_http_faults`.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.faults import send
from support.loopback import Loop

from atlaskit.models.client import VLM
from atlaskit.models.dialect import dialect_named

Entry = dict[str, Any]
SERVICES: dict[str, tuple[str, Entry, dict[str, str]]] = {
    "openai": ("api.openai.com", {"id": "gpt-5-mini", "owned_by": "system"}, {"openai_processing_ms": "412"}),
    "anthropic": ("api.anthropic.com", {"id": "claude-opus-4-7", "type": "model", "display_name": "Opus"}, {}),
    "gemini": ("generativelanguage.googleapis.com", {"id": "models/gemini-2.5-flash", "owned_by": "google"}, {}),
    "mistral": ("api.mistral.ai", {"id": "m", "owned_by": "mistralai", "capabilities": {"vision": True}}, {}),
    "openrouter": ("openrouter.ai", {"id": "q/q", "canonical_slug": "q/q-2507", "architecture": {}}, {}),
    "litellm": ("", {"id": "team-vision", "owned_by": "openai"}, {"x_litellm_version": "1.82.1"}),
    "ollama": ("", {"id": "qwen3-vl:8b", "owned_by": "library"}, {}),
    "lmstudio": ("", {"id": "qwen/qwen3-vl-8b", "owned_by": "organization_owner"}, {}),
    "llamacpp": ("", {"id": "qwen3-vl", "owned_by": "llamacpp"}, {}),
    "sglang": ("", {"id": "Qwen/Qwen3-VL-8B-Instruct", "owned_by": "sglang"}, {}),
    "vllm": ("", {"id": "Qwen/Qwen3-VL-8B-Instruct", "owned_by": "vllm"}, {}),
}
"""By the name of the dialect: its host, the entry of a model in its list, the list's headers."""


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_recognized_by_its_list_of_models(loop: Loop, name: str) -> None:
    """On the loopback address no host name helps: the list and its headers decide, once."""
    _, entry, headers = SERVICES[name]
    loop.list_faults = [lambda handler: send(handler, 200, {"object": "list", "data": [entry]}, **headers)]
    vlm = VLM(loop.url, entry["id"])
    assert vlm.dialect == dialect_named(name) == vlm.dialect


@pytest.mark.parametrize("name", [name for name, (host, *_) in SERVICES.items() if host])
def test_a_hosted_service_is_recognized_by_its_host(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a request: LiteLLM's list, for one, claims to be OpenAI's."""
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("the host name suffices"))
    assert VLM(f"https://{SERVICES[name][0]}/v1", "m", api_key="sk-none").dialect == dialect_named(name)
