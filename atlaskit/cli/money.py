"""The options of a command that asks many questions: what they may take, and what all will take."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.cli.words import count, seconds_of
from atlaskit.errors import InputError
from atlaskit.evaluation.estimate import estimate
from atlaskit.models.prices import Prices

if TYPE_CHECKING:
    import pandas as pd

LIMITS: dict[str, Callable[[str], Any]] = {"calls": int, "tokens": int, "usd": float, "seconds": seconds_of}
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
    parser.add_argument("--yes", action="store_true", help="go on after --estimate, and start a server here, unasked")


def budget_of(options: argparse.Namespace, prices: Prices | None, before: str = "") -> Budget | None:
    """Return the budget that options give; `before` begins their names. None without any."""
    limits = {name: value for name in LIMITS if (value := vars(options)[f"{before}{name}"]) is not None}
    return Budget(**limits, prices=prices if "usd" in limits else None) if limits else None


def goes_on(
    options: argparse.Namespace,
    ask: Mapping[str, Callable[..., pd.DataFrame]],
    cases: Benchmark,
    total: Budget | None,
) -> bool:
    """Ask some questions, print what all will take, and return whether the user wants that.

    Args:
        options: Those of `add_money_options`, and `parallel`.
        ask: What asks cases with each method, by its name.
        cases: All questions.
        total: What all of them may take. Those that are asked here count again in the run, which
            finds them in the cache.
    """
    if not 1 <= options.estimate <= len(cases):
        raise InputError(f"--estimate must be from 1 to {len(cases)}, the number of questions; got {options.estimate}.")
    places = sorted(random.Random(0).sample(range(len(cases)), options.estimate))
    sample, videos = replace(cases, cases=tuple(cases[place] for place in places)), {case.video for case in cases}
    for name, asked in ask.items():
        expected = estimate(asked(sample, total=total), len(cases), len(videos), parallel=options.parallel)
        print(f"{name}, from {len(sample)} of {len(cases)} questions; low and high bound 95 %:")
        print(expected.to_string(index=False, na_rep="", float_format="{:,.4g}".format))
        if "hours" not in set(expected["amount"]):
            print("hours: not known, since all replies came from the cache")
    if options.yes:
        return True
    if not sys.stdin.isatty():
        print("Pass --yes to go on; the replies so far are cached.")
        return False
    return input("Go on? [y/N] ").strip().lower() in ("y", "yes")
