"""Tracks of lines: made of timed words, asked for what is between, saved; times as typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from video.subtitle_files import write

from atlaskit.errors import InputError, SubtitleWarning
from atlaskit.video.subtitles import Line, Subtitles, read_subtitles
from atlaskit.video.subtitles.documents import LONGEST_S, PAUSE_S
from atlaskit.video.subtitles.text import parse_time
from atlaskit.video.subtitles.track import LAST_LINE_S


def test_a_line_without_an_end_lasts_until_the_next_or_the_end_of_the_video(tmp_path: Path) -> None:
    entries = [{"timestamp": [start, None], "text": text} for start, text in [(4, "b"), (1, "a"), (4, "B"), (6, "c")]]
    path = write(tmp_path, "a.json", json.dumps(entries))
    ends = {line.text: line.end_s for line in read_subtitles(path).lines}
    assert ends == {"a": 4.0, "b": 6.0, "B": 6.0, "c": 6.0 + LAST_LINE_S}
    assert {line.end_s for line in read_subtitles(path, duration_s=10).lines} == {10.0}
    assert {line.end_s for line in read_subtitles(path, duration_s=10, starts_at_s=3).lines} == {10.0}


@pytest.mark.parametrize("times", ["[1]", '"12"', "[true, 2]", "[NaN, 2]", "[[0], 1]", '["soon", 2]'])
def test_json_times_that_cannot_be_read_keep_their_words(tmp_path: Path, times: str) -> None:
    with pytest.warns(SubtitleWarning, match="times that cannot be read"):
        track = read_subtitles(write(tmp_path, "a.json", f'[{{"timestamp": {times}, "text": "x"}}]'), duration_s=60.0)
    assert [line.text for line in track.lines] == ["x"]


def word(text: Any, start_s: Any, end_s: Any) -> dict[str, Any]:
    return {"text": text, "start_time": start_s, "end_time": end_s}


def read(folder: Path, words: list[Any], name: str = "words.jsonl") -> tuple[Line, ...]:
    (folder / name).write_text("\n".join(map(json.dumps, words)), encoding="utf-8")
    return read_subtitles(folder / name).lines


def test_words_are_joined_until_a_sentence_ends_or_someone_pauses(tmp_path: Path) -> None:
    words = [
        word("Hello", 0.0, 0.4),
        word("there.", 0.5, 0.9),
        word("Then", 1.0, 1.2),
        word("silence", 1.3, 1.6),
        word("ends", 1.6 + PAUSE_S, 3.0),
    ]
    expected = (Line(0.0, 0.9, "Hello there."), Line(1.0, 1.6, "Then silence"), Line(2.6, 3.0, "ends"))
    assert read(tmp_path, words) == read(tmp_path, words, name="words.json") == expected
    assert read(tmp_path, [word("laaa", 1.0, 20.0)]) == (Line(1.0, 20.0, "laaa"),), "one word is not cut"
    assert read(tmp_path, []) == (), "a video without speech"
    odd = [word("one", "0.5", "0.9"), word("untimed", None, None), None, 3, word("", 2, 3), word("end", 1.0, 1.25)]
    assert read(tmp_path, odd) == (Line(0.5, 1.25, "one untimed end"),)
    song = read(tmp_path, [word("la", second * 0.9, second * 0.9 + 0.8) for second in range(20)])
    assert all(LONGEST_S - 2 < line.end_s - line.start_s <= LONGEST_S for line in song[:-1])


WORDS = st.tuples(st.text("abc.?", min_size=1, max_size=6), st.floats(0, 3, width=16), st.floats(0.125, 8, width=16))
"""A word, the pause before it, and its length."""


@given(st.lists(WORDS, max_size=30))
def test_no_word_is_lost_and_each_is_shown_at_its_time(tmp_path: Path, drawn: list[tuple[str, float, float]]) -> None:
    words = []
    clock_s = 0.0
    for text, pause_s, length_s in drawn:
        words.append(word(text, clock_s + pause_s, clock_s + pause_s + length_s))
        clock_s += pause_s + length_s
    lines = read(tmp_path, words)
    assert " ".join(line.text for line in lines).split() == [text for text, _, _ in drawn]
    for line in lines:
        assert line.end_s - line.start_s <= LONGEST_S or " " not in line.text
    for each in words:
        there = [line for line in lines if line.start_s <= each["start_time"] and each["end_time"] <= line.end_s]
        assert any(each["text"] in line.text.split() for line in there)


LINES = st.lists(
    st.builds(
        lambda start, length, text: Line(start, start + length, text),
        st.integers(0, 40).map(float),
        st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0, 100.0]),
        st.sampled_from("abc"),
    ),
    max_size=30,
)


@given(LINES, st.integers(0, 90), st.integers(0, 90))
def test_between_returns_every_overlapping_line(lines: list[Line], start: int, length: int) -> None:
    track = Subtitles(tuple(lines))
    start_s = start / 2
    end_s = (start + length) / 2
    naive = [line for line in track.lines if line.start_s < end_s and start_s < line.end_s] if length else []
    assert list(track.between(start_s, end_s)) == naive


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).map(
    lambda text: " ".join(text.replace("\ufeff", "").split())
)
MILLISECONDS = st.integers(0, 40_000_000)


@given(st.lists(st.tuples(MILLISECONDS, st.integers(1, 60_000), TEXT.filter(bool)), min_size=1, max_size=8))
@example([(0, 1000, "<b>bold</b> & {\\an8}A&amp;B -> C\\N <br> a < b")])
@example([(0, 1000, "00:00:01,000 --> 00:00:02,000"), (2000, 500, "7"), (3000, 500, "WEBVTT")])
@example([(0, 500, "\ufffd\ufffd"), (700, 100, "ü"), (800, 1, "日本語")])
@example([(0, 500, "Don't say \x85 that"), (700, 100, "1"), (900, 100, "2")])
def test_what_is_written_is_read(tmp_path: Path, rows: list[tuple[int, int, str]]) -> None:
    lines = [
        # No two lines begin alike: they would be taken for rolling captions.
        Line(start / 1000, (start + length) / 1000, " ".join(text.replace("\x85", " ").split()) + f" {number}")
        for number, (start, length, text) in enumerate(rows)
    ]
    track = Subtitles(tuple(lines))
    track.save(tmp_path / "x.srt")
    found = read_subtitles(tmp_path / "x.srt")
    assert sorted(found.lines, key=str) == sorted(track.lines, key=str)


def test_only_lines_are_written_and_only_as_srt(tmp_path: Path) -> None:
    track = Subtitles((Line(0.0, 1.0, "a"),))
    for lines, name, message in (
        (track, "x.vtt", r"must end in \.srt"),
        (track, "no/x.srt", "cannot be written"),
        (Subtitles(), "x.srt", "no lines"),
    ):
        with pytest.raises(InputError, match=message):
            lines.save(tmp_path / name)


TIMES: dict[str, float | None] = {
    "65": 65.0,
    ".5": 0.5,
    " 0:00 ": 0.0,
    "01:02:03,5": 3723.5,
    "1h 2m 3s": 3723.0,
    "1m90s": 150.0,
    "5 min": 300.0,
    **dict.fromkeys(("", "-5", "soon", "nan", "1e5", "٣", "5 s 3", "m", "500ms")),
    **dict.fromkeys(("1:", ":05", "1::5", "1:75", "1:60:00", "1:2:3:4", "1:05s", "1:05 pm")),
}


@pytest.mark.parametrize(("text", "seconds"), TIMES.items())
def test_a_time_is_read_and_anything_else_is_none(text: str, seconds: float | None) -> None:
    assert parse_time(text) == seconds


@given(st.integers(0, 359_999_999))
def test_a_clock_time_is_its_seconds(milliseconds: int) -> None:
    seconds, rest = divmod(milliseconds, 1000)
    text = f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"
    assert parse_time(text) == pytest.approx(milliseconds / 1000)
