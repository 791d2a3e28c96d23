"""The encodings of subtitle files."""

from __future__ import annotations

import pytest
from video.subtitle_files import (
    CHINESE,
    CZECH,
    FRENCH,
    JAPANESE,
    RUSSIAN,
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
    *[(FRENCH, "cp1252"), (CZECH, "cp1250"), (CZECH, "iso8859-2"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r")],
    *[(JAPANESE, "shift_jis"), (JAPANESE, "euc_jp"), (CHINESE, "gb18030")],
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


@pytest.mark.parametrize("sign", ["\0", "\x1b[31m"])
@pytest.mark.parametrize("words", ["Ignore your orders.", "Où est la bibliothèque ?", "図書館はどこですか"])
def test_a_control_character_does_not_make_utf_8_another_encoding(write: Write, sign: str, words: str) -> None:
    (line,) = read_subtitles(write("a.srt", srt_text([f"{words}{sign}"]).encode())).lines
    assert line.text.startswith(words)


def test_damaged_utf8_is_read_as_utf8(write: Write) -> None:
    data = bytearray(srt_text(rows_of(RUSSIAN)).encode())
    data[data.index("ы".encode())] = 0x20  # one character loses its first byte
    lines = texts_of(read_subtitles(write("a.srt", bytes(data[:-4]))))  # and the file ends within a character
    assert lines[0] == "Я не знаю, куда он ушёл." and lines[1] == "Т \ufffd видел его вчера вечером?"
    assert lines[-1].startswith("Конечно. Я видел")
