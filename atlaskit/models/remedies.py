"""What a person can do about a failed call (`advice`), and whether every call would fail so."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from atlaskit.errors import printable
from atlaskit.models.failures import Kind
from atlaskit.models.http import CONNECT_S, Endpoint, HttpFailure, parsed
from atlaskit.models.identity import is_same_model

FINAL: frozenset[Kind] = frozenset({"used up", "key", "model", "place", "one image", "no images"})
"""Kinds of errors that the same endpoint gives to every call of a search."""
MOST_NAMES = 8
"""Models of a list that a message names."""
MORE_IMAGES = {
    "vllm": "start it with --limit-mm-per-prompt '{\"image\": 16}'",
    "sglang": "start it with --limit-mm-data-per-request '{\"image\": 16}'",
}
"""What makes a server take more images a request, by dialect."""
LONGER_CONTEXT = {
    "vllm": "start it with a larger --max-model-len",
    "sglang": "start it with a larger --context-length",
    "llamacpp": "start it with a larger context (-c)",
    "ollama": "give it a larger context (OLLAMA_CONTEXT_LENGTH)",
    "lmstudio": "load the model with a larger context",
}
"""What lets a server take longer prompts, by dialect."""


def is_final(failure: HttpFailure) -> bool:
    """Return whether every other call to the endpoint would fail in the same way."""
    return 300 <= failure.status < 400 or failure.explanation.kind in FINAL


def advice(failure: HttpFailure, endpoint: Endpoint, model: str, dialect: str) -> str:
    """Return what to do about a failed call, to end a sentence with; "" where nothing is known.

    Args:
        failure: The failure of the last attempt. Its server answered.
        endpoint: Where it happened. Its list of models may be asked for.
        model: The model that was called.
        dialect: Name of the dialect that was spoken.
    """
    if 300 <= failure.status < 400:
        return "pass the address that it redirects to"
    match failure.explanation.kind:
        case "used up":
            return "its quota or credit is used up, so waiting does not help"
        case "key" if endpoint.has_key:
            return "check its key: api_key=… (--key-env VARIABLE), or the environment's OPENAI_API_KEY"
        case "key":
            return "it wants a key: pass api_key=… (--key-env VARIABLE)"
        case "busy":
            return "it is busy: try again later"
        case "one image" | "few images":
            return MORE_IMAGES.get(dialect, "use a model or a server that takes 16 images a request")
        case "no images":
            return "it takes no images: serve a vision-language model (llama.cpp: with --mmproj)"
        case "too long":
            return f"use a smaller k or cell, or {LONGER_CONTEXT.get(dialect, 'a server with a longer context')}"
        case "model" | "place" as kind:
            return _about_place(endpoint, model, kind)
        case "" if failure.is_foreign:
            return _about_place(endpoint, model, "place")
        case "" if failure.status in (400, 415, 422, 501) and dialect != "plain":
            return 'try dialect="plain" (--dialect plain), which sends the least'
    return ""


def _about_place(endpoint: Endpoint, model: str, kind: Kind) -> str:
    """Return what to do about an address without the API, or an API without the model."""
    names = names_at(endpoint, "models")
    if names is None and not urlsplit(endpoint.base_url).path.endswith("/v1"):
        root = endpoint.base_url
        if names_at(endpoint, f"{root}/v1/models") is not None:
            return f"its API is at {root}/v1: pass that address"
        return "check the address: most end in /v1"
    if names is None:
        return "check the address and the model's name"
    if any(is_same_model(model, name) for name in names):
        return "" if kind == "model" else "check the address"
    if not names:
        return "it has no model: load one there first"
    shown = ", ".join(printable(name, 80) for name in names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"name one of its models: {shown}{more}"


def names_at(endpoint: Endpoint, path: str) -> Sequence[str] | None:
    """Return the names in a list of models, None if there is no list."""
    try:
        models = parsed(endpoint.get(path, CONNECT_S))
    except HttpFailure:
        return None
    match models:
        case {"data": list(entries)}:
            return [str(each["id"]) for each in entries if isinstance(each, dict) and "id" in each]
    return None
