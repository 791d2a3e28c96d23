"""What the explorer's page shows beside the image of a location, as plain JSON; and its files.

describe, Marks                         cells, breadcrumbs, ruler, and what a run found there
lane                                    where lines or notes lie, for a lane of the ruler
png_of, file_name                       the image as a file
unreadable_note                         a sentence on cells that cannot be decoded
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from PIL import Image

from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Cell, clock, listed, stamp
from atlaskit.environment.image import note_in
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.places import interval_in_words
from atlaskit.environment.render import View, with_look
from atlaskit.runs.coverage import Coverage
from atlaskit.runs.narrate import span_text
from atlaskit.video.collection import Collection
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.html.reprs import view_caption
from atlaskit.viz.walk.places import shaded
from atlaskit.viz.walk.source import RunSource
from atlaskit.viz.widgets.explorer.navigation import Location, Shown, frame_number

MAX_SUBTITLE_CHARS = 240
"""The most characters of the subtitles of one cell."""
MAX_MARKS = 400
"""The most marks of one kind on the ruler: further marks would share pixels with them."""


@dataclass(frozen=True)
class Marks:
    """What the page marks of a run: evidence and dead zones, and on the ruler the coverage too."""

    evidence: Scratchpad = Scratchpad()
    dead_zones: DeadZones = DeadZones()
    coverage: Coverage | None = None

    @classmethod
    def of(cls, run: RunSource) -> Marks:
        """Return what a run has found so far."""
        return cls(run.evidence, run.memory.dead_zones, run.coverage)

    def of_cell(self, cell: Cell) -> dict[str, Any]:
        """Return the labels of the evidence in a cell, and the share of the cell in dead zones."""
        found = self.evidence.within(cell.start_s, cell.end_s).labels
        return {
            "found": [plain_text(label, 8) for label in found],
            "dead": round(self.dead_zones.coverage(cell.start_s, cell.end_s), 3),
        }


def describe(atlas: Atlas, shown: Shown, marks: Marks) -> dict[str, Any]:
    """Return what a page shows beside the image of a location; `k` is 0 if that is a frame."""
    location = shown.location
    picture = shown.picture
    grid = picture.grid if isinstance(picture, View) else shown.observation.state.grid
    about = None if shown.cell is None else _cell(atlas, shown.cell, marks)
    if about is not None and shown.time_s is not None:
        about = {**about, "at": stamp(shown.time_s), "time_s": shown.time_s}
    return {
        "place": location.to_json(),
        "crumbs": _crumbs(atlas, location),
        "words": _caption(atlas.video, shown),
        "depth": f"depth {len(location.path)} of at most {atlas.rules.max_depth}",
        "resolution": f"Δt {grid.resolution_s:,.3g} s",
        "size": list(picture.size),
        "k": grid.k if isinstance(picture, View) else 0,
        "looks": {"k": atlas.k, "pick": atlas.sampling},
        "cells": _cells(atlas, shown, marks),
        "about": about,
        "span_s": list(shown.span_s),
        "time_s": shown.time_s,
        "ruler": _ruler(atlas.video.duration_s, shown, marks),
    }


def _crumbs(atlas: Atlas, location: Location) -> list[dict[str, Any]]:
    """Return the grids that lead to a location, the root first."""
    grid = atlas.root
    whole = "whole video"
    if isinstance(atlas.video, Collection):
        whole = f"{len(atlas.video.films)} films"
    crumbs = [{"path": list[int](), "words": whole, "span_s": [grid.start_s, grid.end_s]}]
    for depth, cell in enumerate(location.path, start=1):
        grid = grid.expand(cell)
        crumbs.append(
            {
                "path": list(location.path[:depth]),
                "words": _span_words(atlas.video, grid.start_s, grid.end_s),
                "span_s": [grid.start_s, grid.end_s],
            }
        )
    return crumbs


def _span_words(video: Video, start_s: float, end_s: float) -> str:
    """Return an interval in words; in a collection, with the name of its film."""
    if not isinstance(video, Collection):
        return span_text((start_s, end_s))
    return plain_text(interval_in_words(video, start_s, end_s), MAX_SUBTITLE_CHARS)


def _cells(atlas: Atlas, shown: Shown, marks: Marks) -> list[dict[str, Any]]:
    """Return the cells of the grid that is shown; none if a frame is shown."""
    picture = shown.picture
    if not isinstance(picture, View):
        return []
    openable = set[int]()
    if shown.location.look == "grid":
        openable = set(shown.observation.legal["expand"])
    hidden = picture.hidden_cuts
    cells = []
    for cell, time_s in zip(picture.cells, picture.moments, strict=True):
        cells.append(
            {
                **_cell(atlas, cell, marks),
                "at": stamp(time_s),
                "time_s": time_s,
                "span_s": [cell.start_s, cell.end_s],
                "opens": cell.index in openable,
                "cuts": len(hidden.get(cell.index, ())),
            }
        )
    return cells


def _cell(atlas: Atlas, cell: Cell, marks: Marks) -> dict[str, Any]:
    """Return the interval, subtitles and marks of a cell."""
    return {
        "span": _span_words(atlas.video, cell.start_s, cell.end_s),
        "said": _subtitles(atlas, cell.start_s, cell.end_s),
        **marks.of_cell(cell),
    }


def _caption(video: Video, shown: Shown) -> str:
    """Return a sentence that describes the image."""
    location = shown.location
    picture = shown.picture
    if isinstance(picture, View):
        introduction = ""
        if location.cell is not None:
            introduction = f"The time just {location.look} cell {location.cell}. "
        return plain_text(introduction + view_caption(picture), 1_000)
    assert shown.time_s is not None
    part, local_s = video.locate(shown.time_s)
    count = max(1, round(part.duration_s * part.fps))
    number = min(frame_number(part, local_s) + 1, count)
    of_what = "" if part is video else f" of {part.name}"
    where = f"at {stamp(shown.time_s)}, frame {number:,} of {count:,}{of_what}"
    return plain_text(f"The frame of cell {location.cell} at full resolution, {where}.", 1_000)


def _subtitles(atlas: Atlas, start_s: float, end_s: float) -> str:
    """Return the first subtitles of an interval as one line."""
    # More lines than characters are not needed: each line has at least one.
    lines = islice(atlas.video.subtitles.between(start_s, end_s), MAX_SUBTITLE_CHARS)
    return plain_text(" ".join(line.text for line in lines), MAX_SUBTITLE_CHARS)


def _ruler(duration_s: float, shown: Shown, marks: Marks) -> dict[str, Any]:
    """Return where the shown part and all marks lie in the video, as shares of its duration."""
    found = list[list[Any]]()
    for item in marks.evidence.surest(MAX_MARKS):
        found.append([item.timestamp_s / duration_s, plain_text(item.label, 8)])
    if shown.time_s is None:
        here_s = shown.span_s
        words = span_text(shown.span_s)
    else:
        here_s = (shown.time_s, shown.time_s)
        words = stamp(shown.time_s)
    return {
        "duration_s": duration_s,
        "ends": [clock(0.0), clock(duration_s)],
        "here": _shares(here_s, duration_s),
        "words": f"{words} of {clock(duration_s)}",
        "dead": [_shares(zone, duration_s) for zone in marks.dead_zones.intervals[:MAX_MARKS]],
        "found": found,
        "seen": None if marks.coverage is None else _seen(marks.coverage, duration_s),
    }


def _seen(coverage: Coverage, duration_s: float) -> dict[str, Any]:
    """Return how finely parts were seen: their places with shades (see `shaded`), and in words."""
    spans = list[list[float]]()
    for start_s, end_s, shade in shaded(coverage, MAX_MARKS):
        spans.append([*_shares((start_s, end_s), duration_s), shade])
    return {"spans": spans, "words": plain_text(f"Seen: {coverage}.", 400)}


def _shares(span: Sequence[float], duration_s: float) -> list[float]:
    """Return times in seconds as shares of the duration."""
    return [min(1.0, max(0.0, time_s / duration_s)) for time_s in span]


MARKS = 400
"""Equal parts into which a lane divides the video, each marked or not: smaller parts would share
pixels."""


def lane(spans_s: Iterable[Sequence[float]], duration_s: float) -> list[list[float]]:
    """Return the parts of a video that some intervals overlap, as shares of its duration, in order.

    Args:
        spans_s: Start and end of each interval in seconds, in any order.
        duration_s: Length of the video in seconds.
    """
    spans = np.array(list(spans_s), float).reshape(-1, 2) / duration_s * MARKS
    first = np.clip(spans[:, 0].astype(int), 0, MARKS - 1)
    after = np.clip(np.ceil(spans[:, 1]).astype(int), first + 1, MARKS)
    size = MARKS + 1
    # At each part: how many intervals begin there, less those that have ended.
    steps = np.bincount(first, minlength=size) - np.bincount(after, minlength=size)
    is_covered = np.cumsum(steps) > 0
    # The last value is false, so starts and ends alternate.
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_covered])))
    return [[int(start) / MARKS, int(end) / MARKS] for start, end in edges.reshape(-1, 2)]


MAX_NAME = 60
"""The most characters of the video's name in the name of a file."""


