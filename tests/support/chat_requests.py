"""What the body of a request contains, as a server sees it."""

import email.parser
import email.policy
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any


def parts_of(body: dict[str, Any]) -> Iterator[str | dict[str, Any]]:
    """Iterate over the texts and images of all messages."""
    for message in body["messages"]:
        content = message["content"]
        yield from [content] if isinstance(content, str) else content


def names_images(body: dict[str, Any]) -> bool:
    """Return whether an image is sent as a uuid without its bytes."""
    return any(part.get("image_url", part) is None for part in parts_of(body) if isinstance(part, dict))


def has_evidence(body: dict[str, Any]) -> bool:
    """Return whether the request is of a worker that has added evidence in its region."""
    texts = [part if isinstance(part, str) else part.get("text", "") for part in parts_of(body)]
    return any(re.search("^(Kept:|- kept)", text, re.MULTILINE) for text in texts)


def identity(body: dict[str, Any]) -> str:
    """Return a hash of the request that does not depend on how its images are sent."""
    parts = [part if isinstance(part, str) else part.get("uuid") or part["text"] for part in parts_of(body)]
    return hashlib.sha256(json.dumps([body["model"], body["response_format"], parts]).encode()).hexdigest()


def form(content_type: str, body: bytes) -> dict[str, bytes]:
    """Parse a form with the standard library."""
    page = f"Content-Type: {content_type}\r\n\r\n".encode() + body
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(page)
    return {
        str(part.get_param("name", header="content-disposition")): bytes(part.get_payload(decode=True))
        for part in message.iter_parts()
    }
