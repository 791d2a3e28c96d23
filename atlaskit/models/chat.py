"""`ChatLine`: one attempt of a call to the chat completions of a model, and its server's dialect.

A dialect says what a server accepts (`dialect.Dialect`). An attempt builds a payload in the
dialect, sends it and reads the completion. If the server refuses a part of the payload, the attempt
changes that part and sends it again at once. `attempts.Line` retries failed attempts, and
`client.VLM` has the model correct an answer that does not fit. `read_metrics` reads the counters of
a vLLM server.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from atlaskit import limits
from atlaskit.errors import ModelWarning, printable
from atlaskit.models.attempts import CallState, Line
from atlaskit.models.completion import Completion, completion_in
from atlaskit.models.dialect import (
    HOSTED,
    Dialect,
    Payload,
    adapted,
    dialect_of,
    dialect_of_host,
    room_left,
)
from atlaskit.models.http import CONNECT_S, HttpFailure, parsed
from atlaskit.models.names import first_chat_model
from atlaskit.models.protocol import ModelError

UNKNOWN_IMAGE = frozenset({400, 404, 422, 500})
"""Statuses with which servers answer a request that names an image they do not have (any more)."""
MOST_ADAPTED = 8
"""How often, at most, a request is changed and sent again at once in one attempt."""
Payloads = Callable[[Dialect, set[str], int | None], Payload]
"""A function that makes the payload of a request. Its arguments are the dialect, the keys of the
images that the server has, and the most tokens that the context leaves for an answer beside this
prompt (None if the server has not said)."""

COUNTERS = {
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:generation_tokens_total": "completion_tokens",
    "vllm:prefix_cache_queries_total": "prefix_queries",  # prompt tokens that were looked up
    "vllm:prefix_cache_hits_total": "prefix_hits",
    "vllm:mm_cache_queries_total": "image_queries",  # images that were looked up
    "vllm:mm_cache_hits_total": "image_hits",
    "vllm:request_success_total": "requests",
}
"""Short names of vLLM's counters, by their names on the /metrics page."""
ENGINE = re.compile(r'engine="(\d{1,6})"')
"""The label of a counter that holds the number of its engine."""


