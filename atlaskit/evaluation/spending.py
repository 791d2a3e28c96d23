"""`Spending`: what an evaluation has spent of its total limits, counted call by call."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from atlaskit.agents.budget import Budget
from atlaskit.models.protocol import Usage, now_s


class TotalReached(KeyboardInterrupt):
    """Ends a question before a call that the total has no room for.

    As an interrupt it passes through methods, which go on after other errors of a model.
    """


@dataclass
class Spending:
    """The total limits of one evaluation, or of several that share them.

    A finished question counts with what its replies cost when they were generated, so that the same
    command, which finds them in the cache, ends where it ended; a question in flight, with the
    calls that it pays for now. What is prepared once a video counts once. A total is exceeded by at
    most the calls in flight, and each repetition may finish the questions that were.
    """

    limits: Budget
    _started_s: float = field(default_factory=now_s)
    _done: Counter[str] = field(default_factory=Counter)
    _running: dict[int, Counter[str]] = field(default_factory=dict)
    _videos: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, question: int, usage: Usage) -> None:
        """Count a call of a question in flight."""
        with self._lock:
            self._running.setdefault(question, Counter()).update(self._amounts(usage))

    def settle(self, question: int, total: Usage, per_video: Usage, video: str) -> None:
        """Count a finished question in place of its calls.

        Args:
            question: The number under which its calls were added.
            total: What it needed, the preparation of its video included.
            per_video: What that preparation took.
            video: What shares the preparation.
        """
        with self._lock:
            self._running.pop(question, None)
            self._done.update(self._amounts(total))
            if video in self._videos:
                self._done.subtract(self._amounts(per_video))
            self._videos.add(video)

    @property
    def reached(self) -> str:
        """The limit that is reached, in words; "" if none is."""
        with self._lock:
            spent = sum(self._running.values(), Counter(self._done))
        spent["seconds"] = now_s() - self._started_s  # type: ignore[assignment]
        for name, limit in vars(self.limits).items():
            if name != "prices" and limit is not None and spent[name] >= limit:
                return f"{limit:,} {name.replace('_', ' ').replace('usd', 'USD')}"
        return ""

    def check(self) -> None:
        """Raise TotalReached if a limit is reached."""
        if self.reached:
            raise TotalReached

    def _amounts(self, usage: Usage) -> dict[str, Any]:
        amounts: dict[str, Any] = {"calls": usage.calls}
        return amounts | dict(self.limits.amounts(usage))
