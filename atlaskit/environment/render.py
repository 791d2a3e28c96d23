"""`view`, `View`, `Sheet`, `Still` and `Frame`: compose the images that agents see from tiles.

The key of an image is known before anything is decoded. This module knows nothing of models, which
see only images with a key, a size and JPEG bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from PIL import Image

from atlaskit.caching.cache import Cache, Transient, default_cache
from atlaskit.caching.keys import Kind, canonical_json, is_json, microseconds
from atlaskit.environment.grid import Cell, Grid, clock
from atlaskit.environment.image import (
    DEAD,
    GUTTER,
    LazyImage,
    burn,
    font,
    hatch,
    is_jpeg,
    points_for,
    strip_of,
    unreadable_tile,
    wrap,
)
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.tiles import PATCH_PX, TILE, Fit, Labels, Look, read_tiles
from atlaskit.errors import FrameError
from atlaskit.video.collection import Collection
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.readers import LETTERBOX
from atlaskit.video.shots import Shots
from atlaskit.video.video import Sampling, Video

VIEW = Kind("view", 2, lambda _, value: is_jpeg(value), is_image=True)
"""The image of a grid. Not in the key: depth and path, which the interval determines; dead zones
beyond the dead cells; and the patch of native cells, which the size of the cells reflects."""
SHEET = Kind("sheet", 2, lambda _, value: is_jpeg(value), is_image=True)
"""The image of a scratchpad. Not in the key: description and confidence, which it does not show."""
STILL = Kind("still", 2, lambda _, value: is_jpeg(value), is_image=True)
MOMENTS = Kind("moments", 2, is_json(list))
"""Times of a grid's representative frames. Not in the key: how the grid is drawn."""


Found = TypeVar("Found")


