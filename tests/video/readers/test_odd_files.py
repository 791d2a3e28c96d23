"""Files whose containers tell wrong what they hold: shown as FFmpeg decodes them in order.

`ALL_FILES=1 pytest -s tests/video/readers/test_odd_files.py` takes every file of the rule, and
tells how many of each had an index made.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.media import frame_number
from support.odd_files import CODECS, ODDITIES, OddFile, files_to_test, make_odd_file, numbers_shown

from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError
from atlaskit.video.opening import open_video
from atlaskit.video.readers.made import MadeSource

ROWS = files_to_test()
VERDICTS: Counter[tuple[str, str, bool]] = Counter()


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
    VERDICTS[row.codec, row.oddity, isinstance(reader._source, MadeSource)] += 1


def numbers(frames: list) -> list[int | str]:  # type: ignore[type-arg]
    return [str(frame) if isinstance(frame, FrameError) else frame_number(frame) for frame in frames]


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    if sum(VERDICTS.values()) > len(ROWS) / 2:
        print(f"\n| {sum(VERDICTS.values())} files | {' | '.join(CODECS)} |\n|---|{'---|' * len(CODECS)}")
        for oddity in ODDITIES:
            counts = [[VERDICTS[codec, oddity, is_made] for is_made in (False, True)] for codec in CODECS]
            print(f"| {oddity} | " + " | ".join(f"{place} / {made}" for place, made in counts) + " |")
