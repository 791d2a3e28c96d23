"""Lines of text at times, from files and from tracks inside videos."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from fractions import Fraction
from pathlib import Path

import av
import pytest
from av.packet import Packet
from av.stream import Disposition
from av.subtitles.subtitle import SubtitleSet
from hypothesis import given
from hypothesis import strategies as st
from support.media import make, numbered

from atlaskit.errors import InputError, SubtitleError
from atlaskit.video.subtitles import Line, Subtitles, files, read_embedded, read_subtitles, track

ASS_HEADER = """[Script Info]
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, \
StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,20,&H00FFFFFF,&H000000FF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,2,2,2,10,10,10,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def to_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return to_file


Write = Callable[[str, str | bytes], Path]


def texts(subtitles: Subtitles) -> list[str]:
    return [line.text for line in subtitles.lines]


def srt(words: list[str], end: str = "\n") -> str:
    return "".join(
        f"{number + 1}{end}00:00:{number * 3:02},000 --> 00:00:{number * 3 + 2:02},500{end}{line}{end}{end}"
        for number, line in enumerate(words)
    )


def ass(words: list[str]) -> str:
    return ASS_HEADER + "".join(
        f"Dialogue: 0,0:00:{number * 3:02}.00,0:00:{number * 3 + 2:02}.50,Default,,0,0,0,,{line}\n"
        for number, line in enumerate(words)
    )


# Files


def test_srt_and_vtt(write: Write) -> None:
    lines = read_subtitles(
        write(
            "a.srt",
            "1\n00:00:05,000 --> 00:00:07,500\n<i>Second</i>\nline\n\n"
            "2\n00:00:01,000 --> 00:00:06,000\n{\\an8}<font color=red>First</font> ü\n",
        )
    )
    assert lines.lines == (Line(1.0, 6.0, "First ü"), Line(5.0, 7.5, "Second line"))
    assert texts(Subtitles(lines.between(5.5, 5.6))) == ["First ü", "Second line"]
    assert lines.between(6.0, 6.0) == () and lines.between(7.5, 9.0) == ()
    assert texts(Subtitles(lines.between(6.0, 7.5))) == ["Second line"]
    vtt = write("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hello\n")
    assert read_subtitles(vtt).lines == (Line(1.0, 2.0, "Hello"),)


def test_a_file_that_cannot_be_read_is_one_sentence(write: Write, tmp_path: Path) -> None:
    write("prose.srt", "Dear reader, this is a letter.\n")
    write("empty.vtt", "")
    write("backwards.srt", "1\n00:00:02,000 --> 00:00:01,000\nHello\n")
    write("silent.srt", "1\n00:00:01,000 --> 00:00:02,000\n<i></i>\n")
    write("styles.ass", ASS_HEADER)
    write("a.pdf", "x")
    write("junk.srt", random.Random(1).randbytes(50_000))
    write("broken.json", '[{"start": ')
    write("deep.json", "[" * 100_000)
    (tmp_path / "folder.srt").mkdir()
    with (tmp_path / "giant.srt").open("wb") as file:
        file.truncate(files.MAX_BYTES + 1)
    for name, sentence in [
        ("prose.srt", "no line of text"),
        ("empty.vtt", "no line of text"),
        ("backwards.srt", "no line of text"),
        ("silent.srt", "no line of text"),
        ("styles.ass", "no line of text"),
        ("a.pdf", r"not a subtitle file.*\.srt, \.vtt, \.ass, \.ssa, \.json"),
        ("missing.srt", "cannot be read: No such file"),
        ("zero\0.srt", "cannot be read"),
        ("folder.srt", "cannot be read: it is not a file"),
        ("junk.srt", "not text|no line of text"),
        ("giant.srt", "larger than 64 MiB"),
        ("broken.json", "not valid JSON"),
        ("deep.json", "not valid JSON"),
    ]:
        with pytest.raises(SubtitleError, match=sentence) as error:
            read_subtitles(tmp_path / name)
        assert str(error.value).endswith((".", "?")) and "\n" not in str(error.value)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.srt")
    with pytest.raises(SubtitleError, match="not a file"):
        read_subtitles(tmp_path / "pipe.srt")