@dataclass(frozen=True)
class View(LazyImage):
    """The image of a grid: the representative frame of each cell (paper §3.1).

    Only dead cells are black; if the look is ruled (see `Look`), they are also hatched and have no
    number. A cell whose frame cannot be decoded is hatched in another colour, with the word
    "unreadable".

    Raises:
        InputError: The image would be too small or too large, an option is unknown, or the grid
            exceeds the video.
    """

    video: Video
    grid: Grid
    look: Look = Look()
    dead: frozenset[int] = frozenset()
    """Indices of the dead cells."""
    cache: Cache = field(default_factory=default_cache, compare=False)
    first: int = 0
    """The number that labels give to the first cell. The numbers of a context scan, or of a further
    view in one prompt, go on where those of the view before it end."""

    def __post_init__(self) -> None:
        self.look.check(self.grid.k)
        # The end is exclusive, so it may equal the duration, which `check_time` refuses.
        if self.grid.end_s > self.video.duration_s:
            self.video.check_time(self.grid.end_s)

    def __repr__(self) -> str:
        grid = self.grid
        dead = f", {len(self.dead)} dead" if self.dead else ""
        return (
            f"<view of {self.video!r}, {clock(grid.start_s)}–{clock(grid.end_s)}, depth "
            f"{grid.depth}, {grid.k}×{grid.k} cells of {self.look.cell} px{dead}>"
        )

    @property
    def key(self) -> str:
        """Hash of everything that the image is made of."""
        first = {"first": self.first} if self.first else {}
        return VIEW.key(
            tiles=TILE.version,
            video=self.video.fingerprint,
            start_s=self.grid.start_s,
            end_s=self.grid.end_s,
            k=self.grid.k,
            **self.look.key(self.cell_size),
            labels=self.look.labels,
            dead=sorted(self.dead),
            sampling=self.look.sampling,
            **first,
            **self._unequal,
        )

    @property
    def _unequal(self) -> dict[str, Any]:
        """The part of a key that marks unequal cells; video and interval determine their edges."""
        return {"edges": True} if self.grid.is_uneven else {}

    @property
    def cell_size(self) -> tuple[int, int]:
        """(width, height) of a cell in pixels."""
        return self.look.cell_size(self.video.size, self.grid.k, self.grid.k)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels; with native cells, whole patches."""
        width, height = self.cell_size
        return self.grid.k * width, self.grid.k * height

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the grid, in row-major order."""
        return self.grid.cells

    @property
    def moments(self) -> tuple[float, ...]:
        """Time in seconds of each cell's frame.

        With the sampling "midpoint" it is the cell's midpoint. "keyframe" searches the file for
        keyframes, without decoding. "shots" decodes frames once for each video (see `Video.shots`).
        The times are cached.
        """
        if self.look.sampling == "midpoint":
            return tuple(cell.midpoint_s for cell in self.cells)
        grid = self.grid
        key = MOMENTS.key(
            video=self.video.fingerprint,
            start_s=grid.start_s,
            end_s=grid.end_s,
            **self._unequal,
            k=grid.k,
            sampling=self.look.sampling,
        )
        entry = self.cache.remember(
            key, self._find_moments, fits=lambda found: _are_moments(found, grid)
        )
        return tuple(json.loads(entry))

    @property
    def _intervals(self) -> list[tuple[float, float]]:
        """The intervals of the cells in seconds."""
        return [(cell.start_s, cell.end_s) for cell in self.cells]

    def _find_moments(self) -> bytes:
        """Return the times of the cells' frames as a cache entry."""
        try:
            found = self.video.moments(self._intervals, self.look.sampling, self.cache)
        except FrameError:  # the midpoints are not cached; decoding their frames reports the error
            return Transient(canonical_json([cell.midpoint_s for cell in self.cells]).encode())
        entry = canonical_json(found).encode()
        if self.look.sampling == "shots":
            for time_s in found:
                file, _ = self.video.locate(time_s)
                if file.is_stand_in:  # the shots of the real file may differ
                    return Transient(entry)
        return entry

    @cached_property
    def _shots(self) -> Shots | None:
        """The shots of the video; None with another sampling, or if they cannot be found."""
        if self.look.sampling != "shots":
            return None
        try:
            return self.video.shots_in(self._intervals, self.cache)
        except FrameError:  # decoding the frames of the cells reports the error
            return None

    @cached_property
    def hidden_cuts(self) -> dict[int, tuple[float, ...]]:
        """Times in seconds of the hidden cuts of each cell, by the cell's index.

        These are the cuts inside the cell, except those at the ends of the shot that it shows. Dead
        cells and cells without hidden cuts are left out. Without the sampling "shots", cuts are not
        known and the dictionary is empty.
        """
        return self._by_cell(
            lambda shots, cell, shown_s: shots.hidden(cell.start_s, cell.end_s, shown_s)
        )

    @cached_property
    def hidden_shots(self) -> dict[int, tuple[tuple[float, float], ...]]:
        """The hidden shots of each cell, (start_s, end_s), by the cell's index.

        A hidden shot lies between two cuts inside the cell, and the cell does not show it. Dead
        cells and cells without hidden shots are left out. Without the sampling "shots", the
        dictionary is empty.
        """
        return self._by_cell(
            lambda shots, cell, shown_s: shots.unshown(cell.start_s, cell.end_s, shown_s)
        )

    @cached_property
    def short_shots(self) -> dict[int, tuple[float, float]]:
        """The shown shots that are shorter than their cell, (start_s, end_s), by the cell's index.

        The ends of a shot are known only if it lies between two cuts, and only with the sampling
        "shots".
        """

        def short(shots: Shots, cell: Cell, shown_s: float) -> tuple[float, float] | None:
            edges_s = shots.around(shown_s)
            is_between_cuts = len(edges_s) == 2 and edges_s[0] <= shown_s
            if not is_between_cuts or edges_s[1] - edges_s[0] >= cell.span_s:
                return None
            return edges_s[0], edges_s[1]

        return self._by_cell(short)

    def _by_cell(self, find: Callable[[Shots, Cell, float], Found | None]) -> dict[int, Found]:
        """Return a finding about each cell that is not dead, by its index, without empty findings.

        Args:
            find: Returns the finding about a cell from the video's shots, the cell, and the time of
                the cell's frame.
        """
        shots = self._shots
        if shots is None:
            return {}
        found = dict[int, Found]()
        for cell, shown_s in zip(self.cells, self.moments, strict=True):
            value = find(shots, cell, shown_s)
            if value and cell.index not in self.dead:
                found[cell.index] = value
        return found

    @property
    def unreadable(self) -> frozenset[int]:
        """Indices of the cells whose frame cannot be decoded; reading it may render the image."""
        if self.video.is_drawn:
            return frozenset()
        return frozenset(self._note().get("unreadable", ()))

    def expand(self, index: int) -> View:
        """Return the view of one cell's grid, one depth further down, without dead cells."""
        return replace(self, grid=self.grid.expand(index), dead=frozenset())

    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        look = self.look
        size = look.frame_size(self.cell_size)
        alive = [cell for cell in self.cells if cell.index not in self.dead]
        moments_s = self.moments
        times_s = [moments_s[cell.index] for cell in alive]
        tiles, is_passing = read_tiles(self.video, times_s, size, look.fit, self.cache)
        image = Image.new("RGB", self.size, GUTTER if look.ruled else DEAD)
        unreadable = list[int]()
        for cell, time_s, tile in zip(alive, times_s, tiles, strict=True):
            if tile is None:
                unreadable.append(cell.index)
                tile = unreadable_tile(size)
            left, top = self._corner(cell.index)
            if look.ruled:
                image.paste(self._strip(cell.index, time_s, size[0]), (left, top))
            elif look.labels != "none":
                text = str(cell.index) if look.labels == "index" else time_text(time_s, look)
                burn(tile, (0, 0), text, max(10, points_for(self.cell_size, 14)))
            image.paste(tile, (left, top + look.strip))
        if look.ruled:
            blank = Image.new("RGB", (size[0], size[1] + look.strip), DEAD)
            hatch(blank, GUTTER)
            for index in self.dead:
                image.paste(blank, self._corner(index))
        return image, {"unreadable": unreadable, "passing": is_passing}

    def _corner(self, index: int) -> tuple[int, int]:
        """Return the left and top edge of a cell in pixels."""
        row, column = divmod(index, self.grid.k)
        width, height = self.cell_size
        return column * width, row * height

    def _strip(self, index: int, time_s: float, width: int) -> Image.Image:
        """Return the strip above a cell's frame: its number, its hidden cuts, and the time."""
        number = ""
        time = ""
        if self.look.labels != "none":
            number = str(self.first + index)
            time = time_text(time_s, self.look)
        cuts_s = self.hidden_cuts.get(index)
        if cuts_s:
            number = f"{number}  +{len(cuts_s)}".strip()
        return strip_of(number, (width, self.look.strip), time)


