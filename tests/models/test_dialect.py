"""A service is recognized, and gets the fields that its dialect declares: schema, images, thinking.

No hosted service can be reached here. What each sends follows its documentation and its users'
reports (docs/models.md). Its errors are in `test_refusals`, forms of thoughts in
`test_completion`, pauses in `test_delays`. A model that thinks has room for its thoughts, which are
counted apart and are no answer.
"""

import base64
import json
import re
from dataclasses import replace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from support.faults import Fault, completion, failing, fitting_answer, saying, sending
from support.loopback import Loop
from support.stand_ins import Pick, request

from atlaskit.caching.cache import Cache
from atlaskit.environment.render import View, view
from atlaskit.errors import InputError
from atlaskit.models.client import VLM
from atlaskit.models.dialect import (
    DIALECTS,
    HOSTED,
    OPENAI,
    PLAIN,
    THOUGHT_TOKENS,
    VLLM,
    Dialect,
    build_payload,
    dialect_named,
    dialect_of,
    sampling_parameters,
)
from atlaskit.models.names import preset_for
from atlaskit.models.protocol import BadReply, Message, ModelError, Request
from atlasworld import World

PICKED = '{"thought":"t","cell":3}'


@pytest.fixture
def grid_view(world: World, shared_cache: Cache) -> View:
    return view(world.drawn, k=2, cell=64, cache=shared_cache)


def body_of(request: Request, dialect: Dialect, model: str = "m") -> dict[str, Any]:
    is_forced = not preset_for(model).no_forcing
    payload = build_payload(request, model, dialect, sampling_parameters(dialect, 0.0, 7), (), is_forced=is_forced)
    return dict(json.loads(payload.body))


def images_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    parts = [part for message in body["messages"] for part in message["content"] if isinstance(part, dict)]
    return [part for part in parts if part["type"] == "image_url"]


def test_nano_chooses_its_own_tokens(grid_view: View) -> None:
    """Its tokens span what a schema fixes and what it leaves open. Guidance would split them."""
    asked = request("Where?", grid_view)
    body = body_of(asked, VLLM, model="nano@0123")
    setting, start = body["structured_outputs"]["grammar"].split("\n")
    assert "no_forcing" in setting and "response_format" not in body
    schema = json.loads(start.removeprefix("start: %json "))
    assert schema.pop("x-guidance") == {"whitespace_flexible": False}
    for other in (body_of(asked, VLLM, model="nanonets"), body_of(asked, HOSTED, model="nano@0123")):
        assert other["response_format"]["json_schema"]["schema"] == schema


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
    long: str = Field(max_length=3_000)
    cells: list[Pick] = Field(max_length=2)


def test_a_bound_that_a_server_refuses_is_left_to_the_client(loop: Loop) -> None:
    """Strict decoding takes none, llama.cpp no large one. vLLM takes all: a bounded text ends."""
    bounded = Request("worker", "step", (Message("user", ("Pick.",)),), Bounded)

    def sent(dialect: Dialect) -> dict[str, Any]:
        return dict(body_of(bounded, dialect)["response_format"]["json_schema"])

    strict = sent(OPENAI)
    assert strict["strict"] is True and not {"maxLength", "maxItems"} & set(re.findall(r"\w+", json.dumps(strict)))
    assert strict["schema"]["properties"]["maximum"]["enum"] == [3, 5] and "Pick" in strict["schema"]["$defs"]
    for name, lengths in {"llamacpp": ["9"], "hosted": ["9"], "vllm": ["9", "3000"], "sglang": ["9", "3000"]}.items():
        assert re.findall(r'"maxLength": (\d+)', json.dumps(sent(DIALECTS[name]))) == lengths
    loop.faults = [saying(f'{{"maximum":3,"text":"{text}","long":"","cells":[]}}') for text in ("far too long", "ok")]
    assert VLM(loop.url, "loop", dialect="openai").complete(bounded).usage.calls == 2


def test_the_plain_dialect_puts_the_schema_into_words(loop: Loop) -> None:
    words = body_of(request("Here:", "Pick."), PLAIN)["messages"][-1]["content"]
    assert '"enum": [3, 5]' in str(words) and "JSON Schema" in str(words)
    loop.faults = [saying(f"```json\n{PICKED}\n```")]
    assert VLM(loop.url, "loop", dialect="plain").complete(request()).answer.cell == 3
    with pytest.raises(InputError, match="'french'"):
        VLM(loop.url, "loop", dialect="french")


@pytest.mark.parametrize("status", [400, 500])
def test_an_image_is_sent_once_and_again_to_a_server_that_dropped_it(loop: Loop, grid_view: View, status: int) -> None:
    vlm = VLM(loop.url, "loop")
    sizes = [vlm.complete(request("Here:", grid_view, word)).transit.sent_bytes for word in ("a", "b", "c")]
    first, *later = (images_of(body)[0] for body in loop.bodies)
    assert base64.b64decode(first["image_url"]["url"].partition(",")[2]) == grid_view.jpeg()
    assert first["uuid"] == grid_view.key
    assert later == [{"type": "image_url", "image_url": None, "uuid": grid_view.key}] * 2
    assert sizes[0] > len(grid_view.jpeg()) > sizes[1] == sizes[2]

    loop.faults = [failing(status)]
    reply = vlm.complete(request(grid_view, "Again."))
    assert reply.usage.calls == 1, "the rejected request did not reach the model, so it is not a call"
    assert [images_of(body)[0]["image_url"] is None for body in loop.bodies[3:]] == [True, False]
    loop.faults = [failing(400)] * 2
    with pytest.raises(ModelError, match="returned HTTP 400") as caught:
        vlm.complete(request(grid_view, "And again."))
    assert caught.value.usage.calls == 1


