"""Where one can look in a video, and what is told of it beside the picture, as plain JSON for a page.

Places are the environment's: a grid is reached by opening cells, a frame by `Zoom`, what lies before and after a cell
by `Investigate`; what is legal there is what can be opened. Knows nothing of widgets or threads.
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
from atlaskit.viz.html.reprs.images import view_caption

Look = Literal["grid", "frame", "before", "after"]

MOST_LETTERS = 240
"""Of what is said during one cell."""
SCAN_CELL_PX = 320
MOST_MARKS = 400
"""On the ruler: more would fall on the same pixels."""


@dataclass(frozen=True)
class Location:
    """The grid that is reached by opening the cells of `path` in turn, or what is seen of one of its cells."""

    path: tuple[int, ...] = ()
    look: Look = "grid"
    cell: int | None = None
    """The cell whose frame, or whose time before or after, is looked at."""

    def __post_init__(self) -> None:
        if self.look not in get_args(Look) or (self.look == "grid") != (self.cell is None):
            raise InputError(f"{self.look!r} of cell {self.cell} is no place to look at.")

    @classmethod
    def from_json(cls, place: object) -> Location:
        """Return the place that a page names; raise InputError for what is none."""
        match place:
            case {"path": [*path], "look": look, "cell": cell} if all(type(i) is int for i in path):
                if type(cell) in (int, type(None)):
                    return cls(tuple(path), look, cell)
        raise InputError(f"{place!r:.80} is no place to look at.")

    def to_json(self) -> dict[str, Any]:
        """Return the place as plain JSON values."""
        return {"path": list(self.path), "look": self.look, "cell": self.cell}

    @property
    def back(self) -> Location:
        """Where one comes from: of a frame its grid, of a grid the one it was opened from, of the root itself."""
        return Location(self.path if self.look != "grid" else self.path[:-1])


@dataclass(frozen=True)
class Marks:
    """What a run knows of a video: what it found, and what it ruled out."""

    evidence: Scratchpad = Scratchpad()
    dead_zones: DeadZones = DeadZones()

    def of(self, cell: Cell) -> dict[str, Any]:
        """Return what is known of a cell: the labels of its evidence, and the share of it that is ruled out."""
        found = self.evidence.within(cell.start_s, cell.end_s).labels
        return {
            "found": [plain_text(label, 8) for label in found],
            "dead": round(self.dead_zones.coverage(cell.start_s, cell.end_s), 3),
        }


def state_of(atlas: Atlas, place: Location) -> State:
    """Return the environment's state at a place; raise IllegalAction where one cannot get there."""
    state = atlas.start(traversal="dfs")
    for cell in place.path:
        state = transition(state, Expand(cell))
    match place.look, place.cell:
        case "frame", int(cell):
            return atlas.act(state, Zoom(cell))
        case ("before" | "after") as direction, int(cell):
            return transition(state, Investigate(cell, direction))
    return state


def picture_of(seen: Observation) -> LazyImage:
    """Return the picture of a place; of the few frames of a context scan, larger ones."""
    if isinstance(seen.looking_at, View):
        return replace(seen.looking_at, cell=SCAN_CELL_PX)
    return seen.looking_at or seen.view


def facts(atlas: Atlas, place: Location, seen: Observation, marks: Marks) -> dict[str, Any]:
    """Return what a page tells of a place beside its picture."""
    state, shown = seen.state, picture_of(seen)
    span = _span_of(seen, place)
    return {
        "place": place.to_json(),
        "crumbs": [
            {"path": list(grid.path), "words": _span_told((grid.start_s, grid.end_s)) if grid.path else "whole video"}
            for grid in (*state.stack, state.grid)
        ],
        "words": _words(place, seen),
        "depth": f"depth {state.depth} of at most {state.rules.max_depth}",
        "resolution": f"Δt {shown.grid.resolution_s if isinstance(shown, View) else state.grid.resolution_s:,.3g} s",
        "size": list(shown.size),
        "of": state.grid.size,
        "k": shown.grid.k if isinstance(shown, View) else 0,
        "cells": _cells(atlas, seen, shown, marks) if isinstance(shown, View) else [],
        "about": None if place.cell is None else _about(atlas, seen.view.cells[place.cell], marks),
        "ruler": _ruler(atlas.video.duration_s, span, marks),
    }


def _cells(atlas: Atlas, seen: Observation, shown: View, marks: Marks) -> list[dict[str, Any]]:
    opens = set(seen.legal.expand) if shown is seen.view else set()
    return [{**_about(atlas, cell, marks), "opens": cell.index in opens} for cell in shown.cells]


def _about(atlas: Atlas, cell: Cell, marks: Marks) -> dict[str, Any]:
    """Return what is told of a cell: its time, what is said then, and what is known of it."""
    span = cell.start_s, cell.end_s
    return {"span": _span_told(span), "said": _said(atlas, *span), **marks.of(cell)}


def _span_of(seen: Observation, place: Location) -> Span:
    """Return the time that a place shows."""
    if isinstance(seen.looking_at, View):
        return seen.looking_at.grid.start_s, seen.looking_at.grid.end_s
    if place.cell is not None:
        cell = seen.view.cells[place.cell]
        return cell.start_s, cell.end_s
    return seen.view.grid.start_s, seen.view.grid.end_s


def _words(place: Location, seen: Observation) -> str:
    """Return what the picture is of, in a sentence."""
    if isinstance(seen.looking_at, View):
        return plain_text(f"What lies just {place.look} cell {place.cell}. {view_caption(seen.looking_at)}", 1_000)
    if place.cell is None:
        return plain_text(view_caption(seen.view), 1_000)
    return f"The frame of cell {place.cell} in full, at {clock(seen.view.moments[place.cell])}."


def _said(atlas: Atlas, start_s: float, end_s: float) -> str:
    """Return what is said in a time, the beginning of it."""
    words, letters = list[str](), 0
    for line in atlas.video.subtitles.between(start_s, end_s):
        words.append(line.text)
        letters += len(line.text) + 1
        if letters > MOST_LETTERS:
            break
    return plain_text(" ".join(words), MOST_LETTERS) if words else ""


def _ruler(duration_s: float, span: Span, marks: Marks) -> dict[str, Any]:
    """Return where a time lies in the whole, and what is known of the whole, as shares of it."""
    evidence = marks.evidence.surest(MOST_MARKS)
    return {
        "ends": [clock(0.0), clock(duration_s)],
        "here": _shares(span, duration_s),
        "words": f"{_span_told(span)} of {clock(duration_s)}",
        "dead": [_shares(zone, duration_s) for zone in marks.dead_zones.intervals[:MOST_MARKS]],
        "found": [[item.timestamp_s / duration_s, plain_text(item.label, 8)] for item in evidence],
    }


def _shares(span: Sequence[float], duration_s: float) -> list[float]:
    return [min(1.0, max(0.0, time_s / duration_s)) for time_s in span]


def _span_told(span: Span) -> str:
    return f"{clock(span[0])}–{clock(span[1])}"
