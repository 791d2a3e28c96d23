"""Arguments of `ask` that break a rule; those of a search are in test_settings."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask
from support.model_doubles import Babbler
from support.stand_ins import Flat

import atlaskit as ak
from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.models.prices import Prices

QUESTION = ak.Question("What?", ("a", "b"))


@pytest.mark.parametrize(
    ("message", "question", "options"),
    [
        ("workers is a whole number", QUESTION, {"workers": "4"}),
        ("workers is a whole number", QUESTION, {"workers": True}),
        ("workers is a whole number", QUESTION, {"workers": 0}),
        ("budget must be an ak.Budget", QUESTION, {"budget": 200}),
        ("leave `choices` and `kind` out", QUESTION, {"kind": "open"}),
        ("leave `choices` and `kind` out", QUESTION, {"choices": ["a", "b"]}),
        ("list of texts", "What?", {"choices": "abc"}),
        ("list of texts", "What?", {"choices": {"a", "b"}}),
        ("must be texts", "What?", {"choices": ["a", None]}),
        ("must be texts", None, {"choices": ["a", "b"]}),
    ],
)
def test_invalid_arguments_raise_input_errors(message: str, question: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=message):
        ask(Flat(), question, vlm=Babbler(), cache=Cache(None), **options)


POSITIVE = "positive (whole )?number"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        *(({name: 0}, POSITIVE) for name in ("calls", "tokens", "seconds", "effective_tokens", "usd")),
        *(({"seconds": each}, POSITIVE) for each in (float("inf"), float("nan"))),
        *(({"calls": each}, POSITIVE) for each in (2.5, "5", True)),
        ({"usd": 1.0}, "usd and prices of a budget belong together"),
        ({"prices": Prices(prompt=1, completion=1)}, "usd and prices of a budget belong together"),
        ({"usd": 1.0, "prices": {"prompt": 1, "completion": 1}}, "prices of a budget must be ak.Prices"),
    ],
)
def test_invalid_limits_raise_input_errors(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Budget(**limits)
