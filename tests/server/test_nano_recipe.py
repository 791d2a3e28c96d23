"""What learns: the same numbers as transformers' own passes, a whole recipe at toy size, a resume after a kill, and
never two runs at once."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.paths import SUPPORT

from atlaskit.models.serving import install
from atlaskit.nano.data import shards
from atlaskit.nano.train import LEARN

pytestmark = pytest.mark.server


MEAN = """
import sys, torch
from pathlib import Path
from safetensors.torch import load_file

def weights(folder):
    found = {}
    for path in Path(folder).glob("*.safetensors"):
        found |= {name: weight.float() for name, weight in load_file(path).items()}
    return found

was, became = weights(sys.argv[1]), weights(sys.argv[2] + "/nano")
learnt = torch.load(sys.argv[2] + "/practice.ckpt", weights_only=True)["model"]
names = {name: "model.text_model." + name for name in learnt if name.startswith("layers.")}
off = torch.cat([(became[name] - (was[name] + learnt[short]) / 2).flatten() for short, name in names.items()])
moved = torch.cat([(became[name] - was[name]).flatten() for name in names.values()])
print(float(off.norm() / moved.norm()), float(moved.abs().max()))
"""
"""How far the weights of a model that went on are from the mean of what it was and what it learned, as a share of how
far they moved; and that."""


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter of the environment that vLLM runs in."""
    return install.interpreter()


def test_short_cuts_give_the_same_numbers(python: str, tmp_path: Path) -> None:
    worker = SUPPORT / "nano_worker.py"
    done = subprocess.run([python, worker, LEARN, tmp_path], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["mind"] < 1e-4 and found["eyes"] < 1e-4 and found["book"] < 1e-5
    assert found["words"] and found["cells"][0] == found["cells"][1]
    assert found["objects"] == [1, 1]  # one word, with its blank and without
    assert found["labels"] == [1, 2, 2]  # one word, wherever it stands
    assert found["parameters"] < 12e6
    assert 0.5 < found["evened"][0] < found["evened"][1] < 1.5  # Newton-Schulz stops near one, not at it
    assert found["led"] < 0.2


def losses(path: Path) -> list[tuple[int, float]]:
    return [(int(row["step"]), float(row["loss"])) for row in csv.DictReader(path.open())]


def test_the_whole_recipe_at_toy_size(python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The losses fall, a killed run goes on, and what comes out is a folder that vLLM can load."""
    monkeypatch.setattr(shards, "SHARD", 2)
    monkeypatch.setattr(shards, "DURATIONS_S", (120,))
    monkeypatch.setattr(shards, "PAINTED", ((160, 90),))
    folder = tmp_path / "material"
    shards.write_material(folder, 2)
    teach = [python, str(LEARN), str(folder), "--groups", "2", "--threads", "1"]
    command = [*teach, str(tmp_path / "out"), "--share", "0.0066", "--keep", "1"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    kept = tmp_path / "out" / "mind.ckpt"
    while not kept.exists():
        assert running.poll() is None
        time.sleep(0.2)
    running.send_signal(signal.SIGSTOP)
    second = subprocess.run(command, check=False, capture_output=True, text=True)
    assert second.returncode == 1
    assert second.stderr == f"Another run teaches the eyes in {tmp_path / 'out'}: wait for it, or stop it.\n"
    running.send_signal(signal.SIGKILL)
    running.wait()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "eyes: goes on from step" in done.stdout and "mind: goes on from step" in done.stdout
    for name in ("eyes", "mind"):
        told = losses(tmp_path / "out" / f"{name}.csv")
        assert [step for step, _ in told] == sorted({step for step, _ in told})
    (_, first), *_, (steps, last) = losses(tmp_path / "out" / "mind.csv")
    assert last < 0.9 * first
    made = tmp_path / "out" / "nano"
    assert {"config.json", "tokenizer.json", "preprocessor_config.json"} <= {path.name for path in made.iterdir()}
    assert sum(path.stat().st_size for path in made.glob("*.safetensors")) < 25e6
    onward = [*teach, str(tmp_path / "on"), "--share", "0.0066", "--on", str(made)]
    done = subprocess.run(onward, check=True, capture_output=True, text=True)
    assert "eyes" not in done.stdout, "they are as they were"
    assert f"practice {steps}/{steps} " in done.stdout, "its mind goes on, for as many steps"
    (_, began), *_ = losses(tmp_path / "on" / "practice.csv")
    assert began < first, "from what it knew"
    had, has = ({path.name for path in folder.iterdir()} for folder in (made, tmp_path / "on" / "nano"))
    assert has - had == {"practice.csv"} and had <= has
    told = subprocess.run([python, "-c", MEAN, made, tmp_path / "on"], check=True, capture_output=True, text=True)
    off, moved = map(float, told.stdout.split())
    assert moved > 0 and off < 0.3, "half of what it was stays, but for rounding"
