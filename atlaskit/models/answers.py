"""`find_answer`: the one answer in a completion that fits a schema, wherever the model put it.

A text that fits as a whole is the answer. Otherwise each JSON object in the text is a candidate:
in prose, fences, tags, boxes, strings, lists, or as the arguments of a tool. The candidate that
fits is the answer. If different candidates fit, there is no answer: nothing is guessed. This module
knows nothing of servers.
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
"""Most objects that are tried as the answer, each one wrapped in the one before."""

NOTHING = "no JSON object"
"""What is wrong with a text without candidates."""

Schema = type[BaseModel] | ParametricSchema

_ARGUMENTS = ("arguments", "parameters", "args", "input", "kwargs")
"""Fields of a tool call that may hold its arguments."""
_TOOL = frozenset({"name", "type", "id", "index", "tool", "tool_name", "call_id", *_ARGUMENTS})
"""All fields of a tool call."""
_SCHEMA_WORDS = frozenset(
    {"type", "title", "description", "required", "additionalProperties", "$defs", "$schema"}
)
"""Fields of a JSON Schema beside its properties. Some models fill in the schema itself."""
_NAME = re.compile("Input should be '[^']*'")
"""Pydantic's error for a field that allows one value only, such as the name of an action."""
_COLON = re.compile(r'"\s*:')


@dataclass(frozen=True)
class Found:
    """An answer that fits the schema, and its text."""

    answer: Any
    """An instance of the schema."""
    text: str
    """The answer as JSON: `schema.model_validate_json(text)` returns it again."""


class NoAnswer(ValueError):
    """No answer fits, or more than one does. The message completes "it does not fit: …"."""


def find_answer(completion: Completion, schema: Schema, choices: Sequence[str] = ()) -> Found:
    """Return the answer in a completion.

    The text is searched first, then the arguments of tool calls and the endpoint's other
    completions. The reasoning is searched only if there is no text and nothing was cut off.

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
        # Without a text there are no others: see `read_completion`.
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
    """Raise NoAnswer if a text gives a field two values, of which pydantic would take the last.

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
        NoAnswer: If no candidate fits, or different ones do.
    """
    if len(text) > limits.TEXT:
        raise NoAnswer(limits.too_long("it is a text", limits.TEXT))
    shape = json_schema(schema)
    try:
        spans = list(json_objects(text))
    except TooMuch as error:
        raise NoAnswer(str(error)) from error
    answers = dict[str, Found]()
    faults = set[str]()
    for span in spans:
        try:
            candidate = _read(span, schema, shape, choices)
            answers.setdefault(candidate.answer.model_dump_json(), candidate)
        except NoAnswer as error:
            faults.add(str(error))
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
    """Return an object as the answer, or the answer that it wraps; raise NoAnswer if neither fits.

    Args:
        span: The object.
        schema: What the answer must fit.
        shape: The same as JSON Schema.
        choices: The texts of the choices.
    """
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
            # A layer with fields of the schema says more of the fault than the wrapper around it.
            has_fields = value.keys() & shape.get("properties", {}).keys()
            if has_fields or not problem:
                problem = _words(error)
        except RecursionError as error:
            raise NoAnswer("it is nested too deeply") from error
    raise NoAnswer(problem)


def _layers(value: dict[str, Any], shape: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an object, then the object that it wraps, and so on inwards."""
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
    """Return a value as an object: itself, the only item of a list, or parsed from a string."""
    if isinstance(value, str) and len(value) <= limits.TEXT and value.lstrip()[:1] in ("{", "["):
        try:
            value = strict_json(value)
        except NotJson:
            return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, dict) else None


def _words(error: ValidationError) -> str:
    """Return what is wrong with an answer, in words that can be sent to the model.

    If a field allows several forms, as an action does, pydantic lists the faults of each form. Here
    only the faults of the form that the answer names count. If the answer names none of the forms,
    their names are listed: the fault of the first form would mislead.
    """
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    wrong_names = [
        each for each in faults if each["type"] == "literal_error" and _NAME.fullmatch(each["msg"])
    ]
    if not wrong_names:
        where, what = first_fault(error)
        return f"{what} at {where}" if where else what
    # The places of the forms whose name the answer does not have.
    other_forms = {each["loc"][:-1] for each in wrong_names}
    own_faults = [each for each in faults if other_forms.isdisjoint(_ancestors(each["loc"]))]
    fault = own_faults[0] if own_faults else wrong_names[0]
    place = fault["loc"]
    what = fault["msg"]
    if not own_faults and len(wrong_names) > 1:
        expected = dict.fromkeys(each["msg"].partition("be ")[2] for each in wrong_names)
        what = f"Input should be {' or '.join(expected)}"
        place = (*place[:-2], place[-1])  # without the form, which comes before the name's field
    return f"{what} at {printable('.'.join(map(str, place)), 80)}"


def _ancestors(place: tuple[int | str, ...]) -> list[tuple[int | str, ...]]:
    """Return the places in an answer that contain a place, the outermost first and itself last."""
    return [place[:depth] for depth in range(len(place) + 1)]
