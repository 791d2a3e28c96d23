"""An endpoint that answers at random whatever fits the schema, for runs of whole commands.

Where it can, it keeps evidence and declares that it suffices, so that a search takes thirty calls.
"""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from support.faults import completion, send
from support.loopback import Server, running
from support.model_doubles import WORDS, babble

ENDING = ("final_decision", "add_to_scratchpad")
"""What brings a search to its end, taken where one of some draws has it."""


class Answering(BaseHTTPRequestHandler):
    """The handler of its requests."""

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        send(self, 200, {"object": "list", "data": [{"id": "any-vlm", "object": "model"}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        schema = json.loads(body)["response_format"]["json_schema"]["schema"]
        rng = random.Random(body)
        drawn = [babble(schema, schema.get("$defs", {}), rng, WORDS[:1]) for _ in range(8)]
        answer = next((each for each in drawn if any(word in str(each) for word in ENDING)), drawn[0])
        if answer.get("conclusion", {}).get("action") == "final_decision":
            for number, choice in enumerate(answer.get("choices", ())):
                proof = answer["conclusion"]["supporting"]
                choice.update(choice=number, sufficient=number == 0, supporting=proof)
        send(self, 200, {**completion(json.dumps(answer)), "model": "any-vlm"})


@contextmanager
def answering() -> Iterator[str]:
    """Yield the address of the endpoint while it runs."""
    server = Server(("127.0.0.1", 0), Answering)
    with running(server):
        yield f"http://127.0.0.1:{server.server_port}/v1"
