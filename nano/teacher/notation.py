"""The signs and words of the teacher's thoughts, and the cell lengths on which the signs depend.

A thought describes the cells of a view one after another; `scan` explains it with examples. Every
sign here is training text: the shipped weights were trained on these bytes.

A long world alternates its own clips, which tell its story, with filler clips. All worlds share the
filler clips, so nano knows their scenes by heart. A scene that no filler clip has is *non-filler*.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from atlasworld.long_timeline import BANK_CAST
from nano.teacher.goal import Goal, up_to_object
from nano.teacher.labels import CellContent

KEYWORD, OTHER_WORD = "~", ","
"""Signs after each word: the word is one of the goal's keywords, or it is not."""
HIT, CANDIDATE, REPEAT, NOTHING = "+", "=", "^", "-"
"""Signs after each cell: the cell shows what the goal looks for; it may contain what the goal looks
for; it shows the same hit as the cell before; it is none of these."""
LINK, LINK_END = "/", "."
"""Signs around the number of the previous cell with the same sign; the first such cell has nothing
between them."""
SPOKEN = "“"
"""Sign after each cell during which the voice says the line that the question quotes."""
OPENED = "*"
"""Sign after each cell that was opened before; prompts use the same mark."""
NON_FILLER = "!"
"""Sign after each non-filler scene. Before the first cell, it says that such scenes matter here."""
CLOSED = "/"
"""Sign at the end of a cell that is black or was opened before. Such a cell does not become a
candidate when a non-filler scene follows it. The sign also stands right before the first cell."""

SHORT_S = 1.0
"""Cell length in seconds up to which the teacher opens no cell: it assumes that what the frames of
such short cells do not show is not there."""
COARSE_S = 20.0
"""Cell length in seconds above which cells are coarse: a frame shows too little of its cell to tell
what the cell contains."""
FINE_S = 4.0
"""Cell length in seconds up to which cells are fine: an object appears in the cell in which the
voice names it, or in the next one."""
LENGTH_SIGNS = ((COARSE_S, "="), (FINE_S, "^"), (SHORT_S, "+"), (0.0, "-"))
"""Lengths in seconds, each with a sign. Before the first cell stands the sign of the first length
that a cell exceeds."""


def is_non_filler(content: CellContent) -> bool:
    """Return whether a cell shows a scene that no filler clip has."""
    return (content.place, content.light) not in BANK_CAST.settings


def cells_with_line(goal: Goal, texts: Mapping[int, Sequence[str]]) -> list[int]:
    """Return the cells in which the line that the question quotes is spoken.

    The list is empty if the question quotes no line.
    """
    if not goal.line:
        return []
    return [cell for cell in sorted(texts) if goal.line in texts[cell]]


def quote_line(goal: Goal, line_cells: Sequence[int]) -> str:
    """Quote the goal's line up to its object, then list the cells in which the line is spoken.

    Each cell carries the same mark here as later in the thought.
    """
    cells = "".join(f"{cell}{SPOKEN}" for cell in line_cells)
    return f"{SPOKEN}{up_to_object(goal.line)}{cells or NOTHING}: "


def list_names(names: Sequence[str]) -> str:
    """List names, each followed by its index; return an empty text without names."""
    if not names:
        return ""
    numbered = [f"{name}{index}" for index, name in enumerate(names)]
    return f"Of {', '.join(numbered)}: "


def mark_words(words: Sequence[str], keywords: Collection[str]) -> str:
    """Write words, each followed by the sign that says whether it is a keyword."""
    return "".join(f"{word}{KEYWORD if word in keywords else OTHER_WORD}" for word in words)


def read_cell(
    content: CellContent | None, goal: Goal, *, with_scene: bool, marks_non_filler: bool
) -> str:
    """Write what a cell shows, as far as the goal needs it; nothing for a black cell (None).

    If the goal names several objects, the colour and the shape in a cell can both be keywords but
    belong to different objects. Then the text also names the whole object, and adds its index if
    the goal names it.
    """
    if content is None:
        return ""
    text = ""
    if with_scene:
        text += mark_words((content.place, content.light), goal.keywords)
    if marks_non_filler and is_non_filler(content):
        text += NON_FILLER
    text += mark_words([part for part in (content.colour, content.shape) if part], goal.keywords)
    if len(goal.objects) > 1 and {content.colour, content.shape} <= goal.keywords:
        text += f" {content.object}"
        if content.object in goal.objects:
            text += str(goal.objects.index(content.object))
    return text
