"""`SceneRenderer`: draws any frame of a script from scenery, the moving object and its caption.

A frame depends only on the script and its index, so any thread may request any frame, in any order.
The scenery of a scene is painted wider than the frame, and panned here. The last sceneries, and the
last sprites of objects and captions, stay in memory. This module does not know video files.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image

from atlasworld.brushes import Sprite, draw_banner, draw_object
from atlasworld.scenery import paint_scenery
from atlasworld.timeline import Motion, Scene, Script, WorldEvent

TRANSITION_S = 0.4
"""Longest time that an object takes to enter or leave; also at most a fifth of its event."""
CACHED_PX = 8_000_000
"""Total size of the frames whose scenery stays in memory, in pixels; each pixel takes 9 bytes.

Painting a scene takes many times longer than panning it, and a search visits scenes in any order
and most of them repeatedly.
"""


@dataclass(frozen=True)
class Pose:
    """The state of an object in one frame: its centre and diameter in pixels, and its opacity."""

    x: float
    y: float
    diameter: float
    opacity: float


Scenery = tuple[Image.Image, Sprite, int]
"""The far layer; the near layer without the empty rows at its top; and the number of those rows."""


def _paint(scene: Scene, size: tuple[int, int], seed: int) -> Scenery:
    far, near = paint_scenery(scene, size, random.Random(f"{seed}/{scene.index}").getrandbits(32))
    top = (near.getbbox() or (0, near.height - 1))[1]
    near = near.crop((0, top, near.width, near.height))
    return far, Sprite(near.convert("RGB"), near.getchannel("A")), top


@lru_cache(maxsize=4)
def _scenery_cache(size: tuple[int, int]) -> Callable[[Scene, tuple[int, int], int], Scenery]:
    """Return a caching painter for one frame size, shared by all scripts: worlds share clips."""
    return lru_cache(maxsize=max(4, CACHED_PX // (size[0] * size[1])))(_paint)


class SceneRenderer:
    """Draws any frame of a script; safe to use from several threads."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._scenery = _scenery_cache(script.size)
        self._object = lru_cache(maxsize=8)(draw_object)
        self._banner = lru_cache(maxsize=8)(draw_banner)

    def at(self, t: float) -> Image.Image:
        """Return the frame shown at `t` seconds."""
        return self.frame(self.script.frame_at(t))

    def frame(self, index: int) -> Image.Image:
        """Return the frame at an index: RGB, of the script's size."""
        t = index / self.script.fps
        scene = self.script.scene_at(t)
        event = self.script.event_at(t)
        frame = self._pan(scene, t)
        if event is not None:
            self._paste_object(frame, event, index)
            if event.caption is not None:
                self._paste_caption(frame, event.caption, event.caption_at)
        return frame

    def pose(self, event: WorldEvent, index: int) -> Pose:
        """Return the pose of an event's object in the frame at an index.

        The object moves along a straight path with a gentle swing; in its first and last frames it
        enters and leaves.
        """
        fps = self.script.fps
        motion = event.motion
        width, height = self.script.size
        first = round(event.start_s * fps)
        last = round(event.end_s * fps)
        x, y = self._path(motion, index - first, max(1, last - 1 - first))
        transition = max(1.0, min(TRANSITION_S * fps, (last - first) / 5))
        # 1 in the event's first and last frame, 0 while the object is neither entering nor leaving.
        away = 1 - (index - first) / transition
        way = motion.enter
        if away <= 0:
            away = 1 - (last - 1 - index) / transition
            way = motion.leave
        away = max(0.0, away) ** 2
        diameter = height * motion.size
        opacity = 1.0
        if way == "fade":
            opacity -= 0.35 * away
        elif way == "pop":
            diameter *= 1 - 0.25 * away
        else:  # slides in from the nearer side; three quarters of it are visible on the first frame
            edge = 0.25 * diameter if x < width / 2 else width - 0.25 * diameter
            x += (edge - x) * away
        return Pose(x, y, diameter, opacity)

    def _path(self, motion: Motion, elapsed: int, frames: int) -> tuple[float, float]:
        """Return the object's centre in pixels after `elapsed` of `frames` frames."""
        width, height = self.script.size
        share = elapsed / frames
        # Faster than on average at both ends, slower in the middle.
        along = share + 0.06 * math.sin(2 * math.pi * share)
        x = width * (motion.x0 + (motion.x1 - motion.x0) * along)
        y = height * (motion.y0 + (motion.y1 - motion.y0) * along)
        y += height * motion.bob * math.sin(2 * math.pi * elapsed / self.script.fps / motion.bob_s)
        return x, y

    def _pan(self, scene: Scene, t: float) -> Image.Image:
        far, near, top = self._scenery(scene, self.script.size, self.script.seed)
        width, height = self.script.size
        share = (t - scene.start_s) / (scene.end_s - scene.start_s)
        if scene.index % 2:  # every second scene is panned the other way
            share = 1 - share
        left = round(share * (far.width - width))
        frame = far.crop((left, 0, left + width, height))
        left = round(share * (near.colour.width - width))
        window = (left, 0, left + width, height - top)
        frame.paste(near.colour.crop(window), (0, top), near.mask.crop(window))
        return frame

    def _paste_object(self, frame: Image.Image, event: WorldEvent, index: int) -> None:
        pose = self.pose(event, index)
        full = self.script.size[1] * event.motion.size
        sprite = self._object(event.colour, event.shape, full, event.motion.tilt_deg)
        colour = sprite.colour
        mask = sprite.mask
        if pose.diameter < full:
            side = round(colour.width * pose.diameter / full)
            colour = colour.resize((side, side))
            mask = mask.resize((side, side))
        if pose.opacity < 1:
            mask = mask.point(lambda level: round(level * pose.opacity))
        frame.paste(
            colour, (round(pose.x - colour.width / 2), round(pose.y - colour.height / 2)), mask
        )

    def _paste_caption(self, frame: Image.Image, caption: str, caption_at: str | None) -> None:
        width, height = self.script.size
        banner = self._banner(caption, height)
        middle = 0.125 if caption_at == "top" else 0.875
        corner = (
            (width - banner.colour.width) // 2,
            round(height * middle - banner.colour.height / 2),
        )
        frame.paste(banner.colour, corner, banner.mask)
