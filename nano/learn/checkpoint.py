"""Checkpoints, learning curves (`eyes.csv`, `mind.csv`), and the folder of the final model."""

from __future__ import annotations

import csv
import fcntl
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

import torch
from optimizer import CombinedOptimizer
from transformers import Idefics3ForConditionalGeneration, PreTrainedTokenizerFast

_locks: list[TextIO] = []
"""Lock files, which stay open because closing a file would release its lock."""


class LearningCurve:
    """A CSV table of measurements during a stage. A stage that resumes continues its table."""

    def __init__(self, path: Path, step: int, columns: Sequence[str]) -> None:
        """Open the table, and drop the rows after the step at which the stage resumes.

        Args:
            path: The CSV file.
            step: The step at which the stage begins or resumes.
            columns: Names of the measures beside the loss.
        """
        if path.exists():
            rows = [row for row in csv.DictReader(path.open()) if int(row["step"]) <= step]
        else:
            rows = []
        self._file = path.open("w", newline="")
        self._writer = csv.DictWriter(self._file, ["step", "seconds", "loss", *columns])
        self._writer.writeheader()
        self._writer.writerows(rows)
        self._earlier_runs_s = float(rows[-1]["seconds"]) if rows else 0.0
        self._began_s = time.monotonic()

    def append(self, step: int, loss: float, **measures: float) -> None:
        """Append a row, with the seconds that the stage has taken, earlier runs included."""
        seconds = self._earlier_runs_s + time.monotonic() - self._began_s
        row = {"step": step, "seconds": round(seconds, 1), "loss": round(loss, 4)}
        row |= {name: round(value, 4) for name, value in measures.items()}
        self._writer.writerow(row)
        self._file.flush()


def resume(
    stage: str,
    out: Path,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer | CombinedOptimizer,
) -> tuple[int, Callable[[int], None]]:
    """Load the checkpoint of a stage, if there is one.

    Returns:
        The step at which the stage resumes, 0 without a checkpoint; and a function that writes a
        checkpoint, whose argument is the number of steps taken.
    """
    path = out / f"{stage}.ckpt"
    step = 0
    if path.exists():
        state = torch.load(path, weights_only=True, map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["guide"])  # the key of the optimizer's state
        step = state["step"]
        print(f"{stage}: resumes at step {step}", flush=True)

    def write_checkpoint(step: int) -> None:
        state = {"model": model.state_dict(), "guide": optimizer.state_dict(), "step": step}
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)

    return step, write_checkpoint


def lock(out: Path, stage: str) -> None:
    """Lock a stage in a folder until this process ends; exit if another run holds the lock.

    Without the lock, two runs in one folder would resume from each other's checkpoints.
    """
    file = (out / f"{stage}.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"Another run trains the stage {stage!r} in {out}; wait for it, or stop it.")
    _locks.append(file)


def save(
    model: Idefics3ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, out: Path
) -> None:
    """Save the model, its tokenizer and its learning curves as a folder that vLLM serves."""
    folder = out / "nano"
    pad = tokenizer.convert_tokens_to_ids("<pad>")
    size = len(tokenizer)
    # Some servers require a vocabulary in multiples of 64.
    model.resize_token_embeddings(size, pad_to_multiple_of=64, mean_resizing=False)
    with torch.no_grad():
        table = model.model.text_model.embed_tokens.weight
        table[size:] = table[pad]  # the model never predicts the padding token
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids("<end>")
    model.generation_config.pad_token_id = pad
    model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="11MB")
    for path in out.glob("*.csv"):
        shutil.copy(path, folder)
    millions = sum(weight.numel() for weight in model.parameters()) / 1e6
    print(f"Saved {millions:.2f} million parameters to {folder}.")
