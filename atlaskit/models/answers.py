"""`find_answer`: the one answer in a completion that fits a schema, wherever the model put it.

A text that is the answer is taken as it is. Otherwise each JSON object in the text is a candidate:
in prose, fences, tags, boxes, strings, lists, or as the arguments of a tool. The one that fits is
the answer. Two that fit and differ are none: nothing is guessed. Knows nothing of servers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from atlaskit import limits
from atlaskit.errors import first_fault, printable
from atlaskit.models.completion import Completion
from atlaskit.models.http import storable
from atlaskit.models.json_text import NotJson, Span, TooMuch, coerced, json_objects, strict_json
from atlaskit.models.protocol import ParametricSchema, json_schema

MOST_WRAPPED = 4
"""Deepest nesting of wrappers in which an answer is looked for."""

NOTHING = "no JSON object"

Schema = type[BaseModel] | ParametricSchema

_ARGUMENTS = ("arguments", "parameters", "args", "input", "kwargs")
_TOOL = frozenset({"name", "type", "id", "index", "tool", "tool_name", "call_id", *_ARGUMENTS})
_SCHEMA_WORDS = frozenset(
    {"type", "title", "description", "required", "additionalProperties", "$defs", "$schema"}
)
_NAME = re.compile("Input should be '[^']*'")
_COLON = re.compile(r'"\s*:')


@dataclass(frozen=True)
class Found:
    """An answer."""

    answer: Any
    """An instance of the schema."""
    text: str
    """Its JSON. `schema.model_validate_json(text)` gives the same answer again."""


class NoAnswer(ValueError):
    """No answer fits, or more than one does. The message completes "it does not fit: …"."""


def find_answer(completion: Completion, schema: Schema, choices: Sequence[str] = ()) -> Found:
    """Return the answer in a completion.

    It is looked for in the text, then in the arguments of tools and in other choices. Only if there
    is no text, and the completion was not cut off, it is looked for in the reasoning.

    Args:
        completion: What the model wrote.
        schema: What the answer must fit.
        choices: The texts of the choices, where the question offers some.

    Raises:
        NoAnswer: If no answer is found. Its message can be sent to the model.
    """
    try:
        answer = schema.model_validate_json(completion.text)
    except ValidationError as error:
        fault = _words(error)
    else:
        _check_fields(completion.text, answer)
        return Found(answer, completion.text)
    try:
        if completion.text.strip():
            return _search_texts((completion.text, *completion.others), schema, choices, fault)
        return _search_thought(completion, schema, choices)
    except NoAnswer as error:
        if completion.is_cut_off:
            raise NoAnswer(
                f"{error} (it was cut off after {completion.usage.completion_tokens} tokens)"
            ) from error
        raise


def _search_texts(
    texts: Sequence[str], schema: Schema, choices: Sequence[str], fault: str
) -> Found:
    """Return the answer in the first text that has one; else raise the fault of the first text."""
    problems = list[NoAnswer]()
    for text in texts:
        try:
            return _search(text, schema, choices, fault)
        except NoAnswer as error:
            problems.append(error)
    raise problems[0]


def _check_fields(text: str, answer: BaseModel) -> None:
    """Raise NoAnswer if a text that fits gives a field two values: pydantic takes the last one.

    The text is parsed again only if it has more fields than the answer.
    """
    if len(_COLON.findall(text)) > answer.model_dump_json().count('":'):
        try:
            strict_json(text)
        except NotJson as error:
            raise NoAnswer(str(error)) from error


def _search_thought(completion: Completion, schema: Schema, choices: Sequence[str]) -> Found:
    """Return the one answer in the reasoning of a completion without text.

    Reasoning that was cut off holds drafts, and no answer.
    """
    if not completion.reasoning.strip():
        raise NoAnswer("it is empty")
    if completion.is_cut_off:
        raise NoAnswer("there is no answer after the thought")
    try:
        return _search(completion.reasoning, schema, choices, NOTHING)
    except NoAnswer as error:
        raise NoAnswer(
            f"there is no answer after the thought, and in the thought: {error}"
        ) from error


def _search(text: str, schema: Schema, choices: Sequence[str], fault: str) -> Found:
    """Return the one answer in a text.

    Args:
        text: The text.
        schema: What the answer must fit.
        choices: The texts of the choices.
        fault: What is wrong with the text as a whole.

    Raises:
        NoAnswer: If there is none, or more than one.
    """
    if len(text) > limits.TEXT:
        raise NoAnswer(limits.too_long("it is a text", limits.TEXT))
    shape = json_schema(schema)
    try:
        spans = list(json_objects(text))
    except TooMuch as error:
        raise NoAnswer(str(error)) from error
    answers = dict[str, Found]()
    faults = dict[str, None]()
    for span in spans:
        try:
            candidate = _read(span, schema, shape, choices)
            answers.setdefault(candidate.answer.model_dump_json(), candidate)
        except NoAnswer as error:
            faults[str(error)] = None
    if len(answers) == 1:
        return next(iter(answers.values()))
    if answers:
        raise NoAnswer(f"it holds {len(answers)} different answers")
    if len(faults) == 1:
        raise NoAnswer(next(iter(faults)))
    if faults:
        raise NoAnswer(f"none of its {len(spans)} JSON objects fits")
    raise NoAnswer(NOTHING if fault.startswith("Invalid JSON") else fault)


def _read(span: Span, schema: Schema, shape: Mapping[str, Any], choices: Sequence[str]) -> Found:
    """Return the answer that an object is, or that it wraps; otherwise raise NoAnswer."""
    if span.value is None:
        raise NoAnswer(span.fault)
    try:
        return Found(schema.model_validate_json(span.text), span.text)
    except ValidationError:
        pass
    problem = ""
    for value in _layers(span.value, shape):
        try:
            text = storable(json.dumps(coerced(value, shape, choices), ensure_ascii=False))
            return Found(schema.model_validate_json(text), text)
        except ValidationError as error:
            is_nearer = (
                isinstance(value, dict) and value.keys() & shape.get("properties", {}).keys()
            )
            if is_nearer or not problem:
                problem = _words(error)
        except RecursionError as error:
            raise NoAnswer("it is nested too deeply") from error
    raise NoAnswer(problem)


def _layers(value: dict[str, Any], shape: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an object, and what it wraps if it is a wrapper, from outside to inside."""
    fields = shape.get("properties", {}).keys()
    for _ in range(MOST_WRAPPED):
        yield value
        if value.keys() & fields:
            return
        inner = _object(_content(value))
        if inner is None:
            return
        value = inner


