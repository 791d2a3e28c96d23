"""Parts of prompts that are shorter than the usual ones, for runs with `thrift`.

They appear only where a measure of `thrift` asks for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from atlaskit.agents.thrift import Thrift
from atlaskit.agents.verbalize import (
    cells_text,
    evidence_text,
    grid_intro,
    lines_by_cell,
    question_text,
    subtitles_by_cell,
    subtitles_remark,
)
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.notation import listed
from atlaskit.environment.observation import Observation
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.models.protocol import Image, Message
from atlaskit.video.subtitles import Line

MOST_LINES = 2_400
"""Characters of subtitle lines that a prompt lists with "lines"."""
SHORTEST_WORD = 4
"""Letters of a word that counts when lines are compared with a question."""
MAY_FINISH = (
    "With what you keep or queue, say whether that leaves nothing more to do in this stretch (finished: true), which "
    "saves a turn; say finished: false to go on."
)
SHOWN_BEFORE = "(You were shown a picture here; your next words say what you saw.)"
SMALL_FRAMES = "The small frames at its bottom are those that you judged before; larger ones are new."


@dataclass(frozen=True)
class Recalled:
    """What the master made of the root sheet when it last saw it."""

    scores: tuple[tuple[int, float], ...]
    """The cells that it named, with their scores, best first."""
    reasoning: str

    @classmethod
    def of(cls, answer: Any) -> Recalled:
        """Return what the answer to a probe says."""
        return cls(tuple((ranked.cell, ranked.score) for ranked in answer.top), answer.reasoning)


def sheet_parts(observation: Observation, words: str | None = None) -> tuple[str | Image, ...]:
    """Return the parts of a prompt that show a view: what it is, the image, what it does not show.

    Args:
        observation: What the agent sees.
        words: What is looked for: of many subtitle lines those with its words are listed. None
            lists all lines, each with its time.
    """
    view = observation.view
    if words is None and view.only is None:
        return grid_intro(view.grid), view, cells_text(observation)
    if view.only is not None:
        return _part_intro(view), view, "\n".join(_line_rows(observation, words))
    dead = [f"Ruled out, and black: {listed(sorted(view.dead))}."] if view.dead else []
    return grid_intro(view.grid), view, "\n".join([*dead, *_line_rows(observation, words)])


def _part_intro(view: View) -> str:
    """Return what a view of some cells of a grid shows, and which cells it leaves out."""
    assert view.only is not None
    grid, (columns, rows) = view.grid, view.shape
    left_out = [cell.index for cell in view.cells if cell.index not in view.only]
    return (
        f"A sheet of {len(view.only)} of the {grid.size} cells of the video from {grid.start_s:.3f} s to "
        f"{grid.end_s:.3f} s, in order of time, in {columns} columns and {rows} rows. Cell 0 begins at "
        f"{grid.start_s:.3f} s and each cell lasts {grid.resolution_s:.3f} s; a cell's number is in its corner. Left "
        f"out, because they are searched or being searched: {listed(left_out)}."
    )


def _line_rows(observation: Observation, words: str | None) -> list[str]:
    """Return the subtitle lines of the cells shown, in a row a cell, and how many are left out."""
    only, by_cell = observation.view.only, lines_by_cell(observation)
    if remark := subtitles_remark(observation, by_cell):
        return remark
    shown = {cell: lines for cell, lines in by_cell.items() if only is None or cell in only}
    if words is None or not shown:
        return subtitles_by_cell(shown)
    said = [(cell, line) for cell, lines in shown.items() for line in lines]
    kept = fewer_lines([line for _, line in said], words)
    rows: dict[int, list[str]] = {}
    for cell, line in (said[place] for place in kept):
        rows.setdefault(cell, []).append(json.dumps(line.text, ensure_ascii=False))
    left_out = len(said) - len(kept)
    return [
        "Said in this time, after the number of the cell:",
        *(f"{cell}: {' '.join(texts)}" for cell, texts in rows.items()),
        *([f"{left_out} more lines are said in this time, and not listed."] if left_out else []),
    ]


def wanted_words(question: Question, search_task: str, thrift: Thrift) -> str | None:
    """Return the words that subtitle lines are chosen by; None lists all lines."""
    return f"{question_text(question)} {search_task}" if "lines" in thrift else None


def fewer_lines(lines: Sequence[Line], words: str) -> list[int]:
    """Return the places of the lines that a prompt lists: `MOST_LINES` characters, in order.

    Those come first that share most words with what is looked for, and then the earlier ones.
    """
    wanted = _words_in(words)
    shared = [len(wanted & _words_in(line.text)) for line in lines]
    room, kept = MOST_LINES, list[int]()
    for place in sorted(range(len(lines)), key=lambda place: (-shared[place], place)):
        room -= len(lines[place].text) + len('""') + 1
        if room < 0:
            break
        kept.append(place)
    return sorted(kept)


def _words_in(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) >= SHORTEST_WORD}


def short_evidence_text(scratchpad: Scratchpad, left_out: int = 0, judged: Collection[str] | None = None) -> str:
    """Return the evidence as `evidence_text` does, but in short rows for what was judged before.

    Args:
        scratchpad: The evidence to list.
        left_out: How many items of the run's evidence are not in it.
        judged: Labels of the items that get short rows; None means all.
    """
    rows = evidence_text(scratchpad, left_out).split("\n")
    short = {item.label for item in scratchpad} if judged is None else set(judged)
    by_time = sorted(scratchpad, key=lambda item: item.timestamp_s)
    for place, item in enumerate(by_time, start=1):
        if item.label in short:
            rows[place] = _short_row(item)
    return "\n".join(rows)


def _short_row(item: Evidence) -> str:
    return f"[{item.label}] {item.description} ({item.timestamp_s:.1f} s)"


def recalled_text(observation: Observation, recalled: Recalled) -> str:
    """Return what a review has in place of the root sheet: its cells, and what the master said."""
    view, grid = observation.view, observation.view.grid
    scores = ", ".join(f"{cell}: {score:.2f}" for cell, score in recalled.scores) or "none"
    return "\n".join(
        [
            f"The sheet of the whole video, which you have seen, is not shown again. It has {grid.k}×{grid.k} cells: "
            f"cell 0 begins at {grid.start_s:.3f} s, and each lasts {grid.resolution_s:.3f} s.",
            f"When you last saw it, you scored these cells: {scores}. You said: "
            f"{json.dumps(recalled.reasoning, ensure_ascii=False)}",
            *([f"Ruled out by now: {listed(sorted(view.dead))}."] if view.dead else []),
        ]
    )


def without_looks(messages: Sequence[Message], view: View) -> tuple[Message, ...]:
    """Return a conversation about a view without the other pictures, of which its replies speak."""
    return tuple(
        Message(
            message.speaker,
            tuple(part if isinstance(part, str) or part.key == view.key else SHOWN_BEFORE for part in message.parts),
        )
        for message in messages
    )
