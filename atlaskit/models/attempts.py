"""How calls to an endpoint are made: limited in number, retried, and ended at a deadline.

Contents:
    `Line`: the access to one model at an endpoint: its address, key, limits and retries.
    `CallState`: the progress of one call (attempts, backoff, Retry-After, deadline, cancel).
    `Slots`: limits the requests to an address, over all models and threads of a process.
"""

from __future__ import annotations

import math
import os
import random
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from atlaskit.errors import ModelWarning, check_positive
from atlaskit.models.dialect import Dialect
from atlaskit.models.http import Endpoint, HttpFailure, parsed
from atlaskit.models.names import entries, is_same_model, named
from atlaskit.models.protocol import (
    MAX_ATTEMPTS,
    ModelError,
    Refused,
    Transit,
    Unreachable,
    Usage,
    now_s,
)
from atlaskit.models.refusals import FINAL, cure

FIRST_PAUSE_S = 0.5
"""Pause before the first retry. Each further pause is twice as long."""
MAX_PAUSE_S = 8.0
"""Longest pause that doubling reaches."""
BUSY_FACTOR = 10.0
"""If an endpoint is busy and names no delay, the first pause is longer by this factor."""
BUSY_GROWTH = 3.0
"""Each further pause for a busy endpoint is longer by this factor."""
MAX_REQUESTED_PAUSE_S = 120.0
"""Longest pause that an endpoint may ask for after a failed attempt. If it asks for a longer one,
the call ends at once."""
LONGEST_BUSY_PAUSE_S = 60.0
"""Longest pause for a busy endpoint that names no delay: most limits are by the minute."""
MOST_WAITED_S = 900.0
"""Seconds that one call waits in all while the endpoint refuses its request before a model sees it,
unless the call's deadline comes first."""
USUAL_TIMEOUT_S = 300.0
"""The time-out of an attempt, unless a client sets one."""
SLOWEST_TOKENS_A_S = 20.0
"""For a long answer, the time-out is longer: the time that a model of this speed needs for it."""
ADMISSION_POLL_S = 0.5
"""How often a waiting request checks its cancel event, in seconds."""
SHORTEST_S = 0.001
"""The shortest time-out in seconds: a socket accepts none below 0, and with 0 does not wait."""
DEFAULT_LIMIT = 16
"""Most requests in flight to one address, unless a client sets another limit."""
MINUTE_S = 60.0

Result = TypeVar("Result")


@dataclass
class CallState:
    """The progress of one call. Each call has its own, so threads share none."""

    max_attempts: int = MAX_ATTEMPTS
    deadline_s: float | None = None
    """When the last attempt must end, by `now_s`."""
    cancel: threading.Event | None = None
    """The caller sets it when it no longer needs the answer."""
    attempts: int = 0
    """Attempts that have ended."""
    refusals: int = 0
    """How often the endpoint refused the request before a model saw it. Not part of `attempts`."""
    waited_s: float = 0.0
    """Seconds that the call has waited after such refusals."""
    usage: Usage = Usage()
    """What the attempts have cost so far."""
    queue_s: float = 0.0
    """See `Transit`."""
    sent_bytes: int = 0
    """See `Transit`."""
    began_s: float = field(default_factory=time.monotonic)
    """When the call began, on the clock of `time.monotonic`."""

    @property
    def left_s(self) -> float:
        """Seconds until the deadline; infinity without one."""
        if self.deadline_s is None:
            return math.inf
        return self.deadline_s - now_s()

    @property
    def must_end(self) -> bool:
        """Whether the deadline has passed or the call is cancelled."""
        return self.left_s <= 0 or (self.cancel is not None and self.cancel.is_set())

    @property
    def transit(self) -> Transit:
        """How long the call has taken and what it has sent."""
        wall_s = time.monotonic() - self.began_s
        return Transit(queue_s=self.queue_s, wall_s=wall_s, sent_bytes=self.sent_bytes)

    @property
    def is_exhausted(self) -> bool:
        """Whether the attempts are used up."""
        return self.attempts >= self.max_attempts

    def count(self, usage: Usage) -> None:
        """Count an attempt that has ended."""
        self.attempts += 1
        self.usage += usage

    def count_failure(self, failure: HttpFailure) -> None:
        """Count a failed attempt. A request that no model saw is no attempt and costs nothing."""
        if failure.is_unseen:
            self.refusals += 1
        else:
            self.count(Usage(calls=int(failure.is_call)))

    def pause_before_retry(self, failure: HttpFailure) -> bool:
        """Pause after a failed attempt; return whether to make another one.

        The pause doubles each time, with ±50 % jitter, unless the endpoint asks for a longer one.
        It starts longer and grows faster for a busy endpoint that names no delay. If no model saw
        the request, the pauses may last `MOST_WAITED_S` in all, and the number of attempts does
        not matter. Returns False without a pause if a retry cannot help, and at once if the call
        is cancelled.
        """
        pause_s = self._pause_after(failure)
        if failure.is_unseen:
            may_wait = self.waited_s + pause_s <= MOST_WAITED_S
            self.waited_s += pause_s
        else:
            may_wait = (
                failure.is_passing and not self.is_exhausted and pause_s <= MAX_REQUESTED_PAUSE_S
            )
        return may_wait and self.pause(pause_s)

    def pause(self, pause_s: float) -> bool:
        """Pause; return False at once if the deadline would pass, or the call is cancelled."""
        if pause_s > self.left_s:
            return False
        if self.cancel is None:
            time.sleep(pause_s)
            return True
        return not self.cancel.wait(pause_s)

    def _pause_after(self, failure: HttpFailure) -> float:
        """Return the seconds to wait: what the endpoint asks for, or more after each failure."""
        earlier = min(self.attempts + self.refusals - 1, 9)  # beyond 9, no pause grows
        wait_s = failure.explanation.wait_s
        if wait_s is None and failure.explanation.kind == "busy":
            growing_s: float = BUSY_FACTOR * FIRST_PAUSE_S * BUSY_GROWTH**earlier
            return min(growing_s, LONGEST_BUSY_PAUSE_S)
        pause_s: float = min(FIRST_PAUSE_S * 2**earlier, MAX_PAUSE_S) * random.uniform(0.5, 1.5)
        return max(wait_s or 0.0, pause_s)


