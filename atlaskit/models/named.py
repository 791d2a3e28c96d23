"""`as_model`: the model that a person names by a server's address or its own name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import served_key
from atlaskit.errors import InputError, printable
from atlaskit.models.client import VLM
from atlaskit.models.errors import Unreachable
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import USUAL_PORT

LOCAL_SERVER = f"http://127.0.0.1:{USUAL_PORT}/v1"
"""Where `atlaskit serve` serves a model if it is not told otherwise."""


Maker = TypeVar("Maker", bound=Callable[[Any], Model])


def as_model(model: Model | str, cache: Cache | None = None, *, is_replay: bool = False) -> Model:
    """Return the model that a caller gave or named.

    Args:
        model: A model, the address of a server (whose first model is taken), or the name of a model
            that is served on this machine: "nano", a hub id or a folder.
        cache: Remembers which model a server served last; that one is taken if the server is gone.
        is_replay: Whether no call will be made: then the server is not asked if `cache` knows the
            model.

    Raises:
        InputError: `model` is none of these, or the server on this machine serves another model.
        Unreachable: No server answers, and `cache` does not know what it served.
    """
    if not isinstance(model, str):
        if isinstance(model, type) or not hasattr(model, "complete"):
            raise InputError(
                f'vlm must be a model, such as ak.VLM(URL), an address, or a name such as "nano"; got {model!r:.80}.'
            )
        return model
    name = model.strip()
    if not name:
        raise InputError('vlm is empty: give a model, the address of a server, or a name such as "nano".')
    if name.lower().startswith(("http://", "https://")):
        return served_model(name, cache, is_replay=is_replay)
    return _local(name, cache, is_replay)


def as_model_or_maker(vlm: Model | Maker | str, cache: Cache | None = None) -> Model | Maker:
    """Return the model that a caller named, as `as_model` does; anything else as it is."""
    return as_model(vlm, cache) if isinstance(vlm, str) else vlm


def served_model(address: str, cache: Cache | None = None, *, is_replay: bool = False) -> VLM:
    """Return the first model of a server, or the one that it served last if it does not answer.

    Args:
        address: The address of the server.
        cache: Remembers the model.
        is_replay: Whether to take the model that is remembered, without asking the server.

    Raises:
        InputError: It is not an address.
        Unreachable: The server does not answer, and no model is remembered.
    """
    key = served_key(address)
    last = None if cache is None else cache.get_json(key)
    known = last if isinstance(last, str) and last else None
    if is_replay and known:
        return VLM(address, known)
    try:
        vlm = VLM(address)
    except Unreachable:
        if known is None:
            raise
        return VLM(address, known)
    if cache is not None and vlm.name != known:
        cache.put_json(key, vlm.name)
    return vlm


def _local(name: str, cache: Cache | None, is_replay: bool) -> Model:
    shown = printable(name, 200)
    try:
        served = served_model(LOCAL_SERVER, cache, is_replay=is_replay)
    except Unreachable as error:
        raise Unreachable(
            f"{shown!r} is looked for at {LOCAL_SERVER}, where no server answers: "
            f"start it with `python -m atlaskit serve {shown}`."
        ) from error
    if name not in (served.name, served.name.partition("@")[0]):
        raise InputError(
            f"{LOCAL_SERVER} serves {printable(served.name, 200)!r}, not {shown!r}: name that, or stop the server and "
            f"start `python -m atlaskit serve {shown}`."
        )
    return served
