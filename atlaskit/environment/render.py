"""Geometry + frames + memory → one image, made when it is first looked at and kept by its recipe.

A `View` is a grid of frames, a `Sheet` the scratchpad's items, a `Still` one frame at full size. Each knows its `key`
without decoding anything; a key is the hash of what the image is made of, never of its pixels. Knows nothing of
models: to them, these are pictures with a key, a size and JPEG bytes.
"""

from __future__ import annotations

import io
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from PIL import Image, ImageDraw, ImageFont

from atlaskit.caching.cache import Cache, Transient, canonical_json, default_cache
from atlaskit.caching.keys import moments_key, readable_key, sheet_key, still_key, tile_key, view_key
from atlaskit.environment.grid import Cell, Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.notation import clock
from atlaskit.errors import AtlasError, CacheError, FrameError, InputError, reason
from atlaskit.video.readers import Pixels
from atlaskit.video.video import LETTERBOX, SAMPLINGS, Sampling, Video, read_frames

Fit = Literal["contain", "stretch"]
Labels = Literal["none", "index", "time"]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

DEAD = (0, 0, 0)
UNREADABLE = (110, 30, 60)
TILE_QUALITY, IMAGE_QUALITY = 95, 90
WIDEST_PX = 8192
"""Pixels of the side of the largest view; more than models take, and less than Pillow suspects of being a bomb."""
SHOWN_PX = 960
"""Width at which a notebook shows an image."""


class LazyImage(ABC):
    """An image that is made when it is first looked at. In a notebook, it displays itself."""

    cache: Cache

    @property
    @abstractmethod
    def key(self) -> str:
        """The hash of all that the image is made of."""

    @property
    @abstractmethod
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""

    @abstractmethod
    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        """Make the image, and a note that is kept with it; `passing` in it says not to keep them."""

    def jpeg(self) -> bytes:
        """Return the image as JPEG bytes."""
        return self.cache.remember(self.key, self._made, fits=self._fits)

    def _made(self) -> bytes:
        image, note = self._paint()
        jpeg = _to_jpeg(image, IMAGE_QUALITY, comment=json.dumps(note).encode())
        return Transient(jpeg) if note.get("passing") else jpeg  # what could not be read just now may be readable later

    def _fits(self, jpeg: bytes) -> bool:
        """Tell whether that is such an image: a stranger's cache may hold anything."""
        try:
            image = Image.open(io.BytesIO(jpeg), formats=["JPEG"])
            return image.size == self.size and isinstance(note_in(image), dict)
        except (OSError, ValueError, KeyError, RecursionError):
            return False

    def _note(self) -> dict[str, Any]:
        """Return the note that is kept with the image."""
        return note_in(Image.open(io.BytesIO(self.jpeg())))

    def png(self) -> bytes:
        """Return the image as PNG bytes."""
        buffer = io.BytesIO()
        self.image.save(buffer, "PNG")
        return buffer.getvalue()

    @property
    def image(self) -> Image.Image:
        """The image."""
        image = Image.open(io.BytesIO(self.jpeg()))
        try:
            image.load()  # not `convert`, which takes as long again to copy what is in that mode already
        except (OSError, ValueError) as error:  # whole as an entry, and no image: somebody put it there
            raise CacheError(f"{self.cache} holds a broken image ({reason(error)}): prune its images.") from error
        return image

    def small(self, size: tuple[int, int]) -> Image.Image:
        """Return the image in at most that size, in its own shape."""
        image = Image.open(io.BytesIO(self.jpeg()), formats=["JPEG"])
        image.draft("RGB", size)  # a decoder that makes a smaller picture at once is many times quicker
        shrunk = image.convert("RGB")
        shrunk.thumbnail(size, Image.Resampling.LANCZOS)
        return shrunk

    def _repr_jpeg_(self) -> tuple[bytes, dict[str, int]] | None:
        try:
            return self.jpeg(), {"width": min(self.size[0], SHOWN_PX)}
        except (AtlasError, OSError):  # a notebook shows why, in words, in the same place (`displays`)
            return None


