"""`DrawingThread`: draws a run from a queue of events, a few times a second and at its end.

The threads of the search only put events into a queue. The pause between two drawings grows with
the time that one takes, so that drawing takes at most a fifth of the time. A run that ends at once,
because the cache answers it, is drawn only once.
"""

from __future__ import annotations

import threading
import time
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Protocol

from atlaskit.caching.cache import Cache
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.video.video import Video
from atlaskit.viz.live.progress import run_so_far
from atlaskit.viz.walk.source import RunSource

FIRST_S, INTERVAL_S = 0.25, 0.4
"""Seconds before the first drawing, and between two drawings at least."""
MAX_SHARE = 0.2
"""Largest share of the time that drawing takes."""
FINISHED_WAIT_S, FAILED_WAIT_S = 5.0, 0.5
"""Longest wait for a drawing in progress, after a run that finished and after one that failed."""


class Surface(Protocol):
    """What a run is drawn on.

    One thread calls it at a time, except that `finish` may be called while a drawing hangs.
    """

    def draw(self, run: RunSource) -> None:
        """Replace the drawing by that of the run so far."""

    def finish(self, run: RunSource, result: Result | None) -> None:
        """Show what remains after the run; the result is None if an error ended the run."""


class DrawingThread:
    """A `RunDisplay` that draws on a surface from a thread of its own."""

    def __init__(self, surface: Surface, video: Video, cache: Cache, *, is_timed: bool = False) -> None:
        """Prepare the drawing.

        Args:
            surface: What is drawn on.
            video: The video that the run searches.
            cache: The cache that its images are read from and written to.
            is_timed: Whether the drawing changes with the time, and not only with the events.
        """
        self._surface, self._is_timed = surface, is_timed
        self._video, self._cache = video, cache
        self._queued: SimpleQueue[Event] = SimpleQueue()
        self._events = list[Event]()
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def on_event(self, event: Event) -> None:
        """Queue an event; the first one, which precedes all workers, starts the thread."""
        self._queued.put(event)
        if self._thread is None:
            # A kernel finds the cell of an output in the context; a new thread has an empty one.
            self._thread = threading.Thread(target=copy_context().run, args=(self._draw,), daemon=True, name="drawing")
            self._thread.start()

    def on_end(self, result: Result | None) -> None:
        """Draw the last state of the run, or its result.

        Args:
            result: The result; None if an error ended the run.

        Raises:
            Exception: Whatever drawing raised during the run.
        """
        self._is_over.set()
        if self._thread is None:
            return  # the run failed before its first event
        self._thread.join(FAILED_WAIT_S if result is None else FINISHED_WAIT_S)
        try:
            self._take_events()
        finally:
            self._surface.finish(self._run, result)
        if self._error is not None:
            raise self._error

    def _draw(self) -> None:
        wait_s = FIRST_S
        try:
            while not self._is_over.wait(wait_s):
                started_s = time.monotonic()
                if self._take_events() or self._is_timed:
                    self._surface.draw(self._run)
                wait_s = max(INTERVAL_S, (time.monotonic() - started_s) / MAX_SHARE)
        except Exception as error:  # `on_end` raises it at the end of the run
            self._error = error

    @property
    def _run(self) -> RunSource:
        return run_so_far(self._events, self._video, self._cache)

    def _take_events(self) -> bool:
        """Take all queued events; return whether there were any."""
        before = len(self._events)
        while True:
            try:
                self._events.append(self._queued.get_nowait())
            except Empty:
                return len(self._events) > before
