"""Facts as prompt text: question, grid, cells, subtitle lines, evidence, gaps between evidence.

The functions return text that goes into prompts; what a prompt asks the model to do is in
`prompts`, but for the request to decide, which several share.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import Cell, Grid, listed
from atlaskit.environment.memory import Evidence, Gap, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.models.protocol import Image, Message
from atlaskit.runs.events import HintRecord
from atlaskit.video.subtitles import Line

MOST_SUBTITLES = 24_000
"""Characters of subtitles in one prompt; beyond that, it only gives the number of lines."""
LEAST_QUOTED = len('"" [0.0–0.0 s]')
"""Characters that `quote_line` adds to a line's text, at least."""
NO_SUBTITLES = "Nothing is said, or there are no subtitles."
OPENED_MARK = "*"
"""Follows the number of a cell that was opened before."""
MOST_GAPS = 8
"""Gaps between evidence that a prompt lists: the longest ones."""

ANSWER_FORMS = {
    "open": "Answer in a few words, no more than needed.",
    "when": "The answer is an interval in seconds from the start of the video.",
    "when, several": "Name every stretch of the video that answers: one interval for each, in seconds from the "
    "start of the video, in order of time. A stretch without a break is one interval.",
    "count": "The answer is a whole number. Count each occurrence once, also where several frames show it.",
    "summary": "The answer is a summary: what happens, in order of time, in a few plain sentences.",
}
"""The form of the answer, for each kind of question without choices."""


def question_text(question: Question) -> str:
    """Return the question with the form of its answer, or its choices."""
    name = "when, several" if question.several else question.kind
    form = [ANSWER_FORMS[name]] if name in ANSWER_FORMS else []
    choices = [f"  {index}: {choice}" for index, choice in enumerate(question.choices)]
    return "\n".join([f"The question: {question.text}", *form, *choices])


def grid_intro(grid: Grid) -> str:
    """Return what a view shows: its size, its interval, and how its cells are numbered."""
    return (
        f"A sheet of {grid.k}×{grid.k} cells of the video from {grid.start_s:.3f} s to {grid.end_s:.3f} s. "
        f"Cell 0 begins at {grid.start_s:.3f} s and each cell lasts {grid.resolution_s:.3f} s; a cell's number is "
        "in its corner."
    )


def sheet_parts(observation: Observation) -> tuple[str | View, ...]:
    """Return the parts of a prompt that show a view: what it is, it, and what it does not show."""
    return grid_intro(observation.view.grid), observation.view, cells_text(observation)


def cells_text(observation: Observation) -> str:
    """Return what a view does not show: which cells are dead, and the subtitles.

    If `observation.cells` is "full", it describes every cell, one by one.

    This depends on the view alone, so prompts put it right after the image: calls about one view
    then begin with the same text.
    """
    view, said = observation.view, observation.lines_by_cell()
    remark = _subtitles_remark(observation, said)
    by_cell = {} if remark else said
    if observation.cells == "full":
        rows = [_cell_text(view, cell, by_cell.get(cell.index, [])) for cell in view.cells]
        return "\n".join(["The cells:", *rows, *remark])
    dead = [f"Ruled out, and black: {listed(sorted(view.dead))}."] if view.dead else []
    return "\n".join([*dead, *subtitles_by_cell(by_cell), *remark])


def _subtitles_remark(observation: Observation, by_cell: Mapping[int, Sequence[Line]]) -> list[str]:
    """Return why no subtitle line is listed, as a row; no rows if they are few enough to list.

    Args:
        observation: What the agent sees.
        by_cell: Its lines, as `Observation.lines_by_cell` returns them.
    """
    lines = observation.subtitles
    if not _is_listed(by_cell):
        return [f"{len(lines)} lines are said in this time, too many to list."]
    return [] if lines else [NO_SUBTITLES]


def subtitles_by_cell(by_cell: Mapping[int, Sequence[Line]]) -> list[str]:
    """Return a heading and one row for each subtitle line; no rows if there are no lines.

    The number of the cell comes right before the line. Small models then find it; if a time stands
    between the two, they confuse the digits.
    """
    rows = [f"{index}: {quote_line(line)}" for index, lines in by_cell.items() for line in lines]
    return ["Said in this time, each line after the number of its cell:", *rows] if rows else []


