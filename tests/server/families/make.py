"""Creates the tiny models of families, each in a folder of its name.

.venv-serve/serve-cpu/bin/python tests/server/families/make.py DIRECTORY FAMILY…
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from families import dynamic, tiled

WRITERS = {
    "qwen3-vl": dynamic.write_qwen3_vl,
    "qwen3.5": dynamic.write_qwen3_5,
    "qwen2.5-vl": dynamic.write_qwen2_5_vl,
    "internvl": tiled.write_internvl,
    "gemma-3": tiled.write_gemma3,
    "llava-onevision": tiled.write_llava_onevision,
    "smolvlm": tiled.write_smolvlm,
    "glm-4.1v-thinking": dynamic.write_glm4v,
    "minicpm-v-4.6": dynamic.write_minicpmv,
}

if __name__ == "__main__":
    for family in sys.argv[2:]:
        folder = Path(sys.argv[1]) / family
        folder.mkdir(parents=True, exist_ok=True)
        WRITERS[family](folder)
