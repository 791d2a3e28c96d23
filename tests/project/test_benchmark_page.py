"""The commands of "A benchmark on one GPU" run, from packed archives to table and card."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support.answering import answering
from support.datasets import make_longvideobench, write_json
from support.paths import ROOT

from atlaskit.benchmarks.atlasworld import World
from atlaskit.evaluation import tables

PAGE = ROOT / "docs" / "benchmark-on-one-gpu.md"
MODEL = "Qwen/Qwen3-VL-8B-Instruct"


def commands(address: str) -> list[str]:
    """The page's blocks of shell with a model at an address, but for those it says are not run."""
    text = re.sub(r"<!-- not run: [^>]*-->\n```sh\n.*?```\n", "", PAGE.read_text(), flags=re.DOTALL)
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 6
    return [block.replace(MODEL, f"{address} any-vlm") for block in blocks]


@pytest.mark.long
def test_the_commands_of_the_page_run_in_their_order(in_tmp: Path, film: World) -> None:
    home = in_tmp / "data" / "LongVideoBench"
    make_longvideobench(home, Path(str(film.video.path)))
    rows = json.loads((home / "lvb_val.json").read_text())
    write_json(
        home / "lvb_val.json",
        [{**row, "duration_group": 3600, "id": f"{n}-{row['id']}"} for n in range(3) for row in rows],
    )
    (home / "subtitles").mkdir()
    for folder in ("videos", "subtitles"):
        with tarfile.open(home / f"{folder}.tar", "w") as tar:
            tar.add(home / folder, folder)
        shutil.rmtree(home / folder)
    whole = (home / "videos.tar").read_bytes()
    (home / "videos.tar").unlink()
    (home / "videos.tar.part.aa").write_bytes(whole[:9999])
    (home / "videos.tar.part.ab").write_bytes(whole[9999:])
    kit = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{kit}:{os.environ['PATH']}", "ATLASKIT_CACHE": str(in_tmp / "cache")}
    with answering() as address:
        for block in commands(address):
            if block.startswith("make paper"):  # what the target runs
                words = block.removeprefix("make paper").strip()
                made = subprocess.run(f"make -n -C {ROOT} paper {words}", shell=True, capture_output=True, text=True)
                told = re.search(r"atlaskit paper (.*)", made.stdout)
                assert told, made.stderr
                block = f"atlaskit paper {told[1]} --hours 0.1"
            line = ["bash", "-ec", block]
            done = subprocess.run(line, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            assert done.returncode == 0, (block, done.stderr[-2000:])
    assert "asked questions: 6" in (in_tmp / "figures" / "lvb.csv.txt").read_text()
    assert len(tables.load(in_tmp / "figures" / "lvb.csv")) == 6
    assert (in_tmp / "figures" / "paper" / "table-2-longvideobench-10hr.csv").is_file()


def test_the_array_job_runs_each_shard(in_tmp: Path, film: World) -> None:
    make_longvideobench(in_tmp / "data", Path(str(film.video.path)))
    kit = Path(sys.executable).parent
    with answering() as address:
        for number in ("1", "2"):
            env = {
                **os.environ,
                "PATH": f"{kit}:{os.environ['PATH']}",
                "SLURM_ARRAY_TASK_ID": number,
                "SLURM_ARRAY_TASK_COUNT": "2",
            }
            job = ["bash", str(ROOT / "examples" / "shards.slurm"), "data", address, "any-vlm"]
            subprocess.run(job, env=env, check=True, capture_output=True)
        merge = ["merge", "figures/shard-1.csv", "figures/shard-2.csv", "--out", "figures/rows.csv"]
        subprocess.run([str(kit / "atlaskit"), *merge], check=True, capture_output=True)
    assert tables.load("figures/rows.csv")["id"].tolist() == ["v0_0", "v1_0"]
