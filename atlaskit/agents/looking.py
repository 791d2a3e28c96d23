"""The search by looks, from top to bottom: plan, look, merge, review.

A look shows some stretches of the video to a worker, each on a sheet (a grid of frames) with as
many cells as the step, the seconds between two frames, requires. First come the stretches that the
plan, a look or a review requested. Once none is left, a sweep shows the rest of the video in order.
`Seen` records which parts were shown and how finely, so that no part is shown again at the same
step.

`Looking.explore` is the search; each of its steps is a method below it, in this order. The promises
are those of `loop`: the order of replies does not matter, a failed call loses no stretch, and
budgets are hard.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple

from atlaskit.agents.budget import Allotment
from atlaskit.agents.loop import Stop
from atlaskit.agents.master import Master
from atlaskit.agents.prompts import LookCall, PlanCall, VerdictCall
from atlaskit.agents.prompts.looks import Known, Note
from atlaskit.agents.replies import Interval, KeptCell, LookReply, PlanReply, VerdictReply, read
from atlaskit.agents.run import request_for
from atlaskit.agents.schemas import AbsentAnswer, decision_schema
from atlaskit.agents.scouts import Survey
from atlaskit.agents.settings import Search
from atlaskit.environment.actions import AddToScratchpad, Claim
from atlaskit.environment.atlas import Atlas, Observation
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad, Seen
from atlaskit.environment.question import Span
from atlaskit.errors import IllegalAction
from atlaskit.models.protocol import MAX_ATTEMPTS, ModelError, Refused, Reply, Usage
from atlaskit.runs import events
from atlaskit.runs.events import SheetRecord, SortieRecord, UnfollowedRecord, ViewRecord, paid
from atlaskit.runs.result import Result

SHEETS = 4
"""The most sheets of one look."""
LOOK_CALLS = 2
"""The most calls of one look: a reply that does not match its schema is corrected once."""
LASTS_S = 4.0
"""Assumed duration, in seconds, of the event that is searched for, if the plan gives 0, or none
because its call failed."""
MOST_CLOSER = 2
"""How often the whole video may be searched again at half the step, if reviews ask for it."""
MOST_FAILURES = 2
"""The number of failed looks after which a stretch is left out."""
OVER = {
    "explored": "all that was asked for was seen.",
    "rounds": "its rounds are used up.",
    "model": "too many of its calls failed.",
}
"""Why the search is over, in words for the last prompt, by the reason for its stop. All other
reasons are limits of the budget."""

Source = Literal["plan", "look", "review", "sweep"]


class Wish(NamedTuple):
    """A stretch that is to be shown."""

    start_s: float
    end_s: float
    by: Source
    """The reply that asked for the stretch; "sweep" for the rest of a requested stretch, or for a
    stretch that is due again after a failed look."""

    @property
    def span_s(self) -> Span:
        """The stretch in seconds."""
        return self.start_s, self.end_s


@dataclass(frozen=True)
class Look:
    """The outcome of one look."""

    grids: tuple[Grid, ...]
    """The stretches that it showed."""
    event: events.Look | events.Failure
    evidence: tuple[tuple[Evidence, ...], ...] = ()
    """The evidence that it kept, by stretch; () for a look that failed."""
    is_silent: bool = False
    """Whether the call failed otherwise than by a refusal: see `master.Sortie`."""
    is_refused: bool = False
    """Whether the server refused this call; others may succeed, unless there is a `refusal`."""
    refusal: str = ""
    """The failure after which no call of the run can succeed; empty if there was none."""

    @property
    def region(self) -> Grid:
        """The first stretch."""
        return self.grids[0]

    @property
    def events(self) -> tuple[events.Event, ...]:
        """The only event of the look, in the form of a visit's events."""
        return (self.event,)