@dataclass(frozen=True)
class View(LazyImage):
    """A grid of frames, one a cell: by the paper's rule, the frame shown at the cell's midpoint.

    A dead cell is black and nothing else is; a cell whose frame cannot be decoded is hatched and says so. Frames
    keep their shape on a mid-grey ground (`fit="contain"`) or fill the cell (`fit="stretch"`, as in the paper).
    """

    video: Video
    grid: Grid
    cell: int = 320
    """Width and height of a cell in pixels."""
    fit: Fit = "contain"
    labels: Labels = "none"
    """What is burned into a cell's corner: nothing, its index, or its time."""
    dead: frozenset[int] = frozenset()
    """The cells that are blacked out."""
    sampling: Sampling = "midpoint"
    """Which frame stands for a cell: `Video.representative_time` has the rules."""
    cache: Cache = field(default_factory=default_cache, compare=False)

    def __post_init__(self) -> None:
        if self.cell < 16:
            raise InputError(f"A cell is at least 16 pixels wide, got {self.cell}.")
        if self.grid.k * self.cell > WIDEST_PX:
            side = f"{self.grid.k} × {self.cell} = {self.grid.k * self.cell}"
            raise InputError(f"A view is at most {WIDEST_PX} pixels wide, got {side}: take fewer or smaller cells.")
        if self.fit not in ("contain", "stretch"):
            raise InputError(f'fit is "contain" or "stretch", got {self.fit!r}.')
        if self.labels not in ("none", "index", "time"):
            raise InputError(f'labels is "none", "index" or "time", got {self.labels!r}.')
        if self.sampling not in SAMPLINGS:
            raise InputError(f"sampling is one of {', '.join(SAMPLINGS)}, got {self.sampling!r}.")
        if self.grid.end_s > self.video.duration_s:
            self.video.check_time(self.grid.end_s)

    @property
    def key(self) -> str:
        """The view's recipe."""
        return view_key(
            self.video.fingerprint,
            start_s=self.grid.start_s,
            end_s=self.grid.end_s,
            k=self.grid.k,
            cell=self.cell,
            fit=self.fit,
            labels=self.labels,
            dead=self.dead,
            sampling=self.sampling,
        )

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.grid.k * self.cell, self.grid.k * self.cell

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The grid's cells."""
        return self.grid.cells

    @property
    def moments(self) -> tuple[float, ...]:
        """The second of each cell's frame. Where keyframes are looked for, that is kept too: it decodes nothing, but
        reads the file."""
        if self.sampling == "midpoint":
            return tuple(cell.midpoint_s for cell in self.cells)
        grid, video = self.grid, self.video

        def look() -> bytes:
            try:
                found = [video.representative_time(cell.start_s, cell.end_s, self.sampling) for cell in self.cells]
            except FrameError:  # looking at the middles will say so
                return Transient(canonical_json([cell.midpoint_s for cell in self.cells]).encode())
            return canonical_json(found).encode()

        key = moments_key(video.fingerprint, start_s=grid.start_s, end_s=grid.end_s, k=grid.k, sampling=self.sampling)
        return tuple(json.loads(self.cache.remember(key, look, fits=lambda found: _are_moments(found, grid))))

    @property
    def unreadable(self) -> frozenset[int]:
        """The cells whose frame could not be decoded. Looking this up makes the image."""
        return frozenset(self._note().get("unreadable", ()))

    def expand(self, index: int) -> View:
        """Return the view of one cell's interval, a level deeper; dead cells are not carried over."""
        return replace(self, grid=self.grid.expand(index), dead=frozenset())

    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        alive, moments = [cell for cell in self.cells if cell.index not in self.dead], self.moments
        times_s = [moments[cell.index] for cell in alive]
        tiles, passing = read_tiles(self.video, times_s, self.cell, self.fit, self.cache)
        sheet = Image.new("RGB", self.size, DEAD)
        unreadable = []
        for cell, tile in zip(alive, tiles, strict=True):
            row, column = divmod(cell.index, self.grid.k)
            if tile is None:
                unreadable.append(cell.index)
            tile = tile or _unreadable_tile(self.cell)
            if self.labels != "none":
                text = str(cell.index) if self.labels == "index" else clock(moments[cell.index])
                burn(tile, (0, 0), text, max(10, self.cell // 14))
            sheet.paste(tile, (column * self.cell, row * self.cell))
        return sheet, {"unreadable": unreadable, "passing": passing}


@dataclass(frozen=True)
class Sheet(LazyImage):
    """The scratchpad as one image: each item's frame, with its label, time and subtitle burned in (paper §3.1)."""

    video: Video
    scratchpad: Scratchpad
    cell: int = 320
    fit: Fit = "contain"
    cache: Cache = field(default_factory=default_cache, compare=False)

    @property
    def key(self) -> str:
        """The sheet's recipe: what is seen of each item."""
        items = [(item.label, item.timestamp_s, item.subtitle) for item in self.scratchpad]
        return sheet_key(self.video.fingerprint, items, self.cell, self.fit)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        columns = max(1, math.ceil(math.sqrt(len(self.scratchpad))))
        rows = max(1, math.ceil(len(self.scratchpad) / columns))
        return columns * self.cell, rows * self.cell

    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        times = [item.timestamp_s for item in self.scratchpad]
        tiles, passing = read_tiles(self.video, times, self.cell, self.fit, self.cache)
        sheet = Image.new("RGB", self.size, LETTERBOX)
        columns = self.size[0] // self.cell
        for place, (item, tile) in enumerate(zip(self.scratchpad, tiles, strict=True)):
            tile = tile or _unreadable_tile(self.cell)
            self._annotate(tile, item)
            row, column = divmod(place, columns)
            sheet.paste(tile, (column * self.cell, row * self.cell))
        return sheet, {"items": len(self.scratchpad), "passing": passing}

    def _annotate(self, tile: Image.Image, item: Evidence) -> None:
        burn(tile, (0, 0), f"[{item.label}] {clock(item.timestamp_s)}", max(11, self.cell // 14))
        points = max(10, self.cell // 18)
        lines = wrap(item.subtitle, font(points), self.cell - points)[:3]
        for i, line in enumerate(reversed(lines)):
            burn(tile, (0, self.cell - (i + 1) * round(points * 1.5)), line, points)


@dataclass(frozen=True)
class Still(LazyImage):
    """One frame at the video's own size; hatched, and saying so, where it cannot be decoded."""

    video: Video
    time_s: float
    cache: Cache = field(default_factory=default_cache, compare=False)

    @property
    def key(self) -> str:
        """The frame's recipe."""
        video, time_s = self.video.locate(self.time_s)
        return still_key(video.fingerprint, time_s)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.video.locate(self.time_s)[0].size

    @property
    def unreadable(self) -> bool:
        """Whether the frame could not be decoded. Looking this up makes the image."""
        return bool(self._note().get("unreadable"))

    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        video, time_s = self.video.locate(self.time_s)
        (frame,) = video.try_frames([time_s])
        if isinstance(frame, FrameError):
            note = {"unreadable": True, "passing": not frame.is_lasting}
            return _unreadable_tile(min(self.size)).resize(self.size), note
        return Image.fromarray(frame), {"unreadable": False}


def view(
    video: Video,
    *,
    k: int = 8,
    cell: int = 320,
    fit: Fit = "contain",
    labels: Labels = "none",
    sampling: Sampling = "midpoint",
    cache: Cache | None = None,
) -> View:
    """Return the contact sheet of a whole video: its root grid S_0, lazily."""
    root = Grid(0.0, video.duration_s, k)
    return View(video, root, cell, fit, labels, sampling=sampling, cache=cache or default_cache())


def read_tiles(
    video: Video, times_s: Sequence[float], cell: int, fit: Fit, cache: Cache
) -> tuple[list[Image.Image | None], bool]:
    """Return the frames at some times as squares of `cell` pixels, None where one cannot be decoded; and whether one
    could just not be read now.

    Each is kept by itself, by the file it is of and the time in that file, so that another view of the same moment,
    or another playlist with the same clip, decodes nothing.
    """
    located = [video.locate(time_s) for time_s in times_s]
    wanted = [(part, local_s, _fitted(part.size, cell, fit)) for part, local_s in located]

    def decode(places: list[int]) -> list[bytes]:
        # Through JPEG also the first time, so that an image is the same whoever decoded its tiles.
        frames = read_frames([wanted[place] for place in places])
        return [_no_tile(frame) if isinstance(frame, FrameError) else _tile(frame) for frame in frames]

    keys = [tile_key(part.fingerprint, local_s, size) for part, local_s, size in wanted]
    tiles = cache.remember_all(keys, decode, fits=_is_tile)
    passing = any(isinstance(tile, Transient) for tile in tiles)
    return [_boxed(Image.open(io.BytesIO(tile)), cell) if tile else None for tile in tiles], passing


def are_readable(video: Video, times_s: Sequence[float], cell: int, fit: Fit, cache: Cache) -> list[bool]:
    """Tell of some moments whether their frames can be decoded.

    That is kept apart from the tiles, and tiny: a recording of a run has it without having any picture.
    """
    located = [video.locate(time_s) for time_s in times_s]

    def look(places: list[int]) -> list[bytes]:
        tiles, passing = read_tiles(video, [times_s[place] for place in places], cell, fit, cache)
        told = [b"1" if tile else b"0" for tile in tiles]
        return [Transient(each) for each in told] if passing else told

    keys = [readable_key(part.fingerprint, local_s) for part, local_s in located]
    return [told == b"1" for told in cache.remember_all(keys, look, fits=lambda told: told in (b"0", b"1"))]


def _tile(frame: Pixels) -> bytes:
    return _to_jpeg(Image.fromarray(frame), TILE_QUALITY)


def _no_tile(error: FrameError) -> bytes:
    """Return what stands for a frame that cannot be decoded: kept where the content decides that."""
    return b"" if error.is_lasting else Transient()


def _is_tile(tile: bytes) -> bool:
    try:
        return not tile or max(Image.open(io.BytesIO(tile), formats=["JPEG"]).size) <= WIDEST_PX
    except (OSError, ValueError):
        return False


def _are_moments(found: bytes, grid: Grid) -> bool:
    """Tell whether these are seconds of a grid's cells: a stranger's cache may hold anything."""
    try:
        moments = json.loads(found)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(moments, list)
        and len(moments) == grid.size
        and all(type(moment) is float and grid.start_s <= moment < grid.end_s for moment in moments)
    )


def note_in(image: Image.Image) -> dict[str, Any]:
    """Return the note that is kept in a picture: which cells are `unreadable`, whether it is `passing`."""
    note: dict[str, Any] = json.loads(image.info["comment"])
    return note


def _fitted(size: tuple[int, int], cell: int, fit: Fit) -> tuple[int, int]:
    if fit == "stretch":
        return cell, cell
    scale = cell / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _boxed(tile: Image.Image, cell: int) -> Image.Image:
    box = Image.new("RGB", (cell, cell), LETTERBOX)
    box.paste(tile, ((cell - tile.width) // 2, (cell - tile.height) // 2))
    return box


def _unreadable_tile(cell: int) -> Image.Image:
    tile = Image.new("RGB", (cell, cell), LETTERBOX)
    draw = ImageDraw.Draw(tile)
    for offset in range(-cell, cell, max(8, cell // 12)):
        draw.line([(offset, cell), (offset + cell, 0)], fill=UNREADABLE, width=max(2, cell // 60))
    burn(tile, (cell // 8, cell // 2 - cell // 16), "unreadable", max(10, cell // 8))
    return tile


@lru_cache(maxsize=32)
def font(points: int) -> Font:
    """Return Pillow's own font at a size."""
    return ImageFont.load_default(points)


def burn(tile: Image.Image, corner: tuple[int, int], text: str, points: int) -> None:
    """Write white on a dark plate, so that it reads on any frame."""
    draw, letters = ImageDraw.Draw(tile), font(points)
    x, y = corner[0] + points // 3, corner[1] + points // 6
    left, _, right, _ = draw.textbbox((x, y), text, font=letters)
    plate = (left - points // 3, corner[1], right + points // 3, corner[1] + round(points * 1.4))
    draw.rectangle(plate, fill=(24, 28, 36))
    draw.text((x, y), text, fill=(255, 255, 255), font=letters)


def wrap(text: str, letters: Font, width: int) -> list[str]:
    """Return a text as lines of at most so many pixels; a word that is longer has a line of its own."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if letters.getlength(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return [line for line in lines if line]


def _to_jpeg(image: Image.Image, quality: int, comment: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, subsampling=0, comment=comment)
    return buffer.getvalue()
