"""`scan_view`: writes the teacher's thought about a view, cell by cell, with the candidates
(cells to open) that follow.

The thought makes the search easy to learn. Every sign in it follows from the text before it; no
sign depends on a later cell: "0-1-2red~circle~+2/.3red~circle~^4blue,circle~-".

After each word stands "~" if the word is a keyword of the goal, "," if it is not. After each cell
stands "-" for nothing, "^" for the same as before, or a sign with two numbers: "+" for a hit, "="
for a candidate, then the cell, then between "/" and "." the previous cell with the same sign, if
there is one. The thought ends with the last cell of both signs, ". +2=-". The teacher reads its
actions off that end, link by link, because a small model finds little else than the text that
followed the same number before.

Cells that were opened before carry the mark that the prompt gives them, so the model finds it after
the same number ("1*sea~noon~-"). Whatever else the model has to look up elsewhere stands before the
first cell. If the question quotes a subtitle line, the thought starts with that line up to the
object that it names, and the cells in which it is spoken: "“Here comes a red circle1“: =/0-1“=…".
If the goal names several objects, the thought numbers them: "Of red circle0, blue star1:
+/0red~circle~ red circle0+0/.".

What follows from a cell also depends on how long cells last; one sign before the first cell says so
("=", "^", "+" or "-", then "/"). In long worlds, "!" follows each scene that no filler clip has;
the model knows the filler scenes by heart. Another "!" before the first cell says that such scenes
matter in this view ("=!/0sea,night,-1…"). Without it, models took a dozen unmarked filler cells for
a sign that scenes do not matter, and skipped the first non-filler scene. In these views each cell
ends with all that the next cell needs to know of it, so that the model looks back one token at
most: "!" for a non-filler scene, "-" for a cell that becomes a candidate too if a non-filler scene
follows, "/" for any other cell ("4sea,night,-5city,night,!red,star,=4/.=5/4.!").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from nano.teacher.goal import Goal
from nano.teacher.labels import CellContent
from nano.teacher.notation import (
    CANDIDATE,
    CLOSED,
    COARSE_S,
    FINE_S,
    HIT,
    LENGTH_SIGNS,
    LINK,
    LINK_END,
    NON_FILLER,
    NOTHING,
    OPENED,
    REPEAT,
    SHORT_S,
    SPOKEN,
    cells_with_line,
    is_non_filler,
    list_names,
    quote_line,
    read_cell,
)

NAMING_LEAD_S = 3.0
"""Longest time in seconds from the line that names an object to the appearance of that object."""


@dataclass(frozen=True)
class Scan:
    """The result of a scan.

    Attributes:
        thought: The text of the thought.
        hits: Cells in which what the goal looks for begins; for when-questions, all cells that show
            it.
        candidates: Cells that may contain what the goal looks for.
    """

    thought: str
    hits: tuple[int, ...]
    candidates: tuple[int, ...]


def scan_view(
    goal: Goal,
    contents: Sequence[CellContent | None],
    texts: Mapping[int, Sequence[str]],
    *,
    cell_s: float,
    is_long: bool,
    opened: Collection[int] = (),
    for_probe: bool = False,
) -> Scan:
    """Scan the cells of a view in order and write the thought.

    Args:
        goal: What the question looks for.
        contents: What each cell shows; None for a black cell.
        texts: Texts of the subtitle lines of each cell that the prompt lists.
        cell_s: Seconds that a cell spans.
        is_long: Whether the world is a long one, with filler clips between the scenes of its story.
        opened: Cells that were opened from this view before. Their evidence is in the scratchpad
            already.
        for_probe: Whether the scan only lists cells to search; it then skips opened cells
            altogether.
    """
    marks_non_filler = is_long and not goal.line and cell_s > (FINE_S if goal.objects else COARSE_S)
    with_scene = goal.scene is not None or cell_s > COARSE_S or marks_non_filler
    state = _ScanState(goal, cell_s, marks_non_filler, frozenset(opened), for_probe)
    line_cells = cells_with_line(goal, texts)
    thought = quote_line(goal, line_cells) if goal.line else ""
    if len(goal.objects) > 1:
        thought += list_names(goal.objects)
    thought += next(sign for longer_s, sign in LENGTH_SIGNS if cell_s > longer_s)
    thought += NON_FILLER * marks_non_filler + CLOSED
    for index, content in enumerate(contents):
        is_spoken = index in line_cells and content is not None
        signs = state.advance(index, content, is_spoken)
        marks = OPENED * (index in opened) + SPOKEN * is_spoken
        reading = read_cell(content, goal, with_scene=with_scene, marks_non_filler=marks_non_filler)
        end = state.end_sign(index) if marks_non_filler else NOTHING * (not signs)
        thought += f"{index}{marks}{reading}{signs}{end}"
    hits = state.signed[HIT] if for_probe or not opened else []
    candidates = [] if state.is_complete else state.signed[CANDIDATE]
    last = "".join(
        f"{sign}{cells[-1] if cells else NOTHING}"
        for sign, cells in ((HIT, hits), (CANDIDATE, candidates))
    )
    return Scan(f"{thought}. {last}", tuple(hits), tuple(candidates))


@dataclass
class _ScanState:
    """What the scan knows after the cells so far."""

    goal: Goal
    cell_s: float
    marks_non_filler: bool
    opened: frozenset[int]
    for_probe: bool
    signed: dict[str, list[int]] = field(default_factory=lambda: {HIT: [], CANDIDATE: []})
    """Cells that have each sign so far."""
    is_complete: bool = False
    """The scan has seen a hit in cells so short that nothing else is left to find."""
    previous: CellContent | None = None
    """Content of the previous cell; None at first and after a black cell."""
    last_other: int | None = None
    """Last cell that showed another object than the goal's, without a black cell since."""
    awaits_next: bool = False
    """The goal's object has been seen, and the object after it has not yet."""
    last_spoken: int | None = None
    """Last cell with the goal's line, until the object that it names has been seen."""

    def advance(self, index: int, content: CellContent | None, is_spoken: bool) -> str:
        """Take in one cell; return the signs that it adds, for itself or for a cell before it."""
        if content is None:
            self.previous, self.last_other, self.awaits_next, self.last_spoken = (
                None,
                None,
                False,
                None,
            )
            return ""
        if is_spoken:
            self.last_spoken = index
        hits, candidates = self._hits(index, content), list[int]()
        if hits:
            self.is_complete = self.cell_s < COARSE_S
        elif self.cell_s > SHORT_S:
            candidates = self._candidates(index, content, is_spoken)
        new_hits = hits if self.goal.type == "when" or not self._repeats(content) else []
        self.previous = content
        signs = "".join(
            [self._sign(HIT, cell) for cell in new_hits]
            + [self._sign(CANDIDATE, cell) for cell in candidates]
        )
        return signs or REPEAT * bool(hits)

    def end_sign(self, index: int) -> str:
        """Return what the next cell needs to know of the cell that was just scanned."""
        if self.previous is not None and is_non_filler(self.previous):
            return NON_FILLER
        return CLOSED if self.previous is None or index in self.opened else NOTHING

    def _sign(self, sign: str, cell: int) -> str:
        """Give a cell a sign with a link to the previous cell; return "" if it gets none."""
        if any(cell in cells for cells in self.signed.values()):
            return ""
        if cell in self.opened and (sign == CANDIDATE or self.for_probe):
            return ""
        cells = self.signed[sign]
        link = cells[-1] if cells else ""
        cells.append(cell)
        return f"{sign}{cell}{LINK}{link}{LINK_END}"

    def _repeats(self, content: CellContent) -> bool:
        return self.previous is not None and self.previous.object == content.object

    def _hits(self, index: int, content: CellContent) -> list[int]:
        """Return the cells, up to this one, that this cell shows to be hits."""
        if self.goal.line:
            return self._hits_of_line(index, content)
        matches = self.goal.matches(content)
        hits = [index] if matches else []
        if self.goal.type == "neighbour":
            if (
                matches
                and self.goal.side == "before"
                and self.last_other is not None
                and not self._repeats(content)
            ):
                hits = [self.last_other, index]
            elif content.object and not matches and self.awaits_next:
                hits = [index]
            self.awaits_next = self.goal.side == "after" and (
                matches or (self.awaits_next and not content.object)
            )
        if content.object and not matches:
            self.last_other = index
        return hits

    def _hits_of_line(self, index: int, content: CellContent) -> list[int]:
        """Return this cell if it shows the object that the spoken line named.

        Cells longer than FINE_S are too long to tell.
        """
        since = None if self.last_spoken is None else index - self.last_spoken
        is_due = since is not None and since <= max(1, NAMING_LEAD_S / self.cell_s)
        if not (is_due and content.object and self.cell_s <= FINE_S):
            return []
        self.last_spoken = None
        return [index]

    def _candidates(self, index: int, content: CellContent, is_spoken: bool) -> list[int]:
        """Return the cells, up to this one, that this cell shows to be candidates."""
        follows_line = self.goal.line and self.last_spoken == index - 1 and self.cell_s < COARSE_S
        in_scene = self.goal.scene is not None and (content.place, content.light) == self.goal.scene
        candidates = [index] if is_spoken or follows_line or in_scene else []
        if self.marks_non_filler:
            follows_non_filler = self.previous is not None and is_non_filler(self.previous)
            if is_non_filler(content):
                begins = self.previous is not None and not follows_non_filler
                candidates = [index - 1, index] if begins else [index]
            elif follows_non_filler:
                candidates = [index]
        return candidates
