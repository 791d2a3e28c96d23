"""`ak.VLM`: a model behind an OpenAI-compatible endpoint.

A call sends one request and returns one validated reply. Failures that may pass are retried after a
growing pause, an answer that does not fit the schema is sent back once with what is wrong, and
every attempt is counted. Knows nothing of prompts and grids.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from atlaskit.errors import InputError, ModelWarning, check_positive, check_whole, printable
from atlaskit.models.answers import NoAnswer, find_answer
from atlaskit.models.attempts import CallState
from atlaskit.models.chat import ChatEndpoint
from atlaskit.models.completion import Completion
from atlaskit.models.dialect import HOSTED, Dialect, dialect_named
from atlaskit.models.errors import BadReply, ModelError, Refused, Unreachable
from atlaskit.models.estimate import estimated_usage
from atlaskit.models.http import Endpoint, HttpFailure
from atlaskit.models.identity import is_generic, is_same_model
from atlaskit.models.learning import Habits
from atlaskit.models.limiter import limiter_for
from atlaskit.models.metrics import ServerMetrics, metrics_url, read_metrics
from atlaskit.models.payload import checked_extra_body, sampling_parameters
from atlaskit.models.presets import family_of
from atlaskit.models.protocol import MAX_ATTEMPTS, Message, Reply, Request, Usage, is_out_of_bounds
from atlaskit.models.remedies import advice, is_final
from atlaskit.models.thinking import check_thinking, merged, room, thinking_fields

DEFAULT_PARAMETERS: Mapping[str, Any] = {"temperature": 0.0, "seed": 0}
"""What replies depend on beside the model, by default."""


class VLM:
    """A model behind an OpenAI-compatible endpoint.

    A call is retried after a failed connection, a reset, a time-out and the statuses 408, 409, 425,
    429 and 5xx, with growing pauses and jitter, or after the pause that the endpoint asks for, up
    to one minute. An endpoint that limits the rate or loads its model is waited for, up to a minute
    over all attempts if it does not say how long. An answer that does not fit the schema is sent
    back once with what is wrong. Every attempt counts as a call in `Usage`, except a request that
    is repeated at once because the server refused it before the model saw it: it no longer had an
    image, or does not know a field.

    Threads may share a VLM, and should: then an image is sent once.

    Attributes:
        name: Name of the model.
        parameters: What the replies depend on beside the model: temperature, seed, and what else
            was set. For a name that many servers use ("default"), the address is among them.
        base_url: Address of the endpoint, without a slash at its end.
        max_tokens: Most tokens of an answer, its thought included, or None.
        answered: Name of the model that answers in place of the one that is asked; "" if that one
            does, None before the first reply.

    Examples:
        >>> vlm = ak.VLM("http://127.0.0.1:8000/v1", "Qwen/Qwen3-VL-8B-Instruct")
        >>> vlm.name
        'Qwen/Qwen3-VL-8B-Instruct'
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000/v1",
        model: str | None = None,
        *,
        api_key: str | None = None,
        temperature: float = DEFAULT_PARAMETERS["temperature"],
        seed: int = DEFAULT_PARAMETERS["seed"],
        max_tokens: int | None = None,
        thinking: bool | None = None,
        extra_body: Mapping[str, Any] | None = None,
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
            max_tokens: Most tokens of an answer, its thought included. None: enough for the answer,
                with room for a thought where the model thinks.
            thinking: Whether the model thinks before it answers. None: as it does by itself.
            extra_body: More fields of every request, such as `reasoning_effort` or
                `chat_template_kwargs`.
            timeout_s: Most seconds one attempt may take.
            in_flight: Most requests in flight to this address at once, over all models and threads
                of the process. None: 16, or the limit that was set before.
            dialect: What the endpoint accepts: the name of one of `DIALECTS`, such as "vllm",
                "openai" (OpenAI itself), "hosted" (what most others accept) or "plain" (the schema
                is part of the prompt), or an `ak.Dialect`. None: what the endpoint's host and its
                list of models tell.

        Raises:
            Unreachable: If `model` is None and the endpoint does not answer.
            InputError: If a setting is invalid, or thinking cannot be turned off.
        """
        check_positive(in_flight=in_flight, timeout_s=timeout_s)
        if max_tokens is not None:
            check_whole("max_tokens", max_tokens)
        own = checked_extra_body(extra_body)
        self._transport = {"api_key": api_key, "timeout_s": timeout_s, "in_flight": in_flight}
        self._thinking, self._extra_body = thinking, own
        self._endpoint = Endpoint(base_url, api_key)
        self.base_url = self._endpoint.base_url
        declared = dialect_named(dialect) if isinstance(dialect, str) else dialect
        self._chat = ChatEndpoint(self._endpoint, limiter_for(self.base_url, in_flight), timeout_s, declared)
        declared = self._chat.declared
        self.name = model or self._first_model()
        self._family = family_of(self.name)
        check_thinking(thinking, self._family, self.name)
        self.max_tokens = max_tokens
        self.answered: str | None = None
        self._comparing = threading.Lock()
        more = merged(declared.extra_body if declared else {}, own)
        self.parameters: Mapping[str, Any] = {
            "temperature": temperature,
            "seed": seed,
            **({"schema": "words"} if declared and declared.schema == "words" else {}),
            **({"thinking": thinking} if thinking is not None else {}),
            **({"extra_body": more} if more else {}),
            **({"address": self.base_url} if is_generic(self.name) else {}),
        }

    def __reduce__(self) -> tuple[Callable[[], VLM], tuple[()]]:
        """Pickle the settings: another process or machine opens connections of its own."""
        declared = self._chat.declared
        dialect = declared and replace(declared, media=None)  # the folder exists on this machine only
        settings: dict[str, Any] = {**self._transport, **{name: self.parameters[name] for name in DEFAULT_PARAMETERS}}
        settings |= {"max_tokens": self.max_tokens, "thinking": self._thinking, "extra_body": self._extra_body}
        return partial(VLM, self.base_url, self.name, dialect=dialect, **settings), ()

    @property
    def dialect(self) -> Dialect:
        """What the endpoint accepts. If it was not given, the endpoint is asked the first time.

        Raises:
            ModelError: If the endpoint must be asked and fails.
        """
        state = CallState()
        try:
            return self._chat.dialect(state, self.name)
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
            deadline_s: When the last attempt must end, by `clock.now_s`.
            cancel: The caller sets it when it no longer needs the reply. The connection is then
                closed within half a second.

        Raises:
            Unreachable: If no server answers at the address.
            Refused: If the endpoint rejects the request or withholds the answer.
            BadReply: If the answer does not fit the schema, even after one correction.
            ModelError: If the call failed otherwise. Each error's `usage` says what the call cost.
        """
        state, is_corrected = CallState(max_attempts, deadline_s, cancel), False
        while True:
            completion = self._complete_with_retries(request, state)
            if completion.is_withheld:
                message = f"{self.name} at {self.base_url} withheld its answer (content filter or refusal)."
                raise Refused(message, state.usage, state.transit)
            try:
                found = find_answer(completion, request.schema)
            except NoAnswer as complaint:
                problem = complaint
            else:
                return Reply(
                    found.answer,
                    found.text,
                    state.usage,
                    completion.reasoning,
                    model=completion.model,
                    is_substitute=not is_same_model(self.name, completion.model),
                    transit=state.transit,
                )
            if completion.is_cut_off and not completion.text.strip():
                if not state.is_exhausted and self._makes_room():
                    continue
                raise BadReply(self._cut_off(completion), state.usage, state.transit)
            if is_corrected or state.is_exhausted:
                raise BadReply(self._misfit(completion, str(problem)), state.usage, state.transit)
            is_corrected = True
            request = self._corrected(request, completion, str(problem))

    def _complete_with_retries(self, request: Request, state: CallState) -> Completion:
        """Return the completion of a request after as many attempts as it needs and may have."""
        while True:
            try:
                completion = self._chat.attempt(
                    request, self.name, partial(self._fields, request), partial(self._limit, request), state
                )
            except HttpFailure as failure:
                state.count(Usage(calls=int(failure.is_call)))
                if not state.pause_before_retry(failure):
                    raise self._error(failure, state) from failure.__cause__
            else:
                is_counted = completion.has_usage
                state.count(completion.usage if is_counted else estimated_usage(request, completion, self._family))
                self._compare(completion.model)
                return completion

    def _fields(self, request: Request, dialect: Dialect) -> Mapping[str, Any]:
        """Return the fields of a body beside its messages, schema and length."""
        sampling = sampling_parameters(
            dialect, self.parameters["temperature"], self.parameters["seed"] + request.sample
        )
        thinking = thinking_fields(self._thinking, dialect, self._family)
        return merged(sampling, dialect.extra_body, thinking, self._extra_body)

    def _limit(self, request: Request, dialect: Dialect, habits: Habits) -> int:
        """Return the most tokens of an answer: what was set, or the request's and room to think."""
        was_set = self.max_tokens or dialect.max_tokens
        return was_set or request.max_tokens + room(self._thinking, dialect, self._family, habits.thinks)

    def _makes_room(self) -> bool:
        """Give a model that turned out to think room for it; return whether it had none before."""
        declared = self._chat.declared or HOSTED
        is_set = self.max_tokens is not None or declared.max_tokens is not None
        has_room = room(self._thinking, declared, self._family, self._chat.habits.thinks) > 0
        return not is_set and not has_room and self._chat.learn(thinks=True)

    def _cut_off(self, completion: Completion) -> str:
        """Return the message that an answer was cut off in its thought, and what to set."""
        family = self._family
        can_stop = self._thinking is not False and not (family.thinks and not family.no_thinking)
        instead = ", or turn thinking off (thinking=False, --no-thinking)" if can_stop else ""
        return (
            f"{self.name} was cut off in its thought after {completion.usage.completion_tokens or 'all its'} tokens, "
            f"before its answer: raise max_tokens (--max-tokens){instead}."
        )

    def _misfit(self, completion: Completion, problem: str) -> str:
        """Return the message that an answer does not fit, even after a correction."""
        if completion.is_cut_off:
            return f"{self.name} returned no whole answer: {problem}. Raise max_tokens (--max-tokens)."
        begin = printable(completion.text or completion.reasoning, 200)
        said = f" It begins with {begin!r}." if begin else ""
        return f"{self.name} returned an answer that does not fit the schema: {problem}.{said}"

    def _compare(self, model: str) -> None:
        """Note which model answered, and warn if it is not the one that was asked for."""
        answered = "" if is_same_model(self.name, model) else model
        with self._comparing:
            before, self.answered = self.answered, answered
        if answered != (before or "") and not is_generic(self.name):
            place = f"{printable(self.name, 200)} at {self.base_url}"
            told = f"{place} is answered by {printable(answered, 200)}: its replies are kept apart in the cache."
            warnings.warn(
                told if answered else f"{place} answers under its own name again.", ModelWarning, stacklevel=4
            )

    def _corrected(self, request: Request, completion: Completion, problem: str) -> Request:
        """Return the request, continued by the model's answer and what is wrong with it.

        A server that does not decode by the schema is told it in words, now and from now on.
        """
        told = f"That does not fit the schema: {problem}. Answer again, in JSON only."
        said = completion.text or "(nothing)"
        if not completion.is_cut_off and not is_out_of_bounds(completion.text, request.schema):
            self._chat.learn(needs_words=True)
        return replace(request, messages=(*request.messages, Message("assistant", (said,)), Message("user", (told,))))

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
            page = self._endpoint.get(metrics_url(self.base_url))
        except HttpFailure as failure:
            raise self._error(failure, CallState()) from failure.__cause__
        try:
            return read_metrics(page.decode(errors="replace"), self.name)
        except (ValueError, OverflowError) as error:
            raise ModelError(f"{self.base_url} returned unusable counters ({error}).", Usage()) from error

    def _first_model(self) -> str:
        try:
            name = self._chat.first_model()
        except HttpFailure as failure:
            if not failure.was_reached:
                raise _unreachable(self._endpoint, failure, CallState()) from failure.__cause__
            remedy = advice(failure, self._endpoint, "", "")
            told = f"{self.base_url} did not list its models (it {failure}){f': {remedy}' if remedy else ''}."
            raise ModelError(
                f"{told} Or pass the name of one as model=.", status=failure.status, is_final=is_final(failure)
            ) from failure
        if name is None:
            raise ModelError(f"{self.base_url} lists no models: pass the name of the one to load as model=.")
        return name

    def _error(self, failure: HttpFailure, state: CallState) -> ModelError:
        declared = self._chat.declared
        return call_error(self.name, self._endpoint, failure, state, declared.name if declared else "")

    def __repr__(self) -> str:
        return f"VLM({self.base_url!r}, {self.name!r})"


