"""A run as its events: saved and loaded as JSON lines (docs/trace.md).

Untrusted: a trace may come from a stranger. It is read as data, and what is not of a known form is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from atlaskit.cache import canonical_json
from atlaskit.errors import InputError
from atlaskit.events import FORMS, Event

TRACE_VERSION = 2


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
        """Return the events as plain JSON values."""
        return [asdict(event) for event in self.events]

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
        """Read what `save` wrote; raise InputError with one sentence for anything else."""
        try:
            lines = Path(path).read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read ({error}).") from error
        head, *rows = [_parsed(path, number, line) for number, line in enumerate(lines, 1) if line.strip()] or [None]
        version = head.get("atlaskit_trace") if isinstance(head, dict) else None
        if version != TRACE_VERSION:
            raise InputError(f"{path} is a trace of version {version}; this atlaskit reads {TRACE_VERSION}.")
        return cls(tuple(_event(path, number, row) for number, row in enumerate(rows, 2)))


def _parsed(path: str | Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a trace of atlaskit: line {number} is no JSON ({error}).") from error


def _event(path: str | Path, number: int, row: Any) -> Event:
    """Read one event; raise InputError for one of an unknown kind or form."""
    where = f"{path}, line {number},"
    if not isinstance(row, dict) or row.keys() != {"kind", "round", "worker", "data"}:
        raise InputError(f"{where} is no event of atlaskit: {str(row)[:80]!r}.")
    kind, worker = row["kind"], row["worker"]
    if not isinstance(kind, str) or kind not in FORMS:
        raise InputError(f"{where} holds an event {str(kind)[:40]!r}, which this atlaskit does not know.")
    if type(row["round"]) is not int or not (worker is None or type(worker) is int):
        raise InputError(f"{where} names its round or worker by something other than a number.")
    try:
        FORMS[kind].model_validate(row["data"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "data"
        raise InputError(f"{where} is no event {kind!r} that this atlaskit knows: {field}: {first['msg']}.") from error
    return Event(**row)
