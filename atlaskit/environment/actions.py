"""The actions of the MDP (paper §3.1), and `ACTIONS`, the table of their properties.

An action names cells by index, never times, so an agent cannot select what it cannot see. All code
that lists, parses, describes or offers actions reads this table. The effects of the actions are in
`mdp.EFFECTS`. A new action needs a class and a row here, and an effect there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Direction = Literal["before", "after"]


@dataclass(frozen=True)
class Action:
    """What an agent can do in one step."""


@dataclass(frozen=True)
class Expand(Action):
    """Go to the grid of exactly one cell's interval, one level deeper.

    Examples:
        >>> atlas = ak.Atlas(video, k=4)
        >>> atlas.step(ak.Expand(cell=5)).view.grid.path
        (5,)
    """

    cell: int


@dataclass(frozen=True)
class Backtrack(Action):
    """Go back to the grid that the current one was expanded from.

    Examples:
        >>> atlas = ak.Atlas(video, k=4)
        >>> atlas.step(ak.Expand(5)).state.depth, atlas.step(ak.Backtrack()).state.depth
        (1, 0)
    """


@dataclass(frozen=True)
class MarkPromising(Action):
    """Queue the grids of some cells for later visits (breadth-first workers only).

    Examples:
        >>> atlas = ak.Atlas(video, k=4, traversal="bfs")
        >>> [grid.path for grid in atlas.step(ak.MarkPromising((2, 7))).state.marked]
        [(2,), (7,)]
    """

    cells: tuple[int, ...]


@dataclass(frozen=True)
class Zoom(Action):
    """Look at a cell's frame at full resolution.

    Examples:
        >>> atlas = ak.Atlas(video, k=4)
        >>> atlas.step(ak.Zoom(cell=5)).looking_at.size
        (320, 180)
    """

    cell: int


@dataclass(frozen=True)
class Investigate(Action):
    """Look at the frames just before or just after a cell (a context scan).

    Examples:
        >>> atlas = ak.Atlas(video, k=4)
        >>> atlas.step(ak.Investigate(cell=5, direction="before")).looking_at.grid.end_s
        37.5
    """

    cell: int
    direction: Direction


@dataclass(frozen=True)
class Claim:
    """An agent's claim that the frame of a visible cell is evidence.

    The agent gives the cell, the description and the confidence; the environment fills in the rest.

    Examples:
        >>> ak.Claim(cell=3, description="a white square", confidence=0.9)
        Claim(cell=3, description='a white square', confidence=0.9, subtitle='', timestamp_s=None)
    """

    cell: int
    description: str
    confidence: float = 1.0
    """Confidence in [0, 1]."""
    subtitle: str = ""
    """Text of the subtitle lines during the cell; set by the environment."""
    timestamp_s: float | None = None
    """Time of the cell's frame in seconds; set by the environment. None: the cell's midpoint."""


@dataclass(frozen=True)
class AddToScratchpad(Action):
    """Add the frames of some visible cells to the scratchpad as evidence.

    Examples:
        >>> atlas = ak.Atlas(video)
        >>> claim = ak.Claim(cell=3, description="a white square", confidence=0.9)
        >>> len(atlas.step(ak.AddToScratchpad((claim,))).state.scratchpad)
        1
    """

    items: tuple[Claim, ...]


@dataclass(frozen=True)
class Finished(Action):
    """Declare the region explored.

    Examples:
        >>> ak.Atlas(video).step(ak.Finished()).state.finished
        True
    """


@dataclass(frozen=True)
class ActionKind:
    """A row of the table of actions. A scan before a cell is one kind, a scan after it another."""

    type: type[Action]
    takes: Literal["cell", "cells", "claims", "nothing"]
    """The argument of an action of this kind: a cell, cells, claims about cells, or nothing."""
    legal: Callable[[Any], Iterable[int] | bool]
    """Returns the cells that the action may name in a `State`; for an action that names none,
    whether it is legal."""
    help: str
    """Its purpose, for prompts."""
    past: str
    """Past-tense summary of the action, shown to the model in later views. {start}, {end} and
    {moment} are times of the first cell that the action names, {last} is the end of the view,
    {count} the number of cells, and {kept} the claims."""
    phrase: str
    """Present-tense summary with the {cells} it names, for displays."""
    verb: str
    """Present-tense summary without cells, for displays."""
    result: str = "Done."
    """The result of the action, with its {cells}, for the next prompt; the image that it asked for,
    if any, follows."""
    traversal: str = ""
    """The traversal in which it is offered; empty for both."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Its fixed arguments."""

    @property
    def title(self) -> str:
        """The name in error messages: "Investigate before"."""
        return " ".join([self.type.__name__, *self.given.values()])

    def make(self, named: Sequence[Any] = ()) -> Action:
        """Return the action that names these cells or claims."""
        arguments: tuple[Any, ...]
        if self.takes == "nothing":
            arguments = ()
        elif self.takes == "cell":
            arguments = tuple(named[:1])
        else:  # the cells or claims are one argument
            arguments = (tuple(named),)
        return self.type(*arguments, **self.given)

    def is_of(self, action: Any) -> bool:
        """Return whether an action is of this kind."""
        if type(action) is not self.type:
            return False
        return all(getattr(action, name) == value for name, value in self.given.items())


