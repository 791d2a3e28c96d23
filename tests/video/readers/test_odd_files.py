"""Files whose containers tell wrong, or not at all, what they hold: shown as FFmpeg decodes them.

Each is a codec in a container, with B-frames or not, and with one oddity. What FFmpeg decodes of
it in order is what must be shown, but for pictures that need others which are not there.
`ALL_FILES=1 pytest tests/video/readers/test_odd_files.py` takes every file of the rule.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import NamedTuple

import av
import pytest
from support.media import decoded, frame_number, make_video
from video.decode_matrix import covering

from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError
from atlaskit.video.opening import open_video

SIZE, FRAMES, FPS, GOP = (160, 90), 90, 25, 30
CODECS: dict[str, tuple[str, dict[str, str]]] = {
    "h264": ("libx264", {"preset": "veryfast", "x264-params": "scenecut=0"}),
    "hevc": (
        "libx265",
        {"preset": "ultrafast", "x265-params": f"log-level=none:scenecut=0:keyint={GOP}:min-keyint={GOP}"},
    ),
    "mpeg4": ("mpeg4", {"sc_threshold": "1000000000"}),
    "mpeg2": ("mpeg2video", {"sc_threshold": "1000000000"}),
}
CONTAINERS = {
    "h264": ("mp4", "mkv", "ts", "flv", "mov", "nut"),
    "hevc": ("mp4", "mkv", "ts", "mov"),
    "mpeg4": ("mp4", "mkv", "avi", "mov"),
    "mpeg2": ("mp4", "mkv", "ts", "mpg"),
}
MARKING = ("mp4", "mkv", "mov", "nut")
"""Containers that mark keyframes."""
STREAMS = ("ts", "mpg")
"""Containers of which parts can be joined byte by byte; FLV as well, from a keyframe on."""
ODDITIES: dict[str, Callable[[str, str, int], bool]] = {
    "plain": lambda codec, container, b_frames: True,
    "pts = dts": lambda codec, container, b_frames: b_frames > 0 and container not in ("avi", "mpg", "ts"),
    "all marked": lambda codec, container, b_frames: container in MARKING,
    "none marked": lambda codec, container, b_frames: container in MARKING and container != "nut",
    "some marked": lambda codec, container, b_frames: container in MARKING,
    "begins in the middle": lambda codec, container, b_frames: True,
    "a gap": lambda codec, container, b_frames: container not in ("avi", "mpg"),
    "joined": lambda codec, container, b_frames: container in (*STREAMS, "flv"),
    "joined in the middle": lambda codec, container, b_frames: container in STREAMS,
    "several a packet": lambda codec, container, b_frames: container == "ts" and codec != "mpeg4",
    "late": lambda codec, container, b_frames: container not in ("avi", "mpg"),
    "a tail of zeros": lambda codec, container, b_frames: container in STREAMS,
    "refreshed": lambda codec, container, b_frames: codec == "h264" and container != "nut",
    # Of a transport stream, the muxer would write the codec's parameters nowhere.
    "refreshed, begins late": lambda codec, container, b_frames: codec == "h264" and container not in ("nut", "ts"),
}
"""For each oddity, whether such a file of a codec, in a container, with B-frames can be written."""


class Row(NamedTuple):
    """A packet: its bytes, times in frames, mark, and length in frames."""

    data: bytes
    pts: int
    dts: int
    is_keyframe: bool


class OddFile(NamedTuple):
    """One file of the rule."""

    codec: str
    container: str
    b_frames: int
    oddity: str

    def __str__(self) -> str:
        return f"{self.codec} · {self.container} · {self.b_frames} B · {self.oddity}"


def odd_files() -> list[OddFile]:
    """Return all files of the rule."""
    every = (
        OddFile(codec, container, b_frames, oddity)
        for codec, containers in CONTAINERS.items()
        for container, b_frames, oddity in product(containers, (0, 2), ODDITIES)
    )
    return [row for row in every if ODDITIES[row.oddity](row.codec, row.container, row.b_frames)]


def pairs(row: OddFile) -> set[object]:
    """Return what some file of the test must have together."""
    return {(part, row.oddity) for part in row[:3]} | {row[:2]}


def files_to_test() -> list[OddFile]:
    """Return files with each oddity in every codec and container, and with and without B-frames."""
    return covering(random.Random(19).sample(odd_files(), len(odd_files())), pairs)


def make_odd_file(row: OddFile, folder: Path) -> Path:
    """Write a file of the rule."""
    path = folder / f"odd.{row.container}"
    source = _source(row, folder, 0)
    rows = _rows(source)
    if row.oddity == "pts = dts":
        times = sorted(each.pts for each in rows)
        rows = [each._replace(pts=at, dts=at) for each, at in zip(rows, times, strict=True)]
    elif row.oddity in ("all marked", "none marked"):
        rows = [each._replace(is_keyframe=row.oddity == "all marked") for each in rows]
    elif row.oddity == "some marked":  # most of the pictures that refer to others too
        rows = [each._replace(is_keyframe=each.is_keyframe or number % 3 > 0) for number, each in enumerate(rows)]
    elif row.oddity.startswith("refreshed"):  # marked where a decoder may begin to recover, and so only later is whole
        rows = [each._replace(is_keyframe=number % GOP == 0) for number, each in enumerate(rows)]
        rows = rows[GOP // 3 :] if "late" in row.oddity else rows
    elif row.oddity == "begins in the middle":
        rows = rows[GOP // 3 :]
    elif row.oddity == "a gap":  # before a keyframe, behind which nothing is shown that is from before it
        late = next(each.pts for each in rows[GOP // 2 :] if each.is_keyframe)
        number = max(n for n, each in enumerate(rows) if each.pts < late) + 1
        rows = [
            each._replace(pts=each.pts + 100 * (each.pts >= late), dts=each.dts + 100 * (n >= number))
            for n, each in enumerate(rows)
        ]
    elif row.oddity == "late":
        rows = [each._replace(pts=each.pts + 7_500, dts=each.dts + 7_500) for each in rows]
    elif row.oddity == "several a packet":
        rows = [rows[n]._replace(data=b"".join(each.data for each in rows[n : n + 3])) for n in range(0, len(rows), 3)]
    _mux(source, path, rows)
    if row.oddity == "a tail of zeros":
        path.write_bytes(path.read_bytes() + bytes(200_000))
    if row.oddity.startswith("joined"):
        other = folder / f"other.{row.container}"
        part = _rows(_source(row, folder, FRAMES))
        _mux(source, other, part[GOP // 3 :] if row.oddity == "joined in the middle" else part)
        path.write_bytes(path.read_bytes() + other.read_bytes()[13 if row.container == "flv" else 0 :])
    return path


def _source(row: OddFile, folder: Path, first: int) -> Path:
    codec, options = CODECS[row.codec]
    options = dict(options)
    if row.codec == "hevc":
        options["x265-params"] += f":bframes={row.b_frames}:b-adapt=0"
    else:
        options["bf"] = str(row.b_frames)
    if row.oddity.startswith("refreshed"):
        options["x264-params"] += f":intra-refresh=1:keyint={GOP}"
    path = folder / f"source-{first}.mp4"
    return make_video(path, codec, FRAMES, FPS, size=SIZE, gop=GOP, first=first, **options)


def _rows(path: Path) -> list[Row]:
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
        tick = container.streams.video[0].time_base * FPS
        later = -min(packet.dts for packet in packets)
        return [
            Row(bytes(each), round((each.pts + later) * tick), round((each.dts + later) * tick), each.is_keyframe)
            for each in packets
        ]


def _mux(source: Path, path: Path, rows: list[Row]) -> None:
    with av.open(str(source)) as container, av.open(str(path), "w") as target:
        stream = target.add_stream_from_template(container.streams.video[0])
        for each in rows:
            packet = av.Packet(each.data)
            packet.pts, packet.dts, packet.time_base = each.pts, each.dts, Fraction(1, FPS)
            packet.is_keyframe, packet.stream = each.is_keyframe, stream
            target.mux(packet)


def numbers_shown(row: OddFile, path: Path) -> list[int]:
    """Return the numbers of the pictures that must be shown, in order."""
    with av.open(str(path)) as container:
        frames = decoded(container, container.streams.video[0])
        played = [frame_number(frame.to_ndarray(format="rgb24")) for frame in frames]
    if "in the middle" not in row.oddity:
        return played
    # Some decoders show pictures before the first keyframe, which are broken.
    cut = range(GOP // 3, GOP) if row.oddity.startswith("begins") else range(FRAMES + GOP // 3, FRAMES + GOP)
    return sorted({number for number in played if number >= 0 and number not in cut})


ROWS = files_to_test()


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=[pytest.mark.long] * (number >= 16)) for number, row in enumerate(ROWS)], ids=str
)
def test_an_odd_file_is_shown_as_it_is_played(row: OddFile, tmp_path: Path, cache: Cache) -> None:
    """Every picture is right, in one request, in any order, and alone."""
    path = make_odd_file(row, tmp_path)
    expected = numbers_shown(row, path)
    video = open_video(path, cache=cache)
    times = [time_s + 1e-3 for time_s in video.frame_times()]
    assert numbers(video.try_frames(times)) == expected
    rng = random.Random(str(row))
    shuffled = rng.sample(range(len(times)), len(times))
    again = open_video(path, cache=cache)
    assert numbers([again.try_frames([times[index]])[0] for index in shuffled]) == [expected[i] for i in shuffled]
    for index in rng.sample(range(len(times)), 3):
        assert numbers(open_video(path, cache=cache).try_frames([times[index]])) == [expected[index]]


def numbers(frames: list) -> list[int | str]:  # type: ignore[type-arg]
    return [str(frame) if isinstance(frame, FrameError) else frame_number(frame) for frame in frames]