def png_of(atlas: Atlas, shown: Shown) -> tuple[bytes, str]:
    """Return the shown image as PNG bytes, and a file name.

    A frame is decoded again, so that the PNG has its exact pixels: the cached image is a JPEG.

    Raises:
        FrameError: The frame cannot be decoded.
    """
    if isinstance(shown.picture, View):
        # The times are drawn into the image, since a file has no page around it.
        png = with_look(shown.picture, labels="time").png()
        return png, file_name(atlas.video, shown.span_s, "png")
    assert shown.time_s is not None
    part, local_s = atlas.video.locate(shown.time_s)
    buffer = io.BytesIO()
    part.frame(local_s).save(buffer, "PNG")
    return buffer.getvalue(), file_name(atlas.video, (shown.time_s,), "png")


def file_name(video: Video, about: str | Sequence[float], suffix: str) -> str:
    """Return a name for a file about a video, with a word or with times in seconds."""
    stem = re.sub(r"[^\w.-]+", "-", video.name.rsplit(".", 1)[0], flags=re.ASCII)
    stem = stem.strip("-.")[:MAX_NAME]
    if isinstance(about, str):
        words = about
    else:
        words = " to ".join(stamp(time_s).replace(":", "-") for time_s in about)
    return f"{stem or 'video'} {words}.{suffix}"


def unreadable_note(jpeg: bytes) -> str:
    """Return a sentence that names the cells of an image that could not be decoded, if any."""
    cells = note_in(Image.open(io.BytesIO(jpeg))).get("unreadable")
    if isinstance(cells, list) and cells:
        return f"Cells that cannot be decoded are hatched: {listed(cells)}."
    return ""
