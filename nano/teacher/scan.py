"""`scan_view`: writes the teacher's thought about a view, and lists the cells worth opening.

The thought makes the search easy to learn. It goes over the cells in order, and each sign follows
from the text before that sign, never from a later cell:
"0-1-2red~circle~+2/.3red~circle~^4blue,circle~-".

After each word stands "~" if the word is a keyword of the goal, "," if it is not. After each cell
stands "-" for nothing, "^" for the same hit as in the cell before, "+" for a hit, or "=" for a
candidate, which is a cell that may contain what the goal looks for. "+" and "=" come with the
number of the cell and with a link: between "/" and ".", the previous cell with the same sign, if
there is one. The thought ends with the last hit and the last candidate, ". +2=-". The teacher
chooses its actions from that end and follows the links backwards, because a small model can do
little more than find the text that followed the same number before.

A cell that was opened before carries the same mark as in the prompt, so the model finds the mark
after the same number ("1*sea~noon~-"). Everything else that the model must look up elsewhere stands
before the first cell:

* If the question quotes a subtitle line, the thought starts with that line up to the object that it
  names, and with the cells in which it is spoken: "“Here comes a red circle1“: =/0-1“=…".
* If the goal names several objects, the thought numbers them: "Of red circle0, blue star1:
  +/0red~circle~ red circle0+0/.".
* What follows from a cell also depends on how long cells last. One of the signs "=", "^", "+" and
  "-", followed by "/", gives that length.

In long worlds, "!" follows each non-filler scene (see `notation`). Another "!" before the first
cell says that such scenes matter in this view ("=!/0sea,night,-1…"). Without that sign, models
concluded from a dozen unmarked filler cells that scenes do not matter, and skipped the first
non-filler scene. In these views each cell ends with a sign that says all that the next cell needs
to know, so that the model looks back one token at most: "!" for a non-filler scene, "-" for a cell
that also becomes a candidate if a non-filler scene follows, "/" for any other cell
("4sea,night,-5city,night,!red,star,=4/.=5/4.!").
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
        hits: Cells in which what the goal looks for first appears; for when-questions, all cells
            that show it.
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
    """Scan the cells of a view in order, and write the thought.

    Args:
        goal: What the question looks for.
        contents: What each cell shows; None for a black cell.
        texts: Texts of the subtitle lines that the prompt lists, by cell.
        cell_s: Length of a cell in seconds.
        is_long: Whether the world is a long one, which has filler clips.
        opened: Cells that were opened from this view before. Their evidence is already in the
            scratchpad.
        for_probe: Whether the scan only lists cells to search; an opened cell then is no hit
            either.
    """
    longest_unmarked_s = FINE_S if goal.objects else COARSE_S
    marks_non_filler = is_long and not goal.line and cell_s > longest_unmarked_s
    with_scene = goal.scene is not None or cell_s > COARSE_S or marks_non_filler
    state = _ScanState(goal, cell_s, marks_non_filler, frozenset(opened), for_probe)
    line_cells = cells_with_line(goal, texts)
    thought = quote_line(goal, line_cells) if goal.line else ""
    if len(goal.objects) > 1:
        thought += list_names(goal.objects)
    thought += next(sign for length_s, sign in LENGTH_SIGNS if cell_s > length_s)
    if marks_non_filler:
        thought += NON_FILLER
    thought += CLOSED
    for index, content in enumerate(contents):
        is_spoken = index in line_cells and content is not None
        thought += str(index)
        if index in opened:
            thought += OPENED
        if is_spoken:
            thought += SPOKEN
        thought += read_cell(
            content, goal, with_scene=with_scene, marks_non_filler=marks_non_filler
        )
        signs = state.advance(index, content, is_spoken)
        thought += signs
        if marks_non_filler:
            thought += state.end_sign(index)
        elif not signs:
            thought += NOTHING
    # A worker added the hits to the scratchpad before it opened the first cell of the view.
    hits = state.signed[HIT] if for_probe or not opened else []
    candidates = [] if state.is_complete else state.signed[CANDIDATE]
    last_hit = hits[-1] if hits else NOTHING
    last_candidate = candidates[-1] if candidates else NOTHING
    thought += f". {HIT}{last_hit}{CANDIDATE}{last_candidate}"
    return Scan(thought, tuple(hits), tuple(candidates))


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
    """Whether there was a hit in cells so short that no candidate needs to be opened."""
    previous: CellContent | None = None
    """Content of the previous cell; None for the first cell and after a black cell."""
    last_other: int | None = None
    """Last cell that showed another object than the goal's, with no black cell since."""
    awaits_next: bool = False
    """Whether the goal's object was seen, but not yet the object that comes after it."""
    last_spoken: int | None = None
    """Last cell in which the goal's line is spoken, until the object that it names is seen."""

    def advance(self, index: int, content: CellContent | None, is_spoken: bool) -> str:
        """Scan one cell; return the signs that this adds, for the cell or for one before it."""
        if content is None:
            self.previous = None
            self.last_other = None
            self.awaits_next = False
            self.last_spoken = None
            return ""
        if is_spoken:
            self.last_spoken = index
        hits = self._hits(index, content)
        candidates: list[int] = []
        if hits:
            self.is_complete = self.cell_s < COARSE_S
        elif self.cell_s > SHORT_S:
            candidates = self._candidates(index, content, is_spoken)
        new_hits = hits if self.goal.type == "when" or not self._repeats(content) else []
        self.previous = content
        signs = "".join(self._sign(HIT, cell) for cell in new_hits)
        signs += "".join(self._sign(CANDIDATE, cell) for cell in candidates)
        if hits and not signs:
            return REPEAT
        return signs

    def end_sign(self, index: int) -> str:
        """Return the sign that tells the next cell about the cell that was just scanned."""
        if self.previous is None:
            return CLOSED
        if is_non_filler(self.previous):
            return NON_FILLER
        return CLOSED if index in self.opened else NOTHING

    def _sign(self, sign: str, cell: int) -> str:
        """Give a cell a sign, with a link to the previous cell that has it.

        Returns "" if the cell has a sign already, or was opened before and needs none.
        """
        if any(cell in cells for cells in self.signed.values()):
            return ""
        if cell in self.opened and (sign == CANDIDATE or self.for_probe):
            return ""
        cells = self.signed[sign]
        link = cells[-1] if cells else ""
        cells.append(cell)
        return f"{sign}{cell}{LINK}{link}{LINK_END}"

    def _repeats(self, content: CellContent) -> bool:
        """Return whether the previous cell shows the same object."""
        return self.previous is not None and self.previous.object == content.object

    def _hits(self, index: int, content: CellContent) -> list[int]:
        """Return the cells, this one or an earlier one, that this cell makes hits."""
        if self.goal.line:
            return self._hits_of_line(index, content)
        matches = self.goal.matches(content)
        shows_other = bool(content.object) and not matches
        hits = [index] if matches else []
        if self.goal.type == "neighbour":
            begins = matches and not self._repeats(content)
            if begins and self.goal.side == "before" and self.last_other is not None:
                hits = [self.last_other, index]
            elif shows_other and self.awaits_next:
                hits = [index]
            awaits_next = matches or (self.awaits_next and not content.object)
            self.awaits_next = awaits_next and self.goal.side == "after"
        if shows_other:
            self.last_other = index
        return hits

    def _hits_of_line(self, index: int, content: CellContent) -> list[int]:
        """Return this cell if it shows the object that the spoken line named.

        In cells longer than FINE_S, the object in the frame may be another one.
        """
        if self.last_spoken is None or self.cell_s > FINE_S or not content.object:
            return []
        cells_since_line = index - self.last_spoken
        if cells_since_line > max(1, NAMING_LEAD_S / self.cell_s):
            return []
        self.last_spoken = None
        return [index]

    def _candidates(self, index: int, content: CellContent, is_spoken: bool) -> list[int]:
        """Return the cells, this one or an earlier one, that this cell makes candidates."""
        follows_line = self.last_spoken == index - 1 and self.cell_s < COARSE_S
        in_scene = self.goal.scene is not None and (content.place, content.light) == self.goal.scene
        candidates = [index] if is_spoken or follows_line or in_scene else []
        if self.marks_non_filler:
            follows_non_filler = self.previous is not None and is_non_filler(self.previous)
            follows_filler = self.previous is not None and not follows_non_filler
            # A scene may begin or end between the frames of two cells.
            if is_non_filler(content) and follows_filler:
                candidates = [index - 1, index]
            elif is_non_filler(content) or follows_non_filler:
                candidates = [index]
        return candidates
