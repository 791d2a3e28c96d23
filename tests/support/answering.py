"""An endpoint that answers at random whatever fits the schema, for runs of whole commands.

Where it can, it keeps evidence and declares that it suffices, so that a search takes thirty calls.
"""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.faults import Fault, completion, sending
from support.loopback import loopback
from support.model_doubles import WORDS, babble

ENDING = ("final_decision", "add_to_scratchpad")
"""What brings a search to its end, taken where one of some draws has it."""


def ending(body: dict[str, Any]) -> Fault:
    """Answer a request, by its content."""
    schema = body["response_format"]["json_schema"]["schema"]
    rng = random.Random(json.dumps(body))
    drawn = [babble(schema, schema.get("$defs", {}), rng, WORDS[:1]) for _ in range(8)]
    answer = next((each for each in drawn if any(word in str(each) for word in ENDING)), drawn[0])
    if answer.get("conclusion", {}).get("action") == "final_decision":
        for number, choice in enumerate(answer.get("choices", ())):
            proof = answer["conclusion"]["supporting"]
            choice.update(choice=number, sufficient=number == 0, supporting=proof)
    return sending({**completion(json.dumps(answer)), "model": "any-vlm"})


@contextmanager
def answering() -> Iterator[str]:
    """Yield the address of the endpoint while it runs."""
    with loopback() as loop:
        loop.models, loop.answer = [{"id": "any-vlm", "object": "model"}], ending
        yield loop.url
