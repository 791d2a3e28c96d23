"""Budget accounting: the limits of a run, its usage so far, and each worker's share of the rest.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from atlaskit.errors import InputError
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import MAX_ATTEMPTS, Role, Usage, now_s

Limit = Literal["calls", "tokens", "effective_tokens", "usd", "seconds"]
Amount = Literal["tokens", "effective_tokens", "usd"]
AMOUNTS: tuple[Amount, ...] = get_args(Amount)
"""Ways to count tokens: all of them, all but those in the server's prefix cache (paper §4.2), or
their cost in USD."""

DECISION_CALLS = 2
"""Calls that only the decision may use: an answer that does not fit the schema is corrected once,
and a call that failed is repeated once."""
RESERVED_CALLS = DECISION_CALLS + 1
"""Calls that workers may not use: those of the decision, and one for a review."""
DEFAULT_CALL = Usage(prompt_tokens=4000)
"""The assumed size of a call before the first one."""


@dataclass(frozen=True)
class Budget:
    """Hard limits on a run; None means no limit.

    Retries count. A run exceeds a limit by at most the calls that are in flight.

    Calls and tokens are what replies cost when the model generated them. A replay from the cache
    therefore stops where the original run stopped. Seconds are those of the current run, so a run
    that ran out of time can get further when it is repeated. The time to install or start a server
    on this machine is not counted.

    Raises:
        InputError: A limit is not positive, a limit on calls or tokens is not an integer, or only
            one of `usd` and `prices` is given.

    Examples:
        >>> budget = ak.Budget(calls=40, seconds=60)
        >>> ak.ask(video, question, vlm=vlm, budget=budget).total.calls <= 40
        True
    """

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    effective_tokens: int | None = None
    """Tokens, except those that the server found in its prefix cache."""
    usd: float | None = None
    """Cost of the tokens in USD, by `prices`."""
    prices: Prices | None = None
    """The prices of tokens, from which `usd` is computed."""

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if name == "prices" or limit is None:
                continue
            types: tuple[type, ...] = (int,)
            kind = "whole number"
            if name in ("seconds", "usd"):
                types = (int, float)
                kind = "number"
            if type(limit) not in types or not 0 < limit < math.inf:
                raise InputError(
                    f"{name} of a budget must be a positive {kind}, or None for no limit; got "
                    f"{limit!r:.80}."
                )
        if self.prices is not None and not isinstance(self.prices, Prices):
            raise InputError(
                "prices of a budget must be ak.Prices(prompt=…, completion=…); got "
                f"{self.prices!r:.80}."
            )
        if (self.usd is None) != (self.prices is None):
            raise InputError(
                "usd and prices of a budget belong together: Budget(usd=0.5, "
                "prices=ak.Prices(prompt=…, completion=…))."
            )

    def __repr__(self) -> str:
        """Return the limits; USD and prices only if set: keys of timings include this text."""
        shown = list[str]()
        for name, value in vars(self).items():
            if name not in ("usd", "prices") or value is not None:
                shown.append(f"{name}={value!r}")
        return f"Budget({', '.join(shown)})"

    def to_json(self) -> dict[str, Any]:
        """Return the limits as a run's settings record them: USD and prices only if set."""
        limits = vars(self).copy()
        del limits["usd"], limits["prices"]
        if self.prices is not None:
            limits |= {"usd": self.usd, "prices": self.prices.recorded()}
        return limits

    def amounts(self, usage: Usage) -> dict[Amount, float]:
        """Return the amount of tokens, for each way of counting; 0 USD without prices."""
        usd = 0.0 if self.prices is None else self.prices.usd(usage)
        return {"tokens": usage.tokens, "effective_tokens": usage.effective_tokens, "usd": usd}

    def limits(self) -> dict[Amount, float]:
        """Return the limits on tokens, for each way of counting that has one."""
        limits = dict[Amount, float]()
        for name in AMOUNTS:
            limit = getattr(self, name)
            if limit is not None:
                limits[name] = limit
        return limits


def check_budget(budget: object) -> None:
    """Raise InputError unless a value is a budget."""
    if not isinstance(budget, Budget):
        raise InputError(
            f"budget must be an ak.Budget, for instance ak.Budget(calls=200); got {budget!r:.80}."
        )


def larger(one: Mapping[Amount, float], other: Mapping[Amount, float]) -> dict[Amount, float]:
    """Return the larger of two amounts, for each way of counting."""
    return {name: max(one[name], other[name]) for name in AMOUNTS}


@dataclass(frozen=True)
class Allotment:
    """A worker's share of the budget, fixed before the worker starts."""

    calls: int
    is_full: bool = True
    """Whether `calls` is all the steps the strategy planned; False if the budget allows fewer."""
    tokens: Mapping[Amount, float] = field(default_factory=dict)
    """The worker's share of tokens, for each way of counting that has a limit."""
    largest_call: Mapping[Amount, float] = field(
        default_factory=lambda: Budget().amounts(DEFAULT_CALL)
    )
    """The expected size of a call: that of the largest worker call of the run so far, but at least
    that of DEFAULT_CALL."""


