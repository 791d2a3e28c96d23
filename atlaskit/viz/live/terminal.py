"""The display of a run in a terminal: one line on stderr, which disappears at the end."""

from __future__ import annotations

import sys

from tqdm import tqdm

from atlaskit.runs.result import Result
from atlaskit.viz.live.snapshots import Snapshot


class StatusLine:
    """A line with calls, round, and frames found; it appears when it is first drawn."""

    def __init__(self) -> None:
        self._bar: tqdm[None] | None = None

    def draw(self, snapshot: Snapshot) -> None:
        """Update the line."""
        if self._bar is None:
            self._bar = tqdm(total=snapshot.max_calls, unit="call", file=sys.stderr, leave=False, dynamic_ncols=True)
        found = len(snapshot.evidence) + snapshot.pending
        self._bar.set_postfix_str(f"round {snapshot.round}, {found} frames found", refresh=False)
        self._bar.n = snapshot.calls
        self._bar.refresh()

    def load(self) -> bool:
        """Return False: the line needs no frames."""
        return False

    def finish(self, snapshot: Snapshot, result: Result | None) -> None:
        """Remove the line; `ask` returns the result, so it is not printed."""
        self.draw(snapshot)
        if self._bar is not None:
            self._bar.close()
