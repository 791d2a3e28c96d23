"""`ChatEndpoint`: sends one attempt of a call to /chat/completions, and reads the server's list of
models.

An attempt builds a payload in the server's dialect and habits, waits for the limiter, sends the
payload and reads the completion. Retries, corrections and the wording of errors are the client's.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from atlaskit.errors import ModelWarning, printable
from atlaskit.models.attempts import CallState
from atlaskit.models.completion import Completion, read_completion
from atlaskit.models.dialect import HOSTED, Dialect, dialect_of, dialect_of_host
from atlaskit.models.event_stream import is_event_stream, joined
from atlaskit.models.failures import error_in
from atlaskit.models.http import CONNECT_S, Endpoint, HttpFailure, failure_of, parsed
from atlaskit.models.learning import Habits, learn
from atlaskit.models.limiter import Limiter
from atlaskit.models.listing import first_chat_model
from atlaskit.models.metrics import engines_in, metrics_url
from atlaskit.models.payload import SCHEMA_FIELDS, Payload, build_payload, delete_files
from atlaskit.models.posting import post_when_admitted
from atlaskit.models.protocol import Request

UNKNOWN_IMAGE = frozenset({400, 404, 422, 500})
"""Statuses with which servers answer a request that names an image they do not have (any more)."""


class ChatEndpoint:
    """The chat completions of one server. Shared by threads.

    Attributes:
        declared: The server's dialect; None until it is known.
        habits: What the server turned out to refuse or to need.
        known_images: Keys of the images that the server has.
    """

    def __init__(self, endpoint: Endpoint, limiter: Limiter, timeout_s: float, dialect: Dialect | None = None) -> None:
        self.declared = dialect or dialect_of_host(endpoint.host)
        self.habits = Habits()
        self.known_images: set[str] = set()
        self._endpoint, self._limiter, self._timeout_s = endpoint, limiter, timeout_s
        self._learning = threading.Lock()

    def first_model(self) -> str | None:
        """Return the first model of the server's list that chats, None for an empty or odd list.

        Raises:
            HttpFailure: If the list cannot be fetched.
            ModelError: If no model in it chats.
        """
        page, headers = self._endpoint.get_with_headers("models")
        models = parsed(page)
        name = first_chat_model(models, self._endpoint.base_url)
        if name is not None:
            self.declared = self.declared or self._told(models, headers, name, CONNECT_S)
        return name

    def dialect(self, state: CallState, model: str = "") -> Dialect:
        """Return the server's dialect. The first time, the server's list of models decides.

        A server that has no list, or does not show it to everyone, counts as "hosted".

        Args:
            state: The state of the call that needs it.
            model: The model that is called.

        Raises:
            HttpFailure: If fetching the list failed in a way that may pass.
        """
        if self.declared is None:
            try:
                page, headers = self._endpoint.get_with_headers("models", min(CONNECT_S, state.left_s), state.cancel)
            except HttpFailure as failure:
                if failure.is_passing:
                    failure.is_call = not failure.was_reached
                    raise
                page, headers = b"", {}
            try:
                models = parsed(page)
            except HttpFailure:
                self.declared = HOSTED
            else:
                self.declared = self._told(models, headers, model, min(CONNECT_S, state.left_s), state.cancel)
        return self.declared

    def _told(
        self,
        models: Any,
        headers: Mapping[str, str],
        model: str,
        timeout_s: float,
        cancel: threading.Event | None = None,
    ) -> Dialect:
        """Return the dialect that a list of models tells, with the number of engines behind it.

        The number is on the page of counters. A server that does not show the page has one.
        """
        dialect = dialect_of(models, headers, model)
        if not dialect.counters:
            return dialect
        try:
            page = self._endpoint.get(metrics_url(self._endpoint.base_url), timeout_s, cancel)
        except HttpFailure:
            return dialect
        return replace(dialect, ranks=engines_in(page.decode(errors="replace"), model))

    def attempt(
        self,
        request: Request,
        model: str,
        fields: Callable[[Dialect], Mapping[str, Any]],
        max_tokens: Callable[[Dialect, Habits], int],
        state: CallState,
    ) -> Completion:
        """Send a request until the server takes it, and return the completion.

        A server may have dropped an image that is sent as a uuid alone. If it rejects such a
        request for whatever reason, the request is sent again with all images in it. If it refuses
        a field by name, the request is sent again without the field, and so are all later ones. The
        model did not see the rejected requests, so all are one attempt.

        Args:
            request: The request.
            model: Name of the model at the server.
            fields: Returns the fields of the body beside messages and schema, in a dialect.
            max_tokens: Returns the most tokens of the answer, in a dialect and with habits.
            state: The call's state. Queueing time and sent bytes are added to it.

        Raises:
            HttpFailure: If the exchange failed, or returned something other than a completion.
        """
        dialect, known = self.dialect(state, model), self.known_images
        while True:
            habits = self.habits
            limit = max_tokens(dialect, habits)
            payload = build_payload(request, model, dialect, fields(dialect), known, habits, limit)
            try:
                completion = _completion_in(self._send(payload, state))
            except HttpFailure as failure:
                if payload.named and failure.status in UNKNOWN_IMAGE:
                    self.known_images -= payload.named
                    known = set()
                elif not self._has_learned(failure, habits, payload, model):
                    raise
                continue
            self.known_images |= payload.carried
            return completion

    def learn(self, **habits: Any) -> bool:
        """Remember habits of the server; return whether one of them is new."""
        with self._learning:
            before, self.habits = self.habits, replace(self.habits, **habits)
            return self.habits != before

    def _has_learned(self, failure: HttpFailure, habits: Habits, payload: Payload, model: str) -> bool:
        """Learn from a failure what the server refuses; return whether to send the request anew."""
        learned = learn(failure, habits, payload.optional, payload.length, payload.limit)
        if learned == habits:
            return False
        with self._learning:
            if self.habits != habits:  # another thread has learned in the meantime: try what it knows
                return True
            self.habits = learned
        place = f"{printable(model, 200)} at {self._endpoint.base_url}"
        words = f" ({failure.explanation.words})"
        if learned.length != habits.length:
            told = f"{place} refuses {payload.length!r}: {learned.length!r} is sent from now on{words}."
            warnings.warn(told, ModelWarning, stacklevel=2)
        if learned.most_tokens != habits.most_tokens:
            told = f"{place} allows an answer at most {learned.most_tokens} tokens, not {payload.limit}{words}."
            warnings.warn(told, ModelWarning, stacklevel=2)
        for name in set(learned.refused) - set(habits.refused):
            instead = ": the schema is told in words" if name in SCHEMA_FIELDS else ": it is left out"
            warnings.warn(f"{place} refuses {name!r}{instead} from now on{words}.", ModelWarning, stacklevel=2)
        return True

    def _send(self, payload: Payload, state: CallState) -> bytes:
        """Send a payload once the limiter admits it, and return the body of the answer."""
        try:
            return post_when_admitted(
                self._endpoint,
                self._limiter,
                "chat/completions",
                payload.body,
                payload.headers,
                self._timeout_s,
                state,
            )
        finally:
            delete_files(payload.files)


def _completion_in(page: bytes) -> Completion:
    """Return the completion in the body of an answer.

    Raises:
        HttpFailure: If it holds an error or something else.
    """
    body: Any = None
    try:
        body = joined(page) if is_event_stream(page) else parsed(page)
        if (error := error_in(body)) is not None:
            raise failure_of(error[0], {}, error[1], is_in_success=True)
        return read_completion(body)
    except ValueError as error:
        is_foreign = not isinstance(body, dict) or "choices" not in body
        raise HttpFailure(f"returned {error}", is_foreign=is_foreign) from error
