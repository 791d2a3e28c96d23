"""SCOUTS by name, and how the values of `ak.Search(scouts=)` become scouts."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature

from atlaskit.agents.scouts.by_change import change
from atlaskit.agents.scouts.by_words import words
from atlaskit.agents.scouts.sight import Scout
from atlaskit.errors import InputError, printable

SCOUTS: dict[str, Scout] = {"words": words, "change": change}
"""The scouts that need nothing but the video and its subtitles, by name."""


def resolve_scouts(scouts: Iterable[str | Scout]) -> dict[str, Scout]:
    """Return scouts by their names in results and traces, in the order given.

    Args:
        scouts: Names in SCOUTS, or functions of a scout's form. One given twice counts once.

    Raises:
        InputError: If one is neither, or two different ones have the same name.
    """
    if isinstance(scouts, str) or not isinstance(scouts, Iterable):
        raise InputError(f"scouts is a list of scouts, such as ({_names()},); got {scouts!r:.80}.")
    found: dict[str, Scout] = {}
    for each in scouts:
        name, scout = _resolved(each)
        if found.setdefault(name, scout) != scout:
            raise InputError(f"Two different scouts have the name {name}: rename one of the functions.")
    return found


def _resolved(scout: str | Scout) -> tuple[str, Scout]:
    if isinstance(scout, str) and scout in SCOUTS:
        return scout, SCOUTS[scout]
    if not callable(scout):
        raise InputError(f"A scout is {_names()}, ak.scouts.likeness(…) or a function; got {scout!r:.80}.")
    try:
        signature(scout).bind(None, None)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"A scout must be callable as scout(sight, grid); {scout!r:.80} is not ({error}). To compare frames, pass "
            f"ak.scouts.likeness(embedder)."
        ) from error
    return printable(str(getattr(scout, "__name__", type(scout).__name__)), 100), scout


def _names() -> str:
    return ", ".join(f'"{name}"' for name in SCOUTS)
