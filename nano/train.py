"""Trains nano from scratch: `make nano`, or `make nano MINUTES=3` for a trial.

Writes the training data with atlaskit, then trains in vLLM's environment, which has PyTorch and
transformers. An interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from atlaskit.errors import InputError
from atlaskit.models.serving.install import interpreter

FULL_MINUTES = 120.0
"""Intended duration of the full recipe on two cores. The run that made the shipped weights took 121
minutes on cores with AMX while other jobs ran; without AVX-512 it takes much longer
(nano/README.md)."""
MEMORY_SETTINGS = {
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**28),
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": str(2**14),
}
"""Environment variables that make the C library keep freed memory, and oneDNN keep the kernels that
it compiled for each matrix shape. Training takes much longer if either is missing
(nano/trials.md)."""
LEARN = Path(__file__).with_name("learn")
"""The folder of the training code, which runs without atlaskit."""


def make(folder: Path, minutes: float = FULL_MINUTES) -> Path:
    """Train a model from scratch.

    Args:
        folder: Folder for the training data, checkpoints and weights.
        minutes: Intended duration. In less time than the full recipe takes, the model trains on
            less data for fewer steps, and learns little.

    Returns:
        The folder of the weights.

    Raises:
        InputError: `minutes` is not positive, or is more than the full recipe takes.
    """
    # Imported here, because it loads much of atlaskit and the command line should start at once.
    from nano.data.shards import WORLDS, WORLDS_PER_SHARD, write_training_data

    if not 0 < minutes <= FULL_MINUTES:
        raise InputError(
            f"MINUTES must be more than 0 and at most {FULL_MINUTES:g}; got {minutes:g}."
        )
    share = minutes / FULL_MINUTES
    out = folder / (f"{minutes:g}-minutes" if share < 1 else "whole")
    data = out / "material"
    write_training_data(data, worlds=max(WORLDS_PER_SHARD, round(WORLDS * share)))
    return run_training(data, out, share)


def run_training(data: Path, out: Path, share: float) -> Path:
    """Run the training code as a process in vLLM's environment.

    Args:
        data: Folder of the training data.
        out: Folder for checkpoints, learning curves and weights.
        share: Share of the full recipe's steps to take.

    Returns:
        The folder of the weights.

    Raises:
        CalledProcessError: The training failed.
    """
    command = [interpreter(), str(LEARN), str(data), str(out), "--share", str(share)]
    subprocess.run(command, check=True, env={**os.environ, **MEMORY_SETTINGS})
    return out / "nano"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Train nano from scratch.")
    parser.add_argument(
        "folder", type=Path, help="folder for the training data, checkpoints and weights"
    )
    parser.add_argument(
        "--minutes", type=float, default=FULL_MINUTES, help=f"intended duration ({FULL_MINUTES:g})"
    )
    args = parser.parse_args()
    weights = make(args.folder, args.minutes)
    print(
        f'nano is in {weights}. Serve it by ak.serve("{weights}") and ask with k=4, cell=128, '
        'fit="contain".'
    )


if __name__ == "__main__":
    main()
