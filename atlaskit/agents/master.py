"""The master: plans the search, scores cells, judges the evidence and decides (paper §3.2)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from atlaskit.agents.prompts import (
    DecisionCall,
    GlanceCall,
    ProbeCall,
    ReviewCall,
    TaskCall,
)
from atlaskit.environment.actions import AddToScratchpad, Claim
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import MAX_SHEET_ITEMS, DeadZones, Scratchpad, gaps
from atlaskit.environment.observation import Observation
from atlaskit.environment.question import Answered, Question
from atlaskit.environment.render import Sheet
from atlaskit.errors import IllegalAction
from atlaskit.models.protocol import MAX_ATTEMPTS, Model, Reply


@dataclass
class Master:
    """Holds the global view: extracts the task, probes, judges the evidence, decides."""

    atlas: Atlas
    model: Model
    question: Question
    deadline_s: float | None = None
    """When retries must end, on the clock of `time.monotonic`."""
    cancel: threading.Event | None = None
    """Comes when the run is interrupted."""

    def extract_task(self, chooses: bool, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Turn the question into a search task, and if asked to choose a traversal, before any frame is decoded."""
        return self._ask(TaskCall(self.question, chooses), max_attempts)

    def probe(
        self,
        search_task: str,
        seen: Observation,
        cells: Sequence[int],
        top: int,
        scratchpad: Scratchpad,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> Reply:
        """Score at most `top` of these cells of the masked root."""
        call = ProbeCall(self.question, search_task, seen, tuple(cells), top, scratchpad)
        return self._ask(call, max_attempts)

    def review(
        self,
        search_task: str,
        seen: Observation,
        cells: Sequence[int],
        scratchpad: Scratchpad,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> Reply:
        """Judge the evidence: sufficient or not, where to look next, what to erase."""
        sheet = self.sheet(scratchpad)
        between = gaps(sheet.scratchpad, seen.state.dead_zones, self.atlas.rules.duration_s)
        left_out = len(scratchpad) - len(sheet.scratchpad)
        call = ReviewCall(self.question, search_task, sheet, seen, tuple(cells), between, left_out)
        return self._ask(call, max_attempts)

    def decide(
        self, scratchpad: Scratchpad, seen: Observation | None = None, max_attempts: int = MAX_ATTEMPTS
    ) -> Reply:
        """Answer from the evidence frames; or from what of the masked root is `seen`, where there are none."""
        if seen is not None:
            return self._ask(GlanceCall(self.question, seen), max_attempts)
        sheet, duration_s = self.sheet(scratchpad), self.atlas.rules.duration_s
        left_out = len(scratchpad) - len(sheet.scratchpad)
        return self._ask(DecisionCall(self.question, duration_s, sheet, left_out), max_attempts)

    def cite(self, cells: Sequence[int], dead_zones: DeadZones, scratchpad: Scratchpad) -> Scratchpad:
        """Ground the cells that a glance at the root cites, leaving out any whose frame cannot be decoded or is dead.

        The scratchpad is empty, but for the labels that were given and erased again.
        """
        state = self.atlas.start(dead_zones=dead_zones, scratchpad=scratchpad)
        for cell in dict.fromkeys(cells):
            try:
                state = self.atlas.act(state, AddToScratchpad((Claim(cell, "cited from the root grid"),)))
            except IllegalAction:
                continue  # said in the grid itself: the cell is marked unreadable
        return state.scratchpad

    def _ask(self, call: TaskCall | ProbeCall | ReviewCall | DecisionCall | GlanceCall, max_attempts: int) -> Reply:
        return self.model.complete(
            call.request(), max_attempts=max_attempts, deadline_s=self.deadline_s, cancel=self.cancel
        )

    def look(self, dead_zones: DeadZones) -> Observation:
        """Return the masked root."""
        return self.atlas.observe(self.atlas.start(dead_zones=dead_zones))

    def sheet(self, scratchpad: Scratchpad) -> Sheet:
        """Return the scratchpad as an image: its surest items, since what is shown to a model must end somewhere."""
        return Sheet(
            self.atlas.video, scratchpad.surest(MAX_SHEET_ITEMS), self.atlas.cell, self.atlas.fit, self.atlas.cache
        )


def prediction(question: Question, answer: Any) -> Answered:
    """Return what a validated decision predicts: the index of a choice, an interval, a number or words.

    An interval told backwards is that interval: no grammar can keep a model from it.
    """
    if question.kind == "when":
        return min(answer.start_s, answer.end_s), max(answer.start_s, answer.end_s)
    return answer.answer.strip() if isinstance(answer.answer, str) else int(answer.answer)
