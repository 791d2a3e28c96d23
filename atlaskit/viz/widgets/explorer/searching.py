"""`SearchPanel`: the kernel's side of the explorer's search in the subtitles.

`find_words` finds the lines that contain the words that a person types. With an embedder, the panel
also finds the lines whose meaning is nearest to these words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import clock
from atlaskit.errors import AtlasError, reason
from atlaskit.models.embedding import Embedder, embed
from atlaskit.video.subtitles.track import Line
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.widgets.bridge import Debouncer, IsLatest
from atlaskit.viz.widgets.explorer.describe import lane

_TERM = re.compile(r'"([^"]+)"|([^\s"]+)')
"""A phrase in quotes, or a word."""
_ALIKE = str.maketrans({**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’ʼ", "'")})
"""Maps typographic quotes and apostrophes to the plain ones that people type."""
_AROUND = "'\".,;:!?…()[]-–—¿¡"
"""Signs that are removed from both ends of a word of the query."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Matches a letter of a script without spaces between words, in which a word may begin anywhere."""
_MAX_KEPT_CLASS = 9
"""Signs of Unicode's combining classes up to this one change a letter into another (Indic and
Japanese signs). Those of higher classes are accents and vowel points, which are ignored."""


@dataclass(frozen=True)
class FoundLine:
    """A line that contains all words of a search, or is near to them in meaning."""

    line: Line
    spans: tuple[tuple[int, int], ...]
    """Where the words stand in the line's text: half-open intervals of characters, in order and
    without overlap; () for a line that is only near in meaning."""


def find_words(lines: Sequence[Line], query: str) -> list[FoundLine]:
    """Return the lines that contain all words of a query, in the order of `lines`.

    Upper and lower case are equal, and accents are ignored. A word finds the words that begin with
    it: `goal` finds "goals". Words in double quotes must follow one another: `"own goal"`.

    Args:
        lines: The lines to search, each by itself.
        query: What to look for. A query without words finds nothing.
    """
    patterns = list(map(_pattern, _terms(query)))
    found = list[FoundLine]()
    if not patterns:
        return found
    for line in lines:
        text, starts, ends = _folded(line.text)
        matches = [list(pattern.finditer(text)) for pattern in patterns]
        if not all(matches):
            continue
        spans = list[tuple[int, int]]()
        for match in chain.from_iterable(matches):
            spans.append((starts[match.start()], ends[match.end() - 1]))
        found.append(FoundLine(line, _merged(spans)))
    return found


def _terms(query: str) -> list[list[str]]:
    """Return the phrases and words of a query, each as its folded words."""
    terms = list[list[str]]()
    for phrase, word in _TERM.findall(_folded(query)[0]):
        words = [each.strip(_AROUND) or each for each in (phrase or word).split()]
        if words:
            terms.append(words)
    return terms


def _pattern(words: list[str]) -> re.Pattern[str]:
    """Return the pattern of words that follow one another in a folded text, with signs between."""
    boundary = ""
    if re.match(r"\w", words[0]) and not _UNSPACED.match(words[0]):
        boundary = r"(?<!\w)"
    return re.compile(boundary + r"\W+".join(map(re.escape, words)))


