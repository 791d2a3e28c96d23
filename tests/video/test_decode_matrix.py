"""Promise 2 on the files people have: random access shows, to the pixel, what playing the file from its start shows.

`pytest -s -k matrix` prints the table that docs/your-own-video.md keeps.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.decode_matrix import FPS, FRAMES, TRAITS, Row, film, rows, shown_size, turned
from support.media import make, number_in, played, shown_at

from atlaskit.errors import FrameError, VideoError
from atlaskit.video.opening import open_video
from atlaskit.video.video import ReaderName

os.environ.setdefault("SVT_LOG", "1")  # the AV1 encoder tells its life otherwise
RANDOM_TIMES = 36
ALONE = 9
"""How many of them are also asked for one by one, both ends among them: some two in each group of pictures."""
IN_TURN = 30
"""So many frames up to the last are asked for one after the other: over a keyframe, and the end."""
OTHER_DECODER = 3
"""Two builds of FFmpeg may round an MPEG-4 frame this differently."""
Played = list[tuple[float, int, np.ndarray]]
VERDICTS: dict[tuple[str, Row], str] = {}
READERS: tuple[ReaderName, ...] = ("pyav", "decord")


def same_film(path: Path, film: Played, row: Row, reader: ReaderName) -> str:
    """Compare random access with playing; return "exact" or "refused"."""
    try:
        video = open_video(path, reader=reader)
    except VideoError as error:
        assert reader == "decord" and 'use reader="pyav"' in str(error), error
        return "refused"
    assert video.size == shown_size(row)
    assert video.duration_s == pytest.approx(film[-1][0] + 1 / FPS, abs=0.05)
    rng = random.Random(str(row))
    times = [0.0, video.duration_s - 1e-3, *(rng.uniform(0, video.duration_s) for _ in range(RANDOM_TIMES))]
    expected = [shown_at(film, time_s) for time_s in times]
    for time_s, number, _ in film[-IN_TURN:]:  # one after the other, as a player asks
        upright = np.rot90(video.frames([time_s])[0], -turned(row) // 90)
        assert number_in(upright) == number, f"in turn, at {time_s} s"
    together = video.try_frames(times)
    assert len(together) == len(times)
    one_by_one = [video.try_frames([time_s])[0] for time_s in times[:ALONE]]
    for frames in (together, one_by_one):
        for time_s, frame, (number, pixels) in zip(times, frames, expected, strict=False):
            assert not isinstance(frame, FrameError), frame
            assert frame.shape[1::-1] == video.size
            upright = np.rot90(frame, -turned(row) // 90)
            assert number_in(upright) == number, f"at {time_s} s"
            if upright.shape == pixels.shape:
                tolerance = OTHER_DECODER if reader == "decord" else 0
                assert np.abs(upright.astype(np.int16) - pixels).max() <= tolerance, f"pixels at {time_s} s"
    return "exact"


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="priorities are Linux's")
def test_making_a_film_leaves_the_priority_as_it_was(tmp_path: Path) -> None:
    before = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    make(tmp_path / "film.mkv", "libsvtav1", 5, preset="12")
    assert (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority) == before


@pytest.mark.parametrize("row", list(rows()), ids=str)
def test_matrix(tmp_path: Path, row: Row) -> None:
    try:
        path = film(row, tmp_path)
    except LookupError as tool:
        pytest.skip(f"no {tool} here, which PyAV's own encoders would need for this row")
    shown = played(path)
    assert [number for _, number, _ in shown] == list(range(FRAMES - len(shown), FRAMES)), "the film is right"
    for reader in READERS:
        if reader != "decord" or find_spec("decord"):  # it has wheels for Linux on x86 alone
            VERDICTS[reader, row] = same_film(path, shown, row, reader)


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    if len(VERDICTS) < 50:
        return
    signs = {"exact": "✓", "refused": "refused", None: "·"}
    for reader in READERS:
        print(f'\n\n## `reader="{reader}"`\n\n| | {" | ".join(TRAITS)} |\n|{"---|" * (len(TRAITS) + 1)}')
        for name in dict.fromkeys((row.codec, row.container) for _, row in VERDICTS):
            found = [VERDICTS.get((reader, Row(*name, trait))) for trait in TRAITS]
            print(f"| {' in '.join(name)} | {' | '.join(signs[verdict] for verdict in found)} |")
