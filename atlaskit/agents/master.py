"""`Master`: makes and records the master's calls, decides by votes, notices a silent server.

`ask` makes a call and changes nothing, so that a probe can run beside the workers. `record` adds
the event of the call at a fixed point of the round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from atlaskit.agents import prompts
from atlaskit.agents.prompts import DecisionCall, GlanceCall
from atlaskit.agents.replies import DecisionReply, ReviewConclusion, read
from atlaskit.agents.run import Run, prediction, request_for
from atlaskit.agents.strategies import Frontier
from atlaskit.environment.actions import AddToScratchpad, Claim
from atlaskit.environment.atlas import Atlas, Observation
from atlaskit.environment.grid import Grid, unseen_over
from atlaskit.environment.mdp import Rules, State
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Answered, Question, spans_of
from atlaskit.environment.scoring import intervals_iou
from atlaskit.errors import IllegalAction
from atlaskit.models.protocol import ModelError, Reply, Unreachable
from atlaskit.runs.events import (
    Call,
    Cite,
    Decision,
    Event,
    Failure,
    SheetRecord,
    UnfollowedRecord,
    ViewRecord,
    Vote,
    paid,
)

MAX_UNANSWERED = 3
"""The run ends after so many failed calls of the master in a row, or after so many rounds in a row
in which every worker was silent (see `Sortie`). These rounds must have been about different
regions, since calls may fail because of the frames of one region."""
SAME_IOU = 0.5
"""Two answers that are intervals agree if their IoU is at least this."""


class Sortie(Protocol):
    """The outcome of one worker's task: a `worker.Visit` or a `looking.Look`."""

    @property
    def region(self) -> Grid:
        """The region, or the first of several stretches."""

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of its calls."""

    @property
    def is_silent(self) -> bool:
        """Whether it made calls, and all of them failed, none by a refusal of the server."""

    @property
    def refusal(self) -> str:
        """The failure after which no call of the run can succeed; empty if there was none."""


@dataclass
class Master:
    """The agent with the global view: its calls and their records."""

    run: Run
    round: int = 0
    """The number of the current round; 0 before the first."""
    failures: int = 0
    """Failed calls in a row."""
    silent: list[Grid] = field(default_factory=list)
    """A region of each of the last rounds in a row in which every worker was silent."""

    def ask(self, call: prompts.Call, sample: int = 0) -> Reply | ModelError:
        """Make a call; raise Unreachable if nothing answers the first call of the run."""
        is_first = not self.run.model.calls
        outcome = self.run.complete(replace(request_for(self.run.vlm, call), sample=sample))
        if is_first and isinstance(outcome, Unreachable):
            raise outcome
        return outcome

    def record(
        self, kind: type[Call], outcome: Reply | ModelError, shown: Mapping[str, Any], **fields: Any
    ) -> None:
        """Add the event of a call to the trace, and count failures.

        Args:
            kind: The class of the event that records a reply.
            outcome: The reply, or the error.
            shown: The `view` and the `sheet` that the call showed; a failure records them too.
            **fields: The fields of the event that come from the reply.
        """
        if isinstance(outcome, Reply):
            self.failures = 0
            self.run.log(kind(round=self.round, **shown, **fields, **paid(outcome)))
            return
        # The client has retried an unreachable server long enough. Other failures may be temporary.
        if outcome.is_final or isinstance(outcome, Unreachable):
            self.failures += MAX_UNANSWERED
        else:
            self.failures += 1
        self.run.failure = str(outcome)
        step = "decision" if kind is Vote else kind.kind  # a vote is one of several decisions
        self.run.log(Failure.of(step, outcome, round=self.round, **shown))

    def silence(self, visits: Sequence[Sortie] = ()) -> Literal["seconds", "model"] | None:
        """Return why the search must end, as the model no longer replies; None if it can go on.

        The reason is "seconds" if the time is over, else "model".

        Args:
            visits: The visits of the round that has just ended; () at other times.
        """
        refusal = next((visit.refusal for visit in visits if visit.refusal), "")
        if refusal:
            self.run.failure = refusal
            self.failures = MAX_UNANSWERED
        elif visits and all(visit.is_silent for visit in visits):
            self.silent.append(visits[0].region)
            failures = [event for event in visits[-1].events if isinstance(event, Failure)]
            self.run.failure = failures[-1].reason
        elif visits:
            self.silent = []
        if self.failures < MAX_UNANSWERED and len(set(self.silent)) < MAX_UNANSWERED:
            return None
        return "seconds" if self.run.meter.is_out_of_time() else "model"

    def decide(
        self,
        atlas: Atlas,
        scratchpad: Scratchpad,
        *,
        root: Observation | None,
        votes: int,
        sample: int,
    ) -> Reply | None:
        """Answer from the evidence, or from the root grid if there is none (paper §3.2).

        With several votes, the answer of most replies counts. Another vote is asked for only while
        it can change the answer.

        Args:
            atlas: The environment.
            scratchpad: The evidence.
            root: The root grid to answer from; None to answer from the evidence.
            votes: The most decisions that are asked for.
            sample: The sample number of the first vote; each further vote has the next number.

        Returns:
            The reply; None if the call failed or must fail, or the budget has no call left.
        """
        meter = self.run.meter
        question = self.run.question
        if self.run.is_hopeless or not meter.can_decide():
            return None
        call: DecisionCall | GlanceCall
        shown: dict[str, Any]
        if root is None:
            sheet = atlas.sheet(scratchpad)
            left_out = len(scratchpad) - len(sheet.scratchpad)
            call = DecisionCall(question, atlas.rules.duration_s, sheet, left_out)
            shown = {"view": None, "sheet": SheetRecord.of(sheet)}
        else:
            call = GlanceCall(question, root)
            shown = {"view": ViewRecord.of(root), "sheet": None}
        outcomes = [self.ask(call, sample)]
        while can_change(question, outcomes, votes) and meter.can_decide():
            outcomes.append(self.ask(call, sample + len(outcomes)))
        agreeing = support(question, outcomes)
        winner = outcomes[agreeing.index(max(agreeing))]
        for outcome in outcomes:
            if outcome is not winner:
                self.record(Vote, outcome, {}, **_answer(outcome), step="decision")
        self.record(Decision, winner, shown, **_answer(winner))
        return winner if isinstance(winner, Reply) else None

    def cite(self, decision: Reply, atlas: Atlas, state: State) -> Scratchpad:
        """Return the root cells that a decision cites, as evidence, if the search found none.

        Dead cells, and cells whose frame cannot be decoded, are left out.

        Args:
            decision: The decision, made from the root grid.
            atlas: The environment.
            state: The state at the root, with the dead zones. Its scratchpad is empty, but knows
                the labels of erased items, so that no label is given twice.
        """
        for cell in read(DecisionReply, decision.answer).cited:
            if isinstance(cell, str):
                continue  # a label whose evidence was erased
            claim = Claim(cell, "cited from the root grid")
            try:
                state = atlas.act(state, AddToScratchpad((claim,)))
            except IllegalAction:
                continue  # the grid itself shows that the cell is dead or unreadable
        self.run.log(
            Cite(
                view=ViewRecord.of(atlas.observe(state)),
                interval_s=atlas.root.interval_s,
                found=state.scratchpad.items,
            )
        )
        return state.scratchpad


def _answer(decision: Reply | ModelError) -> dict[str, Any]:
    """Return the answer as a field of an event; no field for a call that failed."""
    if isinstance(decision, ModelError):
        return {}
    return {"answer": decision.answer.model_dump()}


def follow(
    review: ReviewConclusion, frontier: Frontier, *, root: Grid, rules: Rules, workers: int
) -> tuple[list[Grid], tuple[UnfollowedRecord, ...]]:
    """Queue the root cells and the intervals that a review names to be searched next.

    An interval becomes regions in which it is seen more finely than before.

    Returns:
        The regions of the intervals, without root cells that were open already, and the intervals
        that cannot be searched.
    """
    cells = list(review.explore)
    queued = list[Grid]()
    unfollowed = list[UnfollowedRecord]()
    waiting = {region.grid for region in frontier.open}
    for start_s, end_s in dict.fromkeys(interval.span for interval in review.intervals):
        a = max(start_s, root.start_s)
        b = min(end_s, root.end_s)
        is_inside = a <= b and a < root.end_s
        grids: tuple[Grid, ...] = ()
        if is_inside:
            grids = unseen_over(root, a, b, can_open=rules.can_open, is_seen=frontier.is_seen)
        if not grids:
            reason: Literal["seen", "outside"] = "seen" if is_inside else "outside"
            unfollowed.append(UnfollowedRecord(interval_s=(start_s, end_s), reason=reason))
        regions = list[Grid]()
        for grid in grids:
            if grid.depth == 1 and grid in waiting:  # a root cell that is still open
                cells.append(grid.path[0])
            else:
                regions.append(grid)
        # Up to two regions for each worker get the score 1. More regions share the sum of that,
        # since one root cell can consist of k² regions.
        frontier.suggest(regions, min(1.0, 2 * workers / max(1, len(regions))))
        queued += regions
    frontier.rank(dict.fromkeys(cells, 1.0))
    return queued, tuple(unfollowed)


def can_change(question: Question, decisions: Sequence[Reply | ModelError], votes: int) -> bool:
    """Return whether another vote, of at most `votes`, can change which decision wins.

    Summaries are not compared, since no two are alike. After a failure, no further vote is asked
    for.
    """
    if len(decisions) >= votes or question.kind == "summary":
        return False
    if isinstance(decisions[-1], ModelError):
        return False
    return 2 * max(support(question, decisions)) <= votes


def support(question: Question, decisions: Sequence[Reply | ModelError]) -> list[int]:
    """Return for each decision how many agree with it, itself included; 0 if it failed."""
    answers = list[Answered | None]()
    for each in decisions:
        if isinstance(each, ModelError):
            answers.append(None)
        else:
            answers.append(prediction(question, read(DecisionReply, each.answer)))
    counts = [0] * len(answers)
    for place, one in enumerate(answers):
        for other in answers:
            if one is not None and other is not None and agree(question, one, other):
                counts[place] += 1
    return counts


def agree(question: Question, one: Answered, other: Answered) -> bool:
    """Return whether two answers to a question are the same answer."""
    if question.kind == "when":
        return intervals_iou(spans_of(one), spans_of(other)) >= SAME_IOU
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold().split() == other.casefold().split()
    return one == other
