"""The loop of Video-RLM (paper §3.2), from top to bottom: plan, probe, choose, explore, merge,
review, decide.

`Loop.explore` is the loop; each of its steps is a method below it, in this order. When the workers
of a round are back, `merge` takes over their findings.

Three promises rest on this module:

* **Order does not matter.** What each worker of a round may know and spend is fixed before the
  round's workers start, and so is what the probe beside them sees. Visits are merged in the order
  in which the regions were handed out. With a deterministic model, the outcome does not depend on
  the number of threads or on their timing.
* **A failure costs a step, not a region.** A failed call counts against the budget. The evidence
  found before is kept, and the region or the next round can try again.
* **Budgets are hard.** The loop checks the budget before each call, and keeps enough of it for the
  decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

from atlaskit.agents.budget import Limit
from atlaskit.agents.master import Master, follow
from atlaskit.agents.prompts import ProbeCall, ReviewCall, TaskCall
from atlaskit.agents.replies import ProbeReply, ReviewReply, TaskReply, read
from atlaskit.agents.scouts import Survey
from atlaskit.agents.settings import Search
from atlaskit.agents.strategies import (
    STRATEGIES,
    Assignment,
    Frontier,
    Strategy,
    choose,
    resolve_strategy,
    strategy_name,
)
from atlaskit.agents.worker import Task, Visit, Worker
from atlaskit.environment.atlas import Atlas, Observation
from atlaskit.environment.memory import DeadZones, Scratchpad, gaps
from atlaskit.environment.question import Span
from atlaskit.models.names import Preset
from atlaskit.models.protocol import ModelError, Reply
from atlaskit.runs import events
from atlaskit.runs.events import SheetRecord, SortieRecord, UnfollowedRecord, ViewRecord
from atlaskit.runs.result import Result

Stop = Literal["sufficient", "explored", "depth", "rounds", "model"] | Limit
"""Why a search ended.

* Master: the evidence is "sufficient"; or "depth", because no root cell may be expanded.
* Workers: "explored", because the strategy chose no more regions; or, in a search by looks, because
  all was seen and judged.
