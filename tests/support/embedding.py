"""A server with `/v1/embeddings` whose vectors count words: texts that share words are near."""

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.faults import send
from support.loopback import Server, running

LENGTH = 64


def vector_of(text: str) -> list[float]:
    """Return how often each word is in a text; a place may stand for several words."""
    counts = [0.0] * LENGTH
    for word in text.casefold().split():
        counts[zlib.crc32(word.strip(".,;:?()").encode()) % LENGTH] += 1.0
    return counts


@dataclass
class Embedding:
    """A running server, and what it saw."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    faults: list[Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=list)
    """What it does instead of an answer, first come first served."""


@contextmanager
def embedding_server() -> Iterator[Embedding]:
    """Run the server."""
    state = Embedding()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.bodies.append(body)
            state.headers.append({"path": self.path, **self.headers})
            data = [{"index": index, "embedding": vector_of(text)} for index, text in enumerate(body["input"])]
            if state.faults:
                state.faults.pop(0)(self)
            else:
                send(self, 200, {"data": data})

    server = Server(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    with running(server):
        yield state
