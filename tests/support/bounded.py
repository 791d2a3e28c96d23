"""Checks that what a stranger sends holds a parser for a bounded time.

Time is processor time, which other work on the machine still makes longer. A check therefore
passes as soon as one of several tries is within its bound; what grows with the square of the text
is within it in none.
"""

import ast
import gc
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
    gc.freeze()  # else the collector searches what other tests have left
    began_s = time.process_time()
    with suppress(ValueError, OverflowError, AtlasError, HttpFailure), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read(*args)
    took_s = time.process_time() - began_s
    gc.unfreeze()
    return took_s


def check_takes(most_s: float, read: Callable[..., object], *args: object) -> None:
    """Read something within some processor seconds."""
    seconds: list[float] = []
    while not seconds or (seconds[-1] > most_s and len(seconds) < TRIES):
        seconds.append(processor_s(read, *args))
    assert seconds[-1] <= most_s, (str(args)[:80], seconds)


def check_linear(read: Callable[[str], object], fragment: str, size: int, free_s: float = FREE_S) -> None:
    """Read a fragment over and over, up to a size and up to half of it soon after."""
    seconds: list[tuple[float, float]] = []

    def is_long(whole_s: float, half_s: float) -> bool:
        return whole_s > MOST_TIMES * half_s + free_s

    while not seconds or (is_long(*seconds[-1]) and len(seconds) < TRIES):
        whole_s = processor_s(read, repeated(fragment, size))
        if whole_s <= free_s:
            return
        seconds.append((whole_s, processor_s(read, repeated(fragment, size // 2))))
    assert not is_long(*seconds[-1]), (fragment, seconds)


def literals(*modules: str, only_patterns: bool = False) -> set[str]:
    """Return the literal parts of the texts of some modules, or of their regular expressions."""
    found = set[str]()
    for module in modules:
        tree = ast.parse((ROOT / "atlaskit" / f"{module}.py").read_text("utf-8"))
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        patterns = [node for node in calls if ast.unparse(node.func).startswith("re.")]
        for node in (each for part in (patterns if only_patterns else [tree]) for each in ast.walk(part)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 1000:
                found.update(re.split(r"[\\|()?*+\[\]{},.^$]+", node.value))
    return {part for part in found if 0 < len(part) <= 24}
