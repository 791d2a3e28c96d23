"""nano's training code: numbers, a toy model, resuming, and the lock on a folder."""

import csv
import json
import signal
import subprocess
from itertools import islice
from pathlib import Path

import pytest
from support.parallel import wait_until

from atlaskit.models.serving import install
from nano.data import shards
from nano.train import LEARN

pytestmark = pytest.mark.server

GROUPS = 60
"""Groups of each kind in the toy's material."""


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter of vLLM's environment."""
    return install.interpreter()


def test_fast_paths_compute_what_transformers_computes(python: str, tmp_path: Path) -> None:
    worker = Path(__file__).with_name("nano_worker.py")
    process = subprocess.run([python, worker, LEARN, tmp_path], check=True, capture_output=True, text=True)
    found = json.loads(process.stdout.splitlines()[-1])
    assert found["hidden state error"] < 1e-4 and found["visual token error"] < 1e-4
    assert found["is reversible"] and found["tokens of cells"][0] == found["tokens of cells"][1]
    assert found["tokens of objects"] == [1, 1]  # with a blank before it and without
    assert found["tokens of labels"] == [1, 2, 2]  # one token, whatever comes before it
    assert found["parameters"] < 12e6


def losses(path: Path) -> list[tuple[int, float]]:
    return [(int(row["step"]), float(row["loss"])) for row in csv.DictReader(path.open())]


@pytest.mark.long
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
    command = [python, str(LEARN), str(data), str(tmp_path / "out"), "--groups", "1", "--threads", "1"]
    command += ["--share", "0.0066", "--keep", "4"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    checkpoint = tmp_path / "out" / "mind.ckpt"
    wait_until(lambda: checkpoint.exists() or running.poll() is not None, 600)
    assert running.poll() is None
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
    (_, first), *_, (_, last) = losses(tmp_path / "out" / "mind.csv")
    assert last < 0.9 * first
    model = tmp_path / "out" / "nano"
    assert {"config.json", "tokenizer.json", "preprocessor_config.json"} <= {path.name for path in model.iterdir()}
    assert sum(path.stat().st_size for path in model.glob("*.safetensors")) < 25e6
