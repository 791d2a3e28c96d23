"""Promises 2 and 13 on real files: random access returns the pixels that playing shows.

Promise 13 is a law: any file of the matrix is asked for any times, unsorted, repeated, at the
boundaries of frames and beside them, cut into requests in any way, one after the other or by
several threads, of one warm reader or of new ones. Each frame is the one that a new reader returns
when it is asked for nothing else.

`ALL_FILES=1 pytest -k matrix` takes all rows; `LAW_EXAMPLES=500 pytest -k depend` searches longer.
"""

from __future__ import annotations

import math
import os
import random
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from support.media import frame_number, frame_shown_at, played_frames
from video.decode_matrix import FPS, FRAMES, TRAITS, MissingTool, Row, encode_row, encoded, rows, rows_to_test

from atlaskit.errors import FrameError, VideoError
from atlaskit.video.file import ReaderName
from atlaskit.video.opening import open_video
from atlaskit.video.readers import Pixels
from atlaskit.video.readers.pyav import PyAVReader

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
    assert video.size == TRAITS[row.trait].shown_size
    assert video.duration_s == pytest.approx(max(played[-1][0] + 1 / FPS, row.sound_s), abs=0.05)
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
    except MissingTool as tool:
        pytest.skip(f"{tool} is not installed, and PyAV cannot encode this row")
    shown = played_frames(path)
    assert [number for _, number, _ in shown] == list(range(FRAMES - len(shown), FRAMES)), "the encoded file is right"
    for reader in READERS:
        if reader != "decord" or find_spec("decord"):  # decord has wheels for Linux on x86 only
            compare(path, shown, row, reader)


EXAMPLES = int(os.environ.get("LAW_EXAMPLES", "0"))
"""Number of examples to draw at random; 0 for the few of every run, always the same."""
Answer = Pixels | FrameError
PLACES = st.tuples(
    st.integers(0, FRAMES + 3),
    st.sampled_from([0.0, 1e-6, -1e-6, 0.5 / FPS, -1e-9, 1e-9]) | st.floats(-1.0, 1.0, width=32),
)
"""A time: the index of a frame, and an offset in seconds; from FRAMES on it counts from the end."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("law")


def new_reader(path: Path) -> PyAVReader:
    return PyAVReader(path, path.parent / "streams")


def are_equal(one: Answer, other: Answer) -> bool:
    if isinstance(one, FrameError) or isinstance(other, FrameError):
        return isinstance(one, FrameError) and isinstance(other, FrameError) and str(one) == str(other)
    return np.array_equal(one, other)


def seconds_of(place: tuple[int, float], duration_s: float) -> float:
    """Return a place as a second of the video."""
    index, offset_s = place
    start_s = index / FPS if index < FRAMES else duration_s - (index - FRAMES) / FPS
    return min(max(0.0, start_s + offset_s), math.nextafter(duration_s, 0.0))


@settings(max_examples=EXAMPLES or 20, derandomize=not EXAMPLES, print_blob=True, database=None, deadline=None)
@given(
    row=st.sampled_from(rows()),
    places=st.lists(PLACES, min_size=1, max_size=9),
    repeats=st.lists(st.integers(0, 8), max_size=3),
    cuts=st.frozensets(st.integers(1, 11), max_size=4),
    is_parallel=st.booleans(),
    is_warm=st.booleans(),
)
def test_a_frame_does_not_depend_on_what_else_is_asked(
    folder: Path,
    row: Row,
    places: list[tuple[int, float]],
    repeats: list[int],
    cuts: frozenset[int],
    is_parallel: bool,
    is_warm: bool,
) -> None:
    path = encoded(folder, row)
    if path is None:
        return
    reader = new_reader(path)
    times = [seconds_of(place, reader.duration_s) for place in places]
    times += [times[index % len(places)] for index in repeats]
    bounds = [0, *sorted(cut for cut in cuts if cut < len(times)), len(times)]
    requests = [times[low:high] for low, high in pairwise(bounds)]
    note(f"{row}: requests {requests}")

    def answers(times_s: list[float]) -> list[Answer]:
        return list((reader if is_warm else new_reader(path)).try_frames(times_s, reader.size))

    with ThreadPoolExecutor(4 if is_parallel else 1) as pool:
        found = [answer for part in pool.map(answers, requests) for answer in part]
    for time_s, answer in zip(times, found, strict=True):
        (alone,) = new_reader(path).try_frames([time_s], reader.size)
        assert are_equal(answer, alone), f"{row} at {time_s!r} s, asked for with {times}"
