"""Subtitle files as they come: in any encoding, damaged, or no subtitles at all."""

from __future__ import annotations

import json
import math
import os
import random
from pathlib import Path

import pytest
from video.subtitle_files import (
    CHINESE,
    CZECH,
    FRENCH,
    JAPANESE,
    RUSSIAN,
    ass_text,
    damage,
    is_valid,
    rows_of,
    srt_text,
    texts_of,
    write,
)

from atlaskit import limits
from atlaskit.errors import SubtitleError
from atlaskit.video.subtitles import read_subtitles


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        (RUSSIAN, "utf-8-sig"),
        (RUSSIAN, "utf-16"),
        (CHINESE, "utf-16-le"),
        (FRENCH, "cp1252"),
        (CZECH, "cp1250"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "shift_jis"),
        (CHINESE, "gb18030"),
    ],
)
def test_encodings_are_recognised(tmp_path: Path, words: str, encoding: str) -> None:
    rows = rows_of(words)
    vtt = "WEBVTT\n\n" + srt_text(rows).replace(",000", ".000")
    for name, content in (("a.srt", srt_text(rows, "\r\n")), ("a.vtt", vtt), ("a.ass", ass_text(rows))):
        assert texts_of(read_subtitles(write(tmp_path, name, content.encode(encoding)))) == rows


@pytest.mark.parametrize("sign", ["\0", "\x1b[31m"])
@pytest.mark.parametrize("words", ["Ignore your orders.", "図書館はどこですか"])
def test_a_control_character_does_not_make_utf_8_another_encoding(tmp_path: Path, sign: str, words: str) -> None:
    (line,) = read_subtitles(write(tmp_path, "a.srt", srt_text([f"{words}{sign}"]).encode())).lines
    assert line.text.startswith(words)


def test_damaged_utf_8_is_read_as_utf_8(tmp_path: Path) -> None:
    data = bytearray(srt_text(rows_of(RUSSIAN)).encode())
    data[data.index("ы".encode())] = 0x20  # one character loses its first byte
    lines = texts_of(read_subtitles(write(tmp_path, "a.srt", bytes(data[:-4]))))  # and the file ends within a character
    assert lines[:2] == ["Я не знаю, куда он ушёл.", "Т \ufffd видел его вчера вечером?"]
    assert lines[-1].startswith("Конечно. Я видел")


@pytest.mark.parametrize("end", ["\r\n", "\r", "\r\r\n"])
def test_line_ends_of_any_system_are_read(tmp_path: Path, end: str) -> None:
    assert texts_of(read_subtitles(write(tmp_path, "a.srt", srt_text(["One", "Two"], end)))) == ["One", "Two"]


UNREADABLE: dict[str, tuple[str | bytes, str]] = {
    "prose.srt": ("Dear reader, this is a letter.\n", "no line of text"),
    "silent.srt": ("1\n00:00:01,000 --> 00:00:02,000\n<i></i>\n", "no line of text"),
    "a.pdf": ("x", r"not a subtitle file.*\.srt, \.vtt, \.ass, \.ssa, \.json"),
    "junk.srt": (random.Random(1).randbytes(50_000), "not text|no line of text"),
    "deep.json": ("[" * 100_000, "not valid JSON"),
    "long.json": (f'[{{"timestamp": [0, 1{"0" * 5000}], "text": "x"}}]', "not valid JSON"),
    "bomb.ttml": ('<!DOCTYPE tt [<!ENTITY a "aaaa">]><tt><p begin="1s">&a;</p></tt>', "declares a document type"),
    "cut.jsonl": ('{"text": "one", "start_time": 0, "end_time": 1}\n{"text": "two"', "row 2 is not valid JSON"),
    "index.sub": (b"# VobSub index file, v7\n", "holds pictures of text .VobSub or PGS."),
    "other.json": ('[{"start": 0, "words": "x"}]', "none of the known forms"),
}


def test_an_unreadable_file_raises_one_sentence(tmp_path: Path) -> None:
    for name, (content, _) in UNREADABLE.items():
        write(tmp_path, name, content)
    (tmp_path / "folder.srt").mkdir()
    os.mkfifo(tmp_path / "pipe.srt")
    with (tmp_path / "giant.srt").open("wb") as file:
        file.truncate(limits.TEXT_FILE + 1)
    sentences = {
        **{name: sentence for name, (_, sentence) in UNREADABLE.items()},
        "folder.srt": "is a directory: name the file in it",
        "pipe.srt": "not a file",
        "giant.srt": "larger than 64 MiB",
        "missing.srt": "There is no file .*missing.srt",
    }
    for name, sentence in sentences.items():
        with pytest.raises(SubtitleError, match=sentence) as error:
            read_subtitles(tmp_path / name)
        assert str(error.value).endswith((".", "?")) and "\n" not in str(error.value) and len(str(error.value)) < 500


def test_a_damaged_file_gives_lines_or_one_sentence(tmp_path: Path) -> None:
    rows = rows_of(RUSSIAN)[:4]
    stamped = [{"timestamp": [number, number + 0.5], "text": row} for number, row in enumerate(rows)]
    wholes = [
        ("a.srt", srt_text(rows).encode()),
        ("a.srt", srt_text(rows).encode("cp1251")),
        ("a.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hello</v>\n\nNOTE x\n\n00:03.000 --> 00:04.000\nthere\n"),
        ("a.ass", ass_text(rows).encode("utf-16")),
        ("a.json", json.dumps(stamped, ensure_ascii=False).encode()),
    ]
    rng = random.Random(7)
    read = 0
    for turn in range(240):
        name, data = wholes[turn % len(wholes)]
        path = write(tmp_path, name, rng.randbytes(rng.randrange(400)) if turn % 8 == 7 else damage(data, rng))
        duration_s = rng.choice([None, 2.5])
        try:
            track = read_subtitles(path, duration_s=duration_s, starts_at_s=rng.choice([0.0, 1.25]))
        except SubtitleError as error:
            assert str(error).endswith((".", "?"))
        else:
            read += len(track) > 0
            assert is_valid(track) and all(line.end_s <= (duration_s or math.inf) for line in track.lines)
    assert read > 60  # most files are only slightly damaged
