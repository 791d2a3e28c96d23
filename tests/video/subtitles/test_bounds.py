"""A subtitle file of any content is read, or refused, in a time and a memory that are bounded.

What is read is one fragment over and over.
"""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.bounded import check_takes, literals, processor_s, repeated

from atlaskit import limits
from atlaskit.errors import AtlasError, SubtitleError
from atlaskit.video.names import local_path
from atlaskit.video.subtitles import read_subtitles
from atlaskit.video.tracks import same_language, tags_of

SUFFIXES = (".srt", ".vtt", ".ass", ".ttml", ".json", ".jsonl", ".sub", ".smi", ".lrc", ".sbv", ".tsv")
BEGINNINGS = {".vtt": "WEBVTT\n\n", ".ttml": "<tt><p>", ".json": "[", ".sub": "{1}{2}", ".smi": "<sami>"}
SIZE = 120_000
MOST_S, MOST_BYTES = 0.6, 100_000_000
"""For a file of SIZE. What is quadratic takes minutes, or gigabytes; the buffer has 64 MiB."""
HOSTILE = (
    *("\n", "<x>", "<x/>", "{}", "[", "[],", "{},", "0,", '"', "1:1,1-->1:1,1\n", "1\n1:1,1-->1:1,1\n\n", "é"),
    *("[0:00]a\n", "<sync start=1>", "Dialogue: 0,0:00:01,0:00:02,,,0,0,0,,a\n", "{1}{2}a\n", "1\t2\ta\n", "{\\p1}"),
    *("&#34;", "WEBVTT\n", '{"start":0,"end":1,"text":"a"},', "<b.", "{\\p", "\r", "<00:", "-->", "[a"),
)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_file_is_read_or_refused_at_once_and_in_little_memory(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    for number, fragment in enumerate(HOSTILE):
        path.write_text(BEGINNINGS.get(suffix, "") + repeated(fragment, SIZE), "utf-8")
        check_takes(MOST_S, read_subtitles, path)
        if (number + SUFFIXES.index(suffix)) % 3 == 0:
            tracemalloc.start()
            processor_s(read_subtitles, path)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak <= MOST_BYTES, (fragment, peak)


@pytest.mark.long
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_literal_of_the_parsers_holds_them(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    for fragment in literals(*(f"video/subtitles/{name}" for name in ("rows", "text", "files", "documents"))):
        path.write_text(BEGINNINGS.get(suffix, "") + repeated(fragment, SIZE), "utf-8")
        check_takes(MOST_S, read_subtitles, path)


@pytest.mark.parametrize(
    ("row", "count", "limit"), [("a\n", limits.ROWS, limits.ROWS), ("<", limits.MARKS + 1, limits.MARKS)]
)
def test_what_is_longer_than_any_subtitles_is_refused(tmp_path: Path, row: str, count: int, limit: int) -> None:
    path = tmp_path / "v.srt"
    path.write_text(f"1\n00:00:01,000 --> 00:00:02,000\n{row * count}")
    with pytest.raises(SubtitleError, match=f"more than .*{limit:,}"):
        read_subtitles(path)


def test_a_long_line_a_long_tag_and_a_long_path_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "v.srt"
    path.write_text(f"1\n00:00:01,000 --> 00:00:02,000\n{'ab ' * limits.LINE}")
    (line,) = read_subtitles(path).lines
    assert len(line.text) <= limits.LINE and line.text.startswith("ab ab")

    stream = SimpleNamespace(metadata={"Title": "x" * 10_000_000})
    assert tags_of(stream) == {"title": "x" * limits.TAG}  # type: ignore[arg-type]
    with pytest.raises(AtlasError, match=f"{limits.PATH} bytes"):
        local_path("https://a/" + "b/" * 1_000_000)
    with pytest.raises(AtlasError, match="A language is"):
        same_language("x" * 1_000_000, "en")
