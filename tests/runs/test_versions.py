"""Environments with different versions of PyAV and Pillow make the same keys and share a cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest
from support.media import make_video, numbered_frame
from support.paths import ROOT, SUPPORT, TESTS

WORKER = SUPPORT / "versions_worker.py"
OLDER = {"av": "18.0.0", "pillow": "11.0.0"}
NEWER = {"av": "18.1.0", "pillow": "13.0.0"}


def environment(folder: Path, versions: dict[str, str]) -> Path:
    """Make a virtual environment and return its Python.

    It has these versions of two libraries, and all others from the current environment: the path in
    a .pth file comes last, so its own libraries take precedence.
    """
    venv.create(folder, symlinks=True)
    (installed,) = folder.glob("lib/python*/site-packages")
    wanted = [f"{name}=={version}" for name, version in versions.items()]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin" / "python"]
    subprocess.run([*pip, "install", "-qq", "--no-deps", "--only-binary", ":all:", *wanted], check=True)
    (installed / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def worker_output(python: Path, *arguments: str | Path) -> dict[str, Any]:
    """Run the worker in an environment and return the JSON it prints."""
    variables = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{TESTS}", "PYTHONNOUSERSITE": "1"}
    done = subprocess.run([python, WORKER, *arguments], capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr
    output: dict[str, Any] = json.loads(done.stdout)
    return output


def subtitled(path: Path) -> Path:
    """Encode four seconds of VP9 with two subtitle lines."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libvpx-vp9", rate=25, options={"deadline": "realtime", "cpu-used": "8"})
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        track = container.add_mux_stream("subrip", time_base=Fraction(1, 1000))
        container.start_encoding()
        packets = [packet for index in range(100) for packet in stream.encode(timed_frame(index))] + stream.encode()
        for start, text in ((500, "Hello Wörld"), (2000, "三")):
            packet = av.Packet(text.encode())
            packet.stream, packet.time_base, packet.pts, packet.dts = track, Fraction(1, 1000), start, start
            packet.duration = 1000
            packets.append(packet)
        for packet in sorted(packets, key=lambda packet: packet.dts * packet.time_base):
            container.mux(packet)
    return path


def timed_frame(index: int) -> av.VideoFrame:
    frame = numbered_frame(index)
    frame.pts, frame.time_base = index, Fraction(1, 25)
    return frame


@pytest.mark.long
@pytest.mark.registry
def test_two_environments_with_other_versions_make_the_same_keys(tmp_path: Path) -> None:
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        homes = tmp_path / "older", tmp_path / "newer"
        older, newer = pool.map(environment, homes, (OLDER, NEWER))
    installed_s = time.monotonic() - began
    files = make_video(tmp_path / "a.mp4"), make_video(tmp_path / "b.avi", "mpeg4"), subtitled(tmp_path / "c.mkv")
    cache = tmp_path / "cache"
    first = worker_output(older, tmp_path / "made by older", cache, *files)
    again = worker_output(newer, tmp_path / "made by newer", cache, *files)
    for output, home, versions in ((first, homes[0], OLDER), (again, homes[1], NEWER)):
        assert {"av": output["av"], "pillow": output["pillow"]} == versions, "otherwise the test is void"
        assert all(path.startswith(str(home)) for path in output["from"])
    assert first["facts"]["c.mkv"][-1] == [[0.5, 1.5, "Hello Wörld"], [2.0, 3.0, "三"]]
    assert first["facts"] == again["facts"]
    assert first["keys"] == again["keys"]
    count = sum(len(keys["asked for"]) for keys in first["keys"].values())

    asked, replayed = first["asked"], again["asked"]
    assert asked["spent"]["calls"] == asked["cost"] > 0 and asked["spent"]["frames"] > 0
    assert replayed["spent"] == {"calls": 0, "frames": 0}
    assert replayed["result"] == asked["result"]
    videos = [next((tmp_path / f"made by {name}").rglob("*.mp4")).read_bytes() for name in ("older", "newer")]
    print(
        f"PyAV {first['av']} (FFmpeg {first['ffmpeg']}), Pillow {first['pillow']}; PyAV {again['av']} (FFmpeg "
        f"{again['ffmpeg']}), Pillow {again['pillow']}: {count} keys agree; the bytes of the videos "
        f"{'agree too' if videos[0] == videos[1] else 'differ'}; {installed_s:.0f} of {time.monotonic() - began:.0f} s "
        "are for installing"
    )
