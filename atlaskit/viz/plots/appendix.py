"""`before_after`, `trace_log` and `scratchpad`: one run as in the paper's appendix.

They show the root grid before and after, the exploration log, and the scratchpad. Frames come from
the cache; one that is no longer there is decoded again.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from atlaskit.environment.grid import clock
from atlaskit.environment.image import unreadable_tile
from atlaskit.environment.memory import DeadZones, Evidence
from atlaskit.environment.render import View, with_look
from atlaskit.environment.tiles import read_tiles
from atlaskit.errors import printable
from atlaskit.runs import replay
from atlaskit.runs.result import Result, verdict
from atlaskit.viz.palette import FOUND, INK, MUTED
from atlaskit.viz.plots.logs import log
from atlaskit.viz.plots.style import SMALL_PT, set_title, styled_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH_IN = 7.2
"""Width of every figure here, in inches."""
HEIGHT_IN = 8.6
"""Largest height of a log and of a scratchpad, in inches: they fit on a page."""
VIEW_PX, GAP = 840, 0.04
"""Largest side of a drawn view in pixels; the gap between two views, as a fraction of one."""
MAX_NUMBERED_K = 8
"""Largest K for which the cells of a view are numbered."""
LINE_IN, LINE_CHARS = 0.15, 122
"""Of a log: height of a line in inches, most characters in one."""
MAX_LINES = int(HEIGHT_IN / LINE_IN) - 3
"""Most lines of a log that are drawn."""
MAX_COLUMNS, CAPTION_IN = 4, 0.48
"""Most columns of a scratchpad, and the height of a caption in inches."""


def before_after(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the root grid before the run, and beside it after the run, with dead cells black.

    Raises:
        InputError: The result is that of a baseline, which explores no grid.

    Examples:
        >>> paths = ak.plots.save(ak.plots.before_after(result), "figures", "before_after")
    """
    atlas = replay.atlas_of(result.trace, result.sheet.video, result.sheet.cache)
    zones = DeadZones(), result.dead_zones
    # The figure has labels of its own, which are larger.
    before, after = (with_look(atlas.view(atlas.start(dead_zones=each)), labels="none") for each in zones)
    rounds = f"{result.rounds} round{'' if result.rounds == 1 else 's'}"
    captions = (
        f"(a) Before: {before.grid.size} cells of {before.grid.resolution_s:.3g} s",
        f"(b) After {rounds}: {len(after.dead)} cells black",
    )
    height = before.size[1] / before.size[0]
    with styled_axes(ax, (WIDTH_IN, 3.95 - WIDTH_IN / (2 + GAP) * (1 - height))) as ax:
        for index, (view, caption) in enumerate(zip((before, after), captions, strict=True)):
            left = index * (1 + GAP)
            _draw_view(ax, view, left, height)
            ax.text(left, height + 0.02, caption, fontsize=9, va="bottom")
        ax.set(xlim=(0, 2 + GAP), ylim=(0, height + 0.08), aspect="equal")
        _finish(ax, result.question.text)
    return ax


