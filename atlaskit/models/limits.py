"""How much of what an endpoint sends is read, in bytes: the one place with these limits.

What is longer than its limit is refused with an error that names the limit, or cut before it is
searched. So whatever a stranger sends, to read it takes at most two seconds and 200 MB.
"""

from __future__ import annotations

ANSWER = 8_000_000
"""The body of an answer: an event stream needs some 250 bytes a token."""
JSON = 4_000_000
"""One text of JSON. Small objects take fifty times their text in memory."""
TEXT = 1_000_000
"""What a model wrote: the text that is searched for the answer."""
ERROR = 1_000_000
"""The body of an error: some servers send back what they refuse."""
WORDS = 4_000
"""An error's words, and its body, where they are searched for what they mean."""
HEADER = 1_000
"""The value of a header."""
NAME = 1_000
"""The name of a model, in a list or a reply."""
EVENTS = 200_000
"""Events of a stream; a count, not bytes."""


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, at most so many bytes of it in UTF-8."""
    return text[:most].encode("utf-8", "replace")[:most].decode(errors="ignore")


def too_long(what: str, most: int) -> str:
    """Return what to say of a thing, with its article, that is larger than its limit."""
    return f"{what} that is too long (more than {most:,} bytes)"
