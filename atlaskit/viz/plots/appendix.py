"""Figures that tell of one run from end to end, as the paper's appendix does: the map before and after, the log, and
the scratchpad. Their pictures come out of the cache; one that it has no more is decoded again."""

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
from atlaskit.viz.plots.logs import black_cells, log
from atlaskit.viz.plots.style import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAP_PX, GAP = 840, 0.04
"""Of one map, and between the two, as a share of one."""
MOST_NUMBERED = 12
"""Cells in a row of a map whose cells are numbered."""
MOST_LINES, LINE_IN, LETTERS = 160, 0.135, 118
"""Of a log: lines, inches of one, and letters in it."""
MOST_ITEMS = 64
"""Frames in a scratchpad, the surest."""
WORDS_IN = (0.48, 0.35)
"""Inches of what is written below a frame, where there are few columns, and where there are many."""
INK, QUIET = "#181c24", "#59626d"


def before_after(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the root grid as the Master first saw it, and beside it as the run left it, what is ruled out in black.

    Raises InputError for a result without a map: a baseline's.
    """
    import matplotlib.pyplot as plt

    atlas = replay.atlas_of(result.trace, result.sheet.video, result.sheet.cache)
    before = atlas.observe(atlas.start()).view
    black = black_cells(result)
    after = replace(before, dead=black)
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(7.2, 3.95))
        for place, view in enumerate((before, after)):
            _draw_map(ax, view, place * (1 + GAP))
        cell_s, rounds = before.grid.resolution_s, f"{result.rounds} round{'' if result.rounds == 1 else 's'}"
        told = (
            f"(a) Before: {before.grid.size} cells of {cell_s:.3g} s",
            f"(b) After {rounds}: {len(black)} cells black",
        )
        for place, words in enumerate(told):
            ax.text(place * (1 + GAP), 1.02, words, fontsize=9, va="bottom")
        ax.set(xlim=(0, 2 + GAP), ylim=(0, 1.08), aspect="equal")
        _bare(ax, result.question.text)
    return ax


def trace_log(result: Result, ax: Axes | None = None) -> Axes:
    """Draw a run as a log, round by round: what the probe scored, where workers went, what they did and kept, what the
    review concluded, and how much is black by then; below it the answer, and what it cost. Of a long run the middle is
    left out."""
    import matplotlib.pyplot as plt

    lines = [*_wrapped(log(result)), "", *_wrapped(_ends(result))]
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} lines are left out", *lines[-half:]]
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(7.2, LINE_IN * (len(lines) + 3)))
        for number, line in enumerate(lines):
            is_head = bool(line) and not line.startswith(" ")
            look: dict[str, Any] = {"weight": "bold"} if is_head else {}
            kept = line.replace(" ", "\u00a0")  # SVG takes several blanks for one
            _say(ax, (0.0, number + 0.5), kept, size=6.6, family="DejaVu Sans Mono", va="center", **look)
        ax.set(xlim=(0, 1), ylim=(len(lines), 0))
        _bare(ax, result.question.text)
    return ax


def scratchpad(result: Result, ax: Axes | None = None) -> Axes:
    """Draw each frame of evidence with its label, its time, how sure the agent was, what it shows, and what is said."""
    import matplotlib.pyplot as plt

    items = result.evidence.surest(MOST_ITEMS).items
    columns = max(3, len(items)) if len(items) <= 5 else min(8, math.isqrt(len(items) - 1) + 1)
    rows, below = max(1, -(-len(items) // columns)), 0.04 + WORDS_IN[columns > 5] * columns / 7.2
    with plt.style.context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(7.2, 0.5 + 7.2 / columns * rows * (1 + below)))
        for number, (item, tile) in enumerate(zip(items, _tiles(result, items, columns), strict=True)):
            row, column = divmod(number, columns)
            top = row * (1 + below)
            ax.imshow(tile, extent=(column + 0.02, column + 0.98, top + 0.98, top + 0.02), aspect="auto")
            _describe(ax, item, (column + 0.02, top + 1.0), columns)
        if not items:
            _say(ax, (0.0, 0.5), "No frame was kept as evidence.", size=9)
        more = len(result.evidence) - len(items)
        if more:
            _say(ax, (0.0, rows * (1 + below)), f"{more} more, less sure, are left out.", size=7, color=QUIET)
        ax.set(xlim=(0, columns), ylim=(rows * (1 + below), 0), aspect="equal")
        _bare(ax, result.question.text)
    return ax


def _draw_map(ax: Axes, view: View, left: float) -> None:
    grid, k = view.grid, view.grid.k
    ax.imshow(np.asarray(view.small((MAP_PX, MAP_PX))), extent=(left, left + 1, 0, 1), aspect="auto")
    for cell in grid.cells if k <= MOST_NUMBERED else ():
        row, column = divmod(cell.index, k)
        plate = {"boxstyle": "square,pad=0.15", "facecolor": INK, "edgecolor": "none"}
        corner = (left + (column + 0.06) / k, 1 - (row + 0.06) / k)
        ax.text(*corner, str(cell.index), fontsize=4.5, color="white", ha="left", va="top", bbox=plate)


def _describe(ax: Axes, item: Evidence, corner: tuple[float, float], columns: int) -> None:
    size, letters = (7.0, 132 // columns) if columns <= 5 else (5.0, 186 // columns)
    said = f" – “{item.subtitle}”" if item.subtitle else ""
    lines = textwrap.wrap(printable(item.description + said, 400), letters)
    shown = lines if len(lines) <= 3 else [*lines[:2], f"{lines[2][: letters - 1]}…"]
    head = f"[{item.label}] {clock(item.timestamp_s)} · {item.confidence:.0%}"
    _say(ax, corner, head, size=size, weight="bold", va="top")
    _say(ax, corner, "\n" + "\n".join(shown), size=size, va="top", color=QUIET)


def _tiles(result: Result, items: Sequence[Evidence], columns: int) -> list[Image.Image]:
    """Return the frames of evidence, as large as they are drawn."""
    sheet, side_px = result.sheet, 1440 // columns
    times_s = [item.timestamp_s for item in items]
    tiles, _ = read_tiles(sheet.video, times_s, sheet.cell, sheet.fit, sheet.cache)
    if missing := [f"{time_s:g} s" for time_s, tile in zip(times_s, tiles, strict=True) if tile is None]:
        raise InputError(f"The frame at {missing[0]} cannot be decoded any more, so the scratchpad cannot be drawn.")
    found = [tile for tile in tiles if tile is not None]
    for tile in found:
        tile.thumbnail((side_px, side_px), Image.Resampling.LANCZOS)
    return found


def _ends(result: Result) -> list[str]:
    total = result.total
    answer = ("none" if result.answer is None else printable(result.answer, 400)) + verdict(result.is_right)
    cost = f"{total.calls:,} calls, {total.tokens:,} tokens, {len(result.evidence)} frames of evidence"
    return [f"answer      {answer}", f"stopped     {printable(result.stop)}", f"cost        {cost}"]


def _wrapped(lines: Iterable[str]) -> list[str]:
    return [
        piece
        for line in lines
        for piece in textwrap.wrap(line, LETTERS, subsequent_indent=" " * 12, drop_whitespace=False) or [""]
    ]


def _say(ax: Axes, at: tuple[float, float], words: str, *, size: float, **look: Any) -> None:
    """Write words as they are: no formula."""
    ax.text(*at, words, fontsize=size, parse_math=False, **{"color": INK, **look})


def _bare(ax: Axes, title: str) -> None:
    ax.set_axis_off()
    ax.set_title("\n".join(textwrap.wrap(printable(title, 300), 100)), parse_math=False)
