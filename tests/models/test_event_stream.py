"""Answers that a gateway streams although no stream was asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.faults import Fault
from support.loopback import Loop
from support.stand_ins import request

from atlaskit.models.client import VLM
from atlaskit.models.errors import ModelError

ANSWER = '{"thought":"t","cell":3}'


def streaming(*events: dict[str, Any]) -> Fault:
    """Answer with events, as a stream is sent."""

    def answer(handler: Any) -> None:
        page = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Content-Length", str(len(page)))
        handler.end_headers()
        handler.wfile.write(page.encode())

    return answer


def delta(finish: str | None = None, **message: Any) -> dict[str, Any]:
    return {"model": "loop", "choices": [{"index": 0, "delta": message, "finish_reason": finish}]}


def test_a_stream_is_joined_to_one_reply(loop: Loop) -> None:
    usage = {"model": "loop", "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
    parts = [delta(content=ANSWER[:9]), delta(content=ANSWER[9:]), delta("stop", content=None)]
    loop.faults = [streaming(delta(role="assistant", content=""), delta(reasoning="Hm, "), *parts, usage)]
    reply = VLM(loop.url, "loop").complete(request())
    assert (reply.text, reply.reasoning, reply.model) == (ANSWER, "Hm, ", "loop")
    assert (reply.usage.calls, reply.usage.tokens, reply.usage.estimated) == (1, 110, False)


def test_an_error_in_a_stream_carries_its_words(loop: Loop) -> None:
    loop.faults = [streaming(delta(content="{"), {"error": {"message": "The upstream broke.", "code": 502}})]
    with pytest.raises(ModelError, match="The upstream broke"):
        VLM(loop.url, "loop").complete(request(), max_attempts=1)
