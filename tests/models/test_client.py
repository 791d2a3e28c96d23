"""The client against a real loopback server, and the cached wrapper."""

from __future__ import annotations

import base64
import json
import socket
import time

import pytest
from pydantic import BaseModel
from support.loopback import (
    Fault,
    Loop,
    completion,
    failing,
    hanging_up,
    saying,
    send,
    with_broken_json,
    without_choices,
)
from support.model_doubles import Counting
from support.stand_ins import Pick, request

from atlaskit.agents.schemas import one_of
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import view
from atlaskit.models.cached import Cached, reply_key
from atlaskit.models.client import VLM
from atlaskit.models.errors import BadReply, ModelError, Unreachable
from atlaskit.models.protocol import Message, Request
from atlaskit.models.usage import Usage


def test_an_answer_is_validated_and_counted(loop: Loop) -> None:
    reply = VLM(loop.url).complete(request())
    assert reply.answer.cell in (3, 5)
    assert reply.usage == Usage(calls=1, prompt_tokens=100, cached_tokens=64, image_tokens=40, completion_tokens=10)
    assert (reply.usage.tokens, reply.usage.effective_tokens) == (110, 46)
    (body,) = loop.bodies
    assert body["model"] == "loop" and body["temperature"] == 0 and body["seed"] == 0
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"]["properties"]["cell"]["enum"] == [3, 5]


def test_images_are_sent_in_place(loop: Loop, world: World, cache: Cache) -> None:
    sheet = view(world.drawn, k=2, cell=64, cache=cache)
    VLM(loop.url, "loop").complete(Request("worker", "step", (Message("user", ("Look:", sheet, "Pick.")),), Pick))
    parts = loop.bodies[0]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text"]
    url = parts[1]["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/jpeg;base64,")) == sheet.jpeg()