def _content(value: dict[str, Any]) -> Any:
    """Return what an object wraps: its only value, a tool's arguments, or a schema's properties."""
    if len(value) == 1:
        return next(iter(value.values()))
    if "function" in value and value.keys() <= _TOOL | {"function"}:
        return value["function"]
    named = [name for name in _ARGUMENTS if name in value]
    if len(named) == 1 and value.keys() <= _TOOL:
        return value[named[0]]
    if "properties" in value and value.keys() <= _SCHEMA_WORDS | {"properties"}:
        return value["properties"]
    return None


def _object(value: Any) -> dict[str, Any] | None:
    """Return the object that a value is, or holds as a list of one or as a string of JSON."""
    if isinstance(value, str) and len(value) <= limits.TEXT and value.lstrip()[:1] in ("{", "["):
        try:
            value = strict_json(value)
        except NotJson:
            return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, dict) else None


def _words(error: ValidationError) -> str:
    """Return what is wrong with an answer, in the words that the model is sent.

    If a field has several forms, as an action has, the faults of the form that the answer names
    count. If it names none, all names are listed: the first form's fault would mislead.
    """
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    names = [
        each for each in faults if each["type"] == "literal_error" and _NAME.fullmatch(each["msg"])
    ]
    if not names:
        where, what = first_fault(error)
        return f"{what} at {where}" if where else what
    others = {each["loc"][:-1] for each in names}
    named = [each for each in faults if others.isdisjoint(_ancestors(each["loc"]))]
    fault = (named or names)[0]
    place = fault["loc"]
    what = fault["msg"]
    if not named and len(names) > 1:
        expected = dict.fromkeys(each["msg"].partition("be ")[2] for each in names)
        what = f"Input should be {' or '.join(expected)}"
        place = (*place[:-2], place[-1])
    return f"{what} at {printable('.'.join(map(str, place)), 80)}"


def _ancestors(place: tuple[int | str, ...]) -> list[tuple[int | str, ...]]:
    """Return a place in an answer, and all that hold it."""
    return [place[:depth] for depth in range(len(place) + 1)]
