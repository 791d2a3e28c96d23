"""`Collection`: several films that are searched together, each under its own name.

The time of a collection runs through all films, one after another. `film_at` returns the film at a
second. No cell of the first grid covers parts of two films, unless there are more films than cells.
Then a cell covers several films, and the middle one represents them. A film is only read if a cell
that it represents is shown.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise, starmap
from typing import NamedTuple

from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError, InputError
from atlaskit.video.names import collection_fingerprint
from atlaskit.video.playlist import Playlist
from atlaskit.video.readers import TIME_STEP_S
from atlaskit.video.shots import Shots, shots_of
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import Sampling, Video

LONGEST_NAMED = 400
"""Characters of a film's name in the name of a collection; the rest is cut."""


class Film(NamedTuple):
    """One film of a collection."""

    name: str
    """The name that people see: that of the file, with folders where needed, or from a table."""
    start_s: float
    """The second of the collection at which it starts."""
    end_s: float
    began: datetime | None = None
    """When its recording began, if that is known."""

    def clock(self, time_s: float) -> datetime | None:
        """Return when a second of the collection was recorded, if that is known."""
        if self.began is None:
            return None
        return self.began + timedelta(seconds=max(0.0, time_s - self.start_s))


def moment_of(text: str) -> datetime | None:
    """Return the date and time that a text gives in ISO 8601; None for any other text."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def _shortened(name: str) -> str:
    """Return a name without what exceeds LONGEST_NAMED."""
    if len(name) <= LONGEST_NAMED:
        return name
    return f"{name[:LONGEST_NAMED]}…"


class Collection(Playlist):
    """Films that are searched together. See `open_videos`.

    Args:
        parts: The films, in order.
        names: A name for each film.
        began: When the recording of each film began, or None if that is not known; empty if it is
            known for none.
        left_out: A sentence for each file that could not be opened.
        subtitles: The lines of the whole collection; None to join those of the films.

    Raises:
        InputError: There are no films, or not as many names as films.
    """

    def __init__(
        self,
        parts: Sequence[Video],
        names: Sequence[str],
        began: Sequence[datetime | None] = (),
        left_out: Sequence[str] = (),
        subtitles: Subtitles | None = None,
    ) -> None:
        super().__init__(parts, subtitles)
        if len(names) != len(parts):
            raise InputError(f"{len(parts)} films need as many names; got {len(names)}.")
        self.left_out = tuple(left_out)
        first, last = (_shortened(name) for name in (names[0], names[-1]))
        self.name = f"collection of {len(parts)} ({first} … {last})"
        edges_s = [*self.starts_s, self.duration_s]
        recording_starts = began or [None] * len(parts)
        films = zip(names, edges_s[:-1], edges_s[1:], recording_starts, strict=True)
        self.films = tuple(starmap(Film, films))
        self._edges_s = edges_s
        self.fingerprint = collection_fingerprint([part.fingerprint for part in parts], names)

    def film_at(self, time_s: float) -> Film:
        """Return the film at a second of the collection; at the very end, the last film."""
        return self.films[self._index_at(time_s)]

    def films_in(self, start_s: float, end_s: float) -> tuple[Film, ...]:
        """Return the films that the interval `[start_s, end_s)` overlaps."""
        first, last = self._indices(start_s, end_s)
        return self.films[first : last + 1]

    def cell_edges(self, start_s: float, end_s: float, k: int) -> tuple[float, ...]:
        """Return the boundaries of the K² cells of the grid over an interval, in seconds.

        Each film has at least one cell, and longer ones have more. If there are more films than
        cells, the numbers of films in two cells differ by at most one.
        """
        first, last = self._indices(start_s, end_s)
        inner_s = [edge_s for edge_s in self._edges_s[first + 1 : last + 1] if edge_s > start_s]
        bounds_s = [start_s, *inner_s, end_s]
        film_count = len(bounds_s) - 1
        cell_count = k * k
        if film_count >= cell_count:
            first_films = [round(cell * film_count / cell_count) for cell in range(cell_count + 1)]
            return tuple(bounds_s[film] for film in first_films)
        # The film with the longest cells gets one more, until there are no more cells.
        spans_s = [b - a for a, b in pairwise(bounds_s)]
        counts = [1] * film_count
        longest = [(-span_s, film) for film, span_s in enumerate(spans_s)]
        heapq.heapify(longest)
        for _ in range(cell_count - film_count):
            _, film = longest[0]
            counts[film] += 1
            heapq.heapreplace(longest, (-spans_s[film] / counts[film], film))
        edges_s = []
        for start, span_s, count in zip(bounds_s[:-1], spans_s, counts, strict=True):
            edges_s += [start + span_s * part / count for part in range(count)]
        return (*edges_s, end_s)

    def moments(
        self,
        intervals: Sequence[tuple[float, float]],
        sampling: Sampling = "midpoint",
        cache: Cache | None = None,
    ) -> list[float]:
        """Return the second whose frame represents each interval. See `Video.moments`.

        The frame comes from one film: the middle one of those that lie completely in the interval,
        or, if there is none, the one that fills most of it.
        """
        moments_s = [0.0] * len(intervals)
        indices_by_film: dict[int, list[int]] = {}
        for index, interval in enumerate(intervals):
            indices_by_film.setdefault(self._representative(*interval), []).append(index)
        for film, indices in indices_by_film.items():
            from_s = self._edges_s[film]
            to_s = self._edges_s[film + 1]
            part = self.parts[film]
            inside = []
            for index in indices:
                start_s, end_s = intervals[index]
                inside.append((max(0.0, start_s - from_s), min(part.duration_s, end_s - from_s)))
            try:
                film_moments_s = part.moments(inside, sampling, cache)
            except FrameError as error:
                if not error.is_lasting:
                    raise
                # The film is damaged, and midpoints are found without reading it.
                film_moments_s = part.moments(inside, "midpoint")
            for index, at_s in zip(indices, film_moments_s, strict=True):
                start_s, end_s = intervals[index]
                latest_s = math.nextafter(min(end_s, to_s), 0)
                moments_s[index] = min(max(start_s, from_s + at_s), latest_s)
        return moments_s

    def shots_in(self, intervals: Sequence[tuple[float, float]], cache: Cache) -> Shots:
        """Return the shots of the films that represent intervals. See `Video.shots_in`.

        There is a cut wherever one film ends and the next begins, even if neither is read.
        """
        cuts_s = set(self._edges_s[1:-1])
        ranks: dict[float, float] = {}
        for film in sorted({self._representative(*interval) for interval in intervals}):
            from_s = self._edges_s[film]
            shots = shots_of(self.parts[film], cache)
            for cut_s in shots.cuts_s:
                cuts_s.add(from_s + cut_s)
            for place_s, rank in zip(shots.places_s, shots.ranks, strict=True):
                ranks[from_s + place_s] = rank
        places_s = tuple(sorted(ranks))
        return Shots(tuple(sorted(cuts_s)), places_s, tuple(ranks[place_s] for place_s in places_s))

    def _index_at(self, time_s: float) -> int:
        """Return the index of the film at a second."""
        last = len(self.films) - 1
        found = bisect_right(self._edges_s, time_s + TIME_STEP_S) - 1
        return min(max(found, 0), last)

    def _indices(self, start_s: float, end_s: float) -> tuple[int, int]:
        """Return the indices of the first and the last film that an interval overlaps."""
        first = self._index_at(start_s)
        last = bisect_left(self._edges_s, end_s - TIME_STEP_S) - 1
        return first, min(max(first, last), len(self.films) - 1)

    def _representative(self, start_s: float, end_s: float) -> int:
        """Return the index of the film that represents an interval."""
        first, last = self._indices(start_s, end_s)
        complete_films = []
        overlaps_s = []
        for film in range(first, last + 1):
            from_s, to_s = self._edges_s[film : film + 2]
            overlaps_s.append(min(end_s, to_s) - max(start_s, from_s))
            if start_s <= from_s and to_s <= end_s:
                complete_films.append(film)
        if complete_films:
            return complete_films[len(complete_films) // 2]
        return first + overlaps_s.index(max(overlaps_s))
