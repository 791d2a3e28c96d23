"""`ask` and others with the settings of a search as loose keywords, by default the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import atlaskit as ak
from atlaskit.agents.settings import named_search

if TYPE_CHECKING:
    import pandas as pd

SETTINGS = tuple(each.name for each in fields(ak.Search))

OF_THE_RUN = ["calls_paid", "frames_decoded", "decoding_seconds", "model_seconds", "queue_seconds", "seconds"]
"""Columns that describe one execution; a repetition gives the same value in all others."""


def packed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords with a `search` in place of the settings of one."""
    own = {name: options[name] for name in SETTINGS if name in options}
    rest = {name: value for name, value in options.items() if name not in own}
    search = rest.get("search", "paper")
    return {**rest, "search": replace(named_search(search), **own) if own else search}


def ask(*args: Any, **options: Any) -> ak.Result:
    """Ask as `ak.ask`."""
    return ak.ask(*args, **packed(options))


def composite(*args: Any, **options: Any) -> ak.Result:
    """Ask as `ak.baselines.composite`."""
    return ak.baselines.composite(*args, **packed(options))


def evaluate(
    cases: Iterable[Any], method: str | Callable[..., ak.Result] = "video-rlm", **options: Any
) -> pd.DataFrame:
    """Evaluate as `ak.evaluate`."""
    is_search = method in ("video-rlm", "composite", ak.ask)
    return ak.evaluate(cases, method, **(packed(options) if is_search else options))


def by_workers(*args: Any, **options: Any) -> pd.DataFrame:
    """Measure as `ak.scaling.by_workers`."""
    return ak.scaling.by_workers(*args, **packed(options))


def failures(*args: Any, **options: Any) -> list[ak.diagnosis.FailureMode]:
    """Diagnose as `ak.diagnosis.failures`."""
    return ak.diagnosis.failures(*args, **packed(options))
