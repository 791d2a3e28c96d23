"""No text of an endpoint is parsed for long: parsers are linear, and every text has a limit."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from support.bounded import check_linear, check_takes, literals, repeated
from support.faults import sending_bytes
from support.loopback import loopback
from support.stand_ins import Pick, request

from atlaskit import limits
from atlaskit.models import answers, chat, completion, dialect, embedding, json_text, names, refusals, speech
from atlaskit.models.client import VLM
from atlaskit.models.dialect import HOSTED, Payload
from atlaskit.models.http import HttpFailure, parsed
from atlaskit.models.protocol import ModelError

MOST_S = 4.0
"""What no input of HUGE bytes may take: two seconds here, twice that elsewhere."""
CHOICES = {"type": "object", "properties": {"answer": {"enum": [0, 1]}}}
LONG = 300_000
HUGE = 10_000_000


def as_answer(**message: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


def answer_in(page: bytes) -> None:
    """Read a reply as a client does."""
    answers.find_answer(completion.completion_in(page), Pick, ("a", "b"))


def explained(page: bytes) -> None:
    """Read an error as a client does."""
    failure = HttpFailure("failed", status=400, explanation=refusals.explain(400, {}, page))
    sent = Payload(b"", {}, frozenset(), frozenset(), optional=("response_format",), limit=4096)
    dialect.room_left(failure, 4096)
    dialect.adapted(failure, HOSTED, sent)


def listed(models: list[str]) -> None:
    """Read a list of models as a client does."""
    body = parsed(json.dumps({"data": [{"id": name, "type": name} for name in models]}).encode())
    dialect.dialect_of(body, {}, "m")
    names.chat_models(body)
    for name, _ in names.entries(body):
        names.is_same_model("m", name)


PARSERS: dict[str, Callable[[str], object]] = {
    "error": lambda text: explained(text.encode()),
    "error as JSON": lambda text: explained(json.dumps({"error": {"message": text}}).encode()),
    "name of a field": lambda text: explained(json.dumps({"headers": {f"ratelimit{text}\n": 1}}).encode()),
    "error header": lambda text: refusals.explain(429, {"retry-after": text, f"x-{text}": ""}, b""),
    "body": lambda text: answer_in(text.encode()),
    "reply": lambda text: answer_in(as_answer(content=text)),
    "reply in an object": lambda text: answer_in(as_answer(content='{"cell": 3, "thought": "' + text)),
    "choice": lambda text: json_text.coerced({"answer": f"B:{text}x\nx"}, CHOICES, ("a", "b")),
    "tool": lambda text: answer_in(as_answer(content="", tool_calls=[{"function": {"arguments": text}}])),
    "model": lambda text: names.is_same_model("gpt-4o", text),
    "list of one": lambda text: listed([text]),
    "list of many": lambda text: listed([text[at : at + 40] for at in range(0, len(text), 400)]),
    "counters": lambda text: chat.read_metrics("vllm:request_success_total{" + text, "m"),
    "sound": lambda text: speech.read_transcription({"text": text}),
    "vectors": lambda text: embedding.read_embeddings(parsed(text.encode()), 1),
}
"""Each reads what a stranger may send, from the bytes on where it begins with bytes."""
UNITS = (
    *("a", "1.", " ", "<", "{", "[", '"', "'", "\\", '\\"', "-", "é", "{}", "[],", '{"a":', '{"":1},', "{'\\'", "// "),
    *("/*", ",#", "quota ", " loaded", "<title", "1 s1 s", "reset", "voxtral-", "<think>", "</think>", "<think>{"),
    *("<|channel|>a", "<|channel|>analysis", "{&#34;&#1", "data:{}\n\n", "data:a\n", ":\n", "-2024", '{"cell":1}\n'),
    *('{"cell":3}', '{\\"a\\":', "choices", '{"error":'),
)
PATTERNS = {
    "error": ("refusals", "dialect"),
    "error header": ("refusals",),
    "reply": ("answers", "json_text", "completion"),
    "model": ("names",),
    "list of one": ("names",),
    "counters": ("chat",),
    "sound": ("speech",),
}
"""The modules whose patterns search what a parser reads: it also reads all that is in these."""


@pytest.mark.family
@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_takes_time_by_the_length_of_the_text(name: str) -> None:
    """Up to just below a limit, where the most is read."""
    modules = [f"models/{each}" for each in PATTERNS.get(name, ())]
    for unit in {*UNITS, *literals(*modules, only_patterns=True)}:
        check_linear(PARSERS[name], unit, LONG)
    for most in (limits.TEXT, limits.JSON, limits.ANSWER, HUGE):
        text = repeated(random.Random(f"{name} {most}").choice(UNITS), most - 200)
        check_takes(MOST_S, PARSERS[name], text)
    for size in (3_000, LONG):  # within what a call has left for it
        text = repeated(random.Random(f"{name} {size}").choice(UNITS), size)
        check_takes(2 * (limits.READING_S + limits.READING_S_PER_BYTE * size), PARSERS[name], text)


def test_a_list_of_long_names_is_compared_in_time() -> None:
    check_takes(MOST_S, listed, ["-001" * 249] * 4_000)


@pytest.mark.parametrize(
    "page",
    [as_answer(content="{" * limits.TEXT), b"data:{}\n\n" * 800_000, b"[" + b"[]," * 1_300_000 + b"0]"],
    ids=["reply", "events", "lists"],
)
def test_a_call_does_not_outlive_its_deadline_by_reading(page: bytes) -> None:
    """What could be read only after the deadline is refused unread, as late."""
    with loopback() as server:
        server.faults = [sending_bytes(page)]
        with pytest.raises(ModelError, match=r"within 1 s"):
            VLM(server.url, "m", dialect="plain", timeout_s=1.0).complete(request(), max_attempts=1)
