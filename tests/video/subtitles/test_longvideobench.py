"""LongVideoBench's two JSON forms."""

from __future__ import annotations

import json

import pytest
from support.subtitle_files import (
    Write,
)

from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles import Line, Subtitles, read_subtitles
from atlaskit.video.subtitles.track import LAST_LINE_S


def test_both_json_forms_are_parsed(write: Write) -> None:
    lines = [
        {"start": "00:01:02.500", "end": "00:01:04.250", "line": "<i>Hello</i>\nthere &amp; here"},
        {"start": "01:00:00.000", "end": "01:00:01.000", "line": "Late"},
        {"start": "00:00:01.000", "end": "00:00:02.000", "line": "  "},
    ]
    assert read_subtitles(write("a.json", json.dumps(lines))).lines == (
        Line(62.5, 64.25, "Hello there & here"),
        Line(3600.0, 3601.0, "Late"),
    )
    stamped = [
        {"timestamp": [7, 9.5], "text": "B"},
        {"timestamp": [0.0, 3.0], "text": "A"},
        {"timestamp": [9.5, None], "text": "C"},
    ]
    path = write("b.json", json.dumps(stamped))
    assert read_subtitles(path, duration_s=60.0).lines == (
        Line(0.0, 3.0, "A"),
        Line(7.0, 9.5, "B"),
        Line(9.5, 60.0, "C"),
    )
    assert read_subtitles(path).lines[-1] == Line(9.5, 9.5 + LAST_LINE_S, "C")
    assert read_subtitles(write("c.json", "[]")) == Subtitles()


def test_a_line_without_an_end_lasts_until_the_next_or_the_end_of_the_video(write: Write) -> None:
    entries = [{"timestamp": [start, None], "text": text} for start, text in [(4, "b"), (1, "a"), (4, "B"), (6, "c")]]
    path = write("a.json", json.dumps(entries))
    ends = {line.text: line.end_s for line in read_subtitles(path).lines}
    assert ends == {"a": 4.0, "b": 6.0, "B": 6.0, "c": 6.0 + LAST_LINE_S}
    assert {line.end_s for line in read_subtitles(path, duration_s=10).lines} == {10.0}
    assert {line.end_s for line in read_subtitles(path, duration_s=10, starts_at_s=3).lines} == {10.0}


@pytest.mark.parametrize(
    "content",
    [
        '{"start": 1}',
        '"text"',
        "[1]",
        "[null]",
        '[{"start": "00:00:01.000", "end": "00:00:02.000"}]',
        '[{"start": "00:00:01.000", "end": "00:00:02.000", "line": 5}]',
        '[{"start": "soon", "end": "00:00:02.000", "line": "x"}]',
        '[{"start": null, "end": "00:00:02.000", "line": "x"}]',
        '[{"timestamp": [1], "text": "x"}]',
        '[{"timestamp": "12", "text": "x"}]',
        '[{"timestamp": [1, 2, 3], "text": "x"}]',
        '[{"timestamp": [true, 2], "text": "x"}]',
        '[{"timestamp": [0, true], "text": "x"}]',
        '[{"timestamp": [NaN, 2], "text": "x"}]',
        '[{"timestamp": [0, Infinity], "text": "x"}]',
        '[{"timestamp": [1e999, null], "text": "x"}]',
        f'[{{"timestamp": [1{"0" * 400}, null], "text": "x"}}]',
        f'[{{"timestamp": [0, 1{"0" * 5000}], "text": "x"}}]',
        '[{"timestamp": [[0], 1], "text": "x"}]',
    ],
)
def test_other_json_raises_a_short_sentence(write: Write, content: str) -> None:
    for duration_s in (None, 60.0):
        with pytest.raises(SubtitleError) as error:
            read_subtitles(write("a.json", content), duration_s=duration_s)
        assert len(str(error.value)) < 500


def test_lone_surrogates_in_json_are_replaced(write: Write) -> None:
    path = write("a.json", r'[{"timestamp": [-2, 1], "text": "a\ud83d\u0000b \ud83d\ude00"}]')
    (line,) = read_subtitles(path).lines
    assert line == Line(0.0, 1.0, "a?b 😀")
    line.text.encode()