@dataclass
class Meter:
    """Counts the usage of a run, by role, and compares it with the run's budget.

    Several threads may call `charge`. It only adds up and keeps maxima, so their order does not
    matter.
    """

    budget: Budget
    used: dict[Role, Usage] = field(default_factory=lambda: {"master": Usage(), "worker": Usage()})
    """What each role has used so far."""
    longest_s: float = 0.0
    """Seconds of the longest call so far."""
    started_s: float = field(default_factory=now_s)
    """When the run began, by `now_s`."""
    cancel: threading.Event = field(default_factory=threading.Event)
    """Set when the run is interrupted."""
    largest: dict[Role, dict[Amount, float]] = field(init=False)
    """The largest call of each role, for each way of counting; that of a worker is at least
    DEFAULT_CALL."""

    def __post_init__(self) -> None:
        amounts = self.budget.amounts
        self.largest = {"master": amounts(Usage()), "worker": amounts(DEFAULT_CALL)}
        self._lock = threading.Lock()

    def charge(self, role: Role, usage: Usage, seconds: float) -> None:
        """Add the usage of one call of a role, retries included."""
        with self._lock:
            self.used[role] += usage
            self.largest[role] = larger(self.largest[role], self.budget.amounts(usage))
            self.longest_s = max(self.longest_s, seconds)

    @property
    def total(self) -> Usage:
        """The usage of the run so far."""
        return self.used["master"] + self.used["worker"]

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return now_s() - self.started_s

    @property
    def deadline_s(self) -> float | None:
        """The time by `now_s` at which the budget's seconds are over; None if unlimited."""
        return None if self.budget.seconds is None else self.started_s + self.budget.seconds

    def calls_left(self) -> int | None:
        """Return how many calls the budget still allows, None without a limit."""
        if self.budget.calls is None:
            return None
        return max(0, self.budget.calls - self.total.calls)

    def attempts(self, is_decision: bool) -> int:
        """Return how many attempts a call may take, at least one.

        Only decisions take the last DECISION_CALLS. Whether a call may be made at all, `exhausted`
        and `can_decide` have told the caller.
        """
        left = self.calls_left()
        if left is None:
            return MAX_ATTEMPTS
        if not is_decision:
            left -= DECISION_CALLS
        return max(1, min(MAX_ATTEMPTS, left))

    def tokens_left(self) -> dict[Amount, float]:
        """Return the tokens that workers may still use, for each way of counting that has a limit.

        Two calls of the master are reserved, each as large as its largest so far; before its first
        call, one DEFAULT_CALL is reserved.
        """
        spent = self.budget.amounts(self.total)
        default = self.budget.amounts(DEFAULT_CALL)
        left = dict[Amount, float]()
        for name, limit in self.budget.limits().items():
            reserved = 2 * self.largest["master"][name] or default[name]
            left[name] = max(0, limit - spent[name] - reserved)
        return left

    def is_out_of_time(self) -> bool:
        """Return whether the time is too short to go on, or the run was interrupted.

        The time left must suffice for another call and the decision, each as long as the longest
        call so far.
        """
        if self.cancel.is_set():
            return True
        limit_s = self.budget.seconds
        return limit_s is not None and self.seconds + 2 * self.longest_s >= limit_s

    def exhausted(self) -> Limit | None:
        """Return the limit that ends the exploration, None if there is room for more.

        "calls" is returned only if no other limit is reached: the caller may then still spend a
        reserved call on a review.
        """
        for name, left in self.tokens_left().items():
            if left < self.largest["worker"][name]:
                return name
        if self.is_out_of_time():
            return "seconds"
        calls_left = self.calls_left()
        if calls_left is not None and calls_left <= RESERVED_CALLS:
            return "calls"
        return None

    def can_decide(self) -> bool:
        """Return whether the budget allows one more call, for the decision."""
        spent = self.budget.amounts(self.total)
        is_over = any(spent[name] >= limit for name, limit in self.budget.limits().items())
        is_late = self.budget.seconds is not None and self.seconds >= self.budget.seconds
        return self.calls_left() != 0 and not is_over and not is_late

    def can_look_ahead(self, steps: Sequence[int]) -> bool:
        """Return whether the budget allows a probe that may turn out to be unnecessary.

        The calls must suffice for the probe and for workers with these numbers of steps, and there
        must be no limit on tokens, of which `allot` keeps none for the probe.
        """
        left = self.calls_left()
        is_ample = left is None or sum(steps) + MAX_ATTEMPTS + RESERVED_CALLS <= left
        return is_ample and not self.budget.limits() and not self.is_out_of_time()

    def allot(self, steps: Sequence[int], ahead: bool = False) -> list[Allotment]:
        """Divide the rest of the budget among workers that are sent together.

        Args:
            steps: The steps that the strategy planned for each worker.
            ahead: Whether the next probe runs beside the workers; its attempts are then reserved.

        Returns:
            One allotment a worker. The last workers are left out if they would get no call, or not
            enough tokens for one. With a limit on tokens, the first worker of a run is sent alone,
            to measure the cost of a call.
        """
        calls = self.calls_left()
        tokens = self.tokens_left()
        largest = self.largest["worker"]
        n_workers = len(steps)
        if tokens and not self.used["worker"].calls:
            n_workers = 1
        for name, left in tokens.items():
            if largest[name]:
                n_workers = max(1, min(n_workers, int(left // largest[name])))
        token_shares = {name: left / n_workers for name, left in tokens.items()}
        free_calls = None
        if calls is not None:
            free_calls = calls - RESERVED_CALLS - (MAX_ATTEMPTS if ahead else 0)
        allotments = list[Allotment]()
        for worker, planned in enumerate(steps[:n_workers]):
            share = planned
            if free_calls is not None:
                equal, rest = divmod(free_calls, n_workers)
                if worker < rest:
                    equal += 1
                share = min(planned, equal)
            if share > 0:
                allotments.append(Allotment(share, share == planned, token_shares, largest))
        return allotments
