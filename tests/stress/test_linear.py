"""No text from outside holds a parser for a time that grows faster than its length.

Each parser reads one fragment over and over: every literal of the modules whose patterns search the
text, and what breaks patterns elsewhere. Time is processor time, so that other work does not count.
"""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from support.paths import ROOT

from atlaskit.benchmarks.datasets import options
from atlaskit.errors import AtlasError, printable
from atlaskit.models import answers, completion, event_stream, failures, learning, metrics, thoughts
from atlaskit.models.http import HttpFailure
from atlaskit.video.subtitles import ass, clock, formats, jsons, markup, simple, srt, ttml

CHARS = 60_000
FREE_S = 0.1
"""Processor seconds below which nobody waits, and a ratio says nothing."""
MOST_TIMES = 3.0
"""How much longer twice the text may take."""
USUAL = (
    *("a", "1", "1.", " ", "\n", "\t", "<", ">", "{", "}", "[", "]", '"', "'", "\\", '\\"', "-", "é", "a b ", "0:0:"),
    *("-->", "00:00:01,000 --> ", "<title", "quota ", " loaded", "1 s1 s", "reset", '{"a":', "[{", "// ", "/*"),
    *("<think>", "</think>", "&#34;", "<|", "|>", "A. ", "(A", "\n1\n"),
)


class Step(BaseModel):
    """The answer that is asked for."""

    reasoning: str
    action: Literal["expand", "finished"]
    cell: int


def answer_in(text: str) -> None:
    """Read a reply as a model's client does."""
    message = {"message": {"content": text}, "finish_reason": "stop"}
    answers.find_answer(completion.read_completion({"choices": [message]}), Step)


def learned(text: str) -> None:
    """Read what an error says, and what it teaches."""
    failure = HttpFailure("failed", status=400, explanation=failures.explain(400, {}, text.encode()))
    learning.learn(failure, learning.Habits(), ("response_format",), "max_tokens", 4096)


ERRORS = ("models/failures", "models/learning")
REPLIES = ("models/thoughts", "models/answers", "models/json_text", "models/coercion", "models/completion")
LINES = tuple(f"video/subtitles/{name}" for name in ("srt", "clock", "markup", "formats", "simple", "ass", "ttml"))
PARSERS: dict[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    **{
        f"error {status}": (ERRORS, lambda text, status=status: failures.explain(status, {}, text.encode()))
        for status in (0, 400, 404, 429, 503)
    },
    "error as JSON": (ERRORS, lambda text: failures.explain(429, {}, json.dumps({"error": text}).encode())),
    "error page": (ERRORS, lambda text: failures.explain(502, {}, f"<html>{text}".encode())),
    "error header": (ERRORS, lambda text: failures.explain(429, {"retry-after": text}, b"")),
    "lesson": (ERRORS, learned),
    "thought": (REPLIES, thoughts.split_thought),
    "reply": (REPLIES, answer_in),
    "reply in an object": (REPLIES, lambda text: answer_in('{"action": "expand", "reasoning": "' + text)),
    "events": (("models/event_stream",), lambda text: event_stream.joined(f"data: {text}".encode())),
    "metrics": (("models/metrics",), lambda text: metrics.read_metrics(text, "m")),
    **{
        parse.__name__: (LINES, parse)
        for parse in (
            *(srt.parse_srt, ass.parse_ass, ttml.parse_ttml, jsons.parse_json, jsons.parse_json_lines),
            *(simple.parse_sbv, simple.parse_lrc, simple.parse_tsv, simple.parse_sub, simple.parse_sami),
            *(markup.plain_text, markup.plain_ass_text, clock.parse_time),
        )
    },
    "lines of a cue": (LINES, lambda text: srt.parse_srt(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n\n")),
    "kind of subtitles": (LINES, lambda text: formats.format_of(".txt", text)),
    "options": (("benchmarks/datasets/options",), options.split_question),
    "printable": (("errors",), lambda text: printable(text, 300)),
}


def fragments(modules: tuple[str, ...]) -> Iterator[str]:
    """Yield the literal parts of all texts in some modules, and USUAL."""
    found = set(USUAL)
    for module in modules:
        for node in ast.walk(ast.parse((ROOT / "atlaskit" / f"{module}.py").read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 1000:
                found.update(part for part in re.split(r"[\\|()?*+\[\]{},.^$]+", node.value) if 0 < len(part) <= 24)
    yield from sorted(found)


def processor_s(parse: Callable[[str], Any], fragment: str, chars: int) -> float:
    text = (fragment * (chars // len(fragment) + 1))[:chars]
    began_s = time.process_time()
    with suppress(ValueError, AtlasError):
        parse(text)
    return time.process_time() - began_s


@pytest.mark.family
@pytest.mark.parametrize("name", PARSERS)
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    modules, parse = PARSERS[name]
    for fragment in fragments(modules):
        if processor_s(parse, fragment, CHARS) < FREE_S:
            continue
        ratios = []
        while not ratios or (min(ratios) > MOST_TIMES and len(ratios) < 3):  # a busy machine disturbs one of them
            once_s = processor_s(parse, fragment, CHARS)
            ratios.append(processor_s(parse, fragment, 2 * CHARS) / max(once_s, FREE_S))
        assert min(ratios) <= MOST_TIMES, (fragment, ratios)


def test_a_stream_of_many_parts_is_joined_in_linear_time() -> None:
    part = b'data: {"choices":[{"delta":{"content":"ten chars."}}]}\n\n'

    def seconds(count: int) -> float:
        began_s = time.process_time()
        joined = event_stream.joined(part * count)
        assert len(joined["choices"][0]["message"]["content"]) == 10 * count
        return time.process_time() - began_s

    assert min(seconds(80_000) / seconds(40_000) for _ in range(3)) <= MOST_TIMES