def test_srt_and_vtt_may_be_named_as_each_other(write: Write) -> None:
    vtt = "\n".join(["WEBVTT", "", "intro", "00:01.000 --> 00:02.000", "Hello", "", "NOTE aside", "more", ""])
    assert texts(read_subtitles(write("a.srt", vtt))) == ["Hello"]
    assert texts(read_subtitles(write("b.srt", "\ufeff\n" + vtt))) == ["Hello"]
    assert texts(read_subtitles(write("a.vtt", srt(["One", "Two\n\nhalves"])))) == ["One", "Two halves"]


def test_what_a_vtt_holds_besides_text_is_left_out(write: Write) -> None:
    path = write(
        "a.vtt",
        "WEBVTT - a title\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nNOTE --> not a time\n\n"
        "100:00:01.000 --> 100:00:03.000 align:start position:0%\n"
        "<00:00:01.100><c.loud> one</c><00:00:01.500><c> two</c>\n\n"
        "the second\n00:05.000 --> 00:06.000\nAT&amp;T&nbsp;&lt;i&gt; &quot;R&D&quot;\n\n"
        "NOTE\nnobody says this\n\n"
        "00:07.000 --> 00:08.000\n- <v.first Ann Lee>Yes</v>\n- <lang en><i.x>No</i></lang>\n",
    )
    assert read_subtitles(path).lines == (
        Line(5.0, 6.0, 'AT&T <i> "R&D"'),
        Line(7.0, 8.0, "- Yes - No"),
        Line(360001.0, 360003.0, "one two"),
    )


