"""The options of a command that asks a model.

* `add_model_options`: `--model`, and how its client talks to it.
* `add_budget_options`, `add_money_options`: what questions may take, and what all of them will
  take.
* `add_search_options`: `--search`, and an option for each setting of `Search`.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from atlaskit.agents.budget import Budget
from atlaskit.agents.settings import NAMED, Search, named_search, resolve_search
from atlaskit.benchmarks.case import Benchmark
from atlaskit.cli.outputs import count, seconds_of
from atlaskit.errors import InputError
from atlaskit.evaluation.costs import estimate
from atlaskit.guests import MODELS, registered
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import Model
from atlaskit.models.serving.process import stop_command
from atlaskit.models.serving.server import Server
from atlaskit.models.spec import OPTIONS, ModelSpec, add_client_options, is_address, spec_of

if TYPE_CHECKING:
    import pandas as pd


def model_names() -> str:
    """Return what a model on this machine is named by: what packages bring, a hub id, a folder."""
    return ", ".join([*registered(MODELS), "a hub id", "a folder"])


def add_model_options(
    parser: argparse._ActionsContainer,
    default: str = "",
    among: argparse._ActionsContainer | None = None,
) -> None:
    """Add `--model` and the options of its client.

    Args:
        parser: The parser, or a group of it.
        default: What is used without `--model`, for the help.
        among: The group that `--model` itself is added to, where it excludes other options.
    """
    told = (
        f"what vLLM serves on this machine ({model_names()}; it is started if it does not run), "
        "or the address of an OpenAI-compatible endpoint and the name of its model (without a "
        "name: the first that chats)"
    )
    if default:
        told += f" (default: {default})"
    (among or parser).add_argument("--model", nargs="+", metavar=("MODEL", "NAME"), help=told)
    add_client_options(parser)


def named_model(options: argparse.Namespace) -> ModelSpec | None:
    """Return the model that the options name; None without `--model`.

    One word may hold all of them, as `make` passes it: `--model "URL NAME --no-thinking"`.

    Raises:
        InputError: If the options name no model, or options of a client stand alone.
    """
    given = [option for option in OPTIONS if _given(options, option) is not None]
    if not options.model:
        if given:
            raise InputError(f"{given[0]} is an option of a model: name the model with --model.")
        return None
    if len(options.model) > 1:
        return spec_of(options)
    parsed = ModelSpec.parse(options.model[0])
    own = spec_of(argparse.Namespace(**{**vars(options), "model": [parsed.model]}))
    more = {each.name: getattr(own, each.name) for each in fields(ModelSpec)[2:]}
    return replace(parsed, **{name: value for name, value in more.items() if value is not None})


def add_yes_option(parser: argparse._ActionsContainer) -> None:
    """Add `--yes`."""
    told = (
        "start a server on this machine without asking, also where that takes long or installs much"
    )
    parser.add_argument("--yes", action="store_true", help=told)


def asking(vlm: Model, options: argparse.Namespace) -> Model:
    """Return a model that asks the user before it starts a server here, unless `--yes` is given."""
    if isinstance(vlm, Server) and not options.yes:
        vlm.agree = _agree
    return vlm


def _agree(told: Sequence[str]) -> None:
    """Tell the user what starting a server takes, and ask.

    Raises:
        InputError: If the answer is no, or nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise InputError(f"{' '.join(told)} Pass --yes to go on without a question.")
    print(f"atlaskit: {' '.join(told)} Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("No server was started.")


@contextmanager
def told_of_kept(vlm: Model | None) -> Iterator[None]:
    """Say after a block, however it ends, which server it leaves running and how to stop that."""
    try:
        yield
    finally:
        if isinstance(vlm, Server) and (kept := vlm.kept) is not None and kept.is_listed:
            print(
                f"atlaskit: the server of {kept.name} stays for the next question, until "
                f"{kept.idle_s / 60:g} minutes after the last one; this stops it: "
                f"{stop_command(vlm.spec.model)}",
                file=sys.stderr,
            )


def _given(options: argparse.Namespace, option: str) -> object:
    return getattr(options, OPTIONS[option].get("dest", option[2:].replace("-", "_")))


def joined_words(arguments: Sequence[str]) -> list[str]:
    """Return a command's arguments with `--model NAME` as one word, unless it is an address.

    Only an address is followed by a second word. So the command's other arguments may follow a
    model on this machine: `--model NAME match.mp4 "Who wins?"`.
    """
    joined = list[str]()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*joined, word, *rest]
        is_name = (
            word == "--model" and rest and not rest[0].startswith("-") and not is_address(rest[0])
        )
        joined.append(f"--model={rest.pop(0)}" if is_name else word)
    return joined


