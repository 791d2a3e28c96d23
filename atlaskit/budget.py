"""What a run may spend, what it has spent, and how the rest is divided among workers.

Limits are hard: what cannot be undone (calls in flight) is the only excess, and enough is kept back for the answer.
Knows nothing of agents or rounds.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from atlaskit.errors import InputError, ModelError
from atlaskit.model import Reply, Role
from atlaskit.usage import Usage

Limit = Literal["calls", "tokens", "seconds"]

CALLS_KEPT_BACK = 2
"""Calls that workers may not touch: one for a review, one for the decision."""
FIRST_GUESS_TOKENS = 4000
"""Tokens kept back for the decision before any call has shown what calls cost."""


@dataclass(frozen=True)
class Budget:
    """Hard limits on a run; None is no limit. Retries count. Exceeded at most by the calls in flight.

    Calls and tokens are what answers cost when they were made, so a replay from the cache stops where the run did;
    seconds are this run's own, so a run that stopped on time can get further when it is repeated.
    """

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if limit is not None and not 0 < limit < math.inf:
                raise InputError(f"A budget of {limit} {name} cannot be: give a positive number, or None for no limit.")


@dataclass(frozen=True)
class Bill:
    """What an agent's calls cost when they were made, and what of that was paid just now rather than from cache."""

    usage: Usage = Usage()
    paid: Usage = Usage()

    def __add__(self, other: Bill) -> Bill:
        return Bill(self.usage + other.usage, self.paid + other.paid)

    @classmethod
    def of(cls, outcome: Reply | ModelError) -> Bill:
        """Return what a reply, or a call that failed, cost."""
        if isinstance(outcome, Reply):
            return cls(outcome.usage, outcome.usage if outcome.live else Usage())
        return cls(outcome.usage, outcome.usage)


@dataclass(frozen=True)
class Allotment:
    """What a worker may spend. It is fixed before the worker starts, so that no worker's pace changes another's."""

    calls: int
    is_whole: bool = True
    """Whether these are all the steps a worker is meant to have, or what is left of the run's budget."""
    tokens: int | None = None
    call_tokens: int = 0
    """What a call may be expected to cost, from what calls have cost so far."""
    out_of_time: Callable[[float], bool] = lambda longest_s: False
    deadline_s: float | None = None
    """When retries must end, on the clock of `time.monotonic`."""
    is_over: threading.Event | None = None
    """Comes when the run is interrupted."""

    def is_spent(self, usage: Usage, largest: int, longest_s: float) -> bool:
        """Tell whether another call would not fit, given this worker's largest and longest call so far."""
        over = self.tokens is not None and usage.tokens + max(largest, self.call_tokens) > self.tokens
        return over or self.out_of_time(longest_s)


@dataclass
class Meter:
    """Counts what a run costs against its budget, by role."""

    budget: Budget
    by_role: dict[Role, Bill] = field(default_factory=lambda: {"master": Bill(), "worker": Bill()})
    largest: int = 0
    """Tokens of the Master's largest call so far."""
    call_tokens: int = FIRST_GUESS_TOKENS
    """Tokens of a worker's largest call so far."""
    longest_s: float = 0.0
    """Seconds of the longest call so far."""
    began: float = field(default_factory=lambda: time.monotonic())
    is_over: threading.Event = field(default_factory=threading.Event)
    """Comes when nobody waits for the answer any more: the run was interrupted."""

    def charge(self, role: Role, bill: Bill, largest: int, longest_s: float) -> None:
        """Add what an agent spent, and the tokens and seconds of its largest call."""
        self.by_role[role] += bill
        self.longest_s = max(self.longest_s, longest_s)
        if role == "master":
            self.largest = max(self.largest, largest)
        else:
            self.call_tokens = max(self.call_tokens, largest)

    @property
    def total(self) -> Usage:
        """What the run cost so far."""
        return self.by_role["master"].usage + self.by_role["worker"].usage

    @property
    def seconds(self) -> float:
        """How long the run has taken."""
        return time.monotonic() - self.began

    def calls_left(self) -> int | None:
        """Return how many calls the budget still has, None for any number."""
        return None if self.budget.calls is None else max(0, self.budget.calls - self.total.calls)

    def tokens_left(self) -> int | None:
        """Return how many tokens workers may still spend, keeping back enough for the decision."""
        if self.budget.tokens is None:
            return None
        kept = 2 * self.largest or FIRST_GUESS_TOKENS
        return max(0, self.budget.tokens - self.total.tokens - kept)

    @property
    def deadline_s(self) -> float | None:
        """When the time is up, on the clock of `time.monotonic`."""
        return None if self.budget.seconds is None else self.began + self.budget.seconds

    def out_of_time(self, longest_s: float = 0.0) -> bool:
        """Tell whether the time is too short for another call and the decision, if both take as long as the longest."""
        kept_s = 2 * max(self.longest_s, longest_s)
        is_late = self.budget.seconds is not None and self.seconds + kept_s >= self.budget.seconds
        return is_late or self.is_over.is_set()

    def spent(self) -> Limit | None:
        """Return the limit that leaves no room for exploring, if any."""
        calls_left = self.calls_left()
        if calls_left is not None and calls_left <= CALLS_KEPT_BACK:
            return "calls"
        tokens_left = self.tokens_left()
        if tokens_left is not None and tokens_left < self.call_tokens:
            return "tokens"
        return "seconds" if self.out_of_time() else None

    def can_decide(self) -> bool:
        """Tell whether a last call is within the budget."""
        over_tokens = self.budget.tokens is not None and self.total.tokens >= self.budget.tokens
        over_time = self.budget.seconds is not None and self.seconds >= self.budget.seconds
        return self.calls_left() != 0 and not over_tokens and not over_time

    def allot(self, regions: int, steps: int) -> list[Allotment]:
        """Divide what is left among the workers of a round; among fewer where some would get no call."""
        calls, tokens = self.calls_left(), self.tokens_left()
        if tokens is not None:
            known = self.by_role["worker"].usage.calls > 0  # one goes first, to show what a call costs
            regions = max(1, min(regions, tokens // self.call_tokens)) if known else 1
        if calls is None:
            shares = [steps] * regions
        else:
            free = calls - CALLS_KEPT_BACK
            shares = [min(steps, free // regions + (i < free % regions)) for i in range(regions)]
        share = None if tokens is None else tokens // regions
        return [
            Allotment(calls, calls == steps, share, self.call_tokens, self.out_of_time, self.deadline_s, self.is_over)
            for calls in shares
            if calls > 0
        ]
