"""`Goal`: what an AtlasWorld question looks for (objects, a scene, a spoken line).

The module also describes what a frame shows in the words of the scratchpad.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from atlaskit.environment.question import Question
from atlaskit.video.subtitles import Line
from atlasworld.timeline import COLOURS, LIGHTS, PLACES, SHAPES
from nano.teacher.labels import CellContent

GoalType = Literal[
    "object", "colour", "text", "neighbour", "first", "count", "line", "when", "course"
]

_COLOUR = "|".join(COLOURS)
_SHAPE = "|".join(SHAPES)
_PLACE = "|".join(PLACES)
_LIGHT = "|".join(LIGHTS)
_OBJECT = rf"(?P<colour>{_COLOUR}) (?P<shape>{_SHAPE})"
_SCENE = rf"the (?P<place>{_PLACE}) scene at (?P<light>{_LIGHT})"
_QUESTIONS: dict[GoalType, str] = {
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
_QUESTION_RES = {goal_type: re.compile(pattern) for goal_type, pattern in _QUESTIONS.items()}
_OBJECT_RE = re.compile(_OBJECT)


@dataclass(frozen=True)
class Goal:
    """What a question looks for.

    Attributes:
        type: Which of AtlasWorld's question texts this is.
        objects: Objects that the question names, such as "red circle"; not those in a quoted line.
        scene: Place and light of the scene that the question names.
        shape: Shape whose colour the question asks for.
        line: Subtitle line that the question quotes.
        side: "before" or "after", if the question asks for the neighbour of an object.
    """

    type: GoalType
    objects: tuple[str, ...] = ()
    scene: tuple[str, str] | None = None
    shape: str = ""
    line: str = ""
    side: str = ""

    @property
    def object_names(self) -> tuple[str, ...]:
        """Objects that the question names, or else those that its quoted line names."""
        return self.objects or tuple(objects_in(self.line))

    @property
    def keywords(self) -> frozenset[str]:
        """Single words that match the goal: colours, shapes, a place, a light."""
        words = {word for name in self.object_names for word in name.split(" ")}
        if self.shape:
            words.add(self.shape)
        if self.scene:
            words.update(self.scene)
        return frozenset(words)

    @property
    def search_task(self) -> str:
        """The search task in nano's own short wording.

        A comma separates colour and shape, because nano's tokenizer has one token for "red circle".
        """
        scene = f"{self.scene[0]} at {self.scene[1]}" if self.scene else ""
        objects = "; ".join(name.replace(" ", ", ") for name in self.object_names)
        match self.type:
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

    def matches(self, content: CellContent) -> bool:
        """Return whether a frame with this content shows what the question looks for."""
        in_scene = self.scene is None or (content.place, content.light) == self.scene
        has_shape = not self.shape or content.shape == self.shape
        is_named = not self.objects or content.object in self.objects
        return bool(content.object) and in_scene and has_shape and is_named


def parse_goal(text: str) -> Goal | None:
    """Parse the text of a question; return None if it is not a text that AtlasWorld writes."""
    for goal_type, question_re in _QUESTION_RES.items():
        match = question_re.fullmatch(text)
        if match:
            return _goal_from(goal_type, match.groupdict())
    return None


def _goal_from(goal_type: GoalType, parts: Mapping[str, str]) -> Goal:
    """Return the goal of a question whose text has these named parts."""
    objects: tuple[str, ...] = ()
    if goal_type == "first":
        objects = tuple(objects_in(parts["objects"]))
    elif "colour" in parts:
        objects = (f"{parts['colour']} {parts['shape']}",)
    return Goal(
        goal_type,
        objects,
        scene=(parts["place"], parts["light"]) if "place" in parts else None,
        shape=parts["shape"] if goal_type == "colour" else "",
        line=parts.get("line", ""),
        side=parts.get("side", ""),
    )


def goal_of(question: Question) -> Goal:
    """Return the goal of an AtlasWorld question.

    Raises:
        AssertionError: AtlasWorld does not write such a question.
    """
    goal = parse_goal(question.text)
    assert goal is not None, (
        f"The teacher understands only AtlasWorld's own questions; got {question.text!r}."
    )
    return goal


def objects_in(text: str) -> list[str]:
    """Return the objects that a text names, in order."""
    return [match.group() for match in _OBJECT_RE.finditer(text)]


def up_to_object(line: str) -> str:
    """Return the beginning of a subtitle line, up to and including the first object that it names.

    This part suffices to tell the line from all other lines.
    """
    match = _OBJECT_RE.search(line)
    return line[: match.end()] if match else line


def texts_by_cell(lines: Mapping[int, Sequence[Line]]) -> dict[int, list[str]]:
    """Return the texts of the subtitle lines of each cell."""
    return {cell: [line.text for line in of_cell] for cell, of_cell in lines.items()}


def describe(content: CellContent) -> str:
    """Describe a frame for the scratchpad; `parse_description` is the inverse."""
    parts = (content.object, f"{content.place} at {content.light}", content.word)
    return ", ".join(part for part in parts if part)


def parse_description(description: str) -> CellContent:
    """Parse a description of a frame, such as "red circle, snow at dawn, HARBOR".

    nano may have written the description, so parts of it can be missing. Their attributes stay
    empty.
    """
    parts = description.split(", ")
    colour = shape = ""
    match = _OBJECT_RE.fullmatch(parts[0])
    if match:
        colour, shape = match["colour"], match["shape"]
        parts = parts[1:]
    scene, word, *_ = [*parts, "", ""]
    place, _, light = scene.partition(" at ")
    return CellContent(place, light, colour, shape, word)
