"""Telling of something that takes minutes, line by line: readable in a terminal, a notebook and a log alike."""

from __future__ import annotations

import sys
import time

HEARTBEAT_S = 15.0
"""A line at least this often, so that nobody has to guess whether it still lives."""


class Progress:
    """Says what begins, what it is at, and how long it took; nothing if it is to be quiet."""

    def __init__(self, what: str, is_quiet: bool = False) -> None:
        self._is_quiet, self._stage = is_quiet, ""
        self._began_s = self._told_s = time.monotonic()
        self._print(f"▸ {what} …")

    def at(self, stage: str) -> None:
        """Tell of a stage when it begins, and from time to time while it lasts."""
        now_s = time.monotonic()
        if stage != self._stage or now_s - self._told_s > HEARTBEAT_S:
            self._stage, self._told_s = stage, now_s
            self._print(f"  {now_s - self._began_s:3.0f} s  {stage}")

    def done(self, what: str) -> None:
        """Tell that it is done."""
        self._print(f"✓ {what}: {time.monotonic() - self._began_s:.1f} s")

    def _print(self, line: str) -> None:
        if not self._is_quiet:
            print(line, file=sys.stderr, flush=True)
