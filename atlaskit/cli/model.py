"""The options of a command that asks a model.

* `add_model_options`: `--model`, and how its client talks to it.
* `add_budget_options`, `add_total_options`: the limits of one question, and of all questions.
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
from atlaskit.cli.outputs import count, duration_of, positive, shown_table
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
    """Return, for the help, the names that a model on this machine can have."""
    return ", ".join([*registered(MODELS), "a name on the Hugging Face hub", "a folder"])


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
    text = (
        f"a model that vLLM serves on this machine ({model_names()}; it is started if it does not "
        "run), or the address of an OpenAI-compatible endpoint and the name of a model there "
        "(without a name: the first that chats)"
    )
    if default:
        text += f" (default: {default})"
    (among or parser).add_argument("--model", nargs="+", metavar=("MODEL", "NAME"), help=text)
    add_client_options(parser)


def named_model(options: argparse.Namespace) -> ModelSpec | None:
    """Return the model that the options name; None without `--model`.

    One word may hold the name and the client's options too, as `make` passes them: `--model "URL
    NAME --no-thinking"`.

    Raises:
        InputError: If the word is no model, or there are options of a client but no model.
    """
    if not options.model:
        for option, arguments in OPTIONS.items():
            dest = arguments.get("dest", option[2:].replace("-", "_"))
            if getattr(options, dest) is not None:
                raise InputError(f"{option} is an option of a model: name the model with --model.")
        return None
    if len(options.model) > 1:
        return spec_of(options)
    spec = ModelSpec.parse(options.model[0])
    # Options of the command itself win over those in the word.
    given = spec_of(argparse.Namespace(**{**vars(options), "model": [spec.model]}))
    for each in fields(ModelSpec):
        value = getattr(given, each.name)
        if each.name not in ("model", "name") and value is not None:
            spec = replace(spec, **{each.name: value})
    return spec


def add_yes_option(parser: argparse._ActionsContainer) -> None:
    """Add `--yes`."""
    parser.add_argument(
        "--yes",
        action="store_true",
        help=(
            "start a server on this machine without asking, even if that takes long or installs "
            "gigabytes"
        ),
    )


def with_consent(vlm: Model, options: argparse.Namespace) -> Model:
    """Let a model ask the user before it starts a server here, unless `--yes` is given.

    Returns:
        The same model.
    """
    if isinstance(vlm, Server) and not options.yes:
        vlm.agree = _agree
    return vlm


def _agree(notices: Sequence[str]) -> None:
    """Tell the user what starting a server takes, and ask whether to go on.

    Raises:
        InputError: If the answer is no, or nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise InputError(f"{' '.join(notices)} Pass --yes to go on without a question.")
    print(f"atlaskit: {' '.join(notices)} Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if not _says_yes():
        raise InputError("No server was started.")


def _says_yes() -> bool:
    """Return whether the user says yes; the end of the input, by Ctrl-D, is a no."""
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@contextmanager
def server_notice(vlm: Model | None) -> Iterator[None]:
    """Print after a block, however it ends, which server it leaves running and how to stop it."""
    try:
        yield
    finally:
        server = vlm.lasting if isinstance(vlm, Server) else None
        if isinstance(vlm, Server) and server is not None and server.is_listed:
            print(
                f"atlaskit: the server of {server.name} stays for the next question, until "
                f"{server.idle_s / 60:g} minutes after the last one; this stops it: "
                f"{stop_command(vlm.spec.model)}",
                file=sys.stderr,
            )


def joined_words(arguments: Sequence[str]) -> list[str]:
    """Return a command's arguments, with `--model NAME` joined to `--model=NAME`.

    After an address, `--model` takes a second word, so it stays as it is. After any other name the
    next word is an argument of the command: `--model NAME match.mp4 "Who wins?"`.
    """
    joined = list[str]()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*joined, word, *rest]
        if word == "--model" and rest and not rest[0].startswith("-") and not is_address(rest[0]):
            word = f"--model={rest.pop(0)}"
        joined.append(word)
    return joined


LIMITS: dict[str, Callable[[str], Any]] = {
    "calls": count,
    "tokens": count,
    "usd": positive,
    "seconds": duration_of,
}
"""The limits of a budget that have an option, each with the function that parses its value."""
UNITS = {"calls": "model calls", "tokens": "tokens", "usd": "US dollars", "seconds": "seconds"}


