"""What a question of an AtlasWorld asks for, read off its words; and what a description says of a frame."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from atlaskit.benchmarks.atlasworld.timeline import COLOURS, LIGHTS, PLACES, SHAPES
from atlaskit.nano.teacher.labels import CellContent
from atlaskit.video.subtitles import Line

Asks = Literal["object", "colour", "text", "neighbour", "first", "count", "line", "when", "course"]

_COLOUR, _SHAPE, _PLACE, _LIGHT = ("|".join(words) for words in (COLOURS, SHAPES, PLACES, LIGHTS))
_OBJECT = rf"(?P<colour>{_COLOUR}) (?P<shape>{_SHAPE})"
_SCENE = rf"the (?P<place>{_PLACE}) scene at (?P<light>{_LIGHT})"
_FORMS: dict[Asks, str] = {
    "object": rf"Which of these objects appears in {_SCENE}\?",
    "colour": rf"What colour is the (?P<shape>{_SHAPE}) that appears in {_SCENE}\?",
    "text": rf"What text is on screen while the {_OBJECT} is visible\?",
    "neighbour": rf"Which object appears right (?P<side>after|before) the {_OBJECT}\?",
    "first": r"Which appears first in the video: (?P<objects>.*)\?",
    "count": rf"How many times does an? {_OBJECT} appear in the video\?",
    "line": r"Which object is on screen when the voice says “(?P<line>.*)”\?",
    "when": rf"When is the {_OBJECT} on screen\?",
    "course": rf"Summarise what appears in {_SCENE}, in order\.",
}
_FORMS_RE = {asks: re.compile(form) for asks, form in _FORMS.items()}
_NAMED = re.compile(_OBJECT)


@dataclass(frozen=True)
class Goal:
    """What a question asks for, and of which objects, in which scene, at which spoken line."""

    asks: Asks
    objects: tuple[str, ...] = ()
    scene: tuple[str, str] | None = None
    shape: str = ""
    line: str = ""
    side: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The objects whose names are worth hearing: those that are looked for, or the one in the spoken line."""
        return self.objects or tuple(named_in(self.line))

    @property
    def words(self) -> frozenset[str]:
        """The single words that are looked for."""
        of_objects = (word for name in self.named for word in name.split(" "))
        return frozenset((*of_objects, *((self.shape,) if self.shape else ()), *(self.scene or ())))

    @property
    def task(self) -> str:
        """What to look for, in the few words that nano itself uses. A colour and a shape are told apart by a comma:
        to nano, "red circle" is one word."""
        scene = f"{self.scene[0]} at {self.scene[1]}" if self.scene else ""
        objects = "; ".join(name.replace(" ", ", ") for name in self.named)
        match self.asks:
            case "object" | "course":
                return f"Find any object in {scene}."
            case "colour":
                return f"Find any {self.shape} in {scene}."
            case "line":
                return f"Find any object when they name {objects}."
            case "neighbour":
                return f"Find {objects} and what is {self.side} it."
            case _:
                return f"Find {objects}."

    def wants(self, sight: CellContent) -> bool:
        """Tell whether a frame shows what is looked for."""
        in_scene = self.scene is None or (sight.place, sight.light) == self.scene
        of_shape = not self.shape or sight.shape == self.shape
        return bool(sight.object) and in_scene and of_shape and (not self.objects or sight.object in self.objects)


def goal_of(text: str) -> Goal | None:
    """Return what a question asks for; None for one of other words."""
    for asks, form in _FORMS_RE.items():
        if found := form.fullmatch(text):
            told = found.groupdict()
            scene = (told["place"], told["light"]) if told.get("place") else None
            objects: tuple[str, ...] = (f"{told['colour']} {told['shape']}",) if told.get("colour") else ()
            if asks == "first":
                objects = tuple(named_in(told["objects"]))
            shape = told["shape"] if asks == "colour" else ""
            return Goal(asks, objects, scene, shape, told.get("line") or "", told.get("side") or "")
    return None


def named_in(line: str) -> list[str]:
    """Return the objects that a spoken line names."""
    return [found.group() for found in _NAMED.finditer(line)]


def until_named(line: str) -> str:
    """Return the beginning of a spoken line, up to the object that it names: all that tells it from any other."""
    found = _NAMED.search(line)
    return line[: found.end()] if found else line


def texts_by_cell(said: Mapping[int, Sequence[Line]]) -> dict[int, list[str]]:
    """Return the words of the lines of each cell."""
    return {cell: [line.text for line in lines] for cell, lines in said.items()}


def sight_told(description: str) -> CellContent:
    """Read a description that nano gave of a frame: "red circle, snow at dawn, HARBOR", or of less than that."""
    parts = description.split(", ")
    named = _NAMED.fullmatch(parts[0])
    rest = [*(parts[1:] if named else parts), "", ""]
    place, _, light = rest[0].partition(" at ")
    return CellContent(place, light, named["colour"] if named else "", named["shape"] if named else "", rest[1])


def told(sight: CellContent) -> str:
    """Describe a frame in words that `sight_told` reads."""
    return ", ".join(part for part in (sight.object, f"{sight.place} at {sight.light}", sight.word) if part)
