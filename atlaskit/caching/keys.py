"""Keys: for each kind of entry in the cache, what it is made of, in one function, and why the rest is left out.

Left out of all of them: where files lie and what they are called, since their content decides; which reader, and which
versions of PyAV, FFmpeg and Pillow made the pixels, since all of them show the same frame at the same second: that is
what the tests hold them to. So a cache, or a recording of a run, serves another machine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from atlaskit.caching.cache import recipe_key
from atlaskit.caching.disk import kind_of

VERSIONS = {
    "tile": 2,
    "view": 2,
    "sheet": 2,
    "still": 2,
    "moments": 2,
    "readable": 1,
    "reply": 4,
    "failure": 1,
    "video": 1,
    "lines": 1,
    "asked": 1,
    "run": 1,
    "served": 1,
    "timing": 1,
}
"""One a kind, raised when the code that makes it makes it otherwise: what the old code made is then never served."""

IMAGES = frozenset({"tile", "view", "sheet", "still"})
"""Kinds that can be made again from the video; the others were paid for, or say what the video is."""


def tile_key(video: str, time_s: float, size: tuple[int, int]) -> str:
    """Return the key of one frame at the size at which it stands in a cell. `video` is a file's fingerprint.

    Left out: the playlist the file is in, and the grid that asks, so that all of them share it.
    """
    return entry_key("tile", video=video, time_us=_microseconds(time_s), size=list(size))


def view_key(
    video: str,
    *,
    start_s: float,
    end_s: float,
    k: int,
    cell: int,
    fit: str,
    labels: str,
    dead: Collection[int],
    sampling: str,
) -> str:
    """Return the key of a grid of frames.

    Left out: the depth and the path of its cells, which the interval says; what the dead zones are beyond the cells
    that they black out.
    """
    return entry_key(
        "view",
        tiles=VERSIONS["tile"],
        video=video,
        start_s=start_s,
        end_s=end_s,
        k=k,
        cell=cell,
        fit=fit,
        labels=labels,
        dead=sorted(dead),
        sampling=sampling,
    )


def sheet_key(video: str, items: Sequence[tuple[str, float, str]], cell: int, fit: str) -> str:
    """Return the key of the scratchpad's image; each item is a label, a timestamp in seconds and a subtitle.

    Left out: descriptions and confidence, which the image does not show.
    """
    return entry_key("sheet", tiles=VERSIONS["tile"], video=video, items=[list(i) for i in items], cell=cell, fit=fit)


def still_key(video: str, time_s: float) -> str:
    """Return the key of one frame at full size. `video` is a file's fingerprint, as for a tile."""
    return entry_key("still", video=video, time_us=_microseconds(time_s))


def moments_key(video: str, *, start_s: float, end_s: float, k: int, sampling: str) -> str:
    """Return the key of the seconds that stand for a grid's cells. Left out: how the grid is drawn."""
    return entry_key("moments", video=video, start_s=start_s, end_s=end_s, k=k, sampling=sampling)


def readable_key(video: str, time_s: float) -> str:
    """Return the key of whether a frame can be decoded. Left out: at which size."""
    return entry_key("readable", video=video, time_us=_microseconds(time_s))


def video_key(fingerprint: str) -> str:
    """Return the key of a video's facts: its length, rate, size and name."""
    return entry_key("video", video=fingerprint)


def lines_key(fingerprint: str) -> str:
    """Return the key of subtitles, by the fingerprint of what is said when. Left out: the video."""
    return entry_key("lines", lines=fingerprint)


def asked_key(fingerprint: str) -> str:
    """Return the key of which subtitles a video had when it was last asked about."""
    return entry_key("asked", video=fingerprint)


def run_key(trace: Sequence[dict[str, Any]]) -> str:
    """Return the key of the list of what a run needs, by all that happened in it: its events.

    Its question and settings alone would not tell two runs apart that saw other subtitles, or other replies.
    """
    return entry_key("run", trace=trace)


def served_key(address: str) -> str:
    """Return the key of the model that was last served at an address."""
    return entry_key("served", address=address)


def is_outdated(key: str) -> bool:
    """Tell whether an older version of atlaskit made an entry, so that this one never looks for it."""
    kind, version = kind_of(key), key.split(":")[1]
    return kind in VERSIONS and version.isdecimal() and int(version) < VERSIONS[kind]


def entry_key(kind: str, **parts: Any) -> str:
    """Return the key of an entry of a kind, at the version that the kind has now."""
    return recipe_key(kind, VERSIONS[kind], **parts)


def _microseconds(time_s: float) -> int:
    """Return a time as videos tell it apart, so that a sum of lengths, rounded otherwise, is still the same moment."""
    return round(time_s * 1_000_000)
