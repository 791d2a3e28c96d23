"""The experiments run on the folder of a dataset, with a model behind an address."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.answering import answering
from support.datasets import make_longvideobench, write_json
from support.paths import ROOT

import atlaskit as ak
import atlasworld as aw
from atlaskit.experiments.notebook import run_notebook

SMALL: dict[str, dict[str, Any]] = {
    "03_depth_budget": {"hours": 0.01, "depths": [0, 1]},
    "04_worker_scaling": {"hours": 0.01, "served_minutes": 1, "served_worker_counts": [1, 2]},
    "05_log_scaling": {"minutes": [1, 4], "captioned": [1]},
    "06_adaptive_compute": {"hours": 0.01},
    "07_compute_and_cache": {"minutes": [1, 2]},
    "08_error_analysis": {"hours": 0.01, "stronger": "self"},
    "09_benchmarks": {"minutes": [1, 4], "captioned": [1], "compared": [1]},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, film_file: Path) -> Path:
    home = tmp_path_factory.mktemp("longvideobench")
    make_longvideobench(home, film_file)
    rows = json.loads((home / "lvb_val.json").read_text())
    write_json(home / "lvb_val.json", [{**row, "position": [3, 30, 200, 30]} for row in rows])
    return home


def test_cases_are_those_of_a_folder_that_match(home: Path) -> None:
    both = aw.cases(str(home), minutes=[1, 2], where={"duration_group": 15})
    assert [case.facts["length"] for case in both] == ["standard"] * 2 + ["long"] * 2
    assert {case.facts["positions"] for case in both} == {3}, "places that the dataset names, each once"
    (alone,) = aw.cases(str(home), minutes=[2], first=1, subtitles=False)
    assert alone.facts["length"] == "long" and not alone.facts["subtitles"]
    with pytest.raises(ak.errors.InputError, match="matches"):
        aw.cases(str(home), minutes=[2], where={"duration_group": 3600})


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_an_experiment_runs_on_a_folder(name: str, home: Path, tmp_path: Path) -> None:
    out = shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", tmp_path)
    with answering() as address:
        parameters = {"data": str(home), "model": address, "calls": 6, "cache_dir": str(tmp_path / "cache")}
        own = {key: address if value == "self" else value for key, value in SMALL[name].items()}
        run_notebook(Path(out), tmp_path / "figures", {**parameters, **own})
    (table, *_) = sorted((tmp_path / "figures").glob(f"{name}*.csv"))
    assert "oracle" not in table.read_text(), "no oracle knows a film"
