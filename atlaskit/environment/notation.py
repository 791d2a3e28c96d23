"""`clock`, `stamp`, `interval` and `listed`: how times and lists of cells are written."""

from __future__ import annotations

import math
from collections.abc import Sequence


def clock(time_s: float) -> str:
    """Return a time in seconds as a clock shows it, cut to a tenth: 1:26.3 or 1:02:03.5."""
    tenths = math.floor(time_s * 10 + 1e-6)
    minutes, tenths = divmod(tenths, 600)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{tenths // 10:02d}.{tenths % 10}"
    return f"{hours}:{minutes:02d}:{seconds}" if hours else f"{minutes}:{seconds}"


def stamp(time_s: float) -> str:
    """Return a time in seconds with milliseconds, as it can be typed again: 1:02:03.500."""
    minutes, milliseconds = divmod(math.floor(time_s * 1000 + 1e-3), 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{milliseconds // 1000:02d}.{milliseconds % 1000:03d}"
    return f"{hours}:{minutes:02d}:{seconds}" if hours else f"{minutes}:{seconds}"


def interval(start_s: float, end_s: float) -> str:
    """Return an interval as clock times, with milliseconds if it is shorter than a second."""
    written = clock if end_s - start_s >= 1 else stamp
    return f"{written(start_s)}–{written(end_s)}"


def listed(cells: Sequence[int]) -> str:
    """Return a list of cell indices with consecutive ones joined: 0–5, 9, 11–63."""
    runs: list[list[int]] = []
    for cell in sorted(cells):
        if runs and cell == runs[-1][1] + 1:
            runs[-1][1] = cell
        else:
            runs.append([cell, cell])
    return ", ".join(f"{a}–{b}" if b > a else str(a) for a, b in runs) or "none"
