"""`Snapshot`: the state of a run after each event, made from the events alone, for displays.

Each snapshot follows from the one before and an event. This module does not draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from atlaskit.environment.memory import Scratchpad
from atlaskit.models.protocol import Usage
from atlaskit.runs.events import Call, Event, Failure, Report, Start, Step
from atlaskit.runs.narrate import counted, percent
from atlaskit.runs.replay import Memory, after
from atlaskit.runs.result import searched

MAX_LATEST = 12
"""Most events that a snapshot holds: the latest."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a run after some of its events."""

    start: Start | None = None
    """The run's first event; None before it."""
    count: int = 0
    """Number of events so far."""
    latest: tuple[Event, ...] = ()
    """The last events, in the order in which they happened."""
    round: int = 0
    calls: int = 0
    tokens: int = 0
    memory: Memory = Memory()
    unmerged: tuple[Step, ...] = ()
    """Steps of visits that are in progress: the Master has not merged what they found."""

    @property
    def question(self) -> str:
        """The text of the question; empty before the start."""
        return "" if self.start is None else str(self.start.question.get("text", ""))

    @property
    def max_calls(self) -> int | None:
        """Limit on calls; None if there is none."""
        budget = self._settings.get("budget")
        calls = budget.get("calls") if isinstance(budget, dict) else None
        return calls if isinstance(calls, int) else None

    @property
    def _settings(self) -> Mapping[str, Any]:
        return {} if self.start is None else self.start.settings

    @property
    def evidence(self) -> Scratchpad:
        """The merged evidence."""
        return self.memory.scratchpad

    @property
    def pending(self) -> int:
        """Number of evidence frames that workers found and the Master has not merged yet."""
        return sum(len(step.found) for step in self.unmerged)

    @property
    def progress_text(self) -> str:
        """Return the round and the calls, of which there are none before the first reply."""
        limit = f" of at most {self.max_calls:,}" if self.max_calls else ""
        return f"round {self.round} · {counted(self.calls, 'call')}{limit}" if self.calls else "no call yet"

    def counts_text(self, duration_s: float) -> str:
        """Return round, calls, tokens, evidence, and the share of dead zones, as text.

        Args:
            duration_s: Duration of the video in seconds.
        """
        pending = f" ({self.pending} more pending)" if self.pending else ""
        dead_share = percent(self.memory.dead_zones.coverage(*searched(self._settings, duration_s)))
        return (
            f"{self.progress_text} · {self.tokens:,} tokens · "
            f"{counted(len(self.evidence), 'evidence frame')}{pending} · dead zones cover {dead_share}"
        )

    def after_event(self, event: Event) -> Snapshot:
        """Return the snapshot after one more event.

        Raises:
            InputError: If the event contradicts those before.
        """
        usage = event.usage if isinstance(event, Call | Failure) else Usage()
        unmerged = (*self.unmerged, event) if isinstance(event, Step) else self.unmerged
        if isinstance(event, Report):
            unmerged = tuple(step for step in unmerged if step.worker != event.worker)
        return replace(
            self,
            start=event if isinstance(event, Start) else self.start,
            count=self.count + 1,
            latest=(*self.latest, event)[-MAX_LATEST:],
            round=max(self.round, event.round),
            calls=self.calls + usage.calls,
            tokens=self.tokens + usage.tokens,
            memory=after(event, self.memory),
            unmerged=unmerged,
        )
