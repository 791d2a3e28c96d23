"""A completion is read from every place in which servers put it, in one piece or as a stream."""

import json
from typing import Any

import pytest
from support.stand_ins import Pick

from atlaskit.models.answers import find_answer
from atlaskit.models.completion import completion_in, read_completion

ANSWER = '{"thought":"t","cell":3}'


def body_of(content: Any, finish_reason: Any = "stop", **message: Any) -> Any:
    return {"choices": [{"finish_reason": finish_reason, "message": {"content": content, **message}}]}


THOUGHTS = {
    "DeepSeek, Qwen, GLM": "<think>\nHm.\n</think>\n\n",
    "a thought in a thought": "<think>Hm <think>and</think>.</think>",
    "a brace in a thought": '<think>Is it {"cell": 3, or }?</think>',
    "a draft without an opening": '{"thought":"t","cell":5}? No.</think>',
    "Kimi-VL": "◁think▷Hm.◁/think▷",
    "Gemma 4": "<|channel>thought\nHm.<channel|>",
    "Granite": "Here is my thought process: Hm. Here is my response:",
    "gpt-oss": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
    "gpt-oss without markers": "analysisHm.assistantfinal",
}


@pytest.mark.parametrize("name", THOUGHTS)
def test_the_thought_of_any_family_is_split_off(name: str) -> None:
    for answer in (ANSWER, '{"thought":"</think> and <think>","cell":3}'):
        found = read_completion(body_of(THOUGHTS[name] + answer))
        assert found.text.strip() == answer
        assert found.reasoning and "cell" not in found.reasoning.replace('"cell": 3, or', "").replace('"cell":5', "")


@pytest.mark.parametrize("opening", ["<think>", "<|channel>thought\n", "<|channel|>analysis<|message|>"])
def test_a_thought_without_an_end_is_no_answer(opening: str) -> None:
    found = read_completion(body_of(f"{opening}Perhaps {ANSWER}", "length"))
    assert (found.text, found.is_cut_off, found.reasoning) == ("", True, f"Perhaps {ANSWER}")
    assert read_completion(body_of(f"{opening}Perhaps", None)).is_cut_off
    assert not read_completion(body_of(f"{opening}Perhaps", "stop")).is_cut_off  # the model stopped by itself


@pytest.mark.parametrize("text", [f"Sure: {ANSWER}", '{"thought":"<think>', "1 < 2", "[Thanks]", "analysis"])
def test_text_without_a_thought_stays_as_it_is(text: str) -> None:
    found = read_completion(body_of(text))
    assert (found.text, found.reasoning) == (text, "")


