"""What model calls cost: counts that add up."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

CHARACTERS_A_TOKEN = 4
"""Of a text, where only a server could count: about."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What calls cost. `calls` counts every attempt, the failed ones too; what an endpoint does not tell counts 0."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the server had computed before."""
    image_tokens: int = 0
    """Prompt tokens that stand for images."""
    completion_tokens: int = 0
    estimated: bool = False
    """Whether a token count in here is an estimate: an oracle reads no tokens."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def effective_tokens(self) -> int:
        """Tokens the server had to compute: prompt − cached + completion."""
        return self.tokens - self.cached_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            image_tokens=self.image_tokens + other.image_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            estimated=self.estimated or other.estimated,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON values."""
        return vars(self).copy()

    @classmethod
    def from_json(cls, counts: Any) -> Usage:
        """Read what `to_json` wrote; raise ValueError for anything else, which a stranger's cache may hold."""
        names = {each.name for each in fields(cls)}
        if not isinstance(counts, dict) or counts.keys() != names:
            raise ValueError("no usage")
        kinds = {name: bool if name == "estimated" else int for name in names}
        if not all(type(count) is kinds[name] and 0 <= count < 2**53 for name, count in counts.items()):
            raise ValueError("a count is a number from 0")
        return cls(**counts)


@dataclass(frozen=True, kw_only=True)
class Transit:
    """What a call took on its way just now; nothing for one that came out of the cache."""

    queue_s: float = 0.0
    """Seconds spent waiting for a place among the requests in flight."""
    wall_s: float = 0.0
    """Seconds from asking to the answer: queue, retries and their pauses included."""
    sent_bytes: int = 0
    """Bytes of all the requests' bodies."""
