"""`TraceViewer`: the widget that steps through one run, or two side by side.

    Channel                                 sends summaries, steps and requested images of runs
    TraceViewer                             the widget

The widget shows the same steps as the exported page (`walk`), with the same scripts. A channel
sends from threads of its own: the first steps of a long run arrive at once, the rest in batches.
Images of a step that is no longer shown are not drawn. Drawn images are not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.errors import AtlasError, InputError, reason
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.viz import html
from atlaskit.viz.html.markup import (
    MAX_WIDTH_PX,
    SHARP,
    Html,
    card,
    paragraph,
    plain_text,
    untrusted,
)
from atlaskit.viz.walk.pictures import Pictures, pictures
from atlaskit.viz.walk.source import RunSource, open_run
from atlaskit.viz.walk.steps import steps, summarize
from atlaskit.viz.widgets.bridge import Debouncer, IsLatest, PageOwner

MAX_STEPS = 20_000
"""The most steps of a run in the widget."""
FIRST_BATCH = 50
"""Steps in the first message, which is small so that it arrives soon."""
BATCH = 500
"""Steps in each further message."""
MAX_IMAGE_BYTES = 500_000
"""Most bytes of one image, as JPEG."""
MAX_REQUESTED = 16
"""Most images drawn for one request: those of a step, or of two steps side by side, and of the
next."""
MAX_RUNS = 6
"""Most runs whose images can be requested: those that were opened last."""
MAX_CHARS = 600
"""Most characters of a message that says what failed."""

Send = Callable[..., None]
"""`send(message, buffers)`, which may be called from any thread."""


class Channel:
    """Sends runs, each identified by a number, to a page."""

    def __init__(self, open_run: Callable[[int], RunSource], send: Send) -> None:
        """Prepare a channel.

        Args:
            open_run: Returns the run with a number, or raises AtlasError.
            send: Sends a message to the page.
        """
        self._open_run = open_run
        self._send = send
        self._step_jobs = dict[int, Debouncer]()
        self._image_jobs = Debouncer("pictures")
        self._pictures = dict[int, Pictures]()
        self._lock = Lock()

    def receive(self, message: dict[str, Any]) -> None:
        """Handle a request of the page; any other message is ignored."""
        match message:
            case {"want": "run", "run": int(number)}:
                jobs = self._step_jobs.pop(number, None) or Debouncer("steps")
                self._step_jobs[number] = jobs
                for oldest in list(self._step_jobs)[:-MAX_RUNS]:
                    del self._step_jobs[oldest]  # its thread ends once nothing is left to send
                jobs.submit(lambda is_latest: self._send_run(number, is_latest))
            case {"want": "pictures", "wanted": [*wanted]}:
                pairs = [(pair[0], pair[1]) for pair in wanted if _is_pair(pair)]
                requested = pairs[:MAX_REQUESTED]
                self._image_jobs.submit(lambda is_latest: self._send_images(requested, is_latest))

    def _send_run(self, number: int, is_latest: IsLatest) -> None:
        """Send the summary of a run and its steps."""
        try:
            run = self._open_run(number)
            found = pictures(run)
            summary = summarize(run, found, MAX_STEPS)
        except Exception as error:
            # A thread has no caller to raise to, and a trace from elsewhere may hold anything.
            words = plain_text(f"This run cannot be shown: {reason(error)}", MAX_CHARS)
            self._send({"is": "trouble", "run": number, "words": words})
            return
        self._remember(number, found)
        self._send({"is": "head", "run": number, "head": summary})
        try:
            self._send_steps(number, run, found, is_latest)
        except Exception as error:
            words = plain_text(f"Some steps cannot be shown: {reason(error)}", MAX_CHARS)
            self._send({"is": "trouble", "run": number, "words": words})

    def _remember(self, number: int, found: Pictures) -> None:
        """Keep the images of a run as the newest of MAX_RUNS."""
        with self._lock:
            self._pictures.pop(number, None)
            self._pictures[number] = found
            for oldest in list(self._pictures)[:-MAX_RUNS]:
                del self._pictures[oldest]

    def _send_steps(
        self, number: int, run: RunSource, found: Pictures, is_latest: IsLatest
    ) -> None:
        """Send the steps of a run in batches; stop if the page requests the run again."""
        batch = list[dict[str, Any]]()
        first = 0
        for index, step in enumerate(steps(run, found, MAX_STEPS)):
            if not is_latest():
                return
            batch.append(step)
            if len(batch) == (BATCH if first else FIRST_BATCH):
                self._send(
                    {"is": "steps", "run": number, "first": first, "steps": batch, "last": False}
                )
                batch = []
                first = index + 1
        self._send({"is": "steps", "run": number, "first": first, "steps": batch, "last": True})

    def _send_images(self, requested: list[tuple[int, int]], is_latest: IsLatest) -> None:
        """Draw images and send each at once; stop if others are requested."""
        for number, index in requested:
            if not is_latest():
                return
            with self._lock:
                found = self._pictures.get(number)
            if found is None or not 0 <= index < len(found.images):
                continue
            subject = {"run": number, "picture": index}
            try:
                jpeg = found.images[index].jpeg(SHARP * MAX_WIDTH_PX, MAX_IMAGE_BYTES)
            except AtlasError as error:
                self._send(
                    {"is": "missing", **subject, "words": plain_text(reason(error), MAX_CHARS)}
                )
            else:
                self._send({"is": "picture", **subject}, [jpeg])


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value)


class TraceViewer(PageOwner):
    """A run to step through in a notebook: `TraceViewer(result)` as the last line of a cell.

    It opens on the map of the run and ends on the answer and its evidence. Each step shows the
    images that an agent saw, with outlines around the cells that it acted on, its request and
    reply, and the changes of evidence (M+) and dead zones (M−). Time axes show the workers side by
    side. The arrow keys, Home and End move between the steps, and Space plays them. Filters select
    the steps of one agent, of one action, or about one evidence frame. A tree lists the explored
    regions by depth, and each evidence frame links to the step that found it.

    Images are drawn when their step is shown. The interactive widget needs a running kernel;
    elsewhere, as on GitHub, the notebook shows the static display of a result.

    Attributes:
        runs: The run, or the two runs.

    Examples:
        >>> viewer = ak.widgets.TraceViewer(result)  # shown if this is the last line of a cell
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
            video: The video, or its file, from which images are drawn if `run` is a trace or a
                file; a result has its own video. Without a video, images are read from the cache.
            cache: Where images are cached; None for the cache of the result, or else that of the
                video, or else the default cache.

        Raises:
            InputError: A file holds no run, or the two runs have different questions.
        """
        if video is not None:
            video = as_video(video, cache)
        self.runs: tuple[RunSource, ...] = (open_run(run, video, cache),)
        if other is not None:
            self.runs += (open_run(other, video, cache),)
        questions = set[tuple[str, tuple[str, ...]]]()
        for source in self.runs:
            if source.question is not None:
                questions.add((source.question.text, source.question.choices))
        if len(questions) > 1:
            texts = " and ".join(f"{text!r:.80}" for text, _ in sorted(questions))
            raise InputError(f"Two runs must have the same question; got {texts}.")
        self._channel = Channel(lambda number: self.runs[number], self.send)

    def _receive(self, message: dict[str, Any]) -> None:
        if message.get("want") == "runs":
            self.send({"is": "runs", "runs": list(range(len(self.runs)))})
        elif message.get("run", 0) in range(len(self.runs)):  # a request of images names no run
            self._channel.receive(message)

    def _repr_html_(self) -> Html:
        """Return the static picture: the display of each run."""
        parts = list[str]()
        for run in self.runs:
            if isinstance(run.record, Result):
                parts.append(html.html(run.record))
            else:
                parts.append(paragraph(untrusted(run.record)))
        return card(*parts)

    def __repr__(self) -> str:
        runs = ", ".join(f"<run of {len(run.trace):,} events>" for run in self.runs)
        return f"TraceViewer({runs})"
