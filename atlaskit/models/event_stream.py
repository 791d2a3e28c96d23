"""Joins an answer that a gateway streams although no stream was asked for (server-sent events)."""

from __future__ import annotations

import json
from typing import Any


def is_event_stream(page: bytes) -> bool:
    """Return whether a body is a stream of server-sent events."""
    return page.lstrip()[:6] in (b"data: ", b"event:") or page.lstrip().startswith(b"data:{")


def joined(page: bytes) -> Any:
    """Return the chat completion whose parts a stream sends; an error in it as it is.

    Raises:
        ValueError: If an event is not JSON.
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {}
    choice: dict[str, Any] = {"index": 0, "message": message}
    for line in page.decode(errors="replace").splitlines():
        field, _, data = line.partition(":")
        if field.strip() != "data" or data.strip() in ("", "[DONE]"):
            continue
        event = json.loads(data)
        if not isinstance(event, dict) or event.get("error"):
            return event
        choices = event.get("choices")
        part = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        delta = part.get("delta") or part.get("message")
        for name, value in delta.items() if isinstance(delta, dict) else ():
            is_more = isinstance(value, str) and isinstance(message.get(name), str) and name != "role"
            message[name] = message[name] + value if is_more else value if value is not None else message.get(name)
        choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
        whole.update({name: value for name, value in event.items() if name != "choices" and value is not None})
    return {**whole, "choices": [choice]}
