"""Progress of a task that takes minutes, in lines that a terminal, a notebook or a log can show."""

from __future__ import annotations

import sys
import time

HEARTBEAT_S = 10.0
"""Seconds after which a stage that lasts is printed again, to show that it still goes on."""


class Progress:
    """Prints the start of a task, its stages and its duration to stderr."""

    def __init__(self, task: str) -> None:
        """Print that a task begins.

        Args:
            task: The task, as "starting vLLM".
        """
        self._stage = ""
        self._began_s = self._printed_s = time.monotonic()
        print(f"▸ {task} …", file=sys.stderr, flush=True)

    def update(self, stage: str, detail: str = "") -> None:
        """Print a stage when it begins, and again from time to time while it lasts.

        Args:
            stage: The stage, as "downloading".
            detail: How far it has come, as "3 of 110 packages". A change of it is not printed at
                once, but with the next line.
        """
        now_s = time.monotonic()
        if stage != self._stage or now_s - self._printed_s > HEARTBEAT_S:
            self._stage, self._printed_s = stage, now_s
            self.show(f"{stage}: {detail}" if detail else stage)

    def show(self, text: str) -> None:
        """Print a line with the seconds since the task began."""
        print(f"  {time.monotonic() - self._began_s:3.0f} s  {text}", file=sys.stderr, flush=True)

    def done(self, outcome: str) -> None:
        """Print what the task has reached, and how long it took."""
        print(f"✓ {outcome}: {time.monotonic() - self._began_s:.1f} s", file=sys.stderr, flush=True)
