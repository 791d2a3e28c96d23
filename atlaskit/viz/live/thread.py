"""Drawing a run while it happens, from a thread of its own: at most a few times a second, and its end always.

The search's threads only put events into a queue. Drawing waits longer the longer it takes, so that it never has more
than a fifth of the time; a run that is over at once, out of the cache, is drawn once.
"""

from __future__ import annotations

import threading
import time
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Protocol

from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.viz.live.snapshots import Snapshot

FIRST_S, EVERY_S = 0.25, 0.4
"""Before the first drawing, and between two."""
SHARE = 0.2
"""Of the time that drawing may take."""
PATIENCE_S, STOPPED_S = 5.0, 0.5
"""How long a run that is over waits for a drawing that is under way, and one that an error or a Ctrl-C ended."""


class Surface(Protocol):
    """What is drawn on. It is never called by two threads at once, except `leave` where a drawing hangs."""

    def draw(self, moment: Snapshot) -> None:
        """Show a moment in place of the one before."""

    def look(self) -> bool:
        """Look up what the first drawing had to do without, which may take a while; return whether to draw it again."""

    def leave(self, moment: Snapshot, result: Result | None) -> None:
        """Show what stays; None if an error ended the run."""


class DrawingThread:
    """An onlooker that draws a run on a surface."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._moment = Snapshot()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._trouble: Exception | None = None

    def on_event(self, event: Event) -> None:
        """Take in one event; the first one, which comes before any worker is out, begins the drawing."""
        self._events.put(event)
        if self._thread is None:
            # A kernel tells by the context which cell an output belongs to, and threads begin with an empty one.
            self._thread = threading.Thread(target=copy_context().run, args=(self._draw,), daemon=True, name="drawing")
            self._thread.start()

    def on_end(self, result: Result | None) -> None:
        """Draw the last state, or the result in its place; raise what went wrong on the way there."""
        self._over.set()
        if self._thread is None:
            return  # nothing ever happened
        self._thread.join(STOPPED_S if result is None else PATIENCE_S)
        try:
            self._take_in()
        finally:
            self._surface.leave(self._moment, result)
        if self._trouble is not None:
            raise self._trouble

    def _draw(self) -> None:
        wait_s, is_first = FIRST_S, True
        try:
            while not self._over.wait(wait_s):
                began_s = time.monotonic()
                if self._take_in() or is_first:
                    self._surface.draw(self._moment)
                wait_s = max(EVERY_S, (time.monotonic() - began_s) / SHARE)
                if is_first and self._surface.look():
                    self._take_in()
                    self._surface.draw(self._moment)
                is_first = False
        except Exception as error:  # told of when the run is over
            self._trouble = error

    def _take_in(self) -> bool:
        """Go on to what has happened since; return whether anything has."""
        before = self._moment
        while True:
            try:
                self._moment = self._moment.then(self._events.get_nowait())
            except Empty:
                return self._moment is not before