TEXT = {"type": "text", "text": ANSWER}
PARSED = {"thought": "t", "cell": 3}
MESSAGES: dict[str, tuple[dict[str, Any], str]] = {
    "a text that is an object": ({"content": [{"type": "text", "text": {"value": ANSWER}}]}, ""),
    "Mistral": ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, TEXT]}, "Hm."),
    "Claude": ({"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "tool_use", "input": PARSED}]}, "Hm."),
    "Gemini": ({"content": [{"text": "Hm.", "thought": True}, {"text": ANSWER}]}, "Hm."),
    "parsed": ({"content": PARSED}, ""),
    "odd parts": ({"content": [None, 7, {"type": "image"}, {"type": "text", "text": None}, TEXT]}, ""),
    "a field": ({"content": ANSWER, "reasoning_content": "Hm."}, "Hm."),
}
"""Messages of services, and the thought in each."""


@pytest.mark.parametrize("name", MESSAGES)
def test_answer_and_thought_are_read_wherever_a_service_puts_them(name: str) -> None:
    message, reasoning = MESSAGES[name]
    found = read_completion(body_of(**message))
    assert (json.loads(found.text), found.reasoning) == (json.loads(ANSWER), reasoning)


def test_each_server_says_in_its_way_that_an_answer_is_cut_off_or_withheld() -> None:
    for reason in ("length", "MAX_TOKENS", {"type": "length"}):
        found = read_completion(body_of(ANSWER, reason))
        assert found.is_cut_off and not found.is_withheld
    for reason in ("content_filter", "refusal", "SAFETY"):
        assert read_completion(body_of(None, reason)).is_withheld
    assert not read_completion(body_of(ANSWER, "stop")).is_withheld
    assert read_completion(body_of(None, refusal="No.")).is_withheld
    assert read_completion(body_of([{"type": "refusal", "refusal": "No."}])).is_withheld


def delta(finish: str | None = None, **message: Any) -> dict[str, Any]:
    return {"model": "loop", "choices": [{"index": 0, "delta": message, "finish_reason": finish}]}


def streamed(*lines: str) -> bytes:
    return "".join(f"{line}\n\n" for line in lines).encode()


HALVES = (ANSWER[:9], ANSWER[9:])
PARTS = [f"data: {json.dumps(delta(content=half))}" for half in HALVES]
STOP = f"data: {json.dumps(delta('stop'))}"
END = "data: [DONE]"


def test_a_stream_is_joined() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
    parts = [delta(role="assistant", content=""), delta(reasoning="Hm, "), *(delta(content=half) for half in HALVES)]
    lines = [f"data: {json.dumps(part)}" for part in (*parts, delta("stop", content=None), usage)]
    found = completion_in(streamed(*lines, END))
    assert (found.text, found.reasoning, found.model) == (ANSWER, "Hm, ", "loop")
    assert (found.usage.tokens, found.has_usage, found.broken) == (110, True, None)


@pytest.mark.parametrize("between", ["\r", "\n", "\n\n: ping\n\n", "\nid: 1\n\n"])
def test_events_are_told_apart_as_the_standard_does_and_as_gateways_do(between: str) -> None:
    events = [json.dumps(delta(content=half)) for half in HALVES]
    page = between.join(f"data: {event}" for event in [*events, "[DONE]"]) + "\n\n"
    assert completion_in(page.encode()).text == ANSWER


WHOLE = {"model": "loop", **body_of(ANSWER)}
(CHOICE,) = WHOLE["choices"]
TOOL = {"function": {"name": "pick", "arguments": ANSWER}}
PAGES: dict[str, bytes] = {
    "DONE without brackets": streamed(*PARTS, STOP, "data: DONE"),
    "pings": streamed("data: ping", PARTS[0], "data: ping", PARTS[1], STOP, "event: ping", END),
    "a broken event": streamed(PARTS[0], "data: {broken", PARTS[1], STOP, END),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(WHOLE).encode(),
    "an envelope": json.dumps({"code": 0, "data": WHOLE}).encode(),
    "a tool call": json.dumps(body_of(None, tool_calls=[TOOL])).encode(),
    "a tool beside prose": json.dumps(body_of("I shall open it.", tool_calls=[TOOL])).encode(),
    "the second choice": json.dumps({"choices": [{"message": {"content": ""}}, CHOICE]}).encode(),
}


@pytest.mark.parametrize("name", PAGES)
def test_what_was_read_stays_read(name: str) -> None:
    assert json.loads(find_answer(completion_in(PAGES[name]), Pick).text) == json.loads(ANSWER)


BROKEN_OFF: dict[str, tuple[bytes, str]] = {
    "an abort": (json.dumps(body_of(ANSWER[:12], "abort")).encode(), "broke off its answer"),
    "an error in a stream": (streamed(PARTS[0], 'data: {"error": {"message": "Too many.", "code": 529}}'), "Too many"),
    "an empty choice": (b'{"choices": [{}]}', "returned no answer"),
}


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_a_failure_of_the_endpoint_may_pass(name: str) -> None:
    page, words = BROKEN_OFF[name]
    broken = completion_in(page).broken
    assert broken is not None and words in str(broken) and broken.is_passing


def counted(prompt: int | None, completion: int | None, thought: int | None = None, **more: int) -> dict[str, Any]:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, **more}
    return {**counts, "completion_tokens_details": {"reasoning_tokens": thought}}


USAGES: dict[str, tuple[Any, tuple[int, int, int]]] = {
    "OpenAI": (counted(9, 30, 20), (9, 30, 20)),
    "Grok: beside": (counted(9, 10, 20, total_tokens=39), (9, 30, 20)),
    "Gemini: in the total alone": (counted(9, 10, total_tokens=39), (9, 30, 20)),
    "impossible counts": (counted(-4, True, 10**30), (0, 0, 0)),
}


@pytest.mark.parametrize("name", USAGES)
def test_the_tokens_of_the_thought_are_counted_once(name: str) -> None:
    counts, expected = USAGES[name]
    found = read_completion({**body_of(ANSWER), "usage": counts})
    usage = found.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens) == expected
    assert found.has_usage == (expected != (0, 0, 0))
