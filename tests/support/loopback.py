"""A real HTTP server on the loopback address with enough of OpenAI's API for tests.

It answers requests for chat completions by what fits, or as a test tells it to (`Loop.answer`). It
plays the faults of a list in order (`Loop.faults`), or random ones by a `FaultPlan`, each at an
address of its own.
"""

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.chat_requests import form, has_evidence, identity
from support.faults import (
    RANDOM_FAULTS,
    Fault,
    Outlasted,
    fitting_answer,
    has_hung_up,
    random_completion,
    saying,
    send_bytes,
    sending,
)


@dataclass
class FaultPlan:
    """Random faults for one run, the same for the same request, and what the server saw."""

    seed: int
    share: float = 0.0
    """Share of the requests that meet a fault."""
    share_with_evidence: float = 0.0
    """The share for a worker that has evidence, if larger: a fault must not lose the evidence."""
    faults: tuple[str, ...] = ()
    """Names of the faults, keys of `RANDOM_FAULTS`."""
    think_s: float = 0.0
    """Seconds an answer takes."""
    received: int = 0
    outlasted: list[str] = field(default_factory=list)
    """Faults that a client waited out."""
    met: Counter[str] = field(default_factory=Counter)
    """How often each fault was played; "" counts the good answers."""
    seen: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Answer a request, well or by a fault."""
        key = identity(body)
        with self.lock:
            if has_hung_up(handler, 0):
                return  # read too late: the server may have answered its repetition already
            self.seen[key] += 1
            draw = random.Random(f"{self.seed} {key} {self.seen[key]}")
            share = max(self.share, self.share_with_evidence) if has_evidence(body) else self.share
            name = draw.choice(self.faults) if draw.random() < share else ""
            self.met[name] += 1
        time.sleep(self.think_s)
        try:
            if name:
                RANDOM_FAULTS[name](body, draw)(handler)
            else:
                sending(random_completion(body, draw))(handler)
        except Outlasted:
            self.outlasted.append(name)


@dataclass
class Loop:
    """The server as a test sees it: what it will answer, and what it was sent."""

    url: str
    answer: Callable[[dict[str, Any]], Fault] = lambda body: saying(fitting_answer(body))
    """Its answer to a request; by default a completion that fits the schema."""
    faults: list[Fault] = field(default_factory=list)
    """What it does instead of an answer, first come first served."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """What it was sent: JSON, or the fields of a form as bytes."""
    headers: list[dict[str, str]] = field(default_factory=list)
    """Headers of the requests, and the "path" of each."""
    models: list[dict[str, Any]] = field(default_factory=list)
    """Its list of models; empty for the one model "loop"."""
    counters: str = ""
    """Its page of counters; empty for none."""
    list_faults: list[Fault] = field(default_factory=list)
    """Faults for requests of the list of models."""
    plans: dict[str, FaultPlan] = field(default_factory=dict)
    """Fault plans by the first folder of the address."""
    outlasted: int = 0
    """How many clients waited a fault of `faults` out."""
    in_flight: int = 0
    most_in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def url_of(self, plan: FaultPlan) -> str:
        """Return an address at which requests meet a fault plan."""
        self.plans[str(plan.seed)] = plan
        return self.url.replace("/v1", f"/{plan.seed}/v1")


class Server(ThreadingHTTPServer):
    """An HTTP server for many clients, which may hang up at any time."""

    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def running(server: ThreadingHTTPServer, poll_s: float = 0.05) -> Iterator[None]:
    """Run a server for the length of a block. It ends within the polling interval."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": poll_s}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def loopback() -> Iterator[Loop]:
    """Run the model server for the length of a block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 20  # of an idle connection
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:  # http.server prescribes the name
            if self.path.endswith("/metrics"):
                send_bytes(self, 200 if loop.counters else 404, loop.counters.encode())
                return
            page = {"object": "list", "data": loop.models or [{"id": "loop", "owned_by": "vllm"}]}
            self.play(loop.list_faults.pop(0) if loop.list_faults else sending(page))

        def do_POST(self) -> None:
            plan, length = loop.plans.get(self.path.split("/")[1]), int(self.headers["Content-Length"])
            if plan is not None:
                with plan.lock:
                    plan.received += 1
            page = self.rfile.read(length)
            if len(page) < length:
                return  # the client has hung up
            kind = self.headers["Content-Type"]
            body = form(kind, page) if kind.startswith("multipart/") else json.loads(page)
            if plan is not None:
                plan.answer(self, body)
                return
            with loop.lock:
                loop.bodies.append(body)
                loop.headers.append({"path": self.path, **self.headers})
                loop.in_flight += 1
                loop.most_in_flight = max(loop.most_in_flight, loop.in_flight)
                fault = loop.faults.pop(0) if loop.faults else None
            fault = fault or loop.answer(body)
            with loop.lock:
                loop.in_flight -= 1
            self.play(fault)

        def play(self, fault: Fault) -> None:
            try:
                fault(self)
            except Outlasted:
                loop.outlasted += 1

    server = Server(("127.0.0.1", 0), Handler)
    loop = Loop(f"http://127.0.0.1:{server.server_address[1]}/v1")
    with running(server):
        yield loop
