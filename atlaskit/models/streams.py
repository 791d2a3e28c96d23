"""Joins a stream of server-sent events into the chat completion whose parts it sends."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from atlaskit import limits
from atlaskit.models.http import json_of, object_of

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
    for number, event in enumerate(_events(page)):
        if number == limits.EVENTS:
            raise ValueError(f"a stream of more than {limits.EVENTS:,} events")
        if not isinstance(event, dict) or event.get("error"):
            return event
        choices = event.get("choices")
        part = object_of(choices[0] if isinstance(choices, list) and choices else None)
        for name, value in object_of(part.get("delta") or part.get("message")).items():
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
            data += [] if text in ("", "[DONE]") or text.startswith(":") else [text]
        elif line == b"\n" and data:
            try:
                yield _event("\n".join(data))
            except ValueError:
                if len(data) == 1:
                    raise
                yield from map(_event, data)
            data = []


def _event(text: str) -> Any:
    if len(text) > limits.JSON:
        raise ValueError(limits.too_long("an event", limits.JSON))
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("an event that is nested too deeply") from error


def _add_tools(tools: dict[Any, tuple[dict[str, Any], list[str]]], parts: list[Any]) -> None:
    """Add parts of tool calls to those so far, by their index."""
    for number, part in enumerate(map(object_of, parts)):
        index = part.get("index")
        _, arguments = tools.setdefault(index if isinstance(index, int) else number, (part, []))
        text = object_of(part.get("function")).get("arguments")
        arguments.append(json_of(text))
