"""`Location` and `Marks`: where the explorer is, where it can go, and what its page shows beside
the image.

A location is a state of the environment: a grid is reached by Expand, a frame by Zoom, and the time
before or after a cell by Investigate; the environment's legal set says which cells can be opened.
The values for the page are plain JSON. This module knows nothing of widgets or threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from atlaskit.environment.actions import Expand, Investigate, Zoom
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Cell
from atlaskit.environment.image import LazyImage
from atlaskit.environment.mdp import State, transition
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.notation import clock
from atlaskit.environment.observation import Observation
from atlaskit.environment.question import Span
from atlaskit.environment.render import View
from atlaskit.errors import InputError
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.html.phrases import span_text
from atlaskit.viz.html.reprs.images import view_caption

Look = Literal["grid", "frame", "before", "after"]

MAX_SUBTITLE_CHARS = 240
"""Characters of the subtitles of one cell."""
SCAN_CELL_PX = 320
"""Width and height of a cell in the image of the time before or after a cell."""
MAX_MARKS = 400
"""Most marks of one kind on the ruler: further ones would share pixels with them."""


@dataclass(frozen=True)
class Location:
    """What the explorer shows: a grid, or one cell of it in more detail."""

    path: tuple[int, ...] = ()
    """Cells that lead from the root grid to the grid."""
    look: Look = "grid"
    """The grid itself, or the frame of a cell, or the time just before or after a cell."""
    cell: int | None = None
    """The cell that is shown in more detail; None for the grid itself."""

    def __post_init__(self) -> None:
        if self.look not in get_args(Look) or (self.look == "grid") != (self.cell is None):
            raise InputError(
                "A location is a grid without a cell, or frame, before or after with a cell; "
                f"got {self.look!r} and {self.cell!r:.80}."
            )

    @classmethod
    def from_json(cls, location: object) -> Location:
        """Return the location that a page names; raise InputError if it is invalid."""
        match location:
            case {"path": [*path], "look": look, "cell": cell} if all(type(index) is int for index in path):
                if type(cell) in (int, type(None)):
                    return cls(tuple(path), look, cell)
        raise InputError(
            f"A location needs path (cell indices), look and cell (an index or null); got {location!r:.80}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the location as plain JSON values."""
        return {"path": list(self.path), "look": self.look, "cell": self.cell}

    @property
    def parent(self) -> Location:
        """The grid of a frame, or the grid above a grid; the root grid is its own parent."""
        return Location(self.path if self.look != "grid" else self.path[:-1])


@dataclass(frozen=True)
class Marks:
    """What a run knows of a video, to mark it on cells: its evidence and its dead zones."""

    evidence: Scratchpad = Scratchpad()
    dead_zones: DeadZones = DeadZones()

    def of_cell(self, cell: Cell) -> dict[str, Any]:
        """Return the labels of the evidence in a cell, and the share of the cell in dead zones."""
        found = self.evidence.within(cell.start_s, cell.end_s).labels
        return {
            "found": [plain_text(label, 8) for label in found],
            "dead": round(self.dead_zones.coverage(cell.start_s, cell.end_s), 3),
        }


def state_of(atlas: Atlas, location: Location) -> State:
    """Return the environment's state at a location; raise IllegalAction if it has none there."""
    state = atlas.start(traversal="dfs")
    for cell in location.path:
        state = transition(state, Expand(cell))
    match location.look, location.cell:
        case "frame", int(cell):
            return atlas.act(state, Zoom(cell))
        case ("before" | "after") as direction, int(cell):
            return transition(state, Investigate(cell, direction))
    return state


def picture_of(observation: Observation) -> LazyImage:
    """Return the image to show; the few frames before or after a cell are larger than in a grid."""
    if isinstance(observation.looking_at, View):
        return replace(observation.looking_at, cell=SCAN_CELL_PX)
    return observation.looking_at or observation.view


