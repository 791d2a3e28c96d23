"""Bounds on what an assistant is sent: bytes and pixels of images, subtitles, open videos."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from PIL import Image

from atlaskit.caching.cache import Cache
from atlaskit.cli.mcp.session import MAX_IMAGE_BYTES, MAX_SIDE_PX, bounded_jpeg
from atlaskit.environment.image import LazyImage


@dataclass(frozen=True)
class Noise(LazyImage):
    """Noise, which no codec makes small."""

    cache: Cache
    shape: tuple[int, int]

    @property
    def size(self) -> tuple[int, int]:
        return self.shape

    @property
    def key(self) -> str:
        return f"noise-{self.size}"

    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        width, height = self.size
        pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
        return Image.fromarray(pixels), {}


@pytest.mark.parametrize("size", [(640, 360), (1568, 1568), (3840, 2160), (64, 8000)])
def test_no_image_is_too_large(cache: Cache, size: tuple[int, int]) -> None:
    jpeg = bounded_jpeg(Noise(cache, size))
    assert len(jpeg) <= MAX_IMAGE_BYTES
    width, height = Image.open(io.BytesIO(jpeg)).size
    assert max(width, height) <= MAX_SIDE_PX and width / height == pytest.approx(size[0] / size[1], rel=0.1)
