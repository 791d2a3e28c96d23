"""Which model answered: compares the name in a reply with the name that was asked for."""

from __future__ import annotations

import re

VERSION = re.compile(
    r"[-@:._]?(20\d{6}|20\d\d-\d\d-\d\d|\d{4}|\d{3}|latest|v\d+(:\d+)?)$|-(preview|exp)(-\d\d-\d\d|-\d{4})?$"
)
"""The end of a name that tells a version: a date, a revision, "latest"."""
# fmt: off
GENERIC = frozenset({
    "default", "model", "models", "local", "local-model", "llm", "vlm", "vision", "chat", "base", "main", "test",
    "unknown", "none", "null", "any", "auto", "custom", "my-model", "your-model", "served-model", "gpt-3.5-turbo",
})
# fmt: on
"""Names under which many servers serve different models."""


def is_generic(name: str) -> bool:
    """Return whether a name says nothing about the model, so that two servers may both use it."""
    return name.strip().lower() in GENERIC


def is_same_model(asked: str, answered: str) -> bool:
    """Return whether a reply's `model` is the one that was asked for.

    A provider's prefix ("models/", "openai/"), a path, and a version that either name adds
    ("gpt-4o" answered by "gpt-4o-2024-08-06") make no other model.

    Args:
        asked: The name in the request.
        answered: The name in the reply; "" if it names none, which counts as the same.
    """
    if not answered.strip() or asked == answered:
        return True
    first, second = _bare(asked), _bare(answered)
    return first == second or (_without_version(first) == _without_version(second) and _is_open(first, second))


def _bare(name: str) -> str:
    """Return a name without provider, path, suffix of a file, and tag of a price."""
    last = re.split(r"[/\\]", name.strip().lower().rstrip("/\\"))[-1]
    return re.sub(r"(:free|:beta|:nitro|:floor|:exacto|\.gguf)$", "", last)


def _without_version(name: str) -> str:
    """Return a name without the versions at its end ("-0" is Anthropic's alias of the newest)."""
    name = re.sub(r"-0$", "", name)
    while (shorter := VERSION.sub("", name)) != name and shorter:
        name = shorter
    return name


def _is_open(first: str, second: str) -> bool:
    """Return whether at most one of two names fixes a version: two fixed ones are two models."""

    def is_fixed(name: str) -> bool:
        found = VERSION.search(name)
        return bool(found and re.search(r"\d", found[0]))

    return not (is_fixed(first) and is_fixed(second))
