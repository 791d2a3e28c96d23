"""The fixture that writes subtitle files."""

from __future__ import annotations

from pathlib import Path

import pytest
from video.subtitle_files import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return to_file