def add_budget_options(parser: argparse._ActionsContainer, calls: int | None = None) -> None:
    """Add the limits of a question, and `--prices`.

    Args:
        parser: The parser, or a group of it.
        calls: The default of `--calls`; None for no limit.
    """
    for limit, parse in LIMITS.items():
        text = f"the most {UNITS[limit]} that a question may take"
        default = calls if limit == "calls" else None
        if default is not None:
            text += f" (default {default})"
        parser.add_argument(f"--{limit}", type=parse, default=default, metavar="N", help=text)
    parser.add_argument(
        "--prices",
        metavar="PRICES",
        help="prices of a million tokens in US dollars: prompt=0.5,cached=0.05,completion=3",
    )


def add_total_options(parser: argparse._ActionsContainer) -> None:
    """Add the limits of all questions together, `--estimate` and `--yes`."""
    for limit, parse in LIMITS.items():
        parser.add_argument(
            f"--total-{limit}",
            type=parse,
            metavar="N",
            help=(
                f"the most {UNITS[limit]} that all questions may take; the same command with a "
                "larger number continues"
            ),
        )
    parser.add_argument(
        "--estimate",
        type=count,
        metavar="N",
        help="ask N questions first, print what all will take, and ask whether to go on",
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="do not ask: go on after --estimate, and start a server on this machine if needed",
    )


def budget_of(
    options: argparse.Namespace, prices: Prices | None, prefix: str = ""
) -> Budget | None:
    """Return the budget that options give, or None if they give no limit.

    Args:
        options: The options.
        prices: The prices that `--prices` gives.
        prefix: How the names of the options begin: "" or "total_".

    Raises:
        InputError: A limit in US dollars is given without prices.
    """
    limits = dict[str, Any]()
    for name in LIMITS:
        value = vars(options)[f"{prefix}{name}"]
        if value is not None:
            limits[name] = value
    if not limits:
        return None
    if "usd" in limits:
        if prices is None:
            raise InputError(
                f"--{prefix.replace('_', '-')}usd needs the prices of tokens: add --prices "
                "prompt=0.5,completion=3 with yours."
            )
        limits["prices"] = prices
    return Budget(**limits)


def print_estimates(
    options: argparse.Namespace,
    ask: Mapping[str, Callable[..., pd.DataFrame]],
    cases: Benchmark,
    total: Budget | None,
) -> dict[str, pd.DataFrame]:
    """Ask a sample of questions, and print what all of them are expected to take.

    Args:
        options: Those of `add_total_options`, and `parallel`.
        ask: For each method, the function that asks questions with it.
        cases: All questions.
        total: The limits of all questions together. The sample counts towards them once more in the
            run, although it then comes from the cache.

    Returns:
        The rows of the sample, by method.

    Raises:
        InputError: `--estimate` is larger than the number of questions.
    """
    if not 1 <= options.estimate <= len(cases):
        raise InputError(
            f"--estimate must be from 1 to {len(cases)}, the number of questions; got "
            f"{options.estimate}."
        )
    places = sorted(random.Random(0).sample(range(len(cases)), options.estimate))
    sample = replace(cases, cases=tuple(cases[place] for place in places))
    videos = {case.video for case in cases}
    found = dict[str, "pd.DataFrame"]()
    for name, ask_by_method in ask.items():
        found[name] = ask_by_method(sample, total=total)
    for name, rows in found.items():
        expected = estimate(rows, len(cases), len(videos), parallel=options.parallel)
        print(f"{name}, from {len(sample)} of {len(cases)} questions; low and high bound 95 %:")
        print(shown_table(expected, index=False, na_rep="", float_format="{:,.4g}".format))
        if "hours" not in set(expected["amount"]):
            print("hours: not known, since all replies came from the cache")
    return found


def agrees(options: argparse.Namespace) -> bool:
    """Return whether to go on after an estimate: with `--yes`, or if the user says so."""
    if options.yes:
        return True
    if not sys.stdin.isatty():
        print("Pass --yes to go on; the replies so far are cached.")
        return False
    print("Go on? [y/N] ", end="", flush=True)
    return _says_yes()


