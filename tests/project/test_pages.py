"""What the docs print: their code runs, their numbers are true, and their search finds pages."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.answering import answering
from support.datasets import make_longvideobench
from support.paths import ROOT, TESTS

from atlaskit.caching.cache import Cache
from atlaskit.evaluation import tables

sys.path.insert(0, str(ROOT / "tools"))
import check_numbers

PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the blocks of the page define, in one module."""
    module: dict[str, Any] = {"__name__": "adding"}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"docs/adding.md, block {number}", "exec"), module)
    return module


def test_the_benchmark_is_loaded(names: dict[str, Any], tmp_path: Path) -> None:
    names["test_lectures_are_loaded"](tmp_path)


def test_the_method_answers(names: dict[str, Any], cache: Cache) -> None:
    names["test_edges_asks_once_and_replays"](cache)


ADVICE = "The run of the example has changed. Update its page: .venv/bin/python tools/example.py"
COUNTS = {"last_seed", "right", "exhausted"}
"""Quotes that count over a hundred runs, which only tools/example.py makes."""


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example", ROOT / "tools/example.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_quotes_the_run(example: ModuleType, shared_cache: Cache, tmp_path: Path) -> None:
    """An oracle reads the script and no frame, so the world need not be encoded for this run."""
    world = example.make_world(tmp_path)
    result = example.run(world, world.drawn, shared_cache)
    quoted = example.QUOTED.findall(example.PAGE.read_text(encoding="utf-8"))
    quotes = example.quotes(world, result)
    assert {name for name, _ in quoted} == quotes.keys() | COUNTS
    changed = [(name, text, quotes[name]) for name, text in quoted if name not in COUNTS and text != quotes[name]]
    assert not changed, f"{ADVICE}\n{changed[:3]}"
    assert result.is_right and result.rounds == example.WANTED_ROUNDS and example.black_cells(result), ADVICE


@pytest.mark.long
def test_the_array_job_runs_each_shard(in_tmp: Path, film_file: Path) -> None:
    make_longvideobench(in_tmp / "data", film_file)
    kit = Path(sys.executable).parent
    with answering() as address:
        for number in ("1", "2"):
            slurm = {"SLURM_ARRAY_TASK_ID": number, "SLURM_ARRAY_TASK_COUNT": "2"}
            env = {**os.environ, **slurm, "PATH": f"{kit}:{os.environ['PATH']}"}
            job = ["bash", str(ROOT / "examples" / "shards.slurm"), "data", address, "any-vlm"]
            subprocess.run(job, env=env, check=True, capture_output=True)
        merge = ["merge", "figures/shard-1.csv", "figures/shard-2.csv", "--out", "figures/rows.csv"]
        subprocess.run([str(kit / "atlaskit"), *merge], check=True, capture_output=True)
    assert tables.load("figures/rows.csv")["id"].tolist() == ["v0_0", "v1_0"]


def test_the_numbers_of_the_pages_are_in_tables() -> None:
    assert list(check_numbers.faults()) == []


FIRST = {
    "own dataset": "your-own-questions.html",
    "empty the cache": "cache-and-recordings.html#empty-the-cache",
    "what is a black cell": "how-the-search-works.html#what-a-black-cell-is",
    "subtitles": "your-own-video.html#subtitles",
    "resume": "cache-and-recordings.html#run-again-resume-replay",
}


@pytest.mark.long
def test_pages_for_users_come_first(tmp_path: Path) -> None:
    if importlib.util.find_spec("mkdocs") is None or shutil.which("node") is None:
        pytest.skip("MkDocs (make docs) or node is not here")
    site = tmp_path / "site"
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", site]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    search = ["node", TESTS / "support" / "search_docs.mjs", site, *FIRST]
    done = subprocess.run(search, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert {query: hits[0] for query, hits in found.items()} == FIRST
