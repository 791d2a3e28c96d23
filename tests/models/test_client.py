"""`ak.VLM` against a real server on the loopback address."""

from __future__ import annotations

import base64
import json
import socket

import pytest
from support.faults import (
    Fault,
    completion,
    failing,
    hanging_up,
    saying,
    send,
    with_broken_json,
    without_choices,
)
from support.loopback import Loop
from support.stand_ins import Pick, request

from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import view
from atlaskit.models.client import VLM
from atlaskit.models.clock import now_s
from atlaskit.models.errors import BadReply, ModelError, Unreachable
from atlaskit.models.protocol import Message, Request, Usage


def test_an_answer_is_validated_and_counted(loop: Loop) -> None:
    reply = VLM(loop.url).complete(request())
    assert reply.answer.cell in (3, 5)
    assert reply.usage == Usage(calls=1, prompt_tokens=100, cached_tokens=64, image_tokens=40, completion_tokens=10)
    assert (reply.usage.tokens, reply.usage.effective_tokens) == (110, 46)
    (body,) = loop.bodies
    assert body["model"] == "loop" and body["temperature"] == 0 and body["seed"] == 0
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"]["properties"]["cell"]["enum"] == [3, 5]


def test_images_keep_their_place_among_the_texts(loop: Loop, world: World, cache: Cache) -> None:
    grid_view = view(world.drawn, k=2, cell=64, cache=cache)
    VLM(loop.url, "loop").complete(Request("worker", "step", (Message("user", ("Look:", grid_view, "Pick.")),), Pick))
    parts = loop.bodies[0]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text"]
    url = parts[1]["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/jpeg;base64,")) == grid_view.jpeg()


TRANSIENT: dict[str, Fault] = {
    "500": failing(500),
    "503": failing(503),
    "429": failing(429, Retry_After="0.01"),
    "hang-up": hanging_up,
    "half an answer": with_broken_json,
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_a_failure_that_may_pass_is_retried_and_counted(loop: Loop, name: str) -> None:
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
def test_a_body_outside_the_protocol_is_a_model_error(loop: Loop, name: str) -> None:
    loop.faults = [lambda handler: send(handler, 200, GARBAGE[name])] * 8
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop").complete(request(), max_attempts=2)
    assert caught.value.usage.calls == 2 and "\n" not in str(caught.value)


def test_no_retry_is_made_past_the_deadline(loop: Loop) -> None:
    loop.faults = [failing(503, Retry_After="8")] * 4
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop").complete(request(), deadline_s=now_s() + 1)
    assert caught.value.usage.calls == 1  # the requested pause of 8 s does not fit


def test_a_rejected_request_is_not_retried(loop: Loop) -> None:
    loop.faults = [failing(400)]
    with pytest.raises(ModelError, match="returned HTTP 400: no, not now") as caught:
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
    with pytest.raises(BadReply, match="does not fit the schema") as caught:
        VLM(loop.url, "loop").complete(request())
    assert (caught.value.usage.calls, caught.value.usage.completion_tokens) == (2, 20)


def test_raw_control_characters_in_a_string_are_escaped(loop: Loop) -> None:
    """A grammar with maxLength lets them through (mlc-ai/xgrammar#800)."""
    loop.faults = [saying('{"thought":"a\tb\nc\x00","cell":3}')]
    reply = VLM(loop.url, "loop").complete(request())
    assert reply.usage.calls == 1 and reply.answer.thought == "a\tb\nc\x00"
    assert json.loads(reply.text)["thought"] == reply.answer.thought


def test_reasoning_is_separated_from_the_answer(loop: Loop) -> None:
    answer = '{"thought":"t","cell":3}'
    loop.faults = [saying(f"<think>It is 5. No, 3.</think>{answer}"), saying(answer, reasoning_content="Hmm, 3.")]
    vlm = VLM(loop.url, "loop")
    first, second = vlm.complete(request()), vlm.complete(request())
    assert first.text == second.text == answer
    assert (first.reasoning, second.reasoning) == ("It is 5. No, 3.", "Hmm, 3.")


def test_a_dead_endpoint_is_one_line_that_says_how_to_get_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlaskit.models.attempts.FIRST_PAUSE_S", 0.01)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        for ask in (lambda: VLM(url), lambda: VLM(url, "x").complete(request())):
            with pytest.raises(Unreachable, match="python -m atlaskit serve") as caught:
                ask()
            assert url in str(caught.value) and "\n" not in str(caught.value)
