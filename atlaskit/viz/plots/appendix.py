"""`before_after`, `trace_log` and `scratchpad`: one run as in the paper's appendix.

They show the root grid before and after, the exploration log, and the scratchpad. Frames come from
the cache; one that is no longer there is decoded again.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from atlaskit.environment.memory import Evidence
from atlaskit.environment.notation import clock
from atlaskit.environment.render import View
from atlaskit.environment.tiles import read_tiles
from atlaskit.errors import InputError, printable
from atlaskit.runs import replay
from atlaskit.runs.result import Result, verdict
from atlaskit.viz.palette import INK, MUTED
from atlaskit.viz.plots.logs import black_cells, log
from atlaskit.viz.plots.style import styled_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH_IN = 7.2
"""Width of every figure here, in inches."""
VIEW_PX, GAP = 840, 0.04
"""Largest side of a drawn view in pixels; the gap between two views, as a fraction of one."""
MAX_NUMBERED_K = 12
"""Largest K for which the cells of a view are numbered."""
MAX_LINES, LINE_IN, LINE_CHARS = 160, 0.135, 118
"""Of a log: the most lines drawn, the height of one in inches, the most characters in one."""
MAX_ITEMS = 64
"""Most evidence frames drawn of a scratchpad: those with the highest confidence."""
MAX_LARGE_COLUMNS = 5
"""Most columns of a scratchpad whose captions are set in the larger type."""
CAPTION_IN = {True: 0.48, False: 0.35}
"""Height of a frame's caption in inches, with few columns (True) and with many."""


