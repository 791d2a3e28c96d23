"""`as_model`: the model that a person names, by an address or by what vLLM serves here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind
from atlaskit.errors import InputError
from atlaskit.models.client import VLM
from atlaskit.models.errors import Unreachable
from atlaskit.models.protocol import Model
from atlaskit.models.serving.flags import Copies
from atlaskit.models.serving.server import USUAL_PORT, serve
from atlaskit.models.spec import ModelSpec, as_spec

LOCAL_SERVER = f"http://127.0.0.1:{USUAL_PORT}/v1"
"""Where `atlaskit serve` serves a model if it is not told otherwise."""
SERVED = Kind("served", 1)
"""The name of the model that an address last served."""


Maker = TypeVar("Maker", bound=Callable[[Any], Model])


def copies_for(in_flight: int) -> Copies:
    """Return how many copies of a model to serve for so many questions at the same time."""
    return "auto" if in_flight > 1 else 1


def as_model(
    model: Model | ModelSpec | str,
    cache: Cache | None = None,
    *,
    is_replay: bool = False,
    data_parallel: Copies = 1,
    keep: bool = False,
) -> Model:
    """Return the model that a caller gave or named.

    Args:
        model: A model, or the words of a `ModelSpec`: the address of a server, whose first model
            that chats is taken, an address and a name, or what vLLM serves on this machine ("nano",
            a hub id or a folder). Options may follow.
        cache: Remembers which model a server served last; that one is taken if the server is gone.
        is_replay: Whether no call will be made: then a server is not asked if `cache` knows its
            model, and no key is needed.
        data_parallel: Copies of a model that is served on this machine, see `serve`.
        keep: Whether a server that is started for it outlives this process, for the next question.

    Returns:
        The model. One on this machine is a `Server`, which starts at its first call; a server of
        the same model that already runs is used.

    Raises:
        InputError: `model` is none of these, or the variable with the key is missing.
        Unreachable: No server answers at the address, and `cache` does not know what it served.
    """
    if not isinstance(model, str | ModelSpec):
        if isinstance(model, type) or not hasattr(model, "complete"):
            raise InputError(
                f'vlm must be a model, such as ak.VLM(URL), an address, or a name such as "nano"; got {model!r:.80}.'
            )
        return model
    spec = as_spec(model)
    if not spec.is_address:
        server = serve(spec, data_parallel=data_parallel)
        server.keeps = keep and sys.platform == "linux"  # which has a list of processes, to find it
        return server
    key = {} if is_replay else spec.key()
    if spec.name is not None:
        return VLM(spec.model, spec.name, **key, **spec.settings)
    return served_model(spec.model, cache, is_replay=is_replay, **key, **spec.settings)


def as_model_or_maker(
    vlm: Model | Maker | str,
    cache: Cache | None = None,
    *,
    is_replay: bool = False,
    data_parallel: Copies = 1,
) -> Model | Maker:
    """Return the model that a caller named, as `as_model` does; anything else as it is."""
    return as_model(vlm, cache, is_replay=is_replay, data_parallel=data_parallel) if isinstance(vlm, str) else vlm


def served_model(address: str, cache: Cache | None = None, *, is_replay: bool = False, **client: Any) -> VLM:
    """Return the first model of a server, or the one that it served last if it does not answer.

    Args:
        address: The address of the server.
        cache: Remembers the model.
        is_replay: Whether to take the model that is remembered, without asking the server.
        **client: Keywords of `VLM`.

    Raises:
        InputError: It is not an address.
        Unreachable: The server does not answer, and no model is remembered.
    """
    key = SERVED.key(address=address)
    last = None if cache is None else cache.get_json(key)
    known = last if isinstance(last, str) and last else None
    try:
        vlm = VLM(address, known if is_replay else None, **client)
    except Unreachable:
        if known is None:
            raise
        return VLM(address, known, **client)
    if cache is not None and vlm.name != known:
        cache.put_json(key, vlm.name)
    return vlm
