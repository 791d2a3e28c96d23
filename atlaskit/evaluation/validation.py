"""Checks of cases and settings of `evaluate` before the first question, so typos cost no call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from atlaskit.agents.settings import Search, named_search
from atlaskit.benchmarks.case import Case
from atlaskit.errors import InputError
from atlaskit.evaluation.baselines import settings_of
from atlaskit.runs.result import Result

JSON_SCALARS = (str, int, float, bool, type(None))


def check_cases(cases: Sequence[Case]) -> None:
    """Raise InputError if there are no cases, or the answer to a question is unknown."""
    if not cases:
        raise InputError("There are no questions to ask: the list of cases is empty.")
    unknown = next((case.question.id for case in cases if case.question.answer is None), None)
    if unknown is not None:
        raise InputError(f"The true answer to {unknown!r} is not known, so it cannot be scored; leave it out.")


def check_settings(
    name: str, answer: Callable[..., Result], settings: Mapping[str, Any], reserved: Collection[str]
) -> None:
    """Raise InputError for a setting that a method does not accept.

    Args:
        name: The name of the method in the error.
        answer: The method, a function with the signature of `ask`.
        settings: The settings to check.
        reserved: Settings that the caller passes to the method itself; they count as unknown.
    """
    accepted = settings_of(answer)
    if accepted is None:
        return
    offered = [setting for setting in accepted if setting not in reserved]
    unknown = next((setting for setting in settings if setting not in offered), None)
    if unknown is not None:
        raise InputError(f"{name} has no setting {unknown!r:.80}; it has {', '.join(offered)}.")


def json_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON scalars, each other value as its repr.

    A search stands there as what it changes in the paper's; "best", which suits itself to the
    model, by its name.
    """
    flat = dict(settings)
    if flat.get("search") == "paper" or isinstance(flat.get("search"), Search):
        flat |= named_search(flat.pop("search")).changed()
    return {name: value if isinstance(value, JSON_SCALARS) else repr(value) for name, value in flat.items()}
