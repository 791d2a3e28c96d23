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
        ValueError: If an event is not JSON, or nested too deeply.
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}  # joined once: adding each part to the text so far takes time that grows squared
    choice: dict[str, Any] = {"index": 0, "message": message}
    for line in page.decode(errors="replace").splitlines():
        field, _, data = line.partition(":")
        if field.strip() != "data" or data.strip() in ("", "[DONE]"):
            continue
        try:
            event = json.loads(data)
        except RecursionError as error:
            raise ValueError("an event that is nested too deeply") from error
        if not isinstance(event, dict) or event.get("error"):
            return event
        choices = event.get("choices")
        part = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        delta = part.get("delta") or part.get("message")
        for name, value in delta.items() if isinstance(delta, dict) else ():
            if isinstance(value, str) and name != "role":
                texts.setdefault(name, []).append(value)
            elif value is not None or name not in message:
                message[name] = value
        choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
        whole.update({name: value for name, value in event.items() if name != "choices" and value is not None})
    message.update({name: "".join(parts) for name, parts in texts.items()})
    return {**whole, "choices": [choice]}
