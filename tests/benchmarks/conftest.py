"""The videos that the folders of datasets are filled with."""

from pathlib import Path

import pytest
from support.media import make_video


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video of 15 s."""
    return make_video(tmp_path_factory.mktemp("tiny") / "tiny.mp4", frames=30, fps=2, size=(128, 72))
