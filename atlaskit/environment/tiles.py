"""Tiles: frames scaled to the size of a cell, cached one by one.

A tile's key names the file and the time in that file, so another view of the same frame, or another
playlist with the same clip, decodes nothing.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Literal

from PIL import Image

from atlaskit.caching.cache import Cache, Transient
from atlaskit.caching.keys import readable_key, tile_key
from atlaskit.environment.drawing import letterboxed
from atlaskit.environment.image import WIDEST_PX, to_jpeg
from atlaskit.errors import FrameError
from atlaskit.video.readers import Pixels
from atlaskit.video.video import Video, read_frames

Fit = Literal["contain", "stretch"]
"""How a frame fills its cell: with its aspect ratio on a grey ground, or stretched."""

TILE_QUALITY = 95
"""JPEG quality of a tile."""


def read_tiles(
    video: Video, times_s: Sequence[float], cell: int, fit: Fit, cache: Cache
) -> tuple[list[Image.Image | None], bool]:
    """Return the frames at some times as squares.

    Args:
        video: The video.
        times_s: Times in seconds.
        cell: Side of a square in pixels.
        fit: How a frame fills its square.
        cache: Where tiles are read from and stored.

    Returns:
        A square for each time, None where the frame cannot be decoded; and whether a frame could
        not be read this time, so that a retry may succeed.
    """
    located = [video.locate(time_s) for time_s in times_s]
    wanted = [(part, local_s, _fitted(part.size, cell, fit)) for part, local_s in located]

    def decode(positions: list[int]) -> list[bytes]:
        # A new tile is encoded and decoded like a cached one, so both give the same pixels.
        frames = read_frames([wanted[position] for position in positions])
        return [_no_tile(frame) if isinstance(frame, FrameError) else _tile(frame) for frame in frames]

    keys = [tile_key(part.fingerprint, local_s, size) for part, local_s, size in wanted]
    tiles = cache.remember_all(keys, decode, fits=_is_tile)
    is_passing = any(isinstance(tile, Transient) for tile in tiles)
    return [letterboxed(Image.open(io.BytesIO(tile)), cell) if tile else None for tile in tiles], is_passing


def are_readable(video: Video, times_s: Sequence[float], cell: int, fit: Fit, cache: Cache) -> list[bool]:
    """Return for each time in seconds whether its frame can be decoded.

    The answer is a cache entry of one byte, which a recording of a run holds without any image.
    """
    located = [video.locate(time_s) for time_s in times_s]

    def check(positions: list[int]) -> list[bytes]:
        tiles, is_passing = read_tiles(video, [times_s[position] for position in positions], cell, fit, cache)
        flags = [b"1" if tile else b"0" for tile in tiles]
        return [Transient(flag) for flag in flags] if is_passing else flags

    keys = [readable_key(part.fingerprint, local_s) for part, local_s in located]
    return [flag == b"1" for flag in cache.remember_all(keys, check, fits=lambda flag: flag in (b"0", b"1"))]


def _tile(frame: Pixels) -> bytes:
    return to_jpeg(Image.fromarray(frame), TILE_QUALITY)


def _no_tile(error: FrameError) -> bytes:
    """Return the entry of an undecodable frame; it is cached if the file's content is the cause."""
    return b"" if error.is_lasting else Transient()


def _is_tile(tile: bytes) -> bool:
    try:
        return not tile or max(Image.open(io.BytesIO(tile), formats=["JPEG"]).size) <= WIDEST_PX
    except (OSError, ValueError):
        return False


def _fitted(size: tuple[int, int], cell: int, fit: Fit) -> tuple[int, int]:
    """Return the (width, height) of a frame that is scaled into a cell, in pixels."""
    if fit == "stretch":
        return cell, cell
    scale = cell / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
