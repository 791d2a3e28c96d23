"""What there is, in words: a question, a map and its cells, the evidence, the gaps in it.

Knows nothing of what is asked of a model about them; that is `prompts`.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence

from atlaskit.environment.grid import Cell, Grid
from atlaskit.environment.memory import Evidence, Gap, Scratchpad
from atlaskit.environment.notation import listed
from atlaskit.environment.observation import Observation
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.video.subtitles import Line

MOST_SUBTITLES = 24_000
"""Characters of subtitles in one prompt; beyond that the model is told how many there are."""
NOTHING_SAID = "Nothing is said, or there are no subtitles."
OPENED = "*"
"""Marks a cell that was opened before."""
MOST_GAPS = 8
"""Gaps between evidence that are told of, the longest."""

FORMS = {
    "open": "Answer in a few words, no more than needed.",
    "when": "The answer is an interval in seconds from the start of the video.",
    "count": "The answer is a whole number. Count each occurrence once, also where several frames show it.",
    "summary": "The answer is a summary: what happens, in order of time, in a few plain sentences.",
}
"""What the answer to a question without choices looks like."""


def asked(question: Question) -> str:
    """Tell the question and the form of its answer."""
    form = [FORMS[question.kind]] if question.kind in FORMS else []
    choices = [f"  {index}: {choice}" for index, choice in enumerate(question.choices)]
    return "\n".join([f"The question: {question.text}", *form, *choices])


def map_intro(grid: Grid) -> str:
    """Tell what a sheet shows, and how its cells are numbered."""
    return (
        f"A sheet of {grid.k}×{grid.k} cells of the video from {grid.start_s:.3f} s to {grid.end_s:.3f} s. "
        f"Cell 0 begins at {grid.start_s:.3f} s and each cell lasts {grid.resolution_s:.3f} s; a cell's number is "
        "in its corner."
    )


def cells_told(observation: Observation) -> str:
    """Tell what the picture does not: which cells are ruled out, and what is said when; or every cell, one by one.

    This varies with the picture only, so it stands right behind it: calls about one picture have the start in common.
    """
    view, lines = observation.view, observation.subtitles
    said = listed_in(observation)
    much = [] if lines else [NOTHING_SAID]
    if not said and said_in(observation):
        much = [f"{len(lines)} lines are said in this time, too many to list."]
    if observation.cells == "full":
        told = [_one_cell(view, cell, said.get(cell.index, [])) for cell in view.cells]
        return "\n".join(["The cells:", *told, *much])
    ruled_out = [f"Ruled out, and black: {listed(sorted(view.dead))}."] if view.dead else []
    return "\n".join([*ruled_out, *said_by_cell(said), *much])


def said_by_cell(said: Mapping[int, Sequence[Line]]) -> list[str]:
    """Tell what is said in each cell, a row for each line; nothing where nothing is said.

    A cell's number stands right before the words: small models find it by them, and lose it over the digits of a time.
    """
    told = [f"{index}: {quoted(line)}" for index, lines in said.items() for line in lines]
    return ["Said in this time, each line after the number of its cell:", *told] if told else []


def said_in(observation: Observation) -> dict[int, list[Line]]:
    """Return what is said in each open cell, by its index: a line stands in the first cell in which it is heard, or in
    the paper's form in all of them."""
    cells, dead = observation.view.cells, observation.view.dead
    starts_s, said = [cell.start_s for cell in cells], dict[int, list[Line]]()
    for line in observation.subtitles:
        first = max(0, bisect_right(starts_s, line.start_s) - 1)
        last = max(first, bisect_left(starts_s, line.end_s) - 1)
        heard = [index for index in range(first, last + 1) if index not in dead]
        for index in heard if observation.cells == "full" else heard[:1]:
            said.setdefault(index, []).append(line)
    return dict(sorted(said.items()))


def listed_in(observation: Observation) -> dict[int, list[Line]]:
    """Return what a prompt lists of what is said in each open cell: nothing at all, where that is too much."""
    said = said_in(observation)
    return said if sum(len(quoted(line)) for lines in said.values() for line in lines) <= MOST_SUBTITLES else {}


def _one_cell(view: View, cell: Cell, said: Sequence[Line]) -> str:
    shown = [f"frame at {view.moments[cell.index]:.3f} s", *map(quoted, said)]
    told = "ruled out" if cell.index in view.dead else " ".join(shown)
    return f"Cell {cell.index}, {cell.start_s:.3f}–{cell.end_s:.3f} s: {told}"


def heard(time_s: float, lines: Sequence[Line]) -> str:
    """Tell what is heard at a moment."""
    return f"At {time_s:.3f} s: {' '.join(map(quoted, lines))}"


def quoted(line: Line) -> str:
    """Tell a line, and its times behind it."""
    return f"{json.dumps(line.text, ensure_ascii=False)} [{line.start_s:.1f}–{line.end_s:.1f} s]"


def kept(scratchpad: Scratchpad, left_out: int = 0) -> str:
    """Tell the evidence, item by item in order of time, and how many items are not among them."""
    if not scratchpad.items:
        return "No evidence is kept yet."
    in_order = sorted(scratchpad, key=lambda item: item.timestamp_s)
    more = [f"And {left_out} frames more, less sure or older, which are not shown."] if left_out else []
    return "\n".join(["Evidence kept, in order of time:", *map(_described, in_order), *more])


def _described(item: Evidence) -> str:
    """Tell a piece of evidence: what it shows stands right behind its label, where small models find it."""
    said = f", said: {json.dumps(item.subtitle, ensure_ascii=False)}" if item.subtitle else ""
    return (
        f"[{item.label}] {item.description} ({item.start_s:.2f}–{item.end_s:.2f} s, frame at {item.timestamp_s:.2f} s, "
        f"sure to {item.confidence:.0%}){said}"
    )


def opened_told(cells: Collection[int]) -> str:
    """Tell which cells were opened, one by one: small models look each up by its number, and go wrong over ranges."""
    return f"Opened before, marked {OPENED}: {', '.join(f'{cell}{OPENED}' for cell in sorted(cells))}."


def names_told(most: int, cells: Sequence[int]) -> str:
    """Ask for some of the cells that can be searched."""
    return f"Name up to {most} of these cells, best first, or none if none stands out: {listed(cells)}."


def open_gaps(found: Sequence[Gap]) -> str:
    """Tell the longest gaps between evidence, in order of time."""
    longest = sorted(sorted(found, key=lambda gap: gap.start_s - gap.end_s)[:MOST_GAPS], key=lambda gap: gap.start_s)
    return "\n".join(["Not ruled out between the evidence, in seconds:", *map(_gap, longest)])


def _gap(gap: Gap) -> str:
    after = f"[{gap.after}]" if gap.after else "the video's start"
    before = f"[{gap.before}]" if gap.before else "the video's end"
    return f"{gap.start_s:.2f}–{gap.end_s:.2f}, between {after} and {before}"