LIMITS: dict[str, Callable[[str], Any]] = {
    "calls": int,
    "tokens": int,
    "usd": float,
    "seconds": seconds_of,
}
"""The limits of a budget that have an option, and what reads each."""


def add_budget_options(parser: argparse._ActionsContainer, calls: int | None = None) -> None:
    """Add the limits of a question, and `--prices`; `calls` is the default of its own limit."""
    for limit, read in LIMITS.items():
        default = calls if limit == "calls" else None
        told = f"most {limit} that a question may take{f' (default {default})' if default else ''}"
        parser.add_argument(f"--{limit}", type=read, default=default, metavar="N", help=told)
    told = "prices of a million tokens in USD: prompt=0.5,cached=0.05,completion=3"
    parser.add_argument("--prices", metavar="PRICES", help=told)


def add_money_options(parser: argparse._ActionsContainer) -> None:
    """Add the total limits, `--estimate` and `--yes`."""
    for limit, read in LIMITS.items():
        told = f"most {limit} that all questions may take; the same line with more goes on"
        parser.add_argument(f"--total-{limit}", type=read, metavar="N", help=told)
    told = "ask N questions first, say what all will take, and ask whether to go on"
    parser.add_argument("--estimate", type=count, metavar="N", help=told)
    parser.add_argument(
        "--yes",
        action="store_true",
        help="go on after --estimate, and start a server here, unasked",
    )


def budget_of(
    options: argparse.Namespace, prices: Prices | None, before: str = ""
) -> Budget | None:
    """Return the budget that options give; `before` begins their names. None without any."""
    limits = dict[str, Any]()
    for name in LIMITS:
        value = vars(options)[f"{before}{name}"]
        if value is not None:
            limits[name] = value
    if not limits:
        return None
    if "usd" in limits:
        limits["prices"] = prices
    return Budget(**limits)


def goes_on(
    options: argparse.Namespace,
    ask: Mapping[str, Callable[..., pd.DataFrame]],
    cases: Benchmark,
    total: Budget | None,
) -> bool:
    """Ask some questions, print what all will take, and return whether the user wants that."""
    print_estimates(options, ask, cases, total)
    return agrees(options)


def print_estimates(
    options: argparse.Namespace,
    ask: Mapping[str, Callable[..., pd.DataFrame]],
    cases: Benchmark,
    total: Budget | None,
) -> dict[str, pd.DataFrame]:
    """Ask some questions, print what all will take; return their rows, by method.

    Args:
        options: Those of `add_money_options`, and `parallel`.
        ask: What asks cases with each method, by its name.
        cases: All questions.
        total: What all of them may take. Those that are asked here count again in the run, which
            finds them in the cache.
    """
    if not 1 <= options.estimate <= len(cases):
        raise InputError(
            f"--estimate must be from 1 to {len(cases)}, the number of questions; got "
            f"{options.estimate}."
        )
    places = sorted(random.Random(0).sample(range(len(cases)), options.estimate))
    sample = replace(cases, cases=tuple(cases[place] for place in places))
    videos = {case.video for case in cases}
    found = {name: asked(sample, total=total) for name, asked in ask.items()}
    for name, rows in found.items():
        expected = estimate(rows, len(cases), len(videos), parallel=options.parallel)
        print(f"{name}, from {len(sample)} of {len(cases)} questions; low and high bound 95 %:")
        print(expected.to_string(index=False, na_rep="", float_format="{:,.4g}".format))
        if "hours" not in set(expected["amount"]):
            print("hours: not known, since all replies came from the cache")
    return found