class ChatLine(Line):
    """The chat completions of a model at an endpoint. Shared by threads.

    Attributes:
        known_images: Keys of the images that the server has.
    """

    def __init__(self, base_url: str, name: str, dialect: Dialect | None, **settings: Any) -> None:
        """Prepare the access to a model; the settings are those of `Line`."""
        super().__init__(base_url, name, **settings)
        self.dialect = dialect or dialect_of_host(self.endpoint.host)
        self.known_images: set[str] = set()
        self._adapting = threading.Lock()

    def known_dialect(self, state: CallState) -> Dialect:
        """Return the server's dialect, which its list of models decides at the first call.

        A server without a list, or with one that this key may not read, has the dialect "hosted".
        If the list has an error status that may pass, "hosted" is used for this attempt only.

        Raises:
            HttpFailure: If the server cannot be reached.
        """
        if self.dialect is None:
            try:
                self.dialect = self._listed_dialect(*self._list(state), self.name, state)
            except HttpFailure as failure:
                if not failure.was_reached:
                    raise
                if not (failure.status and failure.is_passing):
                    self.dialect = HOSTED
        return self.dialect or HOSTED

    def _listed_dialect(
        self, models: Any, headers: Mapping[str, str], model: str, state: CallState
    ) -> Dialect:
        """Return the dialect that a list of models implies, with the server's number of engines.

        The number is read from the /metrics page. A server that does not show the page counts as
        one engine.
        """
        dialect = dialect_of(models, headers, model)
        if not dialect.counters:
            return dialect
        try:
            page, _ = self._read(metrics_url(self.endpoint.base_url), state)
        except HttpFailure:
            return dialect
        return replace(dialect, ranks=engines_in(page.decode(errors="replace"), model))

    def first_model(self) -> str:
        """Return the first model of the server's list that chats, and note the server's dialect.

        Raises:
            ModelError: If the list cannot be read, or no model in it chats.
        """
        state = CallState()
        try:
            models, headers = self._list(state)
        except HttpFailure as failure:
            raise self.error(failure, state) from failure
        name = first_chat_model(models, self.endpoint.base_url)
        if name is None:
            raise ModelError(
                f"{self.endpoint.base_url} lists no models: pass the name of the one to load as "
                "model=."
            )
        self.dialect = self.dialect or self._listed_dialect(models, headers, name, state)
        return name

    def _list(self, state: CallState) -> tuple[Any, Mapping[str, str]]:
        """Return the server's list of models, and the headers that came with it."""
        page, headers = self._read("models", state)
        return parsed(page), headers

    def _read(self, path: str, state: CallState) -> tuple[bytes, Mapping[str, str]]:
        """Return the body and the headers of the answer to a GET."""
        return self.endpoint.exchange(
            path, timeout_s=min(CONNECT_S, state.left_s), cancel=state.cancel
        )

    def adapt(self, before: Dialect, after: Dialect) -> bool:
        """Use another dialect from now on; return False if another thread was first to change it.

        `after` differs from `before`.
        """
        with self._adapting:
            if self.dialect not in (before, None):
                return False
            self.dialect = after
            return True

    def attempt(self, payload_of: Payloads, state: CallState) -> Completion:
        """Send a request until the server takes it, and return the completion.

        The request changes before it is sent again:

        * An image that the server has is sent as its uuid alone, but the server may have dropped it
          since. If it rejects such a request with a status of `UNKNOWN_IMAGE`, whatever its words,
          all images are sent.
        * If the context has no room for so long an answer beside this prompt, the limit on the
          answer is lowered.
        * If the server refuses a field by name, the dialect is adapted.

        The model did not see the rejected requests, so all together are one attempt.

        Args:
            payload_of: Makes the payload of the request.
            state: The call's state. Queueing time and sent bytes are added to it.

        Raises:
            HttpFailure: If the exchange failed, or returned something other than a completion.
        """
        known_images = self.known_images
        most_tokens: int | None = None
        for number in range(MOST_ADAPTED + 1):
            dialect = self.known_dialect(state)
            payload = payload_of(dialect, known_images, most_tokens)
            try:
                page = self.post(
                    "chat/completions", payload.body, payload.headers, state, payload.limit
                )
                completion = self._without_secrets(completion_in(page))
            except HttpFailure as failure:
                if number == MOST_ADAPTED:
                    raise
                if payload.named and failure.status in UNKNOWN_IMAGE:
                    self.known_images -= payload.named
                    known_images = set()
                    continue
                room = room_left(failure, payload.limit)
                if room:
                    most_tokens = room
                    continue
                after = adapted(failure, dialect, payload)
                if after is None:
                    raise
                if self.adapt(dialect, after):
                    self.warn(
                        f"{failure}: {after.option} is spoken from now on; pass this option to "
                        "declare it"
                    )
            else:
                self.known_images |= payload.carried
                return completion
        raise AssertionError("the last attempt returns or raises")

    def _without_secrets(self, completion: Completion) -> Completion:
        """Return a completion without the key, which a stream may have sent in parts."""
        hide = self.endpoint.redaction.text
        return replace(
            completion,
            text=hide(completion.text),
            reasoning=hide(completion.reasoning),
            model=hide(completion.model),
            others=tuple(map(hide, completion.others)),
        )

    def warn(self, words: str) -> None:
        """Warn in a sentence whose subject is the model at its address; `words` are the rest."""
        notice = f"{printable(self.name, 200)} at {self.endpoint.base_url} {words}."
        warnings.warn(notice, ModelWarning, stacklevel=5)


def metrics_url(base_url: str) -> str:
    """Return the URL of a vLLM server's counters, which is beside the address of its API."""
    return f"{base_url.removesuffix('/v1')}/metrics"


def engines_in(page: str, model: str) -> int:
    """Return the number of engines of a model on a server's /metrics page, at least 1.

    It is 1 unless the engines are numbered from 0: a request names its engine by the number.
    """
    label = _label(model)
    engines = set[str]()
    for field, labels, _ in _rows(page):
        if field == "prompt_tokens" and label in labels:
            engines.update(ENGINE.findall(labels))
    if engines == {str(number) for number in range(len(engines))}:
        return max(1, len(engines))
    return 1


def read_metrics(page: str, model: str) -> Counter[str]:
    """Read a model's counters from a server's /metrics page, summed over its engines.

    Raises:
        ValueError: If the page has no counters of this model.
    """
    label = _label(model)
    totals = Counter[str]()
    for field, labels, value in _rows(page):
        if label in labels:
            totals[field] += round(float(value))
    if not totals:
        raise ValueError(f"no counters of {model}")
    return totals


def _rows(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield the short name, the labels and the value of each counter of `COUNTERS` on a page."""
    for line in page[: limits.JSON].split("\n"):
        name, _, rest = line.partition("{")
        labels, is_counter, value = rest.rpartition("} ")
        if is_counter and name in COUNTERS:
            yield COUNTERS[name], labels, value


def _label(model: str) -> str:
    """Return the label of a model's counters, as Prometheus writes it."""
    return 'model_name="{}"'.format(model.replace("\\", r"\\").replace('"', r"\""))