def call_error(name: str, endpoint: Endpoint, failure: HttpFailure, state: CallState, dialect: str = "") -> ModelError:
    """Return the error that a call ends with after a failed exchange.

    Args:
        name: Name of the model.
        endpoint: Where it was called.
        failure: Of the last attempt.
        state: Of the call.
        dialect: Name of the dialect that was spoken, if it is known.
    """
    if not failure.was_reached:
        return _unreachable(endpoint, failure, state)
    attempts = f" ({state.attempts} attempts)" if state.attempts > 1 else ""
    remedy = advice(failure, endpoint, name, dialect)
    message = f"{name} at {endpoint.base_url} {failure}{attempts}{f': {remedy}' if remedy else ''}."
    error = ModelError if failure.is_passing or not failure.is_call else Refused
    return error(message, state.usage, state.transit, status=failure.status, is_final=is_final(failure))


def _unreachable(endpoint: Endpoint, failure: HttpFailure, state: CallState) -> Unreachable:
    """Return the error that no model answers at an address, which says how to get one."""
    advice = "check the address"
    if endpoint.is_local:
        advice = "start one with `python -m atlaskit serve MODEL`, or pass the address of another endpoint"
    message = f"No model answers at {endpoint.base_url} ({str(failure).rstrip('. ')}): {advice}."
    return Unreachable(message, state.usage, state.transit)