def _folded(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return a text in lower case without accents, and where each letter starts and ends in `text`.

    Signs that follow a letter and are part of it are composed with it, as the parts of a syllable
    in Korean are.
    """
    if text.isascii():
        return text.lower(), range(len(text)), range(1, len(text) + 1)
    folded = list[str]()
    starts = list[int]()
    ends = list[int]()
    for place, character in enumerate(text.translate(_ALIKE)):
        for letter in _letters(character):
            composed = unicodedata.normalize("NFC", folded[-1] + letter) if folded else ""
            if len(composed) == 1:
                folded[-1] = composed
                ends[-1] = place + 1
            else:
                folded.append(letter)
                starts.append(place)
                ends.append(place + 1)
    return "".join(folded), starts, ends


@lru_cache(maxsize=4096)
def _letters(character: str) -> str:
    """Return the letters of a character without case and accents; "" for an accent alone."""
    letters = unicodedata.normalize("NFKD", character.casefold())
    kept = "".join(letter for letter in letters if unicodedata.combining(letter) <= _MAX_KEPT_CLASS)
    # In the composed form, a sign that was kept is part of its letter.
    return unicodedata.normalize("NFC", kept)


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return spans in order, with those that overlap joined."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


MAX_QUERY_CHARS = 200
MAX_HITS = 200
"""Most lines that the page lists; it counts all of them."""
MAX_NEAR = 10
"""Most lines near in meaning that follow the lines with the words."""
MAX_SPANS = 5_000
"""Most found lines whose times the page gets, to mark the cells of the grid in which they lie."""
MAX_CHARS = 240
"""Most characters of a found line that are shown."""
CHARS_BEFORE = 60
"""Most characters that are shown before the first marked word of a line."""
NO_SUBTITLES = (
    'This video has no subtitles to search. Open it with some: subtitles="film.srt" in Python, '
    '--subtitles film.srt on the command line; "embedded" is a track inside the video. A speech '
    "model writes them: ak.transcribe, or `atlaskit transcribe`."
)


class SearchPanel:
    """Finds the lines that contain some words, and says where they lie in the video."""

    def __init__(
        self, atlas: Atlas, send: Callable[[dict[str, Any]], None], embedder: Embedder | None
    ) -> None:
        """Prepare a panel.

        Args:
            atlas: The environment of the video whose subtitles are searched.
            send: Sends a message to the page, from any thread.
            embedder: The model that finds lines near in meaning; None to search only for words.
        """
        self._video = atlas.video
        self._cache = atlas.cache
        self._send = send
        self._embedder = embedder
        self._jobs = Debouncer("search")

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was for this panel."""
        match message:
            case {"panel": "search", "want": "find", "words": str(words)}:
                query = words[:MAX_QUERY_CHARS]
                self._jobs.submit(lambda is_latest: self._find(query, is_latest))
        return message.get("panel") == "search"

    def _find(self, query: str, is_latest: IsLatest) -> None:
        """Search for words, and send the found lines unless other words have been typed since."""
        try:
            lines = self._video.subtitles.lines
            found = find_words(lines, query)
            note = ""
            if not lines:
                note = NO_SUBTITLES
            found_lines = {each.line for each in found}
            near = list[FoundLine]()
            for line in self._near(lines, query):
                if line not in found_lines:
                    near.append(FoundLine(line, ()))
        except (AtlasError, OSError) as error:
            found = []
            near = []
            note = plain_text(f"The subtitles cannot be searched: {reason(error)}", 600)
        if is_latest():
            self._send(
                {"panel": "search", "words": query, "note": note, **self._described(found, near)}
            )

    def _near(self, lines: Sequence[Line], query: str) -> list[Line]:
        """Return the lines whose embeddings are nearest to that of a query, best first."""
        if self._embedder is None or not lines or not query.strip():
            return []
        vectors = embed(self._embedder, [line.text for line in lines], self._cache)
        (wanted,) = embed(self._embedder, [self._embedder.query_prefix + query], self._cache)
        # The length of the query's vector does not change the order.
        similarity = vectors @ wanted / np.maximum(np.linalg.norm(vectors, axis=1), 1e-9)
        return [lines[index] for index in np.argsort(-similarity, kind="stable")[:MAX_NEAR]]

    def _described(self, found: Sequence[FoundLine], near: Sequence[FoundLine]) -> dict[str, Any]:
        """Return the found lines in plain JSON: counts, texts, and times in the video."""
        spans_s = [[each.line.start_s, each.line.end_s] for each in found]
        return {
            "count": len(found),
            "near": len(near),
            "hits": list(map(_hit, (*found[:MAX_HITS], *near))),
            "spans": spans_s[:MAX_SPANS],
            "lane": lane(spans_s, self._video.duration_s),
        }


def _hit(found: FoundLine) -> dict[str, Any]:
    """Return a line as plain JSON: its time, and its text in parts, each marked or not."""
    text = found.line.text
    parts = list[list[Any]]()
    at = 0
    if found.spans:
        at = max(0, found.spans[0][0] - CHARS_BEFORE)
    end = min(len(text), at + MAX_CHARS)
    if at:
        parts.append(["…", False])
    for start, stop in (*found.spans, (end, end)):  # the last yields the text after all marks
        if at >= end:
            break
        parts.append([plain_text(text[at : min(start, end)], MAX_CHARS), False])
        parts.append([plain_text(text[min(start, end) : min(stop, end)], MAX_CHARS), True])
        at = stop
    if end < len(text):
        parts.append(["…", False])
    start_s = found.line.start_s
    return {"time_s": start_s, "time": clock(start_s), "parts": [part for part in parts if part[0]]}
