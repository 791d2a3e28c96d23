"""The rows of the decode matrix: codecs, their containers, and traits of real files.

`readers/test_picture.py` and `test_colour.py` hold how pictures lie and which colours they have.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from support.media import cut_video, make_video

T = TypeVar("T")
SMALL = (160, 90)
FRAMES, FPS, GOP = 85, 25, 25

ENCODERS: dict[str, tuple[str, dict[str, str]]] = {
    "H.264": ("libx264", {"preset": "veryfast"}),
    "HEVC": ("libx265", {"preset": "ultrafast", "x265-params": "log-level=none"}),
    "VP8": ("libvpx", {"auto-alt-ref": "1", "lag-in-frames": "8", "threads": "1"}),  # more threads are slower
    "VP9": ("libvpx-vp9", {"auto-alt-ref": "1", "lag-in-frames": "8"}),
    "AV1": ("libsvtav1", {"preset": "12"}),
    "MPEG-4": ("mpeg4", {}),
}
CONTAINERS = {
    "H.264": ("mp4", "mov", "mkv", "ts", "avi"),
    "HEVC": ("mp4", "mov", "mkv", "ts"),
    "VP8": ("webm", "mkv"),
    "VP9": ("webm", "mkv", "mp4"),
    "AV1": ("mp4", "mkv", "webm"),
    "MPEG-4": ("mp4", "mov", "mkv", "avi", "ts"),
}
REORDERED = ("H.264", "HEVC", "MPEG-4")


class Trait(NamedTuple):
    """How some files differ from others: settings of `make_video`, and where it is possible."""

    settings: dict[str, Any]
    codecs: tuple[str, ...] = tuple(ENCODERS)
    containers: tuple[str, ...] = ("mp4", "mov", "mkv", "webm", "ts", "avi")
    shown_size: tuple[int, int] = SMALL
    sound_s: float = 0.0
    """Seconds of sound; the last frame stays until it ends."""


TIMED = ("mp4", "mov", "mkv", "webm", "ts")
"""Containers that tell when each frame is shown."""
LISTED = ("mp4", "mov")
"""Containers with a sample table, edit lists and a display matrix."""
UNEVEN = [index + index // 7 * 3 + index // 30 * 40 for index in range(FRAMES)]
TRAITS = {
    "plain": Trait({"bf": "0"}),
    "hidden frames": Trait({}, ("VP8", "VP9")),
    "B-frames": Trait({"bf": "2"}, REORDERED),
    "open GOP": Trait(
        {
            "x264-params": f"open-gop=1:keyint={GOP}:bframes=3",
            "x265-params": f"log-level=none:open-gop=1:keyint={GOP}:bframes=3:b-adapt=0",
        },
        ("H.264", "HEVC"),
        TIMED,
    ),
    "one keyframe": Trait({"gop": 10_000, "sc_threshold": "0", "x265-params": "log-level=none:scenecut=0:keyint=-1"}),
    "variable frame rate": Trait({"times": UNEVEN}, containers=TIMED, sound_s=14.0),
    "late start": Trait({"starts_at": 125}, containers=TIMED),
    "edit list": Trait({}, REORDERED, LISTED),
    "non-square pixels": Trait({"aspect": Fraction(4, 3)}, REORDERED, (*LISTED, "mkv"), (213, 90)),
    "odd size": Trait({"size": (161, 91)}, ("VP8", "VP9", "AV1"), shown_size=(161, 91)),
    # Interlacing needs a height divisible by four.
    "interlaced": Trait(
        {"size": (160, 96), "flags": "+ilme+ildct", "x264-params": "tff=1"}, ("H.264", "MPEG-4"), shown_size=(160, 96)
    ),
    "no duration": Trait({"container_options": {"live": "1"}}, containers=("mkv", "webm")),
    "ends before its sound": Trait({}, containers=(*LISTED, "mkv", "ts", "avi"), sound_s=9.0),
    "cover art": Trait({"cover": True}, containers=LISTED),
    "fragmented": Trait({"container_options": {"movflags": "+frag_keyframe+empty_moov"}}, containers=LISTED),
}


class Row(NamedTuple):
    """One file of the matrix."""

    codec: str
    container: str
    trait: str

    def __str__(self) -> str:
        return f"{self.codec} · {self.container} · {self.trait}"

    @property
    def is_possible(self) -> bool:
        """Whether such files exist, and can be encoded here."""
        trait = TRAITS[self.trait]
        is_uneven_mpeg4 = self == ("MPEG-4", "ts", "variable frame rate")
        return self.codec in trait.codecs and self.container in trait.containers and not is_uneven_mpeg4

    @property
    def sound_s(self) -> float:
        """Seconds of sound; our sound does not fit into WebM."""
        return 0.0 if self.container == "webm" else TRAITS[self.trait].sound_s


def rows() -> list[Row]:
    """Return all rows of the matrix."""
    every = (
        Row(codec, container, trait)
        for codec, containers in CONTAINERS.items()
        for trait, container in product(TRAITS, containers)
    )
    return [row for row in every if row.is_possible]


def covering(all_rows: Iterable[T], pairs: Callable[[T], Iterable[object]]) -> list[T]:
    """Return rows that have every pair that any row has; all rows where ALL_FILES is set."""
    found = []
    seen = set[object]()
    for row in all_rows:
        if os.environ.get("ALL_FILES") or not seen.issuperset(pairs(row)):
            seen.update(pairs(row))
            found.append(row)
    return found


def rows_to_test() -> list[Row]:
    """Return rows with each trait in every codec and container, and with all these together."""
    mixed = random.Random(169).sample(rows(), len(rows()))
    return covering(mixed, lambda row: {(row.codec, row.trait), (row.container, row.trait), (row.codec, row.container)})


def encode_row(row: Row, folder: Path) -> Path:
    """Encode the file of a row."""
    encoder, options = ENCODERS[row.codec]
    path = folder / f"a film – фильм.{row.container}"
    settings = {"frames": FRAMES, "fps": FPS, "gop": GOP, "size": SMALL, "sound_s": row.sound_s, **options}
    if row.trait == "hidden frames":
        return _two_passes(make_video(folder / "whole.mkv", **settings, qp="0"), path, encoder)
    if row.trait == "edit list":
        return cut_video(make_video(folder / f"whole.{row.container}", encoder, **settings), path, at_s=1.6, from_s=1.0)
    return make_video(path, encoder, **(settings | TRAITS[row.trait].settings))


class MissingTool(Exception):
    """A tool that a row needs is not installed; an error of PyAV is no reason to omit the row."""


def _ffmpeg(*arguments: object) -> None:
    """Run ffmpeg, for what PyAV cannot encode; raise MissingTool if it is not installed."""
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise MissingTool("ffmpeg")
    subprocess.run([ffmpeg, "-v", "error", "-y", *map(str, arguments)], check=True)


def _two_passes(whole: Path, path: Path, encoder: str) -> Path:
    """Encode in two passes, which creates reference frames that are never shown."""
    coding = ("-c:v", encoder, "-b:v", "150k", "-auto-alt-ref", "1", "-lag-in-frames", "25", "-g", "50")
    log = ("-passlogfile", path.with_name("passes"))
    _ffmpeg("-i", whole, *coding, "-pass", "1", *log, "-f", "null", "-")
    _ffmpeg("-i", whole, *coding, "-pass", "2", *log, path)
    return path


@cache
def encoded(folder: Path, row: Row) -> Path | None:
    """Return the file of a row, or None if it needs a tool that is not installed."""
    place = folder / str(row).replace(" · ", "-")
    place.mkdir()
    try:
        return encode_row(row, place)
    except MissingTool:
        return None
