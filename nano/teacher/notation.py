"""The signs and words of the teacher's thoughts (+ = ^ - !), and the lengths of cells they depend
on.

All of it is training text: the shipped weights were trained on these bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from atlasworld.long_timeline import BANK_CAST
from nano.teacher.goal import Goal, up_to_object
from nano.teacher.labels import CellContent

KEYWORD, OTHER_WORD = "~", ","
"""After each word: whether it is one of the goal's keywords."""
HIT, CANDIDATE, REPEAT, NOTHING = "+", "=", "^", "-"
"""After each cell: it shows what the goal looks for; it may contain that; it shows the same as the
cell before, so it gets no sign of its own; none of these."""
LINK, LINK_END = "/", "."
"""Before and after the previous cell with the same sign, which is missing for the first such
cell."""
SPOKEN = "“"
"""After each cell during which the voice says the line that the question quotes."""
OPENED = "*"
"""After each cell that was opened before, as prompts mark it."""
NON_FILLER = "!"
"""After each scene that no filler clip has; and before the first cell, where such scenes matter."""
CLOSED = "/"
"""At the end of a cell that does not become a candidate when a non-filler scene follows it, because
it is black or was opened before; and before the first cell."""

SHORT_S = 1.0
"""The teacher assumes that what does not show in cells of at most this length is not there."""
COARSE_S, FINE_S = 20.0, 4.0
"""Cells longer than COARSE_S show too little of a non-filler scene to skip it. In cells of at most
FINE_S, an object shows in the cell in which the voice names it, or in the next one."""
LENGTH_SIGNS = ((COARSE_S, "="), (FINE_S, "^"), (SHORT_S, "+"), (0.0, "-"))
"""Before the first cell: the sign of the first of these lengths, in seconds, that a cell
exceeds."""


def is_non_filler(content: CellContent) -> bool:
    """Tell whether a scene belongs to the story of a long world: no filler clip has it."""
    return (content.place, content.light) not in BANK_CAST.settings


def cells_with_line(goal: Goal, texts: Mapping[int, Sequence[str]]) -> list[int]:
    """Return the cells in which the line is spoken that the question quotes, if it quotes one."""
    return [cell for cell in sorted(texts) if goal.line and goal.line in texts[cell]]


def quote_line(goal: Goal, line_cells: Sequence[int]) -> str:
    """Quote the goal's line up to its object, then list the cells in which it is spoken.

    A cell carries the same mark here as later in the thought.
    """
    cells = "".join(f"{cell}{SPOKEN}" for cell in line_cells)
    return f"{SPOKEN}{up_to_object(goal.line)}{cells or NOTHING}: "


def list_names(names: Sequence[str]) -> str:
    """List names, each followed by its index; return an empty text without names."""
    if names:
        return f"Of {', '.join(f'{name}{number}' for number, name in enumerate(names))}: "
    return ""


def mark_words(words: Sequence[str], keywords: Collection[str]) -> str:
    """Write words, each followed by whether it is a keyword."""
    return "".join(f"{word}{KEYWORD if word in keywords else OTHER_WORD}" for word in words)


def read_cell(
    content: CellContent | None, goal: Goal, *, with_scene: bool, marks_non_filler: bool
) -> str:
    """Write what a cell shows, as far as the goal needs it; nothing for a black cell (None).

    Where the goal names several objects, a colour and a shape can both be keywords and belong to
    different objects. Then the text also names the whole object, and its index if the goal names
    it.
    """
    if content is None:
        return ""
    text = mark_words((content.place, content.light), goal.keywords) if with_scene else ""
    text += NON_FILLER * (marks_non_filler and is_non_filler(content))
    text += mark_words([part for part in (content.colour, content.shape) if part], goal.keywords)
    if len(goal.objects) > 1 and {content.colour, content.shape} <= goal.keywords:
        is_named = content.object in goal.objects
        text += f" {content.object}{goal.objects.index(content.object) if is_named else ''}"
    return text
