"""Parses the body of a chat completion: answer, separate reasoning, token counts; repairs known
deviations.

Servers deviate from the protocol in many ways, so nothing in the body is taken for granted: a field
that is missing or has another type counts as empty. Each deviation that is repaired has a function
of its own here. Knows nothing of retries and the schema of the answer.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from atlaskit import limits
from atlaskit.models.failures import NESTED
from atlaskit.models.http import HttpFailure, failure_of, parsed
from atlaskit.models.presets import Family
from atlaskit.models.protocol import CHARACTERS_A_TOKEN, Request, Usage
from atlaskit.models.thoughts import Split, split_thought

REASONING_FIELDS = ("reasoning", "reasoning_content", "reasoning_details", "thinking", "thinking_blocks", "thought")
"""Fields of a message that may hold reasoning, in order of precedence. vLLM uses the first now."""
CUT_OFF = frozenset({
    "length", "max_tokens", "max_length", "max_new_tokens", "max_output_tokens", "max_completion_tokens",
    "model_length", "token_limit", "incomplete", "model_context_window_exceeded",
})  # fmt: skip
"""Reasons to finish, in small letters, with which servers say that the answer is not whole."""
WITHHELD = frozenset({
    "content_filter", "content_filtered", "refusal", "safety", "recitation", "blocklist", "prohibited_content",
    "spii", "image_safety", "sensitive", "guardrail_intervened",
})  # fmt: skip
"""Reasons to finish, in small letters, with which servers say that the text is no answer."""
_THOUGHT_PARTS = frozenset({"thinking", "thought", "reasoning", "reasoning_content", "redacted_thinking"})
_THOUGHT_TEXTS = ("text", "thinking", "reasoning", "reasoning_content", "thought", "summary", "content")
_PARSED_PARTS = {"tool_use": "input", "json": "json", "output_json": "json"}
_PART_TEXTS = ("text", "output_text", "content", "value")
_MOST_NESTED = 8
NO_COMPLETION = "no chat completion (does the address end in /v1?)"


@dataclass(frozen=True)
class Completion:
    """One chat completion."""

    text: str
    """What the model wrote outside of its thought. The answer is in it: see `find_answer`."""
    reasoning: str
    usage: Usage
    is_cut_off: bool = False
    """Whether the answer reached its maximum length."""
    is_withheld: bool = False
    """Whether the endpoint filtered the answer or the model refused it. The text is no answer."""
    model: str = ""
    """Name of the model that answered, as the server gives it; "" if it gives none."""
    has_usage: bool = False
    """Whether the server counted tokens at all."""


def completion_in(page: bytes) -> Completion:
    """Return the completion in the body of an answer, also in a stream of events.

    Raises:
        HttpFailure: If it holds an error or something else.
    """
    body: Any = None
    try:
        body = joined(page) if EVENTS.match(page) else parsed(page)
        return read_completion(body)
    except ValueError as error:
        is_foreign = not isinstance(body, dict) or "choices" not in body
        raise HttpFailure(f"returned {error}", is_foreign=is_foreign) from error


def error_in(body: Mapping[str, Any], choice: Mapping[str, Any]) -> HttpFailure | None:
    """Return the failure of a completion that holds an error in place of an answer, or None."""
    elsewhere = {} if body.get("choices") else {name: body[name] for name in NESTED[1:] if body.get(name)}
    error = choice.get("error") or body.get("error") or (body.get("object") == "error" and body) or elsewhere
    if not error:
        return None
    codes = [each.get(name) for each in (error, body) if isinstance(each, dict) for name in ("code", "status")]
    code = next((int(str(each)) for each in codes if str(each).isdecimal() and 400 <= int(str(each)) < 600), 0)
    return failure_of(code, {}, json.dumps(error if choice else body).encode(), is_in_success=True)


EVENTS = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*(?::|(?:data|event|id|retry):)")
"""The beginning of a stream of server-sent events; no JSON begins so."""


def joined(page: bytes) -> Any:
    """Return the chat completion whose parts a stream sends; an error in it as it is.

    Raises:
        ValueError: If an event is not JSON, or nested too deeply; if there is too much of it.
    """
    whole, message = dict[str, Any](), dict[str, Any]()
    texts: dict[str, list[str]] = {}  # joined once: adding each part to the text so far takes time that grows squared
    tools: dict[Any, tuple[dict[str, Any], list[str]]] = {}
    choice: dict[str, Any] = {"index": 0, "message": message}
    for number, text in enumerate(_events(page)):
        if len(text) > limits.JSON:
            raise ValueError(limits.too_long("an event", limits.JSON))
        if number == limits.EVENTS:
            raise ValueError(f"a stream of more than {limits.EVENTS:,} events")
        try:
            event = json.loads(text)
        except RecursionError as error:
            raise ValueError("an event that is nested too deeply") from error
        if not isinstance(event, dict) or event.get("error"):
            return event
        choices = event.get("choices")
        part = _object(choices[0] if isinstance(choices, list) and choices else None)
        for name, value in _object(part.get("delta") or part.get("message")).items():
            if name == "tool_calls" and isinstance(value, list):
                _add_tools(tools, value)
            elif isinstance(value, str) and name != "role":
                texts.setdefault(name, []).append(value)
            elif value is not None or name not in message:
                message[name] = value
        choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
        whole.update({name: value for name, value in event.items() if name != "choices" and value is not None})
    message.update({name: "".join(parts) for name, parts in texts.items()})
    if tools:
        message["tool_calls"] = [{**call, "function": {"arguments": "".join(parts)}} for call, parts in tools.values()]
    return {**whole, "choices": [choice]}


def _events(page: bytes) -> Iterator[str]:
    """Yield the data of each event of a stream, as the standard writes it.

    Lines end in CR, LF or both, after a byte order mark perhaps. The lines `data:` up to a blank
    one are an event; all others say nothing of the answer. Some gateways leave the blank line out,
    or send their comments as data.
    """
    data = list[str]()
    lines = page.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for line in chain(io.BytesIO(lines), (b"\n",)):  # one after the other: millions at once take much memory
        if line.startswith(b"data:"):
            data.append(line[5:].decode(errors="replace").strip())
        elif line == b"\n" and data:
            texts = data if all(each[:1] in ("{", ":", "[", "") for each in data) else ["\n".join(data)]
            yield from (text for text in texts if text not in ("", "[DONE]") and not text.startswith(":"))
            data = []


def _add_tools(tools: dict[Any, tuple[dict[str, Any], list[str]]], parts: list[Any]) -> None:
    """Add parts of tool calls to those so far, by their index."""
    for number, part in enumerate(map(_object, parts)):
        index = part.get("index")
        _, arguments = tools.setdefault(index if isinstance(index, int) else number, (part, []))
        text = _object(part.get("function")).get("arguments")
        arguments.append(text if isinstance(text, str) else _json(text))


def estimated_usage(request: Request, completion: Completion, family: Family) -> Usage:
    """Return the estimated usage of an attempt whose tokens the endpoint did not count.

    A token stands for four characters of text, or for a square of the family's patch in an image.
    """
    texts = (part for message in request.messages for part in message.parts if isinstance(part, str))
    image_tokens = sum(
        -(-image.size[0] // family.patch) * -(-image.size[1] // family.patch) for image in request.images
    )
    thought = -(-len(completion.reasoning) // CHARACTERS_A_TOKEN)
    return Usage(
        calls=1,
        prompt_tokens=sum(map(len, texts)) // CHARACTERS_A_TOKEN + image_tokens,
        image_tokens=image_tokens,
        completion_tokens=-(-len(completion.text) // CHARACTERS_A_TOKEN) + thought,
        reasoning_tokens=thought,
        estimated=True,
    )


def read_completion(body: Any) -> Completion:
    """Read the parsed body of a chat completion.

    Raises:
        HttpFailure: If it holds an error in place of an answer, with the server's own words.
        ValueError: If it is something else. The message continues "the server returned …".
    """
    body = body[0] if isinstance(body, list) and body else body
    if not isinstance(body, dict):
        raise ValueError(NO_COMPLETION)
    choices = body.get("choices")
    choice = _object(choices[0] if isinstance(choices, list) and choices else None)
    message = _object(choice.get("message") or choice.get("delta"))
    text, thought = _content(message.get("content"))
    split = _split(text)
    if not split.text.strip() and (elsewhere := _text_elsewhere(choice, message)):
        thought = "\n".join(filter(None, (split.thought, thought)))
        split = _split(elsewhere)
    reasoning = "\n".join(filter(None, (split.thought, thought or _reasoning(message))))
    if not split.text.strip() and not reasoning:
        if (failure := error_in(body, choice)) is not None:
            raise failure
        if not isinstance(choices, list):
            raise ValueError(NO_COMPLETION)
    finish_reason = _finish_reason(choice)
    counts = _object(body.get("usage"))
    return Completion(
        split.text,
        reasoning,
        _usage(counts),
        is_cut_off=finish_reason in CUT_OFF or (split.is_open and finish_reason not in ("stop", "eos", "end_turn")),
        is_withheld=finish_reason in WITHHELD or _is_refused(message),
        model=_clean(body.get("model"))[: limits.NAME],
        has_usage=any(_count(counts, *names) for names in (_PROMPT, _COMPLETION)),
    )


def _split(text: str) -> Split:
    """Split a text that is not too long to be searched."""
    if len(text) > limits.TEXT:
        raise ValueError(limits.too_long("an answer", limits.TEXT))
    return split_thought(text)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _clean(text: object) -> str:
    """Return text that can be stored: without lone surrogates, and "" for what is not text."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else ""


