"""Fingerprints of files."""

from __future__ import annotations

from pathlib import Path

from support.media import make_video

from atlaskit.video.fingerprint import file_fingerprint
from atlaskit.video.opening import open_video


def test_equal_files_have_equal_fingerprints(tmp_path: Path) -> None:
    first = make_video(tmp_path / "a b ü.mp4", frames=30)
    copy = tmp_path / "elsewhere.mp4"
    copy.write_bytes(first.read_bytes())
    assert open_video(first).fingerprint == open_video(copy).fingerprint
    assert open_video(make_video(tmp_path / "c.mp4", frames=31)).fingerprint != open_video(first).fingerprint


def test_a_fingerprint_reads_a_bounded_part_of_the_file(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(50 << 30)  # a sparse file of 50 GB, which would take minutes to read
    assert len(file_fingerprint(large)) == 64
