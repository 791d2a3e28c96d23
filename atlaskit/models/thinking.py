"""Whether a model thinks before it answers: what turns that off, and how much room it gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlaskit.errors import InputError
from atlaskit.models.dialect import Dialect
from atlaskit.models.presets import NO_THINKING, Family

THOUGHT_TOKENS = 16_384
"""Room for a thought beside the answer, where a model thinks and no limit was set."""


def check_thinking(thinking: bool | None, family: Family, name: str) -> None:
    """Raise InputError if thinking is to be turned off and the model's family always thinks."""
    always_thinks = family.thinks and family.reasoning_parser and not family.no_thinking
    if thinking is False and always_thinks:
        raise InputError(
            f"thinking=False cannot turn thinking off for {name}: models of its family ({family.name}) always think. "
            f"Leave it out, or use another model."
        )


def thinking_fields(thinking: bool | None, dialect: Dialect, family: Family) -> Mapping[str, Any]:
    """Return the fields of a request that turn thinking on or off; {} to leave it as it is.

    Args:
        thinking: Whether the model shall think; None leaves it as it is.
        dialect: What the endpoint accepts.
        family: The model's family.
    """
    if thinking is None:
        return {}
    if thinking:
        return {"chat_template_kwargs": {"enable_thinking": True}} if family.no_thinking == NO_THINKING else {}
    if dialect.no_thinking is not None:
        return dialect.no_thinking if family.thinks or family.name == "other" else {}
    return family.no_thinking or (NO_THINKING if family.name == "other" else {})


def room(thinking: bool | None, dialect: Dialect, family: Family, has_thought: bool) -> int:
    """Return the tokens to allow for a thought, beside those of the answer.

    Args:
        thinking: What the caller wants; None for what the model does by itself.
        dialect: What the endpoint accepts.
        family: The model's family.
        has_thought: Whether the model turned out to think.
    """
    thinks = family.thinks or dialect.thinks if thinking is None else thinking
    return THOUGHT_TOKENS if thinks or has_thought else 0


def merged(*bodies: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of all bodies; of two, the later counts, and objects are merged."""
    fields: dict[str, Any] = {}
    for body in bodies:
        for name, value in body.items():
            before = fields.get(name)
            both = isinstance(before, Mapping) and isinstance(value, Mapping)
            fields[name] = merged(before, value) if both else value  # type: ignore[arg-type]
    return fields
