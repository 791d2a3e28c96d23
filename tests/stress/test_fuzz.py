"""Hundreds of damaged files: cut short, with flipped bits, overwritten bytes, or spliced.

Each time of a file gives the right frame or an error, never another frame. Nothing hangs, crashes
or exhausts memory.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import av
import pytest
from support.media import make_video

FRAMES, FPS, SIZE, GOP = 100, 25, (160, 90), 25
VIDEOS: dict[str, tuple[str, dict[str, str]]] = {
    "h264.mp4": ("libx264", {"preset": "veryfast"}),
    "h264.mkv": ("libx264", {"preset": "veryfast"}),
    "h264.ts": ("libx264", {"preset": "veryfast"}),
    "h264.mov": ("libx264", {"preset": "veryfast", "bf": "0"}),
    "hevc.mp4": ("libx265", {"preset": "ultrafast", "x265-params": "log-level=none"}),
    "mpeg4.avi": ("mpeg4", {}),
    "mpeg4.mp4": ("mpeg4", {"bf": "2"}),
    "vp8.webm": ("libvpx", {}),
    "vp9.webm": ("libvpx-vp9", {}),
    "av1.mp4": ("libsvtav1", {"preset": "12"}),
}
DAMAGED_EACH = int(os.environ.get("ATLASKIT_DAMAGED_EACH", "24"))
"""Damaged files of each of the ten videos."""
PROCESSES = 2
TIMES_S = [(index + 0.5) / FPS for index in range(0, FRAMES, 4)]


def damaged_files(whole: bytes, other: bytes, frame_bytes: set[int], seed: str) -> Iterator[tuple[str, bool, bytes]]:
    """Yield for each damage its description, whether only frame data is hit, and the file."""
    rng = random.Random(seed)
    for number in range(DAMAGED_EACH):
        data = bytearray(whole)
        at = rng.randrange(len(data))
        match number % 4:
            case 0:
                yield f"cut at {at}", True, bytes(data[:at])
            case 1:
                places = [rng.randrange(len(data)) for _ in range(rng.choice((1, 3, 30)))]
                for place in places:
                    data[place] ^= 1 << rng.randrange(8)
                yield f"{len(places)} bits flipped", frame_bytes.issuperset(places), bytes(data)
            case 2:
                length = min(rng.choice((16, 200, len(data) // 8)), len(data) - at)
                data[at : at + length] = rng.choice((bytes(length), rng.randbytes(length)))
                only_frames = frame_bytes.issuperset(range(at, at + length))
                yield f"{length} bytes overwritten at {at}", only_frames, bytes(data)
            case 3:
                there = rng.randrange(len(other))
                yield f"spliced at {at} with {there}", False, bytes(data[:at]) + other[there:]


def frame_bytes_of(path: Path) -> set[int]:
    """Return where bytes certainly hold frame data; nowhere for a transport stream."""
    if path.suffix == ".ts":
        return set()
    with av.open(str(path)) as container:
        packets = [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]
    head = 16  # an upper bound on what containers put before the data of a packet
    return {place for pos, size in packets for place in range(pos + head, pos + size)}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each damaged file shows."""
    folder = tmp_path_factory.mktemp("fuzz")
    tasks = []
    for name, (codec, options) in VIDEOS.items():
        video = make_video(folder / name, codec, FRAMES, FPS, size=SIZE, gop=GOP, **options)
        whole = video.read_bytes()
        frames = frame_bytes_of(video)
        other = make_video(folder / f"other-{name}", codec, 60, FPS, 500, size=SIZE, gop=GOP, **options).read_bytes()
        for number, (damage, only_frames, data) in enumerate(damaged_files(whole, other, frames, name)):
            path = folder / f"{number:03d}-{name}"
            path.write_bytes(data)
            tasks.append({"file": str(path), "damage": damage, "only_frames": only_frames, "times_s": TIMES_S})
    with ThreadPoolExecutor(PROCESSES) as pool:
        parts = list(pool.map(read_files, (tasks[part::PROCESSES] for part in range(PROCESSES))))
    return [row for part in parts for row in part]


def read_files(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Read files in a process of their own; fail, and name the file, if that crashes or hangs."""
    worker = [sys.executable, str(Path(__file__).with_name("fuzz_worker.py"))]
    lines = "\n".join(map(json.dumps, tasks))
    done = subprocess.run(worker, input=lines, capture_output=True, text=True, check=False)
    rows = [task | json.loads(line) for task, line in zip(tasks, done.stdout.splitlines(), strict=False)]
    assert len(rows) == len(tasks), f"{tasks[len(rows)]} crashed or hung:\n{done.stderr[-3000:]}"
    return rows


def verdict_of(row: dict[str, Any], time_s: float, number: int | str, playing: int) -> str:
    """Return what to call the picture that a damaged file shows at a second, and plays there."""
    if isinstance(number, str):
        return "error"
    if number == int(time_s * FPS):
        return "right"
    if not row["only_frames"]:
        return "as the damaged metadata has it"
    if number == -1:
        return "visibly broken"
    return "as a player shows it" if number == playing else "wrong"


@pytest.mark.long
def test_a_damaged_file_gives_right_frames_or_errors(reports: list[dict[str, Any]]) -> None:
    """A wrong frame is shown only where the damage cannot be detected.

    That is where the container's metadata changed, or where the codec decodes damaged data without
    an error, as it does in a player. The result then looks broken or, rarely, like a frame from
    just before.
    """
    assert len(reports) == len(VIDEOS) * DAMAGED_EACH
    verdicts: Counter[str] = Counter()
    for row in reports:
        rows = list(zip(row.get("times_s", ()), row.get("shown", ()), row.get("played", ()), strict=False))
        found = [verdict_of(row, *each) for each in rows]
        verdicts.update(found)
        assert "wrong" not in found, (row["file"], row["damage"], rows)
        assert row.get("same_alone", True), (row["file"], row["damage"])
    print(*sorted(verdicts.items()), sep="\n")
    shown = verdicts["right"] + verdicts["visibly broken"] + verdicts["as a player shows it"]
    assert verdicts["as a player shows it"] < shown / 200
    assert max(row["peak_mb"] for row in reports) < 500
    readable = [row for row in reports if any(isinstance(number, int) for number in row.get("shown", ()))]
    assert len(readable) > len(reports) / 2, "frames before the damage are whole"
