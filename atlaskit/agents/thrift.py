"""`Thrift`: measures that spend fewer tokens on the same sight, each of them optional.

Without any of them (the default), requests, results and traces are what they were before the
measures came. Most of them change prompts, so a model that was taught fixed prompts refuses those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from atlaskit.errors import InputError, printable
from atlaskit.models.presets import preset_for

Measure = Literal["steps", "review", "probe", "evidence"]
"""What a run may save on.

* steps: a worker may end its visit with the reply that keeps evidence or marks cells.
* review: a review does not show the root sheet again, but what the master made of it.
* probe: the master probes again only when no cell that it scored is left, and never ahead.
* evidence: a review shows frames that an earlier review judged at half the size, in short rows;
  a probe lists all evidence in short rows.
"""
Thrift = frozenset[Measure]
"""The measures of a run."""

MEASURES: tuple[Measure, ...] = get_args(Measure)
ALL = "all"
SAME_PROMPTS: Thrift = frozenset({"probe"})
"""The measures that change which calls are made, but no prompt."""


def resolve_thrift(measures: Sequence[str] | str) -> Thrift:
    """Return the measures of a run.

    Args:
        measures: Their names; or "all".

    Raises:
        InputError: If a name is unknown.
    """
    names = MEASURES if measures == ALL else measures
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InputError(f"thrift must be a tuple of names, or {ALL!r}; got {measures!r:.80}.")
    if unknown := [name for name in names if name not in MEASURES]:
        raise InputError(f"thrift knows {', '.join(MEASURES)}, and {ALL!r}; got {unknown[0]!r:.80}.")
    return frozenset(names)  # type: ignore[arg-type]  # checked above


def check_thrift(thrift: Thrift, model: Any) -> None:
    """Raise InputError if a measure changes prompts that the model was taught without it."""
    changing = [name for name in MEASURES if name in thrift - SAME_PROMPTS]
    if changing and preset_for(model).words:
        raise InputError(
            f"thrift {changing[0]!r} changes prompts, and {printable(model.name, 60)} was taught those without it: "
            f"leave out all but {', '.join(sorted(SAME_PROMPTS))}, or name another model."
        )


def recorded_thrift(thrift: Thrift) -> dict[str, list[str]]:
    """Return the setting that a run records of it: none without measures."""
    return {"thrift": [name for name in MEASURES if name in thrift]} if thrift else {}
