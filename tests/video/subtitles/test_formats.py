"""Promise 14 for every format: what is written is read, once, at its time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from video.subtitle_files import ASS_HEADER, texts_of, write

from atlaskit.errors import SubtitleWarning
from atlaskit.video.subtitles import Line, read_subtitles

Writer = Callable[[Sequence[str]], str]
XML = '<?xml version="1.0" encoding="utf-8"?>\n<tt xmlns="http://www.w3.org/ns/ttml"><body><div>'


def rows(head: str, row: str, tail: str = "") -> Writer:
    """Return a writer of rows, which `%` fills with a text and its start and end."""

    def fill(texts: Sequence[str]) -> str:
        places = [{"s": n, "e": n + 1, "s25": 25 * n, "e25": 25 * n + 25} for n in range(len(texts))]
        return head + "".join(row % {**at, "text": text} for at, text in zip(places, texts, strict=True)) + tail

    return fill


def objects(name: str, row: Callable[[int, str], dict[str, Any]]) -> Writer:
    """Return a writer of JSON: a list of objects, below a name if there is one."""

    def fill(texts: Sequence[str]) -> str:
        found = [row(n, text) for n, text in enumerate(texts)]
        return json.dumps({name: found, "language": "en"} if name else found)

    return fill


def json3(texts: Sequence[str]) -> str:
    """Write as YouTube does: words of their own, and a second event that ends each line."""
    events: list[dict[str, Any]] = [{"tStartMs": 0, "dDurationMs": 10_000, "id": 1, "wpWinPosId": 1}]
    for n, text in enumerate(texts):
        words = [{"utf8": word if place == 0 else f" {word}"} for place, word in enumerate(text.split(" "))]
        events.append({"tStartMs": n * 1000, "dDurationMs": 1000, "segs": words})
        events.append({"tStartMs": n * 1000 + 990, "dDurationMs": 10, "aAppend": 1, "segs": [{"utf8": "\n"}]})
    return json.dumps({"wireMagic": "pb3", "events": events})


srt = rows("", "%(e)d\n00:00:%(s)02d,000 --> 00:00:%(e)02d,000\n%(text)s\n\n")
vtt = rows(
    "WEBVTT\n\nNOTE a note\n\nSTYLE\n::cue {}\n\n",
    "id-%(s)d\n00:00:%(s)02d.000 --> 00:00:%(e)02d.000 align:start\n%(text)s\n\n",
)
ass = rows(
    "[Script Info]\n[Events]\nFormat: Start, End, Text\n", "Dialogue: 0:00:%(s)02d.00,0:00:%(e)02d.00,%(text)s\n"
)
ttml = rows(XML, '<p begin="00:00:%(s)02d.000" end="00:00:%(e)02d.000">%(text)s</p>', "</div></body></tt>")
sami = rows("<SAMI><BODY>", "<SYNC Start=%(s)d000><P Class=ENCC>%(text)s<SYNC Start=%(e)d000><P>&nbsp;", "</SAMI>")
WRITERS: dict[str, tuple[tuple[str, ...], Writer]] = {
    "SubRip": ((".srt", ".txt", ".vtt"), srt),
    "WebVTT": ((".vtt", ".srt", ""), vtt),
    "ASS": ((".ass", ".ssa", ".txt"), ass),
    "TTML": ((".ttml", ".dfxp", ".xml", ".srt"), ttml),
    "SAMI": ((".smi", ".srt"), sami),
    "SBV": ((".sbv",), rows("", "0:00:%(s)02d.000,0:00:%(e)02d.000\n%(text)s\n\n")),
    "TSV": ((".tsv",), rows("start\tend\ttext\n", "%(s)d000\t%(e)d000\t%(text)s\n")),
    "lyrics": ((".lrc",), rows("[ar:nobody]\n", "[00:%(s)02d.00]%(text)s\n")),
    "MicroDVD": ((".sub",), rows("{1}{1}25\n", "{%(s25)d}{%(e25)d}%(text)s\n")),
    "SubViewer": ((".sub",), rows("[END INFORMATION]\n", "00:00:%(s)02d.00,00:00:%(e)02d.00\n%(text)s\n\n")),
    "YouTube": ((".json3", ".json"), json3),
    "Whisper": ((".json",), objects("segments", lambda n, text: {"start": n, "end": n + 1.0, "text": f" {text}"})),
    "whisper.cpp": (
        (".json",),
        objects("transcription", lambda n, text: {"offsets": {"from": n * 1000, "to": n * 1000 + 1000}, "text": text}),
    ),
    "transformers": ((".json",), objects("chunks", lambda n, text: {"timestamp": [n, n + 1], "text": text})),
    "transcript API": ((".json",), objects("", lambda n, text: {"text": text, "start": n, "duration": 1.0})),
    "LongVideoBench": (
        (".json",),
        objects("", lambda n, text: {"start": f"00:00:{n:02}.000", "end": f"00:00:{n + 1:02}.000", "line": text}),
    ),
}
WORDS = st.text(st.sampled_from("abcdefgh ÄÖéжの"), min_size=1, max_size=30).map(lambda text: " ".join(text.split()))
"""Words that no format takes for markup."""


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS.filter(bool), min_size=2, max_size=12, unique=True))
def test_every_line_is_read_once_at_its_time(tmp_path: Path, name: str, texts: list[str]) -> None:
    suffixes, fill = WRITERS[name]
    for suffix in suffixes:  # the content tells the format
        path = tmp_path / f"subtitles{suffix}"
        path.write_text(fill(texts), encoding="utf-8")
        track = read_subtitles(path, duration_s=float(len(texts)))
        assert track.original == ()
        assert track.lines == tuple(Line(float(n), n + 1.0, text) for n, text in enumerate(texts))


@pytest.mark.parametrize(
    "times",
    [
        "00:00:05:250 --> 00:00:06:000",
        "00:00:05,250 --- > 00:00:06,000",
        "00: 00: 05, 250 -> 00: 00: 06, 000",
        "00：00：05，250 —> 00：00：06，000",
        "00:00:05,250 --> 00:00:06,000 X1:100 X2:200 Y1:300 Y2:400",
    ],
)
def test_times_are_read_as_people_write_them(tmp_path: Path, times: str) -> None:
    path = write(tmp_path, "a.srt", f"1\n00:00:01,000 --> 00:00:02,000\nfirst\n\n2\n{times}\nsecond\n")
    assert read_subtitles(path).lines == (Line(1.0, 2.0, "first"), Line(5.25, 6.0, "second"))


def test_lines_off_the_video_are_told_once(tmp_path: Path) -> None:
    path = write(tmp_path, "a.srt", srt([f"second {n}" for n in range(20)]))
    with pytest.warns(SubtitleWarning) as told:
        track = read_subtitles(path, starts_at_s=5, duration_s=10)
    assert texts_of(track) == [f"second {n}" for n in range(5, 15)]
    [message] = [str(warning.message) for warning in told]
    assert "5 of 20 lines end before the first frame" in message and "'second 0'" in message
    assert "5 of 20 lines start after the end of the video" in message and "'second 15'" in message


def test_a_line_that_ends_before_it_starts_lasts_until_the_next(tmp_path: Path) -> None:
    path = write(tmp_path, "a.srt", "00:00:02,000 --> 00:00:01,000\nHello\n\n00:00:04,000 --> 00:00:05,000\nagain\n")
    with pytest.warns(SubtitleWarning, match="1 of 2 lines end before they start"):
        lines = read_subtitles(path).lines
    assert lines == (Line(2.0, 4.0, "Hello"), Line(4.0, 5.0, "again"))


@pytest.mark.parametrize(
    ("row", "told", "texts"),
    [
        ("00;00;05;00 --> 00;00;06;00", "have times that cannot be read.*second", ["3 --> 4 is fine", "second"]),
        ("-1:-7:-40,-860 --> -1:-7:-38,-120", "before the first frame", ["3 --> 4 is fine"]),
    ],
)
def test_damaged_times_are_never_words(tmp_path: Path, row: str, told: str, texts: list[str]) -> None:
    path = write(tmp_path, "a.srt", f"1\n00:00:01,000 --> 00:00:02,000\n3 --> 4 is fine\n\n2\n{row}\nsecond\n")
    with pytest.warns(SubtitleWarning, match=told):
        assert texts_of(read_subtitles(path)) == texts


def cue(number: int, words: str) -> str:
    return f"{number}\n00:00:0{number},000 --> 00:00:0{number},900\n{words}\n\n"


SEGMENT = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:%d,LOCAL:00:00:00.000\n\n"
ACROSS = "00:00:03.000 --> 00:00:05.000\nAcross.\n\n"
BLANKS = (
    "WEBVTT - a title\n\nSTYLE\n::cue { color: red }\n\nNOTE --> not a time\ntwo rows\n\n"
    "00:01.000 --> 00:02.000\n \nbehind a row with a blank\n\n"
    "00:02.000 --> 00:03.000\n\nbehind an empty row\n\n"
    "00:03.000 --> 00:04.000\n\t\nbehind a tab\n\nintro\n00:04.000 --> 00:05.000\nnamed\n\n"
    "7\n00:05.000 --> 00:06.000\nnumbered\n\nafter an empty row\n\nNOTE no text\n\n"
    "00:06.000 --> 00:07.000\n42"
)
TAGS = (
    "WEBVTT - a title\nKind: captions\n\n100:00:01.000 --> 100:00:03.000 align:start position:0%\n"
    "<00:00:01.100><c.loud> one</c><00:00:01.500><c> two</c>\n\n"
    "the second\n00:05.000 --> 00:06.000\nAT&amp;T&nbsp;&lt;i&gt; &quot;R&D&quot;\n\n"
    "00:07.000 --> 00:08.000\n- <v.first Ann Lee>Yes</v>\n- <lang en><i.x>No</i></lang>\n"
)
VARIANTS = (
    "1\n-00:00:01,000 --> 00:00:02.5\n{\\an8}It is\n\n42\n2\n"  # a blank row; 42 is text, 2 is not
    "0:1:03,04 --> 00:01:04\nif x < y and z > 1, <y and z> is {so}<br/>or\\Nnot\n\n"
    "00:02:00,000-->00:02:01,000 X1:10 Y1:20\n7\n\n"  # this text has no number before it
    "4\n00:02:02,000 -> 00:02:03,000\nlast\n99\n"
)
ASS_ROWS = [
    "Comment: 0,0:00:00.00,0:00:09.00,Default,,0,0,0,,the translator's note",
    r"Dialogue: 0,0:00:00.00,0:00:09.00,Default,,0,0,0,,{\an7\p1}m 0 0 l 100 0 100 100{\p0}",
    r"Dialogue: 0,0:00:04.00,0:00:05.50,Default,Bob,0,0,0,,{\pos(10,20)\i1}Well,{\i0}\Nyes{a remark}\hthen.",
    "Dialogue: 0,0:00:01.00,not a time,Default,,0,0,0,,damaged",
    "Dialogue: 0,0:00:01.00,0:00:02.25,Default,Ann,x,0,0,,First <b>&amp;",
    "Dialogue: 0,0:00:03.00,0:00:02.00,Default,,0,0,0,,backwards",
    r"Dialogue: 0,0:00:06.00,0:00:07.00,Default,,0,0,0,,{\p1}m 0 0 l 9 0{\p0}Kept",
    "Dialogue: 1,0:00:06.00,0:00:07.00,Default,,0,0,0,,Kept",
    "Dialogue: 0,0:00:0",
]
EVENTS = [
    (1.0, 2.25, "First <b>&amp;"),
    (1.0, 3.0, "damaged"),
    (3.0, 4.0, "backwards"),
    (4.0, 5.5, "Well, yes then."),
    (6.0, 7.0, "Kept"),
]
COUNTED = (
    '<tt xmlns="x" xmlns:ttp="http://www.w3.org/ns/ttml#parameter" ttp:frameRate="24" ttp:tickRate="10">'
    "<body><div><p %s>one<br/>two <span>three</span></p></div></body></tt>"
)
ONE = [(1.5, 2, "one two three")]
IN_SEQUENCE = '<tt><body><div timeContainer="seq"><p dur="2s">One</p><p dur="1s">Two</p></div></body></tt>'
RATE = 'timeBase="smpte" frameRate="30" frameRateMultiplier="1000 1001" dropMode="nonDrop"'
NTSC = f"<tt {RATE}><body><div>%s</div></body></tt>"
SRV1 = (
    '<?xml version="1.0" ?><transcript><text start="1.5" dur="2">it&amp;#39;s</text>'
    '<text start="4">on</text></transcript>'
)
SRV3 = '<timedtext format="3"><body><p t="1500" d="500"><s>it</s><s t="9"> is</s></p></body></timedtext>'
SAMI = "<SAMI><BODY><SYNC Start=1000><P Class=K>eins<SYNC Start=1000><P Class=E>one<SYNC Start=2000>&nbsp;</SAMI>"
LYRICS = (
    "[ti:song]\n[offset:+500]\n[00:10.50][01:00.5]<00:10.50>again <00:11.00>and\nagain\n[75:00.00]late\n[75:02.00]\n"
)
ODD_FILES: dict[str, tuple[str | bytes, list[tuple[float, float, str]]]] = {
    "segments.vtt": (
        SEGMENT % 900_000 + "00:01.000 --> 00:02.000\nOne.\n\n" + ACROSS + SEGMENT % 900_000 + ACROSS,
        [(1, 2, "One."), (3, 5, "Across.")],
    ),
    "shifted.vtt": (
        SEGMENT % 900_000 + ACROSS + SEGMENT % 1_800_000 + "00:01.000 --> 00:02.000\nTwo.\n",
        [(3, 5, "Across."), (11, 12, "Two.")],
    ),
    "blanks.vtt": (
        BLANKS,
        [
            (1, 2, "behind a row with a blank"),
            (2, 3, "behind an empty row"),
            (3, 4, "behind a tab"),
            (4, 5, "named"),
            (5, 6, "numbered after an empty row"),
            (6, 7, "42"),
        ],
    ),
    "tags.vtt": (TAGS, [(5, 6, 'AT&T <i> "R&D"'), (7, 8, "- Yes - No"), (360_001, 360_003, "one two")]),
    "variants.srt": (
        VARIANTS,
        [
            (0, 2.5, "It is 42"),
            (63.04, 64, "if x < y and z > 1, <y and z> is {so} or not"),
            (120, 121, "7"),
            (122, 123, "last 99"),
        ],
    ),
    "double.srt": ((cue(1, "One") + cue(2, "Two")).replace("\n", "\n\n"), [(1, 1.9, "One"), (2, 2.9, "Two")]),
    "numbers.srt": (cue(1, "2020") + cue(2, "42"), [(1, 1.9, "2020"), (2, 2.9, "42")]),
    "behind.srt": ("1\n00:00:01,000 --> 00:00:02,000 One\n\n" + cue(3, "Two"), [(1, 2, "One"), (3, 3.9, "Two")]),
    "marks.srt": (f"\ufeff{cue(1, 'One')}\ufeff{cue(2, 'Two')}", [(1, 1.9, "One"), (2, 2.9, "Two")]),
    **dict.fromkeys(("events.ass", "events.ssa"), (ASS_HEADER + "\n".join(ASS_ROWS), EVENTS)),
    "frames.ttml": (COUNTED % 'begin="36f" end="48f"', ONE),
    "ticks.ttml": (COUNTED % 'begin="15t" end="20t"', ONE),
    "clock.ttml": (COUNTED % 'begin="00:00:01:12" end="00:00:02:00"', ONE),
    "sequence.ttml": (IN_SEQUENCE, [(0, 2, "One"), (2, 3, "Two")]),
    "ntsc.ttml": (NTSC % '<p begin="01:00:00:00" end="01:00:01:00">One</p>', [(3603.6, 3604.601, "One")]),
    **dict.fromkeys(("a.xml", "a.srv1", "a.txt"), (SRV1, [(1.5, 3.5, "it's"), (4, 9, "on")])),
    "a.srv3": (SRV3, [(1.5, 2, "it is")]),
    "lyrics.lrc": (LYRICS, [(10, 60, "again and again"), (60, 4499.5, "again and again"), (4499.5, 4501.5, "late")]),
    "frames.sub": ("{50}{75}{y:i}one|two\n", [(2, 3, "one two")]),
    "languages.smi": (SAMI, [(1, 2, "eins"), (1, 2, "one")]),
    "surrogates.json": (r'[{"timestamp": [-2, 1], "text": "a\ud83d\u0000b \ud83d\ude00"}]', [(0, 1, "a?b 😀")]),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_an_odd_file_is_read(tmp_path: Path, name: str) -> None:
    content, expected = ODD_FILES[name]
    lines = read_subtitles(write(tmp_path, name, content), fps=25.0).lines
    assert [line.text for line in lines] == [text for _, _, text in expected]
    for line, (start_s, end_s, _) in zip(lines, expected, strict=True):
        assert (line.start_s, line.end_s) == pytest.approx((start_s, end_s))
