"""A model behind an OpenAI-compatible endpoint: one request there, one validated answer back.

Passing failures are tried again after a growing wait, an answer that does not fit is sent back once with what is wrong,
and every attempt is counted. What may be sent is the endpoint's `Dialect`; how many requests are under way at once is
the `Gate` to its address. Knows nothing of prompts and grids.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import ValidationError

from atlaskit.errors import InputError, first_fault
from atlaskit.models.dialect import (
    HOSTED,
    Completion,
    Dialect,
    Payload,
    dialect_named,
    dialect_of,
    discard,
    letter,
    read_answer,
    sampling,
)
from atlaskit.models.errors import BadReply, ModelError, Refused, Unreachable
from atlaskit.models.http import CONNECT_S, Endpoint, HttpFailure, parsed
from atlaskit.models.limiter import limiter_for
from atlaskit.models.metrics import ServerMetrics, read_counters
from atlaskit.models.protocol import MAX_ATTEMPTS, Message, Reply, Request
from atlaskit.models.usage import Transit, Usage

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0
LONGEST_ASKED_WAIT_S = 60.0
"""How long a client waits at most because an endpoint asks it to."""
USUAL: Mapping[str, Any] = {"temperature": 0.0, "seed": 0}
"""What replies depend on, beside the model, where nothing else is said."""
FORGOTTEN = frozenset({400, 404, 422, 500})
"""How a server answers that was named an image which it does not have (any more)."""


class VLM:
    """A model behind an OpenAI-compatible endpoint.

    No connection, a reset, a time-out, 408, 409, 425, 429 and 5xx are tried again after a growing wait with jitter, or
    the wait that the endpoint asks for, up to a minute; an answer that does not fit the schema is sent back once with
    what is wrong. Every attempt counts as a call, but one that is made again at once because the server lacks an image
    that it was only named. Safe to share between threads, and meant to be.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000/v1",
        model: str | None = None,
        *,
        api_key: str | None = None,
        temperature: float = USUAL["temperature"],
        seed: int = USUAL["seed"],
        timeout_s: float = 300.0,
        in_flight: int | None = None,
        dialect: str | Dialect | None = None,
    ) -> None:
        """Name an endpoint and one of its models (its first, if none is named; that asks the endpoint).

        Where no key is given, that in the environment's OPENAI_API_KEY is taken, but for a server on this machine. At
        most `in_flight` requests (16) are under way at once to this address, of all models and questions of the process
        together. `dialect` is what the endpoint takes: "vllm", "openai" (OpenAI itself), "hosted" (what most others
        take), "plain" (the schema told in words) or a `Dialect`; where it is not given, what the endpoint's own list of
        models declares. Raises Unreachable if the endpoint must be asked and does not answer, InputError for a setting
        that cannot be.
        """
        for name, value in {"in_flight": in_flight, "timeout_s": timeout_s}.items():
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"{name} is a positive number, got {value}.")
        self._given = {"api_key": api_key, "timeout_s": timeout_s, "in_flight": in_flight}
        self._endpoint, self._timeout_s = Endpoint(base_url, api_key), timeout_s
        self.base_url = self._endpoint.base_url
        self._gate = limiter_for(self.base_url, in_flight)
        self._known: set[str] = set()  # the images that the endpoint has
        self._dialect = dialect_named(dialect) if isinstance(dialect, str) else dialect
        told = {"schema": "words"} if self._dialect and self._dialect.schema == "words" else {}
        self.parameters: Mapping[str, Any] = {"temperature": temperature, "seed": seed, **told}
        self.name = model or self._first_model()

    def __reduce__(self) -> tuple[Callable[[], VLM], tuple[()]]:
        """Let it be sent to another machine, which makes connections of its own."""
        dialect = self._dialect and replace(self._dialect, media=None)  # a folder of this machine
        asked: dict[str, Any] = {**self._given, **{name: self.parameters[name] for name in USUAL}}
        return partial(VLM, self.base_url, self.name, dialect=dialect, **asked), ()

    @property
    def dialect(self) -> Dialect:
        """What the endpoint takes; where that was not said, it is asked once. Raises ModelError if that fails."""
        try:
            return self._spoken(CONNECT_S)
        except HttpFailure as failure:
            raise self._error(failure, _CallState()) from failure.__cause__

    def complete(
        self,
        request: Request,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Reply:
        """Answer a request; raise Unreachable, BadReply or ModelError, which say what the attempts cost."""
        trip = _CallState(deadline_s, cancel)
        wait_s, is_corrected = FIRST_WAIT_S, False
        while True:
            try:
                answer = self._ask(request, trip)
            except HttpFailure as failure:
                trip.attempts += 1
                trip.spent += Usage(calls=int(failure.is_call))
                pause_s = wait_s * random.uniform(0.5, 1.5)
                if failure.wait_s is not None:
                    pause_s = min(failure.wait_s, LONGEST_ASKED_WAIT_S)
                is_last = trip.attempts >= max_attempts or trip.left_s <= pause_s
                if is_last or not failure.is_passing or _is_cancelled_after(pause_s, cancel):
                    raise self._error(failure, trip) from failure.__cause__
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
                continue
            trip.attempts += 1
            trip.spent += answer.usage
            if answer.is_withheld:
                words = f"{self.name} at {self.base_url} withholds its answer (a content filter, or a refusal)."
                raise Refused(words, trip.spent, trip.transit)
            try:
                fitting = request.schema.model_validate_json(answer.text)
            except ValidationError as error:
                complaint = _complaint(error, answer)
            else:
                return Reply(fitting, answer.text, trip.spent, answer.reasoning, transit=trip.transit)
            if is_corrected or trip.attempts >= max_attempts:
                words = (
                    f"{self.name} does not answer in the asked-for form: {complaint}. It said: {answer.text[:200]!r}."
                )
                raise BadReply(words, trip.spent, trip.transit)
            is_corrected = True
            request = _corrected(request, answer.text, complaint)

    def counters(self) -> ServerMetrics:
        """Return the server's own counts so far; raise InputError where it keeps none, ModelError where it fails."""
        if not self.dialect.counters:
            raise InputError(f"{self.base_url} speaks {self.dialect.name!r}, which tells no counters; vLLM does.")
        try:
            page = self._endpoint.get(f"{self.base_url.removesuffix('/v1')}/metrics")
        except HttpFailure as failure:
            raise self._error(failure, _CallState()) from failure.__cause__
        try:
            return read_counters(page.decode(errors="replace"), self.name)
        except (ValueError, OverflowError) as error:
            raise ModelError(f"{self.base_url} tells {error}.", Usage()) from error

    def _ask(self, request: Request, trip: _CallState) -> Completion:
        """Send a request; and send it whole where the endpoint may have forgotten an image that was only named."""
        dialect, known = self._spoken(min(CONNECT_S, trip.left_s), trip.cancel), self._known
        sampled = sampling(dialect, self.parameters["temperature"], self.parameters["seed"] + request.sample)
        while True:
            sent = letter(request, self.name, dialect, sampled, known)
            try:
                page = self._send(sent, trip)
            except HttpFailure as failure:
                if not (sent.named and failure.status in FORGOTTEN):
                    raise
                # Whatever it complains of, it can be that. The model was not asked, so this is no call.
                self._known -= sent.named
                known = set()
                continue
            try:
                answer = read_answer(parsed(page))
            except ValueError as error:
                raise HttpFailure(f"answers what is {error}") from error
            self._known |= sent.carried
            return answer

    def _send(self, sent: Payload, trip: _CallState) -> bytes:
        """Send a letter when there is a place for it among the requests in flight."""
        began_s = time.monotonic()
        try:
            with self._gate.place(trip.left_s, trip.cancel):
                trip.queue_s += time.monotonic() - began_s
                timeout_s = min(self._timeout_s, trip.left_s)
                if timeout_s > 0:
                    trip.sent_bytes += len(sent.body)
                    return self._endpoint.post("chat/completions", sent.body, sent.headers, timeout_s, trip.cancel)
        except TimeoutError:
            trip.queue_s += time.monotonic() - began_s
        finally:
            discard(sent.files)
        raise HttpFailure("could not be asked before the time was up", is_passing=False, is_call=False)

    def _spoken(self, timeout_s: float, cancel: threading.Event | None = None) -> Dialect:
        if self._dialect is None:
            try:
                page = self._endpoint.get("models", timeout_s, cancel)
            except HttpFailure as failure:
                if failure.is_passing:
                    failure.is_call = not failure.was_reached
                    raise
                page = b""
            try:
                self._dialect = dialect_of(parsed(page))
            except HttpFailure:  # it keeps no list, or not for everyone
                self._dialect = HOSTED
        return self._dialect

    def _first_model(self) -> str:
        try:
            models = parsed(self._endpoint.get("models"))
        except HttpFailure as failure:
            if not failure.was_reached:
                raise self._error(failure, _CallState()) from failure.__cause__
            raise ModelError(f"{self.base_url} does not list its models (it {failure}): name one.") from failure
        match models:
            case {"data": [{"id": str(name)}, *_]}:
                self._dialect = self._dialect or dialect_of(models)
                return name
        raise ModelError(f"{self.base_url} serves no model: name one that it should load.")

    def _error(self, failure: HttpFailure, trip: _CallState) -> ModelError:
        """Return what a failure is to those who asked."""
        if not failure.was_reached:
            words = how_to_reach(self.base_url, str(failure), self._endpoint.is_local)
            return Unreachable(words, trip.spent, trip.transit)
        attempts = f" ({trip.attempts} attempts)" if trip.attempts > 1 else ""
        kind = ModelError if failure.is_passing or not failure.is_call else Refused
        return kind(f"{self.name} at {self.base_url} {failure}{attempts}.", trip.spent, trip.transit)

    def __repr__(self) -> str:
        return f"VLM({self.base_url!r}, {self.name!r})"


@dataclass
class _CallState:
    """What a call has cost and taken so far."""

    deadline_s: float | None = None
    cancel: threading.Event | None = None
    attempts: int = 0
    spent: Usage = Usage()
    queue_s: float = 0.0
    sent_bytes: int = 0
    began_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        """Seconds left, infinity where there is no deadline."""
        return math.inf if self.deadline_s is None else self.deadline_s - time.monotonic()

    @property
    def transit(self) -> Transit:
        wall_s = time.monotonic() - self.began_s
        return Transit(queue_s=self.queue_s, wall_s=wall_s, sent_bytes=self.sent_bytes)


def how_to_reach(base_url: str, why: str, is_local: bool) -> str:
    """Say in one sentence how to get a model."""
    advice = "look whether the address is right"
    if is_local:
        advice = "start one with `make serve MODEL=…`, or name the address of another endpoint"
    return f"No model answers at {base_url} ({why.rstrip('. ')}): {advice}."


def _is_cancelled_after(pause_s: float, cancel: threading.Event | None) -> bool:
    """Wait before another attempt; tell whether nobody waits for it any more."""
    if cancel is None:
        time.sleep(pause_s)
        return False
    return cancel.wait(pause_s)


def _corrected(request: Request, said: str, complaint: str) -> Request:
    """Return the request with what was said to it, and what is wrong with that."""
    words = f"That does not fit the schema: {complaint}. Answer again, in JSON only."
    return replace(
        request, messages=(*request.messages, Message("assistant", (said or "(nothing)",)), Message("user", (words,)))
    )


def _complaint(error: ValidationError, answer: Completion) -> str:
    where, what = first_fault(error)
    complaint = f"{what} at {where}" if where else what
    return (
        f"{complaint} (it was cut off after {answer.usage.completion_tokens} tokens)"
        if answer.is_cut_off
        else complaint
    )
