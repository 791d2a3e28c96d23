"""Budget accounting: what a run may spend, what it has spent, and each worker's share of the rest.

Budgets are hard. Calls, tokens, USD and seconds are counted with retries included. A run exceeds a
limit by at most the calls that are in flight when it is reached, because a call cannot be undone.
Two attempts and some tokens are reserved, so that a run that spends its budget can still give an
answer.

A worker's share (its `Allotment`) is fixed before the worker starts. So the pace of one worker
never changes what another worker does, and the result does not depend on timing.

This module knows nothing of agents or rounds.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from atlaskit.errors import InputError
from atlaskit.models.clock import now_s
from atlaskit.models.errors import ModelError
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import MAX_ATTEMPTS, Reply, Role
from atlaskit.models.usage import Usage

Limit = Literal["calls", "tokens", "effective_tokens", "usd", "seconds"]
Amount = Literal["tokens", "effective_tokens", "usd"]
AMOUNTS: tuple[Amount, ...] = get_args(Amount)
"""What tokens amount to: all of them, all but those in the server's prefix cache (paper §4.2), or
what they cost in USD."""

DECISION_CALLS = 2
"""Calls that only the decision may use: an answer that does not fit the schema is corrected once,
and a call that failed is repeated once."""
RESERVED_CALLS = DECISION_CALLS + 1
"""Calls that workers may not use: those of the decision, and one for a review."""
DEFAULT_CALL_TOKENS = 4000
"""Assumed tokens of a call before any call has been made."""


@dataclass(frozen=True)
class Budget:
    """Hard limits on a run; None means no limit.

    Retries count. A run exceeds a limit by at most the calls that are in flight.

    Calls and tokens are what replies cost when the model generated them. A replay from the cache
    therefore stops where the original run stopped. Seconds are those of the current run, so a run
    that ran out of time can get further when it is repeated; those in which a server on this
    machine is installed or started are not counted.

    Raises:
        InputError: If a limit is not a positive number (a positive integer, except for seconds).

    Examples:
        >>> budget = ak.Budget(calls=40, seconds=60)
        >>> ak.ask(video, question, vlm=vlm, budget=budget).total.calls <= 40
        True
    """

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    effective_tokens: int | None = None
    """Tokens without those that were found in the server's prefix cache."""
    usd: float | None = None
    """What the tokens cost by `prices`, in USD."""
    prices: Prices | None = None
    """The prices that `usd` is counted by."""

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if name == "prices":
                continue
            is_whole = name not in ("seconds", "usd")
            types = (int,) if is_whole else (int, float)
            if limit is not None and not (type(limit) in types and 0 < limit < math.inf):
                kind = "whole number" if is_whole else "number"
                raise InputError(
                    f"{name} of a budget must be a positive {kind}, or None for no limit; got {limit!r:.80}."
                )
        if self.prices is not None and not isinstance(self.prices, Prices):
            raise InputError(f"prices of a budget must be ak.Prices(prompt=…, completion=…); got {self.prices!r:.80}.")
        if (self.usd is None) != (self.prices is None):
            raise InputError(
                "usd and prices of a budget belong together: Budget(usd=0.5, prices=ak.Prices(prompt=…, completion=…))."
            )

    def __repr__(self) -> str:
        """Return the limits, and prices only where there are any: keys of timings hold this."""
        own = {name: value for name, value in vars(self).items() if name not in ("usd", "prices") or value is not None}
        return f"Budget({', '.join(f'{name}={value!r}' for name, value in own.items())})"

    def recorded(self) -> dict[str, Any]:
        """Return the limits as the settings of a run hold them.

        `usd` and `prices` are left out where there are none, as in what earlier versions wrote.
        """
        limits = {name: limit for name, limit in vars(self).items() if name not in ("usd", "prices")}
        return limits if self.prices is None else {**limits, "usd": self.usd, "prices": self.prices.recorded()}


def check_budget(budget: object) -> None:
    """Raise InputError unless a value is a budget."""
    if not isinstance(budget, Budget):
        raise InputError(f"budget must be an ak.Budget, for instance ak.Budget(calls=200); got {budget!r:.80}.")


@dataclass(frozen=True)
class PeakUsage:
    """The most that one call amounts to, for each way of counting; not always the same call."""

    tokens: int = 0
    effective_tokens: int = 0
    usd: float = 0.0
    prices: Prices | None = None
    """The prices that `usd` is counted by; without them, it stays 0."""

    def __or__(self, other: PeakUsage | Usage) -> PeakUsage:
        usd = other.usd if isinstance(other, PeakUsage) else _amount("usd", other, self.prices)
        return PeakUsage(
            max(self.tokens, other.tokens),
            max(self.effective_tokens, other.effective_tokens),
            max(self.usd, usd),
            self.prices,
        )


