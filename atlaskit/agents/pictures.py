"""`PictureScout` and `TextScout`: scouts that look at frames without the model that answers.

Both look once at some frames of each film: those that represent its shots, and others at even
steps. Their findings about a film are cached as one table. A further question about the film reads
the table, and if films are added to a folder, only the new ones are looked at.

* `PictureScout` compares frames with the words of a question, by a model of images and text that
  the user supplies. Nothing is shipped or downloaded here.
* `TextScout` reads the text in frames, by a function or by RapidOCR, whose package contains its
  weights, and finds lines that share words with the question.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from atlaskit.agents.index import query_of
from atlaskit.agents.scouts import STANDS_OUT, Hint, Hints, Sight, relevance, standouts
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind, canonical_json
from atlaskit.environment.grid import Grid
from atlaskit.environment.places import moment_in_words
from atlaskit.errors import FrameError, InputError, printable
from atlaskit.progress import bar
from atlaskit.video.playlist import Playlist
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Video

MOST_FRAMES = 512
"""The most frames of a film that are looked at."""
LEAST_STEP_S = 2.0
"""The fewest seconds between two frames at even steps."""
WIDTH_PX = 640
"""The largest width of a frame that is looked at."""
AT_ONCE = 16
"""Frames that are decoded and looked at together."""
LONGEST_TEXT = 200
"""Characters of the text of one frame; the rest is cut off."""
SEEN = Kind("seen", 1)
"""A scout's findings in a film's frames. Not in the key: where the film lies in a playlist."""


class Embeds(Protocol):
    """A model that embeds pictures and words in one space.

    Attributes:
        name: The name of the model, which distinguishes it from other models in the cache.
    """

    name: str

    def pictures(self, pictures: Sequence[Pixels]) -> NDArray[np.float32]:
        """Return a vector of each picture (height, width, 3), uint8, RGB."""

    def words(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text."""


ReadsText = Callable[[Pixels], Sequence[str]]
"""Returns the lines of text in a picture (height, width, 3), uint8, RGB."""