def _is_listed(by_cell: Mapping[int, Sequence[Line]]) -> bool:
    """Return whether lines are few enough to be listed, which is cheap to tell of very many."""
    lines = [line for cell_lines in by_cell.values() for line in cell_lines]
    if sum(len(line.text) + LEAST_QUOTED for line in lines) > MOST_SUBTITLES:
        return False
    return sum(len(quote_line(line)) for line in lines) <= MOST_SUBTITLES


def _cell_text(view: View, cell: Cell, lines: Sequence[Line]) -> str:
    content = " ".join([f"frame at {view.moments[cell.index]:.3f} s", *map(quote_line, lines)])
    return (
        f"Cell {cell.index}, {cell.start_s:.3f}–{cell.end_s:.3f} s: "
        f"{'ruled out' if cell.index in view.dead else content}"
    )


def spoken_at(time_s: float, lines: Sequence[Line]) -> str:
    """Return the subtitle lines at a time, in one row."""
    return f"At {time_s:.3f} s: {' '.join(map(quote_line, lines))}"


def quote_line(line: Line) -> str:
    """Return a subtitle line in quotes, with its interval."""
    return f"{json.dumps(line.text, ensure_ascii=False)} [{line.start_s:.1f}–{line.end_s:.1f} s]"


def evidence_text(scratchpad: Scratchpad, left_out: int = 0) -> str:
    """Return the evidence, one row for each item, in order of time.

    Args:
        scratchpad: The evidence to list.
        left_out: How many items of the run's evidence are not in it.
    """
    if not scratchpad.items:
        return "No evidence is kept yet."
    items = sorted(scratchpad, key=lambda item: item.timestamp_s)
    more = [f"And {left_out} frames more, less sure or older, which are not shown."] if left_out else []
    return "\n".join(["Evidence kept, in order of time:", *map(_item_text, items), *more])


def _item_text(item: Evidence) -> str:
    """Return an item's row; small models need the description right after the label."""
    subtitle = f", said: {json.dumps(item.subtitle, ensure_ascii=False)}" if item.subtitle else ""
    return (
        f"[{item.label}] {item.description} ({item.start_s:.2f}–{item.end_s:.2f} s, frame at {item.timestamp_s:.2f} s, "
        f"sure to {item.confidence:.0%}){subtitle}"
    )


def opened_cells_text(cells: Collection[int]) -> str:
    """Return which cells were opened, one by one: small models misread ranges of numbers."""
    return f"Opened before, marked {OPENED_MARK}: {', '.join(f'{cell}{OPENED_MARK}' for cell in sorted(cells))}."


def hints_text(hints: Sequence[HintRecord]) -> str:
    """Return what scouts say, one row for each hint: the cell, then why."""
    heading = "Hints where to look, made without seeing a frame; they may be wrong, and prove nothing:"
    return "\n".join([heading, *(f"cell {hint.cell}: {hint.reason}" for hint in hints)])


def ranking_request(most: int, cells: Sequence[int]) -> str:
    """Return the request to name some of these cells, best first."""
    return f"Name up to {most} of these cells, best first, or none if none stands out: {listed(cells)}."


def gaps_text(gaps: Sequence[Gap]) -> str:
    """Return the longest gaps between the evidence, in order of time."""
    longest = sorted(sorted(gaps, key=lambda gap: gap.start_s - gap.end_s)[:MOST_GAPS], key=lambda gap: gap.start_s)
    return "\n".join(["Not ruled out between the evidence, in seconds:", *map(_gap_text, longest)])


def _gap_text(gap: Gap) -> str:
    after = f"[{gap.after}]" if gap.after else "the video's start"
    before = f"[{gap.before}]" if gap.before else "the video's end"
    return f"{gap.start_s:.2f}–{gap.end_s:.2f}, between {after} and {before}"


DECIDE = (
    "Decide. Weigh each possible answer by the frames that support it and those that contradict it, then give the "
    "answer that what is seen supports best. Words that merely sound like an answer prove nothing."
)


def brief(role: str, *parts: str | Image) -> tuple[Message, ...]:
    """Return the first messages of a conversation: the role as system message, then the request."""
    return Message("system", (role,)), Message("user", parts)
