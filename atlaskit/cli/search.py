"""The options of a command that searches: `--search` and one for each setting of `Search`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from atlaskit.agents.settings import NAMED, Search, named_search, resolve_search
from atlaskit.models.protocol import Model

WORDS: dict[str, Any] = {"yes": True, "no": False, "none": None}
"""What a setting can be that is no number and no name."""
SUITS = "what suits the model"
SETTINGS: dict[str, tuple[str, str]] = {
    "k": ("a grid has k×k cells", SUITS),
    "cell": ("width and height of a cell in pixels; of a native cell, the longer of the two", SUITS),
    "fit": (
        "how a frame fills its cell: native (the cell has the video's shape), contain (a square cell, the frame on "
        "grey) or stretch (a square cell, filled)",
        SUITS,
    ),
    "sampling": (
        "which frame stands for a cell: midpoint, keyframe (fast) or shots (of the shots in the cell, the one that is "
        "least like the film around it)",
        "",
    ),
    "max_depth": (
        "how deep workers may go, from 0 (the root grid alone); auto is the first depth whose cells are shorter than "
        "min-span-s",
        "",
    ),
    "min_span_s": ("seconds below which a cell is not opened", ""),
    "cells": ("how prompts describe the cells: compact, or one by one (full, as in the paper)", ""),
    "traversal": (
        "which regions are explored, and how: looks (any stretch as a sheet of its own, then all at the step of what "
        "is looked for), dfs, bfs, beam, or auto (dfs or bfs, the master's choice from the question alone)",
        "",
    ),
    "steps": ("the most calls of a worker in its region", SUITS),
    "plateau": (
        "a visit ends after so many steps in a row that bring nothing new: no evidence, no mark, no sheet that it had "
        "not opened",
        f"{SUITS}, or else half of the steps but enough to reach the deepest level",
    ),
    "min_rounds": ("rounds before the evidence may count as sufficient", ""),
    "max_rounds": ("the most rounds", "no limit"),
    "look_ahead": (
        "whether the next probe runs beside the workers: this saves time, and wastes a call if no round follows",
        "",
    ),
    "votes": (
        "the most decisions that are asked for; the majority counts; above 1 the model needs a temperature",
        "5 where the model has a temperature, else 1",
    ),
    "scouts": ("what says, without the model, where to look first: words (said as in the question)", ""),
    "threads": ("workers that run at the same time; no result depends on it", "all of a round"),
    "sample": (
        "number of the sample, if a model with a temperature is asked several times; each has replies of its own in "
        "the cache",
        "",
    ),
}
"""What each setting of a search is, and what it is where it is not given; "" if `--search` says."""


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
    """Add the option of a setting; `told` is the default that its help names, if it is another."""
    text, usual = SETTINGS[name]
    default = how.pop("told", "") or usual
    help_text = f"{text} (default: {default})" if default else text
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
