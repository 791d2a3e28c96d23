"""The picture at any frame of a script: scenery, the object passing through it, and its caption.

Random access: a frame depends on the script and its index alone, so any thread may ask for any frame. Knows nothing
of video files, nor of what scenery looks like: that is painted once a scene, wider than the picture, and here only
panned. A sprite is painted once an event.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from atlaskit.benchmarks.atlasworld.backgrounds import paint_scenery
from atlaskit.benchmarks.atlasworld.brushes import Polygon, box, regular
from atlaskit.benchmarks.atlasworld.timeline import COLOURS, Scene, Script, WorldEvent

TRANSITION_S = 0.4
"""How long an object takes to enter or leave, at most; never more than a fifth of its event."""
KEPT_PX = 8_000_000
"""Pixels of all pictures together whose scenery is kept once it is painted; each takes 9 bytes. To paint a scene takes
many times as long as to pan it, and a search looks at scenes in any order, and at most of them again."""


def _heart() -> Polygon:
    turns = [2 * math.pi * i / 96 for i in range(96)]
    wave = [(13 * math.cos(a) - 5 * math.cos(2 * a) - 2 * math.cos(3 * a) - math.cos(4 * a)) for a in turns]
    return [(math.sin(a) ** 3 * 0.5, -(w + 2.4) / 33) for a, w in zip(turns, wave, strict=True)]


def _star() -> Polygon:
    spokes = [(0.55 if i % 2 == 0 else 0.25, math.pi * (i / 5 - 0.5)) for i in range(10)]
    return [(radius * math.cos(turn), 0.03 + radius * math.sin(turn)) for radius, turn in spokes]


OUTLINES: dict[str, Polygon] = {
    "circle": regular(96, 0, 0, 0.48),
    "square": box(-0.42, -0.42, 0.84, 0.84),
    "triangle": [(0, -0.47), (0.52, 0.41), (-0.52, 0.41)],
    "star": _star(),
    "heart": _heart(),
    "diamond": [(0, -0.55), (0.4, 0), (0, 0.55), (-0.4, 0)],
}
"""Each shape around (0, 0), about 1 across."""


@dataclass(frozen=True)
class Pose:
    """Where the middle of an object is in one frame, in pixels, and how large and opaque it is."""

    x: float
    y: float
    diameter: float
    opacity: float


@dataclass(frozen=True)
class Sprite:
    """A picture with soft edges, ready to be pasted."""

    colour: Image.Image
    mask: Image.Image


Scenery = tuple[Image.Image, Sprite, int]
"""The far layer, the near layer without its empty top rows, and how many of those there were."""


def _paint(scene: Scene, size: tuple[int, int], seed: int) -> Scenery:
    """Paint the scenery of a scene for pictures of a size."""
    far, front = paint_scenery(scene, size, random.Random(f"{seed}/{scene.index}").getrandbits(32))
    top = (front.getbbox() or (0, front.height - 1))[1]
    front = front.crop((0, top, front.width, front.height))
    return far, Sprite(front.convert("RGB"), front.getchannel("A")), top


@lru_cache(maxsize=4)
def _scenery_of(size: tuple[int, int]) -> Callable[[Scene, tuple[int, int], int], Scenery]:
    """Return what paints scenery for pictures of a size, and keeps it, for all scripts: long worlds share clips."""
    return lru_cache(maxsize=max(4, KEPT_PX // (size[0] * size[1])))(_paint)


class SceneRenderer:
    """Paints any frame of a script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._scenery = _scenery_of(script.size)
        self._sprite = lru_cache(maxsize=8)(self._paint_sprite)
        self._banner = lru_cache(maxsize=8)(self._paint_banner)

    def at(self, t: float) -> Image.Image:
        """Return the picture shown at `t` seconds."""
        return self.frame(self.script.frame_at(t))

    def frame(self, index: int) -> Image.Image:
        """Return the picture of one frame: RGB, of the script's size."""
        t = index / self.script.fps
        scene, event = self.script.scene_at(t), self.script.event_at(t)
        picture = self._pan(scene, t)
        if event is not None:
            self._put_object(picture, event, index)
            if event.caption is not None:
                banner = self._banner(event.caption)
                width, height = self.script.size
                middle = 0.125 if event.caption_at == "top" else 0.875
                corner = (width - banner.colour.width) // 2, round(height * middle - banner.colour.height / 2)
                picture.paste(banner.colour, corner, banner.mask)
        return picture

    def pose(self, event: WorldEvent, index: int) -> Pose:
        """Return where an event's object is in a frame: a straight path with a gentle bob, and its entrance."""
        fps, motion = self.script.fps, event.motion
        width, height = self.script.size
        first, last = round(event.start_s * fps), round(event.end_s * fps)
        share = (index - first) / max(1, last - 1 - first)
        along = share + 0.06 * math.sin(2 * math.pi * share)
        x = width * (motion.x0 + (motion.x1 - motion.x0) * along)
        y = height * (motion.y0 + (motion.y1 - motion.y0) * along)
        y += height * motion.bob * math.sin(2 * math.pi * (index - first) / fps / motion.bob_s)
        brief = max(1.0, min(TRANSITION_S * fps, (last - first) / 5))
        away, way = 1 - (index - first) / brief, motion.enter
        if away <= 0:
            away, way = 1 - (last - 1 - index) / brief, motion.leave
        away = max(0.0, away) ** 2
        diameter, opacity = height * motion.size, 1.0
        if way == "fade":
            opacity -= 0.35 * away
        elif way == "pop":
            diameter *= 1 - 0.25 * away
        else:  # from the nearer side, three quarters of it in the picture on its first frame
            edge = 0.25 * diameter if x < width / 2 else width - 0.25 * diameter
            x += (edge - x) * away
        return Pose(x, y, diameter, opacity)

    def _pan(self, scene: Scene, t: float) -> Image.Image:
        far, near, top = self._scenery(scene, self.script.size, self.script.seed)
        width, height = self.script.size
        share = (t - scene.start_s) / (scene.end_s - scene.start_s)
        share = share if scene.index % 2 == 0 else 1 - share
        left = round(share * (far.width - width))
        picture = far.crop((left, 0, left + width, height))
        left = round(share * (near.colour.width - width))
        part = (left, 0, left + width, height - top)
        picture.paste(near.colour.crop(part), (0, top), near.mask.crop(part))
        return picture

    def _put_object(self, picture: Image.Image, event: WorldEvent, index: int) -> None:
        pose = self.pose(event, index)
        sprite = self._sprite(event.colour, event.shape, event.motion.size, event.motion.tilt_deg)
        colour, mask = sprite.colour, sprite.mask
        full = self.script.size[1] * event.motion.size
        if pose.diameter < full:
            side = round(colour.width * pose.diameter / full)
            colour, mask = colour.resize((side, side)), mask.resize((side, side))
        if pose.opacity < 1:
            mask = mask.point(lambda level: round(level * pose.opacity))
        picture.paste(colour, (round(pose.x - colour.width / 2), round(pose.y - colour.height / 2)), mask)

    def _paint_sprite(self, colour: str, shape: str, size: float, tilt_deg: float) -> Sprite:
        """Cut a shape out like a sticker: a soft shadow, a pale rim (dark for white ones), a lightly shaded fill."""
        diameter, fine = self.script.size[1] * size, 3
        side = math.ceil(diameter * 1.5)
        turn, scale = math.radians(tilt_deg), diameter * fine
        outline = [
            (
                side * fine / 2 + scale * (x * math.cos(turn) - y * math.sin(turn)),
                side * fine / 2 + scale * (x * math.sin(turn) + y * math.cos(turn)),
            )
            for x, y in OUTLINES[shape]
        ]
        fill = Image.new("L", (side * fine, side * fine))
        ImageDraw.Draw(fill).polygon(outline, fill=255)
        rim = fill.copy()
        ImageDraw.Draw(rim).line([*outline, *outline[:2]], fill=255, width=round(scale * 0.055), joint="curve")
        inner, outer = fill.reduce(fine), rim.reduce(fine)
        shadow = Image.new("L", outer.size)
        shadow.paste(outer, (round(diameter * 0.02), round(diameter * 0.045)))
        shadow = shadow.filter(ImageFilter.GaussianBlur(diameter * 0.05)).point(lambda level: level * 0.5)
        light = np.linspace(1.1, 0.9, side)[:, None, None]
        shaded = np.clip(np.asarray(COLOURS[colour]) * light, 0, 255).astype(np.uint8)
        body = Image.new("RGB", outer.size, (8, 12, 30))
        body.paste((74, 84, 116) if colour == "white" else (255, 255, 255), (0, 0), outer)
        body.paste(Image.fromarray(np.broadcast_to(shaded, (side, side, 3)).copy()), (0, 0), inner)
        mask = Image.fromarray(np.maximum(np.asarray(outer), np.asarray(shadow)))
        return Sprite(body, mask)

    def _paint_banner(self, text: str) -> Sprite:
        """Set a caption in large white letters on a dark rounded plate."""
        fine, height = 2, self.script.size[1] * 2
        font = ImageFont.load_default(height * 0.115)
        stroke = max(1, round(height * 0.003))
        left, top, right, bottom = font.getbbox(text, stroke_width=stroke)
        pad_x, pad_y = height * 0.055, height * 0.04
        width = round((right - left + 2 * pad_x) / fine) * fine
        tall = round((bottom - top + 2 * pad_y) / fine) * fine
        mask = Image.new("L", (width, tall))
        ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, tall - 1), tall * 0.28, fill=218)
        plate = Image.new("RGB", (width, tall), (14, 18, 34))
        corner = pad_x - left, pad_y - top
        for canvas in (plate, mask):
            white = (255, 255, 255) if canvas is plate else 255
            ImageDraw.Draw(canvas).text(corner, text, white, font, stroke_width=stroke, stroke_fill=white)
        return Sprite(plate.reduce(fine), mask.reduce(fine))
