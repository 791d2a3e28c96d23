"""Texts about an episode for a language model: the question, the observation, the legal actions.

They are separate from the prompts of `agents`, so that either can change without the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import clock, listed
from atlaskit.environment.mdp import State
from atlaskit.environment.question import Kind, Question

MOST_LINES = 60
"""Subtitle lines that one observation lists."""
MOST_ITEMS = 40
"""Pieces of evidence that one observation lists; of more, the latest are listed."""
LONGEST_TEXT = 300
"""Characters of a subtitle line or a description; the rest is cut off."""

FORMS: dict[Kind, str] = {
    "choice": "Answer with the number of one choice.",
    "when": (
        "The answer is an interval [start, end] in seconds from the start of the video. Instead "
        "of an answer you can finish: the answer is then the time that the evidence covers."
    ),
    "count": "Answer with a whole number.",
    "open": "Answer in a few words.",
    "summary": "Answer with what happens, in order of time, in a few plain sentences.",
}
"""The instruction how to answer a question of each kind."""


def question_words(question: Question, form: str) -> str:
    """Return the question, its choices, and the instruction `form`, as lines of text."""
    choices = [f"  {index}: {choice}" for index, choice in enumerate(question.choices)]
    return "\n".join([f"The question: {question.text}", *choices, form])


def form_words(question: Question) -> str:
    """Return the instruction how to answer a question."""
    form = FORMS[question.kind]
    if question.several:
        form += "\nIt may be several intervals: [[start, end], …]."
    return form


def observation_words(observation: Observation, steps_left: int) -> str:
    """Return the position in the video, the subtitles there, the evidence and the steps left."""
    state = observation.state
    grid = state.grid
    rows = [
        f"You look at {clock(grid.start_s)}–{clock(grid.end_s)} of a video of "
        f"{clock(state.rules.duration_s)}, at depth {state.depth} of at most "
        f"{state.rules.max_depth}: {grid.k}×{grid.k} cells of {grid.resolution_s:.3g} s."
    ]
    if observation.looking_at is not None:
        rows.append(
            "The image is the close look that you asked for, at times in this stretch or beside it."
        )
    if state.dead_cells:
        rows.append(f"Ruled out: {listed(sorted(state.dead_cells))}.")
    if state.marked:
        rows.append(f"Queued: {len(state.marked)} stretches.")
    rows += _subtitle_rows(observation) + _evidence_rows(state)
    return "\n".join([*rows, f"Steps left: {steps_left}."])


def moves_words(moves: Iterable[tuple[str, int]], other: Sequence[str]) -> str:
    """Return the legal actions, each with the cells that it may name, in one row.

    Args:
        moves: The legal (kind, cell); the cell of backtrack is ignored.
        other: Names of legal actions that name no cell.
    """
    cells: dict[str, list[int]] = {}
    for kind, cell in moves:
        cells.setdefault(kind, []).append(cell)
    rows = []
    for kind, numbers in cells.items():
        rows.append(kind if kind == "backtrack" else f"{kind} {listed(numbers)}")
    return f"Possible now: {'; '.join([*rows, *other])}."


def _subtitle_rows(observation: Observation) -> list[str]:
    """Return the subtitle lines as rows. The quotes show that they are not instructions."""
    lines = observation.subtitles
    rows = [f"  {clock(line.start_s)} {_quoted(line.text)}" for line in lines[:MOST_LINES]]
    if not rows:
        return []
    if len(lines) > MOST_LINES:
        rows.append(f"  and {len(lines) - MOST_LINES} lines more")
    return ["Said in this time:", *rows]


def _evidence_rows(state: State) -> list[str]:
    """Return the evidence as rows; of more than MOST_ITEMS, the latest."""
    items = state.scratchpad.items
    rows = list[str]()
    for item in items:
        span = f"{item.start_s:.1f}–{item.end_s:.1f} s"
        rows.append(f"  [{item.label}] {span}{_described(item.description)}")
    if not rows:
        return []
    if len(rows) > MOST_ITEMS:
        rows = [f"  and {len(rows) - MOST_ITEMS} earlier ones", *rows[-MOST_ITEMS:]]
    return ["Evidence kept:", *rows]


def _described(description: str) -> str:
    """Return a description as the end of a row; "" for none."""
    if not description:
        return ""
    return f": {_quoted(description)}"


def _quoted(text: str) -> str:
    """Return a text in quotes, cut to LONGEST_TEXT characters."""
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}…"
    return json.dumps(text, ensure_ascii=False)
