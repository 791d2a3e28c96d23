"""`Askable`: which events, scenes and lines of a script are unique, so that questions may name
them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from atlasworld.timeline import COLOURS, Scene, Script, SpokenLine, WorldEvent


@dataclass(frozen=True)
class Askable:
    """A script and those of its events that questions may ask about.

    "Unique" always means unique in the whole script, not only among `events`.
    """

    script: Script
    events: tuple[WorldEvent, ...]

    @cached_property
    def appearances(self) -> Counter[str]:
        """Number of events in which each object appears, by the object's name."""
        return Counter(event.name for event in self.script.events)

    @cached_property
    def unique_events(self) -> list[WorldEvent]:
        """The events whose object appears in no other event."""
        return [event for event in self.events if self.appearances[event.name] == 1]

    @cached_property
    def unique_scenes(self) -> list[tuple[Scene, list[WorldEvent]]]:
        """The scenes whose setting is unique, each with all its events."""
        scenes = self.script.scenes
        by_scene: dict[int, list[WorldEvent]] = {event.scene: [] for event in self.events}
        for event in self.script.events:
            if event.scene in by_scene:
                by_scene[event.scene].append(event)
        settings = Counter(scene.name for scene in scenes)
        return [(scenes[i], events) for i, events in sorted(by_scene.items()) if settings[scenes[i].name] == 1]

    @cached_property
    def unique_lines(self) -> list[tuple[SpokenLine, WorldEvent]]:
        """The lines spoken once, during their own event and no other, each with that event."""
        by_id = {event.id: event for event in self.events}
        texts = Counter(line.text for line in self.script.lines)
        return [
            (line, by_id[line.event])
            for line in self.script.lines
            if line.event in by_id and texts[line.text] == 1 and self._events_during(line) == [by_id[line.event]]
        ]

    def _events_during(self, line: SpokenLine) -> list[WorldEvent]:
        return [e for e in self.script.events if e.start_s < line.end_s and line.start_s < e.end_s]

    def misleading_colour(self, event: WorldEvent) -> str | None:
        """Return the wrong colour that a misleading line gives an event's object, or None."""
        for line in self.script.lines:
            if line.event == event.id and line.misleading:
                return next(colour for colour in COLOURS if f"{colour} {event.shape}" in line.text)
        return None
