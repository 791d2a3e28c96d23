"""nano's training code: numbers, a toy model, resuming, and the lock on a folder."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import time
from itertools import islice
from pathlib import Path

import pytest
from support.paths import SUPPORT

from atlaskit.models.serving import install
from atlaskit.nano.data import shards
from atlaskit.nano.train import LEARN

pytestmark = pytest.mark.server

GROUPS = 60
"""Groups of each kind in the toy's material."""

MEAN = """
import sys, torch
from pathlib import Path
from safetensors.torch import load_file

def weights(folder):
    found = {}
    for path in Path(folder).glob("*.safetensors"):
        found |= {name: weight.float() for name, weight in load_file(path).items()}
    return found

old, new = weights(sys.argv[1]), weights(sys.argv[2] + "/nano")
trained = torch.load(sys.argv[2] + "/practice.ckpt", weights_only=True)["model"]
names = {name: "model.text_model." + name for name in trained if name.startswith("layers.")}
off = torch.cat([(new[name] - (old[name] + trained[short]) / 2).flatten() for short, name in names.items()])
moved = torch.cat([(new[name] - old[name]).flatten() for name in names.values()])
print(float(off.norm() / moved.norm()), float(moved.abs().max()))
"""
"""Prints, for a model that continued to train: how far its weights are from the mean of the old and
the trained weights, relative to how far they moved; and the largest move of a weight."""


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter of vLLM's environment."""
    return install.interpreter()


def test_fast_paths_compute_what_transformers_computes(python: str, tmp_path: Path) -> None:
    worker = SUPPORT / "nano_worker.py"
    process = subprocess.run([python, worker, LEARN, tmp_path], check=True, capture_output=True, text=True)
    found = json.loads(process.stdout.splitlines()[-1])
    assert found["hidden state error"] < 1e-4 and found["visual token error"] < 1e-4
    assert found["codebook error"] < 1e-5
    assert found["is reversible"] and found["tokens of cells"][0] == found["tokens of cells"][1]
    assert found["tokens of objects"] == [1, 1]  # with a blank before it and without
    assert found["tokens of labels"] == [1, 2, 2]  # one token, whatever comes before it
    assert found["parameters"] < 12e6
    least, greatest = found["singular values"]
    assert 0.5 < least < greatest < 1.5  # Newton-Schulz iterations stop near one, not at it
    assert found["optimizer error"] < 0.2
    assert found["weighted losses"] == [0.5, 9.0, -2.0, 0.0, 2.0], "what is unlikely is not made less likely still"


def losses(path: Path) -> list[tuple[int, float]]:
    return [(int(row["step"]), float(row["loss"])) for row in csv.DictReader(path.open())]


def test_recipe_trains_a_toy_model(python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses fall, a killed run resumes, a second run is refused, and vLLM can load the result."""
    monkeypatch.setattr(shards, "WORLDS_PER_SHARD", 1)
    monkeypatch.setattr(shards, "DURATIONS_S", (120,))
    monkeypatch.setattr(shards, "FRAME_SIZES", ((160, 90),))
    data = tmp_path / "material"
    shards.write_training_data(data, 1)
    for path in data.glob("*.jsonl"):  # a fiftieth is held out, and evaluated after each stage
        with path.open() as file:
            kept = list(islice(file, GROUPS))
        path.write_text("".join(kept))
    train = [python, str(LEARN), str(data), "--groups", "1", "--threads", "1"]
    command = [*train, str(tmp_path / "out"), "--share", "0.0066", "--keep", "4"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    checkpoint = tmp_path / "out" / "mind.ckpt"
    while not checkpoint.exists():
        assert running.poll() is None
        time.sleep(0.2)
    running.send_signal(signal.SIGSTOP)
    second = subprocess.run(command, check=False, capture_output=True, text=True)
    assert second.returncode == 1
    assert second.stderr == f"Another run trains the stage 'eyes' in {tmp_path / 'out'}; wait for it, or stop it.\n"
    running.send_signal(signal.SIGKILL)
    running.wait()
    resumed = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "eyes: resumes at step" in resumed.stdout and "mind: resumes at step" in resumed.stdout
    for stage in ("eyes", "mind"):
        curve = losses(tmp_path / "out" / f"{stage}.csv")
        assert [step for step, _ in curve] == sorted({step for step, _ in curve})
    (_, first), *_, (steps, last) = losses(tmp_path / "out" / "mind.csv")
    assert last < 0.9 * first
    model = tmp_path / "out" / "nano"
    assert {"config.json", "tokenizer.json", "preprocessor_config.json"} <= {path.name for path in model.iterdir()}
    assert sum(path.stat().st_size for path in model.glob("*.safetensors")) < 25e6
    onward = [*train, str(tmp_path / "on"), "--share", "0.0066", "--on", str(model)]
    continued = subprocess.run(onward, check=True, capture_output=True, text=True)
    assert "eyes" not in continued.stdout, "the vision tower does not train again"
    assert f"practice {steps}/{steps} " in continued.stdout, "the language model trains for as many steps"
    (_, began), *_ = losses(tmp_path / "on" / "practice.csv")
    assert began < first, "training continues from what the model knew"
    old, new = ({path.name for path in folder.iterdir()} for folder in (model, tmp_path / "on" / "nano"))
    assert new - old == {"practice.csv"} and old <= new
    mean = subprocess.run([python, "-c", MEAN, model, tmp_path / "on"], check=True, capture_output=True, text=True)
    off, moved = map(float, mean.stdout.split())
    assert moved > 0 and off < 0.3, "the new weights are the mean of old and trained ones, up to rounding"