def before_after(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the root grid before the run, and beside it after the run, with dead cells black.

    Raises:
        InputError: The result is that of a baseline, which explores no grid.
    """
    atlas = replay.atlas_of(result.trace, result.sheet.video, result.sheet.cache)
    before = atlas.observe(atlas.start()).view
    black = black_cells(result)
    after = replace(before, dead=black)
    rounds = f"{result.rounds} round{'' if result.rounds == 1 else 's'}"
    captions = (
        f"(a) Before: {before.grid.size} cells of {before.grid.resolution_s:.3g} s",
        f"(b) After {rounds}: {len(black)} cells black",
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
    """Draw the log of a run, round by round, and below it the answer and the cost.

    A round has the scores of the probe, the region and actions of each worker with the evidence it
    added, the conclusion of the review, and the number of cells that are black afterwards. The
    middle of a long log is left out.
    """
    lines = [*_wrap(log(result)), "", *_wrap(_ending(result))]
    if len(lines) > MAX_LINES:
        half = MAX_LINES // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} lines are left out", *lines[-half:]]
    with styled_axes(ax, (WIDTH_IN, LINE_IN * (len(lines) + 3))) as ax:
        for number, line in enumerate(lines):
            is_heading = bool(line) and not line.startswith(" ")
            weight = {"weight": "bold"} if is_heading else {}
            spaced = line.replace(" ", "\u00a0")  # SVG collapses consecutive spaces
            _write(ax, (0.0, number + 0.5), spaced, size=6.6, family="DejaVu Sans Mono", va="center", **weight)
        ax.set(xlim=(0, 1), ylim=(len(lines), 0))
        _finish(ax, result.question.text)
    return ax


def scratchpad(result: Result, ax: Axes | None = None) -> Axes:
    """Draw each evidence frame with its label, time, confidence, description and subtitle.

    Raises:
        InputError: A frame can no longer be decoded.
    """
    items = result.evidence.surest(MAX_ITEMS).items
    columns = max(3, len(items)) if len(items) <= 5 else min(8, math.isqrt(len(items) - 1) + 1)
    rows = max(1, -(-len(items) // columns))
    wide, high = (0.96 * side / max(result.sheet.cell_size) for side in result.sheet.cell_size)  # of a frame
    row_height = high + 0.08 + CAPTION_IN[columns <= MAX_LARGE_COLUMNS] * columns / WIDTH_IN  # in widths of a column
    with styled_axes(ax, (WIDTH_IN, 0.5 + WIDTH_IN / columns * rows * row_height)) as ax:
        for number, (item, tile) in enumerate(zip(items, _tiles(result, items, columns), strict=True)):
            row, column = divmod(number, columns)
            top = row * row_height
            left = column + (1 - wide) / 2
            ax.imshow(tile, extent=(left, left + wide, top + 0.02 + high, top + 0.02), aspect="auto")
            _write_caption(ax, item, (column + 0.02, top + 0.04 + high), columns)
        if not items:
            _write(ax, (0.0, 0.5), "The run collected no evidence.", size=9)
        omitted = len(result.evidence) - len(items)
        if omitted:
            note = f"{omitted} frames of lower confidence are left out."
            _write(ax, (0.0, rows * row_height), note, size=7, color=MUTED)
        ax.set(xlim=(0, columns), ylim=(rows * row_height, 0), aspect="equal")
        _finish(ax, result.question.text)
    return ax


def _draw_view(ax: Axes, view: View, left: float, height: float) -> None:
    """Draw a view from x = `left` to `left` + 1 and from y = 0 to `height`, its cells numbered."""
    k = view.grid.k
    ax.imshow(np.asarray(view.small((VIEW_PX, VIEW_PX))), extent=(left, left + 1, 0, height), aspect="auto")
    for cell in view.grid.cells if k <= MAX_NUMBERED_K else ():
        row, column = divmod(cell.index, k)
        box = {"boxstyle": "square,pad=0.15", "facecolor": INK, "edgecolor": "none"}
        corner = (left + (column + 0.06) / k, height * (1 - (row + 0.06) / k))
        ax.text(*corner, str(cell.index), fontsize=4.5, color="white", ha="left", va="top", bbox=box)


def _write_caption(ax: Axes, item: Evidence, corner: tuple[float, float], columns: int) -> None:
    """Write the caption of an evidence frame: a heading, and at most three lines of text."""
    size, chars = (7.0, 132 // columns) if columns <= MAX_LARGE_COLUMNS else (5.0, 186 // columns)
    subtitle = f" – “{item.subtitle}”" if item.subtitle else ""
    lines = textwrap.wrap(printable(item.description + subtitle, 400), chars)
    if len(lines) > 3:
        lines = [*lines[:2], f"{lines[2][: chars - 1]}…"]
    heading = f"[{item.label}] {clock(item.timestamp_s)} · {100 * item.confidence:.0f} %"
    _write(ax, corner, heading, size=size, weight="bold", va="top")
    _write(ax, corner, "\n" + "\n".join(lines), size=size, va="top", color=MUTED)


def _tiles(result: Result, items: Sequence[Evidence], columns: int) -> list[Image.Image]:
    """Return the evidence frames, scaled to the size at which they are drawn."""
    sheet, side_px = result.sheet, 1440 // columns
    times_s = [item.timestamp_s for item in items]
    tiles, _ = read_tiles(sheet.video, times_s, sheet.cell_size, sheet.fit, sheet.cache)
    if missing := [time_s for time_s, tile in zip(times_s, tiles, strict=True) if tile is None]:
        raise InputError(
            f"The scratchpad cannot be drawn: the frame at {missing[0]:g} s is not in the cache and can no longer be "
            f"decoded. Check that {sheet.video.name} is still readable."
        )
    decoded = [tile for tile in tiles if tile is not None]
    for tile in decoded:
        tile.thumbnail((side_px, side_px), Image.Resampling.LANCZOS)
    return decoded


def _ending(result: Result) -> list[str]:
    """Return the last lines of a log: the answer, why the run stopped, and its cost."""
    total = result.total
    answer = ("none" if result.answer is None else printable(result.answer, 400)) + verdict(result.is_right)
    cost = f"{total.calls:,} calls, {total.tokens:,} tokens, {len(result.evidence)} frames of evidence"
    return [f"answer      {answer}", f"stopped     {printable(result.stop)}", f"cost        {cost}"]


def _wrap(lines: Iterable[str]) -> list[str]:
    return [
        piece
        for line in lines
        for piece in textwrap.wrap(line, LINE_CHARS, subsequent_indent=" " * 12, drop_whitespace=False) or [""]
    ]


def _write(ax: Axes, at: tuple[float, float], text: str, *, size: float, **look: Any) -> None:
    """Write text verbatim: matplotlib would read a pair of dollar signs as a formula."""
    ax.text(*at, text, fontsize=size, parse_math=False, **{"color": INK, **look})


def _finish(ax: Axes, title: str) -> None:
    """Remove the axes' frame and ticks, and set the title."""
    ax.set_axis_off()
    ax.set_title("\n".join(textwrap.wrap(printable(title, 300), 100)), parse_math=False)
