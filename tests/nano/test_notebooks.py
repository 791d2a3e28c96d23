"""The recipe's notebooks run from what ships, without PyTorch, and give the published tables."""

from pathlib import Path

import pytest
from support.paths import ROOT

from atlaskit.experiments.notebook import run_notebook

pytestmark = pytest.mark.long


def run(name: str, folder: Path) -> None:
    places = {"figures_dir": str(folder), "cache_dir": str(folder / "cache")}
    run_notebook(ROOT / "nano" / f"{name}.ipynb", folder, places)


def test_the_policy_has_the_published_tables(tmp_path: Path) -> None:
    run("learned_policy", tmp_path)
    for name in ("learned_policy.csv", "learned_policy_curve.csv"):
        assert (tmp_path / name).read_text() == (ROOT / "nano" / "shipped" / name).read_text()


def test_the_training_data_and_the_learning_curves_are_shown(tmp_path: Path) -> None:
    run("training", tmp_path)
    assert (tmp_path / "nano_training.png").stat().st_size > 10_000
