"""`Snapshot`: the state of a run after each event, made from the events alone, for displays.

Each snapshot follows from the one before and an event. So a run in progress and a run that is drawn
from its trace look the same. This module does not draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.question import Span
from atlaskit.errors import InputError
from atlaskit.models.protocol import Usage
from atlaskit.runs.events import (
    Assign,
    Call,
    Event,
    Failure,
    Report,
    Start,
    Step,
)
from atlaskit.runs.narrate import counted, percent, summary
from atlaskit.runs.replay import Memory, after
from atlaskit.runs.result import searched
from atlaskit.viz.html.markup import plain_text

MAX_CHARS = 300
"""Characters of the text that says what an agent did last."""


@dataclass(frozen=True)
class ActiveVisit:
    """The visit of a worker to its region, in progress."""

    region: tuple[int, ...]
    """Cells that lead from the root grid to the region that the worker was sent to."""
    interval_s: Span
    """The interval that the worker saw last; before its first step, the interval of its region."""
    activity: str
    """What the worker did last."""
    found: tuple[Evidence, ...] = ()
    """Evidence that the worker found and the Master has not merged yet."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a run after some of its events."""

    start: Start | None = None
    """The run's first event; None before it."""
    question: str = ""
    max_calls: int | None = None
    """Limit on calls; None if there is none."""
    round: int = 0
    calls: int = 0
    tokens: int = 0
    memory: Memory = Memory()
    visits: Mapping[int, ActiveVisit] = field(default_factory=lambda: MappingProxyType({}))
    """Visits in progress, by the number of the worker."""
    master: str = ""
    """What the Master did last."""

    @property
    def evidence(self) -> Scratchpad:
        """The merged evidence."""
        return self.memory.scratchpad

    @property
    def pending(self) -> int:
        """Number of evidence frames that workers found and the Master has not merged yet."""
        return sum(len(visit.found) for visit in self.visits.values())

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
        settings = {} if self.start is None else self.start.settings
        dead_share = percent(self.memory.dead_zones.coverage(*searched(settings, duration_s)))
        return (
            f"{self.progress_text} · {self.tokens:,} tokens · "
            f"{counted(len(self.evidence), 'evidence frame')}{pending} · dead zones cover {dead_share}"
        )

    def after_event(self, event: Event) -> Snapshot:
        """Return the snapshot after one more event.

        Raises:
            InputError: If the event contradicts those before, or its worker has no region.
        """
        line = plain_text(summary(event), MAX_CHARS)
        usage = event.usage if isinstance(event, Call | Failure) else Usage()
        snapshot = replace(
            self,
            calls=self.calls + usage.calls,
            tokens=self.tokens + usage.tokens,
            round=max(self.round, event.round),
            memory=after(event, self.memory),
        )
        if event.worker is None and not isinstance(event, Start | Assign):
            snapshot = replace(snapshot, master=f"{event.kind}: {line}")
        match event:
            case Start(question=question, settings=settings):
                text, max_calls = str(question.get("text", "")), _max_calls(settings)
                return replace(snapshot, start=event, question=text, max_calls=max_calls)
            case Assign():
                return replace(snapshot, visits=_assigned_visits(event))
            case Step() | Failure() if event.worker is not None:
                return snapshot._with_step(event.worker, event, line)
            case Report():
                visits = {worker: visit for worker, visit in self.visits.items() if worker != event.worker}
                return replace(snapshot, visits=MappingProxyType(visits))
        return snapshot

    def _with_step(self, worker: int, event: Step | Failure, line: str) -> Snapshot:
        """Return the snapshot after a step of a worker, or after a failed call."""
        visit = self.visits.get(worker)
        if visit is None:
            raise InputError(f"An event of worker {worker} must follow its assignment; the trace has none before it.")
        visit = replace(visit, activity=line)
        if isinstance(event, Step):
            visit = replace(visit, interval_s=event.interval_s, found=(*visit.found, *event.found))
        return replace(self, visits=MappingProxyType({**self.visits, worker: visit}))


def _assigned_visits(event: Assign) -> Mapping[int, ActiveVisit]:
    return MappingProxyType(
        {
            worker: ActiveVisit(assignment.path, assignment.interval_s, "starts")
            for worker, assignment in enumerate(event.sorties)
        }
    )


def _max_calls(settings: Mapping[str, Any]) -> int | None:
    budget = settings.get("budget")
    calls = budget.get("calls") if isinstance(budget, dict) else None
    return calls if isinstance(calls, int) else None
