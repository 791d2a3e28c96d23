"""`EndpointMemory`: keeps what a client learned of its endpoint in the cache, for later runs.

Habits are about one address and belong to this machine. Which model answered is part of the keys of
its replies, so a recording of a run holds it too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind, is_json
from atlaskit.models.habits import Habits

HABITS = Kind("habits", 1)
"""What an endpoint turned out to refuse or to need, asked for a model."""
ANSWERED = Kind("answered", 1, is_json(str))
"""The name of the model that answered at an address, asked for a model."""


@runtime_checkable
class Adaptive(Protocol):
    """A model that learns what its endpoint refuses or needs: `ak.VLM`."""

    name: str
    base_url: str
    habits: Habits


class EndpointMemory:
    """The habits of one model at one address, in memory and in the cache."""

    def __init__(self, model: Adaptive, cache: Cache) -> None:
        """Give the model what the cache knows, unless it has learned something itself."""
        self._model, self._cache = model, cache
        self._habits_key = HABITS.key(address=model.base_url, model=model.name)
        self._answered_key = ANSWERED.key(address=model.base_url, model=model.name)
        stored = Habits.from_json(cache.get_json(self._habits_key))
        answered = cache.get_json(self._answered_key)
        self._saved = replace(stored, answered=answered if isinstance(answered, str) else "")
        if model.habits == Habits():
            model.habits = self._saved

    def answered(self) -> str:
        """Return the model that answers in place of the one that is asked; "" if that one does."""
        return self._model.habits.answered

    def save(self) -> None:
        """Store what the model has learned since."""
        habits, saved = self._model.habits, self._saved
        if habits == saved:
            return
        if habits.answered != saved.answered:
            self._cache.put_json(self._answered_key, habits.answered)
        if replace(habits, answered=saved.answered) != saved:
            self._cache.put_json(self._habits_key, habits.to_json())
        self._saved = habits
