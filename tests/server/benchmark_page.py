"""The commands of the page "A benchmark on one GPU", from packed archives to tables and cards."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from support.datasets import make_longvideobench, write_json
from support.paths import ROOT

PAGE = ROOT / "docs" / "benchmark-on-one-gpu.md"
MODEL = "Qwen/Qwen3-VL-8B-Instruct"


def commands(model: str, calls: int) -> list[str]:
    """Return the page's blocks of shell that are run, with another model and few calls."""
    text = re.sub(r"<!-- not run: [^>]*-->\n```sh\n.*?```\n", "", PAGE.read_text(), flags=re.DOTALL)
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 6
    smaller = {
        f"--model {MODEL}": f"--model {model} --calls {calls}",
        f"MODEL={MODEL}": f'MODEL="{model}"',
        "FIRST=30": "FIRST=1",
        "--estimate 5": "--estimate 1",
    }
    for words, fewer in smaller.items():
        assert any(words in block for block in blocks)
        blocks = [block.replace(words, fewer) for block in blocks]
    return blocks


def packed_dataset(home: Path, clip: Path) -> None:
    """Make a folder as the hub gives it: rows, and two archives, one of them in two parts."""
    make_longvideobench(home, clip)
    rows = json.loads((home / "lvb_val.json").read_text())
    write_json(home / "lvb_val.json", [{**row, "duration_group": 3600} for row in rows])
    (home / "subtitles").mkdir()
    for folder in ("videos", "subtitles"):
        with tarfile.open(home / f"{folder}.tar", "w") as tar:
            tar.add(home / folder, folder)
        shutil.rmtree(home / folder)
    whole = (home / "videos.tar").read_bytes()
    (home / "videos.tar").unlink()
    (home / "videos.tar.part.aa").write_bytes(whole[:9999])
    (home / "videos.tar.part.ab").write_bytes(whole[9999:])


def run_page(home: Path, clip: Path, model: str, calls: int) -> None:
    """Run the page's commands in a folder, with the model at an address."""
    packed_dataset(home / "data" / "LongVideoBench", clip)
    kit = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{kit}:{os.environ['PATH']}", "ATLASKIT_CACHE": str(home / "cache")}
    for block in commands(model, calls):
        if block.startswith("make paper"):  # what the target runs
            words = block.removeprefix("make paper").strip()
            made = subprocess.run(f"make -n -C {ROOT} paper {words}", shell=True, capture_output=True, text=True)
            told = re.search(r"atlaskit paper (.*)", made.stdout)
            assert told, made.stderr
            block = f"atlaskit paper {told[1]} --hours 0.1 --calls {calls}"
        line = ["bash", "-ec", block]
        done = subprocess.run(line, env=env, cwd=home, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (block, done.stderr[-2000:])
