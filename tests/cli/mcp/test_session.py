"""Bounds on what an assistant is sent: bytes and pixels of images, subtitles, open videos."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcp.types import CallToolResult, TextContent
from PIL import Image
from support.media import make_video

from atlaskit.agents.budget import Budget
from atlaskit.agents.settings import Search
from atlaskit.caching.cache import Cache
from atlaskit.cli.mcp.folders import Folders
from atlaskit.cli.mcp.server import MAX_SESSIONS, Settings, Tools
from atlaskit.cli.mcp.session import MAX_IMAGE_BYTES, MAX_LINES_CHARS, MAX_SIDE_PX, bounded_jpeg
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


def texts(result: CallToolResult) -> str:
    return "\n".join(content.text for content in result.content if isinstance(content, TextContent))


@pytest.fixture
def tools(tmp_path: Path, cache: Cache) -> Tools:
    make_video(tmp_path / "clip.mp4", frames=50)
    settings = Settings(Folders([tmp_path]), cache, 4, 48, "midpoint", None, Budget(calls=10), lambda vlm: Search())
    return Tools(settings)


@pytest.mark.parametrize("size", [(640, 360), (1568, 1568), (3840, 2160), (64, 8000)])
def test_no_image_is_too_large(cache: Cache, size: tuple[int, int]) -> None:
    jpeg = bounded_jpeg(Noise(cache, size))
    assert len(jpeg) <= MAX_IMAGE_BYTES
    width, height = Image.open(io.BytesIO(jpeg)).size
    assert max(width, height) <= MAX_SIDE_PX and width / height == pytest.approx(size[0] / size[1], rel=0.1)


def test_an_image_that_fits_is_sent_as_it_is(cache: Cache) -> None:
    image = Noise(cache, (200, 100))
    assert bounded_jpeg(image) == image.jpeg()


def test_long_subtitles_are_cut(tools: Tools, tmp_path: Path) -> None:
    lines = [f"{i}\n00:00:00,{i:03d} --> 00:00:01,900\n{'word ' * 200}\n" for i in range(1, 60)]
    (tmp_path / "long.srt").write_text("\n".join(lines))
    tools.open_video("clip.mp4", "long.srt")
    text = texts(tools.view("v1"))
    assert "… (expand a cell for the rest)" in text and len(text) < MAX_LINES_CHARS + 1_500


def test_the_video_used_least_recently_is_closed(tools: Tools) -> None:
    for _ in range(MAX_SESSIONS):
        tools.open_video("clip.mp4")
    assert not tools.view("v1").is_error
    tools.open_video("clip.mp4")
    assert not tools.view("v1").is_error
    assert texts(tools.view("v2")).startswith("No open video has the handle 'v2'")


def test_two_sessions_of_a_video_are_apart(tools: Tools, tmp_path: Path) -> None:
    make_video(tmp_path / "long.mp4", frames=500)
    for _ in range(2):
        tools.open_video("long.mp4")
    assert "depth 1 (cells 3)" in texts(tools.expand("v2", 3))
    assert "(the root grid)" in texts(tools.view("v1"))
    refused = tools.expand("v2", 3)
    assert refused.is_error and texts(refused) == "Expand cannot take cell 3 here; the cells it can take: none."
    assert "depth 1 (cells 3)" in texts(tools.view("v2")), "an illegal action moves nothing"
