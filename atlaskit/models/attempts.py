"""`CallState`: counts the attempts of a call and decides whether and when to retry (backoff,
Retry-After).
"""

from __future__ import annotations

import math
import random
import threading
import time
from dataclasses import dataclass, field

from atlaskit.models.clock import now_s
from atlaskit.models.http import HttpFailure
from atlaskit.models.protocol import MAX_ATTEMPTS, Transit, Usage

FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 8.0
"""Pause before the first retry, and the longest one: pauses double in between."""
BUSY_FACTOR, BUSY_GROWTH = 10.0, 3.0
"""An endpoint that limits the rate or loads its model, and does not say for how long, is waited for
ten times as long as another failure, then three times longer each: a minute over three retries."""
MAX_REQUESTED_PAUSE_S = 60.0
"""Longest pause that is made because the endpoint asks for it, or is busy."""


@dataclass
class CallState:
    """The progress of one call. Each call has its own, so threads share none."""

    max_attempts: int = MAX_ATTEMPTS
    deadline_s: float | None = None
    """When the last attempt must end, by `clock.now_s`."""
    cancel: threading.Event | None = None
    attempts: int = 0
    usage: Usage = Usage()
    """What the attempts have cost so far."""
    queue_s: float = 0.0
    sent_bytes: int = 0
    began_s: float = field(default_factory=time.monotonic)
    _pause_s: float = field(default_factory=lambda: FIRST_PAUSE_S)
    _busy_pause_s: float = field(default_factory=lambda: BUSY_FACTOR * FIRST_PAUSE_S)

    @property
    def left_s(self) -> float:
        """Seconds until the deadline; infinity without one."""
        return math.inf if self.deadline_s is None else self.deadline_s - now_s()

    @property
    def transit(self) -> Transit:
        """How long the call has taken and what it has sent."""
        wall_s = time.monotonic() - self.began_s
        return Transit(queue_s=self.queue_s, wall_s=wall_s, sent_bytes=self.sent_bytes)

    @property
    def is_exhausted(self) -> bool:
        """Whether the attempts are used up."""
        return self.attempts >= self.max_attempts

    def count(self, usage: Usage) -> None:
        """Count an attempt that has ended."""
        self.attempts += 1
        self.usage += usage

    def pause_before_retry(self, failure: HttpFailure) -> bool:
        """Pause after a failed attempt; return whether to make another one.

        The pause doubles each time, with ±50 % jitter, unless the endpoint asks for a certain one
        or is busy (`BUSY_FACTOR`). Returns False without a pause if a retry cannot help, and at
        once if the call is cancelled.
        """
        told = failure.explanation
        pause_s = self._pause_s * random.uniform(0.5, 1.5)
        if told.wait_s is not None:
            pause_s = min(told.wait_s, MAX_REQUESTED_PAUSE_S)
        elif told.is_busy:
            pause_s = min(self._busy_pause_s, MAX_REQUESTED_PAUSE_S)
        if self.is_exhausted or self.left_s <= pause_s or not failure.is_passing:
            return False
        self._pause_s = min(2 * self._pause_s, MAX_PAUSE_S)
        self._busy_pause_s *= BUSY_GROWTH if told.is_busy else 1.0
        if self.cancel is None:
            time.sleep(pause_s)
            return True
        return not self.cancel.wait(pause_s)
