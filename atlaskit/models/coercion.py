"""Fits a value to a JSON Schema where it is the same value in another spelling.

Models without a grammar write "3" for 3, "B" for the second choice, one value for a list of one.
Nothing is invented: a value that cannot be read in exactly one way stays as it is, and so does not
fit. Knows JSON Schema as pydantic writes it, and nothing of prompts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from atlaskit.models.json_text import NotJson, strict_json

CHOICE_FIELDS = frozenset({"answer", "choice"})
"""Fields that hold the index of a choice, if their schema lists the indices from 0."""

Schema = Mapping[str, Any]

_INTEGER = re.compile(r"[+-]?\d{1,15}(?:\.0*)?")
_NUMBER = re.compile(r"[+-]?(?:\d{1,15}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?")
_LETTER = re.compile(r"(?:option |choice |answer )?[(\[]?([a-z])[)\]]?[.:]?", re.IGNORECASE)
_LABELLED = re.compile(r"((?:option |choice |answer )?[(\[]?(?:[a-z]|\d{1,3})[)\].:]{1,2})\s*(.+)", re.IGNORECASE)
"""A choice's letter or number, and its text."""


def coerced(value: Any, schema: Schema, choices: Sequence[str] = ()) -> Any:
    """Return a parsed JSON value in the spelling that a schema wants.

    Args:
        value: The value. Fields that the schema does not know are left out of its objects.
        schema: The JSON Schema, with its definitions in "$defs".
        choices: The texts of the choices by their index, for a field that holds an index.
    """
    return _Fitting(schema.get("$defs", {}), choices).fit(value, schema, "")


class _Fitting:
    def __init__(self, definitions: Mapping[str, Schema], choices: Sequence[str]) -> None:
        self._definitions, self._choices = definitions, choices

    def fit(self, value: Any, schema: Schema, name: str) -> Any:
        """Return a value of the field with this name in the spelling of its schema."""
        schema = self._resolved(schema)
        if "anyOf" in schema:
            return self._fit_variant(value, [self._resolved(each) for each in schema["anyOf"]], name)
        if "const" in schema or "enum" in schema:
            allowed = schema.get("enum", [schema.get("const")])
            if name in CHOICE_FIELDS and _is_text(value) and allowed == list(range(len(allowed))):
                return _choice(value.strip(), allowed, self._choices)
            return _one_of(value, allowed)
        match schema.get("type"):
            case "object":
                return self._fit_object(_parsed(value, dict), schema)
            case "array":
                return self._fit_list(value, schema, name)
            case "integer":
                return _integer(value)
            case "number":
                return _number(value)
            case "boolean":
                return {"true": True, "false": False}.get(value.strip().lower(), value) if _is_text(value) else value
        return value

    def _resolved(self, schema: Schema) -> Schema:
        name = schema.get("$ref", "").rpartition("/")[2]
        return self._definitions[name] if name else schema

    def _fit_object(self, value: Any, schema: Schema) -> Any:
        if not isinstance(value, dict) or "properties" not in schema:
            return value
        properties: Mapping[str, Schema] = schema["properties"]
        return {name: self.fit(value[name], part, name) for name, part in properties.items() if name in value}

    def _fit_list(self, value: Any, schema: Schema, name: str) -> Any:
        value = _parsed(value, list)
        if value is None:
            return value if schema.get("minItems", 0) else []
        items = value if isinstance(value, list) else [value]
        return [self.fit(item, schema.get("items", {}), name) for item in items]

    def _fit_variant(self, value: Any, variants: list[Schema], name: str) -> Any:
        """Fit the one variant that the value is of, by its constants; otherwise leave the value."""
        possible = [each for each in variants if each.get("type") != "null"]
        if value is None and len(possible) < len(variants):
            return None
        if len(possible) > 1:
            value = _parsed(value, dict)
            possible = [each for each in possible if isinstance(value, dict) and self._is_of(value, each)]
        return self.fit(value, possible[0], name) if len(possible) == 1 else value

    def _is_of(self, value: Mapping[str, Any], variant: Schema) -> bool:
        constants = {name: part for name, part in variant.get("properties", {}).items() if "const" in part}
        return bool(constants) and all(
            name in value and self.fit(value[name], part, name) == part["const"] for name, part in constants.items()
        )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _parsed(value: Any, kind: type) -> Any:
    """Return the object or list that a string of JSON holds; any other value as it is."""
    if _is_text(value) and value.lstrip()[:1] == ("{" if kind is dict else "["):
        try:
            inner = strict_json(value)
        except NotJson:
            return value
        return inner if isinstance(inner, kind) else value
    return value


def _choice(text: str, allowed: list[int], choices: Sequence[str]) -> Any:
    """Return the index of the choice that a text names: by index, by letter, or as it is written.

    Both may stand there, as in "B: the red car", if they name the same choice. A text that can be
    read in two ways, such as "1" where the choices are 2, 3, 1, 0, names none.
    """
    written = {index for index, choice in enumerate(choices) if choice.strip().lower() == text.lower()}
    found = (_labels(text) | written).intersection(allowed)
    if not found and (both := _LABELLED.fullmatch(text)):
        written = {index for index, choice in enumerate(choices) if choice.strip().lower() == both[2].lower()}
        found = (_labels(both[1]) & written).intersection(allowed)
    return found.pop() if len(found) == 1 else text


def _labels(text: str) -> set[Any]:
    """Return the indices of choices that a text is as a number or as a letter."""
    letter = _LETTER.fullmatch(text)
    return {_integer(text.strip("()[].:")), ord(letter[1].upper()) - ord("A") if letter else None}


def _one_of(value: Any, allowed: list[Any]) -> Any:
    """Return the one allowed value that this is; otherwise the value."""
    if isinstance(value, bool):
        return value
    if all(_is_text(each) for each in allowed):
        if not _is_text(value) or value in allowed:
            return value
        found = [each for each in allowed if each.strip().lower() == value.strip().lower()]
        return found[0] if len(found) == 1 else value
    return _integer(value)


def _integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return int(value.strip().partition(".")[0]) if _is_text(value) and _INTEGER.fullmatch(value.strip()) else value


def _number(value: Any) -> Any:
    if not _is_text(value) or not _NUMBER.fullmatch(value.strip()):
        return value
    number = float(value)
    return number if math.isfinite(number) else value
