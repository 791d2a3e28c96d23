"""`Habits`: what an endpoint turned out to do or refuse, beside what its dialect declares.

They are learned from its answers, once: no later call is wasted on the same habit. A client keeps
them for its life, and the cache keeps them for the next one (`cached`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Habits:
    """What was learned of an endpoint and one of its models."""

    needs_words: bool = False
    """Whether it answers past the schema, unless that is told in words too."""
    thinks: bool = False
    """Whether it thinks although its name does not say so, and needs room for that."""
    refused: tuple[str, ...] = ()
    """Fields that it refuses by name. They are left out."""
    length: str = ""
    """The name that it wants for the limit on an answer's length; "" for the dialect's."""
    most_tokens: int = 0
    """Most tokens of an answer that it accepts; 0 if it has not said."""
    answered: str = ""
    """The model that answers in place of the one that is asked for; "" if that one does."""

    def to_json(self) -> dict[str, Any]:
        """Return the habits as plain JSON values, without `answered`, which is kept apart."""
        return {name: value for name, value in vars(self).items() if name != "answered"} | {
            "refused": list(self.refused)
        }

    @classmethod
    def from_json(cls, stored: Any) -> Habits:
        """Read what `to_json` wrote; anything else, which a cache may hold, counts as nothing."""
        default = cls()
        if not isinstance(stored, dict) or stored.keys() != default.to_json().keys():
            return default
        refused = stored["refused"]
        if not isinstance(refused, list) or not all(isinstance(each, str) for each in refused):
            return default
        kinds = {name: type(value) for name, value in default.to_json().items() if name != "refused"}
        if not all(type(stored[name]) is kind for name, kind in kinds.items()):
            return default
        return cls(**{**stored, "refused": tuple(refused)})
