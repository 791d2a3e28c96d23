"""A run after some of its events, in the few facts that are drawn of it.

Each moment is a value made of the one before and an event, so that a run that happens just now and one that is drawn
from its trace are the same to whoever draws. Knows nothing of pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Span
from atlaskit.errors import InputError
from atlaskit.models.usage import Usage
from atlaskit.runs.events import (
    AssignData,
    Event,
    EventData,
    EvidenceData,
    FailureData,
    ReportData,
    StartData,
    StepData,
    ViewData,
    data_of,
)
from atlaskit.runs.replay import Memory, after
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.html.summaries import event_summary

MOST_LETTERS = 300
"""Of what is told of one doing."""


@dataclass(frozen=True)
class Visit:
    """Where a worker is."""

    region: tuple[int, ...]
    """The cells that were opened on the way from the root to the region it was sent to."""
    interval_s: Span
    """What it looks at, or was sent to."""
    doing: str
    found: tuple[EvidenceData, ...] = ()
    """What it found that the Master did not take in yet."""
    seen: ViewData | None = None
    """The grid it looked at last."""


@dataclass(frozen=True)
class Snapshot:
    """What is known of a run at one moment."""

    start: Event | None = None
    """How the run began."""
    question: str = ""
    most_calls: int | None = None
    round: int = 0
    calls: int = 0
    tokens: int = 0
    memory: Memory = Memory()
    at_work: Mapping[int, Visit] = field(default_factory=lambda: MappingProxyType({}))
    """Where each worker is that is out, by its number."""
    master: str = ""
    """What the Master did last."""
    is_over: bool = False

    @property
    def evidence(self) -> Scratchpad:
        """What the Master holds."""
        return self.memory.scratchpad

    @property
    def arriving(self) -> int:
        """How many frames workers have found that the Master did not take in yet."""
        return sum(len(visit.found) for visit in self.at_work.values())

    def ruled_out(self, duration_s: float) -> float:
        """Return the share of a video that is ruled out, in [0, 1]."""
        return self.memory.dead_zones.coverage(0.0, duration_s)

    def counted(self, duration_s: float) -> str:
        """Return what is counted, in words."""
        of = f" of at most {self.most_calls:,}" if self.most_calls else ""
        arriving = f" and {self.arriving} on the way" if self.arriving else ""
        return (
            f"round {self.round} · {self.calls:,} calls{of} · {self.tokens:,} tokens · "
            f"{len(self.evidence)} frames of evidence{arriving} · {self.ruled_out(duration_s):.0%} ruled out"
        )

    def then(self, event: Event) -> Snapshot:
        """Return the moment after an event; raise InputError for one that cannot follow."""
        form = data_of(event)
        moment = replace(self, round=max(self.round, event.round), memory=after(form, self.memory)).paid(form)
        if event.worker is None:
            doing = plain_text(event_summary(event), MOST_LETTERS)
            moment = (
                moment if isinstance(form, StartData | AssignData) else replace(moment, master=f"{event.kind}: {doing}")
            )
        match form:
            case StartData(question=question, settings=settings):
                text, calls = str(question.get("text", "")), _most_calls(settings)
                return replace(moment, start=event, question=text, most_calls=calls)
            case AssignData(sorties=sorties):
                sent = {
                    number: Visit(tuple(sortie.path), _span(sortie.interval_s), "is sent out")
                    for number, sortie in enumerate(sorties)
                }
                return replace(moment, at_work=MappingProxyType(sent))
            case StepData() | FailureData() if event.worker is not None:
                return moment.at(event.worker, form, plain_text(event_summary(event), MOST_LETTERS))
            case ReportData():
                left = {number: visit for number, visit in self.at_work.items() if number != event.worker}
                return replace(moment, at_work=MappingProxyType(left))
        return replace(moment, is_over=True) if event.kind == "stop" else moment

    def paid(self, form: EventData) -> Snapshot:
        """Return the moment with the cost of a call counted, if it was one."""
        cost = getattr(form, "usage", None)
        if cost is None:
            return self
        usage = Usage.from_json(cost.model_dump())
        return replace(self, calls=self.calls + usage.calls, tokens=self.tokens + usage.tokens)

    def at(self, worker: int, form: StepData | FailureData, doing: str) -> Snapshot:
        """Return the moment with a worker having done something."""
        before = self.at_work.get(worker)
        if before is None:
            raise InputError(f"Worker {worker} does something, and was never sent out.")
        visit = replace(before, doing=doing)
        if isinstance(form, StepData):
            found = (*before.found, *form.found)
            visit = replace(visit, interval_s=_span(form.interval_s), found=found, seen=form.view)
        return replace(self, at_work=MappingProxyType({**self.at_work, worker: visit}))


def _span(interval_s: list[float]) -> Span:
    start_s, end_s = interval_s
    return start_s, end_s


def _most_calls(settings: Mapping[str, Any]) -> int | None:
    budget = settings.get("budget")
    calls = budget.get("calls") if isinstance(budget, dict) else None
    return calls if isinstance(calls, int) else None
