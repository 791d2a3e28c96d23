"""`atlaskit paper`: the paper's tables on a folder, with a model behind an address."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from support.answering import answering
from support.datasets import make_longvideobench, make_mlvu, write_json

from atlaskit.__main__ import main
from atlaskit.benchmarks.atlasworld import World
from atlaskit.evaluation import tables


@pytest.fixture
def data(in_tmp: Path, film: World) -> Path:
    make_longvideobench(in_tmp / "data", Path(str(film.video.path)))
    rows = json.loads((in_tmp / "data" / "lvb_val.json").read_text())
    write_json(in_tmp / "data" / "lvb_val.json", [{**row, "duration_group": 3600} for row in rows])
    return in_tmp / "data"


def test_both_tables_stand_beside_what_is_published(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with answering() as address:
        line = ["paper", str(data), "--model", address, "any-vlm", "--hours", "0.1", "--out", "out"]
        assert main([*line, "--estimate", "1"]) == 0
        assert "uniform, from 1 of 2 questions" in capsys.readouterr().out
        assert main(line) == 0
        printed = capsys.readouterr().out
        for name in ("table-1-longvideobench-long", "table-2-longvideobench-10hr"):
            table = pd.read_csv(f"out/{name}.csv")
            assert table["system"].tolist()[:3] == ["uniform", "video-rlm", "uniform, equal tokens"]
            assert (table["source"] == "this run").sum() == 3 and len(table) > 6 and table["score"].notna().all()
            searched = tables.load(f"out/{name}-video-rlm.csv").attrs["settings in full"]
            assert searched["traversal"] == "auto" or "one of" in str(searched["traversal"]) or searched["votes"] == 1
            sampled = tables.load(f"out/{name}-uniform.csv").attrs
            assert sampled["settings in full"]["frames"] == 160 and sampled["settings in full"]["cell"] == 320
            assert name.rpartition("-")[0][:7] in printed
        assert main([*line, "--total-calls", "1"]) == 1
        assert "The total of 1 calls is reached" in capsys.readouterr().err


def test_what_the_paper_does_not_ask_is_told(in_tmp: Path, film: World, capsys: pytest.CaptureFixture[str]) -> None:
    make_mlvu(in_tmp / "data", Path(str(film.video.path)))
    assert main(["paper", "data", "--model", "http://127.0.0.1:9/v1", "m"]) == 2
    assert "The paper asks longvideobench and videomme; data holds mlvu" in capsys.readouterr().err
