"""`AskedRun`: one question that a thread asks a model, and that can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from atlaskit.caching.cache import Cache
from atlaskit.models.protocol import Model, StoppableModel, Stopped, now_s
from atlaskit.models.serving.server import as_model
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.video.video import Video
from atlaskit.viz.live.progress import run_so_far
from atlaskit.viz.live.thread import DrawingThread
from atlaskit.viz.walk.source import RunSource
from atlaskit.viz.widgets.explorer.drafts import Draft

Ask = Callable[..., Result]
"""`ak.ask`."""


class AskedRun:
    """A run on a thread of its own. It follows the events, as the live display of a notebook does.

    Attributes:
        draft: What is asked.
        so_far: The run so far, as drawn last.
        result: What `ask` returned; None while the run goes on, or if it has no result.
        error: Why it has no result; None while it goes on, or if it has one.
        started_s: When it began, as `now_s` counts.
        is_stopping: Whether it has been told to stop.
    """

    def __init__(
        self,
        ask: Ask,
        draft: Draft,
        vlm: Model | str,
        video: Video,
        cache: Cache,
        on_change: Callable[[AskedRun], None],
    ) -> None:
        """Start a run.

        Args:
            ask: What answers the question: `ak.ask`.
            draft: What is asked.
            vlm: The model, or the words that name it.
            video: The video.
            cache: Where replies and images are stored.
            on_change: Called with the run when `so_far` has changed, and once after the end.
        """
        self.draft, self.so_far = draft, run_so_far((), video, cache)
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.is_stopping, self.is_over = False, False
        self._ask, self._vlm, self._video, self._cache, self._on_change = ask, vlm, video, cache, on_change
        self._model: StoppableModel | None = None
        self.started_s = now_s()
        self._display = DrawingThread(self, video, cache)
        self._thread = threading.Thread(target=self._run, daemon=True, name="atlaskit-ask")
        self._thread.start()

    def stop(self) -> None:
        """End the run soon, without a result; calls in flight are cancelled."""
        self.is_stopping = True
        if self._model is not None:
            self._model.stop()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until the run is over."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        result, error = None, None
        try:
            self._model = StoppableModel(as_model(self._vlm, self._cache))
            within = {} if self.draft.within is None else {"within": self.draft.within}
            self._check()
            result = self._ask(
                self._video,
                self.draft.text,
                [*self.draft.choices] or None,
                vlm=self._model,
                cache=self._cache,
                on_event=self._follow,
                **within,
            )
        except BaseException as caught:  # a thread has no caller: the page shows the error
            error = Stopped() if self.is_stopping else caught
        self._end(result, error)

    def _end(self, result: Result | None, error: BaseException | None) -> None:
        with suppress(Exception):  # a drawing that failed does not hide the result, or the run's own error
            self._display.on_end(result)  # draws the last events, while the run counts as going on
        self.result, self.error, self.is_over = result, error, True
        self._on_change(self)

    def _follow(self, event: Event) -> None:
        self._check()
        self._display.on_event(event)

    def _check(self) -> None:
        """Raise Stopped if the run has been told to stop; from `on_event`, this ends it."""
        if self.is_stopping:
            raise Stopped

    def draw(self, run: RunSource) -> None:
        """Keep the run so far; called by the thread that follows the events."""
        self.so_far = run
        self._on_change(self)

    def finish(self, run: RunSource, result: Result | None) -> None:
        """Keep the whole run."""
        self.draw(run)
