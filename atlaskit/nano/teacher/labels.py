"""What a cell of an AtlasWorld shows, as labels, and pictures of cells with these labels to learn them from.

A sight is what can be seen in one frame at the size of a cell: the place and its light, the object passing through,
the word of its caption. It is all that the model's eyes are taught to see.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from atlaskit.benchmarks.atlasworld.cast import CAPTION_WORDS
from atlaskit.benchmarks.atlasworld.generator import write_script
from atlaskit.benchmarks.atlasworld.renderer import SceneRenderer
from atlaskit.benchmarks.atlasworld.timeline import COLOURS, LIGHTS, PLACES, SHAPES, Script
from atlaskit.environment.render import TILE_QUALITY

CELL = 128
"""Pixels of the side of a cell: what one visual token stands for."""
FRAME = (128, 72)
"""Width and height of a frame in it."""
TRAINING_SEED = 1_000_000
"""Worlds that nano learns from have this seed or a higher one; it is judged on others."""


@dataclass(frozen=True)
class CellContent:
    """What one frame shows; empty words where there is no such thing."""

    place: str = ""
    light: str = ""
    colour: str = ""
    shape: str = ""
    word: str = ""

    @property
    def object(self) -> str:
        """The object in words: "red circle", or nothing."""
        return f"{self.colour} {self.shape}".strip()


VALUES: dict[str, tuple[str, ...]] = {
    "place": ("", *PLACES),
    "light": ("", *LIGHTS),
    "colour": ("", *COLOURS),
    "shape": ("", *SHAPES),
    "word": ("", *CAPTION_WORDS),
}
"""What each part of a sight can be; a black cell has none of them."""
PARTS = tuple(field.name for field in fields(CellContent))


def sight_at(script: Script, time_s: float) -> CellContent:
    """Return what the frame at some second of a script shows."""
    scene, event = script.scene_at(time_s), script.event_at(time_s)
    if event is None:
        return CellContent(scene.place, scene.light)
    return CellContent(scene.place, scene.light, event.colour, event.shape, (event.caption or "").split(" ")[0])


def codes(sight: CellContent) -> list[int]:
    """Return a sight as the index of each part among its VALUES."""
    return [values.index(part) for part, values in zip(astuple(sight), VALUES.values(), strict=True)]


@dataclass(frozen=True)
class LabelledFrame:
    """A frame at the size of a cell, what it shows, and where."""

    frame: NDArray[np.uint8]
    sight: CellContent
    place: tuple[float, float, float]
    """Middle and diameter of the object in pixels of the cell; zeros where there is none."""


def pictures(seed: int, size: tuple[int, int], duration_s: float = 600.0) -> Iterator[LabelledFrame]:
    """Yield frames of one world at the size of a cell, with what they show: several of each event, few without any."""
    script, rng = write_script(seed, duration_s, size=size), random.Random(seed)
    painter = SceneRenderer(script)
    times = [rng.uniform(e.start_s, e.end_s - 1e-3) for e in script.events for _ in range(4)]
    times += [rng.uniform(s.start_s, s.end_s - 1e-3) for s in script.scenes for _ in range(3)]
    for time_s in sorted(times):  # in order, so that each scenery is painted once
        event, scale, place = script.event_at(time_s), FRAME[0] / size[0], (0.0, 0.0, 0.0)
        if event is not None:
            pose = painter.pose(event, script.frame_at(time_s))
            place = pose.x * scale, pose.y * scale + (CELL - FRAME[1]) / 2, pose.diameter * scale
        yield LabelledFrame(shrunk(painter.at(time_s)), sight_at(script, time_s), place)


def shrunk(frame: Image.Image) -> NDArray[np.uint8]:
    """Return a frame as a cell has it: made small, and kept as JPEG."""
    buffer = io.BytesIO()
    frame.resize(FRAME, reducing_gap=2.0).save(buffer, "JPEG", quality=TILE_QUALITY, subsampling=0)
    return np.asarray(Image.open(buffer))
