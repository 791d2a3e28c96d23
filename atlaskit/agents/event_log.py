"""`EventLog`: the list of events that a search appends to and that becomes its trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from atlaskit.runs.events import Event


@dataclass
class EventLog:
    """The events of a run, in the order of its trace."""

    emit: Callable[[Event], None]
    """Called with each event as it happens."""
    events: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Add an event to the trace and emit it."""
        self.events.append(event)
        self.emit(event)
