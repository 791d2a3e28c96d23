"""`as_model`: the model that a person names, by an address or by what vLLM serves here."""

from __future__ import annotations

import sys

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind
from atlaskit.errors import InputError
from atlaskit.models.client import VLM
from atlaskit.models.errors import Unreachable
from atlaskit.models.protocol import Model
from atlaskit.models.serving.flags import Copies
from atlaskit.models.serving.server import USUAL_PORT, serve
from atlaskit.models.spec import EXAMPLE, ModelSpec, as_spec

LOCAL_SERVER = f"http://127.0.0.1:{USUAL_PORT}/v1"
"""Where `atlaskit serve` serves a model if it is not told otherwise."""
SERVED = Kind("served", 1)
"""The name of the model that an address last served."""


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
            that chats is taken, an address and a name, or what vLLM serves on this machine (a
            hub id or a folder). Options may follow.
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
                f"vlm must be a model, such as ak.VLM(URL), an address, or a name such as {EXAMPLE!r}; "
                f"got {model!r:.80}."
            )
        return model
    spec = as_spec(model)
    if not spec.is_address:
        server = serve(spec, data_parallel=data_parallel)
        server.keeps = keep and sys.platform == "linux"  # which has a list of processes, to find it
        return server
    access = {} if is_replay else spec.access()
    address, settings = spec.model, {**spec.settings, **spec.limits, **access}
    if spec.name is not None:
        return VLM(address, spec.name, **settings)
    entry = SERVED.key(address=address)
    last = None if cache is None else cache.get_json(entry)
    known = last if isinstance(last, str) and last else None
    try:
        vlm = VLM(address, known if is_replay else None, **settings)
    except Unreachable:
        if known is None:
            raise
        return VLM(address, known, **settings)
    if cache is not None and vlm.name != known:
        cache.put_json(entry, vlm.name)
    return vlm
