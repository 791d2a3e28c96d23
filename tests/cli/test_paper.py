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


LINE = ["paper", "data", "--hours", "0.1", "--out", "out"]
FILES = ("table-1-longvideobench-long", "table-2-longvideobench-10hr")


def test_both_tables_stand_beside_what_is_published(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with answering() as address:
        line = [*LINE, "--model", address, "any-vlm"]
        assert main([*line, "--estimate", "1"]) == 0
        printed = capsys.readouterr().out
        for told in ("table-1", "table-2"):
            assert f"\n{told}, longvideobench" in printed, "all is estimated before anything is asked"
        assert printed.count("from 1 of 2 questions") == 8 and printed.count("Pass --yes") == 1
        assert main(line) == 0
        printed = capsys.readouterr().out
        for name in FILES:
            table = pd.read_csv(f"out/{name}.csv")
            assert table["system"].tolist()[:4] == ["uniform", "captions", "video-rlm", "uniform, 1024 frames"]
            assert (table["source"] == "this run").sum() == 4 and len(table) > 6 and table["score"].notna().all()
            searched = tables.load(f"out/{name}-video-rlm.csv").attrs["settings in full"]
            assert searched["traversal"] == "auto" or "one of" in str(searched["traversal"]) or searched["votes"] == 1
            sampled = tables.load(f"out/{name}-uniform.csv").attrs
            assert sampled["settings in full"]["frames"] == 160 and sampled["settings in full"]["cell"] == 320
            assert name.rpartition("-")[0][:7] in printed
            costs = pd.read_csv(f"out/{name}-costs.csv").set_index("system")
            assert costs.loc["video-rlm", "image_tokens"] + costs.loc["video-rlm", "text_tokens"] > 0
            assert {"model_seconds", "queue_seconds", "frames_decoded", "cached_tokens"} <= set(costs.columns)
            assert costs.loc["captions", "video_calls"] > 0 == costs.loc["uniform", "video_calls"]
        assert "frames; a request holds 1,024." in printed
        assert main([*line, "--total-calls", "1"]) == 1
        assert "The total of 1 calls is reached" in capsys.readouterr().err


def test_its_cards_repeat_its_rows(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with answering() as address:
        chosen = ["--method", "uniform", "video-rlm", "--traces", "runs", "--first", "1"]
        assert main([*LINE, "--model", address, "any-vlm", *chosen]) == 0
        for name, system in zip(FILES, ("video-rlm", "uniform-1024-frames"), strict=True):
            rows = tables.load(f"out/{name}-{system}.csv")
            assert Path(rows["trace"][0]).is_file()
            assert main(["evaluate", "--like", f"out/{name}-{system}.csv.json", "--out", "again.csv"]) == 0
            assert "no model calls paid now" in capsys.readouterr().out.replace(" 0 model", " no model")
            again = tables.load("again.csv")
            same = ["id", "prediction", "score", "calls", "tokens"]
            assert again[same].equals(rows[same]) and again.attrs["asked"] == rows.attrs["asked"]


def test_failures_are_asked_again_and_told_by_the_exit_status(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering() as address:
        line = [*LINE, "--model", address, "any-vlm", "--method", "uniform"]
        assert main(line) == 0
        path = f"out/{FILES[0]}-uniform.csv"
        whole = tables.load(path)
        torn = whole.copy()
        torn.attrs = whole.attrs
        torn.loc[0, ["failure", "score"]] = ["the server died", 0.0]
        tables.save(torn, path)
        with monkeypatch.context() as patched:
            patched.setattr("atlaskit.cli.paper.failed", lambda *_: [])
            assert main([*line, "--rerun", "failures"]) == 1
        assert "1 rows had a failed call" in capsys.readouterr().err
        assert main([*line, "--rerun", "failures"]) == 0
        assert tables.load(path)["failure"].tolist() == ["", ""]
        shards = [*line, "--shard", "2/2", "--out", "half"]
        assert main(shards) == 0
        assert len(tables.load(f"half/{FILES[0]}-uniform.csv")) == 1


def test_ten_hours_do_not_depend_on_what_else_is_asked(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with answering() as address:
        line = [*LINE, "--model", address, "any-vlm", "--method", "uniform"]
        assert main(line) == 0
        assert main([*line, "--first", "1", "--out", "one"]) == 0
        rows, one = (tables.load(f"{out}/{FILES[1]}-uniform.csv") for out in ("out", "one"))
        assert one["calls_paid"].sum() == 0 and one["offset_s"][0] == rows["offset_s"][0]


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
