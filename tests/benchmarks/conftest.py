"""A short encoded video that the folders of datasets are filled with."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from atlaskit.benchmarks.atlasworld import World
from atlaskit.video.file import VideoFile

PutVideo = Callable[[Path], None]
"""Puts the video at a path, whose folders it makes."""


@pytest.fixture
def put_video(film: World) -> PutVideo:
    video = film.video
    assert isinstance(video, VideoFile)
    source = video.path

    def put(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)

    return put
