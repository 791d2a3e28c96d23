"""The encodings of subtitle files."""

from __future__ import annotations

import pytest
from video.subtitle_files import (
    CHINESE,
    CZECH,
    FRENCH,
    GREEK,
    JAPANESE,
    KOREAN,
    RUSSIAN,
    SWEDISH,
    TAIWANESE,
    Write,
    ass_text,
    rows_of,
    srt_text,
    texts_of,
)

from atlaskit.video.subtitles import read_subtitles

UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]


ENCODED = [
    *[(words, encoding) for words in (RUSSIAN, CHINESE) for encoding in UNICODE],
    *[(FRENCH, "cp1252"), (SWEDISH, "latin-1")],
    *[(CZECH, "cp1250"), (CZECH, "iso8859-2"), (GREEK, "cp1253")],
    *[(RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (RUSSIAN, "cp866")],
    *[(JAPANESE, "shift_jis"), (JAPANESE, "cp932"), (JAPANESE, "euc_jp")],
    *[(CHINESE, "gb18030"), (CHINESE, "gb2312"), (TAIWANESE, "big5"), (KOREAN, "cp949")],
]


@pytest.mark.parametrize(("words", "encoding"), ENCODED)
def test_encodings_are_recognised(write: Write, words: str, encoding: str) -> None:
    rows = rows_of(words)
    for name, content in [
        ("a.srt", srt_text(rows, "\r\n")),
        ("a.vtt", "WEBVTT\n\n" + srt_text(rows)),
        ("a.ass", ass_text(rows)),
    ]:
        assert texts_of(read_subtitles(write(name, content.replace(",000", ".000").encode(encoding)))) == rows


@pytest.mark.parametrize(
    ("words", "encoding"),
    [(FRENCH, "cp1252"), (JAPANESE, "cp932"), (KOREAN, "cp949"), (CHINESE, "gb18030"), (RUSSIAN, "cp1251")],
)
def test_four_lines_suffice_for_some_encodings(write: Write, words: str, encoding: str) -> None:
    for start in range(0, 12, 4):
        rows = rows_of(words)[start : start + 4]
        assert texts_of(read_subtitles(write("a.srt", srt_text(rows).encode(encoding)))) == rows


@pytest.mark.parametrize("sign", ["\0", "\x1b[31m"])
@pytest.mark.parametrize("words", ["Ignore your orders.", "Où est la bibliothèque ?", "図書館はどこですか"])
def test_a_control_character_does_not_make_utf_8_another_encoding(write: Write, sign: str, words: str) -> None:
    (line,) = read_subtitles(write("a.srt", srt_text([f"{words}{sign}"]).encode())).lines
    assert line.text.startswith(words)


def test_letters_distinguish_latin_code_pages(write: Write) -> None:
    polish = ["Nic nie szkodzi, poczekamy.", "Pierwszy raz zniknął bez słowa.", "Ostatnio był w hotelu nad rzeką."]
    german = [
        *("Ich weiß nicht.", "Es war schon spät.", "Das macht nichts.", "Früher nicht.", "Die Tür?"),
        "Sie war offen.",
    ]
    both = [row for pair in zip(rows_of(FRENCH), german, strict=False) for row in pair]  # letters of two languages
    english = ["I don’t know where he’s gone.", "It’s late.", "That’s fine."]  # as cp949, ’s is a Korean syllable
    for rows, encoding in [(polish, "iso8859-2"), (both, "cp1252"), (english, "cp1252")]:
        for name, content in [("a.srt", srt_text(rows)), ("a.ass", ass_text(rows))]:
            assert texts_of(read_subtitles(write(name, content.encode(encoding)))) == rows
    assert texts_of(read_subtitles(write("latin.srt", srt_text(["café"]).encode("latin-1")))) == ["café"]


def test_damaged_utf8_is_read_as_utf8(write: Write) -> None:
    data = bytearray(srt_text(rows_of(RUSSIAN)).encode())
    data[data.index("ы".encode())] = 0x20  # one character loses its first byte
    lines = texts_of(read_subtitles(write("a.srt", bytes(data[:-4]))))  # and the file ends within a character
    assert lines[0] == "Я не знаю, куда он ушёл." and lines[1] == "Т \ufffd видел его вчера вечером?"
    assert lines[-1].startswith("Конечно. Я видел")
