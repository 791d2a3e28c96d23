"""Going over the cells of a view one by one, in writing: what each shows, what is said in it, and what follows.

The thought is what makes the search easy to learn, so every sign in it follows from what stands before it, and nothing
waits for a cell that comes later: "0-1-2red~circle~+2/.3red~circle~^4blue,circle~-". Each word is followed by whether
it is one that is looked for ("~") or not (","). Then comes "-" for nothing, "^" for more of the same, or a sign, the
number of the cell, and the number of the cell that had the same sign before ("." for none): "+" for what is wanted,
"=" for where it may lie. The last words are those of both that are to be done next, ". +2=-", from which all else is
read off link by link: a small mind finds what stood behind the same number before, and hardly anything else.

Cells that were opened before are marked as in the prompt, where they are found behind the same number
("1*sea~noon~-"). What else has to be looked up is said before the cells, and found again alike. Where a spoken line
matters, it comes first, up to what it names, and the cells in which it is said: "“Here comes a red circle1“: =/0-1“=…".
Of several objects that are looked for, each has a number: "Of red circle0, blue star1: +/0red~circle~ red circle0+0/.".

What follows from a cell hangs on how long cells last, too, which is said once, before the first ("=", "^", "+" or "-",
and "/"). In a long film a scene that no filler has is marked right behind its words: which these are is known by heart.
Whether that matters is said before the cells as well ("=!/0sea,night,-1…"): where it was not, a dozen cells of filler
without a mark were taken for a sign that it does not, and the first strange scene was passed over. Each cell then ends
with what the next has to know of it, so that nobody looks back further than one token: "!" for a strange one, "-" for
one that is opened too if a strange one follows, "/" for any other ("4sea,night,-5city,night,!red,star,=4/.=5/4.!").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from atlaskit.agents.verbalize import OPENED_MARK
from atlaskit.benchmarks.atlasworld.long_timeline import BANK_CAST
from atlaskit.nano.teacher.goal import Goal, until_named
from atlaskit.nano.teacher.labels import CellContent

WANTED, OTHER = "~", ","
"""What there is to say of a word: it is looked for, or not."""
HERE, NEAR, MORE, NOTHING = "+", "=", "^", "-"
"""What there is to say of a cell: what is wanted is seen, or may lie within; that is so, and needs no other look; or
nothing."""
BEFORE, FIRST = "/", "."
"""Stand before the cell that had the same sign before, and for none."""
NAMED = "“"
"""Of a cell in whose time the line is said that is asked for."""
SHORT_S = 1.0
"""What does not show in cells as short as that is taken not to be there."""
COARSE_S, FINE_S = 20.0, 4.0
"""Cells longer than the first show too little to pass over a scene that no filler has; in cells shorter than the
second, what is named in them shows in them or in the next."""
LENGTHS = ((COARSE_S, "="), (FINE_S, "^"), (SHORT_S, "+"), (0.0, "-"))
"""Before the cells: what there is to say of their length, if it is more than so many seconds."""
STRANGE = "!"
"""Before the cells, where it matters whether a filler has a scene; and of each that none has."""
CLOSED = "/"
"""At the end of a cell that a strange one leaves alone if it follows: black, or opened before; and before the first."""
HEARD_S = 3.0
"""How long after its name begins to be said, something comes into sight."""


@dataclass(frozen=True)
class Scan:
    """What was found in a view."""

    thought: str
    keep: tuple[int, ...]
    """Cells that show what is wanted, where it begins; all of them where the question is when."""
    near: tuple[int, ...]
    """Cells within which it may lie."""


def scan_view(
    quest: Goal,
    sights: Sequence[CellContent | None],
    said: Mapping[int, Sequence[str]],
    *,
    cell_s: float,
    is_long: bool,
    opened: Collection[int] = (),
    lists: bool = False,
) -> Scan:
    """Go over the cells of a view: what each shows (None for a black one), and the lines that are said in it.

    `cell_s` is how long a cell lasts; `is_long` tells whether there is filler between the scenes; `opened` cells
    were opened before, from this view, in which then all was kept that is wanted. Who only `lists` cells to search
    passes over all that were opened, also those that show what is wanted.
    """
    minds_filler = is_long and not quest.line and cell_s > (FINE_S if quest.objects else COARSE_S)
    walk = _ScanState(quest, cell_s, minds_filler, frozenset(opened), lists)
    scenes = quest.scene is not None or cell_s > COARSE_S or minds_filler
    heard = heard_in(quest, said)
    thought = named_first(quest, heard) if quest.line else ""
    if len(quest.objects) > 1:
        thought += listed(quest.objects)
    thought += next(sign for least_s, sign in LENGTHS if cell_s > least_s) + STRANGE * minds_filler + CLOSED
    for index, sight in enumerate(sights):
        is_named = index in heard and sight is not None
        signs = walk.step(index, sight, is_named)
        marks = OPENED_MARK * (index in opened) + NAMED * is_named
        seen = shown(sight, quest, scenes=scenes, minds_filler=minds_filler)
        end = walk.end(index) if minds_filler else NOTHING * (not signs)
        thought += f"{index}{marks}{seen}{signs}{end}"
    keep, near = walk.signed[HERE] if lists or not opened else [], [] if walk.is_done else walk.signed[NEAR]
    last = "".join(f"{sign}{cells[-1] if cells else NOTHING}" for sign, cells in ((HERE, keep), (NEAR, near)))
    return Scan(f"{thought}. {last}", tuple(keep), tuple(near))


def heard_in(quest: Goal, said: Mapping[int, Sequence[str]]) -> list[int]:
    """Return the cells in which the line is said that is asked for, if any is."""
    return [cell for cell in sorted(said) if quest.line and quest.line in said[cell]]


def named_first(quest: Goal, heard: Sequence[int]) -> str:
    """Say a line as far as what it names, and the cells in which it is said, marked as when they are gone over."""
    return f"{NAMED}{until_named(quest.line)}{''.join(f'{cell}{NAMED}' for cell in heard) or NOTHING}: "


def shown(sight: CellContent | None, quest: Goal, *, scenes: bool, minds_filler: bool) -> str:
    """Say what a cell shows, as far as it matters. Of several objects that are looked for, both words may be words of
    different ones: so the object is said whole, and which one it is. A strange scene is marked right behind its words.
    """
    if sight is None:
        return ""
    words = marked((sight.place, sight.light), quest.words) if scenes else ""
    words += STRANGE * (minds_filler and is_strange(sight))
    words += marked([part for part in (sight.colour, sight.shape) if part], quest.words)
    if len(quest.objects) > 1 and {sight.colour, sight.shape} <= quest.words:
        is_it = sight.object in quest.objects
        words += f" {sight.object}{quest.objects.index(sight.object) if is_it else ''}"
    return words


def listed(names: Sequence[str]) -> str:
    """Give names their numbers, which stand right behind them; nothing where there are none."""
    return f"Of {', '.join(f'{name}{number}' for number, name in enumerate(names))}: " if names else ""


def marked(words: Sequence[str], wanted: Collection[str]) -> str:
    """Say words, and of each whether it is looked for."""
    return "".join(f"{word}{WANTED if word in wanted else OTHER}" for word in words)


@dataclass
class _ScanState:
    """What is known of the cells so far."""

    quest: Goal
    cell_s: float
    minds_filler: bool
    """There is filler between the scenes, and what is none may hold what is wanted."""
    opened: frozenset[int]
    lists: bool
    """Cells are only listed, those that were opened not at all."""
    signed: dict[str, list[int]] = field(default_factory=lambda: {HERE: [], NEAR: []})
    """The cells that have each sign so far."""
    is_done: bool = False
    """What is wanted was seen, and in cells as fine as these that is all there is to find."""
    before: CellContent | None = None
    """The cell before; None at first, and after a black one."""
    beside: int | None = None
    """The last cell that showed an object other than what is wanted, with no black one since."""
    due: bool = False
    """What is wanted was seen, and what comes after it was not yet."""
    heard: int | None = None
    """Where what is wanted was named last, and has not come into sight since."""

    def step(self, index: int, sight: CellContent | None, is_named: bool) -> str:
        """Go on to a cell; return the signs of what is seen, or else may lie, in it and those before."""
        if sight is None:
            self.before, self.beside, self.due, self.heard = None, None, False, None
            return ""
        if is_named:
            self.heard = index
        here, near = self._here(index, sight), list[int]()
        if here:
            self.is_done = self.cell_s < COARSE_S
        elif self.cell_s > SHORT_S:
            near = self._near(index, sight, is_named)
        kept = here if self.quest.asks == "when" or not self._goes_on(sight) else []
        self.before = sight
        signs = "".join([self._sign(HERE, cell) for cell in kept] + [self._sign(NEAR, cell) for cell in near])
        return signs or MORE * bool(here)

    def end(self, index: int) -> str:
        """Return what the next cell has to know of the one that was just gone over."""
        if self.before is not None and is_strange(self.before):
            return STRANGE
        return CLOSED if self.before is None or index in self.opened else NOTHING

    def _sign(self, sign: str, cell: int) -> str:
        if any(cell in cells for cells in self.signed.values()):
            return ""
        if cell in self.opened and (sign == NEAR or self.lists):
            return ""
        others = self.signed[sign]
        link = others[-1] if others else ""
        others.append(cell)
        return f"{sign}{cell}{BEFORE}{link}{FIRST}"

    def _goes_on(self, sight: CellContent) -> bool:
        return self.before is not None and self.before.object == sight.object

    def _here(self, index: int, sight: CellContent) -> list[int]:
        if self.quest.line:
            since = None if self.heard is None else index - self.heard
            is_it = since is not None and since <= max(1, HEARD_S / self.cell_s)
            if not (is_it and sight.object and self.cell_s <= FINE_S):
                return []
            self.heard = None
            return [index]
        is_it = self.quest.wants(sight)
        found = [index] if is_it else []
        if self.quest.asks == "neighbour":
            if is_it and self.quest.side == "before" and self.beside is not None and not self._goes_on(sight):
                found = [self.beside, index]
            elif sight.object and not is_it and self.due:
                found = [index]
            self.due = self.quest.side == "after" and (is_it or (self.due and not sight.object))
        if sight.object and not is_it:
            self.beside = index
        return found

    def _near(self, index: int, sight: CellContent, is_named: bool) -> list[int]:
        heard_before = self.quest.line and self.heard == index - 1 and self.cell_s < COARSE_S
        in_scene = self.quest.scene is not None and (sight.place, sight.light) == self.quest.scene
        near = [index] if is_named or heard_before or in_scene else []
        if self.minds_filler:
            was_strange = self.before is not None and is_strange(self.before)
            if is_strange(sight):
                begins = self.before is not None and not was_strange
                near = [index - 1, index] if begins else [index]
            elif was_strange:
                near = [index]
        return near


def is_strange(sight: CellContent) -> bool:
    """Tell whether a scene is of another cast than the filler between the clips of a long world."""
    return (sight.place, sight.light) not in BANK_CAST.settings
