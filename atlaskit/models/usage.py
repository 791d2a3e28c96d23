"""What model calls cost (`Usage`) and how long they took (`Transit`)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

CHARACTERS_A_TOKEN = 4
"""Characters of text a token, roughly: for estimates where no server counts tokens."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What model calls cost. Usages can be added.

    Counts that an endpoint does not report are 0.

    Attributes:
        calls: Attempts (HTTP exchanges), the failed ones included.
        prompt_tokens: Tokens of the prompts, images included.
        completion_tokens: Tokens that the model generated.
    """

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the server found in its prefix cache."""
    image_tokens: int = 0
    """Prompt tokens that encode images."""
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    """Completion tokens that the model spent on its thought."""
    estimated: bool = False
    """Whether a token count is an estimate, as an oracle's are."""

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
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            estimated=self.estimated or other.estimated,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON values.

        Reasoning tokens are left out where there are none, as in what earlier versions wrote.
        """
        return {name: count for name, count in vars(self).items() if count or name != "reasoning_tokens"}

    @classmethod
    def from_json(cls, counts: Any) -> Usage:
        """Read what `to_json` wrote.

        Raises:
            ValueError: For anything else; an imported cache may hold any JSON value.
        """
        if not isinstance(counts, dict) or counts.keys() | {"reasoning_tokens"} != COUNT_TYPES.keys():
            raise ValueError("the fields are not those of a usage")
        if not all(type(count) is COUNT_TYPES[name] and 0 <= count < 2**53 for name, count in counts.items()):
            raise ValueError("a count of a usage must be an integer from 0 to 2^53 − 1")
        return cls(**counts)


COUNT_TYPES = {each.name: bool if each.name == "estimated" else int for each in fields(Usage)}
"""The type of each count as JSON."""


@dataclass(frozen=True, kw_only=True)
class Transit:
    """How long a call took and what it sent. All zero for a reply from the cache."""

    queue_s: float = 0.0
    """Seconds the call waited for the limiter to admit its requests."""
    wall_s: float = 0.0
    """Seconds from the start of the call to its reply, with queueing, retries and their pauses."""
    sent_bytes: int = 0
    """Bytes of all request bodies."""