* Global: "rounds" or one of the budget's limits is used up, or the "model" does not answer.
"""


class Probe(NamedTuple):
    """A finished probe: what the master was shown, and its outcome."""

    root: Observation
    offered: tuple[int, ...]
    """The root cells that the master could name."""
    ahead: bool
    """Whether the probe ran beside the workers, for the next round."""
    outcome: Reply | ModelError


@dataclass
class Loop:
    """One search: its settings, its memory, its rounds. The first group of fields never changes."""

    master: Master
    atlas: Atlas
    search: Search
    """The settings, in which the grid, the steps and the plateau are set."""
    workers: int
    """The most regions that are explored in a round."""
    survey: Survey = Survey()

    frontier: Frontier = field(init=False)
    """The regions that are open."""
    scratchpad: Scratchpad = Scratchpad()
    """M+: the evidence."""
    dead_zones: DeadZones = DeadZones()
    """M−: the intervals that were explored without finding evidence."""
    visits: list[Visit] = field(default_factory=list)
    """Completed visits. The intervals that they explored become dead if a review erases all
    evidence in them."""
    search_task: str = ""
    rounds: int = 0
    """The number of the current round; 0 before the first."""
    has_scores: bool = False
    """Whether a probe of the last round has already scored the frontier for the next round."""
    is_sufficient: bool = False
    """Whether the last review judged the evidence sufficient."""
    judged: tuple[str, ...] = ()
    """Labels kept by the last review. If they are unchanged, the next review is skipped."""
    unfollowed: tuple[UnfollowedRecord, ...] = ()
    """Intervals that the last review named and that cannot be searched."""

    def __post_init__(self) -> None:
        root = self.atlas.start()
        self.run = self.master.run
        self.frontier = Frontier(root.grid.expand(cell) for cell in root.legal["expand"])

    def answer(self) -> Result:
        """Explore, decide, and return the result."""
        stop = self.explore()
        votes = self.search.votes or 1
        root = None if len(self.scratchpad) else self.root()
        decision = self.master.decide(
            self.atlas,
            self.scratchpad,
            root=root,
            votes=votes,
            # `Run` adds its own sample: the first vote gets the number sample · votes. So no two
            # runs with the same number of votes share the reply of a vote.
            sample=self.search.sample * (votes - 1),
        )
        if decision is not None and root is not None:
            state = self.atlas.start(dead_zones=self.dead_zones, scratchpad=self.scratchpad)
            self.scratchpad = self.master.cite(decision, self.atlas, state)
        return self.run.end(
            stop,
            decision,
            rounds=self.rounds,
            evidence=self.scratchpad,
            dead_zones=self.dead_zones,
            sheet=self.atlas.sheet(self.scratchpad, most=len(self.scratchpad)),
        )

    def explore(self) -> Stop:
        """Explore in rounds until the search ends; return the reason."""
        meter = self.run.meter
        frontier = self.frontier
        search = self.search
        if not frontier.open:
            return "depth"
        limit = meter.exhausted()
        if limit:
            return limit
        strategy = self.plan()
        while True:
            # Stop if another round is not allowed.
            if not frontier.open:
                return "explored"
            if self.rounds == search.max_rounds:
                return "rounds"
            stop = meter.exhausted() or self.master.silence()
            if stop:
                return stop
            self.rounds += 1
            self.master.round = self.rounds
            # Probe the root grid, unless the last round's probe looked ahead.
            if not (self.has_scores and frontier.scored):
                self.has_scores = self.rank(self.probe())
                stop = self.master.silence() or meter.exhausted()
                if stop:
                    return stop
            # Choose regions, by the priority queue with virtual loss.
            chosen = choose(
                strategy, frontier, workers=self.workers, steps=search.steps or Preset.steps
            )
            if not chosen:
                return "explored"
            # Explore them in parallel, a worker each, with the next probe beside them.
            visits, probe = self.send(chosen)
            # Merge what the workers found, in the order in which they were sent.
            self.merge(visits)
            self.has_scores = probe is not None and self.rank(probe)
            stop = self.master.silence(visits)
            if stop:
                return stop
            # Review new evidence: does it suffice, where to look next, what to erase?
            if self.atlas.sheet(self.scratchpad).scratchpad.labels != self.judged:
                limit = meter.exhausted()
                if limit and limit != "calls":  # one call is reserved for this review
                    return limit
                self.review()
            if self.is_sufficient and self.rounds >= search.min_rounds:
                return "sufficient"

    def plan(self) -> Strategy:
        """Extract the search task and, unless it is given, choose the strategy (paper §3.2).

        A summary needs what happens in order of time, so the master has no choice: the search is
        breadth-first. If the call fails, the question itself is the search task, and the search is
        depth-first. After the call, scouts say where to look first.
        """
        question = self.run.question
        strategy = resolve_strategy(self.search.traversal)
        if strategy is None and question.kind == "summary":
            strategy = STRATEGIES["bfs"]
        outcome = self.master.ask(TaskCall(question, chooses_traversal=strategy is None))
        task = TaskReply(search_task=question.text)
        if isinstance(outcome, Reply):
            task = read(TaskReply, outcome.answer)
        self.search_task = task.search_task
        if strategy is None:
            strategy = STRATEGIES[task.traversal]
        traversal = strategy_name(strategy)
        self.master.record(
            events.Task, outcome, {}, search_task=self.search_task, traversal=traversal
        )
        for event in self.survey.record(self.search_task, self.atlas.root):
            self.run.log(event)
        if self.survey.scouts:
            self.frontier.consult(partial(self.survey.prior, self.search_task))
        return strategy

    def probe(self, ahead: bool = False) -> Probe:
        """Ask the master to score cells of the masked root grid; the loop's state stays the same.

        Args:
            ahead: Whether the probe is for the next round and runs beside the workers of this one.
        """
        cells = self.frontier.cells
        root = self.root()
        call = ProbeCall(
            self.run.question,
            self.search_task,
            observation=root,
            open_cells=cells,
            top=2 * self.workers,
            scratchpad=self.scratchpad,
            hints=self.survey.hints_for(self.search_task, root.view.grid, cells),
        )
        return Probe(root, cells, ahead, self.master.ask(call))

    def rank(self, probe: Probe) -> bool:
        """Rank the frontier by the scores of a probe; return whether the probe was answered."""
        outcome = probe.outcome
        frontier = self.frontier
        scores = dict[int, float]()
        reasoning = ""
        if isinstance(outcome, Reply):
            answer = read(ProbeReply, outcome.answer)
            reasoning = answer.reasoning
            for ranked in answer.top:
                # If a cell is named twice, its first score counts.
                scores.setdefault(ranked.cell, ranked.score)
            frontier.rank(scores, probe.offered)
        if not frontier.scored:  # the probe failed or named no cell: all cells are equally good
            frontier.rank(dict.fromkeys(probe.offered, 0.0))
        self.master.record(
            events.Probe,
            outcome,
            {"view": ViewRecord.of(probe.root)},
            offered=probe.offered,
            scores=dict(sorted(scores.items())),
            reasoning=reasoning,
            ahead=probe.ahead,
        )
        return isinstance(outcome, Reply)

    def send(self, chosen: Sequence[Assignment]) -> tuple[list[Visit], Probe | None]:
        """Send a worker to each region; return their visits, and the probe that ran beside them.

        The facts and the budget of each worker are fixed before the first worker starts.
        """
        search = self.search
        meter = self.run.meter
        steps = [assignment.steps for assignment in chosen]
        looks_ahead = search.look_ahead and self.rounds != search.max_rounds
        ahead = looks_ahead and meter.can_look_ahead(steps)
        allotments = meter.allot(steps, ahead)
        tasks = list[Task]()
        sorties = list[SortieRecord]()
        # The budget may have no allotments for the last regions, which then stay open.
        for assignment, allotment in zip(chosen, allotments, strict=False):
            region = assignment.region
            evidence = self.scratchpad.within(*region.interval_s)
            task = Task(
                search_task=self.search_task,
                region=region,
                dead_zones=self.dead_zones,
                allotment=allotment,
                round=self.rounds,
                worker=len(tasks),
                traversal=assignment.traversal,
                plateau=min(search.plateau or 0, assignment.steps - 1),
                known_evidence=evidence,
            )
            sortie = SortieRecord(
                path=region.path,
                interval_s=region.interval_s,
                traversal=assignment.traversal,
                calls=allotment.calls,
                had_evidence=evidence.labels,
                shift=region.shift,
            )
            tasks.append(task)
            sorties.append(sortie)
            self.frontier.hand_out(region)
        self.run.log(
            events.Assign(
                round=self.rounds,
                sorties=tuple(sorties),
                dead_zones_s=self.dead_zones.intervals,
            )
        )
        ahead = ahead and bool(self.frontier.cells)
        n_threads = search.threads or self.workers
        if ahead:
            n_threads += 1
        with self.run.in_parallel(n_threads) as pool:
            probe = pool.submit(self.probe, ahead=True) if ahead else None
            visits = list(pool.map(self.visit, tasks))
            return visits, probe.result() if probe else None

    def visit(self, task: Task) -> Visit:
        """Let a worker explore a region; the loop's state stays the same."""
        return Worker(self.run, self.atlas, task, self.survey).explore()

    def merge(self, visits: Sequence[Visit]) -> None:
        """Merge visits, in the order in which their regions were assigned.

        All evidence is merged first, so that a region in which another worker found evidence does
        not become dead. A region whose visit was cut short opens again, once. A region that was
        explored to the end and holds no evidence becomes dead where the worker opened it, or saw it
        as finely as possible.
        """
        for visit in visits:
            self.run.events.extend(visit.events)  # the worker emitted them as they happened
            self.scratchpad = self.scratchpad.add(visit.evidence)
        for worker, visit in enumerate(visits):
            self.frontier.take_back(visit.region, not visit.is_cut_short, visit.shown)
            self.frontier.mark(visit.marked, visit.region)
            dead_s: tuple[Span, ...] = ()
            if not visit.is_cut_short:
                self.visits.append(visit)
                dead_s = self.rule_out(visit)
            found_s = {item.timestamp_s for item in visit.evidence}
            report = events.Report(
                round=self.rounds,
                worker=worker,
                path=visit.region.path,
                interval_s=visit.region.interval_s,
                shift=visit.region.shift,
                stop=visit.stop,
                kept=tuple(item for item in self.scratchpad if item.timestamp_s in found_s),
                marked=tuple(grid.path for grid in visit.marked),
                dead_s=dead_s,
                is_open=visit.is_cut_short,
            )
            self.run.log(report)
        self.frontier.drop(self.dead_zones)

    def rule_out(self, visit: Visit) -> tuple[Span, ...]:
        """Make the searched intervals of a visit dead if its region holds no evidence.

        Returns:
            The intervals that are newly dead.
        """
        new: tuple[Span, ...] = ()
        if not len(self.scratchpad.within(*visit.explored_s)):
            for start_s, end_s in visit.searched_s:
                new += self.dead_zones.outside(start_s, end_s)
                self.dead_zones = self.dead_zones.add(start_s, end_s)
        return new

    def review(self) -> None:
        """Judge the evidence, erase irrelevant items, and queue the next regions (§3.2).

        If the call fails, the evidence counts as insufficient until the next review; nothing else
        changes.
        """
        root = self.root()
        atlas = self.atlas
        meter = self.run.meter
        pad = self.scratchpad
        sheet = atlas.sheet(pad)
        call = ReviewCall(
            self.run.question,
            self.search_task,
            sheet=sheet,
            observation=root,
            open_cells=self.frontier.cells,
            gaps=gaps(sheet.scratchpad, self.dead_zones, atlas.root.interval_s),
            left_out=len(pad) - len(sheet.scratchpad),
            round=self.rounds,
            calls=meter.total.calls,
            most_calls=meter.budget.calls,
            unfollowed=self.unfollowed,
        )
        outcome = self.master.ask(call)
        shown = {"view": ViewRecord.of(root), "sheet": SheetRecord.of(sheet)}
        self.is_sufficient = False
        if isinstance(outcome, ModelError):
            self.master.record(events.Review, outcome, shown)
            return
        review = read(ReviewReply, outcome.answer)
        erased = review.labels_to_erase
        self.is_sufficient = review.is_sufficient
        self.judged = tuple(label for label in sheet.scratchpad.labels if label not in erased)
        self.scratchpad = pad.erase(erased)
        dead_s: tuple[Span, ...] = ()
        if erased:
            for visit in self.visits:
                dead_s += self.rule_out(visit)
        queued, self.unfollowed = follow(
            review.conclusion,
            self.frontier,
            root=atlas.root,
            rules=atlas.rules,
            workers=self.workers,
        )
        # A region that is queued must be visible again.
        alive_s: tuple[Span, ...] = ()
        for grid in queued:
            if self.dead_zones.within(*grid.interval_s).intervals:
                alive_s += (grid.interval_s,)
        self.dead_zones = self.dead_zones.without_all(alive_s)
        self.frontier.drop(self.dead_zones)
        choices = list[dict[str, Any]]()
        for choice in review.choices:
            choices.append(choice.model_dump(mode="json", exclude_unset=True))
        self.master.record(
            events.Review,
            outcome,
            shown,
            reasoning=review.reasoning,
            choices=choices,
            conclusion=review.conclusion.model_dump(mode="json", exclude_unset=True),
            sufficient=self.is_sufficient,
            erased=tuple(erased),
            dead_s=dead_s,
            queued=tuple(grid.path for grid in queued),
            alive_s=alive_s,
            unfollowed=self.unfollowed,
        )

    def root(self) -> Observation:
        """Return the root grid, masked by the current dead zones."""
        return self.atlas.observe(self.atlas.start(dead_zones=self.dead_zones))
