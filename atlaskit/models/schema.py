"""The form of an answer: a shape, made once, and the values that may stand in it this time.

To make a pydantic model takes a third of a millisecond, and its JSON Schema as long again, while which cells may be
named differs from call to call. So a model is made once for each shape of an answer, with names in place of the values,
and what the names stand for goes with each call. Knows nothing of what is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, PlainValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticKnownError

Values = tuple[int, ...] | tuple[str, ...]
STAND_IN = "x-atlaskit-among"
"""The keyword that stands in a shape's JSON Schema where the values will."""


@dataclass(frozen=True)
class ParametricSchema:
    """A shape and what may stand in it: takes, refuses and tells what a pydantic model of just these values would."""

    shape: type[BaseModel]
    values: tuple[tuple[str, Values], ...]
    """By the name that the shape has for them."""

    def model_validate(self, value: Any) -> Any:
        """Return an answer that fits; raise ValidationError for any other."""
        return self.shape.model_validate(value, context=dict(self.values))

    def model_validate_json(self, text: str) -> Any:
        """Return an answer that fits, out of JSON; raise ValidationError for any other."""
        return self.shape.model_validate_json(text, context=dict(self.values))

    def model_json_schema(self) -> dict[str, Any]:
        """Return it as JSON Schema, the values filled in."""
        filled: dict[str, Any] = _filled(shape_schema(self.shape), dict(self.values))
        return filled


def among(name: str) -> Any:
    """Return the form of one of the values that a call gives under a name; without any given, nothing fits."""

    def member(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool):
            raise ValueError("not a number")  # to Python, `true` equals 1
        values: Values = (info.context or {}).get(name, ())
        if value not in values:
            *others, last = map(repr, values or ("nothing",))
            told = f"{', '.join(others)} or {last}" if others else last
            raise PydanticKnownError("literal_error", {"expected": told})
        return values[values.index(value)]  # and not 1.0, which equals it too

    return Annotated[Any, PlainValidator(member), WithJsonSchema({STAND_IN: name})]


@lru_cache(maxsize=1024)
def shape_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """Return a shape as JSON Schema, with names in place of the values."""
    return shape.model_json_schema()


def _filled(schema: Any, values: Mapping[str, Values]) -> Any:
    """Return a schema with the values in place of their names, written as pydantic writes a Literal."""
    match schema:
        case {"x-atlaskit-among": name, **rest}:
            there = values[name]
            kind = "string" if isinstance(there[0], str) else "integer"
            return {**({"const": there[0]} if len(there) == 1 else {"enum": list(there)}), **rest, "type": kind}
        case dict():
            return {key: _filled(part, values) for key, part in schema.items()}
        case list():
            return [_filled(part, values) for part in schema]
        case _:
            return schema
