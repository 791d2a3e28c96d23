"""SRT, WebVTT, ASS, SSA, the JSON of LongVideoBench, and words with times."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.subtitle_files import ASS_HEADER, Write

from atlaskit.errors import InputError, SubtitleError, SubtitleWarning
from atlaskit.video.subtitles import Line, Subtitles, read_subtitles
from atlaskit.video.subtitles.jsons import LONGEST_S, PAUSE_S
from atlaskit.video.subtitles.track import LAST_LINE_S


def test_vtt_styles_notes_and_tags_are_dropped(write: Write) -> None:
    path = write(
        "a.vtt",
        "WEBVTT - a title\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nNOTE --> not a time\n\n"
        "100:00:01.000 --> 100:00:03.000 align:start position:0%\n"
        "<00:00:01.100><c.loud> one</c><00:00:01.500><c> two</c>\n\n"
        "the second\n00:05.000 --> 00:06.000\nAT&amp;T&nbsp;&lt;i&gt; &quot;R&D&quot;\n\n"
        "NOTE\nnot part of any text\n\n"
        "00:07.000 --> 00:08.000\n- <v.first Ann Lee>Yes</v>\n- <lang en><i.x>No</i></lang>\n",
    )
    assert read_subtitles(path).lines == (
        Line(5.0, 6.0, 'AT&T <i> "R&D"'),
        Line(7.0, 8.0, "- Yes - No"),
        Line(360001.0, 360003.0, "one two"),
    )


def test_srt_variants_are_parsed(write: Write) -> None:
    path = write(
        "a.srt",
        "1\n-00:00:01,000 --> 00:00:02.5\n{\\an8}It is\n\n42\n2\n"  # a blank row; 42 is text, 2 is not
        "0:1:03,04 --> 00:01:04\nif x < y and z > 1, <y and z> is {so}<br/>or\\Nnot\n\n"
        "00:02:00,000-->00:02:01,000 X1:10 Y1:20\n7\n\n"  # this text has no number before it
        "4\n00:02:02,000 -> 00:02:03,000\nlast\n99\n",
    )
    assert read_subtitles(path).lines == (
        *(Line(0.0, 2.5, "It is 42"), Line(63.04, 64.0, "if x < y and z > 1, <y and z> is {so} or not")),
        *(Line(120.0, 121.0, "7"), Line(122.0, 123.0, "last 99")),
    )


@pytest.mark.parametrize("suffix", [".ass", ".ssa"])
def test_ass_dialogue_is_parsed(write: Write, suffix: str) -> None:
    events = [
        "Comment: 0,0:00:00.00,0:00:09.00,Default,,0,0,0,,the translator's note",
        "Dialogue: 0,0:00:00.00,0:00:09.00,Default,,0,0,0,,{\\an7\\p1}m 0 0 l 100 0 100 100{\\p0}",
        "Dialogue: 0,0:00:04.00,0:00:05.50,Default,Bob,0,0,0,,{\\pos(10,20)\\i1}Well,{\\i0}\\Nyes{a remark}\\hthen.",
        "Dialogue: 0,0:00:01.00,not a time,Default,,0,0,0,,damaged",
        "Dialogue: 0,0:00:01.00,0:00:02.25,Default,Ann,x,0,0,,First <b>&amp;",
        "Dialogue: 0,0:00:03.00,0:00:02.00,Default,,0,0,0,,backwards",
        "Dialogue: 0,0:00:0",
    ]
    path = write("a" + suffix, ASS_HEADER + "\n".join(events))
    assert read_subtitles(path).lines == (
        *(Line(1.0, 2.25, "First <b>&amp;"), Line(1.0, 3.0, "damaged"), Line(3.0, 4.0, "backwards")),
        Line(4.0, 5.5, "Well, yes then."),
    )


def test_the_format_row_tells_the_order_of_the_fields(write: Write) -> None:
    text = "[Events]\nFormat: Start, End, Actor, Text\nDialogue: 0:00:01.00,0:00:02.00,Ann,one, two\n"
    assert read_subtitles(write("own.ass", "[Script Info]\n" + text)).lines == (Line(1.0, 2.0, "one, two"),)
    styles = "[V4 Styles]\nFormat: Name, Fontname\nStyle: Default,Arial\n"
    marked = "[Events]\nFormat: Marked, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    event = "Dialogue: Marked=0,0:00:01.00,0:00:02.00,Default,,0,0,0,,an old file\n"
    assert read_subtitles(write("v4.ssa", "[Script Info]\n" + styles + marked + event)).lines[0].text == "an old file"


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
        *('{"start": 1}', '"text"', "[null]", '[{"start": "00:00:01.000", "end": "00:00:02.000"}]'),
        f'[{{"timestamp": [0, 1{"0" * 5000}], "text": "x"}}]',
    ],
)
def test_other_json_raises_a_short_sentence(write: Write, content: str) -> None:
    with pytest.raises(SubtitleError) as error:
        read_subtitles(write("a.json", content))
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("times", ["[1]", '"12"', "[true, 2]", "[NaN, 2]", "[[0], 1]", '["soon", 2]'])
def test_json_times_that_cannot_be_read_keep_their_words(write: Write, times: str) -> None:
    with pytest.warns(SubtitleWarning, match="times that cannot be read"):
        track = read_subtitles(write("a.json", f'[{{"timestamp": {times}, "text": "x"}}]'), duration_s=60.0)
    assert [line.text for line in track.lines] == ["x"]


def test_lone_surrogates_in_json_are_replaced(write: Write) -> None:
    path = write("a.json", r'[{"timestamp": [-2, 1], "text": "a\ud83d\u0000b \ud83d\ude00"}]')
    (line,) = read_subtitles(path).lines
    assert line == Line(0.0, 1.0, "a?b 😀")
    line.text.encode()


def word(text: Any, start_s: Any, end_s: Any) -> dict[str, Any]:
    return {"text": text, "start_time": start_s, "end_time": end_s}


def read(
    folder: Path, words: list[Any], *, name: str = "words.jsonl", duration_s: float | None = None
) -> tuple[Line, ...]:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, words)), encoding="utf-8")
    return read_subtitles(path, duration_s=duration_s).lines


def test_words_are_joined_until_a_sentence_ends_or_someone_pauses(tmp_path: Path) -> None:
    words = [
        *(word("Hello", 0.0, 0.4), word("there.", 0.5, 0.9), word("Then", 1.0, 1.2), word("silence", 1.3, 1.6)),
        word("ends", 1.6 + PAUSE_S, 3.0),
    ]
    expected = (Line(0.0, 0.9, "Hello there."), Line(1.0, 1.6, "Then silence"), Line(2.6, 3.0, "ends"))
    assert read(tmp_path, words) == expected
    assert read(tmp_path, words, name="words.json") == expected, "the content tells the format"


def test_a_line_lasts_no_longer_than_a_few_seconds(tmp_path: Path) -> None:
    words = [word("la", second * 0.9, second * 0.9 + 0.8) for second in range(20)]
    lines = read(tmp_path, words)
    assert max(line.end_s - line.start_s for line in lines) <= LONGEST_S
    assert min(line.end_s - line.start_s for line in lines[:-1]) > LONGEST_S - 2
    (single,) = read(tmp_path, [word("laaa", 1.0, 20.0)])
    assert (single.start_s, single.end_s) == (1.0, 20.0), "one word is not cut"


@given(
    st.lists(
        st.tuples(st.text("abc.?", min_size=1, max_size=6), st.floats(0, 3, width=16), st.floats(0.125, 8, width=16)),
        max_size=30,
    )
)
def test_no_word_is_lost_and_each_is_shown_at_its_time(tmp_path: Path, drawn: list[tuple[str, float, float]]) -> None:
    words, clock_s = [], 0.0
    for text, pause_s, length_s in drawn:
        words.append(word(text, clock_s + pause_s, clock_s + pause_s + length_s))
        clock_s += pause_s + length_s
    lines = read(tmp_path, words)
    assert " ".join(line.text for line in lines).split() == [text for text, _, _ in drawn]
    for line in lines:
        assert line.end_s - line.start_s <= LONGEST_S or " " not in line.text
    for each in words:
        assert any(
            line.start_s <= each["start_time"] and each["end_time"] <= line.end_s and each["text"] in line.text.split()
            for line in lines
        )


def test_odd_rows_are_read(tmp_path: Path) -> None:
    words = [word("one", "0.5", "0.9"), word("untimed", None, None), None, 3, word("", 2, 3), word("end", 1.0, 1.25)]
    assert read(tmp_path, words) == (Line(0.5, 1.25, "one untimed end"),)
    assert read(tmp_path, [word("alone", 1, 2)]) == (Line(1.0, 2.0, "alone"),)
    assert read(tmp_path, [{"word": "w", "start": 1, "end": 2}] * 2) == (Line(1.0, 2.0, "w w"),)
    path = tmp_path / "crlf.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(json.dumps(each).encode() for each in words[:1] * 2) + b"\r\n\r\n")
    assert len(read_subtitles(path).lines) == 1


def test_a_file_without_words_is_a_video_without_speech(tmp_path: Path) -> None:
    assert read(tmp_path, []) == ()


def test_a_cut_off_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(json.dumps(word("one", 0, 1)) + "\n" + json.dumps(word("two", 1, 2))[:-4] + "\n")
    with pytest.raises(SubtitleError, match=r"cut\.jsonl cannot be read: row 2 is not valid JSON"):
        read_subtitles(path)


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
    track, start_s, end_s = Subtitles(tuple(lines)), start / 2, (start + length) / 2
    naive = [line for line in track.lines if line.start_s < end_s and start_s < line.end_s] if length else []
    assert list(track.between(start_s, end_s)) == naive


@pytest.mark.parametrize("interval", [(-1.0, 2.0), (3.0, 2.0), (math.nan, 2.0), (1.0, math.nan)])
def test_between_refuses_what_is_not_an_interval(interval: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="not an interval"):
        Subtitles().between(*interval)


def test_shifted_lines_are_cut_to_their_part() -> None:
    track = Subtitles((Line(0.0, 5.0, "a"), Line(4.0, 12.0, "b"), Line(10.0, 11.0, "c")))
    assert track.shifted(60.0).lines == (Line(60.0, 65.0, "a"), Line(64.0, 72.0, "b"), Line(70.0, 71.0, "c"))
    assert track.shifted(60.0, 70.0).lines == (Line(60.0, 65.0, "a"), Line(64.0, 70.0, "b"))
    assert track.shifted(-4.5).lines == (Line(0.0, 0.5, "a"), Line(0.0, 7.5, "b"), Line(5.5, 6.5, "c"))
    assert track.shifted(0.0) == track and track.shifted(60.0, 60.0) == Subtitles()
    for arguments in [(math.nan,), (math.inf,), (0.0, math.nan)]:
        with pytest.raises(InputError, match="finite"):
            track.shifted(*arguments)


def test_merged_joins_the_parts_of_a_playlist() -> None:
    one = Subtitles((Line(0.0, 2.0, "a"), Line(8.0, 99.0, "b")))
    joined = Subtitles.merged([one.shifted(10.0, 20.0), one.shifted(0.0, 10.0)])
    assert joined.lines == (Line(0, 2, "a"), Line(8, 10, "b"), Line(10, 12, "a"), Line(18, 20, "b"))
    assert Subtitles.merged([]) == Subtitles()