@dataclass
class Looking:
    """One search by looks: its settings, its memory, its rounds."""

    master: Master
    atlas: Atlas
    search: Search
    workers: int
    """The most looks of a round."""
    survey: Survey = Survey()
    earlier: str = ""
    """The findings of earlier runs about the video, as text."""

    scratchpad: Scratchpad = Scratchpad()
    """M+: the evidence."""
    dead_zones: DeadZones = DeadZones()
    """M−: the intervals that were seen at the step of the search and hold no evidence."""
    seen: Seen = Seen()
    """How finely each part of the video was shown."""
    notes: tuple[Note, ...] = ()
    """The notes of all looks so far."""
    wishes: tuple[Wish, ...] = ()
    """The stretches to be shown next, in this order."""
    search_task: str = ""
    settled_by: Literal["one", "first", "last", "all"] = "all"
    """Which of the matching moments settle the answer, as the plan says."""
    grain_s: float = LASTS_S
    """The step at which the whole video is searched, in seconds."""
    closer: int = 0
    """How often `grain_s` was halved."""
    rounds: int = 0
    """The number of the current round; 0 before the first."""
    verdict: Reply | None = None
    """The reply that answers the question; None until there is one."""
    judged: tuple[tuple[str, ...], Seen] | None = None
    """The evidence and the seen parts at the last review. If they are unchanged, the next review
    is skipped."""
    unfollowed: tuple[UnfollowedRecord, ...] = ()
    """Requested stretches that cannot be shown."""
    failures: Counter[Span] = field(default_factory=Counter)
    """The number of failed looks at each stretch."""
    lost: DeadZones = DeadZones()
    """Stretches that are left out because looks at them failed too often."""
    room: int = SHEETS
    """The most sheets of the next look; fewer once the server has refused a look as too large."""

    def __post_init__(self) -> None:
        self.run = self.master.run
        # The searched interval; its sheet is `root_sheet`.
        self.root = self.atlas.root.start_s, self.atlas.root.end_s

    def answer(self) -> Result:
        """Explore, judge, and return the result."""
        stop = self.explore()
        is_voted_on = self.votes > 1 and not self.is_absent
        if self.verdict is None or is_voted_on:
            self.decide(stop)
        return self.run.end(
            stop,
            self.verdict,
            rounds=self.rounds,
            evidence=self.scratchpad,
            dead_zones=self.dead_zones,
            sheet=self.atlas.sheet(self.scratchpad, most=len(self.scratchpad)),
        )

    def explore(self) -> Stop:
        """Look in rounds until the search ends; return the reason."""
        meter = self.run.meter
        limit = meter.exhausted()
        if limit:
            return limit
        self.plan()
        while True:
            stop = self.master.silence() or meter.exhausted()
            if stop:
                return stop
            # Review new evidence once no requested stretch is left. Otherwise choose the next
            # sheets: requested stretches first, then the rest in order of time.
            grids = [] if self.is_review_due else self.next_sheets()
            if grids:
                if self.rounds == self.search.max_rounds:
                    return "rounds"
                self.rounds += 1
                self.master.round = self.rounds
                # Look at them in parallel, a few sheets for each worker, and merge what was found.
                looks = self.send(grids)
                self.merge(looks)
                stop = self.master.silence(looks)
                if stop:
                    return stop
            elif self.judged != self.review_input:
                self.review()
            else:
                return "explored"  # all was seen, and the last review judged all of it
            if self.verdict is not None:
                is_enough = self.rounds + 1 >= self.search.min_rounds  # the plan counts as a look
                # In an earlier round, a review was only due because all was seen.
                return "sufficient" if is_enough else "explored"

    def plan(self) -> None:
        """Show a sheet of the whole video; ask for the search task and the first stretches.

        The plan also gives the shortest duration of the event, which becomes the step. If the call
        fails, the question itself is the search task, and the whole video is searched.
        """
        root = self.root_sheet()
        question = self.run.question
        # Scouts get the question as the search task, which the plan is yet to give.
        for event in self.survey.record(question.text, self.atlas.root):
            self.run.log(event)
        hints = self.survey.hints_for(question.text, root.view.grid, range(root.view.grid.size))
        outcome = self.master.ask(PlanCall(question, root, hints, self.earlier))
        shown = {"view": ViewRecord.of(root)}
        self.seen = self.seen.add(*self.root, self.atlas.root.resolution_s)
        self.search_task = question.text
        if isinstance(outcome, ModelError):
            self.master.record(events.Plan, outcome, shown)
            return
        answer = read(PlanReply, outcome.answer)
        (found,) = self.evidence_from(answer.keep, [root])
        grain_s = max(answer.lasts_s or LASTS_S, self.atlas.finest_s)
        self.search_task = answer.search_task
        self.settled_by = answer.settled_by
        self.grain_s = min(grain_s, self.atlas.root.span_s)
        self.scratchpad = self.scratchpad.add(found)
        self.ask_for(answer.look, "plan")
        self.master.record(
            events.Plan,
            outcome,
            shown,
            interval_s=self.root,
            reasoning=answer.reasoning,
            search_task=self.search_task,
            settled_by=self.settled_by,
            lasts_s=self.grain_s,
            found=self.scratchpad.items,
            wanted_s=self.wanted_s,
        )

    @property
    def wanted_s(self) -> tuple[Span, ...]:
        """The requested stretches that were not shown yet."""
        return tuple(wish.span_s for wish in self.wishes)

    def next_sheets(self) -> list[Grid]:
        """Return the sheets of the next round: of requested stretches, or else of the sweep."""
        most = self.room * len(self.run.meter.allot([LOOK_CALLS] * self.looks_at_once))
        grids = list[Grid]()
        waiting = list[Wish]()
        for wish in self.wishes:
            if len(grids) >= most:
                waiting.append(wish)
                continue
            needed = self.sheets_for(wish, grids)
            room = most - len(grids)
            grids += needed[:room]
            # The rest of the stretch waits as part of the sweep, since the request was followed.
            for grid in needed[room:]:
                waiting.append(Wish(grid.start_s, grid.end_s, "sweep"))
            if not needed and wish.by != "sweep":
                self.unfollowed += (UnfollowedRecord(interval_s=wish.span_s, reason="seen"),)
        self.wishes = tuple(waiting)
        return grids or self.sweep(most)

    @property
    def looks_at_once(self) -> int:
        """The most looks of the next round.

        If one moment settles the answer, a finding makes further looks pointless. The first round
        then has one look, and each further round has twice as many as the one before.
        """
        if self.settled_by == "all":
            return self.workers
        doublings = min(self.rounds, 16)  # more would exceed any number of workers
        looks: int = 2**doublings
        return min(self.workers, looks)

    def sheets_for(self, wish: Wish, planned: Iterable[Grid] = ()) -> list[Grid]:
        """Return the sheets that show a stretch, without the parts already seen as finely.

        The stretch is shown at the step of the search if SHEETS sheets suffice for that. Otherwise
        it is shown as finely as one sheet can and, if it is requested again in a later round, at
        the step of the search, provided that the looks of one round suffice.

        Args:
            wish: The stretch.
            planned: The sheets that are already chosen for the round; they count as seen.
        """
        seen = self.seen
        for grid in planned:
            seen = seen.add(grid.start_s, grid.end_s, grid.resolution_s)
        whole = self.atlas.over(wish.start_s, wish.end_s)
        step_s = whole.resolution_s
        if self.grain_s < step_s:
            looks = 1
            if not self.seen.unseen(whole.start_s, whole.end_s, step_s):
                looks = self.workers  # an earlier round showed it on one sheet
            if whole.span_s <= looks * SHEETS * self.atlas.root.size * self.grain_s:
                step_s = self.grain_s
        return self.sheets_over(seen.unseen(whole.start_s, whole.end_s, step_s), step_s)

    def sheets_over(self, stretches: Iterable[Span], step_s: float) -> list[Grid]:
        """Return sheets that show stretches at a step; those of one stretch have equal lengths."""
        longest_s = step_s * self.atlas.root.size
        grids = list[Grid]()
        for start_s, end_s in stretches:
            # A rounding error must not add a sheet.
            count = max(1, math.ceil((end_s - start_s) / longest_s - 1e-6))
            edges = [start_s + (end_s - start_s) * part / count for part in range(count)]
            for a, b in pairwise([*edges, end_s]):
                grids.append(self.atlas.over(a, b, step_s))
        return grids

    def sweep(self, most: int) -> list[Grid]:
        """Return the next sheets of the parts that were not yet seen at the step of the search.

        The sweep goes from the start, or from the end if the last matching moment settles the
        answer. If the budget does not suffice for all of these parts, their step is the finest one
        for which it does.
        """
        unseen_s = sum(b - a for a, b in self.unseen(self.grain_s))
        left = self.run.meter.calls_left()
        step_s = self.grain_s
        if left is not None:
            # In sheets, at one call a look. The other calls are for reviews and corrections.
            affordable = max(1, left - 2 * LOOK_CALLS) * self.room
            step_s = max(step_s, unseen_s / (affordable * self.atlas.root.size))
        grids = self.sheets_over(self.unseen(step_s), step_s)
        if self.settled_by == "last":
            grids.reverse()
        return grids[:most]

    def unseen(self, step_s: float) -> list[Span]:
        """Return the parts not yet seen at a step, except those left out after failed looks."""
        parts = list[Span]()
        for start_s, end_s in self.seen.unseen(*self.root, step_s):
            parts += self.lost.outside(start_s, end_s)
        return parts

    def send(self, grids: Sequence[Grid]) -> list[Look]:
        """Let workers look at some sheets, a few sheets each; return their looks.

        The facts and the budget of each look are fixed before the first look starts.
        """
        groups = [grids[at : at + self.room] for at in range(0, len(grids), self.room)]
        # Each look gets an allotment, since `next_sheets` took no more sheets than are paid for.
        allotments = self.run.meter.allot([LOOK_CALLS] * len(groups))
        spans_s = [tuple(grid.interval_s for grid in group) for group in groups]
        known = self.known()
        facts = list[Known]()
        sorties = list[SortieRecord]()
        for own_s, allotment in zip(spans_s, allotments, strict=True):
            others_s = chain.from_iterable(each for each in spans_s if each is not own_s)
            facts.append(replace(known, coming_s=(*others_s, *self.wanted_s)))
            sortie = SortieRecord(
                path=(),
                interval_s=(min(own_s)[0], max(end_s for _, end_s in own_s)),
                stretches_s=own_s,
                traversal="dfs",
                calls=allotment.calls,
                had_evidence=(),
            )
            sorties.append(sortie)
        self.run.log(
            events.Assign(
                round=self.rounds,
                sorties=tuple(sorties),
                dead_zones_s=self.dead_zones.intervals,
            )
        )
        with self.run.in_parallel(self.search.threads or self.workers) as pool:
            return list(pool.map(self.look, groups, facts, range(len(groups)), allotments))

    def look(self, grids: Sequence[Grid], known: Known, worker: int, allotment: Allotment) -> Look:
        """Make one look; the state of the search stays the same."""
        sheets = list[Observation]()
        first = 0
        for grid in grids:
            seen = self.atlas.observe(self.atlas.start(grid))
            sheets.append(replace(seen, view=replace(seen.view, first=first)))
            first += grid.size
        request = request_for(self.run.vlm, LookCall(self.run.question, known, tuple(sheets)))
        outcome = self.run.complete(request, min(allotment.calls, MAX_ATTEMPTS))
        views = tuple(map(ViewRecord.over, sheets))
        place: dict[str, Any] = {"round": self.rounds, "worker": worker}
        if isinstance(outcome, ModelError):
            failure = events.Failure.of("look", outcome, view=views[0], **place)
            self.run.emit(failure)
            is_refused = isinstance(outcome, Refused)
            return Look(
                tuple(grids),
                failure,
                is_silent=not is_refused,
                is_refused=is_refused,
                refusal=str(outcome) if outcome.is_final else "",
            )
        answer = read(LookReply, outcome.answer)
        evidence = self.evidence_from(answer.keep, sheets)
        event = events.Look(
            **place,
            views=views,
            intervals_s=tuple(grid.interval_s for grid in grids),
            note=answer.note,
            found=tuple(chain.from_iterable(evidence)),
            wanted_s=tuple((each.start_s, each.end_s) for each in answer.look),
            **paid(outcome),
        )
        self.run.emit(event)
        return Look(tuple(grids), event, evidence)

    def evidence_from(
        self, claims: Iterable[KeptCell], sheets: Sequence[Observation]
    ) -> tuple[tuple[Evidence, ...], ...]:
        """Return the evidence that a reply keeps, by sheet, without unreadable frames.

        The evidence has no labels: it gets them when it is merged.
        """
        firsts = [sheet.view.first for sheet in sheets]  # cells are numbered through all sheets
        found: list[list[Evidence]] = [[] for _ in sheets]
        for claim in claims:
            number = bisect_right(firsts, claim.cell) - 1
            sheet = sheets[number]
            cell = claim.cell - sheet.view.first
            action = AddToScratchpad((Claim(cell, claim.description, claim.confidence),))
            try:
                state = self.atlas.act(replace(sheet.state, scratchpad=Scratchpad()), action)
            except IllegalAction:
                continue  # the frame is unreadable, as its sheet shows
            for item in state.scratchpad:
                found[number].append(replace(item, label=""))
        return tuple(map(tuple, found))

    def merge(self, looks: Sequence[Look]) -> None:
        """Merge the evidence of looks, in the order in which their stretches were assigned."""
        wanted = list[Span]()
        for worker, look in enumerate(looks):
            self.run.events.append(look.event)  # `look` emitted it when it happened
            if isinstance(look.event, events.Failure):
                self.put_back(look)
                continue
            step_s = max(grid.resolution_s for grid in look.grids)
            note = Note(look.event.intervals_s, step_s, look.event.note, bool(look.event.found))
            self.notes += (note,)
            wanted += look.event.wanted_s
            for grid, found in zip(look.grids, look.evidence, strict=True):
                self.report(grid, worker, found)
        self.wishes = (*self.as_wishes(wanted, "look"), *self.wishes)

    def put_back(self, look: Look) -> None:
        """Request the stretches of a failed look again, unless they failed too often.

        A look that the server refused may have been too large, so later looks show fewer sheets.
        """
        stretches = [grid.interval_s for grid in look.grids]
        if look.is_refused and len(stretches) > 1:
            self.room = min(self.room, len(stretches) // 2)
        else:
            self.failures.update(stretches)
        again = list[Wish]()
        for stretch in stretches:
            if self.failures[stretch] < MOST_FAILURES:
                again.append(Wish(*stretch, "sweep"))
            else:
                self.lost = self.lost.add(*stretch)
        self.wishes = (*again, *self.wishes)

    def report(self, grid: Grid, worker: int, found: Sequence[Evidence]) -> None:
        """Record the evidence of one stretch.

        If the stretch was seen at the step of the search, its parts without evidence become dead.
        """
        start_s = grid.start_s
        end_s = grid.end_s
        before = set(self.scratchpad)
        self.scratchpad = self.scratchpad.add(found)
        self.seen = self.seen.add(start_s, end_s, grid.resolution_s)
        dead_s: tuple[Span, ...] = ()
        if not self.seen.unseen(start_s, end_s, self.grain_s):
            dead_s = self.dead_zones.outside(start_s, end_s)
        zones = self.dead_zones.add_all(dead_s)
        # The cells of evidence are never dead.
        alive_s: tuple[Span, ...] = ()
        for item in self.scratchpad:
            is_near = item.start_s < end_s and start_s < item.end_s
            if is_near and zones.within(item.start_s, item.end_s).intervals:
                alive_s += ((item.start_s, item.end_s),)
        self.dead_zones = zones.without_all(alive_s)
        report = events.Report(
            round=self.rounds,
            worker=worker,
            path=(),
            interval_s=(start_s, end_s),
            stop="finished",
            kept=tuple(item for item in self.scratchpad if item not in before),
            marked=(),
            dead_s=dead_s,
            alive_s=alive_s,
            is_open=False,
        )
        self.run.log(report)

    @property
    def votes(self) -> int:
        """The most decisions that are asked for."""
        return self.search.votes or 1

    @property
    def is_absent(self) -> bool:
        """Whether the verdict is that nothing in the video fits the question."""
        return self.verdict is not None and isinstance(self.verdict.answer, AbsentAnswer)

    @property
    def review_input(self) -> tuple[tuple[str, ...], Seen]:
        """The input of a review: the labels of the evidence, and the seen parts."""
        return self.scratchpad.labels, self.seen

    @property
    def is_review_due(self) -> bool:
        """Whether a review is due: there is new evidence, and no requested stretch waits.

        If the answer depends on all matching moments, the whole video is searched first.
        """
        labels = self.scratchpad.labels
        is_new = bool(labels) and (self.judged is None or labels != self.judged[0])
        may_suffice = self.rounds + 1 >= self.search.min_rounds  # the plan counts as a look
        return is_new and may_suffice and not self.wishes and self.settled_by != "all"

    def review(self, over: str = "") -> None:
        """Judge the evidence: the answer, or what to look at next (paper §3.2).

        Args:
            over: Why the search is over, so that the review must answer; "" while it goes on.
        """
        root = self.root_sheet()
        pad = self.scratchpad
        meter = self.run.meter
        sheet = self.atlas.sheet(pad)
        call = VerdictCall(
            question=self.run.question,
            known=self.known(),
            root=root,
            sheet=sheet,
            left_out=len(pad) - len(sheet.scratchpad),
            calls=meter.total.calls,
            most_calls=meter.budget.calls,
            unfollowed=self.unfollowed,
            over=over,
        )
        shown = {"view": ViewRecord.of(root), "sheet": SheetRecord.of(sheet) if len(pad) else None}
        outcome = self.master.ask(call)
        self.judged = self.review_input  # also if the call failed: it is not made again
        if isinstance(outcome, ModelError):
            self.master.record(events.Review, outcome, shown)
            return
        answer = read(VerdictReply, outcome.answer)
        conclusion = answer.conclusion
        erased = tuple(answer.labels_to_erase) if len(pad) else ()
        self.scratchpad = pad.erase(erased)
        self.judged = self.review_input  # without the erased items
        self.unfollowed = ()
        is_answer = conclusion.action != "look"
        if conclusion.action == "not_there" and not over and self.unseen(self.grain_s):
            is_answer = False  # the unseen rest is searched first
        if conclusion.action == "look":
            self.ask_for(conclusion.look, "review")
            if not self.wishes and not self.unseen(self.grain_s):
                self.look_closer()
        self.master.record(
            events.Review,
            outcome,
            shown,
            reasoning=answer.reasoning,
            choices=[],
            conclusion=outcome.answer.conclusion.model_dump(),
            sufficient=is_answer and not over,
            erased=erased,
            dead_s=(),
            queued=(),
            wanted_s=self.wanted_s,
        )
        if is_answer:
            self.verdict = self.decision_of(outcome, call, shown)

    def decision_of(self, review: Reply, call: VerdictCall, shown: dict[str, Any]) -> Reply:
        """Return the answer of a review as the decision; this makes no call.

        If there is no evidence, the cells of the root sheet that the answer cites become evidence.
        """
        question = self.run.question
        verdict = read(VerdictReply, review.answer)
        conclusion = verdict.conclusion
        if conclusion.action == "not_there":
            absent = AbsentAnswer(reasoning=verdict.reasoning)
            decision = replace(review, answer=absent, usage=Usage())
            self.master.record(events.Decision, decision, shown, answer=absent.model_dump())
            return decision
        schema = decision_schema(
            question.kind,
            len(question.choices),
            call.known.duration_s,
            call.frames,
            has_several=question.several,
        )
        fields = conclusion.model_dump(exclude={"action", "sure"}, exclude_unset=True)
        answer = schema.model_validate({"reasoning": verdict.reasoning, **fields})
        decision = replace(review, answer=answer, usage=Usage())
        if self.votes > 1:
            return decision  # the votes decide
        self.master.record(events.Decision, decision, shown, answer=answer.model_dump())
        if not len(self.scratchpad):
            self.cite(decision)
        return decision

    def decide(self, stop: Stop) -> None:
        """Ask for the answer, because the search is over or several votes are needed."""
        if self.votes == 1:
            if self.run.meter.can_decide() and not self.run.is_hopeless:
                over = OVER.get(stop, "its budget is used up.")
                if stop == "explored" and self.lost.intervals:
                    over = "all was seen, except stretches at which calls failed."
                self.review(over=over)
            return
        root = None if len(self.scratchpad) else self.root_sheet()
        self.verdict = self.master.decide(
            self.atlas,
            self.scratchpad,
            root=root,
            votes=self.votes,
            sample=self.search.sample * (self.votes - 1),
        )
        if self.verdict is not None and root is not None:
            self.cite(self.verdict)

    def cite(self, decision: Reply) -> None:
        """Make the cells of the root sheet that a decision cites evidence."""
        state = self.atlas.start(dead_zones=self.dead_zones, scratchpad=self.scratchpad)
        self.scratchpad = self.master.cite(decision, self.atlas, state)

    def look_closer(self) -> None:
        """Halve the step of the search, so that the whole video is searched again, more finely.

        This happens at most MOST_CLOSER times, if all parts were seen and the evidence still does
        not suffice: the event may be shorter than assumed, or it was overlooked.
        """
        if self.closer < MOST_CLOSER:
            self.closer += 1
            self.grain_s = max(self.grain_s / 2, self.atlas.finest_s)

    def ask_for(self, stretches: Iterable[Interval], by: Source) -> None:
        """Add the stretches that a reply names to the requested ones, in its order."""
        self.wishes += self.as_wishes([(each.start_s, each.end_s) for each in stretches], by)

    def as_wishes(self, spans_s: Iterable[Span], by: Source) -> tuple[Wish, ...]:
        """Return stretches as wishes, each once, clipped to the searched interval.

        Stretches outside of this interval are added to `unfollowed`. The ends of a stretch are
        sorted, because no schema can force a model to give the start first.
        """
        wishes = list[Wish]()
        for start_s, end_s in dict.fromkeys((min(span), max(span)) for span in spans_s):
            if start_s < self.root[1] and end_s >= self.root[0]:
                wishes.append(Wish(max(start_s, self.root[0]), min(end_s, self.root[1]), by))
            else:
                self.unfollowed += (
                    UnfollowedRecord(interval_s=(start_s, end_s), reason="outside"),
                )
        return tuple(wishes)

    def known(self) -> Known:
        """Return the facts at this moment of the search, for prompts."""
        return Known(
            search_task=self.search_task,
            duration_s=self.atlas.rules.duration_s,
            scratchpad=self.scratchpad,
            notes=self.notes,
            seen=self.seen,
            root=self.root,
            grain_s=self.grain_s,
            settled_by=self.settled_by,
            earlier=self.earlier,
        )

    def root_sheet(self) -> Observation:
        """Return the sheet of the whole video.

        The image is the same in every call, so that servers can cache it. Dead zones are not
        hatched: prompts name them in words, and their frames help to judge the evidence.
        """
        return self.atlas.observe(self.atlas.start())