def _content(content: Any) -> tuple[str, str]:
    """Return the text and the thought in a message's content: a string, parts, or an object."""
    is_part = isinstance(content, dict) and isinstance(content.get("type"), str)
    if isinstance(content, dict) and not (is_part and content.keys() & {*_PART_TEXTS, *_THOUGHT_TEXTS}):
        return _json(content), ""  # parsed already
    found = list(_texts(content))
    texts, thoughts = ([text for is_thought, text in found if is_thought is wanted] for wanted in (False, True))
    return "".join(texts), "\n".join(thoughts)


def _texts(value: Any, is_thought: bool = False, depth: int = 0) -> Iterator[tuple[bool, str]]:
    """Yield the texts of a string, a list of parts, or a part, and whether each is thought.

    An object without a type is an answer that the server has parsed.
    """
    if isinstance(value, str):
        yield is_thought, _clean(value)
    elif isinstance(value, list) and depth < _MOST_NESTED:
        for part in value:
            yield from _texts(part, is_thought, depth + 1)
    elif isinstance(value, dict) and depth < _MOST_NESTED:
        kind = str(value.get("type"))
        is_thought = is_thought or kind in _THOUGHT_PARTS or value.get("thought") is True
        if not is_thought and (kind in _PARSED_PARTS or not value.keys() & {"type", "text"}):
            yield False, _json(value.get(_PARSED_PARTS[kind]) if kind in _PARSED_PARTS else value)
            return
        held = next((value[name] for name in (_THOUGHT_TEXTS if is_thought else _PART_TEXTS) if value.get(name)), None)
        held = held.get("value") if isinstance(held, dict) and not is_thought else held
        yield from _texts(held, is_thought, depth + 1)


