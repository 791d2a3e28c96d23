"""`embed`: vectors of texts, from the cache for those that were embedded before."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import embedding_key
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.cached import failure_key, read_failure_entry
from atlaskit.models.embedding import LONGEST_VECTOR, MOST_TEXTS, Embedder, Vectors
from atlaskit.models.errors import ModelError


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

    Threads and processes that need the same at the same time make one call. How a call failed is
    cached too, and only replays read it.

    Args:
        embedder: The model.
        texts: The texts, none of them blank.
        cache: Where vectors are stored, each under its text and the name of the model.
        replay: Never call the model.
        deadline_s: When the last call must end, on the clock of `time.monotonic`.
        cancel: The caller sets it when it no longer needs the answer.

    Returns:
        One row a text, (n, length).

    Raises:
        ModelError: If a call fails; in a replay, if it failed when it was recorded.
        Unrecorded: In a replay, if the cache knows neither a vector nor a failure.
        InputError: If the cache holds vectors of another length under the same name.
    """
    found: list[bytes] = []
    for start in range(0, len(texts), MOST_TEXTS):
        some = [_storable(text) for text in texts[start : start + MOST_TEXTS]]
        found += _entries(embedder, some, cache, replay, deadline_s, cancel)
    if len({len(entry) for entry in found}) > 1:
        raise InputError(
            f"{embedder.name} gives vectors of another length than those in {cache}: another model has this name now, "
            f"so use another cache."
        )
    return np.array([np.frombuffer(entry, "<f4") for entry in found])


def _entries(
    embedder: Embedder,
    texts: Sequence[str],
    cache: Cache,
    replay: bool,
    deadline_s: float | None,
    cancel: threading.Event | None,
) -> list[bytes]:
    """Return the entries of as many texts as one call embeds."""
    keys = [embedding_key(text, model=embedder.name) for text in texts]

    def make_entries(missing: list[int]) -> list[bytes]:
        failed = failure_key(keys[missing[0]])
        if replay:
            entry = cache.get(failed)
            error = None if entry is None else read_failure_entry(entry)
            if error is None:
                raise Unrecorded(f"{cache} lacks vectors of {embedder.name}, and a replay asks no model.")
            error.live = False
            raise error
        try:
            vectors = embedder.embed([texts[at] for at in missing], deadline_s=deadline_s, cancel=cancel).vectors
        except ModelError as error:
            told = {"kind": type(error).__name__, "told": str(error), "usage": error.usage.to_json()}
            cache.put_json(failed, {**told, **({"final": True} if error.is_final else {})}, paid=True)
            raise
        return [vector.tobytes() for vector in vectors]

    def is_over() -> bool:
        return cancel is not None and cancel.is_set()

    return cache.remember_all(keys, make_entries, fits=_is_vector, go_on=is_over, paid=True)


def _is_vector(entry: bytes) -> bool:
    """Return whether an entry is a vector: an imported cache may hold anything."""
    has_length = 0 < len(entry) <= 4 * LONGEST_VECTOR and len(entry) % 4 == 0
    return has_length and bool(np.isfinite(np.frombuffer(entry, "<f4")).all())


def _storable(text: str) -> str:
    """Replace lone surrogates, which a model may write and UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()
