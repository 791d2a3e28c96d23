"""Arguments of `ask` that break a rule."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask
from support.model_doubles import Babbler
from support.searches import CHOICE, of_category, search

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.models.prices import Prices


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("workers is a whole number", {"workers": 2.5}),
        ("workers is a whole number", {"workers": "4"}),
        ("workers is a whole number", {"workers": True}),
        ("steps is a whole number", {"steps": 2.5}),
        ("threads is a whole number", {"threads": float("nan")}),
        ("min_rounds is a whole number", {"min_rounds": None}),
        ("max_rounds is a whole number", {"max_rounds": float("inf")}),
        ("min_rounds must be at most max_rounds, 2", {"min_rounds": 3, "max_rounds": 2}),
        ("plateau is a whole number", {"plateau": "4"}),
        ("budget must be an ak.Budget", {"budget": 200}),
        ("budget must be an ak.Budget", {"budget": None}),
        ("leave `choices` and `kind` out", {"kind": "open"}),
        ("leave `choices` and `kind` out", {"choices": ["a", "b"]}),
    ],
)
def test_invalid_options_raise_input_errors(
    long_world: World, shared_cache: Cache, message: str, options: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=message):
        search(long_world, of_category(long_world, "S2A"), shared_cache, **options)


@pytest.mark.parametrize(
    ("message", "question", "choices", "kind"),
    [
        ("list of texts", "What?", "abc", None),
        ("list of texts", "What?", {"a", "b"}, None),
        ("must be texts", "What?", [1, 2], None),
        ("must be texts", "What?", ["a", None], None),
        ("must be texts", None, ["a", "b"], None),
        ("at least two choices", "What?", [], "choice"),
        ("leave them out", "What?", ["a", "b"], "count"),
        ("one of choice", "What?", None, "why"),
    ],
)
def test_invalid_questions_raise_input_errors(
    long_world: World, shared_cache: Cache, message: str, question: Any, choices: Any, kind: Any
) -> None:
    with pytest.raises(InputError, match=message):
        ask(long_world.drawn, question, choices, kind=kind, vlm=Oracle(long_world), cache=shared_cache)


def test_invalid_limits_raise_input_errors(world: World, cache: Cache) -> None:
    for options in ({"workers": 0}, {"steps": 0}, {"threads": 0}, {"max_rounds": 0}, {"k": 1}, {"max_depth": -1}):
        with pytest.raises(InputError):
            ask(world.drawn, CHOICE, vlm=Babbler(), cache=cache, **options)  # type: ignore[arg-type]
    for limits in (
        {"calls": 0},
        {"tokens": -1},
        {"seconds": 0.0},
        {"seconds": float("inf")},
        {"seconds": float("nan")},
        {"calls": 2.5},
        {"calls": "5"},
        {"tokens": True},
        {"effective_tokens": 0},
        {"usd": 0.0},
        {"usd": "5"},
    ):
        with pytest.raises(InputError, match="positive (whole )?number"):
            Budget(**limits)  # type: ignore[arg-type]
    for limits in ({"usd": 1.0}, {"prices": Prices(prompt=1, completion=1)}):
        with pytest.raises(InputError, match="usd and prices of a budget belong together"):
            Budget(**limits)
    with pytest.raises(InputError, match="prices of a budget must be ak.Prices"):
        Budget(usd=1.0, prices={"prompt": 1, "completion": 1})  # type: ignore[arg-type]