def agrees(options: argparse.Namespace) -> bool:
    """Return whether the user goes on after an estimate: `--yes`, or the answer to one question."""
    if options.yes:
        return True
    if not sys.stdin.isatty():
        print("Pass --yes to go on; the replies so far are cached.")
        return False
    return input("Go on? [y/N] ").strip().lower() in ("y", "yes")


WORDS: dict[str, Any] = {"yes": True, "no": False, "none": None}
"""What a setting can be that is no number and no name."""
SUITS = "what suits the model"
SETTINGS: dict[str, tuple[str, str]] = {
    "k": ("a grid has k×k cells", SUITS),
    "cell": (
        "width and height of a cell in pixels; of a native cell, the longer of the two",
        SUITS,
    ),
    "fit": (
        "how a frame fills its cell: native (the cell has the video's shape), contain (a square "
        "cell, the frame on grey) or stretch (a square cell, filled)",
        SUITS,
    ),
    "sampling": (
        "which frame stands for a cell: midpoint, keyframe (fast) or shots (of the shots in the "
        "cell, the one that is least like the film around it)",
        "",
    ),
    "max_depth": (
        "how deep workers may go, from 0 (the root grid alone); auto is the first depth whose "
        "cells are shorter than min-span-s",
        "",
    ),
    "min_span_s": ("seconds below which a cell is not opened", ""),
    "cells": ("how prompts describe the cells: compact, or one by one (full, as in the paper)", ""),
    "traversal": (
        "which regions are explored, and how: looks (any stretch as a sheet of its own, then all "
        "at the step of what is looked for), dfs, bfs, beam, or auto (dfs or bfs, the master's "
        "choice from the question alone)",
        "",
    ),
    "steps": ("the most calls of a worker in its region", SUITS),
    "plateau": (
        "a visit ends after so many steps in a row that bring nothing new: no evidence, no mark, "
        "no sheet that it had not opened",
        f"{SUITS}, or else half of the steps but enough to reach the deepest level",
    ),
    "min_rounds": ("rounds before the evidence may count as sufficient", ""),
    "max_rounds": ("the most rounds", "no limit"),
    "look_ahead": (
        "whether the next probe runs beside the workers: this saves time, and wastes a call if no "
        "round follows",
        "",
    ),
    "votes": (
        "the most decisions that are asked for; the majority counts; above 1 the model needs a "
        "temperature",
        "5 where the model has a temperature, else 1",
    ),
    "scouts": (
        "what says, without the model, where to look first: words (said as in the question)",
        "",
    ),
    "threads": ("workers that run at the same time; no result depends on it", "all of a round"),
    "sample": (
        "number of the sample, if a model with a temperature is asked several times; each has "
        "replies of its own in the cache",
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
    told = (
        "the settings of the search: best (what measured best, as far as the model can do it) or "
        "paper"
    )
    parser.add_argument(
        "--search",
        choices=tuple(NAMED),
        help=f"{told}; the options below change them (default best)",
    )
    for each in fields(Search):
        if each.name not in without:
            read, shown = (
                (_settings, "NAME,NAME") if isinstance(each.default, tuple) else (_setting, "VALUE")
            )
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
    given: dict[str, Any] = {
        each.name: vars(options)[each.name] for each in fields(Search) if each.name in options
    }
    replace(named_search(options.search or "best"), **given)  # before anybody waits for a model
    return given


def search_of(
    options: argparse.Namespace, vlm: Model | Callable[..., Model], changes: dict[str, Any]
) -> Search:
    """Return the search that options name, by a model, with the settings that they give."""
    return resolve_search(options.search or "best", vlm, **changes)


def _setting(text: str) -> Any:
    for read in (WORDS.__getitem__, int, float):
        with suppress(KeyError, ValueError):
            return read(text)
    return text


def _settings(text: str) -> tuple[str, ...] | str:
    return text if text == "all" else () if text == "none" else tuple(text.split(","))
