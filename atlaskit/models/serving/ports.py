"""Finds free ports, and asks an address which models it serves."""

from __future__ import annotations

import socket

from atlaskit.models.http import Endpoint, HttpFailure, parsed


def served_models(url: str) -> list[str]:
    """Return the names of the models that an endpoint lists; [] if it does not answer."""
    try:
        return [str(model["id"]) for model in parsed(Endpoint(url).get("models", timeout_s=2))["data"]]
    except (HttpFailure, KeyError, TypeError):
        return []


def is_free(port: int) -> bool:
    """Return whether nothing listens on a port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