@dataclass(frozen=True)
class PictureScout:
    """A scout that names the cells whose frames are most like the words of the question.

    Args:
        model: The model of images and text, of the form of `Embeds`.

    Examples:
        >>> from types import SimpleNamespace
        >>> def pictures(frames):
        ...     return [frame.mean(axis=(0, 1)) for frame in frames]
        >>> colour = SimpleNamespace(name="colour", pictures=pictures, words=lambda text: [1, 0, 0])
        >>> search = ak.Search(scouts=[ak.PictureScout(colour)])
        >>> ak.ask(video, question, vlm=vlm, search=search).is_right
        True
    """

    model: Embeds
    __name__ = "pictures"  # its name in traces, as that of a function
    looks_at_frames = True

    def __call__(self, sight: Sight, grid: Grid, /) -> Hints:
        """Return a hint about each cell with a frame that stands out; see `scouts.standouts`."""
        times_s, values = sight.once("pictures", lambda: self._likeness(sight))
        if not times_s:
            return Hints(note="No frame could be looked at.")
        scores = standouts(values, usual=values, least=STANDS_OUT)
        why = "its picture is like the words of the question"
        return _hints(sight.video, grid, times_s, scores, [why] * len(times_s))

    def _likeness(self, sight: Sight) -> tuple[list[float], list[float]]:
        """Return the times of all frames, and the cosine of each with the question."""
        text = query_of(sight.question)
        words = np.asarray(self.model.words(text), np.float32)
        query = _normed(np.atleast_2d(words))[0]
        times_s = list[float]()
        values = list[float]()
        name = f"pictures {self.model.name}"
        for found in _findings(sight.video, name, self._vectors, sight.cache):
            for time_s, vector in found:
                picture = _normed(np.array([vector], np.float32))[0]
                times_s.append(time_s)
                values.append(float(picture @ query))
        return times_s, values

    def _vectors(self, frames: Sequence[Pixels]) -> list[list[float]]:
        """Return the vector of each frame, rounded for the cache."""
        vectors = np.asarray(self.model.pictures(frames), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(frames) or not np.isfinite(vectors).all():
            raise InputError(
                f"{self.model.name} must return a vector of numbers for each of {len(frames)} "
                f"pictures; it returned an array of shape {vectors.shape}."
            )
        rows = list[list[float]]()
        for vector in vectors:
            rows.append([round(value, 5) for value in vector.tolist()])
        return rows


@dataclass(frozen=True)
class TextScout:
    """A scout that names the cells in which text in the picture shares words with the question.

    Args:
        read: The function that reads a picture; None for RapidOCR.
        name: The name that distinguishes the function from others in the cache.

    Examples:
        >>> scout = ak.TextScout(lambda picture: [], name="nothing")
        >>> ak.ask(video, question, vlm=vlm, search=ak.Search(scouts=[scout])).is_right
        True
    """

    read: ReadsText | None = None
    name: str = "rapidocr"
    __name__ = "texts"  # its name in traces, as that of a function
    looks_at_frames = True

    def __call__(self, sight: Sight, grid: Grid, /) -> Hints:
        """Return a hint about each cell with a text that stands out."""
        lines = sight.once("texts", lambda: self._lines(sight))
        if not lines:
            return Hints(note="No text was read in the frames.")
        values = sight.once("texts found", lambda: relevance(sight, _without_letters(lines)))
        scores = standouts(values, usual=values, least=STANDS_OUT)
        quotes = [f"written there: {json.dumps(line.text, ensure_ascii=False)}" for line in lines]
        return _hints(sight.video, grid, [line.start_s for line in lines], scores, quotes)

    def _lines(self, sight: Sight) -> tuple[Line, ...]:
        """Return the text of each frame that has any, as a line at the frame's time."""

        def texts(frames: Sequence[Pixels]) -> list[str]:
            read = self.read or rapidocr()
            return [printable(" / ".join(read(frame)), LONGEST_TEXT) for frame in frames]

        lines = list[Line]()
        for found in _findings(sight.video, f"texts {self.name}", texts, sight.cache):
            for time_s, text in found:
                if isinstance(text, str) and text.strip():
                    lines.append(Line(time_s, time_s, text))
        return tuple(lines)


@lru_cache(maxsize=1)
def rapidocr() -> ReadsText:
    """Return RapidOCR as a function that reads pictures; it is loaded once, when it is needed.

    Raises:
        InputError: It is not installed.
    """
    try:
        from rapidocr import RapidOCR
    except ImportError as error:
        raise InputError(
            "Text in pictures is read by RapidOCR: pip install rapidocr onnxruntime (400 MB with "
            "what they need, its weights among them; a second or more for each frame on a CPU). "
            "Or give ak.TextScout a function of your own."
        ) from error
    engine = RapidOCR(params={"Global.log_level": "critical"})

    def read(picture: Pixels) -> Sequence[str]:
        bgr = picture[:, :, ::-1]
        return tuple(engine(bgr).txts or ())

    return read


def _without_letters(lines: Sequence[Line]) -> list[Line]:
    """Return lines without lone ASCII characters, which RapidOCR reads into edges and corners."""
    plain = list[Line]()
    for line in lines:
        words = [word for word in line.text.split() if len(word) > 1 or not word.isascii()]
        plain.append(replace(line, text=" ".join(words)))
    return plain


def _normed(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors, (n, length), scaled to norm 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normed: NDArray[np.float32] = vectors / np.maximum(lengths, np.float32(1e-12))
    return normed


def _hints(
    video: Video,
    grid: Grid,
    times_s: Sequence[float],
    scores: Sequence[float],
    reasons: Sequence[str],
) -> Hints:
    """Return the best hint about each cell; its reason begins with the moment of the frame."""
    best = dict[int, Hint]()
    for time_s, score, why in zip(times_s, scores, reasons, strict=True):
        if not (grid.start_s <= time_s < grid.end_s) or score <= 0:
            continue
        cell = grid.cell_at(time_s).index
        if cell not in best or best[cell].score < score:
            best[cell] = Hint(score, f"{moment_in_words(video, time_s)}: {why}")
    return Hints(best)


def _findings(
    video: Video, scout: str, learn: Callable[[Sequence[Pixels]], list[Any]], cache: Cache
) -> Iterator[list[tuple[float, Any]]]:
    """Yield the findings of a scout in each film, as (second of the video, finding).

    Args:
        video: The video, or a collection of films.
        scout: The name of the scout in the cache.
        learn: Returns the finding in each of several frames.
        cache: The cache of the findings.
    """
    films = [(video, 0.0)]
    if isinstance(video, Playlist):
        films = list(zip(video.parts, video.starts_s, strict=True))
    for film, start_s in bar(films, desc=f"Scout {scout}", unit="film", delay=2, leave=False):
        found = _findings_in_film(film, scout, learn, cache)
        yield [(start_s + time_s, value) for time_s, value in found]


def _findings_in_film(
    film: Video, scout: str, learn: Callable[[Sequence[Pixels]], list[Any]], cache: Cache
) -> list[tuple[float, Any]]:
    """Return the findings of a scout in one film, as (second of the film, finding)."""

    def look() -> bytes:
        rows = list[tuple[float, Any]]()
        times_s = _times(film, cache)
        width = min(WIDTH_PX, film.size[0])
        size = width, max(1, round(width * film.size[1] / film.size[0]))
        for first in range(0, len(times_s), AT_ONCE):
            some_s = times_s[first : first + AT_ONCE]
            readable_s = list[float]()
            frames = list[Pixels]()
            for time_s, frame in zip(some_s, film.try_frames(some_s, size), strict=True):
                if not isinstance(frame, FrameError):
                    readable_s.append(time_s)
                    frames.append(frame)
            if frames:
                rows += zip(readable_s, learn(frames), strict=True)
        return canonical_json(rows).encode()

    key = SEEN.key(video=film.fingerprint, scout=scout)
    rows = json.loads(cache.remember(key, look, fits=_are_rows))
    return [(float(time_s), value) for time_s, value in rows]


def _are_rows(entry: bytes) -> bool:
    """Return whether a cache entry is a table of findings; a foreign cache may hold anything."""
    try:
        rows = json.loads(entry)
    except (ValueError, RecursionError):
        return False
    if not isinstance(rows, list):
        return False
    for row in rows:
        match row:
            case [int() | float(), _]:
                continue
        return False
    return True


def _times(film: Video, cache: Cache) -> list[float]:
    """Return the seconds of a film at which a scout looks: one in each shot, others at even steps.

    There are at most MOST_FRAMES: half of them at even steps, half for the shots that rank highest.
    """
    step_s = max(LEAST_STEP_S, 2 * film.duration_s / MOST_FRAMES)
    count = max(1, int(film.duration_s / step_s))
    even_s = [(number + 0.5) * film.duration_s / count for number in range(count)]
    try:
        shots = film.shots_in([(0.0, film.duration_s)], cache)
    except FrameError:  # the frames at even steps remain, without unreadable ones
        return even_s
    ranked = sorted(zip(shots.ranks, shots.places_s, strict=True), reverse=True)
    return sorted({*even_s, *(place_s for _, place_s in ranked[: MOST_FRAMES // 2])})
