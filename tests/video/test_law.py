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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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
EXAMPLES_OF_A_RUN = 20
MICROSECOND = 1e-6
Answer = Pixels | FrameError


@dataclass(frozen=True)
class Asking:
    """How a set of times is asked for.

    Attributes:
        places: Each time as a frame's index and an offset from its start in seconds; an index of
            FRAMES or more means that many frames before the end.
        cuts: Where the list of times is cut into requests.
        is_parallel: Whether several threads ask at once.
        is_warm: Whether one reader gets all requests; otherwise each gets a new one.
    """

    places: tuple[tuple[int, float], ...]
    cuts: frozenset[int]
    is_parallel: bool
    is_warm: bool

    def times(self, duration_s: float) -> list[float]:
        """Return the seconds, all of them in the video."""
        last = math.nextafter(duration_s, 0.0)
        seconds = []
        for index, offset_s in self.places:
            start_s = index / FPS if index < FRAMES else duration_s - (index - FRAMES) / FPS
            seconds.append(min(max(0.0, start_s + offset_s), last))
        return seconds

    def requests(self, duration_s: float) -> list[list[float]]:
        """Return the seconds of each request."""
        times = self.times(duration_s)
        bounds = [0, *sorted(cut for cut in self.cuts if cut < len(times)), len(times)]
        return [times[low:high] for low, high in zip(bounds, bounds[1:], strict=False)]


OFFSETS_S = (0.0, MICROSECOND, -MICROSECOND, 0.5 / FPS, -1e-9, 1e-9)
PLACES = st.tuples(
    st.integers(0, FRAMES + 3), st.sampled_from(OFFSETS_S) | st.floats(-1.0, 1.0, allow_nan=False, width=32)
)
ASKINGS = st.builds(
    Asking,
    places=st.lists(PLACES, min_size=1, max_size=9).flatmap(
        lambda places: st.lists(st.sampled_from(places), max_size=3).map(lambda again: (*places, *again))
    ),
    cuts=st.frozensets(st.integers(1, 11), max_size=4),
    is_parallel=st.booleans(),
    is_warm=st.booleans(),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("law")


def ask(path: Path, asking: Asking, reader: PyAVReader) -> list[Answer]:
    """Return the answers to all requests, in order of the times."""

    def answers(times_s: Sequence[float]) -> list[Answer]:
        asked = reader if asking.is_warm else PyAVReader(path, path.parent / "streams")
        return list(asked.try_frames(times_s, reader.size))

    requests = asking.requests(reader.duration_s)
    if not asking.is_parallel:
        return [answer for request in requests for answer in answers(request)]
    with ThreadPoolExecutor(4) as pool:
        return [answer for part in pool.map(answers, requests) for answer in part]


def are_equal(one: Answer, other: Answer) -> bool:
    if isinstance(one, FrameError) or isinstance(other, FrameError):
        return isinstance(one, FrameError) and isinstance(other, FrameError) and str(one) == str(other)
    return np.array_equal(one, other)


def check(folder: Path, row: Row, asking: Asking) -> None:
    """Fail if a frame differs from the one asked for alone of a new reader."""
    path = encoded(folder, row)
    if path is None:
        return
    reader = PyAVReader(path, path.parent / "streams")
    times = asking.times(reader.duration_s)
    note(f"{row}: requests {asking.requests(reader.duration_s)}")
    found = ask(path, asking, reader)
    assert len(found) == len(times)
    for time_s, answer in zip(times, found, strict=True):
        alone = PyAVReader(path, path.parent / "streams").try_frames([time_s], reader.size)[0]
        assert are_equal(answer, alone), f"{row} at {time_s!r} s, asked for with {times}"


@settings(
    max_examples=EXAMPLES or EXAMPLES_OF_A_RUN, derandomize=not EXAMPLES, print_blob=True, database=None, deadline=None
)
@given(row=st.sampled_from(list(rows())), asking=ASKINGS)
def test_a_frame_does_not_depend_on_what_else_is_asked(folder: Path, row: Row, asking: Asking) -> None:
    check(folder, row, asking)
