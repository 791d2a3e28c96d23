"""`Look`: how frames are drawn into cells. Tiles: frames scaled to a cell, cached one by one.

A tile's key names the file and the time in that file. So another view with cells of the same size,
or another playlist with the same clip, uses the cached tiles and decodes nothing.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from PIL import Image

from atlaskit.caching.cache import Cache, Transient
from atlaskit.caching.keys import Kind, microseconds
from atlaskit.environment.image import WIDEST_PX, is_jpeg, letterboxed, to_jpeg
from atlaskit.errors import FrameError, InputError, check_whole
from atlaskit.video.video import SAMPLINGS, Sampling, Video, read_frames

Fit = Literal["native", "contain", "stretch"]
"""How a frame fills its cell. "native": the cell has the video's shape. "contain": the cell is
square, and the frame keeps its aspect ratio on a grey ground. "stretch": the frame is stretched
over the square."""

Labels = Literal["none", "index", "time", "seconds"]
"""The label in the corner of a cell or above it: none, its index, or the time of its frame, as a
clock time or in seconds. In ruled images (`Look.ruled`) the index stands next to the time."""
PATCH_PX = 32
"""Side of the square of pixels that most models read as one image token."""
FLATTEST = 4
"""The longer side of a native cell is at most this many times its shorter side before rounding. The
text in a flatter cell would hide the frame."""
SHORTEST_PX = 16
"""Least length in pixels of a native cell's shorter side before rounding, for the same reason."""

TILE_QUALITY = 95
"""JPEG quality of a tile."""
TILE = Kind("tile", 2, lambda _, value: not value or is_jpeg(value), is_image=True)
"""A frame in the size of a cell. The key leaves out playlist and grid: all of them share a tile."""
READABLE = Kind("readable", 1, lambda _, value: value in (b"0", b"1"))
"""Whether a frame can be decoded. The key leaves out the size, which does not matter."""


