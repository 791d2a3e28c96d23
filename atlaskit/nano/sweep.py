"""Going over the cells of a view one by one, in writing: what each shows, what is said in it, and what follows.

The thought is what makes the search easy to learn, so every sign in it follows from what stands before it, and nothing
waits for a cell that comes later: "0-1-2red~circle~=2+3blue,circle~-". Each word is followed by whether it is one that
is looked for ("~") or not (","). Then comes "-" for nothing, or "=", the number of a cell, and "+" for what is wanted
or "~" for where it may lie: a number is found easily right beside its sign, and hardly anywhere else.

What has to be looked up elsewhere is said before the cells, and found again behind the same words. Where a spoken line
matters, those cells come first in which it names what is wanted: "1“: 0-1“=1~2red,circle,=2+". Of several objects that
are looked for, each has a number: "Of red circle0, blue star1: 0red~circle~ red circle0=0+1red~star~ red star-".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from atlaskit.benchmarks.atlasworld.reel import BANK_CAST
from atlaskit.nano.quest import Quest
from atlaskit.nano.sights import Sight

HERE, NEAR, OTHER, NOTHING = "+", "~", ",", "-"
"""What there is to say of a cell: what is wanted is here, may lie within, or is not; and of a word."""
NAMED = "“"
"""Of a cell in whose time what is wanted is named."""
COARSE_S, FINE_S = 20.0, 4.0
"""Cells longer than the first show too little to pass over a scene that no filler has; in cells shorter than the
second, what is named in them shows in them or in the next."""
HEARD_S = 3.0
"""How long after its name begins to be said, something comes into sight."""


@dataclass(frozen=True)
class Sweep:
    """What was found in a view."""

    thought: str
    keep: tuple[int, ...]
    """Cells that show what is wanted, where it begins; all of them where the question is when."""
    near: tuple[int, ...]
    """Cells within which it may lie."""


def sweep(
    quest: Quest,
    sights: Sequence[Sight | None],
    named: Mapping[int, Sequence[str]],
    *,
    cell_s: float,
    is_long: bool,
) -> Sweep:
    """Go over the cells of a view: what each shows (None for a black one), and the objects that lines in it name.

    `cell_s` is how long a cell lasts; `is_long` tells whether there is filler between the scenes.
    """
    walk = _Walk(quest, cell_s, is_long)
    scenes = quest.scene is not None or cell_s > COARSE_S
    heard = [index for index in sorted(named) if quest.line and not set(quest.named).isdisjoint(named[index])]
    thought = "".join(f"{index}{NAMED}" for index in heard) + ": " * bool(heard)
    thought += listed(quest.objects) if len(quest.objects) > 1 else ""
    for index, sight in enumerate(sights):
        is_named = index in heard and sight is not None
        here, near = walk.step(index, sight, is_named)
        signs = "".join([f"={cell}{HERE}" for cell in here] + [f"={cell}{NEAR}" for cell in near])
        thought += f"{index}{NAMED * is_named}{shown(sight, quest, scenes=scenes)}{signs or NOTHING}"
    return Sweep(thought, tuple(sorted(set(walk.keep))), tuple(sorted(set(walk.near))))


def shown(sight: Sight | None, quest: Quest, *, scenes: bool) -> str:
    """Say what a cell shows, as far as it matters. Of several objects that are looked for, both words may be words of
    different ones: so the object is said whole, and which one it is."""
    if sight is None:
        return ""
    parts = [*((sight.place, sight.light) if scenes else ()), sight.colour, sight.shape]
    words = marked([part for part in parts if part], quest.words)
    if len(quest.objects) > 1 and {sight.colour, sight.shape} <= quest.words:
        is_it = sight.object in quest.objects
        words += f" {sight.object}{quest.objects.index(sight.object) if is_it else ''}"
    return words


def listed(names: Sequence[str]) -> str:
    """Give names their numbers, which stand right behind them; nothing where there are none."""
    return f"Of {', '.join(f'{name}{number}' for number, name in enumerate(names))}: " if names else ""


def marked(words: Sequence[str], wanted: Collection[str]) -> str:
    """Say words, and of each whether it is looked for."""
    return "".join(f"{word}{NEAR if word in wanted else OTHER}" for word in words)


@dataclass
class _Walk:
    """What is known of the cells so far."""

    quest: Quest
    cell_s: float
    is_long: bool
    keep: list[int] = field(default_factory=list)
    near: list[int] = field(default_factory=list)
    before: Sight | None = None
    """The cell before; None at first, and after a black one."""
    beside: int | None = None
    """The last cell that showed an object other than what is wanted, with no black one since."""
    due: bool = False
    """What is wanted was seen, and what comes after it was not yet."""
    heard: int | None = None
    """Where what is wanted was named last, and has not come into sight since."""

    def step(self, index: int, sight: Sight | None, is_named: bool) -> tuple[list[int], list[int]]:
        """Go on to a cell; return the cells in which what is wanted is seen now, or else may lie."""
        if sight is None:
            self.before, self.beside, self.due, self.heard = None, None, False, None
            return [], []
        if is_named:
            self.heard = index
        here = self._here(index, sight)
        near = [] if here else self._near(index, sight, is_named)
        self.keep += here if self.quest.asks == "when" or not self._goes_on(sight) else []
        self.near += near
        self.before = sight
        return here, near

    def _goes_on(self, sight: Sight) -> bool:
        return self.before is not None and self.before.object == sight.object

    def _here(self, index: int, sight: Sight) -> list[int]:
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

    def _near(self, index: int, sight: Sight, is_named: bool) -> list[int]:
        heard_before = self.quest.line and self.heard == index - 1 and self.cell_s < COARSE_S
        in_scene = self.quest.scene is not None and (sight.place, sight.light) == self.quest.scene
        near = [index] if is_named or heard_before or in_scene else []
        if self.is_long and not self.quest.line and self.cell_s > (FINE_S if self.quest.objects else COARSE_S):
            was_strange = self.before is not None and _is_strange(self.before)
            if _is_strange(sight):
                may_begin_before = self.cell_s > COARSE_S and self.before is not None and not was_strange
                near = [index - 1, index] if may_begin_before else [index]
            elif was_strange and self.cell_s > COARSE_S:
                near = [index]
        return near


def _is_strange(sight: Sight) -> bool:
    """Tell whether a scene is of another cast than the filler between the clips of a long world."""
    return (sight.place, sight.light) not in BANK_CAST.settings
