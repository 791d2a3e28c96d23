"""Words that a person types are found in subtitles, and marked where they stand."""

from __future__ import annotations

import pytest

from atlaskit.video.subtitles import Line
from atlaskit.viz.widgets.explorer.searching import find_words


def marked(text: str, query: str) -> list[str] | None:
    """Return what is marked in a line; None if the line is not found."""
    found = find_words([Line(0.0, 1.0, text)], query)
    return [text[start:end] for start, end in found[0].spans] if found else None


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Two Goals, one own goal", "goal", ["Goal", "goal"]),  # case, and words that begin alike
        ("Two Goals, one own goal", '"own goal"', ["own goal"]),
        ("Two Goals, one own goal", '"own goals"', None),
        ("Two Goals, one own goal", "own missing", None),  # all words, not some
        ("Début de l’été", "ETE debut", ["Début", "été"]),  # accents
        ("Cafe\u0301 au lait", "café", ["Cafe"]),  # an accent of its own stands outside
        ("Straße", "STRASSE", ["Straße"]),  # one letter is two
        ("start of art", "art", ["art"]),  # a word begins where it is found
        ("No, wait for it", "“no wait”", ["No, wait"]),  # signs between, typographic quotes
        ("Don’t go!", "don't go", ["Don’t", "go"]),
        ("日本語の字幕", "字幕", ["字幕"]),  # a script without spaces
        ("ガール", "カ", None),  # another letter, no accent
        ("한국어 자막", "자막", ["자막"]),
        ("हिन्दी में", "हिन्दी", ["हिन्दी"]),
        ("♪ la la", "♪", ["♪"]),
        ("goal", "goal goals goal", None),
        ("goal", "goal goa", ["goal"]),  # spans do not overlap
        ("a.b (c) [d] \\w+", r"\w+ (c", ["c", r"\w+"]),  # no pattern, but text
        ("anything", "", None),
        ("anything", ' "" " ', None),
    ],
)
def test_words_are_found(text: str, query: str, expected: list[str] | None) -> None:
    assert marked(text, query) == expected


def test_lines_keep_their_order() -> None:
    lines = [Line(float(start), start + 1.0, text) for start, text in enumerate(("one", "Two", "one two", "three"))]
    assert [found.line.start_s for found in find_words(lines, "two")] == [1.0, 2.0]
    assert find_words(lines, "three")[0].line is lines[3]
