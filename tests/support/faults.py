"""Answers of a model server, right and wrong: what `support.loopback` sends.

A `Fault` answers one HTTP request, usually badly. A `Draw` chooses a fault at random, for a
request's body.
"""

import json
import random
import select
import socket
import struct
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.chat_requests import names_images
from support.model_doubles import babble

Fault = Callable[[BaseHTTPRequestHandler], None]
Draw = Callable[[dict[str, Any], random.Random], Fault]

PATIENCE_S = 6.0
"""Seconds a fault that never ends is kept up. A client that waits for so long hangs."""


class Outlasted(Exception):
    """A client waited until the server gave up."""


def fitting_answer(body: dict[str, Any]) -> str:
    """Return an answer that fits the request's schema, always the same."""
    schema = body["response_format"]["json_schema"]["schema"]
    return json.dumps(babble(schema, schema.get("$defs", {}), random.Random(0)))


def completion(text: str, **message: Any) -> dict[str, Any]:
    """Return a chat completion with this text, and more fields of its message."""
    usage: dict[str, Any] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    usage["prompt_tokens_details"] = {"cached_tokens": 64, "multimodal_tokens": {"image": 40}}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "loop", "choices": [choice], "usage": usage}


def random_answer(body: dict[str, Any], rng: random.Random) -> str:
    """Return a random answer that fits the schema. Half of a worker's add evidence."""
    schema = body["response_format"]["json_schema"]["schema"]
    definitions = schema.get("$defs", {})
    answer = babble(schema, definitions, rng)
    if "AddToScratchpad" in definitions and rng.random() < 0.5:
        answer["action"] = babble(definitions["AddToScratchpad"], definitions, rng)
    return json.dumps(answer)


def random_completion(body: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a chat completion with a random answer that fits, at a random cost."""
    prompt = rng.randrange(200, 1500)
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": rng.randrange(1, 100)}
    usage["prompt_tokens_details"] = {"cached_tokens": prompt // 2}
    return {**completion(random_answer(body, rng)), "model": body["model"], "usage": usage}


def send_bytes(handler: BaseHTTPRequestHandler, status: int, data: bytes, **headers: str) -> None:
    """Answer with some bytes; an underscore in the name of a header stands for a hyphen."""
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def send(handler: BaseHTTPRequestHandler, status: int, body: Any, **headers: str) -> None:
    """Answer with JSON."""
    send_bytes(handler, status, json.dumps(body).encode(), Content_Type="application/json", **headers)


def has_hung_up(handler: BaseHTTPRequestHandler, within_s: float) -> bool:
    """Wait for the client to close the connection; return whether it did."""
    return bool(select.select([handler.connection], [], [], within_s)[0])


def sending(body: Any, status: int = 200, **headers: str) -> Fault:
    """Answer with JSON of any kind."""
    return lambda handler: send(handler, status, body, **headers)


def sending_bytes(data: bytes, status: int = 200, **headers: str) -> Fault:
    """Answer with some bytes."""
    return lambda handler: send_bytes(handler, status, data, **headers)


def failing(status: int, **headers: str) -> Fault:
    """Answer with an error status."""
    return sending({"error": {"message": "no, not now"}}, status, **headers)


def saying(text: str, **message: Any) -> Fault:
    """Answer with a well-formed completion of this text."""
    return sending(completion(text, **message))


def finishing(reason: str, text: str = "", **message: Any) -> Fault:
    """Answer with a completion of this finish reason."""
    body = completion(text, **message)
    body["choices"][0]["finish_reason"] = reason
    return sending(body)


without_choices = sending({**completion(""), "choices": []})
with_broken_json = sending_bytes(json.dumps(completion("x")).encode()[:50], Content_Type="application/json")
"""Half a completion, under the right Content-Length."""


def hanging_up(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without an answer."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def staying_silent(handler: BaseHTTPRequestHandler) -> None:
    """Keep the connection open and send nothing."""
    handler.close_connection = True
    if not has_hung_up(handler, PATIENCE_S):
        raise Outlasted


def resetting(handler: BaseHTTPRequestHandler) -> None:
    """Reset the connection."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    socket.close(handler.connection.detach())
    handler.close_connection = True


def without_end(start: bytes, unit: bytes, pause_s: float) -> Fault:
    """Answer with these first bytes, then with the same unit again and again."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        handler.wfile.write(start)
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            handler.wfile.write(unit)
            if has_hung_up(handler, pause_s):
                return
        raise Outlasted

    return answer


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
flooding = without_end(CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n", 0)
dripping = without_end(CHUNKED, b"1\r\n \r\n", 0.01)


def half_a_body(body: dict[str, Any], rng: random.Random) -> Fault:
    """Send less than the Content-Length, then close the connection or leave it open."""
    data = json.dumps(random_completion(body, rng)).encode()
    is_closed = rng.random() < 0.5

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data))
        handler.wfile.write(data[: len(data) // 2])
        if not is_closed:
            staying_silent(handler)

    return answer


def overloaded(body: dict[str, Any], rng: random.Random) -> Fault:
    """Answer with 429 and a Retry-After that may be nonsense."""
    waits = ["0.01", "0", "1e9", "-1", "inf", "nan", "soon", "", "1, 2", "Wed, 21 Oct 2065 07:28:00 GMT"]
    return failing(429, Retry_After=rng.choice(waits))


def odd_usage(body: dict[str, Any], rng: random.Random) -> Fault:
    """Answer with what fits, and with impossible token counts."""
    counts = [10**30, 2**53, -5, "many", None, 1e308, True, [1], {"image": 2}, 2**39, float("nan")]
    names = ("prompt_tokens", "completion_tokens", "prompt_tokens_details", "total_tokens")
    usage = {name: rng.choice(counts) for name in names}
    usage["prompt_tokens_details"] = rng.choice([7, {"cached_tokens": rng.choice(counts), "multimodal_tokens": "x"}])
    return sending({**completion(random_answer(body, rng)), "usage": rng.choice([usage, usage, "free", [3], None])})


def forgetful(body: dict[str, Any], rng: random.Random) -> Fault:
    """Reject a request that names an image without its bytes."""
    return failing(400) if names_images(body) else sending(random_completion(body, rng))


def always(fault: Fault) -> Draw:
    """Draw the same fault each time."""
    return lambda body, rng: fault


RANDOM_FAULTS: dict[str, Draw] = {
    "late": always(staying_silent),
    "500": always(failing(500)),
    "429": overloaded,
    "half a body": half_a_body,
    "reset": always(resetting),
    "hang-up": always(hanging_up),
    "flood": always(flooding),
    "drip": always(dripping),
    "odd usage": odd_usage,
    "forgetful": forgetful,
}