ACTIONS = {
    "expand": ActionKind(
        Expand,
        "cell",
        legal=lambda state: state.expandable,
        help="open a cell to see its stretch of time in finer steps.",
        past="- opened {start}–{end}",
        phrase="opens {cells}",
        verb="opens a cell",
        traversal="dfs",
    ),
    "backtrack": ActionKind(
        Backtrack,
        "nothing",
        legal=lambda state: state.depth > state.region_depth,
        help="return to the sheet that this one was opened from.",
        past="- came back from {start}–{last}",
        phrase="goes back to the grid above",
        verb="goes back to the grid above",
        traversal="dfs",
    ),
    "mark_promising": ActionKind(
        MarkPromising,
        "cells",
        legal=lambda state: state.markable,
        help="queue the cells in which what is wanted may lie between the frames; others will open "
        "them. You see this one sheet only, and have few turns: mark first, then look closer.",
        past="- queued {count} cells from {start}",
        phrase="marks {cells} as promising",
        verb="marks cells as promising",
        result="Queued: {cells}.",
        traversal="bfs",
    ),
    "zoom": ActionKind(
        Zoom,
        "cell",
        legal=lambda state: [cell.index for cell in state.alive],
        help="see a cell's frame at full size, to read text or tell details apart.",
        past="- looked closely at {moment}",
        phrase="looks at the frame of {cells}",
        verb="looks at a frame",
        result="Cell {cells} at full size:",
    ),
    "investigate_before": ActionKind(
        Investigate,
        "cell",
        legal=lambda state: [cell.index for cell in state.alive if cell.start_s > 0],
        help="see a strip of the frames right before a cell's stretch or right after it, once you "
        "have found the scene that matters.",
        past="- looked at what comes before {moment}",
        phrase="looks just before {cells}",
        verb="looks before or after a frame",
        result="What comes before cell {cells}; keep its frames in your next action or never:",
        given={"direction": "before"},
    ),
    "investigate_after": ActionKind(
        Investigate,
        "cell",
        legal=lambda state: [
            cell.index for cell in state.alive if cell.end_s < state.rules.duration_s
        ],
        help="",  # the model sees one word for both, with the help of `investigate_before`
        past="- looked at what comes after {moment}",
        phrase="looks just after {cells}",
        verb="looks before or after a frame",
        result="What comes after cell {cells}; keep its frames in your next action or never:",
        given={"direction": "after"},
    ),
    "add_to_scratchpad": ActionKind(
        AddToScratchpad,
        "claims",
        legal=lambda state: state.addable,
        help="keep frames that you see as evidence, by their numbers; say of each what it shows, "
        "which answer that supports or rules out, and how sure you are.",
        past="- kept {kept}",
        phrase="adds evidence from {cells}",
        verb="adds evidence",
        result="Kept: {cells}.",
    ),
    "finished": ActionKind(
        Finished,
        "nothing",
        legal=lambda state: True,
        help="what is wanted is kept, or it is not here.",
        past="- finished",
        phrase="finishes its region",
        verb="finishes its region",
    ),
}
"""The kinds of action by their names in JSON, in the order in which they are listed."""


def name_of(action: Action) -> str:
    """Return the name of an action's kind."""
    return next(name for name, kind in ACTIONS.items() if kind.is_of(action))


def word_of(name: str) -> str:
    """Return the word by which a model chooses a kind: its name without fixed arguments."""
    for argument in ACTIONS[name].given.values():
        name = name.removesuffix(f"_{argument}")
    return name


def cells_of(action: Any) -> tuple[int, ...]:
    """Return the cells that an action names, in its order."""
    match ACTIONS[name_of(action)].takes:
        case "cell":
            return (action.cell,)
        case "cells":
            return tuple(action.cells)
        case "claims":
            return tuple(item.cell for item in action.items)
    return ()
