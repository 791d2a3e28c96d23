"""Parses the body of a chat completion: answer, separate reasoning, token counts; repairs known
deviations.

Servers deviate from the protocol in many ways, so nothing in the body is taken for granted: a field
that is missing or has another type counts as empty. Each deviation that is repaired has a function
of its own here. Knows nothing of connections and retries.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atlaskit.models.usage import Usage

REASONING_FIELDS = ("reasoning", "reasoning_content")
"""Fields of a message that may hold reasoning, in order of precedence. vLLM uses the first now."""


@dataclass(frozen=True)
class Completion:
    """One chat completion."""

    text: str
    """The answer, without reasoning and Markdown fence."""
    reasoning: str
    usage: Usage
    is_cut_off: bool = False
    """Whether the answer reached its maximum length."""
    is_withheld: bool = False
    """Whether the endpoint filtered the answer or the model refused it. The text is no answer."""


def read_completion(body: Any) -> Completion:
    """Read the parsed body of a chat completion.

    Raises:
        ValueError: If the body is not a chat completion.
    """
    if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
        raise ValueError("no chat completion (does the address end in /v1?)")
    choice = _object(body["choices"][0] if body["choices"] else None)
    message = _object(choice.get("message"))
    text, inline_reasoning = _split_reasoning(_clean(message.get("content")))
    finish_reason, is_refused = choice.get("finish_reason"), bool(message.get("refusal"))
    return Completion(
        _escape_control_characters(_without_fence(text)),
        inline_reasoning + _reasoning_field(message),
        _usage(body.get("usage")),
        is_cut_off=finish_reason == "length",
        is_withheld=finish_reason == "content_filter" or is_refused,
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _clean(text: object) -> str:
    """Return text that can be stored: without lone surrogates, and "" for what is not text."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else ""


def _reasoning_field(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a server reports apart from the answer."""
    return next((text for field in REASONING_FIELDS if (text := _clean(message.get(field)))), "")


def _split_reasoning(text: str) -> tuple[str, str]:
    """Split text into the answer and the reasoning before it, whose opening tag may be missing."""
    reasoning, tag, answer = text.rpartition("</think>")
    if not tag or text.lstrip().startswith("{"):
        return text, ""
    return answer, reasoning.strip().removeprefix("<think>").strip()


def _without_fence(text: str) -> str:
    """Return the content of a Markdown fence, which models put around JSON without a grammar."""
    found = re.fullmatch(r"\s*```(?:json)?\s*(.*?)\s*```\s*", text, re.DOTALL)
    return found[1] if found else text


def _escape_control_characters(text: str) -> str:
    """Escape raw control characters in the strings of JSON; return any other text unchanged.

    A grammar with `maxLength` lets a model write them (mlc-ai/xgrammar#800). JSON forbids them.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        with contextlib.suppress(ValueError, RecursionError):
            return _clean(json.dumps(json.loads(text, strict=False), ensure_ascii=False))
    return text


def _usage(counts: Any) -> Usage:
    """Return the usage of a completion. A count that cannot be right is reduced, or counts as 0."""
    counts = _object(counts)
    details = _object(counts.get("prompt_tokens_details"))
    by_modality = details.get("multimodal_tokens")
    prompt = _count(counts, "prompt_tokens")
    images = by_modality if isinstance(by_modality, dict) else details
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        cached_tokens=min(prompt, _count(details, "cached_tokens")),
        image_tokens=min(prompt, _count(images, "image", "image_tokens")),
        completion_tokens=_count(counts, "completion_tokens"),
    )


def _count(counts: Mapping[str, Any], *names: str) -> int:
    """Return the first plausible count under one of the names, or 0."""
    found = (counts.get(name) for name in names)
    return next((count for count in found if type(count) is int and 0 < count < 2**40), 0)
