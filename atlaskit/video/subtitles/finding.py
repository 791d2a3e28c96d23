"""`find_words`: the lines of a track that contain the words that a person types."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from atlaskit.video.subtitles.track import Line

_TERM = re.compile(r'"([^"]+)"|([^\s"]+)')
"""A phrase in quotes, or a word."""
_ALIKE = str.maketrans({**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’ʼ", "'")})
"""Typographic quotes and apostrophes, and the plain ones that people type."""
_AROUND = "'\".,;:!?…()[]-–—¿¡"
"""Signs that are left out around a word."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""A letter of a script that puts no spaces between words, so that a word may begin anywhere."""
_MAX_KEPT_CLASS = 9
"""Combining classes up to this one change a letter into another (Indic and Japanese signs); higher
ones are accents and vowel points."""


@dataclass(frozen=True)
class FoundLine:
    """A line that contains all words of a search."""

    line: Line
    spans: tuple[tuple[int, int], ...]
    """Where the words stand in the line's text, as half-open intervals of characters, in order;
    they do not overlap."""


def find_words(lines: Sequence[Line], query: str) -> list[FoundLine]:
    """Return the lines that contain all words of a query, in the order of `lines`.

    Upper and lower case are equal, and accents are ignored. A word finds the words that begin with
    it: `goal` finds "goals". Words in double quotes must follow one another: `"own goal"`.

    Args:
        lines: The lines to search, each by itself.
        query: What to look for. A query without words finds nothing.
    """
    terms = [_pattern(term) for term in _terms(query)]
    found = []
    for line in lines if terms else ():
        text, places = _folded(line.text)
        matches = [[*term.finditer(text)] for term in terms]
        if all(matches):
            spans = [(places[match.start()], places[match.end() - 1] + 1) for each in matches for match in each]
            found.append(FoundLine(line, _merged(spans)))
    return found


def _terms(query: str) -> list[list[str]]:
    """Return the phrases and words of a query, each as its folded words."""
    texts = (phrase or word for phrase, word in _TERM.findall(_folded(query)[0]))
    terms = [[word.strip(_AROUND) or word for word in text.split()] for text in texts]
    return [term for term in terms if term and any(term)]


def _pattern(words: list[str]) -> re.Pattern[str]:
    """Return the pattern of words in a folded text: they follow one another, with signs between."""
    begins = r"(?<!\w)" if re.match(r"\w", words[0]) and not _UNSPACED.match(words[0]) else ""
    return re.compile(begins + r"\W+".join(map(re.escape, words)))


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in lower case without accents, and the place in `text` of each character."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded, places = list[str](), list[int]()
    for place, character in enumerate(text.translate(_ALIKE)):
        for letter in _letters(character):
            folded.append(letter)
            places.append(place)
    return "".join(folded), places


@lru_cache(maxsize=4096)
def _letters(character: str) -> str:
    """Return the letters of a character without case and accents; "" for an accent alone."""
    letters = unicodedata.normalize("NFKD", character.casefold())
    kept = "".join(letter for letter in letters if unicodedata.combining(letter) <= _MAX_KEPT_CLASS)
    return unicodedata.normalize("NFC", kept)  # so that a sign that was kept stays part of its letter


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the union of spans, in order."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)
