"""`TraceViewer`: the widget that steps through one run, or two side by side.

It shows the same steps as the exported page (`walk`), with the same scripts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.viz import html
from atlaskit.viz.html.markup import Html, card, paragraph, untrusted
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.widgets.bridge import PageOwner
from atlaskit.viz.widgets.channel import Channel


class TraceViewer(PageOwner):
    """A run to step through in a notebook: `TraceViewer(result)` as the last line of a cell.

    It opens on the map of the run and ends on answer and evidence. Each step shows the images that
    an agent saw, with the cells outlined that it acted on, its request and reply, and the changes
    of evidence (M+) and dead zones (M−). Axes of time show the workers side by side. The arrow
    keys, Home and End move between the steps, and Space plays them. Filters select the steps of one
    agent, of one action, or about one evidence frame. A tree lists the explored regions by depth,
    and each evidence frame links to the step that found it.

    Images are drawn when their step is shown. The interactive widget needs a running kernel;
    elsewhere, as on GitHub, the notebook shows the static display of a result.

    Attributes:
        runs: The run, or the two runs.

    Examples:
        >>> viewer = ak.widgets.TraceViewer(result)  # it is shown where it ends a cell
    """

    page = "viewer"

    def __init__(
        self,
        run: Result | Trace | str | Path,
        other: Result | Trace | str | Path | None = None,
        *,
        video: AnyVideo | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Open one or two runs.

        Args:
            run: A result, a trace, or the path of a file that one of them was saved to.
            other: A second run of the same question, shown beside the first.
            video: The video, or its file, that images are drawn from, for a trace or a file; a
                result has its own. Without a video, images are read from the cache.
            cache: Where images are cached; by default that of a result, otherwise the cache that
                was opened last.

        Raises:
            InputError: A file holds no run, or the two runs have different questions.
        """
        video = None if video is None else as_video(video, cache)
        self.runs = (open_run(run, video, cache), *([] if other is None else [open_run(other, video, cache)]))
        asked = {(run.question.text, run.question.choices) for run in self.runs if run.question is not None}
        if len(asked) > 1:
            texts = " and ".join(f"{text!r:.80}" for text, _ in sorted(asked))
            raise InputError(f"Two runs must have the same question; got {texts}.")
        self._channel = Channel(lambda number: self.runs[number], self.send)

    def _receive(self, message: dict[str, Any]) -> None:
        if message.get("want") == "runs":
            self.send({"is": "runs", "runs": list(range(len(self.runs)))})
        elif message.get("run", 0) in range(len(self.runs)):
            self._channel.receive(message)

    def _repr_html_(self) -> Html:
        """Return the static picture: the display of each run."""
        records = [run.record for run in self.runs]
        return card(*(html.html(each) if isinstance(each, Result) else paragraph(untrusted(each)) for each in records))

    def __repr__(self) -> str:
        return f"TraceViewer({', '.join(f'<run of {len(run.trace):,} events>' for run in self.runs)})"
