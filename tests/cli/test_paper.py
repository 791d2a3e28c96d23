"""`atlaskit paper`: the paper's tables on a folder, with a model behind an address."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest
from cli.conftest import Shell
from hypothesis import given
from hypothesis import strategies as st
from support.answering import answering
from support.datasets import make_longvideobench, write_json

from atlaskit.cli.paper import _Table, frames_near
from atlaskit.evaluation import tables
from atlaskit.models.protocol import MOST_IMAGES


@pytest.fixture
def model(shell: Shell, film_file: Path) -> Iterator[tuple[str, ...]]:
    """A model; the current folder has a data set of long videos."""
    make_longvideobench(Path("data"), film_file)
    rows = json.loads(Path("data/lvb_val.json").read_text())
    write_json(Path("data/lvb_val.json"), [{**row, "duration_group": 3600} for row in rows])
    with answering() as address:
        yield ("--model", address, "any-vlm")


LINE = "paper data --hours 0.1 --out out"
FILES = ("table-1-longvideobench-long", "table-2-longvideobench-10hr")


def test_both_tables_stand_beside_what_is_published(model: tuple[str, ...], shell: Shell) -> None:
    printed = shell(f"{LINE} --estimate 1", *model)
    for told in ("table-1", "table-2"):
        assert f"\n{told}, longvideobench" in printed, "all is estimated before anything is asked"
    assert printed.count("from 1 of 2 questions") == 8 and printed.count("Pass --yes") == 1
    printed = shell(LINE, *model)
    for name in FILES:
        table = pd.read_csv(f"out/{name}.csv")
        assert table["system"].tolist()[:4] == ["uniform", "captions", "video-rlm", "uniform, 1024 frames"]
        assert (table["source"] == "this run").sum() == 4 and len(table) > 6 and table["score"].notna().all()
        sampled = tables.load(f"out/{name}-uniform.csv").attrs["settings in full"]
        assert (sampled["frames"], sampled["cell"]) == (160, 320)
        costs = pd.read_csv(f"out/{name}-costs.csv").set_index("system")
        assert costs.loc["video-rlm", "image_tokens"] + costs.loc["video-rlm", "text_tokens"] > 0
        assert {"model_seconds", "queue_seconds", "frames_decoded", "cached_tokens"} <= set(costs.columns)
        assert costs.loc["captions", "video_calls"] > 0 == costs.loc["uniform", "video_calls"]
        assert name[:7] in printed
    assert "frames; a request holds 1,024." in printed
    assert "The total of 1 calls is reached" in shell(f"{LINE} --total-calls 1", *model, status=1)


def test_its_cards_repeat_its_rows(model: tuple[str, ...], shell: Shell) -> None:
    shell(f"{LINE} --method uniform video-rlm --traces runs --first 1", *model)
    for name, system in zip(FILES, ("video-rlm", "uniform-1024-frames"), strict=True):
        rows = tables.load(f"out/{name}-{system}.csv")
        assert Path(rows["trace"][0]).is_file()
        assert " 0 model calls paid now" in shell(f"evaluate --like out/{name}-{system}.csv.json --out again.csv")
        again = tables.load("again.csv")
        same = ["id", "prediction", "score", "calls", "tokens"]
        assert again[same].equals(rows[same]) and again.attrs["asked"] == rows.attrs["asked"]


def test_failures_are_asked_again_and_told_by_the_exit_status(
    model: tuple[str, ...], shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"{LINE} --method uniform"
    shell(line, *model)
    path = f"out/{FILES[0]}-uniform.csv"
    rows = tables.load(path)
    torn = rows.copy()
    torn.attrs = rows.attrs
    torn.loc[0, ["failure", "score"]] = ["the server died", 0.0]
    tables.save(torn, path)
    with monkeypatch.context() as patched:
        patched.setattr("atlaskit.cli.paper.failed", lambda *_: [])
        assert "1 rows had a failed call" in shell(f"{line} --rerun failures", *model, status=1)
    shell(f"{line} --rerun failures", *model)
    assert tables.load(path)["failure"].tolist() == ["", ""]


@given(st.integers(1, 100_000))
def test_frames_for_as_many_tokens_fill_whole_images_of_one_request(wanted: int) -> None:
    near = frames_near(wanted)
    images, rest = divmod(near["frames"], near["per_image"])
    assert rest == 0 and 1 <= images <= MOST_IMAGES and math.isqrt(near["per_image"]) ** 2 == near["per_image"]
    assert abs(near["frames"] - min(max(wanted, 16), 1024)) <= 32


@pytest.mark.parametrize(("wanted", "told"), [(163, ""), (1025, "1,025 frames; a request holds 1,024.\n")])
def test_a_limit_is_told_where_it_is_one(wanted: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = Mock(ask={}, equal_tokens=Mock(return_value=({"uniform": Mock()}, wanted)))
    _Table.fill(table, Mock())
    assert capsys.readouterr().out.rpartition("need ")[2] == told
