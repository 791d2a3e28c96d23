"""Promise 2 on real files: random access returns the pixels that playing from the start shows.

`ALL_FILES=1 pytest -k matrix` takes all rows.
"""

from __future__ import annotations

import os
import random
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.media import frame_number, frame_shown_at, played_frames
from video.decode_matrix import FPS, FRAMES, Row, encode_row, rows_to_test, shown_size, sound_s

from atlaskit.errors import FrameError, VideoError
from atlaskit.video.file import ReaderName
from atlaskit.video.opening import open_video

os.environ.setdefault("SVT_LOG", "1")  # silences the AV1 encoder
RANDOM_TIMES = 36
SINGLE_REQUESTS = 9
"""How many of them are also requested one by one, both ends among them: about two in each GOP."""
LAST_FRAMES = 30
"""How many frames at the end are requested in order, which crosses a keyframe."""
DECORD_TOLERANCE = 3
"""Largest difference of a pixel between two builds of FFmpeg, for MPEG-4."""
Played = list[tuple[float, int, np.ndarray]]
READERS: tuple[ReaderName, ...] = ("pyav", "decord")


def compare(path: Path, played: Played, row: Row, reader: ReaderName) -> None:
    """Compare random access with playing from the start; decord may refuse a file."""
    try:
        video = open_video(path, reader=reader)
    except VideoError as error:
        assert reader == "decord" and 'use reader="pyav"' in str(error), error
        return
    assert video.size == shown_size(row)
    assert video.duration_s == pytest.approx(max(played[-1][0] + 1 / FPS, sound_s(row)), abs=0.05)
    rng = random.Random(str(row))
    times = [0.0, video.duration_s - 1e-3, *(rng.uniform(0, video.duration_s) for _ in range(RANDOM_TIMES))]
    expected = [frame_shown_at(played, time_s) for time_s in times]
    for time_s, number, _ in played[-LAST_FRAMES:]:  # one after the other, as in a player
        assert frame_number(video.frames([time_s])[0]) == number, f"in order, at {time_s} s"
    together = video.try_frames(times)
    assert len(together) == len(times)
    one_by_one = [video.try_frames([time_s])[0] for time_s in times[:SINGLE_REQUESTS]]
    for frames in (together, one_by_one):
        for time_s, frame, (number, pixels) in zip(times, frames, expected, strict=False):
            assert not isinstance(frame, FrameError), frame
            assert frame.shape[1::-1] == video.size
            assert frame_number(frame) == number, f"at {time_s} s"
            if frame.shape == pixels.shape:
                tolerance = DECORD_TOLERANCE if reader == "decord" else 0
                assert np.abs(frame.astype(np.int16) - pixels).max() <= tolerance, f"pixels at {time_s} s"


@pytest.mark.family
@pytest.mark.parametrize("row", rows_to_test(), ids=str)
def test_matrix(tmp_path: Path, row: Row) -> None:
    try:
        path = encode_row(row, tmp_path)
    except LookupError as tool:
        pytest.skip(f"{tool} is not installed, and PyAV cannot encode this row")
    shown = played_frames(path)
    assert [number for _, number, _ in shown] == list(range(FRAMES - len(shown), FRAMES)), "the encoded file is right"
    for reader in READERS:
        if reader != "decord" or find_spec("decord"):  # decord has wheels for Linux on x86 only
            compare(path, shown, row, reader)
