"""What a person finds first in the built docs."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT, TESTS

FIRST = {
    "own dataset": "your-own-questions.html",
    "my own questions": "your-own-questions.html",
    "csv": "your-own-questions.html",
    "empty the cache": "cache-and-recordings.html#empty-the-cache",
    "what is a black cell": "how-the-search-works.html#what-a-black-cell-is",
    "black cell": "how-the-search-works.html#what-a-black-cell-is",
    "subtitles": "your-own-video.html#subtitles",
    "install": "index.html#install-and-run-the-demo",
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
