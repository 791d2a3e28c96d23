"""ASS and SSA."""

from __future__ import annotations

import pytest
from support.subtitle_files import (
    ASS_HEADER,
    Write,
)

from atlaskit.video.subtitles import Line, read_subtitles


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
        Line(1.0, 2.25, "First <b>&amp;"),
        Line(1.0, 3.0, "damaged"),
        Line(3.0, 4.0, "backwards"),
        Line(4.0, 5.5, "Well, yes then."),
    )


def test_the_format_row_tells_the_order_of_the_fields(write: Write) -> None:
    text = "[Events]\nFormat: Start, End, Actor, Text\nDialogue: 0:00:01.00,0:00:02.00,Ann,one, two\n"
    assert read_subtitles(write("own.ass", "[Script Info]\n" + text)).lines == (Line(1.0, 2.0, "one, two"),)
    styles = "[V4 Styles]\nFormat: Name, Fontname\nStyle: Default,Arial\n"
    marked = "[Events]\nFormat: Marked, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    event = "Dialogue: Marked=0,0:00:01.00,0:00:02.00,Default,,0,0,0,,an old file\n"
    assert read_subtitles(write("v4.ssa", "[Script Info]\n" + styles + marked + event)).lines[0].text == "an old file"