@dataclass(frozen=True)
class Charge:
    """The cost of an agent's calls."""

    usage: Usage = Usage()
    """What the calls cost when the model generated the replies."""
    paid: Usage = Usage()
    """The part of it that this run paid; the rest came from the cache."""

    def __add__(self, other: Charge) -> Charge:
        return Charge(self.usage + other.usage, self.paid + other.paid)

    @classmethod
    def of(cls, outcome: Reply | ModelError) -> Charge:
        """Return the cost of one call, which got a reply or failed."""
        return cls(outcome.usage, outcome.usage if outcome.live else Usage())


@dataclass(frozen=True)
class Allotment:
    """A worker's share of the budget, fixed before the worker starts."""

    calls: int
    is_full: bool = True
    """Whether `calls` is all the steps the strategy planned; False if the budget allows fewer."""
    tokens: Mapping[Amount, float] = field(default_factory=dict)
    """What the worker's tokens may amount to, for each way of counting that has a limit."""
    expected_call: PeakUsage = PeakUsage()
    """What one call is expected to cost: the largest worker call of the run so far."""
    is_out_of_time: Callable[[float], bool] = lambda longest_s: False
    """Tells whether the time is too short for another call that lasts so many seconds."""
    deadline_s: float | None = None
    """When retries must end, by `clock.now_s`."""
    cancel: threading.Event | None = None
    """Set when the run is interrupted."""

    def is_spent(self, usage: Usage, largest: PeakUsage, longest_s: float) -> bool:
        """Return whether another call would exceed the worker's tokens or the run's time.

        Args:
            usage: What the worker has used so far.
            largest: The worker's largest call so far.
            longest_s: Seconds of the worker's longest call so far.
        """
        next_call, prices = largest | self.expected_call, self.expected_call.prices
        over = any(
            _amount(name, usage, prices) + getattr(next_call, name) > share for name, share in self.tokens.items()
        )
        return over or self.is_out_of_time(longest_s)


