"""`ChatEndpoint`: sends one attempt of a call to /chat/completions, and reads the server's list of
models.

An attempt builds a payload in the server's dialect, waits for the limiter, sends the payload and
reads the completion. Retries, corrections and the wording of errors are the client's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlaskit.models.attempts import CallState
from atlaskit.models.completion import Completion, read_completion
from atlaskit.models.dialect import HOSTED, Dialect, dialect_of
from atlaskit.models.http import CONNECT_S, Endpoint, HttpFailure, parsed
from atlaskit.models.limiter import Limiter
from atlaskit.models.listing import first_chat_model
from atlaskit.models.payload import Payload, build_payload, delete_files, sampling_parameters
from atlaskit.models.posting import post_when_admitted
from atlaskit.models.protocol import Request

UNKNOWN_IMAGE = frozenset({400, 404, 422, 500})
"""Statuses with which servers answer a request that names an image they do not have (any more)."""


class ChatEndpoint:
    """The chat completions of one server. Shared by threads.

    Attributes:
        declared: The server's dialect; None until it is known.
        known_images: Keys of the images that the server has.
    """

    def __init__(self, endpoint: Endpoint, limiter: Limiter, timeout_s: float, dialect: Dialect | None = None) -> None:
        self.declared = dialect
        self.known_images: set[str] = set()
        self._endpoint, self._limiter, self._timeout_s = endpoint, limiter, timeout_s

    def first_model(self) -> str | None:
        """Return the first model of the server's list that chats, None for an empty or odd list.

        Raises:
            HttpFailure: If the list cannot be fetched.
            ModelError: If no model in it chats.
        """
        models = parsed(self._endpoint.get("models"))
        name = first_chat_model(models, self._endpoint.base_url)
        if name is not None:
            self.declared = self.declared or dialect_of(models)
        return name

    def dialect(self, state: CallState) -> Dialect:
        """Return the server's dialect. The first time, the server's list of models decides.

        A server that has no list, or does not show it to everyone, counts as "hosted".

        Raises:
            HttpFailure: If fetching the list failed in a way that may pass.
        """
        if self.declared is None:
            try:
                page = self._endpoint.get("models", min(CONNECT_S, state.left_s), state.cancel)
            except HttpFailure as failure:
                if failure.is_passing:
                    failure.is_call = not failure.was_reached
                    raise
                page = b""
            try:
                self.declared = dialect_of(parsed(page))
            except HttpFailure:
                self.declared = HOSTED
        return self.declared

    def attempt(self, request: Request, model: str, parameters: Mapping[str, Any], state: CallState) -> Completion:
        """Send a request once and return the completion.

        A server may have dropped an image that is sent as a uuid alone. If it rejects such a
        request for whatever reason, the request is sent again with all images in it. The model did
        not see the first one, so both are one attempt.

        Args:
            request: The request.
            model: Name of the model at the server.
            parameters: `temperature` and `seed` of the client.
            state: The call's state. Queueing time and sent bytes are added to it.

        Raises:
            HttpFailure: If the exchange failed, or returned something other than a completion.
        """
        dialect, known = self.dialect(state), self.known_images
        sampling = sampling_parameters(dialect, parameters["temperature"], parameters["seed"] + request.sample)
        while True:
            payload = build_payload(request, model, dialect, sampling, known)
            try:
                page = self._send(payload, state)
            except HttpFailure as failure:
                if not (payload.named and failure.status in UNKNOWN_IMAGE):
                    raise
                self.known_images -= payload.named
                known = set()
                continue
            try:
                completion = read_completion(parsed(page))
            except ValueError as error:
                raise HttpFailure(f"returned {error}") from error
            self.known_images |= payload.carried
            return completion

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
