"""`RunMap`: the small image of the root grid that a live display shows, with workers and evidence
drawn in.

The frames are read from the cache, or decoded once; the changing parts are drawn over them. No
meaning depends on colour alone: a worker's cell has its number, and evidence its label.
"""

from __future__ import annotations

from PIL import Image, ImageDraw

from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Cell, Grid
from atlaskit.environment.image import DEAD, burn, font
from atlaskit.environment.mdp import dead_cells
from atlaskit.errors import AtlasError, printable, reason
from atlaskit.runs.narrate import counted, span_text
from atlaskit.viz.live.snapshots import ActiveVisit, Snapshot

Colour = tuple[int, int, int]

WORKER_COLOURS: tuple[Colour, ...] = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (204, 121, 167),
    (240, 228, 66),
    (213, 94, 0),
)
"""RGB of workers, by number: Okabe–Ito colours, which are distinct on frames."""
EMPTY, GRID_LINE, INK = (205, 209, 214), (128, 133, 140), (24, 28, 36)
"""RGB of missing frames, of the lines between them, and of outlines and text."""
DEAD_OUTLINE = (60, 60, 60)
MAX_LABELS = 3
"""Most labels in one cell; of further ones, their number is shown."""


class RunMap:
    """Draws the root grid of one run as an image of the grid's shape."""

    def __init__(self, atlas: Atlas, side_px: int) -> None:
        """Prepare a map without frames.

        Args:
            atlas: The environment of the run.
            side_px: The longer side of the image in pixels.
        """
        self._view = atlas.observe(atlas.start()).view
        self.grid: Grid = self._view.grid
        """The root grid."""
        width, height = self._view.size
        scale = side_px / max(width, height)
        self.size: tuple[int, int] = round(width * scale), round(height * scale)
        """(width, height) of the image in pixels."""
        self._frames: Image.Image | None = None
        self.problem = ""
        """Why the frames cannot be shown; empty if they can."""

    @property
    def is_loaded(self) -> bool:
        """Whether `load` has been called: the frames are there, or `problem` says why not."""
        return self._frames is not None or bool(self.problem)

    def load(self) -> None:
        """Read the frames from the cache, or decode them, which may be slow.

        If that fails, the cells stay grey, and `problem` has the reason.
        """
        try:
            self._frames = self._view.small(self.size)
        except (AtlasError, OSError) as error:
            self.problem = printable(reason(error), 300)

    def draw(self, snapshot: Snapshot) -> Image.Image:
        """Return the map of a snapshot as an RGB image."""
        image = Image.new("RGB", self.size, EMPTY) if self._frames is None else self._frames.copy()
        image = image.resize(self.size) if image.size != self.size else image
        pen = ImageDraw.Draw(image)
        if self._frames is None:
            for cell in self.grid.cells:
                pen.rectangle(self._box(cell), outline=GRID_LINE)
        for index in dead_cells(self.grid, snapshot.memory.dead_zones):
            pen.rectangle(self._box(self.grid.cells[index]), fill=DEAD, outline=DEAD_OUTLINE)
        self._draw_labels(image, snapshot)
        for worker, visit in sorted(snapshot.visits.items()):
            self._draw_visit(image, pen, worker, visit)
        return image

    def describe(self, snapshot: Snapshot) -> str:
        """Return the map of a snapshot as text."""
        dead = dead_cells(self.grid, snapshot.memory.dead_zones)
        workers = ", ".join(
            f"worker {worker} explores cell {visit.region[0]}"
            for worker, visit in sorted(snapshot.visits.items())
            if visit.region
        )
        return (
            f"The root grid, {self.grid.k}×{self.grid.k} cells over {span_text((0.0, self.grid.end_s))}: "
            f"{counted(len(dead), 'dead cell')} (black); {workers or 'no worker explores'}; "
            f"{counted(len(snapshot.evidence), 'evidence frame')}."
        )

    def _box(self, cell: Cell) -> tuple[int, int, int, int]:
        """Return the left, top, right and bottom pixel of a cell, all inclusive."""
        row, column = divmod(cell.index, self.grid.k)
        corners = zip((column, row, column + 1, row + 1), self.size * 2, strict=True)
        edges = [round(index * side_px / self.grid.k) for index, side_px in corners]
        return edges[0], edges[1], max(edges[0], edges[2] - 1), max(edges[1], edges[3] - 1)

    @property
    def _points(self) -> int:
        return max(10, min(16, min(self.size) // self.grid.k // 4))

    def _draw_labels(self, image: Image.Image, snapshot: Snapshot) -> None:
        """Draw the labels of evidence into its cells, and a plus sign for each pending frame."""
        pending = [item for visit in snapshot.visits.values() for item in visit.found]
        labelled = [
            *((item.timestamp_s, item.label) for item in snapshot.evidence),
            *((item.timestamp_s, "+") for item in pending),
        ]
        for cell in self.grid.cells:
            labels = [label for time_s, label in labelled if cell.start_s <= time_s < cell.end_s]
            if labels:
                more = f" +{len(labels) - MAX_LABELS}" if len(labels) > MAX_LABELS else ""
                left, _, _, bottom = self._box(cell)
                text = printable(" ".join(labels[:MAX_LABELS]), 20) + more
                burn(image, (left + 2, bottom - round(1.4 * self._points) - 2), text, self._points)

    def _draw_visit(self, image: Image.Image, pen: ImageDraw.ImageDraw, worker: int, visit: ActiveVisit) -> None:
        """Outline the cell of a worker, with its number and a bar over the part that it sees."""
        if not visit.region:
            return
        cell, colour = self.grid.cells[visit.region[0]], WORKER_COLOURS[worker % len(WORKER_COLOURS)]
        left, top, right, bottom = self._box(cell)
        pen.rectangle((left, top, right, bottom), outline=INK, width=4)
        pen.rectangle((left, top, right, bottom), outline=colour, width=2)
        start_x, end_x = (
            left + round((right - left) * min(1.0, max(0.0, (time_s - cell.start_s) / cell.span_s)))
            for time_s in visit.interval_s
        )
        pen.rectangle((start_x, bottom - 5, max(end_x, start_x + 3), bottom), fill=colour, outline=INK)
        draw_badge(image, (right, top), str(worker), self._points, colour)


def draw_badge(image: Image.Image, corner: tuple[int, int], text: str, points: int, colour: Colour) -> None:
    """Draw a short text on a coloured plate.

    Args:
        image: Image to draw into.
        corner: Right and top edge of the plate in pixels.
        text: The text, such as the number of a worker.
        points: Font size.
        colour: Colour of the plate.
    """
    pen, typeface = ImageDraw.Draw(image), font(points)
    width = round(typeface.getlength(text)) + points // 2
    left, top = corner[0] - width, corner[1]
    pen.rectangle((left, top, corner[0], top + round(1.3 * points)), fill=colour, outline=INK)
    pen.text((left + points // 4, top + points // 8), text, fill=INK, font=typeface)
