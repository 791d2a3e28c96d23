"""`embed`, `embed_images`: vectors of texts and images, from the cache for those that were embedded
before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.cached import failure_key, read_failure_entry
from atlaskit.models.embedding import LONGEST_VECTOR, MOST_TEXTS, Embedder, Vectors
from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import Image

EMBEDDING = Kind("embedding", 1)
"""The vector of a text or of an image; a recording holds what a run made of it. Left out: where it
is from, what was embedded with it, and the endpoint's address, credentials and time-outs."""
IMAGES_AT_ONCE = 8
"""Images that are sent at the same time, one a call."""


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
        deadline_s: When the last call must end, by `clock.now_s`.
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
        keys = [EMBEDDING.key(text=text, model=embedder.name) for text in some]

        def ask(missing: list[int], some: Sequence[str] = some) -> Vectors:
            return embedder.embed([some[at] for at in missing], deadline_s=deadline_s, cancel=cancel).vectors

        found += _entries(embedder, keys, ask, cache, replay, cancel)
    return _stacked(found, embedder, cache)


def embed_images(
    embedder: Embedder,
    images: Sequence[Image],
    cache: Cache,
    *,
    replay: bool = False,
    deadline_s: float | None = None,
    cancel: threading.Event | None = None,
) -> Vectors:
    """Return vectors of images; ask the model only for those that the cache does not know.

    An image that the cache knows is not drawn. The arguments and errors are those of `embed`; a
    vector is stored under the image's key, the embedder's `image_prompt` and its name.
    """

    keys = [EMBEDDING.key(image=image.key, model=embedder.name, prompt=embedder.image_prompt) for image in images]
    found: list[bytes] = []
    with ThreadPoolExecutor(IMAGES_AT_ONCE) as pool:
        for start in range(0, len(images), IMAGES_AT_ONCE):  # what was paid for is stored, should a later call fail

            def ask(missing: list[int], start: int = start) -> list[Vectors]:
                some = [images[start + at] for at in missing]
                made = pool.map(partial(embedder.embed_image, deadline_s=deadline_s, cancel=cancel), some)
                return [each.vectors[0] for each in made]

            found += _entries(embedder, keys[start : start + IMAGES_AT_ONCE], ask, cache, replay, cancel)
    return _stacked(found, embedder, cache)


def _stacked(entries: Sequence[bytes], embedder: Embedder, cache: Cache) -> Vectors:
    """Return entries as rows; raise InputError if they differ in length."""
    if len({len(entry) for entry in entries}) > 1:
        raise InputError(
            f"{embedder.name} gives vectors of another length than those in {cache}: another model has this name now, "
            f"so use another cache."
        )
    return np.array([np.frombuffer(entry, "<f4") for entry in entries])


def _entries(
    embedder: Embedder,
    keys: Sequence[str],
    ask: Callable[[list[int]], Iterable[Vectors]],
    cache: Cache,
    replay: bool,
    cancel: threading.Event | None,
) -> list[bytes]:
    """Return the entries of some keys; `ask` returns vectors for the positions that are missing."""

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
            vectors = ask(missing)
        except ModelError as error:
            told = {"kind": type(error).__name__, "told": str(error), "usage": error.usage.to_json()}
            cache.put_json(failed, {**told, **({"final": True} if error.is_final else {})})
            raise
        return [vector.tobytes() for vector in vectors]

    def is_over() -> bool:
        return cancel is not None and cancel.is_set()

    return cache.remember_all(keys, make_entries, fits=_is_vector, go_on=is_over)


def _is_vector(entry: bytes) -> bool:
    """Return whether an entry is a vector: an imported cache may hold anything."""
    has_length = 0 < len(entry) <= 4 * LONGEST_VECTOR and len(entry) % 4 == 0
    return has_length and bool(np.isfinite(np.frombuffer(entry, "<f4")).all())


def _storable(text: str) -> str:
    """Replace lone surrogates, which a model may write and UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()
