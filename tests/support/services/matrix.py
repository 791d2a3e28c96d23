"""The matrix: services under all conditions that apply to them, and what is wrong in a cell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from atlaskit.models.errors import Unreachable
from atlaskit.models.protocol import Reply
from support.services.declare import Cell, Expected, Service
from support.services.failures import FAILURES
from support.services.gateways import GATEWAYS
from support.services.hosted import HOSTED
from support.services.local import LOCAL
from support.services.model import RIGHT
from support.services.openai import OPENAI
from support.services.replies import REPLIES
from support.services.stage import Call

SERVICES = (*OPENAI, *HOSTED, *GATEWAYS, *LOCAL)
CONDITIONS = (*REPLIES, *FAILURES)
CELLS = tuple(
    Cell(service, condition) for condition in CONDITIONS for service in SERVICES if condition.applies(service)
)
MISLEADING = ("Traceback", r"\{'", r'\{"error|\[\{"error', "<!DOCTYPE", "HttpFailure")
"""What no message may contain."""


def faults(cell: Cell, calls: list[Call]) -> list[str]:
    """Return what is wrong with the calls of a cell, in words."""
    first, second = calls
    return [*_faults_of_first(cell, first), *_faults_of_second(cell, second)]


def _faults_of_first(cell: Cell, call: Call) -> Iterator[str]:
    expected = cell.expected
    yield from _faults_of_outcome(cell.service, expected, call)
    if call.exchanges > expected.first:
        yield f"the first call took {call.exchanges} exchanges, not {expected.first}"
    least_s, most_s = expected.pause_s
    if not least_s <= call.paused_s <= most_s + 1e-6:
        yield f"the client paused for {call.paused_s:.1f} s, not {least_s:g} to {most_s:g} s"
    if expected.error is None:
        told = " ".join(call.warnings)
        yield from (f"no warning says {wanted!r}" for wanted in expected.says if not re.search(wanted, told))
        yield from (f"no warning tells of {name}" for name in call.refused if not _names(told, name))
        if call.warnings and not call.refused and not expected.may_warn and not expected.says:
            yield f"needless warning: {call.warnings[0]}"
    elif not isinstance(call.outcome, Reply):
        yield from _faults_of_message(expected, str(call.outcome))


def _faults_of_outcome(service: Service, expected: Expected, call: Call) -> Iterator[str]:
    """Yield what is wrong with a reply, or with the class and attributes of an error."""
    outcome = call.outcome
    if isinstance(outcome, Reply):
        if expected.error is not None:
            yield f"the client made an answer of it: {outcome.text}"
        elif outcome.answer.answer != RIGHT:
            yield f"the answer is {outcome.answer.answer}, not {RIGHT}"
        elif not expected.check(outcome):
            yield f"the reply is not as it should be: {outcome}"
        elif getattr(outcome, "model", None) != (named := _named(service, expected)):
            yield f"the reply does not say that {named!r} answered, but {getattr(outcome, 'model', None)!r}"
        return
    if expected.error is None:
        yield f"no answer: {type(outcome).__name__}: {outcome}"
    elif not isinstance(outcome, expected.error) or isinstance(outcome, Unreachable):
        yield f"a {type(outcome).__name__}, not a {expected.error.__name__}: {outcome}"
    if expected.status and getattr(outcome, "status", None) != expected.status:
        yield f"the error's status is {getattr(outcome, 'status', None)}, not {expected.status}"
    if expected.pause_s == (0, 0) and getattr(outcome, "is_final", False) != expected.is_final:
        yield f"the error {'does not say' if expected.is_final else 'says'} that it is final"


def _named(service: Service, expected: Expected) -> str:
    return service.answered_as if expected.answered_as is None else expected.answered_as


def _faults_of_message(expected: Expected, message: str) -> Iterator[str]:
    for wanted in expected.says:
        if not re.search(wanted, message, re.IGNORECASE):
            yield f"the message lacks {wanted!r}: {message}"
    for unwanted in (*expected.never, *MISLEADING):
        if re.search(unwanted, message, re.IGNORECASE):
            yield f"the message misleads by {unwanted!r}: {message}"


def _faults_of_second(cell: Cell, call: Call) -> Iterator[str]:
    """Yield what is wrong with the second call: it may waste no exchange on what is known."""
    expected = cell.expected
    if expected.error is not None:
        return
    if not isinstance(call.outcome, Reply):
        yield f"no second answer: {type(call.outcome).__name__}: {call.outcome}"
    elif call.outcome.answer.answer != RIGHT:
        yield f"the second answer is {call.outcome.answer.answer}, not {RIGHT}"
    if call.exchanges > expected.second:
        yield f"the second call took {call.exchanges} exchanges, not {expected.second}"
    if call.lists:
        yield "the second call requested the list of models again"
    if call.refused:
        yield f"the second call sent {', '.join(sorted(call.refused))} again"


def _names(told: str, name: str) -> bool:
    return name in told or (name == "response_format" and "schema" in told)


def table() -> str:
    """Return the matrix as a Markdown table: rows are conditions, columns are services."""
    heads = [service.title.replace(", ", " ") for service in SERVICES]
    lines = [f"| condition | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    marks = {cell.name: cell.expected.mark for cell in CELLS}
    for condition in CONDITIONS:
        row = [marks.get(f"{service.name}-{condition.name}", "") for service in SERVICES]
        lines.append(f"| {condition.title} | {' | '.join(row)} |")
    return "\n".join(lines)


def takes() -> str:
    """Return what each service takes, as a Markdown table."""
    lines = ["| service | schema | temperature | seed | length | images | thinking |", f"|{'---|' * 7}"]
    for service in SERVICES:
        facts = service.facts
        row = (service.title, facts.schema, facts.temperature, facts.seed, facts.length, facts.images, facts.thinking)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def recognized() -> str:
    """Return by what each service is recognized, as a Markdown table."""
    lines = ["| service | `dialect=` | host | at any address, by |", "|---|---|---|---|"]
    for service in SERVICES:
        host = f"`{service.host}`" if service.host else "yours"
        lines.append(f"| {service.title} | `{service.dialect}` | {host} | {service.facts.said_by} |")
    return "\n".join(lines)


def sources() -> str:
    """Return where the facts about each service come from, as a Markdown list."""
    lines = []
    for service in SERVICES:
        links = [f"<{each}>" if each.startswith("https:") and " " not in each else each for each in service.sources]
        lines += [f"* {service.title}:", *(f"    * {link}" for link in links)]
        lines += [f"    * without a source: {each}" for each in service.unsourced]
    return "\n".join(lines)


SECTIONS = {"matrix": table, "takes": takes, "recognized": recognized, "sources": sources}
"""The generated parts of docs/services.md, by the name in their markers."""
