"""The videos that the folders of datasets are filled with."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.media import make_video

from atlaskit.benchmarks.atlasworld import World
from atlaskit.video.file import VideoFile

PutVideo = Callable[[Path], None]
"""Puts the video at a path, whose folders it makes."""


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video of 15 s."""
    return make_video(tmp_path_factory.mktemp("tiny") / "tiny.mp4", frames=30, fps=2, size=(128, 72))


@pytest.fixture
def put_video(film: World) -> PutVideo:
    video = film.video
    assert isinstance(video, VideoFile)
    source = video.path

    def put(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)

    return put
