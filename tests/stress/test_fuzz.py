"""Hundreds of damaged files: cut short, with flipped bits, overwritten bytes, or spliced.

Each time of a file gives the right frame or an error, never another frame. Nothing hangs, crashes
or exhausts memory.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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
PROCESSES, SECONDS_A_FILE = 2, 60
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
                length = rng.choice((16, 200, len(data) // 8))
                data[at : at + length] = rng.choice((bytes(length), rng.randbytes(length)))
                only = frame_bytes.issuperset(range(at, min(at + length, len(whole))))
                yield f"{length} bytes overwritten at {at}", only, bytes(data[: len(whole)])
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
        whole, frames = video.read_bytes(), frame_bytes_of(video)
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
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryFile("w+") as stderr:
        process = subprocess.Popen(worker, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert process.stdin and process.stdout
        for task in tasks:
            limit = threading.Timer(SECONDS_A_FILE, process.kill)
            limit.start()
            with suppress(BrokenPipeError):
                print(json.dumps(task), file=process.stdin, flush=True)
            line = process.stdout.readline()
            limit.cancel()
            if not line:
                stderr.seek(0)
                pytest.fail(f"{task['file']} ({task['damage']}) crashed or hung:\n{stderr.read()[-3000:]}")
            rows.append(task | json.loads(line))
        process.communicate()
    return rows


@pytest.mark.long
def test_a_damaged_file_gives_right_frames_or_errors(reports: list[dict[str, Any]]) -> None:
    """A wrong frame is shown only where the damage cannot be detected.

    That is where the container's metadata changed, or where the codec decodes damaged data without
    an error, as it does in a player. The result then looks broken or, rarely, like a frame from
    just before.
    """
    assert len(reports) == len(VIDEOS) * DAMAGED_EACH
    verdicts: Counter[str] = Counter()
    wrong = []
    for row in reports:
        if "refused" in row:
            verdicts["file refused"] += 1
            continue
        for time_s, number, playing in zip(row["times_s"], row["shown"], row["played"], strict=True):
            right = int(time_s * FPS)
            if isinstance(number, str):
                verdict = "error"
            elif number == right:
                verdict = "right"
            elif not row["only_frames"]:
                verdict = "as the damaged metadata has it"
            elif number == -1:
                verdict = "visibly broken"
            elif number == playing:
                verdict = "as a player shows it"
            else:
                verdict = "wrong"
                wrong.append((Path(row["file"]).name, row["damage"], round(time_s, 3), right, number, playing))
            verdicts[verdict] += 1
            verdicts[f"{Path(row['file']).name[4:]}: {verdict}"] += 1
    print(*sorted(verdicts.items()), *wrong, sep="\n")
    assert wrong == []
    shown = verdicts["right"] + verdicts["visibly broken"] + verdicts["as a player shows it"]
    assert verdicts["as a player shows it"] < shown / 200


@pytest.mark.long
def test_frames_of_a_damaged_file_do_not_depend_on_other_requests(reports: list[dict[str, Any]]) -> None:
    different = [(row["file"], row["damage"]) for row in reports if not row.get("same_alone", True)]
    print(*different, sep="\n")
    assert different == []


@pytest.mark.long
def test_damaged_files_do_not_exhaust_memory(reports: list[dict[str, Any]]) -> None:
    assert max(row["peak_mb"] for row in reports) < 500


@pytest.mark.long
def test_part_of_most_damaged_files_is_readable(reports: list[dict[str, Any]]) -> None:
    """Frames before the damage are whole."""
    readable = [row for row in reports if any(isinstance(number, int) for number in row.get("shown", ()))]
    assert len(readable) > len(reports) / 2