def _json(value: Any) -> str:
    """Return a value that a server parsed as the JSON it was; a string as it is."""
    if isinstance(value, str) or value is None:
        return _clean(value)
    try:
        return _clean(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return ""


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a server reports apart from the answer."""
    found = ("".join(text for _, text in _texts(message.get(field), True)) for field in REASONING_FIELDS)
    return next(filter(None, found), "")


def _text_elsewhere(choice: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    """Return the text of a choice whose message has no content."""
    return _tool_arguments(message) or _clean(choice.get("text")) or _clean(choice.get("message"))


def _tool_arguments(message: Mapping[str, Any]) -> str:
    """Return the arguments of the tools that a message calls: a model may answer in this way."""
    calls = message.get("tool_calls")
    functions = [_object(call).get("function") or call for call in calls] if isinstance(calls, list) else []
    functions.append(message.get("function_call"))
    found = (_object(function).get("arguments") or _object(function).get("input") for function in functions)
    return "\n".join(text for arguments in found if (text := _json(arguments)))


def _finish_reason(choice: Mapping[str, Any]) -> str:
    """Return why the answer ended, in small letters."""
    for name in ("finish_reason", "native_finish_reason", "stop_reason"):
        reason = choice.get(name)
        reason = reason.get("type") if isinstance(reason, dict) else reason
        if isinstance(reason, str) and reason:
            return reason.lower().replace("-", "_")
    return ""


def _is_refused(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return bool(message.get("refusal")) or any(_object(part).get("type") == "refusal" for part in parts)


_PROMPT = ("prompt_tokens", "input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens")
_THOUGHTS = ("reasoning_tokens", "thinking_tokens", "thoughts_token_count")


def _usage(counts: Mapping[str, Any]) -> Usage:
    """Return the usage of a completion. A count that cannot be right is reduced, or counts as 0."""
    details = _object(counts.get("prompt_tokens_details") or counts.get("input_tokens_details"))
    by_modality = details.get("multimodal_tokens")
    prompt = _count(counts, *_PROMPT)
    images = by_modality if isinstance(by_modality, dict) else details
    cached = _count(details, "cached_tokens") or _count(counts, "cached_tokens", "prompt_cache_hit_tokens")
    completion, thought = _generated(counts, prompt)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        cached_tokens=min(prompt, cached),
        image_tokens=min(prompt, _count(images, "image", "image_tokens")),
        completion_tokens=completion,
        reasoning_tokens=thought,
    )


def _generated(counts: Mapping[str, Any], prompt: int) -> tuple[int, int]:
    """Return how many tokens the model generated, and how many of them for its thought.

    Most servers count the thought among the completion tokens. Gemini and Grok count it beside
    them: then their total is larger than prompt and completion together, and the difference is
    thought.
    """
    details = _object(counts.get("completion_tokens_details") or counts.get("output_tokens_details"))
    completion = _count(counts, *_COMPLETION)
    thought = _count(details, *_THOUGHTS) or _count(counts, *_THOUGHTS)
    beside = _count(counts, "total_tokens") - prompt - completion
    if prompt and beside > 0:
        return completion + beside, min(thought or beside, completion + beside)
    return completion, min(thought, completion)


def _count(counts: Mapping[str, Any], *names: str) -> int:
    """Return the first plausible count under one of the names, or 0."""
    found = (counts.get(name) for name in names)
    return next((count for count in found if type(count) is int and 0 < count < 2**40), 0)
