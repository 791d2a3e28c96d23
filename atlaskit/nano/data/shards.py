"""Writes nano's teaching material into a folder: pictures of cells, drills, and lessons.

In shards, each whole or not there at all: what was cut short goes on where it was. All of it follows from seeds.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.benchmarks.atlasworld.generator import LONGEST_S
from atlaskit.benchmarks.atlasworld.questions import CATEGORIES, WRITERS
from atlaskit.nano.data import synthetic
from atlaskit.nano.data.trajectories import lessons
from atlaskit.nano.teacher.judge_evidence import NUMBERS
from atlaskit.nano.teacher.labels import TRAINING_SEED, VALUES, codes, pictures

WORLDS = 200
"""From which lessons are drawn in the whole recipe; three quarters as many more are painted."""
SHARD = 10
"""Worlds in a shard."""
DURATIONS_S = (300, 600, 600, 600, 600, 900, 1200, 3600, 10_800, 36_000, 36_000)
PAINTED = ((320, 180), (320, 180), (640, 360))
"""Sizes of the films whose frames are made small, by turns."""
DRILLS = {
    "reading": (synthetic.reading, 80),
    "hearing": (synthetic.hearing, 100),
    "overhearing": (synthetic.overhearing, 60),
    "searching": (synthetic.searching, 250),
    "straying": (synthetic.straying, 150),
    "judging": (synthetic.judging, 250),
}
"""The kinds of drills, and how many of each make a shard."""
_SEEN = TRAINING_SEED + 500_000
"""The first of the worlds that are painted."""


def write_material(folder: Path, worlds: int, processes: int = 2) -> None:
    """Write the material of so many worlds."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "values.json").write_text(json.dumps([list(part) for part in VALUES.values()]))
    (folder / "varying.json").write_text(json.dumps([word for part in VALUES.values() for word in part if word]))
    (folder / "counts.json").write_text(json.dumps(NUMBERS))
    shards = max(1, worlds // SHARD)
    jobs: list[tuple[Callable[[Path, int], None], int]] = [
        *((write_tiles, shard) for shard in range(max(1, shards * 3 // 4))),
        *((write_lessons, shard) for shard in range(shards)),
        *((write_drills, shard) for shard in range(shards)),
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(job, folder, shard) for job, shard in jobs]
        for done in tqdm(running, desc="teaching material", unit="shard"):
            done.result()


def write_tiles(folder: Path, shard: int) -> None:
    """Write one shard of pictures: frames, what they show, and where."""
    paths = {part: folder / f"tiles-{shard:04d}-{part}.npy" for part in "xyp"}
    if all(path.exists() for path in paths.values()):
        return
    seeds = range(_SEEN + shard * SHARD, _SEEN + (shard + 1) * SHARD)
    taken = [picture for seed in seeds for picture in pictures(seed, PAINTED[seed % len(PAINTED)])]
    arrays: dict[str, NDArray[Any]] = {
        "x": np.stack([picture.frame for picture in taken]),
        "y": np.array([codes(picture.sight) for picture in taken], np.int16),
        "p": np.array([picture.place for picture in taken], np.float32),
    }
    for part, path in paths.items():
        draft = path.with_suffix(".part.npy")
        np.save(draft, arrays[part])
        draft.replace(path)


def write_lessons(folder: Path, shard: int) -> None:
    """Write one shard of lessons, a group a line."""
    path = folder / f"lessons-{shard:04d}.jsonl"
    if path.exists():
        return
    seeds = range(TRAINING_SEED + shard * SHARD, TRAINING_SEED + (shard + 1) * SHARD)
    write_rows(path, (group for seed in seeds for group in _lessons_of(seed)))


def _lessons_of(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lessons of one world to learn from."""
    rng = random.Random(seed)
    duration_s = rng.choice(DURATIONS_S)
    is_long = duration_s > LONGEST_S
    asked = CATEGORIES if rng.random() < 0.85 else tuple(WRITERS)
    world = atlasworld(seed, duration_s, questions=24, categories=asked, size=(160, 90))
    return lessons(
        world,
        slip=rng.choice((0.0, 0.15, 0.3)),
        seed=seed,
        # Of ten hours so much is said that most of the prompt would be that.
        subtitles=rng.random() < (0.6 if is_long else 0.8),
        workers=rng.choice((2, 4, 4, 6)),
        share=0.6 if is_long else 1.0,
    )


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write a file of rows, one a line: whole, or not at all."""
    draft = path.with_suffix(".part")
    with draft.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    draft.replace(path)


def write_drills(folder: Path, shard: int) -> None:
    """Write one shard of drills of each kind, a sheet or some pieces of evidence a line."""
    for kind, (draw, count) in DRILLS.items():
        path = folder / f"{kind}-{shard:04d}.jsonl"
        rng = random.Random(f"{kind} {shard}")
        if not path.exists():
            write_rows(path, (draw(rng) for _ in range(count)))


def main() -> None:
    """Write the material into the folder that is named."""
    asked = argparse.ArgumentParser(description="Write nano's teaching material.")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--worlds", type=int, default=WORLDS)
    options = asked.parse_args()
    write_material(options.folder, options.worlds)


if __name__ == "__main__":
    main()
