"""Files whose containers tell wrong what they hold: shown as FFmpeg decodes them in order.

`ALL_FILES=1 pytest tests/video/readers/test_odd_files.py` takes every file of the rule.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.media import frame_number
from video.odd_files import OddFile, files_to_test, make_odd_file, numbers_shown

from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError
from atlaskit.video.opening import open_video

ROWS = files_to_test()


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=[pytest.mark.long] * (number >= 16)) for number, row in enumerate(ROWS)], ids=str
)
def test_an_odd_file_is_shown_as_it_is_played(row: OddFile, tmp_path: Path) -> None:
    """Every picture is right, in one request, in any order, and alone."""
    path, cache, rng = make_odd_file(row, tmp_path), Cache(tmp_path / "cache"), random.Random(str(row))
    expected = numbers_shown(row, path)
    video = open_video(path, cache=cache)
    reader = video._reader  # type: ignore[attr-defined]
    times = [time_s + 1e-3 for time_s in reader.frame_times()]
    assert numbers(video.try_frames(times)) == expected
    shuffled = rng.sample(range(len(times)), len(times))
    again = open_video(path, cache=cache)
    assert numbers([again.try_frames([times[index]])[0] for index in shuffled]) == [expected[i] for i in shuffled]
    for index in rng.sample(range(len(times)), 3):
        assert numbers(open_video(path, cache=cache).try_frames([times[index]])) == [expected[index]]


def numbers(frames: list) -> list[int | str]:  # type: ignore[type-arg]
    return [str(frame) if isinstance(frame, FrameError) else frame_number(frame) for frame in frames]
