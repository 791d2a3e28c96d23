"""The display of a run in a terminal: one line on stderr, which disappears at the end."""

from __future__ import annotations

import shutil
import sys

from atlaskit.environment.grid import clock
from atlaskit.models.protocol import is_stopped, now_s
from atlaskit.runs.narrate import counted
from atlaskit.runs.result import Result
from atlaskit.viz.live.progress import pending, progress_text
from atlaskit.viz.walk.source import RunSource


class StatusLine:
    """A line with round, calls, frames found, and time; it appears when it is first drawn.

    There is none in a log file, where it could not disappear, and none while a server is installed
    or started, which prints lines of its own.
    """

    def __init__(self) -> None:
        self._began_s, self._shown = now_s(), ""

    def draw(self, run: RunSource) -> None:
        """Update the line."""
        found = counted(len(run.evidence) + pending(run), "frame")
        seconds = clock(now_s() - self._began_s).partition(".")[0]
        self._show("" if is_stopped() else f"{progress_text(run)} · {found} found · {seconds}")

    def finish(self, run: RunSource, result: Result | None) -> None:
        """Remove the line; `ask` returns the result, so it is not printed."""
        self.draw(run)
        self._show("")

    def _show(self, text: str) -> None:
        """Replace the line; a text that the terminal would break is cut off."""
        text = text[: shutil.get_terminal_size().columns - 1]
        if text != self._shown and sys.stderr.isatty():
            print(f"\r{text:<{len(self._shown)}}", end="" if text else "\r", file=sys.stderr, flush=True)
            self._shown = text
