"""Keys: one function for each kind of entry, which lists what the entry is made of (its recipe).

A key is the kind, the version of the code that makes the entry, and the hash of the recipe:
`view:2:…`. Each function says what it leaves out of the recipe. All of them leave out where files
lie and how they are called, since the content decides; and which reader and which versions of PyAV,
FFmpeg and Pillow made the pixels, since the tests hold all of them to the same frame at the same
time. So a cache, or a recording of a run, serves other machines.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

VERSIONS = {
    "tile": 2,
    "view": 2,
    "sheet": 2,
    "still": 2,
    "moments": 2,
    "readable": 1,
    "reply": 4,
    "failure": 1,
    "transcript": 1,
    "embedding": 1,
    "video": 1,
    "lines": 1,
    "asked": 1,
    "original": 1,
    "run": 1,
    "served": 1,
    "answered": 1,
    "timing": 2,
    "features": 1,
    "clusters": 1,
    "activity": 1,
    "hints": 1,
    "clip": 1,
}
"""Version of each kind. Raise it when the code makes other entries: old ones are then unused."""

IMAGES = frozenset({"tile", "view", "sheet", "still", "clip"})
"""Kinds that can be rendered again from the video. The others cost calls, or describe the video."""


def canonical_json(value: Any) -> str:
    """Return a value as JSON in one canonical form: sorted names, no blanks, no escapes, no NaN.

    Raises:
        ValueError: The value holds NaN or an infinity.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def recipe_key(kind: str, version: int, **parts: Any) -> str:
    """Return the key of an entry.

    Args:
        kind: Kind of the entry.
        version: Version of the code that makes it.
        **parts: The recipe, as values that JSON can hold.
    """
    recipe = canonical_json({"kind": kind, "version": version, **parts})
    return f"{kind}:{version}:{hashlib.sha256(recipe.encode()).hexdigest()}"


def entry_key(kind: str, **parts: Any) -> str:
    """Return the key of an entry at the current version of its kind."""
    return recipe_key(kind, VERSIONS[kind], **parts)


def kind_of(key: str) -> str:
    """Return the kind of entry that a key names."""
    return key.partition(":")[0]


def is_outdated(key: str) -> bool:
    """Return whether an older version of atlaskit made the entry; this one never looks it up."""
    kind, version = kind_of(key), key.split(":")[1]
    return kind in VERSIONS and version.isdecimal() and int(version) < VERSIONS[kind]


def tile_key(video: str, time_s: float, size: tuple[int, int]) -> str:
    """Return the key of a tile: one frame, scaled to the size of a cell.

    Left out: the playlist that the file is in, and the grid, so that all of them share the tile.

    Args:
        video: Fingerprint of the file.
        time_s: Time in that file.
        size: (width, height) of the scaled frame in pixels.
    """
    return entry_key("tile", video=video, time_us=_microseconds(time_s), size=list(size))


def view_key(
    video: str,
    *,
    start_s: float,
    end_s: float,
    k: int,
    cell: int | tuple[int, int],
    fit: str,
    labels: str,
    dead: Collection[int],
    sampling: str,
) -> str:
    """Return the key of a view.

    Left out: depth and path, which the interval determines; dead zones beyond the dead cells; and
    the patch that native cells are rounded to, of which their size is the result.

    Args:
        video: Fingerprint of the video.
        start_s: Start of the grid in seconds.
        end_s: End of the grid in seconds.
        k: Cells in a row and in a column.
        cell: Side of a square cell in pixels; (width, height) of a native one.
        fit: How a frame fills its cell.
        labels: What is burned into the corner of a cell.
        dead: Indices of the dead cells.
        sampling: Which frame represents a cell.
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


def sheet_key(
    video: str,
    items: Sequence[tuple[str, float, str]],
    cell: int | tuple[int, int],
    fit: str,
    halved: Collection[str] = (),
) -> str:
    """Return the key of a sheet. Left out: descriptions and confidence, which it does not show.

    Args:
        video: Fingerprint of the video.
        items: Label, timestamp in seconds and subtitle of each item.
        cell: Side of a square cell in pixels; (width, height) of a native one.
        fit: How a frame fills its cell.
        halved: Labels of the items that are drawn at half the size.
    """
    listed, small = [list(item) for item in items], {"halved": sorted(halved)} if halved else {}
    return entry_key("sheet", tiles=VERSIONS["tile"], video=video, items=listed, cell=cell, fit=fit, **small)


def still_key(video: str, time_s: float, cell: tuple[int, int] | None = None, fit: str = "") -> str:
    """Return the key of an image of one frame.

    Args:
        video: Fingerprint of the file.
        time_s: Time in that file.
        cell: (width, height) of the image in pixels; None for a still, which has the frame's own.
        fit: How the frame fills the cell.
    """
    scaled = {} if cell is None else {"tiles": VERSIONS["tile"], "cell": list(cell), "fit": fit}
    return entry_key("still", video=video, time_us=_microseconds(time_s), **scaled)


def clip_key(video: str, *, start_s: float, end_s: float, size: tuple[int, int], fps: float) -> str:
    """Return the key of a few seconds of a video as a film. Left out: the encoder and its version.

    Args:
        video: Fingerprint of the video.
        start_s: Start of the clip in seconds.
        end_s: End of the clip in seconds.
        size: (width, height) in pixels.
        fps: Frames per second.
    """
    start_us, end_us = _microseconds(start_s), _microseconds(end_s)
    return entry_key("clip", video=video, span_us=[start_us, end_us], size=list(size), fps=fps)


def moments_key(video: str, *, start_s: float, end_s: float, k: int, sampling: str) -> str:
    """Return the key of the times of a grid's representative frames. Left out: how it is drawn."""
    return entry_key("moments", video=video, start_s=start_s, end_s=end_s, k=k, sampling=sampling)


