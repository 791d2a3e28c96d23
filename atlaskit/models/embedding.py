"""`ak.Embedder`: a model of text behind an OpenAI-compatible endpoint (`/v1/embeddings`).

A call sends some texts and returns a vector of each; `embed` takes from the cache what was embedded
before. Failures that may pass are retried as those of a `VLM` are. This module knows nothing of
clips and questions.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind
from atlaskit.errors import InputError, Unrecorded, printable, reason
from atlaskit.models.attempts import CallState, Line
from atlaskit.models.cached import failed_entry, failure_key, recorded_failure
from atlaskit.models.http import HttpFailure, parsed, storable
from atlaskit.models.names import is_same_model
from atlaskit.models.protocol import ModelError

Vectors = NDArray[np.float32]
MOST_TEXTS = 32
"""Most texts of one request: vectors are long, and servers limit how many they make at once."""
LONGEST_VECTOR = 32_768
"""Most numbers of a vector."""
EMBEDDING = Kind("embedding", 1)
"""The vector of a text. Its key leaves out the source of the text, the other texts of the request,
and the endpoint's address, credentials and time-outs."""


class Embedder:
    """A model of text behind an OpenAI-compatible endpoint.

    A call is retried after a failed connection, a reset, a time-out and the statuses 408, 409, 425,
    429 and 5xx, as a `VLM`'s.

    Threads may share an embedder.

    Attributes:
        name: Name of the model.
        query_prefix: Text that callers put before each query.
        base_url: Address of the endpoint, without a slash at its end.

    Examples:
        >>> embedder = ak.Embedder("http://127.0.0.1:8002/v1", "BAAI/bge-m3")
        >>> embedder.name
        'BAAI/bge-m3'
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        query_prefix: str = "",
        api_key: str | None = None,
        timeout_s: float = 60.0,
        in_flight: int | None = None,
        rpm: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Name an endpoint and one of its models.

        Args:
            base_url: Address of the endpoint, for most servers with /v1 at its end.
            model: Name of the model, such as "BAAI/bge-m3".
            query_prefix: Text before each query, for a model that was trained with one, such as
                "query: ". The texts that are searched get none.
            api_key: Key of the endpoint. None: the environment's OPENAI_API_KEY, which is never
                sent to a server on this machine.
            timeout_s: Most seconds one attempt may take.
            in_flight: Most requests in flight to this address at once, over all models and threads
                of the process. None: 16, or the limit that was set before.
            rpm: Most requests a minute to this address. None: no limit, or the one that was set
                before.
            headers: Further headers of every request, such as {"api-key": …}.

        Raises:
            InputError: If a setting is invalid.
        """
        if not isinstance(model, str) or not model.strip() or len(model) > 1_000:
            raise InputError(f"model must be a text that is not blank; got {model!r:.80}.")
        if not isinstance(query_prefix, str) or len(query_prefix) > 10_000:
            raise InputError(f"query_prefix must be a text; got {query_prefix!r:.80}.")
        self._line = Line(
            base_url,
            model,
            api_key=api_key,
            timeout_s=timeout_s,
            in_flight=in_flight,
            rpm=rpm,
            headers=headers,
        )
        self.base_url = self._line.endpoint.base_url
        self.name = model
        self.query_prefix = query_prefix

    def __reduce__(self) -> tuple[partial[Embedder], tuple[()]]:
        """Pickle the settings: another process or machine opens connections of its own."""
        return partial(
            Embedder,
            self.base_url,
            self.name,
            query_prefix=self.query_prefix,
            **self._line.settings,
        ), ()

    def embed(
        self,
        texts: Sequence[str],
        *,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Vectors:
        """Return the vectors of texts as float32 (number of texts, length).

        Args:
            texts: From 1 to MOST_TEXTS texts, none of them blank.
            deadline_s: When the last attempt must end, by `now_s`.
            cancel: The caller sets it when it no longer needs the answer.

        Raises:
            InputError: If there are too few or too many texts, or one is blank.
            Unreachable: If no server answers at the address.
            Refused: If the endpoint rejects the request.
            ModelError: If the call failed otherwise. Each error's `usage` says what the call cost.
        """
        if not 1 <= len(texts) <= MOST_TEXTS or not all(text.strip() for text in texts):
            raise InputError(
                f"A call embeds 1 to {MOST_TEXTS} texts that are not blank; got {len(texts)}."
            )
        state = CallState(deadline_s=deadline_s, cancel=cancel)
        return self._line.retried(partial(self._attempt, texts, state), state)

    def _attempt(self, texts: Sequence[str], state: CallState) -> Vectors:
        """Make one attempt of a call."""
        body = json.dumps(
            {"model": self.name, "input": list(texts), "encoding_format": "float"}
        ).encode()
        page = self._line.post("embeddings", body, {"Content-Type": "application/json"}, state)
        try:
            vectors, answered = read_embeddings(parsed(page), len(texts))
        except ValueError as error:
            raise HttpFailure(f"returned {error}") from error
        if not is_same_model(self.name, answered):
            # Its vectors cannot be compared with those of the model that was asked.
            raise HttpFailure(
                f"answered as another model, {printable(answered, 80)}", is_passing=False
            )
        return vectors

    def __repr__(self) -> str:
        return f"Embedder({self.base_url!r}, {self.name!r})"


def read_embeddings(body: Any, count: int) -> tuple[Vectors, str]:
    """Read the parsed body of an answer.

    Returns:
        The vectors of `count` texts in the order of the texts, and the model that the body names.

    Raises:
        ValueError: If the body is something else.
    """
    try:
        rows = {row["index"]: row["embedding"] for row in body["data"]}
        if len(body["data"]) != count or rows.keys() != set(range(count)):
            raise ValueError(
                f"{len(body['data'])} embeddings of {count} texts, or one of them twice"
            )
        with np.errstate(over="ignore"):
            vectors = np.array([rows[index] for index in range(count)], "<f4")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"no embeddings ({printable(reason(error), 200)})") from error
    if (
        vectors.ndim != 2
        or not 0 < vectors.shape[1] <= LONGEST_VECTOR
        or not np.isfinite(vectors).all()
    ):
        raise ValueError("an embedding without numbers, or with one that is too large")
    model = body.get("model")
    if not isinstance(model, str):
        model = ""
    return vectors, model