def trace_log(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the log of a run as a page of text, round by round, with the answer and the cost below.

    A round has the scores of the probe, the region and actions of each worker with the evidence it
    added, the conclusion of the review, and the number of cells that are black afterwards. Of a run
    that does not fit on the page, the beginning and the end are shown; `result.trace` has every
    event.

    Examples:
        >>> paths = ak.plots.save(ak.plots.trace_log(result), "figures", "trace_log")
    """
    lines = [*_fitting(list(_wrap(log(result)))), "", *_wrap(_ending(result))]
    with styled_axes(ax, (WIDTH_IN, LINE_IN * (len(lines) + 3))) as ax:
        for number, line in enumerate(lines):
            spaced = line.replace(" ", "\u00a0")  # SVG collapses consecutive spaces
            look: dict[str, Any] = {"family": "DejaVu Sans Mono", "va": "center", **_line_look(line)}
            _write(ax, (0.0, number + 0.5), spaced, **look)
        ax.set(xlim=(0, 1), ylim=(len(lines), 0))
        _finish(ax, result.question.text)
    return ax


def scratchpad(result: Result, ax: Axes | None = None) -> Axes:
    """Draw each evidence frame with its label, time, confidence, description and subtitle.

    If they do not fit on a page, those of the highest confidence are drawn.

    Examples:
        >>> paths = ak.plots.save(ak.plots.scratchpad(result), "figures", "scratchpad")
    """
    columns = 3 if len(result.evidence) <= 3 else MAX_COLUMNS
    wide, high = (0.96 * side / max(result.sheet.cell_size) for side in result.sheet.cell_size)  # of a frame
    row_height = high + 0.08 + CAPTION_IN * columns / WIDTH_IN  # in widths of a column
    row_in = row_height * WIDTH_IN / columns
    items = result.evidence.surest(columns * max(1, int(HEIGHT_IN / row_in))).items
    rows = max(1, -(-len(items) // columns))
    with styled_axes(ax, (WIDTH_IN, 0.5 + row_in * rows)) as ax:
        for number, (item, tile) in enumerate(zip(items, _tiles(result, items, columns), strict=True)):
            row, column = divmod(number, columns)
            top = row * row_height
            left = column + (1 - wide) / 2
            ax.imshow(tile, extent=(left, left + wide, top + 0.02 + high, top + 0.02), aspect="auto")
            _write_caption(ax, item, (column + 0.02, top + 0.04 + high), columns)
        if not items:
            _write(ax, (0.0, 0.5), "The run collected no evidence.")
        omitted = len(result.evidence) - len(items)
        if omitted:
            note = f"{omitted} more frames, of lower confidence, are not shown."
            _write(ax, (0.0, rows * row_height), note, color=MUTED)
        ax.set(xlim=(0, columns), ylim=(rows * row_height, 0), aspect="equal")
        _finish(ax, result.question.text)
    return ax


def _fitting(lines: list[str]) -> list[str]:
    """Return as many lines of a log as fit on a page: its beginning, a note, its end."""
    room = MAX_LINES - 4  # for the ending
    if len(lines) <= room:
        return lines
    first, last = room * 2 // 3, room - 1 - room * 2 // 3
    return [*lines[:first], f"… {len(lines) - first - last} more lines", *lines[-last:]]


def _line_look(line: str) -> dict[str, str]:
    """Return weight and colour of a line of the log: headings, finds and the rest."""
    if line.startswith("…"):
        return {"color": MUTED, "style": "italic"}
    if line and not line.startswith(" "):
        return {"weight": "bold"}
    return {"color": FOUND} if "  kept [" in line else {"color": MUTED} if "  ruled out" in line else {}


def _draw_view(ax: Axes, view: View, left: float, height: float) -> None:
    """Draw a view from x = `left` to `left` + 1 and from y = 0 to `height`, its cells numbered."""
    k = view.grid.k
    ax.imshow(np.asarray(view.small((VIEW_PX, VIEW_PX))), extent=(left, left + 1, 0, height), aspect="auto")
    for cell in view.grid.cells if k <= MAX_NUMBERED_K else ():
        row, column = divmod(cell.index, k)
        box = {"boxstyle": "square,pad=0.1", "facecolor": INK, "edgecolor": "none", "alpha": 0.75}
        corner = (left + (column + 0.06) / k, height * (1 - (row + 0.06) / k))
        ax.text(*corner, str(cell.index), fontsize=SMALL_PT, color="white", ha="left", va="top", bbox=box)


def _write_caption(ax: Axes, item: Evidence, corner: tuple[float, float], columns: int) -> None:
    """Write the caption of an evidence frame: a heading, and at most three lines of text."""
    chars = 132 // columns
    subtitle = f" – “{item.subtitle}”" if item.subtitle else ""
    lines = textwrap.wrap(printable(item.description + subtitle, 400), chars)
    if len(lines) > 3:
        lines = [*lines[:2], f"{lines[2][: chars - 1]}…"]
    heading = f"[{item.label}] {clock(item.timestamp_s)} · {100 * item.confidence:.0f} %"
    _write(ax, corner, heading, weight="bold", va="top")
    _write(ax, corner, "\n" + "\n".join(lines), va="top", color=MUTED)


def _tiles(result: Result, items: Sequence[Evidence], columns: int) -> list[Image.Image]:
    """Return the evidence frames, scaled to the size at which they are drawn.

    One that is not in the cache and can no longer be decoded is marked, as in a sheet.
    """
    sheet, side_px = result.sheet, 1440 // columns
    tiles, _ = read_tiles(
        sheet.video, [each.timestamp_s for each in items], sheet.cell_size, sheet.look.fit, sheet.cache
    )
    shown = [tile or unreadable_tile(sheet.cell_size) for tile in tiles]
    for tile in shown:
        tile.thumbnail((side_px, side_px), Image.Resampling.LANCZOS)
    return shown


def _ending(result: Result) -> list[str]:
    """Return the last lines of a log: the answer, why the run stopped, and its cost."""
    total = result.total
    answer = printable(result.answer_in_words, 400) or "none"
    answer += verdict(result.is_right, printable(result.truth_in_words, 400), has_evidence=not result.without_evidence)
    cost = f"{total.calls:,} calls, {total.tokens:,} tokens, {len(result.evidence)} frames of evidence"
    return [f"answer      {answer}", f"stopped     {printable(result.stop)}", f"cost        {cost}"]


def _wrap(lines: Iterable[str]) -> list[str]:
    return [
        piece
        for line in lines
        for piece in textwrap.wrap(line, LINE_CHARS, subsequent_indent=" " * 12, drop_whitespace=False) or [""]
    ]


def _write(ax: Axes, at: tuple[float, float], text: str, **look: Any) -> None:
    """Write text in the type of this page."""
    ax.text(*at, text, **{"fontsize": SMALL_PT, "color": INK, **look})


def _finish(ax: Axes, title: str) -> None:
    """Remove the axes' frame and ticks, and set the title."""
    ax.set_axis_off()
    set_title(ax, printable(title, 300))
