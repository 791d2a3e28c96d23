"""Reading subtitle files: errors, times, damage."""

from __future__ import annotations

import json
import math
import os
import random
from pathlib import Path

import pytest
from video.subtitle_files import ASS_HEADER, RUSSIAN, Write, ass_text, damage, is_valid, rows_of, srt_text, texts_of

from atlaskit import limits
from atlaskit.errors import InputError, SubtitleError
from atlaskit.video.subtitles import read_embedded, read_subtitles


def test_an_unreadable_file_raises_one_sentence(write: Write, tmp_path: Path) -> None:
    write("prose.srt", "Dear reader, this is a letter.\n")
    write("empty.vtt", "")
    write("silent.srt", "1\n00:00:01,000 --> 00:00:02,000\n<i></i>\n")
    write("styles.ass", ASS_HEADER)
    write("a.pdf", "x")
    write("junk.srt", random.Random(1).randbytes(50_000))
    write("broken.json", '[{"start": ')
    write("deep.json", "[" * 100_000)
    write("other.json", '[{"start": 0, "words": "x"}]')
    write("long.json", f'[{{"timestamp": [0, 1{"0" * 5000}], "text": "x"}}]')
    (tmp_path / "folder.srt").mkdir()
    os.mkfifo(tmp_path / "pipe.srt")
    with (tmp_path / "giant.srt").open("wb") as file:
        file.truncate(limits.TEXT_FILE + 1)
    for name, sentence in [
        *(("prose.srt", "no line of text"), ("empty.vtt", "no line of text"), ("silent.srt", "no line of text")),
        *(("styles.ass", "no line of text"), ("a.pdf", r"not a subtitle file.*\.srt, \.vtt, \.ass, \.ssa, \.json")),
        *(("missing.srt", "There is no file .*missing.srt"), ("zero\0.srt", "cannot be read")),
        *(("folder.srt", "is a directory: name the file in it"), ("junk.srt", "not text|no line of text")),
        ("pipe.srt", "not a file"),
        *(("giant.srt", "larger than 64 MiB"), ("broken.json", "not valid JSON"), ("deep.json", "not valid JSON")),
        *(("other.json", "none of the known forms"), ("long.json", "not valid JSON")),
    ]:
        with pytest.raises(SubtitleError, match=sentence) as error:
            read_subtitles(tmp_path / name)
        assert str(error.value).endswith((".", "?")) and "\n" not in str(error.value) and len(str(error.value)) < 500


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_line_ends_of_any_system_are_read(write: Write, end: str) -> None:
    assert texts_of(read_subtitles(write("a.srt", srt_text(["One", "Two"], end)))) == ["One", "Two"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_invalid_times_raise(write: Write, value: float) -> None:
    path = write("a.srt", srt_text(["x"]))
    for options in ({"starts_at_s": value}, {"duration_s": value}):
        with pytest.raises(InputError, match="seconds"):
            read_subtitles(path, **options)
    for duration_s in (0.0, -1.0):
        with pytest.raises(InputError, match="duration_s"):
            read_subtitles(path, duration_s=duration_s)
    with pytest.raises(InputError):
        read_embedded(path, origin_s=value)


def test_a_damaged_file_gives_lines_or_one_sentence(write: Write) -> None:
    rows = rows_of(RUSSIAN)[:4]
    stamped = [
        {"timestamp": [number, None if number == 2 else number + 0.5], "text": row} for number, row in enumerate(rows)
    ]
    clocks = [
        {"start": f"00:00:0{number}.000", "end": f"00:00:0{number}.900", "line": row} for number, row in enumerate(rows)
    ]
    seeds: list[tuple[str, bytes]] = [
        *(("a.srt", srt_text(rows).encode()), ("a.srt", srt_text(rows).encode("cp1251"))),
        ("a.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hello</v>\n\nNOTE x\n\n00:03.000 --> 00:04.000\nthere\n"),
        *(("a.ass", ass_text(rows).encode("utf-16")), ("a.ssa", ass_text(["{\\i1}a{\\p1}b", "c"]).encode())),
        *(("a.json", json.dumps(stamped).encode()), ("a.json", json.dumps(clocks, ensure_ascii=False).encode())),
    ]
    rng, read = random.Random(7), 0
    for turn in range(240):
        name, data = seeds[turn % len(seeds)]
        content = rng.randbytes(rng.randrange(400)) if turn % 8 == 7 else damage(data, rng)
        duration_s = rng.choice([None, 2.5])
        try:
            track = read_subtitles(write(name, content), duration_s=duration_s, starts_at_s=rng.choice([0.0, 1.25]))
        except SubtitleError as error:
            assert str(error).endswith((".", "?"))
        else:
            read += len(track) > 0
            assert is_valid(track) and all(line.end_s <= (duration_s or math.inf) for line in track.lines)
    assert read > 60  # most files are only slightly damaged
