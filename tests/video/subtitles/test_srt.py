"""SRT and WebVTT."""

from __future__ import annotations

from support.subtitle_files import (
    Write,
    srt_text,
    texts_of,
)

from atlaskit.video.subtitles import Line, Subtitles, read_subtitles


def test_srt_and_vtt(write: Write) -> None:
    lines = read_subtitles(
        write(
            "a.srt",
            "1\n00:00:05,000 --> 00:00:07,500\n<i>Second</i>\nline\n\n"
            "2\n00:00:01,000 --> 00:00:06,000\n{\\an8}<font color=red>First</font> ü\n",
        )
    )
    assert lines.lines == (Line(1.0, 6.0, "First ü"), Line(5.0, 7.5, "Second line"))
    assert texts_of(Subtitles(lines.between(5.5, 5.6))) == ["First ü", "Second line"]
    assert lines.between(6.0, 6.0) == () and lines.between(7.5, 9.0) == ()
    assert texts_of(Subtitles(lines.between(6.0, 7.5))) == ["Second line"]
    vtt = write("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hello\n")
    assert read_subtitles(vtt).lines == (Line(1.0, 2.0, "Hello"),)


def test_the_header_decides_between_srt_and_vtt(write: Write) -> None:
    vtt = "\n".join(["WEBVTT", "", "intro", "00:01.000 --> 00:02.000", "Hello", "", "NOTE aside", "more", ""])
    assert texts_of(read_subtitles(write("a.srt", vtt))) == ["Hello"]
    assert texts_of(read_subtitles(write("b.srt", "\ufeff\n" + vtt))) == ["Hello"]
    assert texts_of(read_subtitles(write("a.vtt", srt_text(["One", "Two\n\nhalves"])))) == ["One", "Two halves"]


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
        Line(0.0, 2.5, "It is 42"),
        Line(63.04, 64.0, "if x < y and z > 1, <y and z> is {so} or not"),
        Line(120.0, 121.0, "7"),
        Line(122.0, 123.0, "last 99"),
    )


def test_overlapping_and_repeated_lines_stay_in_order(write: Write) -> None:
    cue = "00:00:0{},000 --> 00:00:0{},000\n{}\n\n"
    path = write(
        "a.srt", "".join(cue.format(*fields) for fields in [(5, 9, "c"), (1, 8, "a"), (2, 3, "b"), (2, 3, "b")])
    )
    assert texts_of(read_subtitles(path)) == ["a", "b", "b", "c"]
