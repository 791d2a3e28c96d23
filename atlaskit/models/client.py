"""`ak.VLM`: a model behind an OpenAI-compatible endpoint.

A call sends one request and returns one validated reply. Failures that may pass are retried after a
growing pause, an answer that does not fit the schema is sent back once with what is wrong, and
every attempt is counted. Knows nothing of prompts and grids.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from atlaskit.errors import InputError
from atlaskit.models.answers import NoAnswer, find_answer
from atlaskit.models.attempts import CallState
from atlaskit.models.chat import ChatEndpoint
from atlaskit.models.completion import Completion
from atlaskit.models.dialect import Dialect, dialect_named
from atlaskit.models.errors import BadReply, ModelError, Refused, Unreachable
from atlaskit.models.http import Endpoint, HttpFailure
from atlaskit.models.limiter import limiter_for
from atlaskit.models.metrics import ServerMetrics, read_metrics
from atlaskit.models.protocol import MAX_ATTEMPTS, Message, Reply, Request
from atlaskit.models.usage import Usage

DEFAULT_PARAMETERS: Mapping[str, Any] = {"temperature": 0.0, "seed": 0}
"""What replies depend on beside the model, by default."""


class VLM:
    """A model behind an OpenAI-compatible endpoint.

    A call is retried after a failed connection, a reset, a time-out and the statuses 408, 409, 425,
    429 and 5xx, with growing pauses and jitter, or after the pause that the endpoint asks for, up
    to one minute. An answer that does not fit the schema is sent back once with what is wrong.
    Every attempt counts as a call in `Usage`, except one that is repeated at once because the
    server no longer had an image.

    Threads may share a VLM, and should: then an image is sent once.

    Attributes:
        name: Name of the model.
        parameters: What the replies depend on beside the model: temperature and seed.
        base_url: Address of the endpoint, without a slash at its end.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000/v1",
        model: str | None = None,
        *,
        api_key: str | None = None,
        temperature: float = DEFAULT_PARAMETERS["temperature"],
        seed: int = DEFAULT_PARAMETERS["seed"],
        timeout_s: float = 300.0,
        in_flight: int | None = None,
        dialect: str | Dialect | None = None,
    ) -> None:
        """Name an endpoint and one of its models.

        Args:
            base_url: Address of the endpoint, for most servers with /v1 at its end.
            model: Name of the model. None: the first one that the endpoint lists.
            api_key: Key of the endpoint. None: the environment's OPENAI_API_KEY, which is never
                sent to a server on this machine.
            temperature: Sampling temperature.
            seed: Seed of the sampling, where the endpoint accepts one.
            timeout_s: Most seconds one attempt may take.
            in_flight: Most requests in flight to this address at once, over all models and threads
                of the process. None: 16, or the limit that was set before.
            dialect: What the endpoint accepts: "vllm", "openai" (OpenAI itself), "hosted" (what
                most others accept), "plain" (the schema is part of the prompt) or an `ak.Dialect`.
                None: what the endpoint's list of models declares.

        Raises:
            Unreachable: If `model` is None and the endpoint does not answer.
            InputError: If a setting is invalid.
        """
        for name, value in {"in_flight": in_flight, "timeout_s": timeout_s}.items():
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"{name} must be a positive number; got {value}.")
        self._settings = {"api_key": api_key, "timeout_s": timeout_s, "in_flight": in_flight}
        self._endpoint = Endpoint(base_url, api_key)
        self.base_url = self._endpoint.base_url
        declared = dialect_named(dialect) if isinstance(dialect, str) else dialect
        self._chat = ChatEndpoint(self._endpoint, limiter_for(self.base_url, in_flight), timeout_s, declared)
        in_words = {"schema": "words"} if declared and declared.schema == "words" else {}
        self.parameters: Mapping[str, Any] = {"temperature": temperature, "seed": seed, **in_words}
        self.name = model or self._first_model()

    def __reduce__(self) -> tuple[Callable[[], VLM], tuple[()]]:
        """Pickle the settings: another process or machine opens connections of its own."""
        declared = self._chat.declared
        dialect = declared and replace(declared, media=None)  # the folder exists on this machine only
        settings: dict[str, Any] = {**self._settings, **{name: self.parameters[name] for name in DEFAULT_PARAMETERS}}
        return partial(VLM, self.base_url, self.name, dialect=dialect, **settings), ()

    @property
    def dialect(self) -> Dialect:
        """What the endpoint accepts. If it was not given, the endpoint is asked the first time.

        Raises:
            ModelError: If the endpoint must be asked and fails.
        """
        state = CallState()
        try:
            return self._chat.dialect(state)
        except HttpFailure as failure:
            raise self._error(failure, state) from failure.__cause__

    def complete(
        self,
        request: Request,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Reply:
        """Make one call: send the request, retry if needed, return one validated reply.

        Args:
            request: What to send.
            max_attempts: Most attempts, the first one and the correction included.
            deadline_s: When the last attempt must end, on the clock of `time.monotonic`.
            cancel: The caller sets it when it no longer needs the reply. The connection is then
                closed within half a second.

        Raises:
            Unreachable: If no server answers at the address.
            Refused: If the endpoint rejects the request or withholds the answer.
            BadReply: If the answer does not fit the schema, even after one correction.
            ModelError: If the call failed otherwise. Each error's `usage` says what the call cost.
        """
        state = CallState(max_attempts, deadline_s, cancel)
        is_corrected = False
        while True:
            completion = self._complete_with_retries(request, state)
            if completion.is_withheld:
                message = f"{self.name} at {self.base_url} withheld its answer (content filter or refusal)."
                raise Refused(message, state.usage, state.transit)
            try:
                found = find_answer(completion, request.schema)
            except NoAnswer as error:
                complaint = str(error)
            else:
                return Reply(found.answer, found.text, state.usage, completion.reasoning, transit=state.transit)
            if is_corrected or state.is_exhausted:
                message = (
                    f"{self.name} returned an answer that does not fit the schema: {complaint}. "
                    f"It begins with {completion.text[:200]!r}."
                )
                raise BadReply(message, state.usage, state.transit)
            is_corrected = True
            request = _with_correction(request, completion.text, complaint)

    def counters(self) -> ServerMetrics:
        """Return the server's own counters, summed since it started.

        Raises:
            InputError: If the endpoint has no counters: only vLLM does.
            ModelError: If the server fails, or has no counters of this model.
        """
        if not self.dialect.counters:
            raise InputError(
                f"{self.base_url} has no counters: its dialect is {self.dialect.name!r}, and only vLLM has them."
            )
        try:
            page = self._endpoint.get(f"{self.base_url.removesuffix('/v1')}/metrics")
        except HttpFailure as failure:
            raise self._error(failure, CallState()) from failure.__cause__
        try:
            return read_metrics(page.decode(errors="replace"), self.name)
        except (ValueError, OverflowError) as error:
            raise ModelError(f"{self.base_url} returned unusable counters ({error}).", Usage()) from error

    def _complete_with_retries(self, request: Request, state: CallState) -> Completion:
        """Return the completion of a request after as many attempts as it needs and may have."""
        while True:
            try:
                completion = self._chat.attempt(request, self.name, self.parameters, state)
            except HttpFailure as failure:
                state.count(Usage(calls=int(failure.is_call)))
                if not state.pause_before_retry(failure):
                    raise self._error(failure, state) from failure.__cause__
            else:
                state.count(completion.usage)
                return completion

    def _first_model(self) -> str:
        try:
            name = self._chat.first_model()
        except HttpFailure as failure:
            if not failure.was_reached:
                raise _unreachable(self._endpoint, failure, CallState()) from failure.__cause__
            raise ModelError(
                f"{self.base_url} did not list its models (it {failure}): pass the name of one as model=."
            ) from failure
        if name is None:
            raise ModelError(f"{self.base_url} lists no models: pass the name of the one to load as model=.")
        return name

    def _error(self, failure: HttpFailure, state: CallState) -> ModelError:
        return call_error(self.name, self._endpoint, failure, state)

    def __repr__(self) -> str:
        return f"VLM({self.base_url!r}, {self.name!r})"


def call_error(name: str, endpoint: Endpoint, failure: HttpFailure, state: CallState) -> ModelError:
    """Return the error that a call ends with after a failed exchange.

    Args:
        name: Name of the model.
        endpoint: Where it was called.
        failure: Of the last attempt.
        state: Of the call.
    """
    if not failure.was_reached:
        return _unreachable(endpoint, failure, state)
    attempts = f" ({state.attempts} attempts)" if state.attempts > 1 else ""
    error = ModelError if failure.is_passing or not failure.is_call else Refused
    return error(f"{name} at {endpoint.base_url} {failure}{attempts}.", state.usage, state.transit)


def _unreachable(endpoint: Endpoint, failure: HttpFailure, state: CallState) -> Unreachable:
    """Return the error that no model answers at an address, which says how to get one."""
    advice = "check the address"
    if endpoint.is_local:
        advice = "start one with `python -m atlaskit serve MODEL`, or pass the address of another endpoint"
    message = f"No model answers at {endpoint.base_url} ({str(failure).rstrip('. ')}): {advice}."
    return Unreachable(message, state.usage, state.transit)


def _with_correction(request: Request, text: str, complaint: str) -> Request:
    """Return the request, continued by the model's answer and what is wrong with it."""
    words = f"That does not fit the schema: {complaint}. Answer again, in JSON only."
    return replace(
        request, messages=(*request.messages, Message("assistant", (text or "(nothing)",)), Message("user", (words,)))
    )
