"""JSON as models write it: found in their texts, repaired, and fitted to a schema.

Contents:
    `json_objects`, `strict_json`: the objects in a text. A reply may hold its object in prose,
        fences, tags or a string, and may write it as Python or JavaScript does. A spelling is
        repaired only if it can be read in exactly one way; an object that gives a field two values
        cannot. The text is untrusted: the work is bounded by its length.
    `coerced`: a value in the spelling that a JSON Schema wants. Models without a grammar write "3"
        for 3, "B" for the second choice, one value for a list of one. Nothing is invented: a value
        that cannot be read in exactly one way stays as it is, and so does not fit.

This module knows JSON Schema as pydantic writes it, and nothing of prompts.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_TRIED = 2_000
"""Most opening braces of a text at which an object is tried."""
MOST_PASSES = 8
"""Most characters that failed attempts read in all, as a multiple of the text's length."""
MOST_READ = 1_300_000
"""Most characters that failed attempts read in all, however long the text is."""
MOST_REPAIRED = 100_000
"""Most characters of an object that is repaired."""

_STRINGS = r"""(?P<double>"(?:[^"\\]|\\.)*+"?)|(?P<single>'(?:[^'\\\n]|\\.)*+')"""
"""A string in double quotes, which may never be closed, or one in single quotes, on one line."""
_COMMENT = r"(?://[^\n]*|/\*.*?(?:\*/|\Z)|(?<!&)\#[^\n]*)"
"""A comment of JavaScript or Python. The # of an HTML entity such as &#34; begins none."""
_ESCAPES = r"\\++[\"']?"
"""Backslashes outside of a string, and a quote after them, which begins no string."""
_STRUCTURE = re.compile(rf"{_ESCAPES}|{_STRINGS}|{_COMMENT}|(?P<brace>[{{}}])", re.DOTALL)
"""A brace, or a part of a text whose braces do not count: a string or a comment."""
_TOKEN = re.compile(
    rf"{_ESCAPES}|{_STRINGS}|(?P<comment>{_COMMENT})"
    rf"|(?P<trailing_comma>,(?=(?:\s|{_COMMENT})*+[}}\]]))"
    r"|(?P<key>[A-Za-z_]\w*(?=\s*:))|(?P<word>\w+)",
    re.DOTALL,
)
"""A token that Python or JavaScript may write otherwise than JSON."""
_QUOTE = re.compile(r'\\(.)|"', re.DOTALL)
"""An escaped character, or a double quote."""
_ENTITIES = ("&quot;", "&#34;", "&#x22;", "&#39;", "&apos;")
_CURLY = str.maketrans(dict.fromkeys("“”„", '"'))
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_KEY = re.compile(r"""\{\s*["'“][^"'“”\n]{1,80}["'”]\s*:""")
"""The beginning of an object with its first key: meant as JSON, even if it cannot be read."""
_ESCAPED = re.compile(r'\{\s*\\+"')
"""The beginning of an object whose quotes are escaped, as if it were in a string."""
_GEMMA = re.compile(r'<\|"\|>(.*?)<\|"\|>', re.DOTALL)
"""Gemma 4 writes strings in its own quotes where its grammar is off."""


class NotJson(ValueError):
    """A text that is no JSON, or that can be read in two ways. The message says why."""


class TooMuch(ValueError):
    """A text with so many braces that the search was given up."""


@dataclass(frozen=True)
class Span:
    """An object in a text, from its opening to its closing brace."""

    start: int
    end: int
    text: str
    """The object as it is written."""
    value: dict[str, Any] | None
    """The object; None if it cannot be read."""
    fault: str = ""
    """Why it is no JSON as it is written, even if it was repaired; "" if it is."""


def strict_json(text: str) -> Any:
    """Parse JSON, raw control characters in its strings included.

    A grammar with `maxLength` lets a model write them (mlc-ai/xgrammar#800).

    Raises:
        NotJson: If it is not JSON, has NaN or Infinity, nests too deeply, or gives a field two
            values.
    """
    try:
        return _DECODER.decode(text)
    except NotJson:
        raise
    except (ValueError, RecursionError) as error:
        raise NotJson(_reason(error)) from error


def json_objects(text: str) -> Iterator[Span]:
    """Yield the outermost objects of a text in order, each with its place.

    An object that has a key but no closing brace ends the search: none inside it is an answer.

    Raises:
        TooMuch: If the search takes too long.
    """
    most_read = min(MOST_PASSES * (len(text) + 1_000), MOST_READ)
    read = 0
    tried = 0
    place = text.find("{")
    while place >= 0:
        span, end, failed = _object_at(text, place)
        read += failed + 1
        tried += 1
        if read > most_read or tried > MOST_TRIED:
            raise TooMuch("it has too many braces to be searched for a JSON object")
        if span:
            yield span
        place = text.find("{", end)


