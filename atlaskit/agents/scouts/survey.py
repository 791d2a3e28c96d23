"""`Survey`: what the scouts of one run say of each grid, as hints for prompts and as priors; SCOUTS
by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

from atlaskit.agents.scouts.by_change import change
from atlaskit.agents.scouts.by_words import words
from atlaskit.agents.scouts.hints import CellHint, Said, best_hints, checked, priors
from atlaskit.agents.scouts.sight import Scout, Sight
from atlaskit.environment.grid import Grid
from atlaskit.errors import InputError, printable
from atlaskit.runs import events
from atlaskit.runs.events import HintRecord

SCOUTS: dict[str, Scout] = {"words": words, "change": change}
"""The scouts that need nothing but the video and its subtitles, by name."""


@dataclass(frozen=True)
class Survey:
    """What the scouts of one run say. Of each grid it is computed once, when it is first needed."""

    scouts: Mapping[str, Scout] = field(default_factory=dict)
    """The scouts by name; none by default."""
    are_told: bool = True
    """Whether prompts tell their hints. If not, they only rank the frontier."""
    sight_of: Callable[[str], Sight] | None = None
    """Returns what they may look at, for a search task."""
    _sights: dict[str, Sight] = field(default_factory=dict, init=False)
    _said: dict[tuple[str, Grid], tuple[Said, ...]] = field(default_factory=dict, init=False)

    def look(self, search_task: str, grid: Grid) -> tuple[Said, ...]:
        """Return what each scout says of a grid.

        Raises:
            InputError: If a scout does not return hints about cells of the grid.
        """
        if not self.scouts or self.sight_of is None:
            return ()
        if (search_task, grid) not in self._said:
            if search_task not in self._sights:
                self._sights[search_task] = self.sight_of(search_task)
            sight = self._sights[search_task]
            said = tuple(checked(name, scout(sight, grid), grid) for name, scout in self.scouts.items())
            self._said[search_task, grid] = said
        return self._said[search_task, grid]

    def record(self, search_task: str, grid: Grid) -> Iterator[events.Scout]:
        """Yield the event that records what each scout says of a grid."""
        for said in self.look(search_task, grid):
            hints = (CellHint(cell, hint.score, hint.reason) for cell, hint in said.hints.by_cell.items())
            yield events.Scout(scout=said.scout, path=grid.path, hints=hint_records(hints), note=said.hints.note)

    def told(self, search_task: str, grid: Grid, cells: Collection[int]) -> tuple[CellHint, ...]:
        """Return the hints that a prompt tells of some cells of a grid, best first."""
        return best_hints(self.look(search_task, grid), cells) if self.are_told else ()

    def prior(self, search_task: str, region: Grid) -> float:
        """Return the prior of a region, in [0, 1]: that of its cell in the grid above."""
        if not self.scouts:
            return 0.0
        region = replace(region, shift=0)  # a region that is looked at again, between its frames, is as likely
        return priors(self.look(search_task, region.parent())).get(region.path[-1], 0.0)

    def recorded(self) -> dict[str, Any]:
        """Return what a run records of its scouts: nothing without any."""
        return {"scouts": list(self.scouts), "hints_told": self.are_told} if self.scouts else {}


def hint_records(hints: Iterable[CellHint]) -> tuple[HintRecord, ...]:
    """Return hints as events hold them."""
    return tuple(HintRecord(**vars(hint)) for hint in hints)


def resolve_scouts(scouts: Iterable[str | Scout]) -> dict[str, Scout]:
    """Return scouts by their names in results and traces, in the order given.

    Args:
        scouts: Names in SCOUTS, or functions of a scout's form. One given twice counts once.

    Raises:
        InputError: If one is neither, or two different ones have the same name.
    """
    if isinstance(scouts, str) or not isinstance(scouts, Iterable):
        raise InputError(f"scouts is a list of scouts, such as ({_names()},); got {scouts!r:.80}.")
    found: dict[str, Scout] = {}
    for each in scouts:
        name, scout = _resolved(each)
        if found.setdefault(name, scout) != scout:
            raise InputError(f"Two different scouts have the name {name}: rename one of the functions.")
    return found


def _resolved(scout: str | Scout) -> tuple[str, Scout]:
    if isinstance(scout, str) and scout in SCOUTS:
        return scout, SCOUTS[scout]
    if not callable(scout):
        raise InputError(f"A scout is {_names()}, ak.scouts.likeness(…) or a function; got {scout!r:.80}.")
    try:
        signature(scout).bind(None, None)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"A scout must be callable as scout(sight, grid); {scout!r:.80} is not ({error}). To compare frames, pass "
            f"ak.scouts.likeness(embedder)."
        ) from error
    return printable(str(getattr(scout, "__name__", type(scout).__name__)), 100), scout


def _names() -> str:
    return ", ".join(f'"{name}"' for name in SCOUTS)