WORDS: dict[str, Any] = {"yes": True, "no": False, "none": None}
"""Words for the values of a setting that are neither numbers nor names."""
SUITS = "what suits the model"
SETTINGS: dict[str, tuple[str, str]] = {
    "k": ("a grid has K×K cells, each with one frame", SUITS),
    "cell": (
        "width and height of a cell in pixels; with --fit native, the longer of the two",
        SUITS,
    ),
    "fit": (
        "how a frame fills its cell: native (the cell has the shape of the video), contain (a "
        "square cell, the frame on grey) or stretch (a square cell, the frame distorted)",
        SUITS,
    ),
    "sampling": (
        "which frame represents a cell: midpoint, keyframe (a fast one near the midpoint), or "
        "shots (from the shot in the cell that differs most from the film around it)",
        "",
    ),
    "max_depth": (
        "how deep cells may be opened, from 0 (only the grid of the whole video); auto: until "
        "cells are shorter than --min-span-s",
        "",
    ),
    "min_span_s": ("a cell that is shorter than these seconds is not opened", ""),
    "cells": ("how prompts describe the cells: compact, or full (one by one, as in the paper)", ""),
    "traversal": (
        "the order in which the video is explored: looks (the model chooses any stretch), dfs "
        "(depth first), bfs (breadth first), beam (a few of the best cells at each depth), or auto "
        "(dfs or bfs, which the model chooses by the question)",
        "",
    ),
    "steps": ("the most calls that a worker makes in its region", SUITS),
    "plateau": (
        "a worker stops after this number of calls in a row without new evidence, a new mark or a "
        "new grid",
        f"{SUITS}, or else half of --steps but enough to reach the deepest grids",
    ),
    "min_rounds": ("rounds before the evidence may count as sufficient", ""),
    "max_rounds": ("the most rounds", "no limit"),
    "look_ahead": (
        "whether the next round is planned while workers run, which saves time but wastes a call "
        "if no round follows",
        "",
    ),
    "votes": (
        "the most answers that are asked for, of which the majority counts; above 1, the model "
        "needs a temperature",
        "5 if the model has a temperature, else 1",
    ),
    "scouts": (
        "hints where to look first, without the model: words (where subtitles share words with the "
        "question)",
        "",
    ),
    "threads": ("workers that run at the same time; no result depends on it", "all of a round"),
    "sample": (
        "number of the sample, to ask a model with a temperature again: each sample has replies of "
        "its own in the cache",
        "",
    ),
}
"""The meaning of each setting of a search, and its default; "" if `--search` decides it."""


def add_search_options(parser: argparse._ActionsContainer, without: Collection[str] = ()) -> None:
    """Add `--search` and the settings of a search.

    Args:
        parser: The parser, or a group of it.
        without: Settings that the command has no option for.
    """
    parser.add_argument(
        "--search",
        choices=tuple(NAMED),
        help=(
            "the settings of the search: best (those that measured best, as far as the model can "
            "use them) or paper (those of the paper); the other options of the search change them "
            "(default best)"
        ),
    )
    for each in fields(Search):
        if each.name in without:
            continue
        parse: Callable[[str], Any] = _value_of
        metavar = "VALUE"
        if isinstance(each.default, tuple):
            parse = _names_in
            metavar = "NAME,NAME"
        elif isinstance(each.default, bool):
            metavar = "yes|no"
        add_setting(parser, each.name, "", type=parse, metavar=metavar, default=argparse.SUPPRESS)


def add_setting(
    parser: argparse._ActionsContainer, name: str, shown_default: str, **how: Any
) -> None:
    """Add the option of a setting.

    Args:
        parser: The parser, or a group of it.
        name: The setting, a key of SETTINGS.
        shown_default: The default that the help shows; "" for the one in SETTINGS.
        **how: Arguments of `add_argument`.
    """
    text, usual_default = SETTINGS[name]
    default = shown_default or usual_default
    if default:
        text += f" (default: {default})"
    parser.add_argument(f"--{name.replace('_', '-')}", help=text, **how)


def changes_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the search that options give; raise InputError for a wrong one."""
    given = dict[str, Any]()
    for each in fields(Search):
        if each.name in options:
            given[each.name] = getattr(options, each.name)
    # Raise the error for a wrong value now, before a model is started.
    replace(named_search(options.search or "best"), **given)
    return given


def search_of(
    options: argparse.Namespace, vlm: Model | Callable[..., Model], changes: dict[str, Any]
) -> Search:
    """Return the search that `--search` names, resolved for a model, with changed settings.

    Args:
        options: The options of the command.
        vlm: The model, or the function that makes it.
        changes: The settings from `changes_of`.
    """
    return resolve_search(options.search or "best", vlm, **changes)


def _value_of(text: str) -> Any:
    """Return the value of a setting: one of WORDS, a number, or the text itself."""
    for parse in (WORDS.__getitem__, int, float):
        with suppress(KeyError, ValueError):
            return parse(text)
    return text


def _names_in(text: str) -> tuple[str, ...]:
    """Return names that commas separate; () for "none"."""
    return () if text == "none" else tuple(text.split(","))
