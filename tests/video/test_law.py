"""Promise 13 as a law: a frame is the same whatever else is asked, how, and of which reader.

Any file of the decode matrix, any set of times: unsorted, repeated, at the boundaries of frames
and a microsecond beside them, at the very end. They are cut into requests in any way, asked one
after the other or by several threads, of one warm reader or of a new one for each request. Each
frame equals the one that a new reader returns when it is asked for nothing else.

`LAW_EXAMPLES=500 pytest tests/video/test_law.py` searches longer, with examples drawn anew.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from video.decode_matrix import FPS, FRAMES, Row, encoded, rows

from atlaskit.errors import FrameError
from atlaskit.video.readers import Pixels
from atlaskit.video.readers.pyav import PyAVReader

os.environ.setdefault("SVT_LOG", "1")  # silences the AV1 encoder
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
    row=st.sampled_from(list(rows())),
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
