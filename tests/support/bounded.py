"""Checks that what a stranger sends holds a parser for a bounded time.

Time is processor time, which other work on the machine still makes longer. A check therefore
passes as soon as one of several tries is within its bound; what grows with the square of the text
is within it in none.
"""

from __future__ import annotations

import ast
import re
import time
import warnings
from collections.abc import Callable
from contextlib import suppress

from atlaskit.errors import AtlasError
from atlaskit.models.http import HttpFailure
from support.paths import ROOT

TRIES = 10
FREE_S = 0.2
"""Processor seconds that nobody notices, and of which a ratio says nothing."""
MOST_TIMES = 3.0
"""How much longer twice the text may take."""


def repeated(fragment: str, size: int) -> str:
    return (fragment * (size // len(fragment) + 1))[:size]


def processor_s(read: Callable[..., object], *args: object) -> float:
    """Return the processor seconds to read or refuse something."""
    began_s = time.process_time()
    with suppress(ValueError, OverflowError, AtlasError, HttpFailure), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read(*args)
    return time.process_time() - began_s


def check_takes(most_s: float, read: Callable[..., object], *args: object) -> None:
    """Read something within some processor seconds."""
    seconds: list[float] = []
    while not seconds or (seconds[-1] > most_s and len(seconds) < TRIES):
        seconds.append(processor_s(read, *args))
    assert seconds[-1] <= most_s, (str(args)[:80], seconds)


def check_linear(read: Callable[[str], object], fragment: str, size: int) -> None:
    """Read a fragment over and over, up to a size and up to half of it soon before."""
    ratios: list[float] = []
    while not ratios or (ratios[-1] > MOST_TIMES and len(ratios) < TRIES):
        if processor_s(read, repeated(fragment, size)) <= MOST_TIMES * FREE_S:
            return
        half_s = processor_s(read, repeated(fragment, size // 2))
        ratios.append(processor_s(read, repeated(fragment, size)) / max(half_s, FREE_S))
    assert ratios[-1] <= MOST_TIMES, (fragment, ratios)


def alphabet(*modules: str) -> set[str]:
    """Return the literal parts of all regular expressions in some modules of atlaskit.models."""
    found = set[str]()
    for module in modules:
        for node in ast.walk(ast.parse((ROOT / "atlaskit" / "models" / f"{module}.py").read_text("utf-8"))):
            is_pattern = isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.")
            for each in ast.walk(node) if is_pattern else ():
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    found.update(re.split(r"[\\|()?*+\[\]{},.^$]+", each.value))
    return {part for part in found if 0 < len(part) <= 24}
