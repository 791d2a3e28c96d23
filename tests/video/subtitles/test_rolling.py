"""Rolling captions are said once; other tracks are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from video.subtitle_files import write

from atlaskit.video.subtitles import Line, read_subtitles
from atlaskit.video.subtitles.rolling import unrolled

PHRASES = st.lists(
    st.lists(st.sampled_from(["we", "open", "the", "box", "today", "and", "look", "inside"]), min_size=1, max_size=6),
    min_size=4,
    max_size=15,
)


def youtube(phrases: list[list[str]]) -> list[Line]:
    """Return YouTube's captions: each phrase below the one before it, then a copy of itself."""
    lines = []
    before = ""
    for number, phrase in enumerate(phrases):
        text = " ".join(phrase)
        lines.append(Line(3.0 * number, 3.0 * number + 2.99, f"{before} {text}".strip()))
        lines.append(Line(3.0 * number + 2.99, 3.0 * (number + 1), text))
        before = text
    return lines


def roll_up(texts: list[str], rows: int) -> list[Line]:
    """Return captions of several rows, as on television."""
    shown = (texts[max(0, number - rows + 1) : number + 1] for number in range(len(texts)))
    return [Line(2.0 * number, 2.0 * (number + 1), " ".join(each)) for number, each in enumerate(shown)]


def words(lines: tuple[Line, ...]) -> list[str]:
    return [word for line in lines for word in line.text.split()]


@given(PHRASES)
def test_youtube_captions_are_said_once_in_order(phrases: list[list[str]]) -> None:
    lines = youtube(phrases)
    track = unrolled(lines)
    assert words(track.lines) == [word for phrase in phrases for word in phrase]
    assert track.original == tuple(lines)


@given(PHRASES, st.integers(2, 3))
def test_rolled_up_rows_are_said_once_in_order(phrases: list[list[str]], rows: int) -> None:
    texts = [" ".join(f"{word}{number}" for word in phrase) for number, phrase in enumerate(phrases)]
    assert words(unrolled(roll_up(texts, rows)).lines) == " ".join(texts).split()


def test_words_that_come_one_by_one_are_one_line() -> None:
    spoken = ["this", "is", "said", "word", "by", "word", "as", "it", "is", "heard"]
    lines = [Line(n * 0.4, (n + 1) * 0.4, " ".join(spoken[: n + 1])) for n in range(len(spoken))]
    assert [line.text for line in unrolled(lines).lines] == ["this is said word by word as it is heard"]


@pytest.mark.parametrize(
    "texts",
    [
        ["No.", "No.", "No.", "Yes."],
        ["We shall overcome", "we shall overcome", "we shall overcome some day", "Oh deep in my heart"],
        ["Who is there?", "Who is there? It is me.", "Me who?", "Me.", "Come in.", "Thanks."],
        ["Olé", "Olé olé", "Olé olé olé", "Olé olé olé olé", "Go, team!"],
        ["here we go", "here we go here we go", "here we go again", "go again and again", "again and again here we go"],
        [],
    ],
)
def test_other_tracks_are_left_alone(texts: list[str]) -> None:
    lines = tuple(Line(2.0 * number, 2.0 * number + 2.0, text) for number, text in enumerate(texts))
    track = unrolled(lines)
    assert track.lines == lines and track.original == ()


@given(st.lists(st.text("abc ", min_size=1, max_size=9).filter(str.strip), min_size=1, max_size=20))
def test_no_word_is_ever_lost(texts: list[str]) -> None:
    lines = tuple(Line(float(number), number + 1.0, " ".join(text.split())) for number, text in enumerate(texts))
    assert set(words(unrolled(lines).lines)) == set(words(lines))


def test_a_vtt_of_youtube_is_read(tmp_path: Path) -> None:
    text = (
        "WEBVTT\nKind: captions\nLanguage: en\n\n"
        "00:00:00.160 --> 00:00:03.429 align:start position:0%\n \ntoday<00:00:00.480><c> we</c>\n\n"
        "00:00:03.429 --> 00:00:03.439 align:start position:0%\ntoday we\n \n\n"
        "00:00:03.439 --> 00:00:06.000 align:start position:0%\ntoday we\nopen<00:00:04.000><c> it</c>\n\n"
    )
    track = read_subtitles(write(tmp_path, "a.en.vtt", text))
    assert [(line.start_s, line.text) for line in track.lines] == [(0.16, "today we"), (3.439, "open it")]
    assert len(track.original) == 3
