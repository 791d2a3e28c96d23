"""`ak.Embedder`: a model of text, or of text and images, behind an OpenAI-compatible endpoint
(`/v1/embeddings`).

A call sends some texts, or one image as a chat message, and returns a vector of each. Failures that
may pass are retried as those of a `VLM` are. Knows nothing of clips and questions.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictInt, ValidationError

from atlaskit.errors import InputError, check_positive, first_fault, printable
from atlaskit.models.attempts import CallState
from atlaskit.models.client import call_error
from atlaskit.models.http import Endpoint, HttpFailure, parsed
from atlaskit.models.identity import is_same_model
from atlaskit.models.limiter import limiter_for
from atlaskit.models.posting import post_when_admitted
from atlaskit.models.protocol import MAX_ATTEMPTS, Image, Transit, Usage

Vectors = NDArray[np.float32]
MOST_TEXTS = 32
"""Most texts of one request: vectors are long, and servers limit how many they make at once."""
LONGEST_VECTOR = 32_768


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore")

    index: Annotated[StrictInt, Field(ge=0, lt=MOST_TEXTS)]
    embedding: Annotated[list[FiniteFloat], Field(min_length=1, max_length=LONGEST_VECTOR)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")

    data: Annotated[list[_Row], Field(max_length=MOST_TEXTS)]
    model: str = ""


@dataclass(frozen=True)
class Embedding:
    """The vectors of some texts, or of an image."""

    vectors: Vectors
    """One row a text, (n, length); one row for an image."""
    usage: Usage
    """What the call cost: its attempts; its tokens are not counted."""
    transit: Transit = field(default=Transit(), compare=False)


class Embedder:
    """A model of text, or of text and images, behind an OpenAI-compatible endpoint.

    A call is retried after a failed connection, a reset, a time-out and the statuses 408, 409, 425,
    429 and 5xx, as a `VLM`'s.

    Threads may share an embedder.

    Attributes:
        name: Name of the model.
        query_prefix: What stands before the text of a query.
        image_prompt: Text that goes with an image.
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
        image_prompt: str = "",
        api_key: str | None = None,
        timeout_s: float = 60.0,
        in_flight: int | None = None,
    ) -> None:
        """Name an endpoint and one of its models.

        Args:
            base_url: Address of the endpoint, for most servers with /v1 at its end.
            model: Name of the model, such as "BAAI/bge-m3".
            query_prefix: Text before each query, for a model that was trained with one, such as
                "query: ". What is searched has none.
            image_prompt: Text that goes with each image, for a model that was trained with one,
                such as "Represent the given image.".
            api_key: Key of the endpoint. None: the environment's OPENAI_API_KEY, which is never
                sent to a server on this machine.
            timeout_s: Most seconds one attempt may take.
            in_flight: Most requests in flight to this address at once, over all models and threads
                of the process. None: 16, or the limit that was set before.

        Raises:
            InputError: If a setting is invalid.
        """
        check_positive(in_flight=in_flight, timeout_s=timeout_s)
        if not isinstance(model, str) or not model.strip() or len(model) > 1_000:
            raise InputError(f"model must be a text that is not blank; got {model!r:.80}.")
        for setting, text in (("query_prefix", query_prefix), ("image_prompt", image_prompt)):
            if not isinstance(text, str) or len(text) > 10_000:
                raise InputError(f"{setting} must be a text; got {text!r:.80}.")
        self._settings = {"api_key": api_key, "timeout_s": timeout_s, "in_flight": in_flight}
        self._endpoint = Endpoint(base_url, api_key)
        self.base_url, self.name = self._endpoint.base_url, model
        self.query_prefix, self.image_prompt = query_prefix, image_prompt
        self._limiter, self._timeout_s = limiter_for(self.base_url, in_flight), timeout_s

    def __reduce__(self) -> tuple[partial[Embedder], tuple[()]]:
        """Pickle the settings: another process or machine opens connections of its own."""
        told: dict[str, Any] = {"query_prefix": self.query_prefix, "image_prompt": self.image_prompt, **self._settings}
        return partial(Embedder, self.base_url, self.name, **told), ()

    def embed(
        self,
        texts: Sequence[str],
        *,
        max_attempts: int = MAX_ATTEMPTS,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Embedding:
        """Return the vectors of texts.

        Args:
            texts: From 1 to MOST_TEXTS texts, none of them blank.
            max_attempts: Most attempts, the first one included.
            deadline_s: When the last attempt must end, by `clock.now_s`.
            cancel: The caller sets it when it no longer needs the answer.

        Raises:
            InputError: If there are too few or too many texts, or one is blank.
            Unreachable: If no server answers at the address.
            Refused: If the endpoint rejects the request.
            ModelError: If the call failed otherwise. Each error's `usage` says what the call cost.
        """
        if not 1 <= len(texts) <= MOST_TEXTS or not all(text.strip() for text in texts):
            raise InputError(f"A call embeds 1 to {MOST_TEXTS} texts that are not blank; got {len(texts)}.")
        state = CallState(max_attempts, deadline_s, cancel)
        return self._embed({"input": list(texts)}, len(texts), state)

    def embed_image(
        self,
        image: Image,
        *,
        max_attempts: int = MAX_ATTEMPTS,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Embedding:
        """Return the vector of an image, as vLLM's models of text and images make it.

        Args:
            image: The image, which is sent as one chat message.
            max_attempts: Most attempts, the first one included.
            deadline_s: When the last attempt must end, by `clock.now_s`.
            cancel: The caller sets it when it no longer needs the answer.

        Raises:
            Unreachable: If no server answers at the address.
            Refused: If the endpoint rejects the request, as one does whose model reads text alone.
            ModelError: If the call failed otherwise. Each error's `usage` says what the call cost.
        """
        url = f"data:image/jpeg;base64,{base64.b64encode(image.jpeg()).decode()}"
        content: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}}]
        content += [{"type": "text", "text": self.image_prompt}] if self.image_prompt else []
        state = CallState(max_attempts, deadline_s, cancel)
        return self._embed({"messages": [{"role": "user", "content": content}]}, 1, state)

    def _embed(self, wanted: dict[str, Any], count: int, state: CallState) -> Embedding:
        while True:
            try:
                vectors = self._attempt(wanted, count, state)
            except HttpFailure as failure:
                state.count(Usage(calls=int(failure.is_call)))
                if not state.pause_before_retry(failure):
                    raise call_error(self.name, self._endpoint, failure, state) from failure.__cause__
            else:
                state.count(Usage(calls=1))
                return Embedding(vectors, state.usage, state.transit)

    def _attempt(self, wanted: dict[str, Any], count: int, state: CallState) -> Vectors:
        body = json.dumps({"model": self.name, **wanted, "encoding_format": "float"}).encode()
        headers = {"Content-Type": "application/json"}
        page = post_when_admitted(self._endpoint, self._limiter, "embeddings", body, headers, self._timeout_s, state)
        try:
            vectors, answered = read_embeddings(parsed(page), count)
        except ValueError as error:
            raise HttpFailure(f"returned {error}") from error
        if not is_same_model(self.name, answered):
            # Its vectors cannot be compared with those of the model that was asked.
            raise HttpFailure(f"answered as another model, {printable(answered, 80)}", is_passing=False)
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
        found = _Body.model_validate(body)
    except ValidationError as error:
        where, what = first_fault(error)
        raise ValueError(f"no embeddings ({what}{f' at {where}' if where else ''})") from error
    rows = found.data
    by_index = {row.index: row.embedding for row in rows}
    if len(rows) != count or by_index.keys() != set(range(count)):
        raise ValueError(f"{len(rows)} embeddings of {count} texts, or one of them twice")
    if len({len(vector) for vector in by_index.values()}) != 1:
        raise ValueError("embeddings of different lengths")
    with np.errstate(over="ignore"):
        vectors = np.array([by_index[index] for index in range(count)], "<f4")
    if not np.isfinite(vectors).all():
        raise ValueError("an embedding with a number that is too large")
    return vectors, found.model
