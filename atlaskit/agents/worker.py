"""`Worker`: explores one region within its share of the budget (paper §3.2).

A failed call costs a step, not the region: the worker goes on and keeps the evidence found so far.
A region whose visit was cut short opens again, once.

A conversation is about one view. It only grows while the view stays the same, so that the server's
prefix cache can reuse it; on another view a new conversation begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from atlaskit.agents.budget import Allotment, larger
from atlaskit.agents.prompts import StepCall, Turn
from atlaskit.agents.replies import StepReply, read
from atlaskit.agents.run import Run, request_for
from atlaskit.agents.schemas import to_action
from atlaskit.agents.scouts import Survey
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import Traversal
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.question import Span
from atlaskit.errors import IllegalAction
from atlaskit.models.protocol import MAX_ATTEMPTS, BadReply, ModelError, Refused, Reply, Usage
from atlaskit.runs.events import ActionRecord, Event, Failure, ShownRecord, Step, ViewRecord, paid

MAX_FAILURES_IN_A_ROW = 2
"""A worker gives up after this many failed calls in a row; its visit was then cut short."""

WorkerStop = Literal["finished", "plateau", "steps", "budget", "failed"]
"""Why a visit ended.

* finished: the worker declared its region explored.
* plateau: too many steps in a row brought nothing new.
* steps: the worker used all the steps its strategy planned.
* budget: the budget of the run cut the visit short.
* failed: too many calls in a row failed, or one failed in a way that no later call can avoid.
"""


@dataclass(frozen=True)
class Task:
    """One region for one worker: all facts that the worker may use, fixed before it starts."""

    search_task: str
    region: Grid
    dead_zones: DeadZones
    allotment: Allotment
    round: int
    worker: int
    """The worker's index within the round."""
    traversal: Traversal = "dfs"
    plateau: int = 0
    """The visit ends after this many steps in a row that bring nothing new: no evidence, no marked
    cell and no sheet for the first time. 0 means that there is no such limit."""
    known_evidence: Scratchpad = Scratchpad()
    """Evidence that was found in the region before."""


@dataclass(frozen=True)
class Visit:
    """The result of a worker in its region."""

    region: Grid
    stop: WorkerStop
    evidence: tuple[Evidence, ...]
    """The evidence that this visit found, without the evidence known before."""
    marked: tuple[Grid, ...]
    """The cells that the worker marked as promising, in the order of marking."""
    shown: tuple[Grid, ...]
    """The grids that the worker saw and replied to, its region included, in order of paths."""
    finest: frozenset[Grid]
    """The shown grids whose cells cannot be opened: they were seen as finely as possible."""
    events: tuple[Event, ...]
    is_silent: bool
    """Whether the visit made calls, and all of them failed, none by a refusal: see
    `master.Sortie`."""
    refusal: str
    """The failure after which no call of the run can succeed; empty if there was none."""

    @property
    def is_cut_short(self) -> bool:
        """Whether the region was not fully explored, so that it opens again, but only once."""
        has_failure = any(isinstance(event, Failure) for event in self.events)
        return self.stop in ("failed", "budget") or (
            self.stop in ("steps", "plateau") and has_failure
        )

    @property
    def explored_s(self) -> Span:
        """The interval that the visit explored, [start, end) in seconds.

        It is the region. For a shifted region, it also includes the region before the shift.
        """
        seen = (self.region, replace(self.region, shift=()))
        return min(grid.start_s for grid in seen), max(grid.end_s for grid in seen)

    @property
    def searched_s(self) -> tuple[Span, ...]:
        """Intervals in seconds that were opened or seen as finely as possible.

        Marked cells are left out. If the region holds no evidence, these intervals are dead. A cell
        that was seen but not opened is not dead, since the evidence may lie between the frames.
        """
        opened_s = list[Span]()
        for grid in self.shown:
            if grid != self.region or grid in self.finest:
                opened_s.append(grid.interval_s)
        zones = DeadZones().add_all(opened_s)
        return zones.without_all(grid.interval_s for grid in self.marked).intervals


