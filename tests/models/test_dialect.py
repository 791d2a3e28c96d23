"""A service is recognized, and gets the fields that its dialect declares: schema, images, thinking.

No hosted service can be reached here. What each sends follows its documentation and its users'
reports (docs/models.md). Its errors are in `test_refusals`, forms of thoughts in
`test_completion`, pauses in `test_delays`. A model that thinks has room for its thoughts, which are
counted apart and are no answer.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, Field
from support.faults import Fault, completion, failing, fitting_answer, saying, sending
from support.loopback import Loop
from support.model_doubles import Babbler
from support.stand_ins import Pick, request

from atlaskit.agents import schemas
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import ACTIONS
from atlaskit.environment.mdp import LegalSet
from atlaskit.environment.render import View, view
from atlaskit.errors import InputError
from atlaskit.models.cached import Cached, reply_key
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
    sampling_parameters,
)
from atlaskit.models.names import family_of, preset_for
from atlaskit.models.protocol import BadReply, Message, ModelError, Request
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


def test_no_grammar_is_sent_a_bound_that_llama_cpp_refuses(loop: Loop) -> None:
    """vLLM and SGLang take any bound, and a text that is bounded is one that ends."""

    class Long(BaseModel):
        model_config = ConfigDict(extra="forbid")

        text: str = Field(max_length=3_000)
        short: str = Field(max_length=300)

    asked = Request("master", "task", (Message("user", ("?",)),), Long)
    for dialect, are_sent in (("llamacpp", False), ("hosted", False), ("vllm", True), ("sglang", True)):
        VLM(loop.url, "loop", dialect=dialect).complete(asked)
        sent = json.dumps(loop.bodies[-1]["response_format"])
        assert re.findall(r'"maxLength": (\d+)', sent) == (["3000"] if are_sent else []) + ["300"]


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


PICKED = '{"thought":"t","cell":3}'
QWEN = "Qwen/Qwen3.5-35B-A3B"


def thinking_aloud(text: str = "", finish: str = "length", **message: Any) -> Fault:
    body = completion(text, reasoning_content="Let me see. It may be cell 3 or", **message)
    body["choices"][0]["finish_reason"] = finish
    body["usage"]["completion_tokens_details"] = {"reasoning_tokens": 9}
    return sending(body)


@pytest.mark.parametrize(
    ("name", "settings", "limit"),
    [
        ("loop", {}, 1024),
        (QWEN, {}, 1024 + THOUGHT_TOKENS),
        (QWEN, {"thinking": False}, 1024),
        (QWEN, {"max_tokens": 4000}, 4000),
        ("loop", {"dialect": Dialect("mine", thinks=True)}, 1024 + THOUGHT_TOKENS),
    ],
)
def test_a_model_that_thinks_has_room_for_it(loop: Loop, name: str, settings: Any, limit: int) -> None:
    VLM(loop.url, name, **settings).complete(request())
    assert loop.bodies[0]["max_tokens"] == limit


def test_a_thought_is_counted_apart(loop: Loop, cache: Cache) -> None:
    loop.faults = [thinking_aloud(PICKED, "stop")]
    model = Cached(VLM(loop.url, QWEN), cache)
    live, cached = model.complete(request()), model.complete(request())
    assert live.usage.reasoning_tokens == cached.usage.reasoning_tokens == 9
    assert live.usage.completion_tokens == 10 and live.reasoning == cached.reasoning != ""


def test_an_answer_cut_off_in_its_thought_says_so_and_what_to_set(loop: Loop) -> None:
    loop.faults = [thinking_aloud()] * 3
    with pytest.raises(BadReply, match=r"cut off in its thought after 10 tokens.*max_tokens \(--max-tokens\), or turn"):
        VLM(loop.url, QWEN, max_tokens=64).complete(request())
    assert len(loop.bodies) == 1, "the same request would be cut off again"
    with pytest.raises(BadReply, match=r"max_tokens \(--max-tokens\)\.$"):
        VLM(loop.url, "Qwen3-VL-8B-Thinking", max_tokens=64).complete(request())


def test_a_model_that_turns_out_to_think_gets_room_once(loop: Loop, cache: Cache) -> None:
    loop.faults = [thinking_aloud()]
    vlm = VLM(loop.url, "loop")
    assert Cached(vlm, cache).complete(request()).usage.calls == 2
    assert [body["max_tokens"] for body in loop.bodies] == [1024, 1024 + THOUGHT_TOKENS]
    assert loop.bodies[0]["messages"] == loop.bodies[1]["messages"], "it is no correction"
    assert Cached(vlm, cache, sample=1).complete(request()).usage.calls == 1, "the client remembers it"


def test_calls_that_are_cut_off_together_both_get_room(loop: Loop) -> None:
    both_are_sent = threading.Barrier(2, timeout=20)

    def answer(body: dict[str, Any]) -> Fault:
        if body["max_tokens"] > 1024:
            return saying(fitting_answer(body))
        both_are_sent.wait()
        return thinking_aloud()

    loop.answer = answer
    vlm = VLM(loop.url, "loop")
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(vlm.complete, [request(), request()]))
    assert [reply.usage.calls for reply in replies] == [2, 2]


def test_thinking_is_turned_off_as_the_service_wants_it(loop: Loop) -> None:
    def sent(name: str, dialect: str) -> dict[str, Any]:
        loop.bodies.clear()
        VLM(loop.url, name, dialect=dialect, thinking=False).complete(request())
        own = {"model", "messages", "temperature", "seed", "random_seed", "response_format"}
        return {key: value for key, value in loop.bodies[0].items() if key not in own and "tokens" not in key}

    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert sent(QWEN, "vllm") == sent(QWEN, "sglang") == sent("my-finetune", "vllm") == off
    assert sent("gpt-5-mini", "openai") == {"reasoning_effort": "minimal"}
    assert sent("gpt-4o", "openai") == {}, "it does not think, and refuses the field"
    assert sent("gemini-2.5-flash", "gemini") == {"reasoning_effort": "none"}
    with pytest.raises(InputError, match="always think"):
        VLM(loop.url, "Qwen/Qwen3-VL-8B-Thinking", thinking=False)


def test_extra_fields_are_sent_and_belong_to_the_key(loop: Loop) -> None:
    extra = {"reasoning_effort": "low", "chat_template_kwargs": {"custom": 1}}
    vlm = VLM(loop.url, QWEN, dialect="vllm", thinking=False, extra_body=extra)
    vlm.complete(request())
    assert loop.bodies[0]["reasoning_effort"] == "low"
    assert loop.bodies[0]["chat_template_kwargs"] == {"enable_thinking": False, "custom": 1}
    keys = {
        reply_key(VLM(loop.url, QWEN, **settings), request())
        for settings in ({}, {"thinking": False}, {"extra_body": extra}, {"extra_body": {"top_k": 1}})
    }
    assert len(keys) == 4
    assert reply_key(VLM(loop.url, QWEN, max_tokens=9), request()) == reply_key(VLM(loop.url, QWEN), request())


def test_a_family_is_known_by_the_models_name() -> None:
    families = [family_of(name).name for name in (QWEN, "openai/gpt-5-mini", "gpt-5-chat-latest", "nano@0123456789ab")]
    assert families == ["Qwen3.5 and later", "OpenAI, thinking", "other", "other"]


NAMING = tuple(name for name, kind in ACTIONS.items() if kind.takes != "nothing")


def test_a_reply_key_covers_the_shape_and_the_values() -> None:
    model = Babbler()
    cells, fewer = tuple(range(9)), tuple(range(8))
    all_schemas = [
        schemas.probe_schema(cells, 3),
        schemas.probe_schema(fewer, 3),
        schemas.probe_schema(cells, 2),
        *(schemas.step_schema(LegalSet({name: cells, "finished": ()})) for name in NAMING),
        schemas.step_schema(LegalSet({"expand": cells, "add_to_scratchpad": fewer, "finished": ()})),
        schemas.step_schema(LegalSet({"expand": fewer, "add_to_scratchpad": cells, "finished": ()})),
        schemas.review_schema(2, 600.0, ("A", "B"), cells),
        schemas.review_schema(2, 600.0, ("A",), cells),
        schemas.decision_schema("when", 0, 600.0, ("0", "1")),
        schemas.decision_schema("when", 0, 600.0, ()),
    ]
    message = (Message("user", ("Which?",)),)
    keys = {reply_key(model, Request("worker", "step", message, schema)) for schema in all_schemas}
    assert len(keys) == len(all_schemas)
