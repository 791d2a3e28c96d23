"""A model that thinks has room for its thoughts, which are counted apart and are no answer."""

from __future__ import annotations

from typing import Any

import pytest
from support.faults import Fault, completion, sending
from support.loopback import Loop
from support.model_doubles import Babbler
from support.stand_ins import request

from atlaskit.agents import schemas
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import ACTIONS
from atlaskit.environment.mdp import LegalSet
from atlaskit.errors import InputError
from atlaskit.models.cached import Cached, reply_key
from atlaskit.models.client import VLM
from atlaskit.models.dialect import THOUGHT_TOKENS, Dialect
from atlaskit.models.names import family_of
from atlaskit.models.protocol import BadReply, Message, Request

ANSWER = '{"thought":"t","cell":3}'
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
    loop.faults = [thinking_aloud(ANSWER, "stop")]
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