@dataclass
class Worker:
    """An agent in its region.

    With traversal "dfs" it opens cells until it sees the evidence; with "bfs" it scans one level
    and marks the cells that later rounds should open.
    """

    run: Run
    atlas: Atlas
    task: Task
    survey: Survey = Survey()
    turns: tuple[Turn, ...] = ()
    """The turns so far."""
    begin: int = 0
    """How many turns came before the current conversation."""
    steps_without_gain: int = 0
    """Steps since the last new evidence, marked cell or newly opened sheet."""
    used: Usage = Usage()
    """The usage of the visit so far."""
    failures_in_a_row: int = 0
    is_silent: bool = True
    refusal: str = ""
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        task = self.task
        self.state = self.atlas.start(
            task.region, task.dead_zones, task.known_evidence, task.traversal
        )
        self.observation = self.atlas.observe(self.state)
        self.largest_call = task.allotment.largest_call
        # Fields of each event of the visit.
        self.place: dict[str, Any] = {"round": task.round, "worker": task.worker}

    def explore(self) -> Visit:
        """Explore the region within the allotment of calls, tokens and time."""
        stop = self.stop()
        while stop is None:
            event = self.step()
            self.events.append(event)
            self.run.emit(event)
            stop = self.stop()
        shown = tuple(sorted(self.shown, key=lambda grid: grid.path))
        return Visit(
            region=self.task.region,
            stop=stop,
            evidence=self.state.scratchpad.items[len(self.task.known_evidence) :],
            marked=self.state.marked,
            shown=shown,
            finest=frozenset(grid for grid in shown if not self.state.rules.can_open(grid)),
            events=tuple(self.events),
            is_silent=self.is_silent and bool(self.events),
            refusal=self.refusal,
        )

    @property
    def shown(self) -> set[Grid]:
        """The grids that the model replied to."""
        return {turn.observation.view.grid for turn in self.turns}

    @property
    def calls_left(self) -> int:
        """Calls that the allotment still allows."""
        return self.task.allotment.calls - self.used.calls

    def stop(self) -> WorkerStop | None:
        """Return why the visit ends before its next call; None if it goes on."""
        allotment = self.task.allotment
        if self.refusal or self.failures_in_a_row == MAX_FAILURES_IN_A_ROW:
            return "failed"
        if self.state.finished:
            return "finished"
        if self.task.plateau > 0 and self.steps_without_gain == self.task.plateau:
            return "plateau"
        if self.calls_left <= 0:
            return "steps" if allotment.is_full else "budget"
        spent = self.run.meter.budget.amounts(self.used)
        for name, share in allotment.tokens.items():
            if spent[name] + self.largest_call[name] > share:
                return "budget"
        return "budget" if self.run.meter.is_out_of_time() else None

    def step(self) -> Event:
        """Make one call and take the action it returns; a failed call changes no state."""
        left = self.calls_left
        call = self.next_call(left)
        outcome = self.run.complete(request_for(self.run.vlm, call), min(left, MAX_ATTEMPTS))
        self.used += outcome.usage
        self.largest_call = larger(self.largest_call, self.run.meter.budget.amounts(outcome.usage))
        if not isinstance(outcome, ModelError):
            self.failures_in_a_row = 0
            self.is_silent = False
            return self.act(outcome, call)
        self.failures_in_a_row += 1
        self.refusal = str(outcome) if outcome.is_final else ""
        self.is_silent = self.is_silent and not isinstance(outcome, Refused)
        if isinstance(outcome, Refused | BadReply):
            # The same messages would fail again, so a new conversation begins.
            self.begin = len(self.turns)
        return Failure.of("step", outcome, view=ViewRecord.of(self.observation), **self.place)

    def next_call(self, steps_left: int) -> StepCall:
        """Return the next call: the turns so far, and the current observation."""
        search_task = self.task.search_task
        seen = self.observation
        open_cells = [cell.index for cell in seen.view.cells if cell.index not in seen.view.dead]
        return StepCall(
            self.run.question,
            search_task,
            observation=seen,
            turns=self.turns,
            steps_left=steps_left,
            begin=self.begin,
            hints=self.survey.hints_for(search_task, self.state.grid, open_cells),
            idle_left=self.idle_left,
        )

    @property
    def idle_left(self) -> int:
        """How many more steps without anything new end the visit; 0 if there is no such limit."""
        return max(0, self.task.plateau - self.steps_without_gain)

    def act(self, reply: Reply, call: StepCall) -> Event:
        """Take the action that the model chose; return the event of this step.

        An illegal action changes no state: it costs the step, and the next prompt says why.
        """
        before = self.observation
        step = read(StepReply, reply.answer)
        action = to_action(step.action)
        problem = ""
        try:
            self.state = self.atlas.act(self.state, action)
        except IllegalAction as error:
            problem = str(error)
        after = self.atlas.observe(self.state)
        self.observation = after
        is_new = after.view.grid not in {before.view.grid, *self.shown}
        turn = Turn(
            observation=before,
            steps_left=call.steps_left,
            reply=reply.text,
            thought=step.thought,
            action=action,
            problem=problem,
            idle_left=call.idle_left,
        )
        self.turns += (turn,)
        if after.view.grid != before.view.grid:
            self.begin = len(self.turns)
        found = self.state.scratchpad.items[len(before.state.scratchpad) :]
        marked = self.state.marked[len(before.state.marked) :]
        if found or marked or is_new:
            self.steps_without_gain = 0
        else:
            self.steps_without_gain += 1
        return Step(
            **self.place,
            view=ViewRecord.of(before),
            interval_s=before.view.grid.interval_s,
            depth=before.state.depth,
            action=ActionRecord.of(action),
            problem=problem,
            shown=None if problem else ShownRecord.of(after),
            found=found,
            marked=tuple(grid.path for grid in marked),
            thought=step.thought,
            # The prompt shows hints only at the beginning of a conversation.
            hints=call.hints if call.begins else (),
            **paid(reply),
        )