def test_an_srt_is_read_however_it_was_written(write: Write) -> None:
    path = write(
        "a.srt",
        "1\n-00:00:01,000 --> 00:00:02.5\n{\\an8}It is\n\n42\n2\n"  # an empty row in the text; no number left out
        "0:1:03,04 --> 00:01:04\nif x < y and z > 1, <y and z> is {so}<br/>or\\Nnot\n\n"
        "00:02:00,000-->00:02:01,000 X1:10 Y1:20\n7\n\n"  # without a number of its own
        "4\n00:02:02,000 -> 00:02:03,000\nlast\n99\n",
    )
    assert read_subtitles(path).lines == (
        Line(0.0, 2.5, "It is 42"),
        Line(63.04, 64.0, "if x < y and z > 1, <y and z> is {so} or not"),
        Line(120.0, 121.0, "7"),
        Line(122.0, 123.0, "last 99"),
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_ends_of_lines_may_be_of_any_system(write: Write, end: str) -> None:
    assert texts(read_subtitles(write("a.srt", srt(["One", "Two"], end)))) == ["One", "Two"]


def test_no_line_is_lost_and_none_is_out_of_order(write: Write) -> None:
    cue = "00:00:0{},000 --> 00:00:0{},000\n{}\n\n"
    path = write(
        "a.srt", "".join(cue.format(*fields) for fields in [(5, 9, "c"), (1, 8, "a"), (2, 3, "b"), (2, 3, "b")])
    )
    assert texts(read_subtitles(path)) == ["a", "b", "b", "c"]


@pytest.mark.parametrize("suffix", [".ass", ".ssa"])
def test_ass_events(write: Write, suffix: str) -> None:
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
    assert read_subtitles(path).lines == (Line(1.0, 2.25, "First <b>&amp;"), Line(4.0, 5.5, "Well, yes then."))


def test_hostile_lines_take_no_longer_than_others(write: Write) -> None:
    start = time.perf_counter()
    for mark in ["<b.", "<c ", "{", "{\\", "{\\p", "\r", "&#", "<", " ", "<00:", "-->", "[a"]:
        long = mark * 100_000
        for name, head in [
            ("a.srt", "00:00:01,000 --> 00:00:02,000\nx "),
            ("a.ass", "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,x "),
        ]:
            read_subtitles(write(name, head + long + " " * 100_000))
    assert time.perf_counter() - start < 10  # in proportion to their length about 1 s; to its square, minutes


# LongVideoBench


def test_longvideobench_in_both_its_forms(write: Write) -> None:
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
    assert read_subtitles(path).lines[-1] == Line(9.5, 9.5 + track.LAST_LINE_S, "C")
    assert read_subtitles(write("c.json", "[]")) == Subtitles()


def test_a_line_without_an_end_stays_to_the_next_or_to_the_end_of_the_video(write: Write) -> None:
    entries = [{"timestamp": [start, None], "text": text} for start, text in [(4, "b"), (1, "a"), (4, "B"), (6, "c")]]
    path = write("a.json", json.dumps(entries))
    ends = {line.text: line.end_s for line in read_subtitles(path).lines}
    assert ends == {"a": 4.0, "b": 6.0, "B": 6.0, "c": 6.0 + track.LAST_LINE_S}
    assert {line.end_s for line in read_subtitles(path, duration_s=10).lines} == {10.0}
    assert {line.end_s for line in read_subtitles(path, duration_s=10, starts_at_s=3).lines} == {10.0}


def test_a_track_of_the_whole_source_is_cut_to_the_video(write: Write) -> None:
    times = [(10, 20), (95, 105), (100, 130), (150, 165), (160, 170), (190, 200)]
    vtt = "WEBVTT\n\n" + "".join(
        f"{start // 60:02}:{start % 60:02}.000 --> {end // 60:02}:{end % 60:02}.000\n{start}\n\n"
        for start, end in times
    )
    path = write("a.vtt", vtt)
    assert read_subtitles(path, starts_at_s=100, duration_s=60).lines == (
        Line(0.0, 5.0, "95"),
        Line(0.0, 30.0, "100"),
        Line(50.0, 60.0, "150"),
    )
    assert read_subtitles(path, starts_at_s=100).lines[-1] == Line(90.0, 100.0, "190")
    assert read_subtitles(path, starts_at_s=500) == Subtitles()  # the file is sound, and nothing is said then
    assert read_subtitles(path, starts_at_s=-5).lines[0] == Line(15.0, 25.0, "10")


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
def test_json_of_another_kind_is_one_sentence(write: Write, content: str) -> None:
    for duration_s in (None, 60.0):
        with pytest.raises(SubtitleError) as error:
            read_subtitles(write("a.json", content), duration_s=duration_s)
        assert len(str(error.value)) < 500


def test_half_a_character_in_json_can_still_be_saved(write: Write) -> None:
    path = write("a.json", r'[{"timestamp": [-2, 1], "text": "a\ud83d\u0000b \ud83d\ude00"}]')
    (line,) = read_subtitles(path).lines
    assert line == Line(0.0, 1.0, "a?b 😀")
    line.text.encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_none_is_refused(write: Write, value: float) -> None:
    path = write("a.srt", srt(["x"]))
    for options in ({"starts_at_s": value}, {"duration_s": value}):
        with pytest.raises(InputError, match="seconds"):
            read_subtitles(path, **options)
    for duration_s in (0.0, -1.0):
        with pytest.raises(InputError, match="duration_s"):
            read_subtitles(path, duration_s=duration_s)
    with pytest.raises(InputError):
        read_embedded(path, origin_s=value)


# Encodings

FRENCH = """Je ne sais pas où il est allé.|Tu l'as vu hier soir, n'est-ce pas ?|Oui, mais il était déjà très tard.
Ça ne fait rien, on l'attendra.|C'est la première fois qu'il disparaît.|La dernière fois, il était à l'hôtel.
Et personne ne l'a prévenu ?|Si, sa sœur l'a appelé deux fois.|Alors il faut chercher ailleurs.
Peut-être près de la forêt…|Vous êtes sûrs de ce que vous dites ?|Absolument. Je l'ai vu de mes propres yeux."""
SWEDISH = """Jag vet inte vart han gick.|Såg du honom i går kväll?|Ja, men det var redan mycket sent.
Det gör inget, vi väntar.|Det är första gången han försvinner.|Förra gången var han på hotellet.
Och ingen varnade honom?|Hans syster ringde två gånger.|Då måste vi leta någon annanstans.
Kanske nära skogen.|Är ni säker på det ni säger?|Självklart. Jag såg det med egna ögon."""
CZECH = """Nevím, kam šel.|Viděl jsi ho včera večer?|Ano, ale bylo už velmi pozdě.|To nevadí, počkáme.
Je to poprvé, co takhle zmizel.|Naposledy byl v hotelu u řeky.|A nikdo ho nevaroval?|Sestra mu volala dvakrát.
Tak musíme hledat jinde.|Možná poblíž lesa.|Jste si jistý tím, co říkáte?|Samozřejmě. Viděl jsem to."""
RUSSIAN = """Я не знаю, куда он ушёл.|Ты видел его вчера вечером?|Да, но было уже очень поздно.
Ничего страшного, подождём.|Он впервые так исчезает.|В прошлый раз он был в гостинице.
И никто его не предупредил?|Сестра звонила ему два раза.|Значит, надо искать в другом месте.
Может быть, возле леса.|Вы уверены в том, что говорите?|Конечно. Я видел это своими глазами."""
GREEK = """Δεν ξέρω πού πήγε.|Τον είδες χθες το βράδυ;|Ναι, αλλά ήταν ήδη πολύ αργά.|Δεν πειράζει, θα περιμένουμε.
Πρώτη φορά εξαφανίζεται έτσι.|Την τελευταία φορά ήταν στο ξενοδοχείο.|Και κανείς δεν τον προειδοποίησε;
Η αδερφή του τηλεφώνησε δύο φορές.|Τότε πρέπει να ψάξουμε αλλού.|Ίσως κοντά στο δάσος.
Είστε σίγουροι για αυτό που λέτε;|Φυσικά. Το είδα με τα μάτια μου."""
JAPANESE = """彼がどこへ行ったのか分からない。|昨日の夜、彼を見ましたか？|はい、でももうとても遅かったです。
大丈夫、待ちましょう。|こんなふうに消えたのは初めてだ。|前回はホテルにいました。|誰も彼に注意しなかったのか？
妹さんが二回電話しました。|それなら別の場所を探そう。|たぶん森の近くに。|本当に間違いありませんか？
もちろん。この目で見ました。"""
CHINESE = """我不知道他去了哪里。|你昨天晚上看见他了吗？|看见了，可是已经很晚了。|没关系，我们等他。|他第一次这样消失。
上一次他在酒店里。|没有人提醒过他吗？|他妹妹给他打了两次电话。|那我们得去别的地方找。|也许在森林附近。
你确定你说的是真的吗？|当然，我亲眼看见的。"""
TAIWANESE = """我不知道他去了哪裡。|你昨天晚上看見他了嗎？|看見了，可是已經很晚了。|沒關係，我們等他。
他第一次這樣消失。|上一次他在酒店裡。|沒有人提醒過他嗎？|他妹妹給他打了兩次電話。|那我們得去別的地方找。|也許在森林附近。
你確定你說的是真的嗎？|當然，我親眼看見的。"""
KOREAN = """그가 어디로 갔는지 모르겠어요.|어젯밤에 그를 봤어요?|네, 하지만 이미 너무 늦었어요.|괜찮아요, 기다립시다.
이렇게 사라진 건 처음이에요.|지난번에는 호텔에 있었어요.|아무도 그에게 경고하지 않았나요?
여동생이 두 번 전화했어요.|그럼 다른 곳을 찾아봐야겠네요.|아마 숲 근처일 거예요.|정말 확실합니까?|물론이죠."""
ENGLISH = """I don’t know where he went.|Did you see him?|“Yes,” she said.|It’s late.|That’s fine.|Let’s wait here."""

UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
ENCODED = [
    *[(words, encoding) for words in (FRENCH, RUSSIAN, JAPANESE, CHINESE, ENGLISH) for encoding in UNICODE],
    *[(FRENCH, "cp1252"), (SWEDISH, "cp1252"), (SWEDISH, "latin-1"), (ENGLISH, "cp1252")],
    *[(CZECH, "cp1250"), (CZECH, "iso8859-2"), (GREEK, "cp1253")],
    *[(RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (RUSSIAN, "cp866")],
    *[(JAPANESE, "shift_jis"), (JAPANESE, "cp932"), (JAPANESE, "euc_jp")],
    *[(CHINESE, "gb18030"), (CHINESE, "gb2312"), (TAIWANESE, "big5"), (KOREAN, "cp949")],
]


def rows_of(words: str) -> list[str]:
    return words.replace("\n", "|").split("|")


@pytest.mark.parametrize(("words", "encoding"), ENCODED)
def test_encodings_are_found(write: Write, words: str, encoding: str) -> None:
    rows = rows_of(words)
    for name, content in [("a.srt", srt(rows, "\r\n")), ("a.vtt", "WEBVTT\n\n" + srt(rows)), ("a.ass", ass(rows))]:
        assert texts(read_subtitles(write(name, content.replace(",000", ".000").encode(encoding)))) == rows


@pytest.mark.parametrize(
    ("words", "encoding"),
    [(FRENCH, "cp1252"), (JAPANESE, "cp932"), (KOREAN, "cp949"), (CHINESE, "gb18030"), (RUSSIAN, "cp1251")],
)
def test_a_few_lines_are_enough_for_these(write: Write, words: str, encoding: str) -> None:
    for start in range(0, 12, 4):
        rows = rows_of(words)[start : start + 4]
        assert texts(read_subtitles(write("a.srt", srt(rows).encode(encoding)))) == rows


def test_latin_code_pages_are_told_apart_by_their_letters(write: Write) -> None:
    polish = ["Nic nie szkodzi, poczekamy.", "Pierwszy raz zniknął bez słowa.", "Ostatnio był w hotelu nad rzeką."]
    german = [
        "Ich weiß nicht.",
        "Es war schon spät.",
        "Das macht nichts.",
        "Früher nicht.",
        "Die Tür?",
        "Sie war offen.",
    ]
    both = [row for pair in zip(rows_of(FRENCH), german, strict=False) for row in pair]  # no one language's letters
    english = ["I don’t know where he’s gone.", "It’s late.", "That’s fine."]  # as cp949, ’s is a Korean syllable
    for rows, encoding in [(polish, "iso8859-2"), (both, "cp1252"), (english, "cp1252")]:
        for name, content in [("a.srt", srt(rows)), ("a.ass", ass(rows))]:
            assert texts(read_subtitles(write(name, content.encode(encoding)))) == rows
    assert texts(read_subtitles(write("latin.srt", srt(["café"]).encode("latin-1")))) == ["café"]


def test_damaged_utf8_is_still_utf8(write: Write) -> None:
    data = bytearray(srt(rows_of(RUSSIAN)).encode())
    data[data.index("ы".encode())] = 0x20  # one letter loses its first byte
    lines = texts(read_subtitles(write("a.srt", bytes(data[:-4]))))  # and the file is cut within a letter's
    assert lines[0] == "Я не знаю, куда он ушёл." and lines[1] == "Т \ufffd видел его вчера вечером?"
    assert lines[-1].startswith("Конечно. Я видел")


# Tracks inside videos


def film(path: Path, *tracks: list[tuple[float, float, str]], codec: str = "subrip", **metadata: list[str]) -> Path:
    """A video of three seconds with tracks of text; a line of length 0 is muxed without one."""
    with av.open(str(path), "w") as container:
        picture = container.add_stream("libvpx" if path.suffix == ".webm" else "libx264", rate=25)
        picture.width, picture.height, picture.pix_fmt = 320, 180, "yuv420p"
        picture.options = {"deadline": "realtime", "cpu-used": "8"} if path.suffix == ".webm" else {}
        streams = []
        for place, _ in enumerate(tracks):
            stream = container.add_stream(codec)
            stream.codec_context.subtitle_header = ASS_HEADER.encode()
            stream.codec_context.time_base = Fraction(1, 1000)
            if "language" in metadata:
                stream.metadata["language"] = metadata["language"][place]
            if "default" in metadata:
                stream.disposition = Disposition.default if metadata["default"][place] else Disposition(0)
            streams.append(stream)
        container.start_encoding()
        packets = [packet for index in range(75) for packet in picture.encode(frame_at(index))] + picture.encode()
        for stream, lines in zip(streams, tracks, strict=True):
            for number, (start, end, text) in enumerate(lines):
                event = f"{number},0,Default,,0,0,0,,{text}".encode()
                milliseconds = round((end - start) * 1000)
                packet = stream.codec_context.encode_subtitle(
                    SubtitleSet.create(event, 0, milliseconds, round(start * 1000))
                )
                packet.stream, packet.time_base = stream, Fraction(1, 1000)
                packets.append(packet)
        for packet in sorted(packets, key=lambda packet: packet.dts * packet.time_base):
            container.mux(packet)
    return path


def frame_at(index: int) -> av.VideoFrame:
    frame = numbered(index)
    frame.pts, frame.time_base = index, Fraction(1, 25)
    return frame


SPOKEN = [(0.5, 1.5, "{\\i1}Hello{\\i0}\\NWörld"), (1.5, 2.0, "Second"), (2.2, 2.8, "三")]
HEARD = (Line(0.5, 1.5, "Hello Wörld"), Line(1.5, 2.0, "Second"), Line(2.2, 2.8, "三"))
KINDS = [("a.mp4", "mov_text"), ("a.mkv", "subrip"), ("a.mkv", "ass"), ("a.mkv", "webvtt"), ("a.webm", "webvtt")]


@pytest.mark.parametrize(("name", "codec"), KINDS)
def test_a_track_inside_a_video(tmp_path: Path, name: str, codec: str) -> None:
    path = film(tmp_path / name, SPOKEN, codec=codec)
    assert read_embedded(path).lines == HEARD
    assert read_embedded(str(path), origin_s=1.0, duration_s=1.5).lines == (
        Line(0.0, 0.5, "Hello Wörld"),
        Line(0.5, 1.0, "Second"),
        Line(pytest.approx(1.2), 1.5, "三"),
    )


@pytest.mark.parametrize(("name", "codec"), KINDS[1:])
def test_overlapping_lines_of_a_track_are_kept(tmp_path: Path, name: str, codec: str) -> None:
    path = film(tmp_path / name, [(0.5, 2.5, "long"), (1.0, 1.5, "short"), (1.0, 1.5, "short")], codec=codec)
    assert read_embedded(path).lines == (Line(0.5, 2.5, "long"), Line(1.0, 1.5, "short"), Line(1.0, 1.5, "short"))


def test_a_drawing_in_a_track_is_no_text_and_signs_of_markup_are(tmp_path: Path) -> None:
    drawn = film(tmp_path / "a.mkv", [(0, 1, "{\\p1}m 0 0 l 9 9"), (1, 2, "{\\pos(1,2)}a, b, c")], codec="ass")
    assert read_embedded(drawn).lines == (Line(1.0, 2.0, "a, b, c"),)
    plain = raw(tmp_path / "b.mkv", "webvtt", [(0, 1000, b"{a} C:\\x &amp; <v Ann>b</v>")])
    assert read_embedded(plain).lines == (Line(0.0, 1.0, "{a} C:\\x & b"),)


def raw(path: Path, codec: str, packets: list[tuple[int, int | None, bytes]]) -> Path:
    """A track of packets as they are, at milliseconds."""
    with av.open(str(path), "w") as container:
        picture = container.add_stream("libx264", rate=25)
        picture.width, picture.height, picture.pix_fmt = 320, 180, "yuv420p"
        track = container.add_mux_stream(codec, time_base=Fraction(1, 1000))
        container.start_encoding()
        container.mux(picture.encode(frame_at(0)))
        container.mux(picture.encode())
        for start, length, data in packets:
            packet = Packet(data)
            packet.stream, packet.time_base, packet.pts, packet.dts = track, Fraction(1, 1000), start, start
            if length is not None:
                packet.duration = length
            container.mux(packet)
    return path


def test_a_line_of_unknown_length_stays_to_the_next(tmp_path: Path) -> None:
    packets = [(0, 500, b"Zero"), (1000, None, b"One"), (4000, 500, b"Two"), (5000, None, b"Three")]
    path = raw(tmp_path / "a.mkv", "subrip", packets)
    assert read_embedded(path).lines == (
        Line(0.0, 0.5, "Zero"),
        Line(1.0, 4.0, "One"),
        Line(4.0, 4.5, "Two"),
        Line(5.0, 5.0 + track.LAST_LINE_S, "Three"),
    )
    assert read_embedded(path, duration_s=7.0).lines[-1] == Line(5.0, 7.0, "Three")


def test_mov_text_may_be_utf16(tmp_path: Path) -> None:
    words = "Grüße 三".encode("utf-16")
    path = raw(tmp_path / "a.mp4", "mov_text", [(0, 1000, len(words).to_bytes(2, "big") + words)])
    assert texts(read_embedded(path)) == ["Grüße 三"]


def test_the_default_track_or_the_first_or_that_of_a_language(tmp_path: Path) -> None:
    tracks = [[(0.0, 1.0, word)] for word in ("one", "two", "three")]
    languages = ["eng", "ger", "ger"]
    path = film(tmp_path / "a.mkv", *tracks, language=languages, default=["", "", "yes"])
    assert texts(read_embedded(path)) == ["three"]
    assert texts(read_embedded(path, language="eng")) == ["one"]
    assert texts(read_embedded(path, language="ger")) == ["three"]
    first = film(tmp_path / "b.mkv", *tracks, language=languages, default=["", "", ""])
    assert texts(read_embedded(first)) == ["one"] and texts(read_embedded(first, language="ger")) == ["two"]
    with pytest.raises(SubtitleError, match="in language 'fre': choose from eng, ger"):
        read_embedded(path, language="fre")


def test_a_video_without_readable_subtitles_is_one_sentence(tmp_path: Path) -> None:
    playlist = tmp_path / "list.m3u8"
    playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n{tmp_path}/none.ts\n#EXT-X-ENDLIST\n")
    (tmp_path / "text.mp4").write_text("no video")
    (tmp_path / "folder.mp4").mkdir()
    for path, sentence in [
        (make(tmp_path / "none.mp4", frames=5), "has no subtitle track"),
        (make(tmp_path / "none.ts", frames=5), "has no subtitle track"),
        (raw(tmp_path / "dvd.mkv", "dvd_subtitle", [(0, 1000, b"\0\4\0\2")]), r"images.*\(dvd"),
        (tmp_path / "missing.mp4", "cannot be read .No such file"),
        (tmp_path / "folder.mp4", "cannot be read"),
        (tmp_path / "text.mp4", "cannot be read"),
        (playlist, "is a list of other files"),
        (Path("zero\0.mp4"), "cannot be read"),
    ]:
        with pytest.raises(SubtitleError, match=sentence) as error:
            read_embedded(path)
        assert str(error.value).endswith(".") and "\n" not in str(error.value)


def test_nobody_is_called(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/a.mp4"
        playlist = tmp_path / "list.m3u8"
        playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n{address}\n#EXT-X-ENDLIST\n")
        callers: list[bytes] = []

        def listen() -> None:
            with contextlib.suppress(TimeoutError), server.accept()[0] as caller:
                callers.append(caller.recv(100))

        listener = threading.Thread(target=listen)
        listener.start()
        for path in (playlist, address):
            with pytest.raises(SubtitleError):
                read_embedded(path)
        listener.join()
    assert not callers


def test_a_text_track_is_taken_before_a_picture_track(tmp_path: Path) -> None:
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as container:
        tracks = [container.add_mux_stream(codec, time_base=Fraction(1, 1000)) for codec in ("dvd_subtitle", "subrip")]
        tracks[0].disposition = Disposition.default
        container.start_encoding()
        for track, data in zip(tracks, (b"\0\4\0\2", b"Hello"), strict=True):
            packet = Packet(data)
            packet.stream, packet.time_base, packet.pts, packet.dts, packet.duration = (
                track,
                Fraction(1, 1000),
                0,
                0,
                900,
            )
            container.mux(packet)
    assert read_embedded(path).lines == (Line(0.0, 0.9, "Hello"),)


# Lines


def test_lines_are_in_order_of_time_frozen_and_equal_by_value() -> None:
    a, b = Line(0.0, 9.0, "a"), Line(1.0, 2.0, "b")
    track = Subtitles((b, a))
    assert track.lines == (a, b) and track == Subtitles((a, b)) and hash(track) == hash(Subtitles((a, b)))
    assert track.between(1.5, 1.6) == (a, b) and track == Subtitles((a, b))  # looking changes nothing
    assert len(track) == 2 and repr(track) == f"Subtitles(lines=({a!r}, {b!r}))"
    with pytest.raises(FrozenInstanceError):
        track.lines = ()  # type: ignore[misc]


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
def test_between_is_every_line_that_overlaps(lines: list[Line], start: int, length: int) -> None:
    track, start_s, end_s = Subtitles(tuple(lines)), start / 2, (start + length) / 2
    naive = [line for line in track.lines if line.start_s < end_s and start_s < line.end_s] if length else []
    assert list(track.between(start_s, end_s)) == naive


@pytest.mark.parametrize("interval", [(-1.0, 2.0), (3.0, 2.0), (math.nan, 2.0), (1.0, math.nan)])
def test_between_wants_an_interval(interval: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="not an interval"):
        Subtitles().between(*interval)


def test_a_look_at_a_long_track_is_cheap() -> None:
    track = Subtitles(tuple(Line(i * 1.8, i * 1.8 + 2.5, "x") for i in range(20_000)))
    track.between(0.0, 1.0)
    start = time.perf_counter()
    found = [len(track.between(at, at + 9.4)) for at in range(0, 36_000, 36)]
    looked = time.perf_counter() - start
    start = time.perf_counter()
    naive = [sum(line.start_s < at + 9.4 and at < line.end_s for line in track.lines) for at in range(0, 360, 36)]
    scanned = time.perf_counter() - start
    assert found[:10] == naive
    assert looked < scanned * 10  # a hundredth of what a thousand scans take; in fact a thousandth


def test_shifted_lines_stay_in_their_part() -> None:
    track = Subtitles((Line(0.0, 5.0, "a"), Line(4.0, 12.0, "b"), Line(10.0, 11.0, "c")))
    assert track.shifted(60.0).lines == (Line(60.0, 65.0, "a"), Line(64.0, 72.0, "b"), Line(70.0, 71.0, "c"))
    assert track.shifted(60.0, 70.0).lines == (Line(60.0, 65.0, "a"), Line(64.0, 70.0, "b"))
    assert track.shifted(-4.5).lines == (Line(0.0, 0.5, "a"), Line(0.0, 7.5, "b"), Line(5.5, 6.5, "c"))
    assert track.shifted(0.0) == track and track.shifted(60.0, 60.0) == Subtitles()
    for arguments in [(math.nan,), (math.inf,), (0.0, math.nan)]:
        with pytest.raises(InputError, match="finite"):
            track.shifted(*arguments)


def test_parts_of_a_playlist_are_joined() -> None:
    one = Subtitles((Line(0.0, 2.0, "a"), Line(8.0, 99.0, "b")))
    joined = Subtitles.merged([one.shifted(10.0, 20.0), one.shifted(0.0, 10.0)])
    assert joined.lines == (Line(0, 2, "a"), Line(8, 10, "b"), Line(10, 12, "a"), Line(18, 20, "b"))
    assert Subtitles.merged([]) == Subtitles()


# Anything at all


def is_sound(track: Subtitles) -> bool:
    starts = [line.start_s for line in track.lines]
    return starts == sorted(starts) and all(
        line.text.strip() and 0 <= line.start_s < line.end_s < math.inf and line.text.encode() for line in track.lines
    )


def damaged(data: bytes, chance: random.Random) -> bytes:
    mangled = bytearray(data[: chance.randrange(len(data))] if chance.random() < 0.4 else data)
    for _ in range(chance.randrange(20)):
        if mangled:
            mangled[chance.randrange(len(mangled))] ^= 1 << chance.randrange(8)
    return bytes(mangled)


def test_whatever_is_in_a_file_it_is_lines_or_one_sentence(write: Write) -> None:
    rows = rows_of(RUSSIAN)[:4]
    stamped = [
        {"timestamp": [number, None if number == 2 else number + 0.5], "text": row} for number, row in enumerate(rows)
    ]
    clocks = [
        {"start": f"00:00:0{number}.000", "end": f"00:00:0{number}.900", "line": row} for number, row in enumerate(rows)
    ]
    seeds: list[tuple[str, bytes]] = [
        ("a.srt", srt(rows).encode()),
        ("a.srt", srt(rows).encode("cp1251")),
        ("a.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hello</v>\n\nNOTE x\n\n00:03.000 --> 00:04.000\nthere\n"),
        ("a.ass", ass(rows).encode("utf-16")),
        ("a.ssa", ass(["{\\i1}a{\\p1}b", "c"]).encode()),
        ("a.json", json.dumps(stamped).encode()),
        ("a.json", json.dumps(clocks, ensure_ascii=False).encode()),
    ]
    chance, read = random.Random(7), 0
    for turn in range(560):
        name, data = seeds[turn % len(seeds)]
        content = chance.randbytes(chance.randrange(400)) if turn % 8 == 7 else damaged(data, chance)
        duration_s = chance.choice([None, 2.5])
        try:
            track = read_subtitles(write(name, content), duration_s=duration_s, starts_at_s=chance.choice([0.0, 1.25]))
        except SubtitleError as error:
            assert str(error).endswith((".", "?"))
        else:
            read += len(track) > 0
            assert is_sound(track) and all(line.end_s <= (duration_s or math.inf) for line in track.lines)
    assert read > 150  # most damage is small


@pytest.mark.parametrize(("name", "codec"), [("a.mp4", "mov_text"), ("a.mkv", "subrip"), ("a.mkv", "ass")])
def test_whatever_is_in_a_video_it_is_lines_or_one_sentence(tmp_path: Path, name: str, codec: str) -> None:
    data = film(tmp_path / name, SPOKEN, codec=codec).read_bytes()
    chance, read = random.Random(3), 0
    for _ in range(40):
        (tmp_path / name).write_bytes(damaged(data, chance))
        try:
            track = read_embedded(tmp_path / name, duration_s=3.0)
        except SubtitleError as error:
            assert str(error).endswith(".")
        else:
            read += len(track) > 0
            assert is_sound(track)
    assert read > 5


def test_importing_loads_no_library() -> None:
    heavy = ["pysubs2", "av", "charset_normalizer"]
    code = f"import sys, atlaskit.video.subtitles; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
