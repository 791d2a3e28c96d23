"""`MasterCalls`: makes the master's calls, charges them to the budget and records them.

`MasterCalls.attempt` makes a call and changes nothing, so a probe can run beside the workers.
`MasterCalls.settle` then charges and records it, at a fixed point of the round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlaskit.agents.budget import DECISION_CALLS, Charge, Meter
from atlaskit.agents.event_log import EventLog
from atlaskit.agents.responsiveness import Responsiveness
from atlaskit.models.clock import now_s
from atlaskit.models.errors import ModelError, Unreachable
from atlaskit.models.protocol import MAX_ATTEMPTS, Reply
from atlaskit.models.usage import Usage
from atlaskit.runs.events import Event, call_data, failure_data


@dataclass(frozen=True)
class MasterCall:
    """One call of the master, which got a reply or failed."""

    kind: str
    """The kind of its event: task, probe, review or decision."""
    outcome: Reply | ModelError
    seconds: float

    @property
    def reply(self) -> Reply | None:
        """The reply; None if the call failed."""
        return self.outcome if isinstance(self.outcome, Reply) else None


@dataclass
class MasterCalls:
    """Makes the master's calls and keeps their accounts."""

    meter: Meter
    log: EventLog
    health: Responsiveness = field(default_factory=Responsiveness)

    def left(self, kind: str) -> int | None:
        """Return how many calls the budget has left for a kind; None without a limit.

        All kinds but a decision leave DECISION_CALLS calls.
        """
        left = self.meter.calls_left()
        return left if left is None or kind == "decision" else left - DECISION_CALLS

    def attempt(self, kind: str, complete: Callable[[int], Reply], left: int | None = None) -> MasterCall:
        """Make one call within what the budget has left. A failure is part of the outcome.

        Args:
            kind: The kind of the call's event.
            complete: Makes the call, with the number of attempts it may take.
            left: The calls that it may make; None: what the budget has left for the kind.

        Raises:
            Unreachable: If the server cannot be reached and the run has made no call yet, so that
                there is nothing to lose.
        """
        started_s, left = now_s(), self.left(kind) if left is None else left
        try:
            outcome: Reply | ModelError = complete(MAX_ATTEMPTS if left is None else min(left, MAX_ATTEMPTS))
        except ModelError as error:
            if isinstance(error, Unreachable) and self.meter.total.calls == 0:
                raise
            outcome = error
        return MasterCall(kind, outcome, now_s() - started_s)

    def settle(
        self, call: MasterCall, round_number: int, data: dict[str, Any] | None = None, *, is_vote: bool = False
    ) -> None:
        """Charge a call and record its event.

        Args:
            call: The call, as `attempt` returned it.
            round_number: The round it belongs to; 0 before the first.
            data: The data of its event, without the cost.
            is_vote: Whether the reply only counts as a vote; its event then is one of its own kind.
        """
        outcome, charge = call.outcome, Charge.of(call.outcome)
        self.meter.charge("master", charge, self.meter.peak(charge.usage), call.seconds)
        self.health.record_call(outcome)
        if isinstance(outcome, ModelError):
            self.log.add(Event("failure", round_number, data=failure_data(call.kind, outcome, charge.usage, data)))
        elif is_vote:
            vote = {"step": call.kind, "answer": outcome.answer.model_dump()}
            self.log.add(Event("vote", round_number, data={**vote, **call_data(outcome)}))
        else:
            self.log.add(Event(call.kind, round_number, data={**(data or {}), **call_data(outcome)}))


def spent(calls: Sequence[MasterCall]) -> Usage:
    """Return what some calls took that were not settled yet."""
    return sum((call.outcome.usage for call in calls), Usage())
