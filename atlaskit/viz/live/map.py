"""The map of a run at one moment: its root grid in small, what is ruled out in black, who is where, and what was found.

The frames come out of the cache, or are decoded once; what changes from moment to moment is painted over them. No
colour stands alone: a worker's cell bears its number, a frame of evidence its label.
"""

from __future__ import annotations

from PIL import Image, ImageDraw

from atlaskit.environment.atlas import Atlas
from atlaskit.environment.drawing import DEAD, burn, font
from atlaskit.environment.grid import Cell, Grid
from atlaskit.environment.mdp import dead_cells
from atlaskit.errors import AtlasError, printable, reason
from atlaskit.viz.html.phrases import spans_text
from atlaskit.viz.live.snapshots import Snapshot, Visit

Colour = tuple[int, int, int]

COLOURS: tuple[Colour, ...] = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (204, 121, 167),
    (240, 228, 66),
    (213, 94, 0),
)
"""Of workers, by their numbers; they stand out on frames (Okabe–Ito)."""
EMPTY, LINE, WHITE, INK = (205, 209, 214), (128, 133, 140), (255, 255, 255), (24, 28, 36)
MOST_LABELS = 3
"""Written in one cell; of more, how many."""


class RunMap:
    """Paints the root grid of one run, at most `side_px` wide and high."""

    def __init__(self, atlas: Atlas, side_px: int) -> None:
        self._view = atlas.observe(atlas.start()).view
        self._grid: Grid = self._view.grid
        self._side_px = side_px
        self._frames: Image.Image | None = None
        self.trouble = ""
        """Why there are no frames in it, if they cannot be had."""

    @property
    def duration_s(self) -> float:
        """How long the video is."""
        return self._grid.end_s

    @property
    def has_frames(self) -> bool:
        """Whether there is nothing left to look up."""
        return self._frames is not None or bool(self.trouble)

    def look(self) -> None:
        """Look the frames up, or decode them: that may take a while. A map whose frames cannot be had is grey."""
        try:
            self._frames = self._view.small((self._side_px, self._side_px))
        except (AtlasError, OSError) as error:
            self.trouble = printable(reason(error), 300)

    def paint(self, moment: Snapshot) -> Image.Image:
        """Return the map at a moment."""
        side = self._side_px
        image = Image.new("RGB", (side, side), EMPTY) if self._frames is None else self._frames.copy()
        image = image.resize((side, side)) if image.size != (side, side) else image
        pen = ImageDraw.Draw(image)
        if self._frames is None:
            for cell in self._grid.cells:
                pen.rectangle(self._box(cell), outline=LINE)
        for index in dead_cells(self._grid, moment.memory.dead_zones):
            pen.rectangle(self._box(self._grid.cells[index]), fill=DEAD, outline=(60, 60, 60))
        self._write_labels(image, moment)
        for number, visit in sorted(moment.at_work.items()):
            self._mark(image, pen, number, visit)
        return image

    def told(self, moment: Snapshot) -> str:
        """Return what the map shows, in words."""
        black = sorted(dead_cells(self._grid, moment.memory.dead_zones))
        at = ", ".join(
            f"worker {number} in cell {visit.region[0]}"
            for number, visit in sorted(moment.at_work.items())
            if visit.region
        )
        return (
            f"The map, {self._grid.k}×{self._grid.k} cells over {spans_text([(0.0, self.duration_s)])}: "
            f"{len(black)} cells are ruled out and black; {at or 'no worker is out'}; "
            f"{len(moment.evidence)} frames of evidence."
        )

    def _box(self, cell: Cell) -> tuple[int, int, int, int]:
        """Return where a cell lies in the picture: left, top, right, bottom, the last two in it."""
        row, column = divmod(cell.index, self._grid.k)
        edge = [round(place * self._side_px / self._grid.k) for place in (column, row, column + 1, row + 1)]
        return edge[0], edge[1], max(edge[0], edge[2] - 1), max(edge[1], edge[3] - 1)

    @property
    def _points(self) -> int:
        return max(10, min(16, self._side_px // self._grid.k // 4))

    def _write_labels(self, image: Image.Image, moment: Snapshot) -> None:
        arriving = [item for visit in moment.at_work.values() for item in visit.found]
        named = [
            *((item.timestamp_s, item.label) for item in moment.evidence),
            *((i.timestamp_s, "+") for i in arriving),
        ]
        for cell in self._grid.cells:
            labels = [label for time_s, label in named if cell.start_s <= time_s < cell.end_s]
            if labels:
                more = f" +{len(labels) - MOST_LABELS}" if len(labels) > MOST_LABELS else ""
                left, _, _, bottom = self._box(cell)
                words = printable(" ".join(labels[:MOST_LABELS]), 20) + more
                burn(image, (left + 2, bottom - round(1.4 * self._points) - 2), words, self._points)

    def _mark(self, image: Image.Image, pen: ImageDraw.ImageDraw, number: int, visit: Visit) -> None:
        """Frame the cell that a worker is in, with its number, and a bar for the part of it that it looks at."""
        if not visit.region:
            return
        cell, ink = self._grid.cells[visit.region[0]], COLOURS[number % len(COLOURS)]
        left, top, right, bottom = self._box(cell)
        pen.rectangle((left, top, right, bottom), outline=INK, width=4)
        pen.rectangle((left, top, right, bottom), outline=ink, width=2)
        from_x, to_x = (
            left + round((right - left) * min(1.0, max(0.0, (time_s - cell.start_s) / cell.span_s)))
            for time_s in visit.interval_s
        )
        pen.rectangle((from_x, bottom - 5, max(to_x, from_x + 3), bottom), fill=ink, outline=INK)
        tag(image, (right, top), str(number), self._points, ink)


def tag(image: Image.Image, corner: tuple[int, int], words: str, points: int, ink: Colour) -> None:
    """Write a worker's number on its colour, left of and below a corner."""
    pen, letters = ImageDraw.Draw(image), font(points)
    width = round(letters.getlength(words)) + points // 2
    left, top = corner[0] - width, corner[1]
    pen.rectangle((left, top, corner[0], top + round(1.3 * points)), fill=ink, outline=INK)
    pen.text((left + points // 4, top + points // 8), words, fill=INK, font=letters)