def embed(
    embedder: Embedder,
    texts: Sequence[str],
    cache: Cache,
    *,
    replay: bool = False,
    deadline_s: float | None = None,
    cancel: threading.Event | None = None,
) -> Vectors:
    """Return vectors of texts; ask the model only for those that the cache does not know.

    Threads and processes that need the same vectors at the same time make one call. Failures are
    cached too, but only replays read them.

    Args:
        embedder: The model.
        texts: The texts, none of them blank.
        cache: Stores each vector under its text and the name of the model.
        replay: Never call the model.
        deadline_s: When the last call must end, by `now_s`.
        cancel: The caller sets it when it no longer needs the answer.

    Returns:
        The vectors as float32 (number of texts, length).

    Raises:
        ModelError: If a call fails; in a replay, if it failed when it was recorded.
        Unrecorded: In a replay, if the cache knows neither a vector nor a failure.
        InputError: If the cache holds vectors of another length under the same name.
    """
    entries: list[bytes] = []
    # Vectors are stored batch by batch, so that a failed call loses none.
    for start in range(0, len(texts), MOST_TEXTS):
        batch = [storable(text) for text in texts[start : start + MOST_TEXTS]]
        keys = [EMBEDDING.key(text=text, model=embedder.name) for text in batch]

        def make_entries(
            missing: list[int], batch: Sequence[str] = batch, keys: Sequence[str] = keys
        ) -> list[bytes]:
            if replay:
                raise recorded_failure(cache, keys[missing[0]]) or Unrecorded(
                    f"{cache} lacks vectors of {embedder.name}, and a replay asks no model."
                )
            try:
                vectors = embedder.embed(
                    [batch[index] for index in missing], deadline_s=deadline_s, cancel=cancel
                )
            except ModelError as error:
                cache.put_json(failure_key(keys[missing[0]]), failed_entry(error))
                raise
            return [vector.tobytes() for vector in vectors]

        entries += cache.remember_all(
            keys,
            make_entries,
            fits=_is_vector,
            # A cancelled caller does not wait for another one that makes the same entries.
            go_on=lambda: cancel is not None and cancel.is_set(),
        )
    if len({len(entry) for entry in entries}) > 1:
        raise InputError(
            f"{embedder.name} gives vectors of another length than those in {cache}: another "
            "model has this name now, so use another cache."
        )
    return np.array([np.frombuffer(entry, "<f4") for entry in entries])


def _is_vector(entry: bytes) -> bool:
    """Return whether a cache entry is a vector: an imported cache may hold anything."""
    if not 0 < len(entry) <= 4 * LONGEST_VECTOR or len(entry) % 4:
        return False
    return bool(np.isfinite(np.frombuffer(entry, "<f4")).all())
