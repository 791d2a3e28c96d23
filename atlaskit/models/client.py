"""`ak.VLM`: a model behind an OpenAI-compatible endpoint.

A call sends one request and returns one validated reply. Transient failures are retried after
growing pauses. An answer that does not fit the schema is sent back once, with the reason. Every
attempt is counted. This module knows nothing of prompts and grids.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from atlaskit.errors import InputError, check_whole, printable
from atlaskit.models.answers import NoAnswer, find_answer
from atlaskit.models.attempts import CallState
from atlaskit.models.chat import ChatLine, metrics_url, read_metrics
from atlaskit.models.completion import Completion, estimated_usage
from atlaskit.models.dialect import (
    HOSTED,
    Dialect,
    Payload,
    build_payload,
    check_thinking,
    checked_extra_body,
    dialect_named,
    merged,
    sampling_parameters,
)
from atlaskit.models.http import HttpFailure, object_of, parsed
from atlaskit.models.names import family_of, is_generic, is_same_model, preset_named
from atlaskit.models.protocol import (
    BadReply,
    CallControl,
    Message,
    ModelError,
    Refused,
    Reply,
    Request,
    Usage,
    is_out_of_bounds,
)

DEFAULT_PARAMETERS: Mapping[str, Any] = {"temperature": 0.0, "seed": 0}
"""Default values of the parameters that replies depend on."""
FEWEST_IMAGE_TOKENS = 8
"""Fewest tokens that an image takes in any model. A prompt with fewer tokens lacks an image."""
MOST_CHARACTERS_A_TOKEN = 12
"""Most characters that a token has in any model."""
OFTEN_MISFIT = 3
"""After so many answers that ignore the schema, a warning names the option that adds the schema to
the prompt."""


class VLM:
    """A model behind an OpenAI-compatible endpoint.

    A call is retried after a failed or reset connection, a time-out, and the statuses 408, 409,
    425, 429 and 5xx. The pauses grow, with jitter, or are as long as the endpoint asks for. If it
    asks for more than two minutes, the call ends at once.

    An endpoint that limits the rate or still loads its model refuses a request before the model
    sees it. Such a refusal is no attempt and no call in `Usage`. The call waits for the endpoint
    until the deadline, at most a quarter of an hour, also if one pause exceeds two minutes.

    An answer that does not fit the schema is sent back once, with the reason.

    Every attempt counts as a call in `Usage`. A server may also refuse a request before the model
    sees it because the server no longer has an image, does not know a field, or has no room for so
    long an answer. The request is then changed and sent again at once, as part of the same attempt.

    Threads may share a VLM, and should: then an image is sent once.

    Attributes:
        name: Name of the model.
        parameters: What the replies depend on beside the model: temperature, seed, and what else
            was set. For a name that many servers use ("default"), the address is among them.
        base_url: Address of the endpoint, without a slash at its end.
        preset: Defaults for the model.
        max_tokens: Most tokens of an answer, its thought included, or None.
        answered: Name of the model that answers in place of the one that was asked for; "" if that
            model itself answers, None before the first reply.

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
        timeout_s: float | None = None,
        in_flight: int | None = None,
        rpm: float | None = None,
        headers: Mapping[str, str] | None = None,
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
            thinking: Whether the model thinks before it answers. None: the model's own default.
            extra_body: More fields of every request, such as `reasoning_effort` or
                `chat_template_kwargs`.
            timeout_s: Most seconds one attempt may take. None: 300, or what the longest answer
                allowed takes at 20 tokens a second, if that is longer.
            in_flight: Most requests in flight to this address at once, over all models and threads
                of the process. None: 16, or the limit that was set before. The limit is lower
                while the endpoint refuses requests because of their rate.
            rpm: Most requests a minute to this address, over all models and threads too. None: no
                limit, or the one that was set before.
            headers: Further headers of every request, such as {"api-key": …} for a service that
                wants its key there. If one of them holds a key, OPENAI_API_KEY is not sent.
            dialect: What the endpoint accepts: the name of one of `DIALECTS`, such as "vllm",
                "openai" (OpenAI itself), "hosted" (what most others accept) or "plain" (the schema
                is part of the prompt), with changes after it ("hosted,seed=true"), or an
                `ak.Dialect`. None: it is inferred from the endpoint's host and list of models.

        Raises:
            Unreachable: If `model` is None and the endpoint does not answer.
            InputError: If a setting is invalid, or thinking cannot be turned off.
        """
        if max_tokens is not None:
            check_whole("max_tokens", max_tokens)
        self._thinking = thinking
        self._extra_body = checked_extra_body(extra_body)
        if isinstance(dialect, str):
            dialect = dialect_named(dialect)
        self._line = ChatLine(
            base_url,
            model or "",
            dialect=dialect,
            api_key=api_key,
            timeout_s=timeout_s,
            in_flight=in_flight,
            rpm=rpm,
            headers=headers,
        )
        self.base_url = self._line.endpoint.base_url
        self.name = self._line.name = model or self._line.first_model()
        self.preset = preset_named(self.name)
        self._family = family_of(self.name)
        self._is_forced = not self.preset.no_forcing  # see `build_payload`
        check_thinking(thinking, self._family, self.name)
        self.max_tokens = max_tokens
        self.answered: str | None = None
        self._lock = threading.Lock()
        self._misfits = 0
        self._has_warned_of_images = False
        self._answered_before = set[str]()  # all values that `answered` has had
        parameters: dict[str, Any] = {"temperature": temperature, "seed": seed}
        if self._line.dialect and self._line.dialect.schema == "words":
            # Then more words are sent than the request has, on which the reply may depend.
            parameters["schema"] = "words"
        if thinking is not None:
            parameters["thinking"] = thinking
        if self._extra_body:
            parameters["extra_body"] = self._extra_body
        if is_generic(self.name):
            parameters["address"] = self.base_url
        self.parameters: Mapping[str, Any] = parameters

    def __reduce__(self) -> tuple[Callable[[], VLM], tuple[()]]:
        """Pickle the settings: another process or machine opens connections of its own."""
        settings: dict[str, Any] = {
            **self._line.settings,
            **{name: self.parameters[name] for name in DEFAULT_PARAMETERS},
        }
        settings |= {
            "max_tokens": self.max_tokens,
            "thinking": self._thinking,
            "extra_body": self._extra_body,
        }
        return partial(VLM, self.base_url, self.name, dialect=self._line.dialect, **settings), ()

    @property
    def dialect(self) -> Dialect:
        """What the endpoint accepts. If it was not given, the endpoint is asked the first time.

        Raises:
            ModelError: If the endpoint must be asked and cannot be reached.
        """
        state = CallState()
        try:
            return self._line.known_dialect(state)
        except HttpFailure as failure:
            raise self._line.error(failure, state) from failure.__cause__

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Make one call: send the request, retry if needed, return one validated reply.

        Args:
            request: What to send.
            **control: See `CallControl`. `max_attempts` includes the correction. When `cancel` is
                set, the connection is closed within half a second, once the request is sent.

        Raises:
            Unreachable: If no server answers at the address.
            Refused: If the endpoint rejects the request or withholds the answer.
            BadReply: If the answer does not fit the schema, even after one correction.
            ModelError: If the call failed otherwise. Each error's `usage` says what the call cost.
        """
        state = CallState(**control)
        is_corrected = False
        describes_schema = False
        while True:
            had_room = self._has_room()
            attempt = partial(self._attempt, request, describes_schema, state)
            completion = self._line.retried(attempt, state, partial(self._usage_of, request))
            self._note_model(completion.model)
            if completion.is_withheld:
                message = (
                    f"{self.name} at {self.base_url} withheld its answer (content filter or "
                    f"refusal)."
                )
                raise Refused(message, state.usage, state.transit)
            try:
                result = find_answer(completion, request.schema, request.choices)
            except NoAnswer as error:
                problem = str(error)
            else:
                self._check_images(request, completion)
                return Reply(
                    result.answer,
                    result.text,
                    state.usage,
                    completion.reasoning,
                    model=completion.model,
                    is_substitute=bool(self._substitute(completion.model)),
                    transit=state.transit,
                )
            if completion.is_cut_off and not completion.text.strip():  # within its thought
                if not state.is_exhausted and not had_room:
                    self._make_room()
                    continue
                raise BadReply(self._cut_off_message(completion), state.usage, state.transit)
            if is_corrected or state.is_exhausted:
                message = self._misfit_message(completion, problem)
                raise BadReply(message, state.usage, state.transit)
            is_corrected = True
            describes_schema = self._ignores_schema(request, completion)
            correction = f"That does not fit the schema: {problem}. Answer again, in JSON only."
            turns = (
                Message("assistant", (completion.text or "(nothing)",)),
                Message("user", (correction,)),
            )
            request = replace(request, messages=(*request.messages, *turns))

    def _attempt(self, request: Request, describes_schema: bool, state: CallState) -> Completion:
        """Return a whole completion, or one that broke off only after its answer.

        Raises:
            HttpFailure: If the exchange failed, or the endpoint broke off the answer.
        """
        payload_of = partial(self._payload, request, describes_schema)
        completion = self._line.attempt(payload_of, state)
        if completion.broken is not None:
            try:
                find_answer(completion, request.schema, request.choices)
            except NoAnswer as problem:
                # `retried` counts the call of an attempt that raises, but knows no tokens of it.
                state.usage += replace(self._usage_of(request, completion), calls=0)
                raise completion.broken from problem
        return completion

    def _payload(
        self,
        request: Request,
        describes_schema: bool,
        dialect: Dialect,
        known: set[str],
        left: int | None,
    ) -> Payload:
        """Return the payload of a request in a dialect.

        Args:
            request: The request.
            describes_schema: Whether the prompt also describes the schema, for this call alone.
            dialect: What the endpoint accepts.
            known: Keys of the images that the server has.
            left: Tokens that the context leaves for an answer, if the server has named a number.
        """
        dialect = replace(dialect, words_too=dialect.words_too or describes_schema)
        seed = self.parameters["seed"] + request.sample
        sampling = sampling_parameters(dialect, self.parameters["temperature"], seed)
        thinking = dialect.thinking_fields(self._thinking, self._family)
        fields = merged(sampling, thinking, self._extra_body)
        limit = self.max_tokens or request.max_tokens + dialect.room(self._thinking, self._family)
        return build_payload(
            request,
            self.name,
            dialect,
            fields,
            known,
            min(limit, left or limit),
            is_forced=self._is_forced,
        )

    def _usage_of(self, request: Request, completion: Completion) -> Usage:
        if completion.has_usage:
            return completion.usage
        return estimated_usage(request, completion, self._family)

    def _has_room(self) -> bool:
        """Return whether a request allows tokens for a thought, or the user has set the limit."""
        declared = self._line.dialect or HOSTED
        return self.max_tokens is not None or declared.room(self._thinking, self._family) > 0

    def _make_room(self) -> None:
        """Allow tokens for a thought from now on, since the model thinks."""
        while not self._has_room():  # until no other thread changes the dialect at the same time
            declared = self._line.dialect or HOSTED
            self._line.adapt(declared, replace(declared, thinks=True))

    def _cut_off_message(self, completion: Completion) -> str:
        """Return the message about a cut-off thought, with the settings that help."""
        family = self._family
        can_stop = self._thinking is not False and not (family.thinks and not family.no_thinking)
        alternative = ""
        if can_stop:
            alternative = ", or turn thinking off (thinking=False, --no-thinking)"
        return (
            f"{self.name} was cut off in its thought after "
            f"{completion.usage.completion_tokens or 'all its'} tokens, before its answer: raise "
            f"max_tokens (--max-tokens){alternative}."
        )

    def _misfit_message(self, completion: Completion, problem: str) -> str:
        """Return the message of an answer that does not fit, even after a correction."""
        if completion.is_cut_off:
            return (
                f"{self.name} returned no whole answer: {problem}. Raise max_tokens (--max-tokens)."
            )
        message = f"{self.name} returned an answer that does not fit the schema: {problem}."
        beginning = printable(completion.text or completion.reasoning, 200)
        return f"{message} It begins with {beginning!r}." if beginning else message

    def _substitute(self, model: str) -> str:
        """Return the model that a reply names; "" if it is the one that was asked for."""
        if model == self.name or is_same_model(self.name, model):
            return ""
        return model

    def _note_model(self, model: str) -> None:
        """Note which model answered, and warn if it is not the one that was asked for."""
        answered = self._substitute(model)
        with self._lock:
            previous = self.answered or ""
            is_known = answered == previous or answered in self._answered_before
            self.answered = answered
            self._answered_before.add(answered)
        if is_known or is_generic(self.name):
            return
        if answered:
            name = printable(answered, 200)
            self._line.warn(f"is answered by {name}: its replies are kept apart in the cache")
        else:
            self._line.warn("answers under its own name again")

    def _check_images(self, request: Request, completion: Completion) -> None:
        """Warn once if the endpoint counted too few tokens for the images that were sent."""
        images = len(request.images)
        usage = completion.usage
        fewest = FEWEST_IMAGE_TOKENS * images
        fewest += sum(map(len, request.texts)) // MOST_CHARACTERS_A_TOKEN
        is_short = 0 < usage.prompt_tokens < fewest and not usage.image_tokens
        if images and is_short and not self._has_warned_of_images:
            self._has_warned_of_images = True
            self._line.warn(
                f"counted {usage.prompt_tokens:,} prompt tokens for {images} images and their "
                f"text: it may have dropped the images, so check that it serves a vision-language "
                f"model"
            )

    def _ignores_schema(self, request: Request, completion: Completion) -> bool:
        """Return whether an answer shows that its server does not decode by the schema.

        Such answers are counted. A single warning names the option by which prompts describe the
        schema from the start.
        """
        if completion.is_cut_off or is_out_of_bounds(completion.text, request.schema):
            return False
        with self._lock:
            self._misfits += 1
            is_often = self._misfits == OFTEN_MISFIT
        dialect = self._line.dialect or HOSTED
        if is_often and dialect.schema != "words":
            option = replace(dialect, words_too=True).option
            self._line.warn(
                f"answered {OFTEN_MISFIT} calls without regard to the schema: {option} tells it in "
                f"words too"
            )
        return True

    def counters(self) -> Counter[str]:
        """Return the server's own counters since its start, by short names (`chat.COUNTERS`).

        They count the requests of all clients: subtract an earlier reading from a later one.

        Raises:
            InputError: If the endpoint has no counters: only vLLM does.
            ModelError: If the server fails, or has no counters of this model.
        """
        if not self.dialect.counters:
            raise InputError(
                f"{self.base_url} has no counters: its dialect is {self.dialect.name!r}, and only "
                "vLLM has them."
            )
        try:
            page, _ = self._line.endpoint.exchange(metrics_url(self.base_url))
        except HttpFailure as failure:
            raise self._line.error(failure, CallState()) from failure.__cause__
        try:
            return read_metrics(page.decode(errors="replace"), self.name)
        except (ValueError, OverflowError) as error:
            raise ModelError(
                f"{self.base_url} returned unusable counters ({error}).", Usage()
            ) from error

    def server(self) -> dict[str, str]:
        """Return what is known of the server: address, dialect, model, version of vLLM."""
        facts = {"address": self.base_url, "model": self.answered or self.name}
        try:
            facts["dialect"] = self.dialect.name
            if self.dialect.counters:
                page, _ = self._line.endpoint.exchange(
                    f"{self.base_url.removesuffix('/v1')}/version"
                )
                facts["version"] = str(object_of(parsed(page))["version"])[:80]
        except (ModelError, HttpFailure, KeyError):
            pass  # a proxy may forward chat completions alone
        return facts

    def __repr__(self) -> str:
        return f"VLM({self.base_url!r}, {self.name!r})"