@dataclass
class Slots:
    """The requests of this process to one address, and their limits."""

    most: int = DEFAULT_LIMIT
    """Most requests at once that the user allows."""
    rpm: float | None = None
    """Most requests a minute that the user allows; None for any number."""
    in_flight: int = 0
    """Requests that have a slot now."""
    allowed: int = 0
    """Most requests at once that the endpoint seems to take; 0 if it seems to take all that the
    user allows."""
    _in_a_row: int = 0
    """Answers since the last refusal, or since `allowed` was last raised."""
    _next_s: float = 0.0
    """When the next request may begin by the limit a minute, on the clock of `time.monotonic`."""
    _answered_s: deque[float] = field(default_factory=lambda: deque(maxlen=10_000))
    """When the latest answers came, on the same clock."""
    _free: threading.Condition = field(default_factory=threading.Condition)

    def turn_s(self) -> float:
        """Reserve the next turn under the limit a minute; return the seconds until then."""
        if self.rpm is None:
            return 0.0
        with self._free:
            present_s = time.monotonic()
            turn_s = max(present_s, self._next_s)
            self._next_s = turn_s + MINUTE_S / self.rpm
            return turn_s - present_s

    def acquire(self, timeout_s: float) -> bool:
        """Take a slot once one is free; return False if none is within the time-out."""
        with self._free:
            is_free = self._free.wait_for(lambda: self.in_flight < self._most_now, timeout_s)
            self.in_flight += is_free
            return is_free

    def release(self) -> None:
        """Give a slot back."""
        with self._free:
            self.in_flight -= 1
            self._free.notify_all()

    def note_answer(self) -> None:
        """Note that the endpoint answered.

        After as many answers in a row as requests are allowed at once, one more is allowed.
        """
        with self._free:
            self._answered_s.append(time.monotonic())
            self._in_a_row += 1
            if self.allowed and self._in_a_row >= self.allowed:
                self.allowed += 1
                self._in_a_row = 0
                if self.allowed > self.most:
                    self.allowed = 0
                self._free.notify_all()

    def note_refusal(self) -> int:
        """Note that the endpoint refused a request: half as many are allowed at once from now on.

        Returns:
            How many requests the endpoint answered in the last minute.
        """
        with self._free:
            self.allowed = max(1, self._most_now // 2)
            self._in_a_row = 0
            begin_s = time.monotonic() - MINUTE_S
            return sum(answered_s > begin_s for answered_s in self._answered_s)

    @property
    def _most_now(self) -> int:
        """Most requests at once that both the user and the endpoint allow."""
        return min(self.most, self.allowed or self.most)


_limits: dict[str, tuple[int, float | None]] = {}
"""Limits that clients have set, by address."""
_slots: dict[tuple[int, str], Slots] = {}
"""The slots of each process and address. A forked child does not share those of its parent."""


def slots_of(address: str) -> Slots:
    """Return the slots of this process's requests to an address."""
    return _slots.setdefault((os.getpid(), address), Slots(*_limits.get(address, ())))


def set_limits(address: str, most: int | None, rpm: float | None) -> None:
    """Set the limits of an address; None leaves one as it is."""
    slots = slots_of(address)
    slots.most = most or slots.most
    slots.rpm = rpm or slots.rpm
    _limits[address] = slots.most, slots.rpm


class Line:
    """The access to one model at an endpoint. All calls to the model, from all threads, share it.

    Attributes:
        name: Name of the model; "" while the endpoint is asked which models it has.
        endpoint: The endpoint.
        dialect: What the endpoint accepts; None until it is known, or where it does not matter.
        settings: Keyword arguments that make an equal line in another process.
    """

    dialect: Dialect | None = None

    def __init__(
        self,
        base_url: str,
        name: str,
        *,
        api_key: str | None,
        timeout_s: float | None,
        in_flight: int | None,
        rpm: float | None,
        headers: Mapping[str, str] | None,
    ) -> None:
        """Prepare the access to a model; `ak.VLM` explains the settings.

        Raises:
            InputError: If a setting is invalid.
        """
        check_positive(in_flight=in_flight, timeout_s=timeout_s, rpm=rpm)
        limits = {"timeout_s": timeout_s, "in_flight": in_flight, "rpm": rpm}
        self.settings: dict[str, Any] = {"api_key": api_key, "headers": headers, **limits}
        self.endpoint = Endpoint(base_url, api_key, headers or {})
        self.name = name
        self._timeout_s = timeout_s
        self._has_warned_of_wait = False
        set_limits(self.endpoint.base_url, in_flight, rpm)

    def post(
        self,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        state: CallState,
        tokens: int = 0,
    ) -> bytes:
        """Send a body once the address has a slot for it, and return the body of the answer.

        Args:
            path: Path below the address.
            body: What to send.
            headers: Headers beside the endpoint's own.
            state: The call's state. Queueing time and sent bytes are added to it.
            tokens: Most tokens of the answer. A long answer gets a longer time-out.

        Raises:
            HttpFailure: If the exchange failed, or could not begin before the deadline.
        """
        slots = slots_of(self.endpoint.base_url)
        began_s = time.monotonic()
        is_admitted = _wait_for_slot(slots, state)
        state.queue_s += time.monotonic() - began_s
        if not is_admitted:
            raise HttpFailure(
                "could not be called before the deadline", is_passing=False, is_call=False
            )
        own_s = self._timeout_s or max(USUAL_TIMEOUT_S, tokens / SLOWEST_TOKENS_A_S)
        left_s = max(state.left_s, SHORTEST_S)  # the deadline may have passed since the check
        timeout_s = min(own_s, left_s)
        state.sent_bytes += len(body)
        try:
            return self.endpoint.exchange(path, body, headers, timeout_s, state.cancel)[0]
        except HttpFailure as failure:
            # Where the call's deadline came before the time-out, the endpoint was not too slow.
            failure.is_late = failure.is_late and timeout_s == own_s
            raise
        finally:
            slots.release()

    def retried(
        self,
        attempt: Callable[[], Result],
        state: CallState,
        usage_of: Callable[[Result], Usage] = lambda result: Usage(calls=1),
    ) -> Result:
        """Make attempts until one succeeds, and return its result. The state counts each attempt.

        Args:
            attempt: Makes one attempt, and raises HttpFailure if it fails.
            state: The call's state.
            usage_of: Returns the cost of an attempt that succeeded.

        Raises:
            ModelError: If no attempt succeeded.
        """
        while True:
            try:
                result = attempt()
            except HttpFailure as failure:
                state.count_failure(failure)
                if failure.is_unseen:
                    self._warn_of_wait(failure, slots_of(self.endpoint.base_url).note_refusal())
                if not state.pause_before_retry(failure):
                    raise self.error(failure, state) from failure.__cause__
            else:
                slots_of(self.endpoint.base_url).note_answer()
                state.count(usage_of(result))
                return result

    def _warn_of_wait(self, failure: HttpFailure, rate: int) -> None:
        """Warn, once, that the endpoint refuses requests for now and that the call waits.

        Args:
            failure: The refusal.
            rate: How many requests the endpoint answered in the last minute.
        """
        if self._has_warned_of_wait:
            return
        self._has_warned_of_wait = True
        words = f"{self._title} {failure}"
        if rate:
            words += f", after {rate} answers within a minute (rpm=…, --rpm, asks for fewer)"
        words += ": it is waited for, which changes no result."
        warnings.warn(words, ModelWarning, stacklevel=6)

    @property
    def _title(self) -> str:
        """The subject of a sentence about a call."""
        return f"{self.name or 'The list of models'} at {self.endpoint.base_url}"

    def error(self, failure: HttpFailure, state: CallState) -> ModelError:
        """Return the error that a call ends with after a failed exchange.

        Args:
            failure: The failure of the last attempt.
            state: The call's state.
        """
        if not failure.was_reached:
            return self._unreachable(failure, state)
        wait_s = failure.explanation.wait_s
        longest_s = MOST_WAITED_S if failure.is_unseen else MAX_REQUESTED_PAUSE_S
        is_long = wait_s is not None and wait_s > longest_s
        if is_long:
            advice = f"it asks to wait for {wait_s:.0f} s, so try again then"
        else:
            advice = self.cure(failure)
        message = f"{self._title} {failure}"
        if state.attempts > 1:
            message += f" ({state.attempts} attempts)"
        if advice:
            message += f": {advice}"
        message += "."
        if not self.name:
            message += " Or pass the name of one as model=."
        error_type = ModelError if failure.is_passing or not failure.is_call else Refused
        # Further calls would fail for the same reason.
        is_final = is_long or failure.is_unseen or failure.explanation.kind in FINAL
        return error_type(
            message, state.usage, state.transit, status=failure.status, is_final=is_final
        )

    def _unreachable(self, failure: HttpFailure, state: CallState) -> Unreachable:
        """Return the error of a call whose server did not accept the connection."""
        advice = failure.cure or "check the address"
        if not failure.cure and self.endpoint.is_local:
            advice = (
                "start one with `python -m atlaskit serve MODEL`, or pass the address of another "
                "endpoint"
            )
        problem = str(failure).rstrip(". ")
        message = f"No model answers at {self.endpoint.base_url} ({problem}): {advice}."
        # A failure with a cure of its own is one of TLS, which further calls would meet too.
        is_final = bool(failure.cure)
        return Unreachable(message, state.usage, state.transit, is_final=is_final)

    def cure(self, failure: HttpFailure) -> str:
        """Return what to do about a failed call, to end a sentence with; "" where nothing is known.

        Args:
            failure: The failure of the last attempt. Its server answered, and may be asked for its
                list of models.
        """
        kind = failure.explanation.kind
        if failure.is_late:
            return "give it more time: timeout_s=… (--timeout)"
        if kind in ("model", "place") or (not kind and failure.is_foreign):
            return self._cure_of_place(kind or "place")
        if kind == "key":
            if self.endpoint.key:
                return (
                    "check its key: api_key=… (--key-env VARIABLE), or the environment's "
                    "OPENAI_API_KEY"
                )
            return (
                "it wants a key: pass api_key=… (--key-env VARIABLE), or headers=… (--header) if "
                "it has its own header"
            )
        dialect = self.dialect.name if self.dialect else ""
        if not kind and failure.status in (400, 415, 422, 501) and dialect not in ("", "plain"):
            return 'try dialect="plain" (--dialect plain), which sends the least'
        return cure(failure.explanation, dialect)

    def _cure_of_place(self, kind: str) -> str:
        """Return what to do if the address has no API, or the API does not have the model.

        Args:
            kind: "model" if the endpoint said that it lacks the model; otherwise "place".
        """
        root = self.endpoint.base_url
        names = self._names_at("models")
        if names is None and not urlsplit(root).path.endswith("/v1"):
            if self._names_at(f"{root}/v1/models") is not None:
                return f"its API is at {root}/v1: pass that address"
            return "check the address: most end in /v1"
        if names is None:
            return "check the address and the model's name"
        if any(is_same_model(self.name, name) for name in names):
            return "" if kind == "model" else "check the address"
        if not names:
            return "it has no model: load one there first"
        return f"name one of its models: {named(names)}"

    def _names_at(self, path: str) -> list[str] | None:
        """Return the names in the list of models at a path or URL; None if there is no list."""
        try:
            models = parsed(self.endpoint.exchange(path)[0])
        except HttpFailure:
            return None
        if not isinstance(models, dict) or "error" in models:  # also with status 200
            return None
        return [name for name, _ in entries(models)]


def _wait_for_slot(slots: Slots, state: CallState) -> bool:
    """Take a slot for a request; return False if the call must end before there is one."""
    turn_s = slots.turn_s()
    if turn_s and not state.pause(turn_s):
        return False
    while not slots.acquire(min(ADMISSION_POLL_S, max(0.0, state.left_s))):
        if state.must_end:
            return False
    if state.must_end:
        slots.release()
        return False
    return True
