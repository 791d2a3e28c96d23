"""Parses the body of a chat completion: answer, separate reasoning, token counts; repairs known
deviations.

Servers deviate from the protocol in many ways, so nothing in the body is taken for granted: a field
that is missing or has another type counts as empty. Each deviation that is repaired has a function
of its own here. Knows nothing of connections, retries and the schema of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from atlaskit.errors import printable
from atlaskit.models.protocol import Usage
from atlaskit.models.thoughts import split_thought

REASONING_FIELDS = ("reasoning", "reasoning_content", "reasoning_details", "thinking", "thinking_blocks", "thought")
"""Fields of a message that may hold reasoning, in order of precedence. vLLM uses the first now."""
CUT_OFF = frozenset(
    {
        "length",
        "max_tokens",
        "max_length",
        "max_new_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "model_length",
        "token_limit",
        "incomplete",
        "model_context_window_exceeded",
    }
)
"""Reasons to finish, in small letters, with which servers say that the answer is not whole."""
WITHHELD = frozenset(
    {
        "content_filter",
        "content_filtered",
        "refusal",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "image_safety",
        "sensitive",
        "guardrail_intervened",
    }
)
"""Reasons to finish, in small letters, with which servers say that the text is no answer."""
_THOUGHT_PARTS = frozenset({"thinking", "thought", "reasoning", "reasoning_content", "redacted_thinking"})
_THOUGHT_TEXTS = ("text", "thinking", "reasoning", "reasoning_content", "thought", "summary", "content")
_PART_TEXTS = ("text", "output_text", "content", "value")
_MOST_NESTED = 8
_MOST_QUOTED = 300
"""Characters of a server's own words that are quoted."""


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
    thought_only: bool = False
    """Whether there is a thought and no text outside of it."""


def read_completion(body: Any) -> Completion:
    """Read the parsed body of a chat completion.

    Raises:
        ValueError: If the body is not a chat completion. The message continues the sentence "the
            server returned …", and quotes the server's own words if it gave any.
    """
    if not isinstance(body, dict):
        raise ValueError("no chat completion (does the address end in /v1?)")
    choices = body.get("choices")
    choice = _object(choices[0] if isinstance(choices, list) and choices else None)
    message = _object(choice.get("message") or choice.get("delta"))
    text, thought = _content(message.get("content"))
    split = split_thought(text)
    if not split.text.strip() and (elsewhere := _text_elsewhere(choice, message)):
        thought = "\n".join(filter(None, (split.thought, thought)))
        split = split_thought(elsewhere)
    reasoning = "\n".join(filter(None, (split.thought, thought or _reasoning_field(message))))
    if not split.text.strip() and not reasoning:
        _check_fault(body, choice)
    finish_reason = _finish_reason(choice)
    counts = _object(body.get("usage"))
    return Completion(
        split.text,
        reasoning,
        _usage(counts),
        is_cut_off=finish_reason in CUT_OFF or (split.is_open and finish_reason not in ("stop", "eos", "end_turn")),
        is_withheld=finish_reason in WITHHELD or _is_refused(message),
        model=_clean(body.get("model")),
        has_usage=any(_count(counts, *names) for names in (_PROMPT, _COMPLETION)),
        thought_only=bool(reasoning) and not split.text.strip(),
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _clean(text: object) -> str:
    """Return text that can be stored: without lone surrogates, and "" for what is not text."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else ""


def _content(content: Any) -> tuple[str, str]:
    """Return the text and the thought in a message's content: a string, parts, or an object."""
    if isinstance(content, dict) and not _is_part(content):
        return _json(content), ""  # parsed already
    if not isinstance(content, dict | list):
        return _clean(content), ""
    texts, thoughts = list[str](), list[str]()
    for part in [content] if isinstance(content, dict) else content:
        if isinstance(part, dict) and (str(part.get("type")) in _THOUGHT_PARTS or part.get("thought") is True):
            thoughts.extend(_strings(part))
        elif isinstance(part, dict):
            texts.append(_part_text(part))
        else:
            texts.append(_clean(part))
    return "".join(texts), "\n".join(thoughts)


def _is_part(value: dict[str, Any]) -> bool:
    return isinstance(value.get("type"), str) and any(name in value for name in (*_PART_TEXTS, *_THOUGHT_TEXTS))


def _part_text(part: dict[str, Any]) -> str:
    """Return the text of a part that is no thought. An object without a type is an answer."""
    if part.get("type") == "tool_use":
        return _json(part.get("input"))
    if part.get("type") in ("json", "output_json"):
        return _json(part.get("json"))
    if "type" not in part and "text" not in part:
        return _json(part)
    found = next((part[name] for name in _PART_TEXTS if part.get(name)), "")
    return _clean(found.get("value")) if isinstance(found, dict) else _clean(found)


def _json(value: Any) -> str:
    """Return a value that a server parsed as the JSON it was; a string as it is."""
    if isinstance(value, str) or value is None:
        return _clean(value)
    try:
        return _clean(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return ""


def _reasoning_field(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a server reports apart from the answer."""
    found = ("".join(_strings(message.get(field))) for field in REASONING_FIELDS)
    return next((text for text in found if text), "")


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts of a thought: a string, a list of parts, or a part that holds either."""
    if isinstance(value, str):
        yield _clean(value)
    elif isinstance(value, list) and depth < _MOST_NESTED:
        for part in value:
            yield from _strings(part, depth + 1)
    elif isinstance(value, dict) and depth < _MOST_NESTED:
        held = next((value[name] for name in _THOUGHT_TEXTS if isinstance(value.get(name), str | list | dict)), None)
        yield from _strings(held, depth + 1)


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


def _check_fault(body: Mapping[str, Any], choice: Mapping[str, Any]) -> None:
    """Raise ValueError if a completion without an answer is the report of an error."""
    has_choices = isinstance(body.get("choices"), list)
    told = [choice.get("error"), body.get("error")]
    if not choice:
        told += [body.get(name) for name in ("errors", "detail", "message")]
    words = next((words for each in told if (words := _words(each))), "")
    if words:
        raise ValueError(f"an error in place of an answer: {words}")
    if body.get("error") or choice.get("error"):
        raise ValueError("an error in place of an answer, without a reason")
    if "choices" in body and not has_choices:
        raise ValueError("a completion without choices, and without a reason")
    if not has_choices:
        raise ValueError("no chat completion (does the address end in /v1?)")


def _words(told: Any) -> str:
    """Return the words of an error in a body, on one line; "" if it has none."""
    if isinstance(told, list):
        told = told[0] if told else None
    for _ in range(3):
        if not isinstance(told, dict):
            break
        told = next(
            (told[name] for name in ("message", "msg", "error", "detail", "reason", "code") if told.get(name)), ""
        )
    text = str(told) if type(told) in (str, int) else ""
    return printable(" ".join(_clean(text).split()), _MOST_QUOTED)


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
