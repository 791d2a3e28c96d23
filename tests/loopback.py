"""A real HTTP server on the loopback address that speaks just enough of the OpenAI protocol, faults included."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from models import babble

Fault = Callable[[BaseHTTPRequestHandler], None]


def fits(body: dict[str, Any]) -> str:
    """Return a reply that fits the request's schema."""
    schema = body["response_format"]["json_schema"]["schema"]
    return json.dumps(babble(schema, schema.get("$defs", {}), random.Random(0)))


def completion(text: str, **message: Any) -> dict[str, Any]:
    """A chat completion with this text."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "loop",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {
            **usage,
            "prompt_tokens_details": {"cached_tokens": 64, "multimodal_tokens": {"image": 40}},
        },
    }


def send(handler: BaseHTTPRequestHandler, status: int, body: Any, **headers: str) -> None:
    """Answer with JSON."""
    data = json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def failing(status: int, **headers: str) -> Fault:
    """A fault: an error status."""
    return lambda handler: send(handler, status, {"error": {"message": "no, not now"}}, **headers)


def saying(text: str, **message: Any) -> Fault:
    """A fault: a well-formed answer with this text."""
    return lambda handler: send(handler, 200, completion(text, **message))


def hanging_up(handler: BaseHTTPRequestHandler) -> None:
    """A fault: the connection is closed without an answer."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def without_choices(handler: BaseHTTPRequestHandler) -> None:
    """A fault: an answer that holds none."""
    send(handler, 200, {**completion(""), "choices": []})


def with_broken_json(handler: BaseHTTPRequestHandler) -> None:
    """A fault: half an answer."""
    data = json.dumps(completion("x")).encode()[:50]
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


@dataclass
class Loop:
    """The server: plays its faults in order, then answers what fits."""

    url: str
    faults: list[Fault] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    owner: str = "vllm"
    """Whom its list of models names as their owner."""
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def loopback() -> Iterator[Loop]:
    """Run the server for the length of a block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:  # the name http.server calls
            send(self, 200, {"object": "list", "data": [{"id": "loop", "owned_by": loop.owner}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with loop.lock:
                loop.bodies.append(body)
                loop.headers.append(dict(self.headers))
                fault = loop.faults.pop(0) if loop.faults else None
            if fault is None:
                send(self, 200, completion(fits(body)))
            else:
                fault(self)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    loop = Loop(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