def describe(atlas: Atlas, location: Location, observation: Observation, marks: Marks) -> dict[str, Any]:
    """Return what a page shows beside the image of a location, as plain JSON."""
    state, shown = observation.state, picture_of(observation)
    resolution_s = shown.grid.resolution_s if isinstance(shown, View) else state.grid.resolution_s
    cell = None if location.cell is None else observation.view.cells[location.cell]
    return {
        "place": location.to_json(),
        "crumbs": [
            {"path": list(grid.path), "words": span_text((grid.start_s, grid.end_s)) if grid.path else "whole video"}
            for grid in (*state.stack, state.grid)
        ],
        "words": _caption(location, observation),
        "depth": f"depth {state.depth} of at most {state.rules.max_depth}",
        "resolution": f"Δt {resolution_s:,.3g} s",
        "size": list(shown.size),
        "of": state.grid.size,
        "k": shown.grid.k if isinstance(shown, View) else 0,
        "cells": _cells(atlas, observation, shown, marks) if isinstance(shown, View) else [],
        "about": None if cell is None else _cell(atlas, cell, marks),
        "ruler": _ruler(atlas.video.duration_s, _span_shown(observation, cell), marks),
    }


def _cells(atlas: Atlas, observation: Observation, shown: View, marks: Marks) -> list[dict[str, Any]]:
    legal = set(observation.legal.expand) if shown is observation.view else set()
    return [{**_cell(atlas, cell, marks), "opens": cell.index in legal} for cell in shown.cells]


def _cell(atlas: Atlas, cell: Cell, marks: Marks) -> dict[str, Any]:
    """Return the interval, subtitles and marks of a cell."""
    span = cell.start_s, cell.end_s
    return {"span": span_text(span), "said": _subtitles(atlas, *span), **marks.of_cell(cell)}


def _span_shown(observation: Observation, cell: Cell | None) -> Span:
    """Return the interval that is shown: of the time around a cell, of the cell, or of the grid."""
    if isinstance(observation.looking_at, View):
        return observation.looking_at.grid.start_s, observation.looking_at.grid.end_s
    if cell is not None:
        return cell.start_s, cell.end_s
    return observation.view.grid.start_s, observation.view.grid.end_s


def _caption(location: Location, observation: Observation) -> str:
    """Return a sentence that describes the image."""
    if isinstance(observation.looking_at, View):
        scan = view_caption(observation.looking_at)
        return plain_text(f"The time just {location.look} cell {location.cell}. {scan}", 1_000)
    if location.cell is None:
        return plain_text(view_caption(observation.view), 1_000)
    time = clock(observation.view.moments[location.cell])
    return f"The frame of cell {location.cell} at full resolution, at {time}."


def _subtitles(atlas: Atlas, start_s: float, end_s: float) -> str:
    """Return the first subtitles of an interval as one line."""
    texts, chars = list[str](), 0
    for line in atlas.video.subtitles.between(start_s, end_s):
        texts.append(line.text)
        chars += len(line.text) + 1
        if chars > MAX_SUBTITLE_CHARS:
            break
    return plain_text(" ".join(texts), MAX_SUBTITLE_CHARS) if texts else ""


def _ruler(duration_s: float, span: Span, marks: Marks) -> dict[str, Any]:
    """Return where an interval and all marks lie in the video, as shares of its duration."""
    evidence = marks.evidence.surest(MAX_MARKS)
    return {
        "ends": [clock(0.0), clock(duration_s)],
        "here": _shares(span, duration_s),
        "words": f"{span_text(span)} of {clock(duration_s)}",
        "dead": [_shares(zone, duration_s) for zone in marks.dead_zones.intervals[:MAX_MARKS]],
        "found": [[item.timestamp_s / duration_s, plain_text(item.label, 8)] for item in evidence],
    }


def _shares(span: Sequence[float], duration_s: float) -> list[float]:
    return [min(1.0, max(0.0, time_s / duration_s)) for time_s in span]
