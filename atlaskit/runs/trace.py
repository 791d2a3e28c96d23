"""A run as its events: saved and loaded as JSON lines (docs/trace.md).

Untrusted: a trace may come from a stranger. It is read as data, and what is not of a known form is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from atlaskit.caching.keys import canonical_json
from atlaskit.errors import InputError, reason
from atlaskit.runs.events import FORMS, Event, data_of

TRACE_VERSION = 2
DEEPEST = 32
"""Levels of lists and objects in one event; more are no event of ours, and could be too many to look through."""


@dataclass(frozen=True)
class Trace:
    """The events of a run: in order, and for workers that ran at once, worker by worker."""

    events: tuple[Event, ...] = ()

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def of(self, kind: str) -> tuple[Event, ...]:
        """Return the events of one kind."""
        return tuple(event for event in self.events if event.kind == kind)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the events as plain JSON values. What happened is in them as it is in the events, not copied."""
        return [vars(event).copy() for event in self.events]

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON lines: a line that names the version, then one an event.

        Raises InputError where it cannot be written.
        """
        lines = [canonical_json({"atlaskit_trace": TRACE_VERSION}), *map(canonical_json, self.to_json())]
        try:
            Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from error

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read what `save` wrote; raise InputError with one sentence, which names file and line, for anything else."""
        try:
            lines = Path(path).read_bytes().split(b"\n")
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {reason(error)}.") from error
        rows = ((f"{path}, line {number}", line) for number, line in enumerate(lines, 1) if line.strip())
        _check_head(*next(rows, (f"{path}, line 1", b"null")))
        return cls(tuple(_event(where, parsed(where, line)) for where, line in rows))

    @classmethod
    def of_rows(cls, where: str, rows: Any) -> Trace:
        """Read what `to_json` returned; raise InputError with one sentence, which says `where`, for anything else."""
        if not isinstance(rows, list):
            raise InputError(f"{where} holds no trace: a trace is a list of events.")
        return cls(tuple(_event(f"{where}, event {number}", row) for number, row in enumerate(rows)))


def schema() -> dict[str, Any]:
    """Return the JSON Schema of an event's line: docs/trace.schema.json."""
    titled, definitions = models_json_schema(
        [(form, "validation") for form in FORMS.values()], schema_generator=_Untitled
    )
    lines = [_line_schema(kind, titled[form, "validation"]) for kind, form in FORMS.items()]
    about = {"$schema": GenerateJsonSchema.schema_dialect, "title": f"An event of an atlaskit trace, v{TRACE_VERSION}"}
    return {**about, "oneOf": lines, **definitions}


def _line_schema(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    fields = {
        "kind": {"const": kind},
        "round": {"type": "integer", "minimum": 0},
        "worker": {"type": ["integer", "null"], "minimum": 0},
        "data": data,
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


class _Untitled(GenerateJsonSchema):
    """Leaves out titles that only say a field's name again."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _check_head(where: str, line: bytes) -> None:
    """Raise InputError where the first line does not name the version that is read here."""
    head = parsed(where, line)
    if not isinstance(head, dict) or type(head.get("atlaskit_trace")) is not int:
        raise InputError(f"{where}, names no version, so this is not a trace of atlaskit.")
    if head["atlaskit_trace"] != TRACE_VERSION:
        found = str(head["atlaskit_trace"])[:40]
        raise InputError(f"{where}, names a trace of version {found}; this atlaskit reads version {TRACE_VERSION}.")
    if len(head) > 1:
        raise InputError(f"{where}, says more than the version, which this atlaskit does not know.")


def parsed(where: str, line: bytes) -> Any:
    """Return a line's JSON value; raise InputError for one that is none, or that could not be written again."""
    try:
        value = json.loads(line.decode("utf-8"))
        canonical_json(value).encode("utf-8")  # refuses NaN, numbers beyond measure, and halves of letters
    except (ValueError, RecursionError) as error:
        why = f"{error.msg}: column {error.colno}" if isinstance(error, json.JSONDecodeError) else reason(error)
        raise InputError(f"{where}, is no JSON, so this is not a trace of atlaskit ({why}).") from error
    if _is_deep(value):
        raise InputError(f"{where}, is nested in more than {DEEPEST} levels, so this is not a trace of atlaskit.")
    return value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        holders = [held.values() if isinstance(held, dict) else held for held in level if isinstance(held, dict | list)]
        level = [held for holder in holders for held in holder]
    return bool(level)


def _event(where: str, row: Any) -> Event:
    """Read one event; raise InputError for one of an unknown kind or form."""
    if not isinstance(row, dict) or row.keys() != {"kind", "round", "worker", "data"}:
        raise InputError(f"{where}, is no event of atlaskit: {str(row)[:80]!r}.")
    if not isinstance(row["kind"], str):
        raise InputError(f"{where}, names its kind by something other than words: {str(row['kind'])[:40]!r}.")
    counts = [row["round"]] if row["worker"] is None else [row["round"], row["worker"]]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise InputError(f"{where}, names its round or its worker by something other than a number from 0.")
    event = Event(**row)
    try:
        data_of(event)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    return event
