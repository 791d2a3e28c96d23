"""`atlaskit paper`: the paper's tables on a folder, with a model behind an address."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answering import answering
from support.datasets import make_longvideobench, make_mlvu, write_json

from atlaskit.__main__ import main
from atlaskit.cli.paper import frames_near
from atlaskit.evaluation import tables
from atlaskit.models.protocol import MOST_IMAGES


@pytest.fixture
def data(in_tmp: Path, film_file: Path) -> Path:
    make_longvideobench(in_tmp / "data", film_file)
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
            assert table["system"].tolist()[:3] == ["uniform", "video-rlm", "uniform, 1024 frames"]
            assert (table["source"] == "this run").sum() == 3 and len(table) > 6 and table["score"].notna().all()
            searched = tables.load(f"out/{name}-video-rlm.csv").attrs["settings in full"]
            assert searched["traversal"] == "auto" or "one of" in str(searched["traversal"]) or searched["votes"] == 1
            sampled = tables.load(f"out/{name}-uniform.csv").attrs
            assert sampled["settings in full"]["frames"] == 160 and sampled["settings in full"]["cell"] == 320
            assert name.rpartition("-")[0][:7] in printed
        assert "frames; a request holds 1,024." in printed
        assert main([*line, "--total-calls", "1"]) == 1
        assert "The total of 1 calls is reached" in capsys.readouterr().err


@given(st.integers(1, 100_000))
def test_frames_for_as_many_tokens_fill_whole_images_of_one_request(wanted: int) -> None:
    near = frames_near(wanted)
    images, rest = divmod(near["frames"], near["per_image"])
    assert rest == 0 and 1 <= images <= MOST_IMAGES and math.isqrt(near["per_image"]) ** 2 == near["per_image"]
    assert abs(near["frames"] - min(max(wanted, 16), 1024)) <= 32


def test_what_the_paper_does_not_ask_is_told(in_tmp: Path, film_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_mlvu(in_tmp / "data", film_file)
    assert main(["paper", "data", "--model", "http://127.0.0.1:9/v1", "m"]) == 2
    assert "The paper asks longvideobench and videomme; data holds mlvu" in capsys.readouterr().err
