"""Prompt parts that several calls share: system message, question, request for a decision."""

from __future__ import annotations

from atlaskit.models.protocol import Image, Message

DECIDE = (
    "Decide. Weigh each possible answer by the frames that support it and those that contradict it, then give the "
    "answer that what is seen supports best. Words that merely sound like an answer prove nothing."
)


def brief(role: str, *parts: str | Image) -> tuple[Message, ...]:
    """Return the first messages of a conversation: the role as system message, then the request."""
    return Message("system", (role,)), Message("user", parts)