SERVICES: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "openai": ("api.openai.com", {"id": "gpt-5-mini"}, {"openai-processing-ms": "412", "server": "cloudflare"}),
    "anthropic": ("api.anthropic.com", {"id": "claude-opus-4-7", "type": "model", "display_name": "Claude"}, {}),
    "gemini": ("generativelanguage.googleapis.com", {"id": "models/gemini-2.5-flash", "owned_by": "google"}, {}),
    "mistral": ("api.mistral.ai", {"id": "mistral-medium", "capabilities": {}, "owned_by": "mistralai"}, {}),
    "openrouter": ("openrouter.ai", {"id": "qwen3-vl", "canonical_slug": "qwen3-vl-2507", "architecture": {}}, {}),
    "litellm": ("", {"id": "team", "owned_by": "openai"}, {"x-litellm-version": "1.82.1"}),
    "ollama": ("", {"id": "qwen3-vl:8b", "owned_by": "library"}, {}),
    "lmstudio": ("", {"id": "qwen/qwen3-vl-8b", "owned_by": "organization_owner"}, {}),
    "llamacpp": ("", {"id": "qwen3-vl"}, {"server": "llama.cpp"}),
    "sglang": ("", {"id": "Qwen/Qwen3-VL-8B-Instruct", "owned_by": "sglang"}, {}),
    "vllm": ("", {"id": "Qwen/Qwen3-VL-8B-Instruct", "owned_by": "vllm"}, {}),
}
"""By the name of the dialect: its host, if it has one of its own, an entry of its list of models,
and the headers that come with the list."""


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_recognized_by_its_host_or_else_by_its_list(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host, entry, headers = SERVICES[name]
    assert dialect_of({"data": [entry]}, headers, entry["id"]) == dialect_named(name)
    if host:
        monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("the host name suffices"))
        assert VLM(f"https://{host}/v1", "m", api_key="sk-none").dialect == dialect_named(name)


QWEN = "Qwen/Qwen3.5-35B-A3B"
THINKS = 1024 + THOUGHT_TOKENS


def thinking_aloud() -> Fault:
    """Return an answer of ten tokens that is cut off in its thought, after nine of them."""
    body = completion("", reasoning_content="Let me see. It may be cell 3 or")
    body["choices"][0]["finish_reason"] = "length"
    body["usage"]["completion_tokens_details"] = {"reasoning_tokens": 9}
    return sending(body)


@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
@pytest.mark.parametrize(
    ("name", "settings", "limit"),
    [
        ("loop", {}, 1024),
        (QWEN, {}, THINKS),
        (QWEN, {"thinking": False}, 1024),
        ("loop", {"dialect": Dialect("mine", thinks=True)}, THINKS),
    ],
)
def test_a_model_that_thinks_has_room_for_it(loop: Loop, name: str, settings: Any, limit: int) -> None:
    VLM(loop.url, name, **settings).complete(request())
    assert loop.bodies[0]["max_tokens"] == limit


@pytest.mark.parametrize(("name", "cure"), [(QWEN, ", or turn"), ("Qwen3-VL-8B-Thinking", r"\.$")])
@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
def test_an_answer_cut_off_in_its_thought_says_so_and_what_to_set(loop: Loop, name: str, cure: str) -> None:
    loop.faults = [thinking_aloud()] * 3
    words = r"cut off in its thought after 10 tokens.*max_tokens \(--max-tokens\)"
    with pytest.raises(BadReply, match=words + cure) as caught:
        VLM(loop.url, name, max_tokens=64).complete(request())
    assert caught.value.usage.reasoning_tokens == 9, "the tokens of a thought are counted apart"
    assert len(loop.bodies) == 1, "the same request would be cut off again"


def test_a_model_that_turns_out_to_think_gets_room_from_then_on(loop: Loop) -> None:
    def answer(body: dict[str, Any]) -> Fault:
        if body["max_tokens"] > 1024:
            return saying(fitting_answer(body))
        return thinking_aloud()

    loop.answer = answer
    vlm = VLM(loop.url, "loop")
    assert [vlm.complete(request()).usage.calls for _ in range(2)] == [2, 1]
    assert [body["max_tokens"] for body in loop.bodies] == [1024, THINKS, THINKS]
    assert all(body["messages"] == loop.bodies[0]["messages"] for body in loop.bodies), "it is no correction"


@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
def test_thinking_is_turned_off_as_the_service_wants_it(loop: Loop) -> None:
    def sent(name: str, dialect: str, **settings: Any) -> dict[str, Any]:
        loop.bodies.clear()
        VLM(loop.url, name, dialect=dialect, thinking=False, **settings).complete(request())
        own = {"model", "messages", "temperature", "seed", "random_seed", "response_format"}
        return {key: value for key, value in loop.bodies[0].items() if key not in own and "tokens" not in key}

    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert sent(QWEN, "vllm") == sent(QWEN, "sglang") == sent("my-finetune", "vllm") == off
    assert sent("gpt-5-mini", "openai") == {"reasoning_effort": "minimal"}
    assert sent("gpt-4o", "openai") == {}, "it does not think, and refuses the field"
    assert sent("gemini-2.5-flash", "gemini") == {"reasoning_effort": "none"}
    extra = {"top_k": 1, "chat_template_kwargs": {"custom": 1}}
    merged = {"enable_thinking": False, "custom": 1}
    assert sent(QWEN, "vllm", extra_body=extra) == {"top_k": 1, "chat_template_kwargs": merged}
    with pytest.raises(InputError, match="always think"):
        VLM(loop.url, "Qwen/Qwen3-VL-8B-Thinking", thinking=False)
