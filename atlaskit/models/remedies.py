"""What a person can do about a failed call (`advice`), and whether every call would fail so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from atlaskit.errors import printable
from atlaskit.models.http import CONNECT_S, Endpoint, HttpFailure, parsed

NO_MODEL = re.compile(
    r"model\b.{0,100}?(not found|does(n't| not) exist|not exist|unknown|no such|not available|invalid|not a valid"
    r"|not supported|not loaded)|(unknown|invalid|no such|unsupported|not a valid) model|no endpoints found"
    r"|pull(ing)? it first",
    re.IGNORECASE,
)
FEW_IMAGES = re.compile(
    r"at most (\d+|one) (image|multimodal)|(only|exactly|single|max\w*( of)?:?) (1|one|a single) image"
    r"|one image (per|at a time)|(multiple|more than (1|one)) images|too many images"
    r"|images?.{0,60}(limit|exceed|maximum)|limit.{0,20}mm.per.prompt",
    re.IGNORECASE,
)
ONE_IMAGE = re.compile(
    r"\b(at most|only|exactly|max\w*( of)?|up to|limit\w*( of| to)?):? ?(1|one|a single)\b|single image|multiple images"
    r"|more than (1|one) image|one image",
    re.IGNORECASE,
)
TOO_LONG = re.compile(
    r"context (length|window|size)|too (long|many tokens)|exceed.{0,40}context|max_model_len", re.IGNORECASE
)
FLAGGED = re.compile(r"flagged|moderat|safety|content.?(policy|filter)", re.IGNORECASE)
FINAL = frozenset({401, 402, 403, 404, 405})
"""Statuses that the same endpoint gives to every call."""
MOST_NAMES = 8
"""Models of a list that a message names."""


def is_final(failure: HttpFailure) -> bool:
    """Return whether every other call to the endpoint would fail in the same way."""
    words = failure.explanation.words
    if FLAGGED.search(words):
        return False
    if failure.explanation.is_used_up or 300 <= failure.status < 400 or failure.status in FINAL:
        return True
    return not failure.is_passing and bool(FEW_IMAGES.search(words) and ONE_IMAGE.search(words))


def advice(failure: HttpFailure, endpoint: Endpoint, model: str, dialect: str) -> str:
    """Return what to do about a failed call, to end a sentence with; "" where nothing is known.

    Args:
        failure: The failure of the last attempt. Its server answered.
        endpoint: Where it happened. Its list of models may be asked for.
        model: The model that was called.
        dialect: Name of the dialect that was spoken.
    """
    words, status = failure.explanation.words, failure.status
    if 300 <= status < 400:
        return "pass the address that it redirects to"
    if failure.explanation.is_used_up:
        return "its quota or credit is used up, so waiting does not help"
    if status in (401, 403) and not FLAGGED.search(words):
        return "check its key" if endpoint.has_key else "it wants a key: pass api_key=… (--key-env VARIABLE)"
    if failure.is_passing and not (failure.is_foreign or status == 404):
        return "try again later" if failure.explanation.is_busy else ""
    if status == 404 or status == 405 or failure.is_foreign or NO_MODEL.search(words):
        return _about_place(endpoint, model, is_model=bool(NO_MODEL.search(words)) or status == 404)
    if FEW_IMAGES.search(words):
        return "let it take 16 images a request (vLLM: --limit-mm-per-prompt '{\"image\": 16}'), or use another model"
    if TOO_LONG.search(words):
        return "use a smaller k or cell, or start the server with room for a longer context"
    if (
        status in (400, 415, 422, 501)
        and dialect != "plain"
        and not re.search("image|token|content", words, re.IGNORECASE)
    ):
        return 'try dialect="plain" (--dialect plain), which sends the least'
    return ""


def _about_place(endpoint: Endpoint, model: str, *, is_model: bool) -> str:
    """Return what to do about an address without the API, or an API without the model."""
    names = _names_at(endpoint, "models")
    if names is None and not urlsplit(endpoint.base_url).path.endswith("/v1"):
        root = endpoint.base_url
        if _names_at(endpoint, f"{root}/v1/models") is not None:
            return f"its API is at {root}/v1: pass that address"
        return "check the address: most end in /v1"
    if names is None:
        return "check the address and the model's name"
    if is_model and model not in names:
        shown = ", ".join(printable(name, 80) for name in names[:MOST_NAMES])
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        return f"name one of its models: {shown}{more}" if names else "it has no model: load one there first"
    return ""


def _names_at(endpoint: Endpoint, path: str) -> Sequence[str] | None:
    """Return the names in a list of models, None if there is no list."""
    try:
        models = parsed(endpoint.get(path, CONNECT_S))
    except HttpFailure:
        return None
    match models:
        case {"data": list(entries)}:
            return [str(each["id"]) for each in entries if isinstance(each, dict) and "id" in each]
    return None
