"""What a run may spend, what it has spent, and how the rest is divided among workers.

Limits are hard: what cannot be undone (calls in flight) is the only excess, and enough is kept back for the answer.
Knows nothing of agents or rounds.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from atlaskit.errors import InputError
from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import MAX_ATTEMPTS, Reply, Role
from atlaskit.models.usage import Usage

Limit = Literal["calls", "tokens", "effective_tokens", "seconds"]
Counted = Literal["tokens", "effective_tokens"]
COUNTED: tuple[Counted, ...] = get_args(Counted)
"""The two ways to count tokens: all of them, or without those that the server had in its prefix cache (paper §4.2)."""

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
    effective_tokens: int | None = None
    """Tokens without those that the server had in its prefix cache."""

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            numbers = (int, float) if name == "seconds" else (int,)
            if limit is not None and not (type(limit) in numbers and 0 < limit < math.inf):
                number, what = (
                    "positive number" if len(numbers) > 1 else "positive whole number",
                    name.replace("_", " "),
                )
                raise InputError(f"A budget of {limit!r:.80} {what} cannot be: give a {number}, or None for no limit.")


@dataclass(frozen=True)
class PeakUsage:
    """What the largest call cost, by each way of counting; not necessarily the same call."""

    tokens: int = 0
    effective_tokens: int = 0

    def __or__(self, other: PeakUsage | Usage) -> PeakUsage:
        return PeakUsage(max(self.tokens, other.tokens), max(self.effective_tokens, other.effective_tokens))


@dataclass(frozen=True)
class Charge:
    """What an agent's calls cost when they were made, and what of that was paid just now rather than from cache."""

    usage: Usage = Usage()
    paid: Usage = Usage()

    def __add__(self, other: Charge) -> Charge:
        return Charge(self.usage + other.usage, self.paid + other.paid)

    @classmethod
    def of(cls, outcome: Reply | ModelError) -> Charge:
        """Return what a reply, or a call that failed, cost."""
        return cls(outcome.usage, outcome.usage if outcome.live else Usage())


@dataclass(frozen=True)
class Allotment:
    """What a worker may spend. It is fixed before the worker starts, so that no worker's pace changes another's."""

    calls: int
    is_whole: bool = True
    """Whether these are all the steps a worker is meant to have, or what is left of the run's budget."""
    tokens: Mapping[Counted, int] = field(default_factory=dict)
    """How many, by each way of counting that has a limit."""
    a_call: PeakUsage = PeakUsage()
    """What a call may be expected to cost, from what calls have cost so far."""
    out_of_time: Callable[[float], bool] = lambda longest_s: False
    deadline_s: float | None = None
    """When retries must end, on the clock of `time.monotonic`."""
    cancel: threading.Event | None = None
    """Comes when the run is interrupted."""

    def is_spent(self, usage: Usage, largest: PeakUsage, longest_s: float) -> bool:
        """Tell whether another call would not fit, given this worker's largest and longest call so far."""
        next_one = largest | self.a_call
        over = any(getattr(usage, name) + getattr(next_one, name) > share for name, share in self.tokens.items())
        return over or self.out_of_time(longest_s)


@dataclass
class Meter:
    """Counts what a run costs against its budget, by role."""

    budget: Budget
    by_role: dict[Role, Charge] = field(default_factory=lambda: {"master": Charge(), "worker": Charge()})
    largest: PeakUsage = PeakUsage()
    """The Master's largest call so far."""
    a_call: PeakUsage = PeakUsage(FIRST_GUESS_TOKENS, FIRST_GUESS_TOKENS)
    """A worker's largest call so far."""
    longest_s: float = 0.0
    """Seconds of the longest call so far."""
    began: float = field(default_factory=lambda: time.monotonic())
    cancel: threading.Event = field(default_factory=threading.Event)
    """Comes when nobody waits for the answer any more: the run was interrupted."""

    def charge(self, role: Role, bill: Charge, largest: PeakUsage, longest_s: float) -> None:
        """Add what an agent spent, and the tokens and seconds of its largest call."""
        self.by_role[role] += bill
        self.longest_s = max(self.longest_s, longest_s)
        if role == "master":
            self.largest |= largest
        else:
            self.a_call |= largest

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

    def tokens_left(self) -> dict[Counted, int]:
        """Return how many tokens workers may still spend, by each way of counting that has a limit.

        Enough for the decision is kept back.
        """
        left: dict[Counted, int] = {}
        for name, limit in self._token_limits().items():
            kept = 2 * getattr(self.largest, name) or FIRST_GUESS_TOKENS
            left[name] = max(0, limit - getattr(self.total, name) - kept)
        return left

    @property
    def deadline_s(self) -> float | None:
        """When the time is up, on the clock of `time.monotonic`."""
        return None if self.budget.seconds is None else self.began + self.budget.seconds

    def out_of_time(self, longest_s: float = 0.0) -> bool:
        """Tell whether the time is too short for another call and the decision, if both take as long as the longest."""
        kept_s = 2 * max(self.longest_s, longest_s)
        is_late = self.budget.seconds is not None and self.seconds + kept_s >= self.budget.seconds
        return is_late or self.cancel.is_set()

    def spent(self) -> Limit | None:
        """Return the limit that leaves no room for exploring, if any."""
        calls_left = self.calls_left()
        if calls_left is not None and calls_left <= CALLS_KEPT_BACK:
            return "calls"
        for name, left in self.tokens_left().items():
            if left < getattr(self.a_call, name):
                return name
        return "seconds" if self.out_of_time() else None

    def can_decide(self) -> bool:
        """Tell whether a last call is within the budget."""
        over_tokens = any(getattr(self.total, name) >= limit for name, limit in self._token_limits().items())
        over_time = self.budget.seconds is not None and self.seconds >= self.budget.seconds
        return self.calls_left() != 0 and not over_tokens and not over_time

    def can_look_ahead(self, steps: Sequence[int]) -> bool:
        """Tell whether a call that may turn out to be needless is affordable beside workers with so many steps.

        It is where neither calls nor tokens are short: tokens count as short wherever they are limited.
        """
        left = self.calls_left()
        is_ample = left is None or sum(steps) + MAX_ATTEMPTS + CALLS_KEPT_BACK <= left
        return is_ample and not self._token_limits() and not self.out_of_time()

    def allot(self, steps: Sequence[int], ahead: bool = False) -> list[Allotment]:
        """Divide what is left among the workers of a round, given the steps that each is meant to have.

        Among fewer, where some would get no call. With `ahead`, the attempts of a call that looks ahead are kept back.
        """
        calls, tokens, wanted = self.calls_left(), self.tokens_left(), len(steps)
        if tokens:
            known = self.by_role["worker"].usage.calls > 0  # one goes first, to show what a call costs
            fits = min(left // max(1, getattr(self.a_call, name)) for name, left in tokens.items())
            wanted = max(1, min(wanted, fits)) if known else 1
        shares = list(steps[:wanted])
        if calls is not None:
            free = calls - CALLS_KEPT_BACK - (MAX_ATTEMPTS if ahead else 0)
            shares = [min(share, free // wanted + (i < free % wanted)) for i, share in enumerate(shares)]
        share_of = {name: left // wanted for name, left in tokens.items()}
        return [
            Allotment(share, share == meant, share_of, self.a_call, self.out_of_time, self.deadline_s, self.cancel)
            for share, meant in zip(shares, steps, strict=False)
            if share > 0
        ]

    def _token_limits(self) -> dict[Counted, int]:
        limits = {name: getattr(self.budget, name) for name in COUNTED}
        return {name: limit for name, limit in limits.items() if limit is not None}
