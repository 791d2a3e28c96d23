"""Who looks on while a run happens: the wall between a search, which tells of events, and what draws them.

A search knows nothing of notebooks and terminals. What draws comes from above and hangs itself on `RunObserver`, once, as
displays do on the classes they show. Nothing that is done there reaches the run: an onlooker is told of each event and
returns at once, and what goes wrong with it is a sentence on stderr.
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
    """Whoever draws one run."""

    def see(self, event: Event) -> None:
        """Take in one event, from the thread it happens in: so it is only noted here, and drawn elsewhere."""

    def leave(self, result: Result | None) -> None:
        """Draw what is left behind of a run that is over; None if an error ended it."""


class RunObserver:
    """One run that is looked on at, from `with` to its end. Without `show` nobody does; `then` is told all the same."""

    opens: ClassVar[Callable[[Video, Cache], RunDisplay] | None] = None
    """Returns an onlooker for a run on a video; what it draws is kept in the cache."""

    def __init__(self, video: Video, cache: Cache, show: bool, then: Callable[[Event], None] | None = None) -> None:
        self.result: Result | None = None
        self._then, self._is_told = then, False
        self._onlooker: RunDisplay | None = None
        if show:
            opens = type(self).opens
            if opens is None:
                raise InputError("Nothing here draws runs: leave out show, or import atlaskit as a whole.")
            self._guard(lambda: setattr(self, "_onlooker", opens(video, cache)))

    def see(self, event: Event) -> None:
        """Tell of an event."""
        if (onlooker := self._onlooker) is not None:
            self._guard(lambda: onlooker.see(event))
        if self._then is not None:
            self._then(event)

    def __enter__(self) -> RunObserver:
        return self

    def __exit__(self, *error: object) -> None:
        if (onlooker := self._onlooker) is not None:
            self._guard(lambda: onlooker.leave(self.result))

    def _guard(self, do: Callable[[], None]) -> None:
        """Do something that must not fail a run, and tell once where it does."""
        try:
            do()
        except Exception as error:
            if not self._is_told:
                self._is_told = True
                with suppress(Exception):  # stderr may be closed
                    why = printable(reason(error), 300)
                    print(f"atlaskit: the run goes on, but cannot be drawn: {why}", file=sys.stderr)
