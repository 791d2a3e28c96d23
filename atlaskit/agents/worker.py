"""`Worker`: explores one region step by step within its allotment, and survives failed calls (paper
§3.2).

A failed call costs a step, not the region: the worker goes on, evidence it found before is kept,
and a region whose visit was cut short stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from atlaskit.agents.budget import Allotment, Charge, PeakUsage
from atlaskit.agents.prompts import StepCall, request_for
from atlaskit.agents.scouts.survey import Survey
from atlaskit.agents.task import Task, WorkerResult, WorkerStop
from atlaskit.agents.thrift import Thrift
from atlaskit.agents.visit import Visit
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.models.clock import now_s
from atlaskit.models.errors import BadReply, ModelError, Refused
from atlaskit.models.protocol import MAX_ATTEMPTS, Model, Reply
from atlaskit.runs.events import Event, failure_data, view_data

MAX_FAILURES_IN_A_ROW = 2
"""A worker gives up after so many failed calls in a row; its region stays open."""


@dataclass
class Worker:
    """An agent that explores a region.

    With traversal "dfs" it opens cells until it sees the evidence; with "bfs" it scans one level
    and marks the cells that later rounds should open.
    """

    atlas: Atlas
    model: Model
    question: Question
    emit: Callable[[Event], None] = lambda event: None
    """Called with each event as it happens, from the worker's thread."""
    thrift: Thrift = frozenset()
    survey: Survey = Survey()

    def explore(self, task: Task) -> WorkerResult:
        """Explore a region within its allotment of calls, tokens and time."""
        visit = Visit(self.atlas, task, self.question, self.thrift, self.survey)
        account = _Account.of(task.allotment)
        while (stop := _stop_of(visit, account)) is None:
            self._step(visit, account)
        return WorkerResult(
            region=task.region,
            evidence=visit.evidence,
            stop=stop,
            charge=account.charge,
            events=tuple(account.events),
            longest_s=account.longest_s,
            marked=visit.state.marked,
            largest=account.largest,
            got_no_reply=account.is_silent and bool(account.events),
            final_failure=account.final_failure,
            opened=_grids(task.region, visit.opened),
        )

    def _step(self, visit: Visit, account: _Account) -> None:
        """Make one call and take the action it returns; a failed call changes no state."""
        left, started_s = account.calls_left, now_s()
        call = visit.next_call(left)
        try:
            reply = self._complete(call, left, visit.task.allotment)
        except ModelError as error:
            account.add_failure(error)
            if isinstance(error, Refused | BadReply):  # the same messages would fail again
                visit.restart_conversation()
            shown = {"view": view_data(visit.observation)}
            event = visit.event("failure", failure_data("step", error, Charge.of(error).usage, shown))
        else:
            account.add_reply(reply, now_s() - started_s)
            event = visit.act(reply, call)
        account.events.append(event)
        self.emit(event)

    def _complete(self, call: StepCall, calls_left: int, allotment: Allotment) -> Reply:
        return self.model.complete(
            request_for(self.model, call),
            max_attempts=min(calls_left, MAX_ATTEMPTS),
            deadline_s=allotment.deadline_s,
            cancel=allotment.cancel,
        )


def _grids(region: Grid, paths: Iterable[tuple[int, ...]]) -> tuple[Grid, ...]:
    """Return the grids at some paths of a region, in order of their paths."""
    return tuple(replace(region, path=path) for path in sorted(paths))


@dataclass
class _Account:
    """What a visit has cost so far, and which of its calls failed."""

    allotment: Allotment
    charge: Charge = Charge()
    largest: PeakUsage = PeakUsage()
    longest_s: float = 0.0
    failures_in_a_row: int = 0
    is_silent: bool = True
    """Whether no call has reached the model so far."""
    final_failure: str = ""
    """The failure after which no call of the run can succeed; empty if there was none."""
    events: list[Event] = field(default_factory=list)

    @classmethod
    def of(cls, allotment: Allotment) -> _Account:
        """Return the account of a visit before its first call."""
        return cls(allotment, largest=PeakUsage(prices=allotment.expected_call.prices))

    @property
    def calls_left(self) -> int:
        return self.allotment.calls - self.charge.usage.calls

    @property
    def is_spent(self) -> bool:
        """Whether another call would exceed the allotment's tokens or time."""
        return self.allotment.is_spent(self.charge.usage, self.largest, self.longest_s)

    def add_failure(self, error: ModelError) -> None:
        cost = Charge.of(error)
        self.charge, self.largest = self.charge + cost, self.largest | cost.usage
        self.failures_in_a_row += 1
        self.final_failure = str(error) if error.is_final else ""
        self.is_silent = self.is_silent and not isinstance(error, Refused)

    def add_reply(self, reply: Reply, seconds: float) -> None:
        self.charge, self.largest = self.charge + Charge.of(reply), self.largest | reply.usage
        self.longest_s = max(self.longest_s, seconds)
        self.failures_in_a_row, self.is_silent = 0, False


def _stop_of(visit: Visit, account: _Account) -> WorkerStop | None:
    """Return why a visit ends before its next call, None if it goes on."""
    if account.final_failure or account.failures_in_a_row == MAX_FAILURES_IN_A_ROW:
        return "failed"
    if visit.state.finished:
        return "finished"
    if visit.has_plateaued:
        return "plateau"
    if account.calls_left <= 0:
        return "steps" if account.allotment.is_full else "budget"
    return "budget" if account.is_spent else None