@dataclass(frozen=True)
class Sheet(LazyImage):
    """The image of a scratchpad: evidence frames with labels, times and subtitles (paper §3.1)."""

    video: Video
    scratchpad: Scratchpad
    look: Look = Look()
    cache: Cache = field(default_factory=default_cache, compare=False)

    def __repr__(self) -> str:
        return f"<sheet of {self.video!r}, evidence: {len(self.scratchpad)}>"

    @property
    def key(self) -> str:
        """Hash of the image's recipe, which holds only the drawn parts of each item."""
        items = [(item.label, item.timestamp_s, item.subtitle) for item in self.scratchpad]
        labels = {"labels": "seconds"} if self.look.labels == "seconds" else {}
        return SHEET.key(
            tiles=TILE.version,
            video=self.video.fingerprint,
            items=items,
            **self.look.key(self.cell_size),
            **labels,
        )

    @cached_property
    def strips(self) -> int:
        """Lines of text beside each frame, for its label and subtitle; 0 if text covers the frame.

        The number depends on the length of the longest subtitle, not on the font, which differs
        between versions of Pillow.
        """
        if not self.look.ruled:
            return 0
        # A letter counts as half as wide as a strip is high.
        letters = max((len(item.subtitle) for item in self.scratchpad), default=0)
        return 1 + min(3, math.ceil(letters * self.look.strip / (2 * self.look.cell)))

    @property
    def cell_size(self) -> tuple[int, int]:
        """(width, height) of a frame's cell in pixels."""
        return self.look.cell_size(self.video.size, *self._shape, self.strips)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        columns, rows = self._shape
        width, height = self.cell_size
        return columns * width, rows * height

    @property
    def _shape(self) -> tuple[int, int]:
        """The numbers of columns and rows of frames."""
        return squared(len(self.scratchpad))

    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        times_s = self.scratchpad.times_s
        look = self.look
        size = look.frame_size(self.cell_size, self.strips)
        tiles, is_passing = read_tiles(self.video, times_s, size, look.fit, self.cache)
        image = Image.new("RGB", self.size, GUTTER if look.ruled else LETTERBOX)
        columns, _ = self._shape
        width, height = self.cell_size
        for place, (item, tile) in enumerate(zip(self.scratchpad, tiles, strict=True)):
            row, column = divmod(place, columns)
            left = column * width
            top = row * height
            shown = tile or unreadable_tile(size)
            if look.ruled:
                above, *below = self._strips_of(item, size[0])
                image.paste(above, (left, top))
                for number, strip in enumerate(below, start=1):
                    image.paste(strip, (left, top + size[1] + number * look.strip))
            else:
                self._annotate(shown, item)
            image.paste(shown, (left, top + look.strip))
        return image, {"items": len(self.scratchpad), "passing": is_passing}

    def _strips_of(self, item: Evidence, width: int) -> list[Image.Image]:
        """Return the strips of a frame: label and time above it, then the subtitle below it."""
        strip = self.look.strip
        most = self.strips - 1
        lines = wrap(item.subtitle, font(max(8, round(strip * 0.8))), width - strip)
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
        lines += [""] * (most - len(lines))
        above = strip_of(f"[{item.label}]", (width, strip), time_text(item.timestamp_s, self.look))
        strips = [above]
        for line in lines:
            strips.append(strip_of(line, (width, strip)))
        return strips

    def _annotate(self, tile: Image.Image, item: Evidence) -> None:
        """Burn the label and time into the top of a tile, the subtitle into its bottom.

        A long subtitle gets three lines at most, and fewer on a tile that is wider than high,
        since they would hide the frame. Prompts hold the whole subtitle.
        """
        label = f"[{item.label}] {clock(item.timestamp_s)}"
        burn(tile, (0, 0), label, max(11, points_for(tile.size, 14)))
        points = max(10, points_for(tile.size, 18))
        most = max(1, min(3, 3 * tile.height // tile.width))
        lines = wrap(item.subtitle, font(points), tile.width - points)
        # Sheets with square cells get no mark, so that they stay like those of earlier runs.
        if len(lines) > most and self.look.fit == "native":
            lines[most - 1] += " …"
        for place, line in enumerate(reversed(lines[:most]), start=1):
            burn(tile, (0, tile.height - place * round(points * 1.5)), line, points)


@dataclass(frozen=True)
class Still(LazyImage):
    """One frame at full resolution; hatched and marked "unreadable" if it cannot be decoded."""

    video: Video
    time_s: float
    cache: Cache = field(default_factory=default_cache, compare=False)

    @property
    def key(self) -> str:
        """Hash of the file's fingerprint and the time in that file."""
        video, time_s = self.video.locate(self.time_s)
        return STILL.key(video=video.fingerprint, time_us=microseconds(time_s))

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.video.locate(self.time_s)[0].size

    @property
    def unreadable(self) -> bool:
        """Whether the frame cannot be decoded. Reading it renders the image."""
        return bool(self._note().get("unreadable"))

    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        video, time_s = self.video.locate(self.time_s)
        (frame,) = video.try_frames([time_s])
        if isinstance(frame, FrameError):
            note = {"unreadable": True, "passing": not frame.is_lasting}
            side = min(self.size)
            return unreadable_tile((side, side)).resize(self.size), note
        note = {"unreadable": False}
        if video.is_stand_in:
            note["passing"] = True
        return Image.fromarray(frame), note


@dataclass(frozen=True)
class Frame(LazyImage):
    """One frame in the size of a cell; hatched and marked "unreadable" if it cannot be decoded.

    Raises:
        InputError: The image would be too small or too large, the fit is unknown, or the time is
            outside the video.
    """

    video: Video
    time_s: float
    look: Look = Look()
    cache: Cache = field(default_factory=default_cache, compare=False)

    def __post_init__(self) -> None:
        self.look.check(1)
        self.video.check_time(self.time_s)

    @property
    def key(self) -> str:
        """Hash of the file's fingerprint, the time in that file, and the size."""
        video, time_s = self.video.locate(self.time_s)
        scaled = {"tiles": TILE.version, "cell": self.size, "fit": self.look.fit}
        return STILL.key(video=video.fingerprint, time_us=microseconds(time_s), **scaled)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.look.cell_size(self.video.size, 1, 1)

    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        (tile,), is_passing = read_tiles(
            self.video, [self.time_s], self.size, self.look.fit, self.cache
        )
        note = {"unreadable": tile is None, "passing": is_passing}
        return tile or unreadable_tile(self.size), note


def view(
    video: AnyVideo,
    *,
    k: int = 8,
    cell: int = 320,
    fit: Fit = "native",
    labels: Labels = "none",
    sampling: Sampling = "shots",
    patch: int = PATCH_PX,
    cache: Cache | None = None,
) -> View:
    """Return the view of the root grid of a video: its contact sheet, rendered on first use.

    Args:
        video: The video, its file, or a list of files.
        k: Cells in a row and in a column.
        cell: Width and height of a cell in pixels; of a native cell, the longer of the two.
        fit: "native" gives cells the video's shape, "contain" keeps a frame's aspect ratio on a
            grey square, and "stretch" fills the square.
        labels: Text in the corner of a cell: "none", "index" or "time".
        sampling: Which frame represents a cell: "shots" takes the shot in the cell that is least
            like the film around it; see `Video.moment` for the others.
        patch: Side of a model's image token in pixels; native cells are rounded to multiples of it.
        cache: Where images are read from and stored; None means the default cache.

    Raises:
        InputError: The image would be too small or too large, or an option is unknown.

    Examples:
        >>> view = ak.view("match.mp4", k=4, cell=64)
        >>> view.size
        (256, 160)
        >>> view.expand(5).grid.start_s
        37.5
    """
    video = as_video(video, cache)
    root = root_grid(video, 0.0, video.duration_s, k)
    look = Look(cell, fit, patch, sampling, labels)
    return View(video, root, look, cache=cache or default_cache())


def root_grid(video: Video, start_s: float, end_s: float, k: int) -> Grid:
    """Return the root grid over an interval of a video; cells of a collection begin with films."""
    grid = Grid(start_s, end_s, k)
    if not isinstance(video, Collection):
        return grid
    return replace(grid, edges=video.cell_edges(start_s, end_s, k))


Drawn = TypeVar("Drawn", bound="View | Sheet | Frame")


def with_look(image: Drawn, **changes: Any) -> Drawn:
    """Return an image with some fields of its look changed."""
    return replace(image, look=replace(image.look, **changes))


def time_text(time_s: float, look: Look) -> str:
    """Return the time of a frame in the notation of a look's labels."""
    return f"{time_s:.2f} s" if look.labels == "seconds" else clock(time_s)


def squared(count: int) -> tuple[int, int]:
    """Return the columns and rows of a sheet of frames that is about as high as wide."""
    columns = max(1, math.ceil(math.sqrt(count)))
    return columns, max(1, math.ceil(count / columns))


def _are_moments(found: bytes, grid: Grid) -> bool:
    """Return whether cached bytes are times of the cells: a foreign cache may hold anything."""
    try:
        moments = json.loads(found)
    except (ValueError, RecursionError):
        return False
    if not isinstance(moments, list) or len(moments) != grid.size:
        return False
    return all(type(moment) is float and grid.start_s <= moment < grid.end_s for moment in moments)
