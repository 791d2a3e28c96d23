"""Promise 14 for every format: what is written is read, once, at its time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.subtitle_files import Write, texts_of

from atlaskit.errors import SubtitleError, SubtitleWarning
from atlaskit.video.subtitles import Line, Subtitles, read_subtitles

Texts = Sequence[str]


def clock(seconds: float, point: str = ".") -> str:
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{point}{thousandths:03}"


def srt(texts: Texts) -> str:
    cues = (f"{n + 1}\n{clock(n, ',')} --> {clock(n + 1, ',')}\n{text}\n" for n, text in enumerate(texts))
    return "\n".join(cues)


def vtt(texts: Texts) -> str:
    cues = (f"id-{n}\n{clock(n)} --> {clock(n + 1)} align:start\n{text}\n" for n, text in enumerate(texts))
    return "WEBVTT\n\nNOTE a note\n\nSTYLE\n::cue {}\n\n" + "\n".join(cues)


def ass(texts: Texts) -> str:
    rows = (f"Dialogue: {clock(n)[1:-1]},{clock(n + 1)[1:-1]},{text}" for n, text in enumerate(texts))
    return "[Script Info]\n[Events]\nFormat: Start, End, Text\n" + "\n".join(rows)


def sbv(texts: Texts) -> str:
    return "\n\n".join(f"{clock(n)[1:]},{clock(n + 1)[1:]}\n{text}" for n, text in enumerate(texts))


def tsv(texts: Texts) -> str:
    return "start\tend\ttext\n" + "\n".join(f"{n * 1000}\t{n * 1000 + 1000}\t{text}" for n, text in enumerate(texts))


def lrc(texts: Texts) -> str:
    return "[ar:nobody]\n" + "\n".join(f"[{n // 60:02}:{n % 60:02}.00]{text}" for n, text in enumerate(texts))


def ttml(texts: Texts) -> str:
    rows = "".join(f'<p begin="{clock(n)}" end="{clock(n + 1)}">{text}</p>' for n, text in enumerate(texts))
    return f'<?xml version="1.0" encoding="utf-8"?>\n<tt xmlns="http://www.w3.org/ns/ttml"><body><div>{rows}</div></body></tt>'


def microdvd(texts: Texts) -> str:
    return "{1}{1}25\n" + "\n".join(f"{{{n * 25}}}{{{n * 25 + 25}}}{text}" for n, text in enumerate(texts))


def subviewer(texts: Texts) -> str:
    cues = (f"{clock(n)[:-1]},{clock(n + 1)[:-1]}\n{text}" for n, text in enumerate(texts))
    return "[INFORMATION]\n[END INFORMATION]\n" + "\n\n".join(cues)


def sami(texts: Texts) -> str:
    cues = (f"<SYNC Start={n * 1000}><P Class=ENCC>{text}" for n, text in enumerate(texts))
    return f"<SAMI><BODY>{''.join(cues)}<SYNC Start={len(texts) * 1000}><P>&nbsp;</BODY></SAMI>"


def whisper(texts: Texts) -> str:
    segments = [{"id": n, "start": n * 1.0, "end": n + 1.0, "text": f" {text}"} for n, text in enumerate(texts)]
    return json.dumps({"text": " ".join(texts), "segments": segments, "language": "en"})


def whisperx(texts: Texts) -> str:
    segments = [{"start": n, "end": n + 1, "text": text, "words": []} for n, text in enumerate(texts)]
    return json.dumps({"segments": segments, "word_segments": []})


def whisper_cpp(texts: Texts) -> str:
    segments = [{"offsets": {"from": n * 1000, "to": n * 1000 + 1000}, "text": text} for n, text in enumerate(texts)]
    return json.dumps({"systeminfo": "", "transcription": segments})


def transformers(texts: Texts) -> str:
    return json.dumps({"text": "", "chunks": [{"timestamp": [n, n + 1], "text": text} for n, text in enumerate(texts)]})


def transcript_api(texts: Texts) -> str:
    return json.dumps([{"text": text, "start": float(n), "duration": 1.0} for n, text in enumerate(texts)])


def json3(texts: Texts) -> str:
    events: list[dict[str, object]] = [{"tStartMs": 0, "dDurationMs": 10_000, "id": 1, "wpWinPosId": 1}]
    for n, text in enumerate(texts):
        first, *rest = text.split(" ")
        segments = [{"utf8": first}, *({"utf8": f" {word}", "tOffsetMs": 10} for word in rest)]
        events.append({"tStartMs": n * 1000, "dDurationMs": 1000, "segs": segments})
        events.append({"tStartMs": n * 1000 + 990, "dDurationMs": 10, "aAppend": 1, "segs": [{"utf8": "\n"}]})
    return json.dumps({"wireMagic": "pb3", "events": events})


def longvideobench(texts: Texts) -> str:
    return json.dumps([{"start": clock(n), "end": clock(n + 1), "line": text} for n, text in enumerate(texts)])


WRITERS: list[tuple[str, Callable[[Texts], str]]] = [
    *((".srt", srt), (".vtt", vtt), (".ass", ass), (".ssa", ass), (".sbv", sbv), (".tsv", tsv), (".lrc", lrc)),
    *((".ttml", ttml), (".dfxp", ttml), (".xml", ttml), (".sub", microdvd), (".sub", subviewer), (".smi", sami)),
    *((".json", whisper), (".json", whisperx), (".json", whisper_cpp), (".json", transformers)),
    *((".json", transcript_api), (".json", longvideobench), (".json3", json3), (".json", json3)),
    *((".txt", srt), (".txt", vtt), (".srt", vtt), (".srt", ttml), (".vtt", srt), (".txt", ass), ("", vtt)),
]
WORDS = st.text(st.sampled_from("abcdefgh ÄÖéжの"), min_size=1, max_size=30).map(lambda text: " ".join(text.split()))
"""Words that no format takes for markup."""


@pytest.mark.parametrize(("suffix", "written"), WRITERS, ids=lambda value: getattr(value, "__name__", value))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS.filter(bool), min_size=2, max_size=12, unique=True))
def test_every_line_is_read_once_at_its_time(
    tmp_path: Path, suffix: str, written: Callable[[Texts], str], texts: list[str]
) -> None:
    path = tmp_path / f"subtitles{suffix}"
    path.write_text(written(texts), encoding="utf-8")
    track = read_subtitles(path, duration_s=float(len(texts)))
    assert track.original == ()
    assert track.lines == tuple(Line(float(n), n + 1.0, text) for n, text in enumerate(texts))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(1, 40), WORDS.filter(bool)), max_size=30),
    st.sets(st.integers(1, 139)),
)
def test_a_partition_shows_every_line_and_counts_it_once(lines: list[tuple[int, int, str]], cuts: set[int]) -> None:
    track = Subtitles(tuple(Line(float(start), float(start + length), text) for start, length, text in lines))
    bounds = [0, *sorted(cuts), 140]
    seen = [track.between(start, end) for start, end in zip(bounds, bounds[1:], strict=False)]
    assert {line for part in seen for line in part} == set(track.lines)
    first = [line for start, part in zip(bounds, seen, strict=False) for line in part if line.start_s >= start]
    assert sorted(first, key=repr) == sorted(track.lines, key=repr)


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        ("00:00:05:250 --> 00:00:06:000", (5.25, 6.0)),
        ("00:00:05.250 --> 00:00:06.000", (5.25, 6.0)),
        ("0:0:5,25 --> 0:0:6,0", (5.25, 6.0)),
        ("00:05,250 --> 00:06,000", (5.25, 6.0)),
        ("00:00:05,250-->00:00:06,000", (5.25, 6.0)),
        ("00:00:05,250 -> 00:00:06,000", (5.25, 6.0)),
        ("00:00:05,250 --- > 00:00:06,000", (5.25, 6.0)),
        ("00: 00: 05, 250 -> 00: 00: 06, 000", (5.25, 6.0)),
        ("00 : 00 : 05 , 250 --> 00 : 00 : 06 , 000", (5.25, 6.0)),
        ("00：00：05，250 --> 00：00：06，000", (5.25, 6.0)),
        ("00:00:05,250 —> 00:00:06,000", (5.25, 6.0)),
        ("00:00:05 --> 00:00:06", (5.0, 6.0)),
        ("00:00:05,250 --> 00:00:06,000 X1:100 X2:200 Y1:300 Y2:400", (5.25, 6.0)),
    ],
)
def test_times_are_read_as_people_write_them(write: Write, row: str, seconds: tuple[float, float]) -> None:
    path = write("a.srt", f"1\n00:00:01,000 --> 00:00:02,000\nfirst\n\n2\n{row}\nsecond\n")
    assert read_subtitles(path).lines == (Line(1.0, 2.0, "first"), Line(*seconds, "second"))


def test_a_row_of_times_that_cannot_be_read_is_told_and_loses_no_word(write: Write) -> None:
    path = write("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nfirst\n\n2\n00:00;05 --> 6..7\nsecond\n")
    with pytest.warns(SubtitleWarning, match="1 of 2 lines of .*a.srt have times that cannot be read"):
        lines = read_subtitles(path).lines
    assert [line.text for line in lines] == ["first", "second"] and lines[1].start_s == 2.0


def test_a_vtt_text_ends_at_an_empty_row_and_keeps_what_others_lose(write: Write) -> None:
    rows = [
        *("WEBVTT - a title", "", "STYLE", "::cue { color: red }", "", "NOTE", "two rows", "of a note", ""),
        *("00:01.000 --> 00:02.000", " ", "behind a row with a blank", ""),
        *("00:02.000 --> 00:03.000", "", "behind an empty row", ""),
        *("00:03.000 --> 00:04.000", "\t", "behind a tab", "", "intro", "00:04.000 --> 00:05.000", "named", ""),
        *("7", "00:05.000 --> 00:06.000", "numbered", "", "after an empty row", "", "NOTE no text", ""),
        *("00:06.000 --> 00:07.000", "42"),
    ]
    assert texts_of(read_subtitles(write("a.vtt", "\n".join(rows)))) == [
        *("behind a row with a blank", "behind an empty row", "behind a tab", "named"),
        *("numbered after an empty row", "42"),
    ]


def test_lines_off_the_video_are_told_once(write: Write) -> None:
    path = write("a.srt", srt([f"second {n}" for n in range(20)]))
    with pytest.warns(SubtitleWarning) as told:
        track = read_subtitles(path, starts_at_s=5, duration_s=10)
    assert texts_of(track) == [f"second {n}" for n in range(5, 15)]
    before, after = (str(warning.message) for warning in told)
    assert "5 of 20 lines" in before and "before the first frame" in before and "'second 0'" in before
    assert "5 of 20 lines" in after and "after the end of the video" in after and "'second 15'" in after


def test_a_line_that_ends_before_it_starts_lasts_until_the_next(write: Write) -> None:
    path = write("a.srt", "00:00:02,000 --> 00:00:01,000\nHello\n\n00:00:04,000 --> 00:00:05,000\nagain\n")
    assert read_subtitles(path).lines == (Line(2.0, 4.0, "Hello"), Line(4.0, 5.0, "again"))


@pytest.mark.parametrize(
    ("attributes", "seconds"),
    [
        ('begin="1.5s" dur="500ms"', (1.5, 2.0)),
        ('begin="36f" end="48f"', (1.5, 2.0)),
        ('begin="15t" end="20t"', (1.5, 2.0)),
        ('begin="00:00:01:12" end="00:00:02:00"', (1.5, 2.0)),
        ('begin="0.025m" end="2s"', (1.5, 2.0)),
    ],
)
def test_ttml_counts_in_frames_ticks_and_offsets(write: Write, attributes: str, seconds: tuple[float, float]) -> None:
    head = '<tt xmlns="x" xmlns:ttp="http://www.w3.org/ns/ttml#parameter" ttp:frameRate="24" ttp:tickRate="10">'
    text = f"{head}<body><div><p {attributes}>one<br/>two <span>three</span></p></div></body></tt>"
    assert read_subtitles(write("a.ttml", text)).lines == (Line(*seconds, "one two three"),)


def test_ttml_times_count_from_the_element_around(write: Write) -> None:
    rows = '<p begin="1s" end="2s">a</p><p begin="2s" dur="1s">b</p>'
    text = f'<tt><body begin="10s"><div begin="5s">{rows}</div></body></tt>'
    assert read_subtitles(write("a.ttml", text)).lines == (Line(16.0, 17.0, "a"), Line(17.0, 18.0, "b"))


def test_hostile_xml_is_refused(write: Write) -> None:
    bomb = '<!DOCTYPE tt [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><tt><body><p begin="1s">&b;</p></body></tt>'
    with pytest.raises(SubtitleError, match="declares a document type"):
        read_subtitles(write("bomb.ttml", bomb))
    with pytest.raises(SubtitleError, match="not valid XML"):
        read_subtitles(write("cut.ttml", "<tt><body><p begin="))


def test_lyrics_have_several_times_a_row_and_an_offset(write: Write) -> None:
    path = write("a.lrc", "[offset:+500]\n[00:10.50][01:00.5]<00:10.50>again <00:11.00>and again\n[75:00.00]late\n")
    starts = {(line.start_s, line.text) for line in read_subtitles(path).lines}
    assert starts == {(10.0, "again and again"), (60.0, "again and again"), (4499.5, "late")}
