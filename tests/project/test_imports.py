"""`import atlaskit` loads no heavy library and writes nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = {"av", "charset_normalizer", "httpcore", "httpx", "iso639", "papermill", "matplotlib", "pandas", "IPython"}
HEAVY |= {"ray", "torch", "transformers", "vllm", "decord", "gymnasium", "anywidget", "ipywidgets", "scipy", "seaborn"}
HEAVY |= {"trl", "verifiers", "datasets"}


def test_importing_atlaskit_is_light_and_writes_nothing(tmp_path: Path) -> None:
    code = "import sys, atlaskit; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())
    assert list(tmp_path.iterdir()) == []
