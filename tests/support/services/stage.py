"""Plays one cell of the matrix: two calls to an imitated service on the loopback address."""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from atlaskit.models.client import VLM
from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import Reply
from support.loopback import Server, running
from support.services.declare import Answer, Cell, Turn
from support.services.failures import NO_SUCH_MODEL
from support.services.model import request

SENT_FIELDS = ("temperature", "seed", "response_format", "max_tokens", "max_completion_tokens")
MOST_EXCHANGES = 40
"""Exchanges after which a cell is stopped, since its client does not end."""


@dataclass
class Clock:
    """The time of a cell: real time plus the client's pauses, which take none."""

    began_s: float = field(default_factory=time.monotonic)
    paused_s: float = 0.0

    @property
    def now_s(self) -> float:
        return time.monotonic() - self.began_s + self.paused_s

    def sleep(self, pause_s: float) -> None:
        self.paused_s += pause_s


@dataclass
class Call:
    """What came of one call."""

    outcome: Reply | Exception
    exchanges: int
    paused_s: float
    warnings: list[str]
    refused: set[str]
    """Fields that the service refused by name."""
    lists: int
    """How often the list of models was requested."""


@dataclass
class Stage:
    """A running imitation, and what it was sent."""

    cell: Cell
    clock: Clock
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    lists: int = 0
    """How often its list of models was requested."""

    def get(self, path: str) -> Answer:
        """Answer a GET request: only the list of models is imitated."""
        service = self.cell.service
        self.lists += 1
        if path not in {f"{base}/models" for base in (service.base, *service.also_at)}:
            return self.lost()
        if self.cell.condition.name == "key":
            return service.words["key"]
        return Answer(200, service.models)

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Answer a POST request: only chat completions are imitated."""
        service = self.cell.service
        turn = Turn(service, body, len(self.bodies), self.clock.now_s)
        self.bodies.append(body)
        if len(self.bodies) > MOST_EXCHANGES:
            answer = Answer(400, service.error(400, "The client does not end.", ""))
        elif path not in {f"{base}/chat/completions" for base in (service.base, *service.also_at)}:
            answer = self.lost()
        else:
            answer = named(self.cell.condition.answer(turn), str(body.get("model")))
        self.answers.append(answer)
        return answer

    def lost(self) -> Answer:
        """Answer a request to a path that the service does not have."""
        return self.cell.service.words.get("path") or self.cell.service.failing(404, "Not Found")

    def refused(self, start: int) -> set[str]:
        """Return the fields that the service refused since an exchange, by its own words."""
        texts = [
            json.dumps(answer.body)
            for answer in self.answers[start:]
            if answer.status in (400, 422) and not isinstance(answer.body, str)
        ]
        fields = {name for text in texts for name in SENT_FIELDS if name in text}
        return fields - {"max_completion_tokens"}


def named(answer: Answer, model: str) -> Answer:
    """Return an answer with the model's name where its words leave it open."""
    text = json.dumps(answer.body).replace("{model}", model or NO_SUCH_MODEL)
    return Answer(answer.status, json.loads(text), answer.headers)


@contextmanager
def staged(cell: Cell, clock: Clock) -> Iterator[Stage]:
    """Run the imitation of a cell for the length of a block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 20
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.send(stage.get(self.path))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send(stage.post(self.path, body))

        def send(self, answer: Answer) -> None:
            is_page = isinstance(answer.body, str)
            data = answer.body.encode() if is_page else json.dumps(answer.body).encode()
            headers = {
                "Content-Type": "text/html" if is_page else "application/json",
                "Content-Length": str(len(data)),
                **cell.service.headers,
                **answer.headers,
            }
            self.send_response_only(answer.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    server = Server(("127.0.0.1", 0), Handler)
    stage = Stage(cell, clock, f"http://127.0.0.1:{server.server_address[1]}")
    with running(server, poll_s=0.005):
        yield stage


def played(cell: Cell, patch_sleep: Callable[[Callable[[float], None]], None]) -> tuple[Stage, list[Call]]:
    """Make two calls to a cell's service, with one client, and return what came of them.

    Args:
        cell: The cell.
        patch_sleep: Replaces `time.sleep` until the end of the test. Pauses of the calling thread
            then take no time; those of other threads stay.
    """
    clock, main, sleep = Clock(), threading.get_ident(), time.sleep
    patch_sleep(lambda pause_s: clock.sleep(pause_s) if threading.get_ident() == main else sleep(pause_s))
    with staged(cell, clock) as stage:
        address = stage.url + cell.condition.address(cell.service)
        settings = dict(cell.condition.settings(cell.service))
        vlm = VLM(address, settings.pop("model"), api_key="sk-none", timeout_s=20, **settings)
        return stage, [_call(stage, vlm, number) for number in (1, 2)]


def _call(stage: Stage, vlm: VLM, number: int) -> Call:
    start, paused_s, lists = len(stage.bodies), stage.clock.paused_s, stage.lists
    outcome: Reply | Exception
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = vlm.complete(request(number))
        except ModelError as error:
            outcome = error
    texts = [str(each.message) for each in caught if each.category.__name__ == "ModelWarning"]
    return Call(
        outcome,
        exchanges=len(stage.bodies) - start,
        paused_s=stage.clock.paused_s - paused_s,
        warnings=texts,
        refused=stage.refused(start),
        lists=stage.lists - lists,
    )