@dataclass
class Meter:
    """Counts what a run costs, by role, and compares it with the run's budget."""

    budget: Budget
    by_role: dict[Role, Charge] = field(default_factory=lambda: {"master": Charge(), "worker": Charge()})
    largest_master_call: PeakUsage = PeakUsage()
    largest_worker_call: PeakUsage = PeakUsage(DEFAULT_CALL_TOKENS, DEFAULT_CALL_TOKENS)
    longest_s: float = 0.0
    """Seconds of the longest call so far."""
    started_s: float = field(default_factory=now_s)
    """When the run began, by `clock.now_s`."""
    cancel: threading.Event = field(default_factory=threading.Event)
    """Set when the run is interrupted."""

    def __post_init__(self) -> None:
        if self.budget.prices is not None:
            self.largest_worker_call = self.peak(Usage(prompt_tokens=DEFAULT_CALL_TOKENS))
            self.largest_master_call = self.peak(Usage())

    def peak(self, usage: Usage) -> PeakUsage:
        """Return what a call amounts to, for each way of counting."""
        return PeakUsage(prices=self.budget.prices) | usage

    def charge(self, role: Role, charge: Charge, largest: PeakUsage, longest_s: float) -> None:
        """Add what an agent spent.

        Args:
            role: Whose calls they are.
            charge: What the calls cost together.
            largest: Tokens of the largest of these calls.
            longest_s: Seconds of the longest of these calls.
        """
        self.by_role[role] += charge
        self.longest_s = max(self.longest_s, longest_s)
        if role == "master":
            self.largest_master_call |= largest
        else:
            self.largest_worker_call |= largest

    @property
    def total(self) -> Usage:
        """What the run has cost so far."""
        return self.by_role["master"].usage + self.by_role["worker"].usage

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return now_s() - self.started_s

    @property
    def deadline_s(self) -> float | None:
        """When the budget's time is over, by `clock.now_s`; None if unlimited."""
        return None if self.budget.seconds is None else self.started_s + self.budget.seconds

    def calls_left(self) -> int | None:
        """Return how many calls the budget still allows, None without a limit."""
        if self.budget.calls is None:
            return None
        return max(0, self.budget.calls - self.total.calls)

    def tokens_left(self) -> dict[Amount, float]:
        """Return what workers' tokens may still amount to, for each way of counting with a limit.

        Two calls of the master, as large as its largest so far, are reserved.
        """
        left: dict[Amount, float] = {}
        default = self.peak(Usage(prompt_tokens=DEFAULT_CALL_TOKENS))
        for name, limit in self._token_limits().items():
            reserved = 2 * getattr(self.largest_master_call, name) or getattr(default, name)
            left[name] = max(0, limit - self._spent(name) - reserved)
        return left

    def is_out_of_time(self, longest_s: float = 0.0) -> bool:
        """Return whether the time is too short to go on, or the run was interrupted.

        It must suffice for another call and the decision, each as long as the longest call so far.
        """
        reserved_s = 2 * max(self.longest_s, longest_s)
        is_late = self.budget.seconds is not None and self.seconds + reserved_s >= self.budget.seconds
        return is_late or self.cancel.is_set()

    def exhausted(self) -> Limit | None:
        """Return the limit that leaves no room for more exploring, None if there is room."""
        calls_left = self.calls_left()
        if calls_left is not None and calls_left <= RESERVED_CALLS:
            return "calls"
        for name, left in self.tokens_left().items():
            if left < getattr(self.largest_worker_call, name):
                return name
        return "seconds" if self.is_out_of_time() else None

    def can_decide(self, pending: Usage = Usage()) -> bool:
        """Return whether the budget allows one more call, for the decision.

        Args:
            pending: What calls took that are not charged yet.
        """
        used, prices, calls_left = self.total + pending, self.budget.prices, self.calls_left()
        over_tokens = any(_amount(name, used, prices) >= limit for name, limit in self._token_limits().items())
        over_time = self.budget.seconds is not None and self.seconds >= self.budget.seconds
        return (calls_left is None or calls_left > pending.calls) and not over_tokens and not over_time

    def can_look_ahead(self, steps: Sequence[int]) -> bool:
        """Return whether the budget allows a probe that may turn out unnecessary.

        It does if the calls suffice for workers with these numbers of steps and the probe beside
        them, and there is no limit on tokens.
        """
        left = self.calls_left()
        is_ample = left is None or sum(steps) + MAX_ATTEMPTS + RESERVED_CALLS <= left
        return is_ample and not self._token_limits() and not self.is_out_of_time()

    def allot(self, steps: Sequence[int], ahead: bool = False) -> list[Allotment]:
        """Divide what is left of the budget among workers that are sent together.

        Args:
            steps: The steps that the strategy planned for each worker.
            ahead: Whether the next probe runs beside the workers; its attempts are then reserved.

        Returns:
            One allotment a worker. There are fewer than `steps` where some workers would get no
            call. With a limit on tokens, the first worker of a run goes alone, to show what a call
            costs.
        """
        calls, tokens, n_workers = self.calls_left(), self.tokens_left(), len(steps)
        if tokens:
            has_measured = self.by_role["worker"].usage.calls > 0
            largest = {name: getattr(self.largest_worker_call, name) for name in tokens}
            affordable = [int(left // largest[name]) for name, left in tokens.items() if largest[name]]
            n_workers = max(1, min(n_workers, *affordable)) if has_measured else 1
        shares = list(steps[:n_workers])
        if calls is not None:
            free = calls - RESERVED_CALLS - (MAX_ATTEMPTS if ahead else 0)
            shares = [min(share, free // n_workers + (i < free % n_workers)) for i, share in enumerate(shares)]
        token_shares = {name: left / n_workers for name, left in tokens.items()}
        return [
            Allotment(
                calls=share,
                is_full=share == planned,
                tokens=token_shares,
                expected_call=self.largest_worker_call,
                is_out_of_time=self.is_out_of_time,
                deadline_s=self.deadline_s,
                cancel=self.cancel,
            )
            for share, planned in zip(shares, steps, strict=False)
            if share > 0
        ]

    def _spent(self, name: Amount) -> float:
        return _amount(name, self.total, self.budget.prices)

    def _token_limits(self) -> dict[Amount, float]:
        limits = {name: getattr(self.budget, name) for name in AMOUNTS}
        return {name: limit for name, limit in limits.items() if limit is not None}


def _amount(name: Amount, usage: Usage, prices: Prices | None) -> float:
    """Return what tokens amount to, in one way of counting; 0 USD without prices."""
    if name == "usd":
        return 0.0 if prices is None else prices.usd(usage)
    return usage.tokens if name == "tokens" else usage.effective_tokens
