"""A run that happens, as one line on stderr: calls made, the round, and the frames found. It goes away at the end."""

from __future__ import annotations

import sys

from tqdm import tqdm

from atlaskit.runs.result import Result
from atlaskit.viz.live.snapshots import Snapshot


class StatusLine:
    """The line; it appears with the first event."""

    def __init__(self) -> None:
        self._bar: tqdm[None] | None = None

    def draw(self, moment: Snapshot) -> None:
        """Say how far the run is."""
        if self._bar is None:
            self._bar = tqdm(total=moment.most_calls, unit="call", file=sys.stderr, leave=False, dynamic_ncols=True)
        found = len(moment.evidence) + moment.arriving
        self._bar.set_postfix_str(f"round {moment.round}, {found} frames found", refresh=False)
        self._bar.n = moment.calls
        self._bar.refresh()

    def look(self) -> bool:
        """There is nothing to look up."""
        return False

    def leave(self, moment: Snapshot, result: Result | None) -> None:
        """Take the line away. What is left is the result, which `ask` returns."""
        self.draw(moment)
        if self._bar is not None:
            self._bar.close()
