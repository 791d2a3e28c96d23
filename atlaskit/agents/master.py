"""`Master`: the calls that plan, probe, review and decide (paper §3.2), and the sheet they show."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlaskit.agents.prompts import Call, DecisionCall, GlanceCall, ProbeCall, ReviewCall, TaskCall, request_for
from atlaskit.agents.prompts.thrift import Recalled
from atlaskit.agents.scouts.hints import CellHint
from atlaskit.agents.thrift import Thrift
from atlaskit.environment.actions import AddToScratchpad, Claim
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import DeadZones, Scratchpad, gaps
from atlaskit.environment.observation import Observation
from atlaskit.environment.question import Answered, Question, Span
from atlaskit.environment.render import Sheet
from atlaskit.environment.scoring import merged
from atlaskit.errors import IllegalAction
from atlaskit.models.protocol import MAX_ATTEMPTS, Model, Reply


@dataclass
class Master:
    """The agent with the global view: it plans, probes, reviews and decides.

    Each method makes one call and changes nothing here; the search applies the replies. The
    methods that make a call raise ModelError when it fails.
    """

    atlas: Atlas
    model: Model
    question: Question
    deadline_s: float | None = None
    """When retries must end, by `clock.now_s`."""
    cancel: threading.Event | None = None
    """Set when the run is interrupted."""
    first_sample: int = 0
    """Number of the sample of the first vote; each further vote has the next one."""
    thrift: Thrift = frozenset()

    def extract_task(self, chooses_traversal: bool, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Turn the question into a search task, and choose a traversal if asked to.

        The call has no images, so it decodes no frame.
        """
        return self._complete(TaskCall(self.question, chooses_traversal), max_attempts)

    def probe(
        self,
        search_task: str,
        root: Observation,
        cells: Sequence[int],
        top: int,
        scratchpad: Scratchpad,
        max_attempts: int = MAX_ATTEMPTS,
        hints: tuple[CellHint, ...] = (),
    ) -> Reply:
        """Score at most `top` of these cells of the masked root grid, told the scouts' hints."""
        call = ProbeCall(self.question, search_task, root, tuple(cells), top, scratchpad, self.thrift, hints)
        return self._complete(call, max_attempts)

    def review(
        self,
        search_task: str,
        root: Observation,
        cells: Sequence[int],
        scratchpad: Scratchpad,
        max_attempts: int = MAX_ATTEMPTS,
        recalled: Recalled | None = None,
        judged: Collection[str] = (),
    ) -> Reply:
        """Judge the evidence: whether it suffices, where to look next, what to erase.

        Args:
            search_task: What the run looks for.
            root: The masked root grid.
            cells: The root cells that can still be searched.
            scratchpad: The evidence.
            max_attempts: The most attempts of the call.
            recalled: What stands in place of the root grid; None shows the grid.
            judged: Labels of the evidence that an earlier review judged.
        """
        sheet = self.review_sheet(scratchpad, judged)
        between = gaps(sheet.scratchpad, root.state.dead_zones, (self.atlas.root.start_s, self.atlas.root.end_s))
        left_out = len(scratchpad) - len(sheet.scratchpad)
        call = ReviewCall(self.question, search_task, sheet, root, tuple(cells), between, left_out, recalled)
        return self._complete(call, max_attempts)

    def decide(
        self,
        scratchpad: Scratchpad,
        root: Observation | None = None,
        max_attempts: int = MAX_ATTEMPTS,
        vote: int = 0,
    ) -> Reply:
        """Answer from the evidence frames, or from the masked root grid if `root` is given.

        Args:
            scratchpad: The evidence.
            root: The masked root grid, to answer from it instead.
            max_attempts: The attempts that the call may take.
            vote: Number of the vote, from 0; a model with a temperature may answer each otherwise.
        """
        if root is not None:
            return self._complete(GlanceCall(self.question, root), max_attempts, self.first_sample + vote)
        sheet, duration_s = self.sheet(scratchpad), self.atlas.rules.duration_s
        left_out = len(scratchpad) - len(sheet.scratchpad)
        call = DecisionCall(self.question, duration_s, sheet, left_out)
        return self._complete(call, max_attempts, self.first_sample + vote)

    def cite(self, cells: Sequence[int], dead_zones: DeadZones, scratchpad: Scratchpad) -> Scratchpad:
        """Return a scratchpad with the root cells that an answer cites as evidence.

        Cells whose frame is dead or cannot be decoded are left out.

        Args:
            cells: Indices of the cited cells.
            dead_zones: The run's dead zones.
            scratchpad: An empty scratchpad. It still knows which labels were given and erased, so
                that no label is given twice.
        """
        state = self.atlas.start(dead_zones=dead_zones, scratchpad=scratchpad)
        for cell in dict.fromkeys(cells):
            try:
                state = self.atlas.act(state, AddToScratchpad((Claim(cell, "cited from the root grid"),)))
            except IllegalAction:
                continue  # the grid itself shows that the cell is dead or unreadable
        return state.scratchpad

    def observe_root(self, dead_zones: DeadZones) -> Observation:
        """Return the root grid, masked by dead zones."""
        return self.atlas.observe(self.atlas.start(dead_zones=dead_zones))

    def sheet(self, scratchpad: Scratchpad) -> Sheet:
        """Return the image of the evidence: at most MAX_SHEET_ITEMS items, the most confident."""
        return self.atlas.sheet(scratchpad)

    def review_sheet(self, scratchpad: Scratchpad, judged: Collection[str]) -> Sheet:
        """Return the sheet of a review: with "evidence", halved where it was judged before."""
        sheet = self.sheet(scratchpad)
        halved = frozenset(judged) & frozenset(sheet.scratchpad.labels) if "evidence" in self.thrift else frozenset()
        return replace(sheet, halved=halved)

    def _complete(self, call: Call, max_attempts: int, sample: int = 0) -> Reply:
        request = replace(request_for(self.model, call), sample=sample)
        return self.model.complete(request, max_attempts=max_attempts, deadline_s=self.deadline_s, cancel=self.cancel)


def prediction(question: Question, answer: Any) -> Answered:
    """Return what a validated decision predicts: a choice's index, interval(s), a number or words.

    The ends of an interval are sorted, because no schema can force a model to give the start first.
    Several intervals are in order of time, and one where they overlap or touch.
    """
    if question.several:
        return merged(map(_ordered, answer.intervals))
    if question.kind == "when":
        return _ordered(answer)
    return answer.answer.strip() if isinstance(answer.answer, str) else int(answer.answer)


def _ordered(interval: Any) -> Span:
    """Return the interval of a reply, its earlier end first."""
    return min(interval.start_s, interval.end_s), max(interval.start_s, interval.end_s)


def cited_cells(answer: Any) -> list[int]:
    """Return the root cells that a decision made from the root grid rests on."""
    judged = [weighed for weighed in getattr(answer, "weighed", ()) if weighed.choice == answer.answer] or [answer]
    return [cell for each in judged for cell in getattr(each, "supporting", ())]