def _object_at(text: str, place: int) -> tuple[Span | None, int, int]:
    """Try to read an object from its opening brace on.

    Returns:
        The object or None, where the search goes on, and how many characters were read in vain.
    """
    try:
        value, end = _DECODER.raw_decode(text, place)
        return Span(place, end, text[place:end], value), end, 0
    except json.JSONDecodeError as error:
        failed = error.pos - place
        fault = _reason(error)
    except (ValueError, RecursionError) as error:
        failed = len(text) - place
        fault = _reason(error)
    closing = _closing(text, place)
    end = closing or len(text)
    part = text[place:end]
    failed += len(part)
    value = _repaired(part) if closing else None
    if value is not None or _KEY.match(part):
        return Span(place, end, part, value, fault), end, failed
    # The answer may be inside of {{...}} of a template, \boxed{{...}} and \boxed{\{...\}}, and
    # behind a brace that is never closed.
    opens_twice = part[1:].lstrip().removeprefix("\\").startswith("{")
    if not closing or (opens_twice and part[:-1].rstrip().endswith("}")):
        end = place + 1
    return None, end, failed


def _closing(text: str, place: int) -> int | None:
    """Return the end of the braces that open here; None if they are not closed."""
    depth = 0
    for token in _STRUCTURE.finditer(text, place):
        if token["brace"]:
            depth += 1 if token["brace"] == "{" else -1
            if depth == 0:
                return token.end()
    return None


def _repaired(part: str) -> dict[str, Any] | None:
    """Return an object that is almost JSON; None if it cannot be read in exactly one way."""
    if len(part) > MOST_REPAIRED:
        return None
    try:
        if _ESCAPED.match(part):
            part = strict_json(f'"{part}"')
        if '"' not in part and any(mark in part for mark in _ENTITIES):
            part = html.unescape(part).translate(_CURLY)
        elif '"' not in part:
            part = part.translate(_CURLY)
        if part.endswith("\\}"):
            part = part.replace("\\{", "{").replace("\\}", "}").replace("\\_", "_")
        part = _GEMMA.sub(lambda found: json.dumps(found[1]), part)
        value = strict_json(_TOKEN.sub(_in_json, part))
    except ValueError:  # by strict_json, or by html.unescape for an entity of a thousand digits
        return None
    return value if isinstance(value, dict) else None


def _in_json(token: re.Match[str]) -> str:
    """Return a token of Python or JavaScript as JSON writes it."""
    match token.lastgroup:
        case "single":
            return '"' + _QUOTE.sub(_in_double_quotes, token[0][1:-1]) + '"'
        case "comment" | "trailing_comma":
            return " "
        case "key":
            return json.dumps(token[0])
        case "word":
            return _PYTHON.get(token[0], token[0])
    return token[0]


def _in_double_quotes(token: re.Match[str]) -> str:
    """Return a `_QUOTE` of a string in single quotes as it is written in double quotes."""
    if token[1] == "'":
        return "'"
    return token[0] if token[1] else '\\"'


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of these fields; raise NotJson if a field has two values."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields and fields[name] != value:
            raise NotJson(f"the field {name[:40]!r} has two values")
        fields[name] = value
    return fields


def _no_number(word: str) -> Any:
    """Reject NaN and Infinity, which `json` accepts."""
    raise NotJson(f"{word} is not a number")


def _finite(digits: str) -> float:
    """Return a number; raise NotJson if a float cannot hold it."""
    number = float(digits)
    if math.isinf(number):
        raise NotJson(f"{digits[:20]} is too large a number")
    return number


def _reason(error: BaseException) -> str:
    """Return why a text is no JSON."""
    if isinstance(error, json.JSONDecodeError):
        return f"Invalid JSON: {error.msg} at line {error.lineno} column {error.colno}"
    if isinstance(error, NotJson):
        return str(error)
    return "Invalid JSON: it is nested too deeply or has a huge number"


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_number
)


CHOICE_FIELDS = frozenset({"answer", "choice"})
"""Fields that hold the index of a choice, if their schema lists the indices from 0."""

Schema = Mapping[str, Any]

_INTEGER = re.compile(r"[+-]?\d{1,15}(?:\.0*)?")
_LETTER = re.compile(r"(?:option |choice |answer )?[(\[]?([a-z])[)\]]?[.:]?", re.IGNORECASE)
_LABELLED = re.compile(
    r"((?:option |choice |answer )?[(\[]?(?:[a-z]|\d{1,3})[)\].:]{1,2})\s*+(.+)", re.IGNORECASE
)
"""A choice's letter or number, and its text behind it."""


def coerced(value: Any, schema: Schema, choices: Sequence[str] = ()) -> Any:
    """Return a parsed JSON value in the spelling that a schema wants.

    Args:
        value: The value. Fields that the schema does not know are left out of its objects.
        schema: The JSON Schema, with its definitions in "$defs".
        choices: The texts of the choices by their index, for a field that holds an index.
    """
    return _Fitting(schema.get("$defs", {}), choices).fit(value, schema, "")


