"""`Subtitles.save`: an SRT file that is read back as the same track."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atlaskit.errors import InputError
from atlaskit.video.subtitles import Line, Subtitles, read_subtitles

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).map(
    lambda text: " ".join(text.replace("\ufeff", "").split())
)
MILLISECONDS = st.integers(0, 40_000_000)


@given(st.lists(st.tuples(MILLISECONDS, st.integers(1, 60_000), TEXT.filter(bool)), min_size=1, max_size=8))
@example([(0, 1000, "<b>bold</b> & {\\an8}A&amp;B -> C\\N <br> a < b")])
@example([(0, 1000, "00:00:01,000 --> 00:00:02,000"), (2000, 500, "7"), (3000, 500, "WEBVTT")])
@example([(0, 500, "\ufffd\ufffd"), (700, 100, "ü"), (800, 1, "日本語")])
@example([(0, 500, "Don't say \x85 that"), (700, 100, "1"), (900, 100, "2")])
def test_what_is_written_is_read(tmp_path: Path, rows: list[tuple[int, int, str]]) -> None:
    lines = [
        # No two lines begin alike: they would be taken for rolling captions.
        Line(start / 1000, (start + length) / 1000, " ".join(text.replace("\x85", " ").split()) + f" {number}")
        for number, (start, length, text) in enumerate(rows)
    ]
    track = Subtitles(tuple(lines))
    track.save(tmp_path / "x.srt")
    found = read_subtitles(tmp_path / "x.srt")
    assert sorted(found.lines, key=str) == sorted(track.lines, key=str)


@pytest.mark.parametrize("lead_s", [0.0, 0.0213, 1.4, 36_000.123456])
def test_times_count_from_where_the_video_begins(tmp_path: Path, lead_s: float) -> None:
    track = Subtitles((Line(0.0, 1.25, "a"), Line(2.0, 9.99, "b")))
    track.save(tmp_path / "x.srt", starts_at_s=lead_s)
    found = read_subtitles(tmp_path / "x.srt", starts_at_s=lead_s, duration_s=9.99)
    for line, other in zip(found.lines, track.lines, strict=True):
        assert (line.start_s, line.end_s) == pytest.approx((other.start_s, other.end_s), abs=0.0011)
    assert found.lines[0].start_s == 0.0 and found.lines[-1].end_s == 9.99


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    track = Subtitles((Line(0.0, 1.0, "a"),))
    (tmp_path / "folder.srt").mkdir()
    for path, message in (
        (tmp_path / "x.vtt", r"must end in \.srt"),
        (tmp_path / "no" / "x.srt", "cannot be written"),
        (tmp_path / "folder.srt", "cannot be written"),
    ):
        with pytest.raises(InputError, match=message):
            track.save(path)
    with pytest.raises(InputError, match="no lines"):
        Subtitles().save(tmp_path / "x.srt")
    with pytest.raises(InputError, match="starts_at_s must be a finite number"):
        track.save(tmp_path / "x.srt", starts_at_s=float("nan"))
    with pytest.raises(InputError, match="begins at 0 s"):
        track.save(tmp_path / "x.srt", starts_at_s=-5.0)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.srt"]
