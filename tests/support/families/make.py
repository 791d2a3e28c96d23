"""Creates the tiny model of one family.

    .venv-serve/serve-cpu/bin/python tests/support/families/make.py FAMILY FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from families import qwen

WRITERS = {
    "qwen3-vl": qwen.write_qwen3_vl,
    "qwen3.5": qwen.write_qwen3_5,
    "qwen2.5-vl": qwen.write_qwen2_5_vl,
}

if __name__ == "__main__":
    family, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[family](folder)