TRANSIENT: dict[str, Fault] = {
    "500": failing(500),
    "503": failing(503),
    "429": failing(429, Retry_After="0.01"),
    "hang-up": hanging_up,
    "half an answer": with_broken_json,
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_a_passing_failure_is_tried_again_and_counted(loop: Loop, name: str) -> None:
    loop.faults = [TRANSIENT[name]] * 2
    assert VLM(loop.url, "loop").complete(request()).usage.calls == 3
    loop.faults = [TRANSIENT[name]] * 9
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop").complete(request(), max_attempts=3)
    assert caught.value.usage.calls == 3 and len(loop.faults) == 6
    assert "\n" not in str(caught.value)


GARBAGE: dict[str, object] = {
    "a list": [],
    "null": None,
    "a page": "<html>Welcome</html>",
    "a number": 7,
    "an object": {"hello": "world"},
    "no message": {**completion(""), "choices": [{"index": 0, "finish_reason": "stop", "message": None}]},
    "content in parts": completion(["a", "b"]),  # type: ignore[arg-type]
    "a deep nest": completion("[" * 5000),
    "odd counts": {**completion("{}"), "usage": {"prompt_tokens": None, "completion_tokens": "many"}},
}


@pytest.mark.parametrize("name", GARBAGE)
def test_an_answer_outside_the_protocol_is_a_model_error(loop: Loop, name: str) -> None:
    loop.faults = [lambda handler: send(handler, 200, GARBAGE[name])] * 8
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop").complete(request(), max_attempts=2)
    assert caught.value.usage.calls == 2 and "\n" not in str(caught.value)


def test_odd_text_can_be_kept(loop: Loop, cache: Cache) -> None:
    loop.faults = [saying('{"thought":"t","cell":3}', reasoning_content="\ud800")]
    assert Cached(VLM(loop.url, "loop"), cache).complete(request()).reasoning == "?"
    assert not Cached(VLM(loop.url, "loop"), cache).complete(request()).live


def test_retries_end_with_the_time(loop: Loop) -> None:
    loop.faults = [failing(503, Retry_After="8")] * 4
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop").complete(request(), deadline_s=time.monotonic() + 1)
    assert caught.value.usage.calls == 1  # a wait of eight seconds would not fit


def test_a_kept_reply_is_charged_no_more_than_is_left(loop: Loop, cache: Cache) -> None:
    model = Cached(VLM(loop.url, "loop"), cache)
    loop.faults = [failing(500)] * 2
    assert model.complete(request()).usage.calls == 3
    assert model.complete(request()).usage.calls == 3
    assert model.complete(request(), max_attempts=1).usage.calls == 1


@pytest.mark.parametrize(
    "entry",
    [
        b"no JSON",
        b"[]",
        b"{}",
        b'{"text":7,"usage":{},"reasoning":""}',
        b'{"text":"{}","usage":{"euros":1},"reasoning":""}',
    ],
)
def test_an_entry_of_another_shape_is_asked_anew(loop: Loop, cache: Cache, entry: bytes) -> None:
    vlm = VLM(loop.url, "loop")
    cache.put(reply_key(vlm, request()), entry)
    assert Cached(vlm, cache).complete(request()).live
    assert not Cached(vlm, cache).complete(request()).live


def test_true_is_not_one(loop: Loop) -> None:
    class One(BaseModel):
        cell: one_of((1, 2))  # type: ignore[valid-type]

    assert One.model_validate_json('{"cell":1}').cell == 1
    with pytest.raises(ValueError, match="not a number"):
        One.model_validate_json('{"cell":true}')
    assert One.model_json_schema()["properties"]["cell"]["enum"] == [1, 2]


def test_a_refusal_is_not_tried_again(loop: Loop) -> None:
    loop.faults = [failing(400)]
    with pytest.raises(ModelError, match="answers 400: no, not now") as caught:
        VLM(loop.url, "loop").complete(request())
    assert caught.value.usage.calls == 1 and len(loop.bodies) == 1


MISFITS: dict[str, Fault] = {
    "prose": saying("I would pick cell 3."),
    "an invisible cell": saying('{"thought":"","cell":4}'),
    "half a JSON": saying('{"thought":"","ce'),
    "nothing": saying(""),
    "no choices": without_choices,
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_misfit_is_corrected_once_in_the_same_conversation(loop: Loop, name: str) -> None:
    loop.faults = [MISFITS[name]]
    reply = VLM(loop.url, "loop").complete(request())
    assert reply.answer.cell in (3, 5) and reply.usage.calls == 2 and reply.usage.completion_tokens == 20
    first, second = (body["messages"] for body in loop.bodies)
    assert second[: len(first)] == first and second[-1]["content"].startswith("That does not fit the schema")
    loop.faults = [MISFITS[name]] * 2
    with pytest.raises(BadReply, match="form") as caught:
        VLM(loop.url, "loop").complete(request())
    assert (caught.value.usage.calls, caught.value.usage.completion_tokens) == (2, 20)


def test_raw_control_characters_in_a_string_are_no_misfit(loop: Loop) -> None:
    """What a grammar with maxLength lets through (mlc-ai/xgrammar#800)."""
    loop.faults = [saying('{"thought":"a\tb\nc\x00","cell":3}')]
    reply = VLM(loop.url, "loop").complete(request())
    assert reply.usage.calls == 1 and reply.answer.thought == "a\tb\nc\x00"
    assert json.loads(reply.text)["thought"] == reply.answer.thought


def test_reasoning_is_kept_out_of_the_answer(loop: Loop) -> None:
    answer = '{"thought":"t","cell":3}'
    loop.faults = [saying(f"<think>It is 5. No, 3.</think>{answer}"), saying(answer, reasoning_content="Hmm, 3.")]
    vlm = VLM(loop.url, "loop")
    first, second = vlm.complete(request()), vlm.complete(request())
    assert first.text == second.text == answer
    assert (first.reasoning, second.reasoning) == ("It is 5. No, 3.", "Hmm, 3.")


def test_nobody_there_is_one_sentence_that_says_how_to_get_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlaskit.models.client.FIRST_WAIT_S", 0.01)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        for ask in (lambda: VLM(url), lambda: VLM(url, "x").complete(request())):
            with pytest.raises(Unreachable, match="make serve") as caught:
                ask()
            assert url in str(caught.value) and "\n" not in str(caught.value)


def test_a_reply_is_kept_and_a_failure_is_not(loop: Loop, cache: Cache) -> None:
    model = Cached(VLM(loop.url, "loop"), cache)
    loop.faults = [failing(400)]
    with pytest.raises(ModelError):
        model.complete(request())
    first, second = model.complete(request()), model.complete(request())
    assert len(loop.bodies) == 2
    assert (first.live, second.live) == (True, False)
    assert (first.answer, first.text, first.usage) == (second.answer, second.text, second.usage)


def test_a_reply_is_kept_by_all_that_it_depends_on(loop: Loop, cache: Cache, world: World) -> None:
    vlm = VLM(loop.url, "loop")
    sheet = view(world.drawn, k=2, cell=64, cache=cache)
    requests = [
        request(),
        request("Pick another."),
        request(max_tokens=5),
        Request("worker", "step", (Message("system", ("Pick a cell.",)),), Pick),
        Request("worker", "step", (Message("user", ("Pick a cell.", sheet)),), Pick),
        Request("worker", "step", (Message("user", ("Pick a cell.", sheet.expand(0))),), Pick),
    ]
    keys = [reply_key(vlm, each) for each in requests]
    keys += [reply_key(VLM(loop.url, "other"), request()), reply_key(VLM(loop.url, "loop", temperature=1), request())]
    assert len(set(keys)) == len(keys)
    same = Request("master", "probe", request().messages, Pick, facts={"truth": 3})
    assert reply_key(VLM("http://127.0.0.1:1/v1", "loop", api_key="k", timeout_s=1), same) == keys[0]


def test_an_image_is_not_encoded_for_a_reply_that_is_kept(cache: Cache, world: World, loop: Loop) -> None:
    looks = Request("worker", "step", (Message("user", (view(world.drawn, k=2, cell=48, cache=cache),)),), Pick)
    model = Counting(VLM(loop.url, "loop"))
    Cached(model, cache).complete(looks)
    before = world.drawn.frames_decoded
    Cached(model, cache).complete(looks)
    assert (model.calls, world.drawn.frames_decoded) == (["step"], before)
