"""`CellContent`: what one cell shows (place, light, object, word), and its encoding as labels.

A `CellContent` holds everything that is visible in one frame at the size of a cell: the place and
its light, the colour and shape of the object that passes through, and the first word of the
object's caption. nano's vision tower learns to recognise these labels and nothing else.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from atlasworld.cast import CAPTION_WORDS
from atlasworld.ranges import DEVELOPMENT
from atlasworld.timeline import COLOURS, LIGHTS, PLACES, SHAPES, Script

CELL_PX = 128
"""Side of a cell in pixels. The vision tower turns one cell into one visual token."""
TRAINING_SEED = DEVELOPMENT.start
"""Seed of the first training world. All worlds that nano trains on have development seeds."""


@dataclass(frozen=True)
class CellContent:
    """What one frame shows. An attribute is empty if the frame shows nothing of its kind."""

    place: str = ""
    light: str = ""
    colour: str = ""
    shape: str = ""
    word: str = ""

    @property
    def object(self) -> str:
        """Name of the object, such as "red circle"; empty without an object."""
        return f"{self.colour} {self.shape}".strip()


VALUES: dict[str, tuple[str, ...]] = {
    "place": ("", *PLACES),
    "light": ("", *LIGHTS),
    "colour": ("", *COLOURS),
    "shape": ("", *SHAPES),
    "word": ("", *CAPTION_WORDS),
}
"""Possible values of each attribute of a `CellContent`. All attributes of a black cell are
empty."""
ATTRIBUTES = tuple(field.name for field in fields(CellContent))


def content_at(script: Script, time_s: float) -> CellContent:
    """Return what the video of a script shows at a time."""
    scene = script.scene_at(time_s)
    event = script.event_at(time_s)
    if event is None:
        return CellContent(scene.place, scene.light)
    caption = event.caption or ""
    return CellContent(
        scene.place, scene.light, event.colour, event.shape, word=caption.split(" ")[0]
    )


def encode(content: CellContent) -> list[int]:
    """Return the index of each attribute's value in `VALUES`, in the order of `ATTRIBUTES`."""
    return [
        values.index(value) for value, values in zip(astuple(content), VALUES.values(), strict=True)
    ]
