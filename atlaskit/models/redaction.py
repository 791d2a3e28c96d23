"""`Redaction`: hides keys where an endpoint repeats them, in whatever spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable

SHORTEST = 8
"""Characters of a secret that is hidden; shorter ones, such as "EMPTY", only fill a field in."""
SECRET_NAMES = re.compile(r"key|auth|token|secret|cookie|pass|cred|sign", re.IGNORECASE)
"""Names of headers whose values are secrets."""
HIDDEN = b"***"


class Redaction:
    """Hides secrets in bytes and texts: as they are, or escaped for JSON, URLs or HTML."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Prepare to hide some secrets; those that are too short are left."""
        longest_first = sorted({secret for secret in secrets if len(secret) >= SHORTEST}, key=len, reverse=True)
        patterns = ["".join(map(_spellings, secret)) for secret in longest_first]
        self._pattern = re.compile("|".join(patterns).encode(), re.IGNORECASE) if patterns else None

    def page(self, page: bytes) -> bytes:
        """Return bytes without the secrets."""
        return self._pattern.sub(HIDDEN, page) if self._pattern else page

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        if self._pattern is None:
            return text
        return self.page(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _spellings(character: str) -> str:
    """Return a pattern of the ways to write a character of a secret."""
    code = ord(character)
    escaped = rf"\\{{1,8}}(?:u00|x){code:02x}"
    entity = rf"&(?:amp;)?#(?:0{{0,4}}{code}|x0{{0,4}}{code:x});"
    return rf"(?:\\{{0,8}}{re.escape(character)}|{escaped}|%(?:25)?{code:02x}|{entity})"
