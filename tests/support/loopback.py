"""A real HTTP server on the loopback address that speaks just enough of the OpenAI protocol, faults included."""

from __future__ import annotations

import hashlib
import json
import random
import re
import select
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.model_doubles import babble

Fault = Callable[[BaseHTTPRequestHandler], None]
Draw = Callable[[dict[str, Any], random.Random], Fault]
"""What makes a fault for a request's body, by chance."""

PATIENCE_S = 6.0
"""How long a fault that never ends is kept up; a client that bears with it for so long hangs."""


class Outlasted(Exception):
    """A client waited until the server's own patience was at its end."""


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


def likely(body: dict[str, Any], rng: random.Random) -> str:
    """Return a reply that fits the request's schema, by chance; a worker's keeps evidence half of the time."""
    schema = body["response_format"]["json_schema"]["schema"]
    definitions = schema.get("$defs", {})
    answer = babble(schema, definitions, rng)
    if "AddToScratchpad" in definitions and rng.random() < 0.5:
        answer["action"] = babble(definitions["AddToScratchpad"], definitions, rng)
    return json.dumps(answer)


def likely_completion(body: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a chat completion that fits, at a price by chance."""
    prompt = rng.randrange(200, 1500)
    usage = {"prompt_tokens": prompt, "completion_tokens": rng.randrange(1, 100)}
    return {
        **completion(likely(body, rng)),
        "usage": {**usage, "prompt_tokens_details": {"cached_tokens": prompt // 2}},
    }


def has_left(handler: BaseHTTPRequestHandler, within_s: float) -> bool:
    """Wait for the client to hang up."""
    return bool(select.select([handler.connection], [], [], within_s)[0])


def staying_silent(handler: BaseHTTPRequestHandler) -> None:
    """A fault: no answer."""
    handler.close_connection = True
    if not has_left(handler, PATIENCE_S):
        raise Outlasted


def resetting(handler: BaseHTTPRequestHandler) -> None:
    """A fault: the connection is reset."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    socket.close(handler.connection.detach())
    handler.close_connection = True


def without_end(start: bytes, unit: bytes, pause_s: float) -> Fault:
    """A fault: an answer that begins like this and goes on with the same unit, again and again."""

    def go_on(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        handler.wfile.write(start)
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            handler.wfile.write(unit)
            if has_left(handler, pause_s):
                return
        raise Outlasted

    return go_on


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
flooding = without_end(CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n", 0)
dripping = without_end(CHUNKED, b"1\r\n \r\n", 0.01)


def broken_off(body: dict[str, Any], rng: random.Random) -> Fault:
    """A fault: less than was promised, then the connection is closed, or stays as it is."""
    data, is_closed = json.dumps(likely_completion(body, rng)).encode(), rng.random() < 0.5

    def break_off(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data))
        handler.wfile.write(data[: len(data) // 2])
        if not is_closed:
            staying_silent(handler)

    return break_off


def page_of_html(status: int) -> Fault:
    """A fault: somebody else's page."""
    page = b"<html>\n<body>Sorry!\r\n\xff</body></html>\n"

    def show(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Content-Length", str(len(page)))
        handler.end_headers()
        handler.wfile.write(page)

    return show


def overloaded(body: dict[str, Any], rng: random.Random) -> Fault:
    """A fault: 429, which may say when to come back, or nonsense."""
    waits = ["0.01", "0", "1e9", "-1", "inf", "nan", "soon", "", "1, 2", "Wed, 21 Oct 2065 07:28:00 GMT"]
    return failing(429, Retry_After=rng.choice(waits))


def half_said(body: dict[str, Any], rng: random.Random) -> Fault:
    """A fault: an answer that was cut off."""
    text = likely(body, rng)
    return saying(text[: rng.randrange(len(text))])


def misfitting(body: dict[str, Any], rng: random.Random) -> Fault:
    """A fault: JSON of another schema."""
    odd = ["{}", "[]", "null", "7", "1e999", '"yes"', '{"hello": "world"}', "[" * 3000]
    wrong_types = re.sub(r'"(reasoning|thought|search_task)": "', r'"\1": -1, "\1 \\n of old": "', likely(body, rng))
    return saying(rng.choice([*odd, wrong_types]))


def invisible_cell(body: dict[str, Any], rng: random.Random) -> Fault:
    """A fault: cells that are not there."""
    return saying(re.sub(r'("cell": |\[)\d+', rf"\g<1>{rng.choice([-1, 16, 999, 10**30])}", likely(body, rng)))


def odd_usage(body: dict[str, Any], rng: random.Random) -> Fault:
    """A fault: an answer that fits, at an impossible price."""
    counts = [10**30, 2**53, -5, "many", None, 1e308, True, [1], {"image": 2}, 2**39, float("nan")]
    names = ("prompt_tokens", "completion_tokens", "prompt_tokens_details", "total_tokens")
    usage = {name: rng.choice(counts) for name in names}
    usage["prompt_tokens_details"] = rng.choice([7, {"cached_tokens": rng.choice(counts), "multimodal_tokens": "x"}])
    page = {**completion(likely(body, rng)), "usage": rng.choice([usage, usage, "free", [3], None])}
    return lambda handler: send(handler, 200, page)


def thinking(body: dict[str, Any], rng: random.Random) -> Fault:
    """An answer that fits, with its thinking before it; the opening tag may be in the prompt."""
    opening = rng.choice(["<think>", "\n<think>\n", ""])
    return saying(f'{opening}Cell 3?\nOr {{"cell": 4}}.\n</think>\n{likely(body, rng)}')


def forgetful(body: dict[str, Any], rng: random.Random) -> Fault:
    """A fault: images that are only named are not known any more."""
    page = likely_completion(body, rng)
    return failing(400) if names_images(body) else lambda handler: send(handler, 200, page)


def always(fault: Fault) -> Draw:
    """Draw the same fault each time."""
    return lambda body, rng: fault


STORM: dict[str, Draw] = {
    "late": always(staying_silent),
    "500": always(failing(500)),
    "503": always(failing(503)),
    "429": overloaded,
    "half a JSON": always(with_broken_json),
    "half an answer": half_said,
    "half a body": broken_off,
    "another schema": misfitting,
    "an invisible cell": invisible_cell,
    "no choices": always(without_choices),
    "reset": always(resetting),
    "hang-up": always(hanging_up),
    "flood": always(flooding),
    "drip": always(dripping),
    "a page": always(page_of_html(200)),
    "502": always(page_of_html(502)),
    "odd usage": odd_usage,
    "thinking": thinking,
    "forgetful": forgetful,
}


def parts_of(body: dict[str, Any]) -> Iterator[str | dict[str, Any]]:
    """Go through all that a request shows and says."""
    for message in body["messages"]:
        content = message["content"]
        yield from [content] if isinstance(content, str) else content


def names_images(body: dict[str, Any]) -> bool:
    """Tell whether an image is only named."""
    return any(part.get("image_url", part) is None for part in parts_of(body) if isinstance(part, dict))


def has_found(body: dict[str, Any]) -> bool:
    """Tell whether a worker asks that has kept something in its region."""
    texts = [part if isinstance(part, str) else part.get("text", "") for part in parts_of(body)]
    return any(re.search("^(Kept:|- kept)", text, re.MULTILINE) for text in texts)


def identity(body: dict[str, Any]) -> str:
    """Return what a request asks, however its images travel."""
    told = [part if isinstance(part, str) else part.get("uuid") or part["text"] for part in parts_of(body)]
    return hashlib.sha256(json.dumps([body["model"], body["response_format"], told]).encode()).hexdigest()


@dataclass
class Weather:
    """What one run meets: faults by chance, the same for the same request; and what the server saw of the run."""

    seed: int
    share: float = 0.0
    share_after_a_find: float = 0.0
    """The same for a worker that has kept something, if it is larger: what was found must not be lost then."""
    faults: tuple[str, ...] = ()
    think_s: float = 0.0
    """How long an answer takes."""
    received: int = 0
    received_bytes: int = 0
    resent: int = 0
    """Requests that came again, whole, after an error had met images that were only named."""
    complained: set[str] = field(default_factory=set)
    """Such errors after which nothing came any more."""
    outlasted: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    inside: int = 0
    most_inside: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Answer a request, or not."""
        key, is_naming = identity(body), names_images(body)
        with self.lock:
            if has_left(handler, 0):
                return  # read too late: what came after it may have been answered already
            self.seen[key] += 1
            draw = random.Random(f"{self.seed} {key} {self.seen[key]}")
            self.resent += key in self.complained and not is_naming
            self.complained.discard(key)
            share = max(self.share, self.share_after_a_find) if has_found(body) else self.share
            name = draw.choice(self.faults) if draw.random() < share else ""
            self.met[name] += 1
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
            if is_naming and name in ("500", "502", "503", "429", "forgetful"):
                self.complained.add(key)
        time.sleep(self.think_s)
        with self.lock:
            self.inside -= 1
        try:
            if name:
                STORM[name](body, draw)(handler)
            else:
                send(handler, 200, likely_completion(body, draw))
        except Outlasted:
            self.outlasted.append(name)


@dataclass
class Loop:
    """The server: plays its faults in order, then answers what fits."""

    url: str
    faults: list[Fault] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    owner: str = "vllm"
    """Whom its list of models names as their owner."""
    list_faults: list[Fault] = field(default_factory=list)
    """What happens to those who ask for the list of models."""
    weathers: dict[str, Weather] = field(default_factory=dict)
    """Weather by the first folder of the address, for runs that go on at once."""
    outlasted: int = 0
    """How many clients bore with a fault of `faults` to its end."""
    connections: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def under(self, weather: Weather) -> str:
        """Return an address at which there is this weather."""
        self.weathers[str(weather.seed)] = weather
        return self.url.replace("/v1", f"/{weather.seed}/v1")


class Server(ThreadingHTTPServer):
    """Many clients at once, who may leave when they like."""

    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[None]:
    """Have a server answer for the length of a block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def loopback() -> Iterator[Loop]:
    """Run the server for the length of a block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 20  # of a connection that nobody uses
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            pass

        def setup(self) -> None:
            super().setup()
            with loop.lock:
                loop.connections += 1

        def do_GET(self) -> None:  # the name http.server calls
            page = {"object": "list", "data": [{"id": "loop", "owned_by": loop.owner}]}
            self.do(loop.list_faults.pop(0) if loop.list_faults else lambda handler: send(handler, 200, page))

        def do_POST(self) -> None:
            weather, length = loop.weathers.get(self.path.split("/")[1]), int(self.headers["Content-Length"])
            if weather is not None:
                with weather.lock:
                    weather.received += 1
                    weather.received_bytes += length
            page = self.rfile.read(length)
            if len(page) < length:
                return  # the client has left
            body = json.loads(page)
            if weather is not None:
                weather.answer(self, body)
                return
            with loop.lock:
                loop.bodies.append(body)
                loop.headers.append(dict(self.headers))
                fault = loop.faults.pop(0) if loop.faults else None
            self.do(fault or saying(fits(body)))

        def do(self, fault: Fault) -> None:
            try:
                fault(self)
            except Outlasted:
                loop.outlasted += 1

    server = Server(("127.0.0.1", 0), Handler)
    loop = Loop(f"http://127.0.0.1:{server.server_address[1]}/v1")
    with running(server):
        yield loop
