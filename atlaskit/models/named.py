"""`as_model`: the model that a person names by a server's address or its own name."""

from __future__ import annotations

from atlaskit.errors import InputError, printable
from atlaskit.models.client import VLM
from atlaskit.models.errors import Unreachable
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import USUAL_PORT

LOCAL_SERVER = f"http://127.0.0.1:{USUAL_PORT}/v1"
"""Where `atlaskit serve` serves a model if it is not told otherwise."""


def as_model(model: Model | str) -> Model:
    """Return the model that a caller gave or named.

    Args:
        model: A model, the address of a server (whose first model is taken), or the name of a model
            that is served on this machine: "nano", a hub id or a folder.

    Raises:
        InputError: The server on this machine serves another model.
        Unreachable: No server answers.
    """
    if not isinstance(model, str):
        return model
    if model.startswith(("http://", "https://")):
        return VLM(model)
    name = printable(model, 200)
    try:
        served = VLM(LOCAL_SERVER)
    except Unreachable as error:
        raise Unreachable(
            f"{name!r} is looked for at {LOCAL_SERVER}, where no server answers: "
            f"start it with `python -m atlaskit serve {name}`."
        ) from error
    if model not in (served.name, served.name.partition("@")[0]):
        raise InputError(
            f"{LOCAL_SERVER} serves {served.name!r}, not {name!r}: name that, or stop the server and start "
            f"`python -m atlaskit serve {name}`."
        )
    return served
