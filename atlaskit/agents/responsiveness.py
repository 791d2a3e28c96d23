"""`Responsiveness`: counts failed calls and decides when the model no longer answers.

A failed call costs a step, not a region. A run goes on after a failure, and ends only when it has
good reason to believe that no call will succeed. This module decides when that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from atlaskit.agents.task import WorkerResult
from atlaskit.environment.grid import Grid
from atlaskit.models.errors import ModelError, Unreachable
from atlaskit.models.protocol import Reply

MAX_UNANSWERED = 3
"""The run ends after so many failed calls of the master in a row, or after so many rounds in a row,
in different regions, in which no worker got a reply."""


@dataclass
class Responsiveness:
    """Counts the failures in a row of the master and of whole rounds of workers."""

    failure: str = ""
    """The last failure of the master or of a whole round; empty if there was none."""
    failed_calls: int = 0
    """Failed calls of the master in a row."""
    is_refused: bool = False
    """Whether a worker's call failed in a way in which all calls must fail."""
    is_hopeless: bool = False
    """Whether the first call of the run failed so: the decision would fail too."""
    has_replied: bool = False
    """Whether the model has answered the master in this run."""
    silent_regions: list[Grid] = field(default_factory=list)
    """One region for each round in a row in which no worker got a reply."""

    @property
    def is_lost(self) -> bool:
        """Whether the model seems to answer no more.

        One or two regions without replies do not show that: a server may refuse their frames alone.
        """
        is_silent = self.failed_calls >= MAX_UNANSWERED or len(set(self.silent_regions)) >= MAX_UNANSWERED
        return self.is_refused or is_silent

    def record_call(self, outcome: Reply | ModelError) -> None:
        """Record a call of the master."""
        if not isinstance(outcome, ModelError):
            self.failed_calls, self.has_replied = 0, True
            return
        self.is_hopeless = outcome.is_final and not self.has_replied
        # An unreachable server was retried long enough; another failure that is not final may pass.
        is_lasting = outcome.is_final or isinstance(outcome, Unreachable)
        self.failed_calls += MAX_UNANSWERED if is_lasting else 1
        self.failure = str(outcome)

    def record_round(self, results: Sequence[WorkerResult]) -> None:
        """Record the workers' results of a round."""
        if final := next((result.final_failure for result in results if result.final_failure), ""):
            self.is_refused, self.failure = True, final
            return
        if not all(result.got_no_reply for result in results):
            self.silent_regions = []
            return
        self.silent_regions = [*self.silent_regions, results[0].region]
        self.failure = str(results[-1].events[-1]["reason"])
