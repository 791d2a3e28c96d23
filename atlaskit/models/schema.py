"""`ParametricSchema`: a pydantic class for the shape of a reply plus the cells that fill it.

Building a pydantic model and generating its JSON Schema would be most of what a replayed call
costs, and the cells that an answer may name differ with each call. `ParametricSchema` therefore
shares one pydantic model (the shape) among calls: the shape holds a named placeholder for each set
of values, and each call supplies the values. Knows nothing of prompts or grids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, PlainValidator, ValidationError, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticKnownError

Values = tuple[int, ...] | tuple[str, ...]
PLACEHOLDER = "x-atlaskit-among"
"""The keyword in a shape's JSON Schema that marks where a call's values go."""


@dataclass(frozen=True)
class ParametricSchema:
    """A shape with the values of one call.

    It validates, rejects and describes answers exactly as a pydantic model does that has these
    values as Literals.
    """

    shape: type[BaseModel]
    values: tuple[tuple[str, Values], ...]
    """(placeholder name, allowed values) pairs, one for each placeholder of the shape."""

    def model_validate(self, value: Any) -> Any:
        """Return the answer as an instance of the shape.

        Raises:
            pydantic.ValidationError: If the answer does not fit.
        """
        return self.shape.model_validate(value, context=dict(self.values))

    def model_validate_json(self, text: str) -> Any:
        """Parse an answer from JSON and return it as an instance of the shape.

        Raises:
            pydantic.ValidationError: If the text is not JSON, or the answer does not fit.
        """
        return self.shape.model_validate_json(text, context=dict(self.values))

    def model_json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema, with the values in place of the placeholders."""
        filled: dict[str, Any] = _fill_placeholders(shape_schema(self.shape), dict(self.values))
        return filled


def among(name: str) -> Any:
    """Return the field type "one of the values that the call supplies under `name`".

    A shape that is validated without these values accepts nothing in this field.
    """

    def validate(value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool):
            raise ValueError("not a number")  # in Python, True == 1
        values: Values = (info.context or {}).get(name, ())
        if value not in values:
            *others, last = map(repr, values or ("nothing",))
            expected = f"{', '.join(others)} or {last}" if others else last
            raise PydanticKnownError("literal_error", {"expected": expected})
        return values[values.index(value)]  # our own 1, not the answer's 1.0, which equals it

    return Annotated[Any, PlainValidator(validate), WithJsonSchema({PLACEHOLDER: name})]


@lru_cache(maxsize=1024)
def shape_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """Return a shape's JSON Schema, placeholders included."""
    return shape.model_json_schema()


@lru_cache(maxsize=1024)
def json_schema(schema: type[BaseModel] | ParametricSchema) -> dict[str, Any]:
    """Return a schema as JSON Schema, in the form that is sent to a model."""
    return schema.model_json_schema()


# fmt: off
BOUND_FAULTS = frozenset({
    "string_too_long", "string_too_short", "too_long", "too_short", "value_error",
    "greater_than", "greater_than_equal", "less_than", "less_than_equal",
})
# fmt: on
"""Faults that strict decoding lets through, since it does not take the bounds of a schema."""


def is_out_of_bounds(text: str, schema: type[BaseModel] | ParametricSchema) -> bool:
    """Return whether a text has the shape of a schema, and only exceeds its bounds."""
    try:
        schema.model_validate_json(text)
    except ValidationError as error:
        return {each["type"] for each in error.errors(include_url=False, include_input=False)} <= BOUND_FAULTS
    return True


def _fill_placeholders(schema: Any, values: Mapping[str, Values]) -> Any:
    """Replace each placeholder by its values, written as pydantic writes a Literal."""
    match schema:
        case {"x-atlaskit-among": name, **rest}:
            allowed = values[name]
            type_name = "string" if isinstance(allowed[0], str) else "integer"
            literal = {"const": allowed[0]} if len(allowed) == 1 else {"enum": list(allowed)}
            return {**literal, **rest, "type": type_name}
        case dict():
            return {key: _fill_placeholders(part, values) for key, part in schema.items()}
        case list():
            return [_fill_placeholders(part, values) for part in schema]
        case _:
            return schema
