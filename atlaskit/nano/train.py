"""Makes nano, from nothing to the folder that vLLM serves: `make nano`, or `make nano MINUTES=3` for a trial.

Writes the teaching material with the kit, then teaches with the environment that vLLM runs in, which has PyTorch and
transformers. Cut short, it goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from atlaskit.errors import InputError
from atlaskit.models.serving.install import interpreter

WHOLE_MINUTES = 120.0
"""What the whole recipe is meant to take on two cores; it took 121 minutes on some with AMX, other work beside; without
AVX-512 three hours."""
KEEPING = {
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**28),
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": str(2**14),
}
"""Tells the C library to keep what is freed, and oneDNN what it compiled for a shape of matrices: to give it back and
ask for it again took a third of the time, and to compile it again a fifth."""
LEARN = Path(__file__).with_name("learn")


def make(folder: Path, minutes: float = WHOLE_MINUTES) -> Path:
    """Make the model in a folder; a trial of fewer minutes has less material and fewer steps, and learns little.

    Returns the folder of the weights. Raises InputError for a time that is not positive.
    """
    from atlaskit.nano.data.shards import SHARD, WORLDS, write_material  # and with it, what starts processes

    if not 0 < minutes <= WHOLE_MINUTES:
        raise InputError(f"MINUTES is more than 0 and at most {WHOLE_MINUTES:g}, got {minutes:g}.")
    share = minutes / WHOLE_MINUTES
    home = folder / (f"{minutes:g}-minutes" if share < 1 else "whole")
    write_material(home / "material", max(SHARD, round(WORLDS * share)))
    return teach(home / "material", home, share)


def teach(material: Path, out: Path, share: float, on: Path | None = None) -> Path:
    """Teach by some material, for a share of the steps of the whole recipe; from nothing, or on from a folder of
    weights. Return the folder of the new weights."""
    command = [interpreter(), str(LEARN), str(material), str(out), "--share", str(share)]
    command += ["--on", str(on)] if on else []
    subprocess.run(command, check=True, env={**os.environ, **KEEPING})
    return out / "nano"


def main() -> None:
    """Make it, as `make nano` asks for."""
    asked = argparse.ArgumentParser(description="Make nano.")
    asked.add_argument("folder", type=Path)
    asked.add_argument("--minutes", type=float, default=WHOLE_MINUTES)
    options = asked.parse_args()
    made = make(options.folder, options.minutes)
    print(f'nano is in {made}: serve it by ak.serve("{made}"), and ask with k=4, cell=128.')


if __name__ == "__main__":
    main()
