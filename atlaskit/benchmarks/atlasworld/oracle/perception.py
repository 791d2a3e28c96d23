"""`Perception`: which wanted events the oracle recognises in a view, a cell, a frame or
evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from atlaskit.benchmarks.atlasworld.oracle.chances import Chances
from atlaskit.benchmarks.atlasworld.timeline import WorldEvent
from atlaskit.benchmarks.atlasworld.world import World
from atlaskit.environment.grid import Cell
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Question
from atlaskit.environment.render import View


class HasInterval(Protocol):
    """An interval of the video: a cell, a region or a gap."""

    @property
    def start_s(self) -> float:
        """Start in seconds."""

    @property
    def end_s(self) -> float:
        """End in seconds, exclusive."""


@dataclass(frozen=True)
class Perception:
    """A world as the oracle perceives it, with the mistakes that `chances` decides."""

    world: World
    chances: Chances

    def truth(self, question: Question) -> Question:
        """Return the world's own question with this text; raise InputError if there is none."""
        return self.world.question(question.text)

    def targets(self, question: Question) -> list[WorldEvent]:
        """Return the wanted events (those that hold the evidence), the deciding one first."""
        return self.world.targets(self.truth(question))

    def missing(self, question: Question, pad: Scratchpad) -> list[WorldEvent]:
        """Return the wanted events that no frame in the scratchpad shows."""
        return [event for event in self.targets(question) if not is_in_evidence(event, pad)]

    def evidence(self, question: Question, pad: Scratchpad) -> dict[str, list[str]]:
        """Return the labels of each wanted event's evidence, by event id, in order of time."""
        events = sorted(self.targets(question), key=lambda event: event.start_s)
        labels = {event.id: [item.label for item in pad if contains(event, item.timestamp_s)] for event in events}
        return {id: of_event for id, of_event in labels.items() if of_event}

    def recognised(
        self,
        question: Question,
        view: View,
        cells: Iterable[int],
        missing: list[WorldEvent],
        pad: Scratchpad = Scratchpad(),
    ) -> dict[str, list[int]]:
        """Return the cells whose frames show events that the oracle takes for wanted ones.

        Args:
            question: The question.
            view: The view it looks at.
            cells: Indices of the cells it looks at.
            missing: The wanted events that are not in the evidence yet.
            pad: Evidence so far. An event that was mistaken for a wanted one, and is in it, does
                not count again.

        Returns:
            Cells in order, by event id; an id may belong to an event mistaken for a wanted one.
        """
        recognised: dict[str, list[int]] = {}
        grid, moments, targets = view.grid, view.moments, self.targets(question)
        for cell in cells:
            event = self.world.script.event_at(moments[cell])
            if event is None or not missing or is_in_evidence(event, pad):
                continue
            matter = event.id, grid.start_s, grid.end_s
            if event not in targets:
                is_recognised = self.chances.confuses(question, "confuse", *matter)
            else:
                is_recognised = event in missing and not self.chances.misses(question, "miss", *matter)
            if is_recognised:
                recognised.setdefault(event.id, []).append(cell)
        return recognised

    def promise(self, question: Question, cell: Cell, missing: Iterable[WorldEvent]) -> float:
        """Return the largest share, in [0, 1], of a missing event that it suspects in a cell."""
        shares = [
            share(event, cell)
            for event in missing
            if share(event, cell)
            and not self.chances.misses(question, "miss region", event.id, cell.start_s, cell.end_s)
        ]
        return max(shares, default=0.0)


def describe(event: WorldEvent) -> str:
    """Return the oracle's description of an event; its id makes it unambiguous."""
    return f"{event.name} is on screen ({event.id})"


def share(event: WorldEvent, interval: HasInterval) -> float:
    """Return the part of an event that lies in an interval, in [0, 1]."""
    overlap = min(event.end_s, interval.end_s) - max(event.start_s, interval.start_s)
    return max(0.0, overlap) / (event.end_s - event.start_s)


def overlaps(event: WorldEvent, interval: HasInterval) -> bool:
    """Return whether an event and an interval have time in common."""
    return event.start_s < interval.end_s and interval.start_s < event.end_s


def contains(event: WorldEvent, time_s: float) -> bool:
    """Return whether an event is visible at a time."""
    return event.start_s <= time_s < event.end_s


def is_in_evidence(event: WorldEvent, pad: Scratchpad) -> bool:
    """Return whether a frame in the scratchpad shows an event."""
    return any(contains(event, item.timestamp_s) for item in pad)


Replies: TypeAlias = Mapping[type, Callable[[Perception, Any], dict[str, Any]]]
"""The function that answers each call, by the call's class."""
