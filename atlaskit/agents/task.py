"""`Task` and `WorkerResult`: what a worker is given and what it returns, both immutable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from atlaskit.agents.budget import Allotment, Charge, PeakUsage
from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import Traversal
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.question import Span
from atlaskit.runs.events import Event

WorkerStop = Literal["finished", "plateau", "steps", "budget", "failed"]
"""Why a visit ended.

* finished: the worker declared its region explored.
* plateau: too many steps in a row brought nothing new.
* steps: the worker used all the steps its strategy planned.
* budget: the budget of the run cut the visit short.
* failed: too many calls in a row failed, or one in a way in which all calls must fail.
"""


@dataclass(frozen=True)
class Task:
    """One region handed to one worker: all that the worker may know, fixed before it starts."""

    search_task: str
    region: Grid
    dead_zones: DeadZones
    allotment: Allotment
    round: int
    worker: int
    """The worker's index within the round."""
    traversal: Traversal = "dfs"
    plateau: int = 0
    """Steps in a row without new evidence or marks that end the visit; 0 means never."""
    known_evidence: Scratchpad = Scratchpad()
    """Evidence that was found in the region before."""


@dataclass(frozen=True)
class WorkerResult:
    """What a worker returns from one visit."""

    region: Grid
    evidence: tuple[Evidence, ...]
    """The evidence that this visit found, without what was known before."""
    stop: WorkerStop
    charge: Charge
    events: tuple[Event, ...]
    longest_s: float = 0.0
    """Seconds of the longest call."""
    marked: tuple[Grid, ...] = ()
    """The cells that the worker marked as promising, in that order."""
    largest: PeakUsage = PeakUsage()
    """Tokens of the largest call."""
    got_no_reply: bool = False
    """Whether no call of the visit reached the model; a call that the server refused did."""
    final_failure: str = ""
    """The failure after which no call of the run can succeed; empty if there was none."""
    opened: tuple[Grid, ...] = ()
    """The grids that the worker opened in its region."""

    @property
    def is_cut_short(self) -> bool:
        """Whether the region was not fully explored, so that it stays open."""
        has_failure = any(event.kind == "failure" for event in self.events)
        return self.stop in ("failed", "budget") or (self.stop in ("steps", "plateau") and has_failure)

    @property
    def unmarked_s(self) -> tuple[Span, ...]:
        """The parts of what was explored without marked cells, [start, end) in seconds.

        Without evidence in the region, these are dead.
        """
        marked = DeadZones().add_all((grid.start_s, grid.end_s) for grid in self.marked)
        return marked.outside(*self.explored_s)

    @property
    def explored_s(self) -> Span:
        """What the visit explored, [start, end) in seconds.

        It is the region; of a shifted one, it is the region together with what it was shifted from.
        """
        seen = (self.region, replace(self.region, shift=0))
        return min(grid.start_s for grid in seen), max(grid.end_s for grid in seen)
