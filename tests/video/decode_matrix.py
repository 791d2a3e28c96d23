"""The rows of the decode matrix: codecs, their containers, and traits of real files.

`readers/test_picture.py` and `test_colour.py` hold how pictures lie and which colours they have.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TypeVar

from support.media import cut_video, make_video

T = TypeVar("T")
SMALL = (160, 90)
ODD = (161, 91)
TALLER = (160, 96)
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
WITH_SAMPLE_TABLE = ("mp4", "mov")
"""Containers with a sample table, edit lists and a display matrix."""
OPEN_GOP = ("H.264", "HEVC")
REORDERED = ("H.264", "HEVC", "MPEG-4")


@dataclass(frozen=True)
class Row:
    """One file of the matrix."""

    codec: str
    container: str
    trait: str

    def __str__(self) -> str:
        return f"{self.codec} · {self.container} · {self.trait}"


IS_POSSIBLE: dict[str, Callable[[str, str], bool]] = {
    "plain": lambda codec, container: True,
    "hidden frames": lambda codec, container: codec in ("VP8", "VP9"),
    "B-frames": lambda codec, container: codec in REORDERED,
    "open GOP": lambda codec, container: codec in OPEN_GOP and container != "avi",
    "one keyframe": lambda codec, container: True,
    "variable frame rate": lambda codec, container: container != "avi" and (codec, container) != ("MPEG-4", "ts"),
    "late start": lambda codec, container: container != "avi",
    "edit list": lambda codec, container: container in WITH_SAMPLE_TABLE and codec in REORDERED,
    "non-square pixels": lambda codec, container: codec in REORDERED and container in ("mp4", "mov", "mkv"),
    "odd size": lambda codec, container: codec in ("VP8", "VP9", "AV1"),
    "interlaced": lambda codec, container: codec in ("H.264", "MPEG-4"),
    "no duration": lambda codec, container: container in ("mkv", "webm"),
    "ends before its sound": lambda codec, container: container != "webm",
    "cover art": lambda codec, container: container in WITH_SAMPLE_TABLE,
    "fragmented": lambda codec, container: container in WITH_SAMPLE_TABLE,
}
"""For each trait, whether such files of a codec in a container exist, and can be encoded here."""


def rows() -> Iterator[Row]:
    """Yield all rows of the matrix."""
    for codec, containers in CONTAINERS.items():
        for trait, is_possible in IS_POSSIBLE.items():
            for container in containers:
                if is_possible(codec, container):
                    yield Row(codec, container, trait)


def covering(all_rows: Iterable[T], pairs: Callable[[T], Iterable[object]]) -> list[T]:
    """Return rows that have every pair that any row has; all rows where ALL_FILES is set."""
    found, seen = [], set[object]()
    for row in all_rows:
        if os.environ.get("ALL_FILES") or not seen.issuperset(pairs(row)):
            seen.update(pairs(row))
            found.append(row)
    return found


def rows_to_test() -> list[Row]:
    """Return rows with each trait in every codec and container, and with all these together."""
    mixed = random.Random(169).sample(list(rows()), len(list(rows())))
    return covering(mixed, lambda row: {(row.codec, row.trait), (row.container, row.trait), (row.codec, row.container)})


def encode_row(row: Row, folder: Path) -> Path:
    """Encode the file of a row."""
    encoder, options = ENCODERS[row.codec]
    path = folder / f"a film – фильм.{row.container}"
    options = dict(options)
    settings: dict[str, object] = {"frames": FRAMES, "fps": FPS, "gop": GOP, "size": SMALL}
    match row.trait:
        case "plain":
            options |= {"bf": "0"} if row.codec in REORDERED else {}
        case "hidden frames":
            whole = make_video(folder / "whole.mkv", "libx264", **settings, qp="0")  # type: ignore[arg-type]
            return _two_passes(whole, path, encoder)
        case "B-frames":
            options["bf"] = "2" if row.codec == "MPEG-4" else "3"
        case "open GOP":
            if row.codec == "H.264":
                options["x264-params"] = f"open-gop=1:keyint={GOP}:bframes=3"
            else:
                options["x265-params"] += f":open-gop=1:keyint={GOP}:bframes=3:b-adapt=0"
        case "one keyframe":
            settings["gop"] = 10_000
            options |= {"sc_threshold": "0"} if row.codec in ("H.264", "MPEG-4") else {}
            if row.codec == "HEVC":
                options["x265-params"] += ":scenecut=0:keyint=-1"
        case "variable frame rate":
            settings["times"] = [index + index // 7 * 3 + index // 30 * 40 for index in range(FRAMES)]
            settings["sound_s"] = sound_s(row)
        case "late start":
            settings["starts_at"] = 125
        case "edit list":
            whole = make_video(folder / f"whole.{row.container}", encoder, FRAMES, FPS, size=SMALL, gop=GOP, **options)
            return cut_video(whole, path, at_s=1.6, from_s=1.0)
        case "non-square pixels":
            settings["aspect"] = Fraction(4, 3)
        case "odd size":
            settings["size"] = ODD
        case "interlaced":
            settings["size"] = TALLER  # interlacing needs a height divisible by four
            options["flags"] = "+ilme+ildct"
            if row.codec == "H.264":
                options["x264-params"] = "tff=1"
        case "no duration":
            settings["container_options"] = {"live": "1"}
        case "ends before its sound":
            settings["sound_s"] = sound_s(row)
        case "cover art":
            settings["cover"] = True
        case "fragmented":
            settings["container_options"] = {"movflags": "+frag_keyframe+empty_moov"}
    return make_video(path, encoder, **settings, **options)  # type: ignore[arg-type]


def _ffmpeg(*arguments: object) -> None:
    """Run ffmpeg, for what PyAV cannot encode; raise LookupError if it is not installed."""
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise LookupError("ffmpeg")
    subprocess.run([ffmpeg, "-v", "error", "-y", *map(str, arguments)], check=True)


def _two_passes(whole: Path, path: Path, encoder: str) -> Path:
    """Encode in two passes, which creates reference frames that are never shown."""
    coding = ("-c:v", encoder, "-b:v", "150k", "-auto-alt-ref", "1", "-lag-in-frames", "25", "-g", "50")
    log = ("-passlogfile", path.with_name("passes"))
    _ffmpeg("-i", whole, *coding, "-pass", "1", *log, "-f", "null", "-")
    _ffmpeg("-i", whole, *coding, "-pass", "2", *log, path)
    return path


def sound_s(row: Row) -> float:
    """Return the seconds of sound of a row: its last frame stays until the sound ends."""
    if row.trait == "variable frame rate":
        return 0.0 if row.container == "webm" else 14.0
    return 9.0 if row.trait == "ends before its sound" else 0.0


def shown_size(row: Row) -> tuple[int, int]:
    """Return the (width, height) at which a row's video is shown."""
    if row.trait == "non-square pixels":
        return round(SMALL[0] * 4 / 3), SMALL[1]
    return {"odd size": ODD, "interlaced": TALLER}.get(row.trait, SMALL)


@cache
def encoded(folder: Path, row: Row) -> Path | None:
    """Return the file of a row, or None if it needs a tool that is not installed."""
    place = folder / str(row).replace(" · ", "-")
    place.mkdir()
    try:
        return encode_row(row, place)
    except LookupError:
        return None
