"""The options of a command that searches: `--search` and one for each setting of `Search`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from atlaskit.agents.settings import NAMED, Search, described, named_search, resolve_search
from atlaskit.models.protocol import Model

WORDS: dict[str, Any] = {"yes": True, "no": False, "none": None}
"""What a setting can be that is no number and no name."""


def add_search_options(parser: argparse._ActionsContainer, without: Collection[str] = ()) -> None:
    """Add `--search` and the settings of a search.

    Args:
        parser: The parser, or a group of it.
        without: Settings that the command has no option for.
    """
    told = "the settings of the search: best (what measured best, as far as the model can do it) or paper"
    parser.add_argument("--search", choices=tuple(NAMED), help=f"{told}; the options below change them (default best)")
    for each in fields(Search):
        if each.name not in without:
            read, shown = (_list, "NAME,NAME") if isinstance(each.default, tuple) else (_value, "VALUE")
            shown = "yes|no" if isinstance(each.default, bool) else shown
            add_setting(parser, each.name, type=read, metavar=shown, default=argparse.SUPPRESS)


def add_setting(parser: argparse._ActionsContainer, name: str, **how: Any) -> None:
    """Add the option of a setting; its help is the setting's description and `told`, if given."""
    text, _, suits = described()[name].replace("`", "").partition(" None: ")
    default = how.pop("told", "") or (suits.rstrip(".") if suits else "")
    help_text = text[0].lower() + text[1:].rstrip(".") + (f" (default: {default})" if default else "")
    parser.add_argument(f"--{name.replace('_', '-')}", help=help_text.replace("%", "%%"), **how)


def changes_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that options give; raise InputError for a wrong one."""
    given: dict[str, Any] = {each.name: vars(options)[each.name] for each in fields(Search) if each.name in options}
    replace(named_search(options.search or "best"), **given)  # before anybody waits for a model
    return given


def search_of(options: argparse.Namespace, vlm: Model | Callable[..., Model], changes: dict[str, Any]) -> Search:
    """Return the search that options name, by a model, with the settings that they give."""
    return resolve_search(options.search or "best", vlm, **changes)


def _value(text: str) -> Any:
    for read in (WORDS.__getitem__, int, float):
        with suppress(KeyError, ValueError):
            return read(text)
    return text


def _list(text: str) -> tuple[str, ...] | str:
    return text if text == "all" else () if text == "none" else tuple(text.split(","))
