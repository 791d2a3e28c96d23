"""Damage: hundreds of files cut short, with bits flipped, or spliced, and what is seen of them.

Each shows the right frame, or what is wrong; never another frame in silence. Nothing hangs, crashes or eats memory.
"""

from __future__ import annotations

import json
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
from support.media import make
from support.paths import SUPPORT

FRAMES, FPS, SIZE, GOP = 100, 25, (160, 90), 25
FILMS: dict[str, tuple[str, dict[str, str]]] = {
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
DAMAGED_EACH = 52
PROCESSES, SECONDS_A_FILE = 2, 60
TIMES_S = [(index + 0.5) / FPS for index in range(0, FRAMES, 4)]


def damages(whole: bytes, other: bytes, pictures: set[int], seed: str) -> Iterator[tuple[str, bool, bytes]]:
    """Yield kinds of damage to a file: what it is, whether it is to the pictures alone, and the damaged file."""
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
                yield f"{len(places)} bits flipped", pictures.issuperset(places), bytes(data)
            case 2:
                length = rng.choice((16, 200, len(data) // 8))
                data[at : at + length] = rng.choice((bytes(length), rng.randbytes(length)))
                only = pictures.issuperset(range(at, min(at + length, len(whole))))
                yield f"{length} bytes overwritten at {at}", only, bytes(data[: len(whole)])
            case 3:
                there = rng.randrange(len(other))
                yield f"spliced at {at} with {there}", False, bytes(data[:at]) + other[there:]


def picture_bytes(path: Path) -> set[int]:
    """Which bytes of a file are its pictures, and not what is said of them; none of a transport stream's are sure."""
    if path.suffix == ".ts":
        return set()
    with av.open(str(path)) as container:
        packets = [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]
    head = 16  # what containers put before a packet, so as to be on the safe side
    return {place for pos, size in packets for place in range(pos + head, pos + size)}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What was seen of each damaged file."""
    folder = tmp_path_factory.mktemp("fuzz")
    tasks = []
    for name, (codec, options) in FILMS.items():
        film = make(folder / name, codec, FRAMES, FPS, size=SIZE, gop=GOP, **options)
        whole, pictures = film.read_bytes(), picture_bytes(film)
        other = make(folder / f"other-{name}", codec, 60, FPS, 500, size=SIZE, gop=GOP, **options).read_bytes()
        for number, (how, only_pictures, data) in enumerate(damages(whole, other, pictures, name)):
            path = folder / f"{number:03d}-{name}"
            path.write_bytes(data)
            tasks.append({"file": str(path), "how": how, "only_pictures": only_pictures, "times_s": TIMES_S})
    with ThreadPoolExecutor(PROCESSES) as pool:
        parts = list(pool.map(look_at, (tasks[part::PROCESSES] for part in range(PROCESSES))))
    return [row for part in parts for row in part]


def look_at(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Have a process look at some files; fail, naming the file, if it crashes or hangs."""
    worker = [sys.executable, str(SUPPORT / "fuzz_worker.py")]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(worker, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)
        assert process.stdin and process.stdout
        for task in tasks:
            limit = threading.Timer(SECONDS_A_FILE, process.kill)
            limit.start()
            with suppress(BrokenPipeError):
                print(json.dumps(task), file=process.stdin, flush=True)
            line = process.stdout.readline()
            limit.cancel()
            if not line:
                said.seek(0)
                pytest.fail(f"{task['file']} ({task['how']}) ended the process or hung:\n{said.read()[-3000:]}")
            rows.append(task | json.loads(line))
        process.communicate()
    return rows


def test_a_damaged_file_shows_right_frames_or_errors(seen: list[dict[str, Any]]) -> None:
    """A wrong frame is shown only where nobody could know: where the damage is to what the container says of its
    pictures, and it now says something else; or where the codec decodes the damage without noticing, as a player
    does. The latter looks broken, or (rarely) as a frame from just before."""
    assert len(seen) >= 500
    verdicts: Counter[str] = Counter()
    wrong = []
    for row in seen:
        if "refused" in row:
            verdicts["file refused"] += 1
            continue
        for time_s, number, playing in zip(row["times_s"], row["seen"], row["played"], strict=True):
            right = int(time_s * FPS)
            if isinstance(number, str):
                verdict = "error"
            elif number == right:
                verdict = "right"
            elif not row["only_pictures"]:
                verdict = "as the damaged container says"
            elif number == -1:
                verdict = "visibly broken"
            elif number == playing:
                verdict = "as a player shows it"
            else:
                verdict = "wrong"
                wrong.append((Path(row["file"]).name, row["how"], round(time_s, 3), right, number, playing))
            verdicts[verdict] += 1
            verdicts[f"{Path(row['file']).name[4:]}: {verdict}"] += 1
    print(*sorted(verdicts.items()), *wrong, sep="\n")
    assert wrong == []
    shown = verdicts["right"] + verdicts["visibly broken"] + verdicts["as a player shows it"]
    assert verdicts["as a player shows it"] < shown / 200


def test_what_a_damaged_file_shows_does_not_depend_on_what_else_was_asked(seen: list[dict[str, Any]]) -> None:
    different = [(row["file"], row["how"]) for row in seen if not row.get("same_alone", True)]
    print(*different, sep="\n")
    assert different == []


def test_damage_does_not_eat_memory(seen: list[dict[str, Any]]) -> None:
    assert max(row["peak_mb"] for row in seen) < 500


def test_some_of_a_damaged_file_is_readable(seen: list[dict[str, Any]]) -> None:
    """The damage does not take with it what comes before."""
    read = [row for row in seen if any(isinstance(number, int) for number in row.get("seen", ()))]
    assert len(read) > len(seen) / 2
