"""A time in a video in words: a clock time or, in a collection, a film and the time in that film.

The seconds of a collection count through all its films. People want to read the film, the time in
it and, if known, the time of day.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from atlaskit.environment.grid import clock, interval
from atlaskit.errors import printable
from atlaskit.video.collection import Collection
from atlaskit.video.video import Video

LONGEST_FILM = 80
"""Characters of a film's name beside a time; the end of a longer name is cut off."""


class Place(NamedTuple):
    """A stretch of one film."""

    film: str
    start_s: float
    """Seconds from the start of the film."""
    end_s: float
    at: datetime | None = None
    """The date and time of day at which the stretch starts, if known."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as values that JSON can hold."""
        at = None if self.at is None else self.at.isoformat()
        return {"film": self.film, "start_s": self.start_s, "end_s": self.end_s, "at": at}

    def __str__(self) -> str:
        when = f" ({self.at:%Y-%m-%d %H:%M:%S})" if self.at else ""
        span = clock(self.start_s)
        if self.end_s > self.start_s:
            span = interval(self.start_s, self.end_s)
        return f"{printable(self.film, LONGEST_FILM)} {span}{when}"


def places_of(video: Video, start_s: float, end_s: float) -> tuple[Place, ...]:
    """Return an interval of a collection as stretches of its films; () for another video.

    Args:
        video: The video.
        start_s: Start of the interval in seconds.
        end_s: End of the interval, exclusive. If it equals the start, the interval is that moment.
    """
    places = list[Place]()
    films = video.films_in(start_s, end_s) if isinstance(video, Collection) else ()
    for film in films:
        first_s = max(start_s, film.start_s)
        last_s = min(end_s, film.end_s)
        place = Place(
            film.name,
            start_s=first_s - film.start_s,
            end_s=last_s - film.start_s,
            at=film.clock(first_s),
        )
        places.append(place)
    return tuple(places)


def moment_in_words(video: Video, time_s: float) -> str:
    """Return a time in a video in words: a clock time, or a film and a time in it."""
    places = places_of(video, time_s, time_s)
    return str(places[0]) if places else clock(time_s)


def interval_in_words(video: Video, start_s: float, end_s: float) -> str:
    """Return an interval of a video in words: clock times, or a film and times in it."""
    places = places_of(video, start_s, end_s)
    if not places:
        return interval(start_s, end_s)
    if len(places) > 1:
        return f"{places[0]} to {places[-1]}"
    return str(places[0])
