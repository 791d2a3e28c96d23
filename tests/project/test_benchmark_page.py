"""The commands of "A benchmark on one GPU" run, from packed archives to table and card."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.answering import answering
from support.datasets import make_longvideobench
from support.paths import ROOT

from atlaskit.benchmarks.atlasworld import World
from atlaskit.evaluation import tables


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
