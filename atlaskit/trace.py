"""What happened in a run, as events; saved and loaded as JSON lines.

Enough to walk through a run without a model: every round, call, action, observation (by the key of its view), change
of memory and stop. No wall-clock times: the trace of a replay is the trace of the run, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from atlaskit.cache import canonical_json
from atlaskit.errors import InputError

TRACE_VERSION = 1

KINDS = ("start", "task", "probe", "assign", "step", "report", "review", "decision", "cite", "failure", "stop")


@dataclass(frozen=True)
class Event:
    """One thing that happened. `round` counts from 1, 0 is before and after the rounds; `worker` counts from 0."""

    kind: str
    round: int = 0
    worker: int | None = None
    data: dict[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
        return (self.data or {})[name]


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
        """Write the trace as JSON lines: a line that names the version, then one an event."""
        lines = [canonical_json({"atlaskit_trace": TRACE_VERSION}), *map(canonical_json, self.to_json())]
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read what `save` wrote; raise InputError with one sentence for anything else."""
        try:
            head, *rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
            version = head.get("atlaskit_trace") if isinstance(head, dict) else None
            if version != TRACE_VERSION:
                raise InputError(f"{path} is a trace of version {version}; this atlaskit reads {TRACE_VERSION}.")
            events = tuple(Event(**row) for row in rows)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read ({error}).") from error
        except (ValueError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} is not a trace of atlaskit ({error}).") from error
        unknown = [event.kind for event in events if event.kind not in KINDS]
        if unknown:
            raise InputError(f"{path} holds an event {unknown[0]!r}, which this atlaskit does not know.")
        return cls(events)