@dataclass(frozen=True)
class Look:
    """How frames are drawn into the cells of an image.

    Raises:
        InputError: A cell would be too small, or an option is unknown.
    """

    cell: int = 320
    """Width and height of a cell in pixels; of a native cell, the longer of the two."""
    fit: Fit = "contain"
    patch: int = PATCH_PX
    """Side of a model's image token in pixels; native cells are rounded to it."""
    sampling: Sampling = "midpoint"
    """Which frame represents a cell of a grid: see `Video.moment`."""
    labels: Labels = "none"
    ruled: bool = False
    """Whether text stands in strips beside the frames, thin gutters separate the cells, and dead
    cells are hatched, which suits a general VLM. If not, labels cover corners, and dead cells are
    black."""

    def __post_init__(self) -> None:
        if type(self.cell) is not int or self.cell < 16:
            raise InputError(f"A cell must be at least 16 pixels wide; got {self.cell!r:.80}.")
        if self.fit not in get_args(Fit):
            raise InputError(f'fit is "native", "contain" or "stretch"; got {self.fit!r}.')
        check_whole("patch", self.patch)
        if self.sampling not in SAMPLINGS:
            raise InputError(f"sampling is one of {', '.join(SAMPLINGS)}; got {self.sampling!r}.")
        if self.labels not in get_args(Labels):
            raise InputError(
                f'labels is "none", "index", "time" or "seconds"; got {self.labels!r}.'
            )

    def check(self, k: int) -> None:
        """Raise InputError unless an image of k×k such cells can be made."""
        if k * self.cell > WIDEST_PX:
            side = f"{k} × {self.cell} = {k * self.cell}"
            raise InputError(
                f"A view is at most {WIDEST_PX} pixels wide; got {side}. Use fewer or smaller "
                "cells."
            )

    def key(self, size: tuple[int, int]) -> dict[str, Any]:
        """Return this look's part of an image's key; `size` is the (width, height) of a cell."""
        key: dict[str, Any] = {"cell": self.cell, "fit": self.fit}
        if self.fit == "native":
            key["cell"] = size
        if self.ruled:
            key["ruled"] = True
        return key

    @property
    def strip(self) -> int:
        """Height of a strip of text in pixels; 0 if not ruled."""
        return max(10, min(32, self.cell // 12)) if self.ruled else 0

    @property
    def gutter(self) -> int:
        """Pixels between two cells; 0 if not ruled."""
        return max(1, self.cell // 80) if self.ruled else 0

    def frame_size(self, cell_size: tuple[int, int], strips: int = 1) -> tuple[int, int]:
        """Return the (width, height) in pixels that a cell has for its frame.

        Args:
            cell_size: (width, height) of the cell.
            strips: Lines of text beside the frame.
        """
        width, height = cell_size
        return max(1, width - self.gutter), max(1, height - self.gutter - strips * self.strip)

    def cell_size(
        self, shape: tuple[int, int], columns: int, rows: int, strips: int = 1
    ) -> tuple[int, int]:
        """Return the (width, height) of a cell in pixels.

        With "native" the longer side is `cell`. The shorter one follows from the video's shape. It
        is rounded to the nearest length at which all rows of cells (all columns, for an upright
        video) together measure a whole number of patches, and is never longer than `cell`. If no
        such length fits into `cell`, it is rounded to whole pixels only.

        Args:
            shape: (width, height) of the video.
            columns: Cells in a row of the image.
            rows: Rows of cells in the image.
            strips: Lines of text beside each frame, where cells are ruled.
        """
        width, height = shape
        if self.fit != "native":
            return self.cell, self.cell
        text_px = strips * self.strip
        gutter = self.gutter
        # `step` is the smallest side with which the cells together fill whole patches.
        if width >= height:
            share = ((self.cell - gutter) * height / width + text_px + gutter) / self.cell
            step = self.patch // math.gcd(rows, self.patch)
            return self.cell, _shorter_side(self.cell, share, step)
        share = ((self.cell - gutter - text_px) * width / height + gutter) / self.cell
        step = self.patch // math.gcd(columns, self.patch)
        return _shorter_side(self.cell, share, step), self.cell


def sheet_size(k: int, cell: int, patch: int) -> tuple[int, int]:
    """Return the (width, height) in pixels of a ruled sheet of k×k native cells of a 16:9 video."""
    width, height = Look(cell, fit="native", patch=patch, ruled=True).cell_size((16, 9), k, k)
    return k * width, k * height


def read_tiles(
    video: Video, times_s: Sequence[float], size: tuple[int, int], fit: Fit, cache: Cache
) -> tuple[list[Image.Image | None], bool]:
    """Return the frames at some times, each in an image of the size of a cell.

    Args:
        video: The video.
        times_s: Times in seconds.
        size: (width, height) of a cell in pixels: see `Look.cell_size`.
        fit: How a frame fills its cell.
        cache: Where tiles are read from and stored.

    Returns:
        An image for each time, None where the frame cannot be decoded; and whether the images must
        not be cached: a frame could not be read this time, so that a retry may succeed, or the
        video stands in for another.
    """
    wanted = list[tuple[Video, float, tuple[int, int]]]()
    keys = list[str]()
    for time_s in times_s:
        part, local_s = video.locate(time_s)
        tile_size = _fitted(part.size, size, fit)
        wanted.append((part, local_s, tile_size))
        time_us = microseconds(local_s)
        keys.append(TILE.key(video=part.fingerprint, time_us=time_us, size=list(tile_size)))

    def decode(positions: list[int]) -> list[bytes]:
        # A new tile is encoded and decoded like a cached one, so both give the same pixels.
        missing = [wanted[position] for position in positions]
        entries = list[bytes]()
        for (part, _, _), frame in zip(missing, read_frames(missing), strict=True):
            if not isinstance(frame, FrameError):
                entry = to_jpeg(Image.fromarray(frame), TILE_QUALITY)
            elif frame.is_lasting:
                entry = b""  # the file's content is the cause
            else:
                entry = Transient()
            entries.append(Transient(entry) if part.is_stand_in else entry)
        return entries

    images = list[Image.Image | None]()
    is_transient = False
    for entry in cache.remember_all(keys, decode, fits=_is_tile):
        is_transient = is_transient or isinstance(entry, Transient)
        images.append(letterboxed(Image.open(io.BytesIO(entry)), size) if entry else None)
    return images, is_transient


def are_readable(
    video: Video, times_s: Sequence[float], size: tuple[int, int], fit: Fit, cache: Cache
) -> list[bool]:
    """Return for each time in seconds whether its frame can be decoded, at the size of a cell.

    Each answer is a cache entry of one byte, so a recording of a run needs no images.
    """
    parts = list[Video]()
    keys = list[str]()
    for time_s in times_s:
        part, local_s = video.locate(time_s)
        parts.append(part)
        keys.append(READABLE.key(video=part.fingerprint, time_us=microseconds(local_s)))

    def check(positions: list[int]) -> list[bytes]:
        if all(parts[position].is_drawn for position in positions):  # drawing cannot fail
            return [b"1"] * len(positions)
        missing_s = [times_s[position] for position in positions]
        tiles, is_transient = read_tiles(video, missing_s, size, fit, cache)
        flags = list[bytes]()
        for tile in tiles:
            flags.append(b"1" if tile else b"0")
        if is_transient:
            return list(map(Transient, flags))
        return flags

    flags = cache.remember_all(keys, check, fits=lambda flag: flag in (b"0", b"1"))
    return [flag == b"1" for flag in flags]


def _is_tile(tile: bytes) -> bool:
    """Return whether a cache entry is a tile or empty; a cache from elsewhere may hold anything."""
    try:
        return not tile or max(Image.open(io.BytesIO(tile), formats=["JPEG"]).size) <= WIDEST_PX
    except (OSError, ValueError, Image.DecompressionBombError):
        return False


def _shorter_side(cell: int, share: float, step: int) -> int:
    """Return the shorter side of a native cell: `share` of the longer one, in whole steps."""
    length = max(cell * min(1.0, share), cell / FLATTEST, min(cell, SHORTEST_PX))
    if step > cell:
        return round(length)
    steps = math.floor(length / step + 0.5)
    return step * min(max(1, steps), cell // step)


def _fitted(shape: tuple[int, int], size: tuple[int, int], fit: Fit) -> tuple[int, int]:
    """Return the (width, height) in pixels of a frame once it is scaled to fit its cell."""
    if fit == "stretch":
        return size
    scale = min(size[0] / shape[0], size[1] / shape[1])
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))
