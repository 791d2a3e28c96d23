"""Writes all training data in shards, and sets the number of examples of each kind.

A shard is either complete or absent, so an interrupted run continues where it stopped. Everything
follows from seeds: equal arguments write equal files.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import atlasworld as aw
from atlasworld.generator import LONGEST_S
from atlasworld.questions import CATEGORIES, WRITERS
from nano.data import synthetic
from nano.data.examples import Group
from nano.data.frames import labelled_frames
from nano.data.trajectories import lessons
from nano.teacher.judge_evidence import NUMBERS
from nano.teacher.labels import TRAINING_SEED, VALUES, encode

WORLDS = 200
"""Number of worlds whose trajectories the full recipe uses. The labelled frames come from other
worlds, three quarters as many."""
WORLDS_PER_SHARD = 10
DURATIONS_S = (300, 600, 600, 600, 600, 900, 1200, 3600, 10_800, 36_000, 36_000)
"""Lengths of worlds to draw from, in seconds."""
FRAME_SIZES = ((320, 180), (320, 180), (640, 360))
"""Sizes in pixels at which frames are rendered before they are scaled to a cell; the worlds take
them in turn."""
SYNTHETIC: dict[str, tuple[Callable[[random.Random], Group], int]] = {
    "reading": (synthetic.reading, 80),
    "hearing": (synthetic.hearing, 100),
    "overhearing": (synthetic.overhearing, 60),
    "searching": (synthetic.searching, 250),
    "straying": (synthetic.straying, 150),
    "judging": (synthetic.judging, 250),
}
"""The kinds of synthetic examples, and the number of groups of each in a shard."""
_FIRST_FRAME_SEED = TRAINING_SEED + 500_000
"""Seed of the first world that gives labelled frames."""


def write_training_data(folder: Path, worlds: int, processes: int = 2) -> None:
    """Write the training data of some worlds; skip the shards that exist.

    Args:
        folder: Folder to write to.
        worlds: Number of worlds, rounded down to whole shards but at least one.
        processes: Number of processes that write shards at the same time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "values.json").write_text(json.dumps([list(values) for values in VALUES.values()]))
    (folder / "varying.json").write_text(
        json.dumps([word for values in VALUES.values() for word in values if word])
    )
    (folder / "counts.json").write_text(json.dumps(NUMBERS))
    shards = max(1, worlds // WORLDS_PER_SHARD)
    jobs: list[tuple[Callable[[Path, int], None], int]] = [
        *((write_frames, shard) for shard in range(max(1, shards * 3 // 4))),
        *((write_trajectories, shard) for shard in range(shards)),
        *((write_synthetic, shard) for shard in range(shards)),
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(job, folder, shard) for job, shard in jobs]
        for future in tqdm(futures, desc="training data", unit="shard"):
            future.result()


def write_frames(folder: Path, shard: int) -> None:
    """Write one shard of labelled frames as three arrays; skip it if it exists.

    The names of the files end in x (pixels), y (label indices) and p (object boxes).
    """
    paths = {part: folder / f"tiles-{shard:04d}-{part}.npy" for part in "xyp"}
    if all(path.exists() for path in paths.values()):
        return
    frames = [
        frame
        for seed in _seeds(_FIRST_FRAME_SEED, shard)
        for frame in labelled_frames(seed, FRAME_SIZES[seed % len(FRAME_SIZES)])
    ]
    arrays: dict[str, NDArray[Any]] = {
        "x": np.stack([each.frame for each in frames]),
        "y": np.array([encode(each.content) for each in frames], np.int16),
        "p": np.array([each.object_box for each in frames], np.float32),
    }
    for part, path in paths.items():
        draft = path.with_suffix(".part.npy")
        np.save(draft, arrays[part])
        draft.replace(path)


def write_trajectories(folder: Path, shard: int) -> None:
    """Write one shard of trajectories, one group per line; skip it if it exists."""
    path = folder / f"lessons-{shard:04d}.jsonl"
    if not path.exists():
        seeds = _seeds(TRAINING_SEED, shard)
        write_groups(path, chain.from_iterable(map(world_groups, seeds)))


def world_groups(seed: int) -> Iterator[Group]:
    """Yield the trajectories of one training world; all settings follow from its seed."""
    rng = random.Random(seed)
    duration_s = rng.choice(DURATIONS_S)
    is_long = duration_s > LONGEST_S
    categories = CATEGORIES if rng.random() < 0.85 else tuple(WRITERS)
    world = aw.world(seed, duration_s, questions=24, categories=categories, size=(160, 90))
    return lessons(
        world,
        slip=rng.choice((0.0, 0.15, 0.3)),
        seed=seed,
        # The subtitles of a long world would be most of the prompt.
        subtitles=rng.random() < (0.6 if is_long else 0.8),
        workers=rng.choice((2, 4, 4, 6)),
        share=0.6 if is_long else 1.0,
    )


def write_synthetic(folder: Path, shard: int) -> None:
    """Write one shard of each kind of synthetic examples, one group per line; skip those there."""
    for kind, (sample, count) in SYNTHETIC.items():
        path = folder / f"{kind}-{shard:04d}.jsonl"
        rng = random.Random(f"{kind} {shard}")
        if not path.exists():
            write_groups(path, (sample(rng) for _ in range(count)))


def write_groups(path: Path, groups: Iterable[Group]) -> None:
    """Write groups to a file, one per line. The file appears only once it is complete."""
    draft = path.with_suffix(".part")
    with draft.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(group, ensure_ascii=False) + "\n" for group in groups)
    draft.replace(path)


def _seeds(first: int, shard: int) -> range:
    """Return the seeds of the worlds of a shard; `first` is the first seed of the first shard."""
    first_of_shard = first + shard * WORLDS_PER_SHARD
    return range(first_of_shard, first_of_shard + WORLDS_PER_SHARD)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write nano's training data.")
    parser.add_argument("folder", type=Path, help="folder to write to")
    parser.add_argument("--worlds", type=int, default=WORLDS, help=f"number of worlds ({WORLDS})")
    args = parser.parse_args()
    write_training_data(args.folder, args.worlds)


if __name__ == "__main__":
    main()
