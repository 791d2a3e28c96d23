"""Joins a stream of server-sent events into the chat completion whose parts it sends.

What was read stays read: a line that is no JSON, such as "ping", says nothing of the answer, and an
error at the end does not undo the text before it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from atlaskit import limits
from atlaskit.models.http import json_of, object_of

END = re.compile(rb"^(?:data|event): *\[?(?:done|end|message_stop|completed?)\]?\s*$", re.MULTILINE | re.IGNORECASE)
WORDS = re.compile(r":.*|\[?[A-Za-z][\w .-]{0,80}\]?", re.DOTALL)
"""Data that is no part of an answer: comments, "ping", "[DONE]"."""
UNFINISHED = "unfinished"
"""Reason to finish of a stream that tells neither a reason nor its end."""


def joined(page: bytes) -> dict[str, Any]:
    """Return the chat completion whose parts a stream sends, with an error that is among them.

    Raises:
        ValueError: If an event is too long or nested too deeply, or there are too many.
    """
    whole, message = dict[str, Any](), dict[str, Any]()
    texts: dict[str, list[str]] = {}  # joined once: adding each part to the text so far takes time that grows squared
    tools: dict[Any, tuple[dict[str, Any], list[str]]] = {}
    reason, is_chat = None, False
    for number, event in enumerate(map(object_of, _events(page))):
        if number == limits.EVENTS:
            raise ValueError(f"a stream of more than {limits.EVENTS:,} events")
        choices = event.get("choices")
        is_chat = is_chat or "choices" in event
        part = object_of(choices[0] if isinstance(choices, list) and choices else None)
        for name, value in object_of(part.get("delta") or part.get("message")).items():
            if name == "tool_calls" and isinstance(value, list):
                _add_tools(tools, value)
            elif isinstance(value, str) and name != "role":
                texts.setdefault(name, []).append(value)
            elif value is not None or name not in message:
                message[name] = value
        reason = part.get("finish_reason") or reason
        whole.update({name: value for name, value in event.items() if name != "choices" and value is not None})
    if not is_chat:
        return whole
    message.update({name: "".join(parts) for name, parts in texts.items()})
    if tools:
        message["tool_calls"] = [{**call, "function": {"arguments": "".join(parts)}} for call, parts in tools.values()]
    if not reason and not END.search(page):
        reason = UNFINISHED
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def _events(page: bytes) -> Iterator[Any]:
    """Yield the data of each event of a stream, as the standard writes it.

    Lines end in CR, LF or both, after a byte order mark perhaps. The lines `data:` up to a blank
    one are an event; all others say nothing of the answer. Some gateways leave the blank line out,
    or send their comments as data.
    """
    data = list[str]()
    lines = page.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for line in chain(io.BytesIO(lines), (b"\n",)):  # one after the other: millions at once take much memory
        if line.startswith(b"data:"):
            text = line[5:].decode(errors="replace").strip()
            data += [] if not text or WORDS.fullmatch(text) else [text]
        elif line == b"\n" and data:
            whole = _event("\n".join(data))
            yield from [whole] if whole is not None else map(_event, data)
            data = []


def _event(text: str) -> Any:
    """Return the value of an event; None for one that is no JSON."""
    if len(text) > limits.JSON:
        raise ValueError(limits.too_long("an event", limits.JSON))
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("an event that is nested too deeply") from error
    except ValueError:
        return None


def _add_tools(tools: dict[Any, tuple[dict[str, Any], list[str]]], parts: list[Any]) -> None:
    """Add parts of tool calls to those so far, by their index."""
    for number, part in enumerate(map(object_of, parts)):
        index = part.get("index")
        _, arguments = tools.setdefault(index if isinstance(index, int) else number, (part, []))
        text = object_of(part.get("function")).get("arguments")
        arguments.append(json_of(text))
