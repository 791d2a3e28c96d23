"""A service is recognized, and gets only the fields that its dialect declares, each image once.

No hosted service can be reached here. What each sends follows its documentation and its users'
reports (docs/models.md). Its errors are in `test_refusals`, forms of thoughts in
`test_completion`, pauses in `test_delays`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, Field
from support.faults import Fault, completion, failing, fitting_answer, saying, sending
from support.loopback import Loop
from support.stand_ins import Pick, request

from atlaskit.caching.cache import Cache
from atlaskit.environment.render import View, view
from atlaskit.errors import InputError
from atlaskit.models.cached import reply_key
from atlaskit.models.client import VLM
from atlaskit.models.dialect import (
    DIALECTS,
    HOSTED,
    OPENAI,
    PLAIN,
    VLLM,
    Dialect,
    build_payload,
    dialect_named,
    sampling_parameters,
)
from atlaskit.models.names import preset_for
from atlaskit.models.protocol import Message, ModelError, Request
from atlasworld import World

ANSWER = '{"thought":"t","cell":3}'


@pytest.fixture
def grid_view(world: World, shared_cache: Cache) -> View:
    return view(world.drawn, k=2, cell=64, cache=shared_cache)


def body_of(request: Request, dialect: Dialect, known: tuple[str, ...] = (), model: str = "m") -> dict[str, Any]:
    parameters, is_forced = sampling_parameters(dialect, 0.0, 7), not preset_for(model).no_forcing
    body: dict[str, Any] = json.loads(
        build_payload(request, model, dialect, parameters, known, is_forced=is_forced).body
    )
    return body


def images_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    parts = [part for message in body["messages"] for part in message["content"] if isinstance(part, dict)]
    return [part for part in parts if part["type"] == "image_url"]


def test_nano_chooses_its_own_tokens(grid_view: View) -> None:
    """Its tokens span what a schema fixes and what it leaves open. Guidance would split them."""
    bodies = {
        (name, dialect.name): body_of(request("Where?", grid_view), dialect, model=name)
        for name in ("nano@0123", "nanonets")
        for dialect in (VLLM, HOSTED)
    }
    grammar = bodies["nano@0123", "vllm"].pop("structured_outputs")["grammar"]
    setting, start = grammar.split("\n")
    assert "no_forcing" in setting and "response_format" not in bodies["nano@0123", "vllm"]
    schema = json.loads(start.removeprefix("start: %json "))
    assert schema.pop("x-guidance") == {"whitespace_flexible": False}
    sent = bodies["nanonets", "vllm"]["response_format"]["json_schema"]["schema"]
    assert schema == sent == bodies["nano@0123", "hosted"]["response_format"]["json_schema"]["schema"]


def test_only_what_a_dialect_declares_is_sent(grid_view: View) -> None:
    asked = request("Here:", grid_view)
    bodies = {name: body_of(asked, dialect) for name, dialect in DIALECTS.items()}
    seedless = {"anthropic", "gemini", "mistral", "hosted", "plain"}
    assert {name for name, body in bodies.items() if "seed" not in body} == seedless
    assert {name for name, body in bodies.items() if "random_seed" in body} == {"mistral"}
    assert {name for name, body in bodies.items() if "max_completion_tokens" in body} == {"openai"}
    assert {name for name, body in bodies.items() if "response_format" not in body} == {"anthropic", "plain"}
    assert {name for name, body in bodies.items() if "uuid" in images_of(body)[0]} == {"vllm"}
    assert "temperature" not in body_of(asked, replace(OPENAI, omits=("temperature",)))


class Bounded(BaseModel):
    model_config = ConfigDict(extra="forbid")
    maximum: Literal[3, 5]
    text: str = Field(max_length=9)
    cells: list[Pick] = Field(max_length=2)


def test_strict_decoding_leaves_bounds_to_the_client(loop: Loop) -> None:
    bounded = Request("worker", "step", (Message("user", ("Pick.",)),), Bounded)
    sent = body_of(bounded, OPENAI)["response_format"]["json_schema"]
    assert sent["strict"] is True and not {"maxLength", "maxItems"} & set(re.findall(r"\w+", json.dumps(sent)))
    assert sent["schema"]["properties"]["maximum"]["enum"] == [3, 5] and "Pick" in sent["schema"]["$defs"]
    assert "maxLength" in json.dumps(body_of(bounded, VLLM))
    loop.faults = [saying(f'{{"maximum":3,"text":"{text}","cells":[]}}') for text in ("far too long", "ok")]
    assert VLM(loop.url, "loop", dialect="openai").complete(bounded).usage.calls == 2


def test_the_plain_dialect_puts_the_schema_into_words(loop: Loop, grid_view: View) -> None:
    words = body_of(request("Here:", grid_view, "Pick."), PLAIN)["messages"][-1]["content"][-1]["text"]
    assert '"enum": [3, 5]' in words and "JSON Schema" in words
    loop.faults = [saying(f"```json\n{ANSWER}\n```")]
    plain = VLM(loop.url, "loop", dialect="plain")
    assert plain.complete(request()).answer.cell == 3
    assert reply_key(plain, request()) != reply_key(VLM(loop.url, "loop", dialect="vllm"), request())
    with pytest.raises(InputError, match="'french'"):
        VLM(loop.url, "loop", dialect="french")


def test_an_image_is_sent_once(loop: Loop, grid_view: View) -> None:
    vlm = VLM(loop.url, "loop")
    sizes = [vlm.complete(request("Here:", grid_view, word)).transit.sent_bytes for word in ("a", "b", "c")]
    first, *later = (images_of(body)[0] for body in loop.bodies)
    assert base64.b64decode(first["image_url"]["url"].partition(",")[2]) == grid_view.jpeg()
    assert first["uuid"] == grid_view.key
    assert later == [{"type": "image_url", "image_url": None, "uuid": grid_view.key}] * 2
    assert sizes[0] > len(grid_view.jpeg()) > sizes[1] == sizes[2]


@pytest.mark.parametrize("status", [400, 500])
def test_an_image_is_sent_again_to_a_server_that_dropped_it(loop: Loop, grid_view: View, status: int) -> None:
    vlm = VLM(loop.url, "loop")
    vlm.complete(request(grid_view))
    loop.faults = [failing(status)]
    reply = vlm.complete(request(grid_view, "Again."))
    assert reply.usage.calls == 1, "the rejected request did not reach the model, so it is not a call"
    assert [images_of(body)[0]["image_url"] is None for body in loop.bodies] == [False, True, False]
    loop.faults = [failing(400)] * 2
    with pytest.raises(ModelError, match="returned HTTP 400") as caught:
        vlm.complete(request(grid_view, "And again."))
    assert caught.value.usage.calls == 1 and len(loop.bodies) == 5


def test_conversations_about_one_image_go_to_one_engine(loop: Loop, grid_view: View) -> None:
    vlm = VLM(loop.url, "loop", dialect=replace(VLLM, ranks=4))
    vlm.complete(request(grid_view, "a"))
    vlm.complete(request(grid_view, "b", grid_view.expand(1)))
    for cell in range(4):
        vlm.complete(request(grid_view.expand(cell)))
    ranks = [headers["X-data-parallel-rank"] for headers in loop.headers]
    assert ranks[0] == ranks[1] and set(ranks) <= set("0123") and len(set(ranks)) > 1
    VLM(loop.url, "loop").complete(request())
    assert "X-data-parallel-rank" not in loop.headers[-1]


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


OPENAI_HEADERS = {"openai_processing_ms": "412", "server": "cloudflare"}
SERVICES = {
    "openai": Service({"id": "gpt-5-mini"}, "api.openai.com", OPENAI_HEADERS, "gpt-5-mini-2025-08-07", "temperature"),
    "anthropic": Service({"id": "claude-opus-4-7", "type": "model", "display_name": "Claude"}, "api.anthropic.com"),
    "gemini": Service({"id": "models/gemini-2.5-flash", "owned_by": "google"}, "generativelanguage.googleapis.com"),
    "mistral": Service({"id": "mistral-medium-latest", "capabilities": {}, "owned_by": "mistralai"}, "api.mistral.ai"),
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