def readable_key(video: str, time_s: float) -> str:
    """Return the key of whether a frame can be decoded. Left out: its size."""
    return entry_key("readable", video=video, time_us=_microseconds(time_s))


def video_key(fingerprint: str) -> str:
    """Return the key of a video's metadata: duration, frame rate, size and name."""
    return entry_key("video", video=fingerprint)


def lines_key(fingerprint: str) -> str:
    """Return the key of a subtitle track, by the fingerprint of its lines. Left out: the video."""
    return entry_key("lines", lines=fingerprint)


def asked_key(fingerprint: str) -> str:
    """Return the key of the subtitle track that a video had when `ask` last used it."""
    return entry_key("asked", video=fingerprint)


def original_key(lines: str) -> str:
    """Return the key of the track that a source gave for rolling captions, by the lines said once.

    Args:
        lines: Fingerprint of the lines that are shown.
    """
    return entry_key("original", lines=lines)


def run_key(trace: Sequence[dict[str, Any]]) -> str:
    """Return the key of the list of entries that a run needs, by the events of its trace.

    Question and settings are not enough: two runs may differ in subtitles or replies alone.
    """
    return entry_key("run", trace=trace)


def served_key(address: str) -> str:
    """Return the key of the name of the model that an address last served."""
    return entry_key("served", address=address)


def answered_key(address: str, model: str) -> str:
    """Return the key of the name of the model that answered at an address, asked for a model."""
    return entry_key("answered", address=address, model=model)


def features_key(video: str, *, frames: int, size: tuple[int, int]) -> str:
    """Return the key of the tiny frames by which the moments of a video are compared.

    Args:
        video: Fingerprint of the video.
        frames: How many equal parts of it have a frame each.
        size: (width, height) of a tiny frame in pixels.
    """
    return entry_key("features", video=video, frames=frames, size=list(size))


def clusters_key(features: str, *, count: int, of: Sequence[int] | None) -> str:
    """Return the key of groups of similar frames.

    Left out: the version of scikit-learn, so that a replay elsewhere has the groups of the run.

    Args:
        features: Key of the frames' features.
        count: How many groups were wanted.
        of: Indices of the frames that were divided; None for all of them.
    """
    return entry_key("clusters", features=features, count=count, of=None if of is None else list(of))


def activity_key(video: str) -> str:
    """Return the key of how much changes in a file over time. Left out: the playlists it is in.

    Args:
        video: Fingerprint of the file.
    """
    return entry_key("activity", video=video)


def hints_key(video: str, *, scout: str, start_s: float, end_s: float, k: int, **recipe: Any) -> str:
    """Return the key of a scout's scores of the cells of a grid.

    Left out: depth and path of the grid, which the interval determines.

    Args:
        video: Fingerprint of the video.
        scout: Name of the scout.
        start_s: Start of the grid in seconds.
        end_s: End of the grid in seconds.
        k: Cells in a row and in a column.
        recipe: What the scores depend on besides, such as a question.
    """
    return entry_key("hints", video=video, scout=scout, start_s=start_s, end_s=end_s, k=k, recipe=recipe)


def transcript_key(sound: str, *, model: str, parameters: Mapping[str, Any]) -> str:
    """Return the key of what a speech model heard in a chunk of sound.

    Left out: the video and the second at which the chunk starts, so that the same sound elsewhere
    costs nothing; and the endpoint's address, credentials and time-outs.

    Args:
        sound: SHA-256 of the samples, 16-bit, little-endian.
        model: Name of the model.
        parameters: What the transcription depends on beside the model and the sound.
    """
    return entry_key("transcript", sound=sound, model=model, parameters=dict(parameters))


def embedding_key(text: str, *, model: str) -> str:
    """Return the key of the vector that a model makes of a text.

    Left out: where the text is from, what was embedded with it, and the endpoint's address,
    credentials and time-outs.

    Args:
        text: The text, with the prefix of a query if it is one.
        model: Name of the model.
    """
    return entry_key("embedding", text=text, model=model)


def image_embedding_key(image: str, *, model: str, prompt: str) -> str:
    """Return the key of the vector that a model makes of an image.

    Left out: where the image is from, and the endpoint's address, credentials and time-outs.

    Args:
        image: Key of the image.
        model: Name of the model.
        prompt: Text that goes with the image.
    """
    return entry_key("embedding", image=image, model=model, prompt=prompt)


def _microseconds(time_s: float) -> int:
    """Return a time in whole microseconds, so that rounding errors of sums do not change a key."""
    return round(time_s * 1_000_000)
