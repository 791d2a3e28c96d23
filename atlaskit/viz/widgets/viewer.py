"""A run to step through in a notebook, or two runs of one question side by side.

What is told of a run, and the script that walks through it, are those of the exported page (`walk`).
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video
from atlaskit.viz import html
from atlaskit.viz.html.markup import Html, card, paragraph, untrusted
from atlaskit.viz.walk.source import RunSource, open_run
from atlaskit.viz.widgets import bridge
from atlaskit.viz.widgets.channel import Channel


class TraceViewer:
    """A run to step through in a notebook: `TraceViewer(result)` as a cell's last line.

    `run` is a `Result`, a `Trace`, or the path of a file that one of them was saved to. `other` is another run of the
    same question: both stand side by side, and are stepped through in lockstep or each by itself.

    Each step shows what an agent saw, was asked and answered, and what changed in M+ and M−. Arrow keys, Home and End
    lead through the steps, a blank plays them; the steps can be narrowed down to a worker, an action, or a frame of
    evidence. The tree has the regions of the grid stack that were visited, and each frame of evidence the step that
    found it.

    A picture is drawn when its step is looked at. A result has its video and its cache; for a trace or a file, `video`
    is what it is drawn from, and without it a picture is looked up in `cache`, by default the one that was opened last.
    Where it cannot be clicked, as on GitHub, a notebook shows the result, or the trace, as a static picture.

    Raises InputError for a file that holds no run, and for two runs of different questions.
    """

    def __init__(
        self,
        run: Result | Trace | str | Path,
        other: Result | Trace | str | Path | None = None,
        *,
        video: Video | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.runs = (open_run(run, video, cache), *([] if other is None else [open_run(other, video, cache)]))
        """What is stepped through: one run, or two."""
        check_same(*self.runs)
        self._feed = Channel(lambda number: self.runs[number], lambda *said: self.widget.send(*said))

    @cached_property
    def widget(self) -> Any:
        """The widget by itself, to put among others; raise InputError where anywidget is not installed."""
        return bridge.connect("viewer", self._hear, walks=True)

    def _hear(self, message: dict[str, Any]) -> None:
        if message.get("want") == "runs":
            self.widget.send({"is": "runs", "runs": list(range(len(self.runs)))})
        elif message.get("run", 0) in range(len(self.runs)):
            self._feed.hear(message)

    def _repr_html_(self) -> Html:
        """Return the static picture: each run as a notebook shows it."""
        return card(*map(still, self.runs))

    def _ipython_display_(self) -> None:
        bridge.show(self._repr_html_(), lambda: self.widget, repr(self))

    def __repr__(self) -> str:
        return f"TraceViewer({', '.join(f'<a run of {len(run.trace):,} events>' for run in self.runs)})"


def check_same(run: RunSource, other: RunSource | None = None) -> None:
    """Raise InputError for runs of different questions."""
    if other is None or run.question is None or other.question is None:
        return
    asked = [(each.text, each.choices) for each in (run.question, other.question)]
    if asked[0] != asked[1]:
        raise InputError(
            f"Side by side stand two runs of one question, not of {run.question.text!r:.80} and "
            f"{other.question.text!r:.80}."
        )


def still(run: RunSource) -> Html:
    """Return what a notebook shows of a run where nothing can be stepped through."""
    asked = run.question if isinstance(run.record, Trace) else None
    return card(paragraph(untrusted(asked.text, 1_000)) if asked else Html(""), html.html(run.record))
