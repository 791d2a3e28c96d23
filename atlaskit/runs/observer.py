"""`RunObserver`: the hook through which a search reports events to a live display.

A search knows nothing of notebooks and terminals. A package above registers a display once, as
`RunObserver.open_display`. A display cannot affect the run: it gets each event, must return at
once, and an error in it becomes one line on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Protocol

from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, printable, reason
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.video.video import Video


class RunDisplay(Protocol):
    """What draws one run."""

    def on_event(self, event: Event) -> None:
        """Record one event; runs on the thread of the event, so the drawing belongs on another."""

    def on_end(self, result: Result | None) -> None:
        """Draw the final state of the run; the result is None if the run ended with an error."""


class RunObserver:
    """Passes the events of one run, from `with` to its end, to a display and to a callback."""

    open_display: ClassVar[Callable[[Video, Cache], RunDisplay] | None] = None
    """Returns a display for a run on a video; the images it renders are stored in the cache."""

    def __init__(self, video: Video, cache: Cache, show: bool, callback: Callable[[Event], None] | None = None) -> None:
        """Open the display if `show` is set.

        Args:
            video: The video of the run.
            cache: The cache for images that the display renders.
            show: Whether to draw the run.
            callback: Called with each event, also without a display; its errors end the run.

        Raises:
            InputError: If `show` is set and no display is registered.
        """
        self.result: Result | None = None
        self._callback, self._has_warned = callback, False
        self._display: RunDisplay | None = None
        if show:
            open_display = type(self).open_display
            if open_display is None:
                raise InputError("show=True needs a display, and none is registered; import atlaskit as a whole.")
            self._guard(lambda: setattr(self, "_display", open_display(video, cache)))

    def on_event(self, event: Event) -> None:
        """Pass an event to the display and to the callback."""
        if (display := self._display) is not None:
            self._guard(lambda: display.on_event(event))
        if self._callback is not None:
            self._callback(event)

    def __enter__(self) -> RunObserver:
        return self

    def __exit__(self, *error: object) -> None:
        if (display := self._display) is not None:
            self._guard(lambda: display.on_end(self.result))

    def _guard(self, action: Callable[[], None]) -> None:
        """Run an action that must not fail the run; report its first error on stderr."""
        try:
            action()
        except Exception as error:
            if not self._has_warned:
                self._has_warned = True
                with suppress(Exception):  # stderr may be closed
                    fault = printable(reason(error), 300)
                    print(f"atlaskit: the run goes on, but cannot be drawn: {fault}", file=sys.stderr)