class _Fitting:
    """Fits the values of one answer to a schema."""

    def __init__(self, definitions: Mapping[str, Schema], choices: Sequence[str]) -> None:
        self._definitions = definitions
        self._choices = choices

    def fit(self, value: Any, schema: Schema, name: str) -> Any:
        """Return a value in the spelling of its schema; `name` is that of its field."""
        schema = self._resolved(schema)
        if "anyOf" in schema:
            return self._fit_variant(
                value, [self._resolved(each) for each in schema["anyOf"]], name
            )
        if "const" in schema or "enum" in schema:
            allowed = schema.get("enum", [schema.get("const")])
            are_indices = allowed == list(range(len(allowed)))
            if name in CHOICE_FIELDS and isinstance(value, str) and are_indices:
                return _choice(value.strip(), allowed, self._choices)
            return _one_of(value, allowed)
        match schema.get("type"):
            case "object":
                return self._fit_object(_parsed(value, dict), schema)
            case "array":
                return self._fit_list(value, schema, name)
        return value  # pydantic itself reads a number or a boolean from a string

    def _resolved(self, schema: Schema) -> Schema:
        """Return a schema, or the definition that it refers to."""
        name = schema.get("$ref", "").rpartition("/")[2]
        return self._definitions[name] if name else schema

    def _fit_object(self, value: Any, schema: Schema) -> Any:
        """Fit each field of an object that the schema has, and leave out the others."""
        if not isinstance(value, dict) or "properties" not in schema:
            return value
        properties: Mapping[str, Schema] = schema["properties"]
        return {
            name: self.fit(value[name], part, name)
            for name, part in properties.items()
            if name in value
        }

    def _fit_list(self, value: Any, schema: Schema, name: str) -> Any:
        """Fit each item of a list; a single value becomes a list of one."""
        value = _parsed(value, list)
        if value is None:  # null stands for an empty list where one is allowed
            return value if schema.get("minItems", 0) else []
        items = value if isinstance(value, list) else [value]
        return [self.fit(item, schema.get("items", {}), name) for item in items]

    def _fit_variant(self, value: Any, variants: list[Schema], name: str) -> Any:
        """Fit a value to the only variant beside null, or to the one whose constants it has.

        If there is no such variant, return the value as it is.
        """
        possible = [each for each in variants if each.get("type") != "null"]
        if value is None and len(possible) < len(variants):
            return None
        if len(possible) > 1:
            value = _parsed(value, dict)
            possible = [
                each for each in possible if isinstance(value, dict) and self._is_of(value, each)
            ]
        return self.fit(value, possible[0], name) if len(possible) == 1 else value

    def _is_of(self, value: Mapping[str, Any], variant: Schema) -> bool:
        """Return whether an object has the constants of a variant, such as an action's name."""
        constants = {
            name: part for name, part in variant.get("properties", {}).items() if "const" in part
        }
        return bool(constants) and all(
            name in value and self.fit(value[name], part, name) == part["const"]
            for name, part in constants.items()
        )


def _parsed(value: Any, kind: type) -> Any:
    """Return the object or list that a string of JSON holds; any other value as it is."""
    opening = "{" if kind is dict else "["
    if not isinstance(value, str) or not value.lstrip().startswith(opening):
        return value
    try:
        inner = strict_json(value)
    except NotJson:
        return value
    return inner if isinstance(inner, kind) else value


def _choice(text: str, allowed: list[int], choices: Sequence[str]) -> Any:
    """Return the index of the choice that a text names by index, by letter or by its own text.

    A label and a text may stand together, as in "B: the red car", if they name the same choice. If
    the text names two choices or none, it is returned as it is: "1" may be the index 1, or the text
    of the third of the choices 2, 3, 1, 0.
    """
    matches = (_labels(text) | _places(text, choices)).intersection(allowed)
    labelled = _LABELLED.fullmatch(text)
    if not matches and labelled:
        matches = (_labels(labelled[1]) & _places(labelled[2], choices)).intersection(allowed)
    return matches.pop() if len(matches) == 1 else text


def _places(text: str, choices: Sequence[str]) -> set[Any]:
    """Return the indices of the choices whose text this is, in small or capital letters."""
    words = text.lower()
    return {index for index, choice in enumerate(choices) if choice.strip().lower() == words}


def _labels(text: str) -> set[Any]:
    """Return the index that a text gives as a number, and the one that it gives as a letter.

    If the text is no number, the set contains the text itself, which equals no index.
    """
    letter = _LETTER.fullmatch(text)
    indices = {_integer(text.strip("()[].:"))}
    if letter:
        indices.add(ord(letter[1].upper()) - ord("A"))
    return indices


def _one_of(value: Any, allowed: list[Any]) -> Any:
    """Return the one allowed value that a value spells; otherwise the value itself.

    Where numbers are allowed, any whole number becomes an integer, also one that is not allowed.
    """
    if isinstance(value, bool):
        return value
    if not all(isinstance(each, str) for each in allowed):
        return _integer(value)
    if not isinstance(value, str) or value in allowed:
        return value
    matches = [each for each in allowed if each.strip().lower() == value.strip().lower()]
    return matches[0] if len(matches) == 1 else value


def _integer(value: Any) -> Any:
    """Return a whole number as an integer, also from a string; any other value as it is."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    return value
